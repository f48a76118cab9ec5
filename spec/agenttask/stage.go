package agenttask

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"drover/spec"
)

// reviewLimit is how many unfinished selfchecks or unchanged reviews in a row
// block a task (seed 003).
const reviewLimit = 10

// Stage implements spec.Dialect: the order of classification of FORMATS 4.3.
func (d *Dialect) Stage(t spec.Tree, g spec.Graph, i int, w spec.World) spec.Stage {
	task := g.Tasks[i]
	x := task.Facts.(*taskFacts)
	rec := w.Record(task.ID)
	s := spec.Stage{Archives: d.baseline(t, x, w)}
	if done, why := d.complete(t, x, rec, w); done {
		s.State = spec.StateComplete
		s.Before = d.archive(t, x, w.Now)
		return s
	} else if why != nil {
		s.State, s.Reason = spec.StateBlocked, *why
		return s
	}
	switch {
	case x.wrong != nil:
		s.State, s.Reason = spec.StateBlocked, *x.wrong
	case x.busy:
		s.State, s.Reason = spec.StateWaiting, spec.Reason{Code: spec.InfraWait, Detail: "a file of it is being written"}
	case selfReviewed(x, task.Generation, rec):
		s.State, s.Reason = spec.StateBlocked, spec.Reason{
			Code: spec.ContractError, File: x.verdictFile(),
			Detail: "a verdict or complete.log is there, but no review of this plan was started: a worker does not review itself",
			Resume: "take the verdict out of the file",
		}
	case x.user != nil:
		s.State, s.Reason = spec.StateBlocked, d.userReview(t, x)
	case x.plan != nil && x.plan.Status == "hold":
		s.State, s.Reason = spec.StateHeld, spec.Reason{Code: spec.Held, Detail: path.Base(x.plan.path) + " says status: hold", File: x.plan.path}
	case x.plan != nil && x.plan.Unfilled:
		s.State, s.Reason = spec.StateWaiting, spec.Reason{
			Code: spec.Unfilled, Detail: unfilledWords(x.plan), File: x.plan.path, Line: x.plan.Line,
		}
	default:
		d.step(t, x, task, rec, w, &s)
	}
	return s
}

func unfilledWords(plan *document) string {
	if plan.Line > 0 {
		return fmt.Sprintf("line %d of %s is still a {{placeholder}}", plan.Line, path.Base(plan.path))
	}
	return path.Base(plan.path) + " says nothing yet"
}

// baseline are the same-named archives, when the memory does not know the task.
func (d *Dialect) baseline(t spec.Tree, x *taskFacts, w spec.World) []string {
	if x.gone || w.Memory == nil {
		return nil
	}
	if g := w.Memory.Groups[x.group]; g != nil {
		if s := g.Tasks[x.fullName()]; s != "" && s != string(spec.StateComplete) {
			return nil
		}
	}
	return d.sameName(t, x)
}

func (d *Dialect) sameName(t spec.Tree, x *taskFacts) []string {
	return d.archived(t, x, x.base, func(entry string) bool { return archiveOf(entry, x.base) })
}

// complete reports whether a task is (DIALECTS 1.4); or why one that is gone
// is not.
func (d *Dialect) complete(t spec.Tree, x *taskFacts, rec *spec.Record, w spec.World) (bool, *spec.Reason) {
	if !x.gone {
		if x.done == nil || x.plan != nil || x.review != nil || x.wrong != nil || x.busy {
			return false, nil
		}
		return passed(t, x.dir, x.fullName()) && reviewed(rec), nil
	}
	if d.seenComplete(x, rec, w) {
		return true, nil
	}
	var before []string
	if g := groupOf(x, w); g != nil {
		before = g.Baseline[x.fullName()]
	}
	var fresh []string
	for _, dir := range d.sameName(t, x) {
		if passed(t, dir, x.fullName()) && !slices.Contains(before, dir) {
			fresh = append(fresh, dir)
		}
	}
	switch {
	case len(fresh) == 1 && reviewed(rec):
		return true, nil
	case len(fresh) == 1:
		return false, &spec.Reason{
			Code: spec.ContractError, File: path.Join(fresh[0], "complete.log"),
			Detail: "archived, but no review of this plan was started: a worker does not review itself",
		}
	case len(fresh) > 1:
		return false, &spec.Reason{
			Code: spec.ArchiveAmbiguous, Detail: fmt.Sprintf("%d new archives have a complete.log, not one", len(fresh)), Looked: fresh,
			Resume: "leave one of them, or: drover forget " + x.fullName(),
		}
	}
	return false, &spec.Reason{
		Code: spec.Vanished, Detail: "its folder is gone and no new archive of it has a complete.log",
		Looked: []string{x.dir}, Resume: "bring " + x.dir + " back, or: drover forget " + x.fullName(),
	}
}

