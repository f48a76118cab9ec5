package agenttask

import (
	"testing"

	"drover/spec"
)

// TestPrompts holds the control prompts to seed 003, word for word.
func TestPrompts(t *testing.T) {
	const (
		dir     = "/src/my repo/agent-task/g/01_a"
		plan    = dir + "/PLAN-local-G05.md"
		review  = dir + "/CODE_REVIEW-local-G05.md"
		locator = "/src/my repo/.git/agent-task-dispatcher/runs/g.01_a__p0__worker__a00/locator.json"
		alone   = " Do not use collaboration or sub-agent tools."
		next    = " Before you finish, materialize the next state: archive the task on PASS, or write the next PLAN and CODE_REVIEW pair on WARN or FAIL."
	)
	last := &spec.Run{Dir: "/src/my repo/.git/agent-task-dispatcher/runs/g.01_a__p0__worker__a00"}
	d := testDialect("reviewer")
	files := map[string]string{
		"agent-task/g/01_a/PLAN-local-G05.md":        "work\n",
		"agent-task/g/01_a/CODE_REVIEW-local-G05.md": "# CODE_REVIEW\n",
	}
	tree := spec.MapTree{Files: files, Read: d.Read}
	g := d.Parse(tree, spec.Unit{Dialect: Name, Key: "agent-task/g/01_a"})
	x := g.Tasks[0].Facts.(*taskFacts)
	for _, c := range []struct {
		name string
		role spec.Role
		kind spec.TryKind
		cli  string
		want string
	}{
		{"cloud worker", spec.RoleWorker, spec.TryFresh, "claude", "Read " + plan + " and complete the task. Final in Korean."},
		{"cloud worker again", spec.RoleWorker, spec.TryRetry, "agy", "Read " + plan + " and complete the task. Final in Korean."},
		{"pi worker", spec.RoleWorker, spec.TryFresh, "pi", "Think in English. Final in Korean. Read " + plan + " and complete the task."},
		{"pi recovery", spec.RoleWorker, spec.TryRetry, "pi", "Read " + plan + ". Continue."},
		{"pi selfcheck", spec.RoleSelfcheck, spec.TryFresh, "pi", "Think in English. Final in Korean. Read " + review + " and fill every missing implementation field. Do not finish until all implementation fields are complete. This is a self-check of completed work, not a review. Read " + plan + " and finish any missing work. Recheck and fix your work."},
		{"pi selfcheck again", spec.RoleSelfcheck, spec.TryRetry, "pi", "Think in English. Final in Korean. Read " + review + " and fill every missing implementation field. Do not finish until all implementation fields are complete. This is a self-check of completed work, not a review. Read " + plan + " and finish any missing work. Recheck and fix your work."},
		{"pi same session", spec.RoleWorker, spec.TrySameSession, "pi", "Think in English. Final in Korean. Continue this session and complete the current task."},
		{"review", spec.RoleReview, spec.TryFresh, "codex", "Read " + review + " and start the review. Final in Korean."},
		{"review again", spec.RoleReview, spec.TryRetry, "codex", "Read " + review + " and start the review. Final in Korean."},
		{"review recovery", spec.RoleReview, spec.TryRecovery, "codex", "Continue the review for " + dir + ". Final in Korean." + alone + next},
		{"promotion", spec.RoleWorker, spec.TryPromotion, "codex", "Continue from " + locator + ". Check the saved context and current workspace. Final in Korean."},
		{"review promotion", spec.RoleReview, spec.TryPromotion, "codex", "Continue from " + locator + ". Check the saved context and current workspace. Final in Korean." + alone + next},
	} {
		t.Run(c.name, func(t *testing.T) {
			step := d.stepOf(x, g.Tasks[0], c.role, nil)
			try := spec.Try{Kind: c.kind, Route: spec.Route{Agent: c.cli}}
			if c.kind != spec.TryFresh {
				try.Last = last
			}
			if got := d.Prompt(g, 0, step, try, "/src/my repo"); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
	english := testDialect("reviewer")
	english.Language = "en"
	if got := english.Prompt(g, 0, d.stepOf(x, g.Tasks[0], spec.RoleReview, nil), spec.Try{}, "/r"); got != "Read /r/agent-task/g/01_a/CODE_REVIEW-local-G05.md and start the review. Final in English." {
		t.Errorf("in English: %s", got)
	}
}

// TestStopped: a review that moved its files before it died gets the recovery
// prompt, however its attempt is made.
func TestStopped(t *testing.T) {
	d := testDialect("reviewer")
	for name, files := range map[string]map[string]string{
		"verdict in place": {"PLAN.md": "work", "CODE_REVIEW.md": "## 코드리뷰 결과\n종합 판정: PASS\n"},
		"review moved":     {"PLAN.md": "work", "code_review_0.log": "## 코드리뷰 결과\n종합 판정: PASS\n"},
		"plan moved":       {"plan_0.log": "work", "CODE_REVIEW.md": "# CODE_REVIEW\n"},
		"both moved":       {"plan_0.log": "work", "code_review_0.log": "# CODE_REVIEW\n"},
	} {
		all := map[string]string{}
		for p, text := range files {
			all["agent-task/g/01_a/"+p] = text
		}
		tree := spec.MapTree{Files: all, Read: d.Read}
		g := d.Parse(tree, spec.Unit{Dialect: Name, Key: "agent-task/g/01_a"})
		st := d.Stage(tree, g, 0, reviewedWorld("g/01_a"))
		if st.State != spec.StateReady || st.Step.Role != spec.RoleReview {
			t.Errorf("%s: %s %s %+v", name, st.State, st.Step.Role, st.Reason)
			continue
		}
		want := "Continue the review for /w/agent-task/g/01_a. Final in Korean." + noCollaboration + nextState
		if got := d.Prompt(g, 0, st.Step, spec.Try{Kind: spec.TryFresh, Route: sol}, "/w"); got != want {
			t.Errorf("%s: %s", name, got)
		}
		for _, c := range st.Before {
			if c, ok := c.(spec.CreateFile); ok {
				t.Errorf("%s: a stub beside what the review has written: %s", name, c.Path)
			}
		}
	}
}

func TestStep(t *testing.T) {
	d := testDialect("drover")
	files := map[string]string{"agent-task/a b%c/02_b/PLAN-cloud-G07.md": "---\nplan: 12\n---\nwork\n"}
	tree := spec.MapTree{Files: files, Read: d.Read}
	g := d.Parse(tree, spec.Unit{Dialect: Name, Key: "agent-task/a b%c/02_b"})
	s := d.Stage(tree, g, 0, spec.World{Now: testNow}).Step
	for _, c := range []struct{ what, got, want string }{
		{"prefix", s.Prefix, "a%20b%25c.02_b__p12__worker"},
		{"dir", s.Dir, "."},
		{"doc", s.Doc, "agent-task/a b%c/02_b/PLAN-cloud-G07.md"},
		{"plan", s.Plan, "agent-task/a b%c/02_b/PLAN-cloud-G07.md"},
		{"review", s.Review, "agent-task/a b%c/02_b/CODE_REVIEW-cloud-G07.md"},
		{"work log", s.WorkLog, "agent-task/a b%c/WORK_LOG.md"},
		{"environment", s.Env[0] + " " + s.Env[1], "DROVER_PLAN=12 DROVER_FINALIZE=drover"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
		}
	}
	if g.Tasks[0].Route != "cloud-G07" || s.Ladder[0] != opus {
		t.Errorf("route %q on %v", g.Tasks[0].Route, s.Ladder)
	}
}
