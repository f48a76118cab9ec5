package reconcile

import (
	"fmt"
	"maps"

	"drover/spec"
)

// fold takes the ended attempts that the record does not know yet into it, in
// order, and begins a new generation where the documents tell one. A replay
// changes nothing: an attempt is folded once, by its number. Where there is no
// record, the attempts tell all of it, one generation after the other.
func (x *decider) fold(i int, td *spec.TaskDecision, runs []spec.Run) {
	rebuild := td.Record == nil
	for n, r := range runs {
		gen := generationOf(r)
		if rebuild && (td.Record == nil || td.Record.Generation != gen) {
			x.renew(td, gen, runs[:n])
		}
		x.foldOnce(i, td, r)
	}
	if td.Record == nil || td.Task.Gone || td.Record.Generation == td.Task.Generation {
		return
	}
	n := len(runs)
	for n > 0 && generationOf(runs[n-1]) != td.Record.Generation {
		n--
	}
	x.renew(td, td.Task.Generation, runs[:n])
	for _, r := range runs[n:] { // of a new generation that was not saved
		x.foldOnce(i, td, r)
	}
}

func (x *decider) foldOnce(i int, td *spec.TaskDecision, r spec.Run) {
	if !ofGeneration(td.Record, r) || folded(td.Record, r) {
		return
	}
	x.w.Folded[td.Task.ID] = td.Record
	td.Folds = append(td.Folds, x.foldRun(i, td, td.Record, r))
}

// ofGeneration reports whether an attempt belongs to the record's generation.
func ofGeneration(rec *spec.Record, r spec.Run) bool {
	_, n := spec.SplitAttempt(r.Locator.Attempt)
	return generationOf(r) == rec.Generation && n >= rec.From[r.Locator.Role]
}

func folded(rec *spec.Record, r spec.Run) bool {
	st, ok := rec.Stages[r.Locator.Role]
	if !ok || st.FoldedThrough == "" {
		return false
	}
	_, n := spec.SplitAttempt(r.Locator.Attempt)
	_, through := spec.SplitAttempt("__" + st.FoldedThrough)
	return n <= through
}

// classOf is how a run ended, as the budget sees it.
func classOf(r spec.Run) spec.Class {
	switch r.State {
	case spec.RunUnstarted:
		return spec.ClassNotStarted
	case spec.RunLost:
		return spec.ClassLost
	}
	if r.Exit.Class == "" {
		return spec.ClassGenericError
	}
	return r.Exit.Class
}

// foldRun counts one attempt.
func (x *decider) foldRun(i int, td *spec.TaskDecision, rec *spec.Record, r spec.Run) spec.Fold {
	role, class := r.Locator.Role, classOf(r)
	touch(rec, role)
	st := rec.Stages[role]
	f := spec.Fold{Run: r, Result: string(class)}
	rec.Active = ""
	st.FoldedThrough = spec.ShortAttempt(r.Locator.Attempt)
	st.LastLocator = r.Dir + "/locator.json"
	st.LastEnd = r.Ended()
	if class == spec.ClassNotStarted { // it says nothing of the step
		rec.Stages[role] = st
		return f
	}
	x.sum(rec, r)
	st.LastClass, st.ResetAt, st.Rung = class, r.Exit.ResetAt, max(st.Rung, r.Locator.Rung)
	st.Next = ""
	rec.Stages[role] = st
	if class == spec.ClassSuccess {
		f.Judgement = x.d.Judge(x.t, x.g, i, x.w, r)
		x.judged(rec, &st, r, &f)
	} else if class.Counted() {
		st.Transport++
		f.Counted = st.Transport
	}
	if class.StopsRoute() || class == spec.ClassInfra {
		x.stopRoute(td, r, class)
	}
	x.budget(rec, st, r)
	rec.Stages[role] = st
	return f
}

// sum adds an attempt to what the lineage took.
func (x *decider) sum(rec *spec.Record, r spec.Run) {
	rec.Attempts++
	if rec.Attempts == 1 {
		rec.Usage = r.Exit.Usage
	} else {
		rec.Usage = rec.Usage.Add(r.Exit.Usage)
	}
	if rec.FirstStart.IsZero() {
		rec.FirstStart = r.Locator.ClaimedAt
	}
}

// judged takes a judgement of an attempt whose CLI reported success.
func (x *decider) judged(rec *spec.Record, st *spec.StageRecord, r spec.Run, f *spec.Fold) {
	j := f.Judgement
	switch {
	case j.Failed:
		st.Transport++
		st.LastClass = spec.ClassGenericError
		f.Result = "no-result"
	case j.Refused:
		st.Transport = 0
		st.Judged++
		f.Result = "incomplete"
	default:
		st.Transport, st.Judged = 0, 0
		st.Done = j.Done
	}
	if j.Verdict != "" {
		f.Result = j.Verdict
	}
	f.Counted = max(st.Transport, st.Judged)
	st.Next = j.Try
	if j.Signature != "" {
		rec.Signature = j.Signature
	}
	rec.NoProgress = map[bool]int{true: rec.NoProgress + 1}[j.Unchanged]
	switch {
	case j.Block != nil:
		block(rec, r, *j.Block)
	case j.Limit > 0 && max(st.Judged, rec.NoProgress) >= j.Limit && (j.Refused || j.Unchanged):
		block(rec, r, spec.Reason{Code: j.Code, Detail: fmt.Sprintf("%s, %d of %d; %s", r.Locator.Role, j.Limit, j.Limit, j.Detail)})
	}
}

// budget blocks a step whose attempts in a row are used up (seed 003: ten).
func (x *decider) budget(rec *spec.Record, st spec.StageRecord, r spec.Run) {
	if rec.Block != nil || st.Transport < x.p.Budget {
		return
	}
	block(rec, r, spec.Reason{
		Code:   spec.FailureBudget,
		Detail: fmt.Sprintf("%s, %d of %d, last %s", r.Locator.Role, st.Transport, x.p.Budget, st.LastClass),
	})
}

func block(rec *spec.Record, r spec.Run, why spec.Reason) {
	why.Locator = r.Dir + "/locator.json"
	if why.Resume == "" {
		why.Resume = "drover retry " + r.Locator.Task
	}
	rec.Block = &spec.Block{Reason: why, Role: r.Locator.Role, Since: r.Ended()}
}

// stopRoute keeps every task off a program that cannot work now.
func (x *decider) stopRoute(td *spec.TaskDecision, r spec.Run, class spec.Class) {
	why := spec.Reason{
		Code: spec.RouteStopped, Since: r.Ended(), Locator: r.Dir + "/locator.json",
		Detail: fmt.Sprintf("%s: %s: %s", r.Locator.CLI, class, firstLine(r.Exit.Evidence.Excerpt)),
		Resume: "mend the cause, then: drover retry " + r.Locator.Task,
	}
	if td.StopRoutes == nil {
		td.StopRoutes = map[string]spec.Reason{}
	}
	td.StopRoutes[r.Locator.CLI] = why
	stopped := maps.Clone(x.w.Stopped)
	if stopped == nil {
		stopped = map[string]spec.Reason{}
	}
	stopped[r.Locator.CLI] = why
	x.w.Stopped = stopped
}

func firstLine(s string) string {
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