func groupOf(x *taskFacts, w spec.World) *spec.Group {
	if w.Memory == nil {
		return nil
	}
	return w.Memory.Groups[x.group]
}

// seenComplete: it was complete before, and nothing of it is there any more.
func (d *Dialect) seenComplete(x *taskFacts, rec *spec.Record, w spec.World) bool {
	g := groupOf(x, w)
	return rec == nil && g != nil && g.Tasks[x.fullName()] == string(spec.StateComplete)
}

// reviewed reports whether a completion may count: drover has no record of the
// generation, or a review of it was started.
func reviewed(rec *spec.Record) bool {
	if !rec.Ran() {
		return true
	}
	_, ok := rec.Stages[spec.RoleReview]
	return ok
}

// selfReviewed reports a verdict or completion of this plan that no review has
// given.
func selfReviewed(x *taskFacts, gen spec.Generation, rec *spec.Record) bool {
	if reviewed(rec) {
		return false
	}
	return x.done != nil && x.done.Plan == gen.Plan || x.review != nil && len(x.review.Verdicts) > 0
}

func (x *taskFacts) verdictFile() string {
	if x.done != nil {
		return x.done.path
	}
	if x.review != nil {
		return x.review.path
	}
	return x.dir
}

// userReview is the stop for a person, if what it links to exists.
func (d *Dialect) userReview(t spec.Tree, x *taskFacts) spec.Reason {
	target := x.user.Target
	if !spec.HasEntry(t.Dir(path.Dir(target)), path.Base(target)) {
		return spec.Reason{
			Code: spec.ContractError, File: x.user.path,
			Detail: fmt.Sprintf("links to %s, which is not there", target),
		}
	}
	detail := fmt.Sprintf("%d open decisions", x.user.Open)
	if x.user.Open == 1 {
		detail = "1 open decision"
	}
	return spec.Reason{
		Code: spec.UserReview, Detail: detail, File: x.user.path, Line: x.user.Line,
		Resume: "decide, then replace USER_REVIEW.md by the next PLAN",
	}
}

// step is what a task that may go on runs next.
func (d *Dialect) step(t spec.Tree, x *taskFacts, task spec.Task, rec *spec.Record, w spec.World, s *spec.Stage) {
	if why := x.leftover(task.Generation, rec); why != nil {
		s.State, s.Reason = spec.StateBlocked, *why
		return
	}
	if d.finalize(x, task.Generation, rec, w.Now, s) {
		return
	}
	s.State = spec.StateReady
	role, ladder := d.role(x, task.Generation, rec)
	s.Step = d.stepOf(x, task, role, ladder)
	if state, why := d.waits(t, x, w); !why.Zero() {
		s.State, s.Reason = state, why
		return
	}
	if x.plan != nil && x.review == nil && !x.closing(task.Generation.Plan) {
		s.Before = append(s.Before, d.stub(x, task))
	}
	if role == spec.RoleReview {
		s.Step.Before = d.signature(t, x)
		s.Before = append(s.Before, d.ignoreBlock(t)...)
	}
}

// role is the step that a task stands at, and its ladder: worker, for routes
// that ask for it one selfcheck by the same model, review. What drover never
// ran goes to review once the last implementation item is checked or a verdict
// is there (seed 003).
func (d *Dialect) role(x *taskFacts, gen spec.Generation, rec *spec.Record) (spec.Role, spec.Ladder) {
	worker, ran := recStage(rec, spec.RoleWorker)
	selfcheck, _ := recStage(rec, spec.RoleSelfcheck)
	_, reviewing := recStage(rec, spec.RoleReview)
	ladder := d.worker(x)
	switch {
	case x.plan == nil || reviewing:
	case ran && worker.Done:
		if rung := min(worker.Rung, len(ladder)-1); rung >= 0 && ladder[rung].Selfcheck && !selfcheck.Done {
			return spec.RoleSelfcheck, ladder[rung : rung+1]
		}
	case !ran && x.closing(gen.Plan), !ran && x.review != nil && (x.review.Synced || len(x.review.Verdicts) > 0):
	default:
		return spec.RoleWorker, ladder
	}
	return spec.RoleReview, d.Review
}

