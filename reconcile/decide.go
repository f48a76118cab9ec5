package reconcile

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"drover/spec"
)

// Decide says what a unit needs next: pure, a function of its arguments. Once
// its own actions are seen it asks for nothing.
func Decide(d spec.Dialect, t spec.Tree, g spec.Graph, w spec.World, p spec.Policy) spec.Decision {
	x := decider{d: d, t: t, g: g, w: w, p: p}
	x.w.Folded = map[spec.TaskID]*spec.Record{}
	out := spec.Decision{Unit: g.Unit, Problems: g.Problems, Tasks: make([]spec.TaskDecision, 0, len(g.Tasks))}
	for i := range g.Tasks {
		if x.forgotten(g.Tasks[i]) {
			continue
		}
		td := x.task(i)
		out.Tasks = append(out.Tasks, td)
		out.Look = earlier(out.Look, td.Look)
	}
	return out
}

type decider struct {
	d spec.Dialect
	t spec.Tree
	g spec.Graph
	w spec.World
	p spec.Policy
}

// task decides about task i of the graph.
func (x *decider) task(i int) spec.TaskDecision {
	task := x.g.Tasks[i]
	td := spec.TaskDecision{Task: task, Record: x.w.Record(task.ID).Clone()}
	if x.living(&td) {
		x.w.Folded[task.ID] = td.Record
		return td
	}
	runs := x.life(&td)
	x.fold(i, &td, runs)
	x.w.Folded[task.ID] = td.Record

	stage := x.d.Stage(x.t, x.g, i, x.w)
	td.State, td.Reason, td.Step, td.Changes = stage.State, stage.Reason, stage.Step, stage.Before
	td.Baseline = stage.Archives
	switch {
	case stage.State == spec.StateComplete:
		x.complete(&td)
	case outranks(stage.Reason.Code):
	case td.Record != nil && td.Record.Held != nil:
		td.State, td.Reason = spec.StateHeld, heldReason(td.Record.Held)
	case td.Record != nil && td.Record.Block != nil:
		td.State, td.Reason = spec.StateBlocked, td.Record.Block.Reason
	case stage.State == spec.StateReady && stage.Step.Role != "":
		x.ready(i, &td, runs)
	}
	if td.Start == nil && td.State != spec.StateReady && td.State != spec.StateComplete {
		td.Changes = keepDue(stage, td.State)
	}
	if td.Reason.Code == spec.InfraWait && td.Look.IsZero() {
		td.Look = x.w.Now.Add(x.p.First)
	}
	return td
}

// forgotten reports a task that is gone and of which nothing is known.
func (x *decider) forgotten(t spec.Task) bool {
	if !t.Gone || x.w.Record(t.ID) != nil || len(x.w.Runs[t.ID]) > 0 {
		return false
	}
	_, known := x.groupState(t)
	return !known
}

func (x *decider) groupState(t spec.Task) (state string, known bool) {
	if x.w.Memory == nil || x.w.Memory.Groups[t.Group] == nil {
		return "", false
	}
	state, known = x.w.Memory.Groups[t.Group].Tasks[t.ID.Name]
	return state, known
}

// keepDue drops what only a start needs: a task that a hold, a stored block or
// a timer keeps back gets nothing written beside it.
func keepDue(s spec.Stage, now spec.State) []spec.Change {
	if s.State == spec.StateReady && now != spec.StateReady {
		return nil
	}
	return s.Before
}

// outranks reports whether a reason that the documents give comes before a
// hold or a stored block (FORMATS 4.3, order of classification).
func outranks(c spec.Code) bool {
	switch c {
	case spec.ContractError, spec.UserReview, spec.Vanished, spec.ArchiveAmbiguous, spec.DuplicateID:
		return true
	}
	return false
}

