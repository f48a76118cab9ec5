package agenttask

import (
	"path"
	"path/filepath"

	"drover/spec"
)

// What is appended to a review's promotion and recovery prompts (DIALECTS 1.5).
const (
	noCollaboration = " Do not use collaboration or sub-agent tools."
	nextState       = " Before you finish, materialize the next state: archive the task on PASS, or write the next PLAN and CODE_REVIEW pair on WARN or FAIL."
)

// Prompt implements spec.Dialect: the seed's eight control prompts, chosen by
// CLI, role and kind of try, never by lane.
func (d *Dialect) Prompt(g spec.Graph, i int, s spec.Step, try spec.Try, root string) string {
	x := g.Tasks[i].Facts.(*taskFacts)
	abs := func(rel string) string { return path.Join(filepath.ToSlash(root), rel) }
	plan, review := abs(s.Plan), abs(s.Review)
	pi := try.Route.Agent == "pi"
	switch {
	case try.Kind == spec.TrySameSession:
		return "Think in English." + d.final() + " Continue this session and complete the current task."
	case try.Kind == spec.TryPromotion && !pi && try.Last != nil:
		p := "Continue from " + path.Join(try.Last.Dir, "locator.json") + ". Check the saved context and current workspace." + d.final()
		if s.Role == spec.RoleReview {
			p += noCollaboration + nextState
		}
		return p
	case s.Role == spec.RoleReview && (try.Kind == spec.TryRecovery || x.stopped(g.Tasks[i].Generation.Plan)):
		return "Continue the review for " + abs(x.dir) + "." + d.final() + noCollaboration + nextState
	case s.Role == spec.RoleReview:
		return "Read " + review + " and start the review." + d.final()
	case s.Role == spec.RoleSelfcheck:
		return "Think in English." + d.final() + " Read " + review + " and fill every missing implementation field." +
			" Do not finish until all implementation fields are complete." +
			" This is a self-check of completed work, not a review." +
			" Read " + plan + " and finish any missing work. Recheck and fix your work."
	case pi && try.Kind != spec.TryFresh:
		return "Read " + plan + ". Continue."
	case pi:
		return "Think in English." + d.final() + " Read " + plan + " and complete the task."
	}
	return "Read " + plan + " and complete the task." + d.final()
}

// final asks for the language of the answer; the seed's is Korean.
func (d *Dialect) final() string {
	if d.Language == "en" {
		return " Final in English."
	}
	return " Final in Korean."
}

// stopped reports a review that was begun and not brought to its end.
func (x *taskFacts) stopped(plan int) bool {
	return x.plan == nil || x.closing(plan) || x.review != nil && len(x.review.Verdicts) > 0
}