// closing reports a review that has begun to archive a plan: its review is
// among the logs and no other stands in its place.
func (x *taskFacts) closing(plan int) bool {
	return x.review == nil && x.log(reviewLog, plan) != nil
}

func (x *taskFacts) log(kind fileKind, k int) *document {
	for i := range x.logs {
		if x.logs[i].kind == kind && x.logs[i].k == k {
			return &x.logs[i]
		}
	}
	return nil
}

// leftover is why a folder without a PLAN cannot go on. A review that stopped
// half way can, with the archived log of its plan (seed 003, finalization
// recovery).
func (x *taskFacts) leftover(gen spec.Generation, rec *spec.Record) *spec.Reason {
	if x.plan != nil {
		return nil
	}
	why := &spec.Reason{Code: spec.ContractError, File: x.dir, Resume: "write a PLAN, or move the folder away"}
	_, reviewing := recStage(rec, spec.RoleReview)
	archived := x.log(planLog, gen.Plan)
	switch {
	case x.done != nil && x.review == nil:
		why.File = x.done.path
		why.Detail = "complete.log is not the header of this task and verdict=PASS"
	case archived == nil && x.review != nil:
		why.File = x.review.path
		why.Detail = fmt.Sprintf("there is no PLAN, and no log of plan %d among the files", gen.Plan)
	case archived != nil && x.review != nil && !sameGeneration(archived, x.review):
		why.File = x.review.path
		why.Detail = fmt.Sprintf("there is no PLAN, and %s is of another task, plan or tag", path.Base(archived.path))
	case archived == nil || x.review == nil && !reviewing && x.log(reviewLog, gen.Plan) == nil:
		why.Detail = "holds neither a PLAN nor a verified complete.log"
	default:
		return nil
	}
	return why
}

// sameGeneration compares the headers of two documents, where both have one.
func sameGeneration(a, b *document) bool {
	return !a.HasHead || !b.HasHead || a.Task == b.Task && a.Plan == b.Plan && a.Tag == b.Tag
}

func recStage(rec *spec.Record, role spec.Role) (spec.StageRecord, bool) {
	if rec == nil {
		return spec.StageRecord{}, false
	}
	st, ok := rec.Stages[role]
	return st, ok
}

// worker is the ladder that the PLAN's lane and grade choose.
func (d *Dialect) worker(x *taskFacts) spec.Ladder {
	switch {
	case x.plan == nil:
		return nil
	case x.plan.lane == "":
		return d.Plain
	}
	return d.Worker(x.plan.lane, x.plan.grade)
}

// stepOf is one step of a task.
func (d *Dialect) stepOf(x *taskFacts, task spec.Task, role spec.Role, ladder spec.Ladder) spec.Step {
	plan, review := x.planPath(task), x.reviewPath(task)
	s := spec.Step{
		Role: role, Ladder: ladder, Dir: ".", Doc: plan, Plan: plan, Review: review,
		Prefix:  fmt.Sprintf("%s__p%d__%s", spec.EscapeName(x.attemptName()), task.Generation.Plan, role),
		WorkLog: path.Join(d.Root, x.group, "WORK_LOG.md"),
		Env:     []string{"DROVER_PLAN=" + strconv.Itoa(task.Generation.Plan), "DROVER_FINALIZE=" + d.finalizer()},
	}
	if role == spec.RoleReview {
		s.Doc = review
	}
	return s
}

func (d *Dialect) finalizer() string {
	if d.drover() {
		return "drover"
	}
	return "reviewer"
}

// attemptName is "<group>.<task>", or the group of a flat one.
func (x *taskFacts) attemptName() string {
	if x.flat {
		return x.group
	}
	return x.group + "." + x.base
}

// planPath is the PLAN, or the archived log of the same plan (seed 003,
// finalization recovery).
func (x *taskFacts) planPath(task spec.Task) string {
	if x.plan != nil {
		return x.plan.path
	}
	return x.logPath(planLog, task.Generation.Plan)
}

func (x *taskFacts) reviewPath(task spec.Task) string {
	switch {
	case x.review != nil:
		return x.review.path
	case x.plan != nil && !x.closing(task.Generation.Plan):
		return path.Join(x.dir, "CODE_REVIEW"+x.plan.slot()+".md")
	}
	return x.logPath(reviewLog, task.Generation.Plan)
}

func (x *taskFacts) logPath(kind fileKind, k int) string {
	if l := x.log(kind, k); l != nil {
		return l.path
	}
	return x.dir
}