// life leaves out attempts of an earlier, complete task of the same name, and
// begins a new life where there were such.
func (x *decider) life(td *spec.TaskDecision) []spec.Run {
	runs := x.w.Runs[td.Task.ID]
	if td.Record == nil && len(runs) > 0 && x.served(td.Task) {
		if td.Task.Gone {
			return nil
		}
		td.Record = x.newRecord(td.Task.Generation)
		td.Record.Born = x.w.Now
	}
	if td.Record == nil || td.Record.Born.IsZero() {
		return runs
	}
	born := td.Record.Born
	return slices.DeleteFunc(slices.Clone(runs), func(r spec.Run) bool { return r.Locator.ClaimedAt.Before(born) })
}

// served reports whether the last task of this name is complete.
func (x *decider) served(t spec.Task) bool {
	state, _ := x.groupState(t)
	return state == string(spec.StateComplete)
}

// living handles an attempt that is not over, of whatever life or generation:
// nothing else may start beside it.
func (x *decider) living(td *spec.TaskDecision) bool {
	runs := x.w.Runs[td.Task.ID]
	i := slices.IndexFunc(runs, func(r spec.Run) bool { return r.State.Live() })
	if i < 0 {
		return false
	}
	r := &runs[i]
	td.Live = r
	td.State = spec.StateRunning
	td.Step = spec.Step{Role: r.Locator.Role}
	if r.State == spec.RunOrphaned {
		td.Sweeps = append(td.Sweeps, r.Locator.Attempt)
	}
	if td.Record == nil {
		return true // rebuilt from the run directories once it is over
	}
	td.Record.Active = r.Locator.Attempt
	if td.Record.Generation == generationOf(*r) {
		touch(td.Record, r.Locator.Role)
	}
	if held := td.Record.Held; held != nil && held.Stop && r.State != spec.RunOrphaned {
		td.Stops = append(td.Stops, r.Locator.Attempt)
	}
	return true
}

// touch makes sure that the record knows the step was begun.
func touch(rec *spec.Record, role spec.Role) {
	if rec.Stages == nil {
		rec.Stages = map[spec.Role]spec.StageRecord{}
	}
	if _, ok := rec.Stages[role]; !ok {
		rec.Stages[role] = spec.StageRecord{}
	}
}

func (x *decider) newRecord(gen spec.Generation) *spec.Record {
	return &spec.Record{Generation: gen, Unit: x.g.Unit.Key}
}

// renew begins a new generation: stages start afresh, the lineage's sums and a
// person's hold go on. The runs before it are not of the new one, even if they
// bear the same plan number and tag.
func (x *decider) renew(td *spec.TaskDecision, gen spec.Generation, before []spec.Run) {
	old := td.Record
	td.Record = x.newRecord(gen)
	if old == nil {
		return
	}
	rec := td.Record
	rec.Held, rec.Born, rec.FirstStart = old.Held, old.Born, old.FirstStart
	rec.Usage, rec.Attempts, rec.Rounds = old.Usage, old.Attempts, old.Rounds
	if old.Ran() {
		rec.Rounds++
	}
	for _, r := range before {
		if r.Locator.PlanNumber != gen.Plan {
			continue
		}
		if rec.From == nil {
			rec.From = map[spec.Role]int{}
		}
		_, n := spec.SplitAttempt(r.Locator.Attempt)
		rec.From[r.Locator.Role] = max(rec.From[r.Locator.Role], n+1)
	}
}

// complete lets go of a task: its record goes, and its run directories once
// they have been kept as long as asked (seed 003, after PASS).
func (x *decider) complete(td *spec.TaskDecision) {
	td.Rollup = &spec.Rollup{
		Version: 1, Dialect: td.Task.ID.Dialect, Task: td.Task.ID.Name, Title: td.Task.Title,
		Plan: td.Task.Generation.Plan, Tag: td.Task.Generation.Tag, CompletedAt: x.w.Now,
	}
	if rec := td.Record; rec != nil {
		td.Rollup.FirstStart, td.Rollup.Attempts = rec.FirstStart, rec.Attempts
		td.Rollup.Rounds, td.Rollup.Usage = rec.Rounds, rec.Usage
		if td.Rollup.Title == "" { // its document is archived
			td.Rollup.Title = rec.Title
		}
	}
	td.Record = nil
	for _, r := range x.w.Runs[td.Task.ID] {
		if until := r.Ended().Add(x.p.KeepLogs); until.After(x.w.Now) {
			td.Look = earlier(td.Look, until)
			continue
		}
		td.Removes = append(td.Removes, r.Locator.Attempt)
	}
}

