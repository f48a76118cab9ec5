package settings

import "gopkg.in/yaml.v3"

// The sections of the other dialects are read as strictly as the rest, so that
// a file is right before its dialect is there.

func (f *file) issues(n *yaml.Node) {
	t := &f.s.Issues
	f.object(n, "issues",
		key{"root", f.folder(&t.Root, "issues.root")},
		key{"approve", f.oneOf(&t.Approve, "issues.approve", "agent-splits", "by-hand", "auto")},
		key{"split", f.ref(&t.Split, "issues.split")},
		key{"worker", f.ref(&t.Worker, "issues.worker")},
		key{"resolve", f.ref(&t.Resolve, "issues.resolve")},
		key{"review", f.ref(&t.Review, "issues.review")},
		key{"verify", f.text(&t.Verify, "issues.verify")})
}

func (f *file) milestones(n *yaml.Node) {
	t := &f.s.Milestones
	f.object(n, "milestones",
		key{"root", f.folder(&t.Root, "milestones.root")},
		key{"gates", f.oneOf(&t.Gates, "milestones.gates", "by-hand", "auto")},
		key{"split", f.ref(&t.Split, "milestones.split")},
		key{"spec", f.ref(&t.Spec, "milestones.spec")},
		key{"loop", f.ref(&t.Loop, "milestones.loop")},
		key{"iterations", f.count(&t.Iterations, "milestones.iterations", 1)},
		key{"wall_clock", f.duration(&t.WallClock, "milestones.wall_clock", 1)},
		key{"at_once", f.count(&t.AtOnce, "milestones.at_once", 1)},
		key{"wave_timeout", f.duration(&t.WaveTimeout, "milestones.wave_timeout", 1)},
		key{"done_label", f.text(&t.DoneLabel, "milestones.done_label")})
}

func (f *file) plans(n *yaml.Node) {
	t := &f.s.Plans
	risk := func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && n.Value == "" {
			t.Risk = ""
			return
		}
		f.ref(&t.Risk, "plans.risk")(n)
	}
	f.object(n, "plans",
		key{"globs", f.texts(&t.Globs, "plans.globs")},
		key{"verify", f.text(&t.Verify, "plans.verify")},
		key{"risk", risk},
		key{"implement", f.ref(&t.Implement, "plans.implement")},
		key{"reorder", f.ref(&t.Reorder, "plans.reorder")},
		key{"review", f.ref(&t.Review, "plans.review")})
}
