package agenttask

import (
	"fmt"
	"strings"

	"drover/spec"
)

// Judge implements spec.Dialect: what a finished attempt has made, by the
// files as they are now.
func (d *Dialect) Judge(t spec.Tree, g spec.Graph, i int, w spec.World, r spec.Run) spec.Judgement {
	x := g.Tasks[i].Facts.(*taskFacts)
	switch r.Locator.Role {
	case spec.RoleSelfcheck:
		return judgeSelfcheck(x)
	case spec.RoleReview:
		return d.judgeReview(t, g.Tasks[i], x, w, r)
	}
	return spec.Judgement{Done: true}
}

// judgeSelfcheck: exit code 0 alone is no success; every implementation field
// must hold real content (seed 003).
func judgeSelfcheck(x *taskFacts) spec.Judgement {
	switch {
	case x.review == nil:
		return spec.Judgement{Refused: true, Detail: "there is no CODE_REVIEW", Limit: reviewLimit, Code: spec.SelfcheckIncomplete}
	case len(x.review.Missing) > 0:
		return spec.Judgement{
			Refused: true, Limit: reviewLimit, Code: spec.SelfcheckIncomplete,
			Detail: "not filled in: " + strings.Join(x.review.Missing, ", "),
		}
	}
	return spec.Judgement{Done: true}
}

func (d *Dialect) judgeReview(t spec.Tree, task spec.Task, x *taskFacts, w spec.World, r spec.Run) spec.Judgement {
	gen := task.Generation
	plan := r.Locator.PlanNumber
	if done, _ := d.complete(t, x, w.Record(task.ID), w); done {
		return spec.Judgement{Done: true, Verdict: "PASS", Detail: "complete.log is in the archive"}
	}
	if x.plan != nil && (gen.Plan > plan || gen.Plan == plan && gen.Tag != r.Locator.Tag) {
		return spec.Judgement{Done: true, Verdict: x.verdictOf(plan), Detail: fmt.Sprintf("plan %d follows", gen.Plan)}
	}
	if x.user != nil && x.wrong == nil {
		return spec.Judgement{Done: true, Verdict: x.verdictOf(plan), Detail: "stopped for a person: USER_REVIEW.md"}
	}
	j := spec.Judgement{
		Failed: true, Try: spec.TryRecovery, Signature: d.signature(t, x), Limit: reviewLimit, Code: spec.ReviewNoProgress,
	}
	j.Unchanged = j.Signature == r.Locator.Before
	verdicts := x.verdicts(gen.Plan)
	switch {
	case x.gone:
		j.Detail = "its folder is gone, and no archive has its complete.log"
	case len(verdicts) == 1 && d.drover():
		return spec.Judgement{Done: true, Verdict: verdicts[0], Signature: j.Signature}
	case len(verdicts) == 1:
		j.Verdict = verdicts[0]
		j.Detail = "the verdict is there, the next state is not"
	case len(verdicts) == 0:
		j.Detail = "no verdict"
	default:
		j.Detail = fmt.Sprintf("%d verdicts, not one", len(verdicts))
	}
	return j
}

// verdicts are those of the active review, else of its archived log.
func (x *taskFacts) verdicts(plan int) []string {
	if x.review != nil {
		return x.review.Verdicts
	}
	if l := x.log(reviewLog, plan); l != nil {
		return l.Verdicts
	}
	return nil
}

// verdictOf is what the archived review of a plan said, "" if not one thing.
func (x *taskFacts) verdictOf(plan int) string {
	if l := x.log(reviewLog, plan); l != nil && len(l.Verdicts) == 1 {
		return l.Verdicts[0]
	}
	return ""
}
