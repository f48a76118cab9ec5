package reconcile

import (
	"cmp"
	"path"
	"slices"
	"time"

	"drover/spec"
)

// View is what the last decisions say of every task, for listings. It is the
// loop's own knowledge: a listing cannot disagree with what the loop does.
func (l *Loop) View() ([]*spec.TaskDecision, []spec.Problem) {
	tasks := make([]*spec.TaskDecision, 0, len(l.units))
	var problems []spec.Problem
	for _, st := range l.units {
		for i := range st.tasks {
			tasks = append(tasks, &st.tasks[i])
		}
		problems = append(problems, st.problems...)
	}
	for _, ps := range l.problems {
		problems = append(problems, ps...)
	}
	slices.SortFunc(tasks, func(a, b *spec.TaskDecision) int {
		return cmp.Or(cmp.Compare(a.Task.ID.Dialect, b.Task.ID.Dialect), cmp.Compare(a.Task.ID.Name, b.Task.ID.Name))
	})
	slices.SortFunc(problems, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	return tasks, slices.Compact(problems)
}

// Tally counts the tasks that want accepts, without a row for each.
func (l *Loop) Tally(want func(spec.TaskID) bool) (sum spec.Summary, next time.Time) {
	for _, st := range l.units {
		for i := range st.tasks {
			td := &st.tasks[i]
			if want == nil || want(td.Task.ID) {
				sum.Count(td.State, td.Reason.Code, !td.Look.IsZero())
				next = earlier(next, td.Look)
			}
		}
		sum.Problems += len(st.problems)
	}
	for _, ps := range l.problems {
		sum.Problems += len(ps)
	}
	for _, g := range l.Memory.Groups {
		for name, state := range g.Tasks {
			id := spec.TaskID{Dialect: g.Dialect, Name: name}
			if state == string(spec.StateComplete) && l.task(id) == nil && (want == nil || want(id)) {
				sum.Complete++
			}
		}
	}
	return sum, next
}

// Row is one task's row of a status document.
func (l *Loop) Row(td *spec.TaskDecision) spec.Row {
	id := td.Task.ID
	row := spec.Row{
		Dialect: id.Dialect, Task: id.Name, Title: td.Task.Title, State: td.State, Stage: td.Step.Role,
		NeedsPerson: spec.NeedsPerson(td.State, td.Reason.Code), WaitsFor: []string{}, Do: []spec.Do{},
		FailureLimit: l.Policy.Budget, Plan: td.Task.Generation.Plan, Tag: td.Task.Generation.Tag,
		DependsOn: nonNil(td.Task.DependsOn), File: td.Task.Doc, Line: td.Task.Line,
	}
	if !td.Reason.Zero() {
		why := td.Reason
		row.Reason, row.WaitsFor, row.Locator = &why, nonNil(why.WaitsFor), why.Locator
	}
	if seen, ok := l.Seen[id]; ok && seen.State == td.State {
		row.Since = optional(seen.Since)
	}
	l.rowRecord(&row, td)
	l.rowRoute(&row, td)
	row.NextAt = optional(td.Look)
	return row
}

// rowRecord fills in what is remembered.
func (l *Loop) rowRecord(row *spec.Row, td *spec.TaskDecision) {
	rec := td.Record
	if rec == nil {
		return
	}
	st := rec.Stages[td.Step.Role]
	row.Attempts, row.Usage, row.Failures = rec.Attempts, rec.Usage, st.Transport
	if row.Locator == "" {
		row.Locator = st.LastLocator
	}
	if td.State == spec.StateBlocked && rec.Block != nil && rec.Block.Role != "" {
		row.Stage = rec.Block.Role
		row.Failures = rec.Stages[rec.Block.Role].Transport
		row.Since = optional(rec.Block.Since)
	}
}

// rowRoute fills in the running attempt, or what would start next.
func (l *Loop) rowRoute(row *spec.Row, td *spec.TaskDecision) {
	live := l.liveRuns(td.Task.ID)
	switch {
	case len(live) > 0:
		r := live[0]
		row.Attempt, row.Locator = r.Locator.Attempt, path.Join(r.Dir, "locator.json")
		row.Route = &spec.Route{Agent: r.Locator.CLI, Model: r.Locator.Model, Effort: r.Locator.Effort}
		row.StartedAt, row.LastProgress = optional(r.Locator.ClaimedAt), optional(r.Progress)
		row.Stage = r.Locator.Role
		row.Attempts++
	case td.Start != nil:
		route := td.Start.Try.Route
		row.Route = &route
	case len(td.Step.Ladder) > 0:
		rung := 0
		if td.Record != nil {
			rung = min(td.Record.Stages[td.Step.Role].Rung, len(td.Step.Ladder)-1)
		}
		route := td.Step.Ladder[rung]
		row.Route = &route
	}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func sortTasks(ids []spec.TaskID) {
	slices.SortFunc(ids, func(a, b spec.TaskID) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Name, b.Name))
	})
}