// ready starts the step, or says which timer or route keeps it back.
func (x *decider) ready(i int, td *spec.TaskDecision, runs []spec.Run) {
	var st spec.StageRecord
	if td.Record != nil {
		st = td.Record.Stages[td.Step.Role]
	}
	last, idle := lastOf(runs, td.Step.Role, td.Record)
	try := nextTry(td.Step, st, last)
	if why, ok := x.w.Stopped[try.Route.Agent]; ok {
		td.State, td.Reason = spec.StateBlocked, why
		return
	}
	if at, reason := timer(try, st, idle, td.Record, x.p); at.After(x.w.Now) {
		td.State, td.Reason, td.Look = spec.StateWaiting, reason, at
		return
	}
	td.State = spec.StateReady
	td.Start = x.start(i, *td, try)
}

// start is the order for one attempt.
func (x *decider) start(i int, td spec.TaskDecision, try spec.Try) *spec.Start {
	s, task := td.Step, td.Task
	abs := func(rel string) string {
		if rel == "" {
			return ""
		}
		return filepath.Join(x.w.Root, filepath.FromSlash(rel))
	}
	loc := spec.Locator{
		Version: 1, Attempt: spec.AttemptName(s.Prefix, x.nextNumber(td)),
		Task: task.ID.Name, Dialect: task.ID.Dialect, Unit: x.g.Unit.Key, Role: s.Role,
		PlanNumber: task.Generation.Plan, Tag: task.Generation.Tag,
		CLI: try.Route.Agent, Model: try.Route.Model, Effort: try.Route.Effort, Rung: try.Rung,
		LimitKey: limitKey(try.Route),
		Cwd:      abs(s.Dir), Env: s.Env, Workspace: x.w.Root,
		Plan: abs(s.Plan), Review: abs(s.Review), WorkLog: abs(s.WorkLog),
		Try: try.Kind, Before: s.Before, Limits: x.p.Limits,
	}
	loc.Limits.ReviewControl = s.Role == spec.RoleReview
	if try.Last != nil {
		loc.Previous = path.Join(try.Last.Dir, "locator.json")
	}
	return &spec.Start{
		Locator: loc, Prompt: x.d.Prompt(x.g, i, s, try, x.w.Root), Try: try, Task: task, Step: s,
	}
}

// nextNumber is one more than any attempt of the step on disk, of whatever
// tag or life, and than those that are known without their directories.
func (x *decider) nextNumber(td spec.TaskDecision) int {
	next := 0
	if rec := td.Record; rec != nil {
		_, through := spec.SplitAttempt("__" + rec.Stages[td.Step.Role].FoldedThrough)
		next = max(rec.From[td.Step.Role], through+1)
	}
	for _, r := range x.w.Runs[td.Task.ID] {
		if p, n := spec.SplitAttempt(r.Locator.Attempt); p == td.Step.Prefix && n >= next {
			next = n + 1
		}
	}
	return next
}

func heldReason(h *spec.Hold) spec.Reason {
	return spec.Reason{Code: spec.Held, Detail: fmt.Sprintf("held by %s", h.By), Resume: "drover release"}
}

func generationOf(r spec.Run) spec.Generation {
	return spec.Generation{Plan: r.Locator.PlanNumber, Tag: r.Locator.Tag}
}

// lastOf is the newest attempt of a step in the record's generation whose agent
// started, and how many claims after it never got that far.
func lastOf(runs []spec.Run, role spec.Role, rec *spec.Record) (last *spec.Run, idle int) {
	for i := len(runs) - 1; i >= 0 && rec != nil; i-- {
		r := &runs[i]
		switch {
		case r.Locator.Role != role || !ofGeneration(rec, *r):
		case r.State == spec.RunUnstarted:
			idle++
		default:
			return r, idle
		}
	}
	return nil, idle
}

// earlier is the sooner of two times, where zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
