package reconcile

import (
	"fmt"
	"path"

	"drover/spec"
)

// recordFold tells of an ended attempt.
func (l *Loop) recordFold(b *batch, td *spec.TaskDecision, f *spec.Fold) {
	delete(l.stopping, f.Run.Locator.Attempt)
	if l.ran++; l.ran == 1 {
		l.used = f.Run.Exit.Usage
	} else {
		l.used = l.used.Add(f.Run.Exit.Usage)
	}
	e := l.event(spec.EventFinish, td.Task)
	loc := f.Run.Locator
	route := spec.Route{Agent: loc.CLI, Model: loc.Model, Effort: loc.Effort}
	usage := f.Run.Exit.Usage
	e.Attempt, e.Role, e.Route, e.Plan, e.Tag = loc.Attempt, loc.Role, &route, loc.PlanNumber, loc.Tag
	e.StartedAt, e.EndedAt, e.Class, e.Result = loc.ClaimedAt, f.Run.Ended(), classOf(f.Run), f.Result
	e.Usage, e.Locator = &usage, path.Join(f.Run.Dir, "locator.json")
	e.Message = clip(f.Run.Result.FinalMessage, 4<<10)
	b.events = append(b.events, e)
	if v := f.Judgement.Verdict; v != "" {
		e := l.event(spec.EventVerdict, td.Task)
		e.Attempt, e.Verdict, e.Plan, e.Tag = loc.Attempt, v, loc.PlanNumber, loc.Tag
		b.events = append(b.events, e)
	}
	l.foldNotices(b, td, f)
}

func (l *Loop) foldNotices(b *batch, td *spec.TaskDecision, f *spec.Fold) {
	n := Notice{
		At: l.Now(), Task: td.Task, Role: f.Run.Locator.Role, Attempt: spec.ShortAttempt(f.Run.Locator.Attempt),
		Locator: &f.Run.Locator, Dir: f.Run.Dir, Exit: &f.Run.Exit, Verdict: f.Judgement.Verdict,
	}
	if f.Judgement.Verdict != "" {
		n.Key, n.Text = ReviewResult, f.Judgement.Detail
		b.notices = append(b.notices, n)
	}
	if f.Judgement.Unchanged {
		n.Key, n.Text = NoProgressWarning, "nothing that counts as progress changed"
		b.notices = append(b.notices, n)
	}
	switch class := classOf(f.Run); {
	case class == spec.ClassStopped:
		n.Key, n.Text = StoppedByPerson, "ended as asked; drover release "+td.Task.ID.Name+" goes on"
		b.notices = append(b.notices, n)
	case class.Counted() || f.Judgement.Failed || f.Judgement.Refused:
		n.Key, n.Next = AttemptFailed, nextWordsOf(td)
		n.Text = fmt.Sprintf("%s; %d in a row", f.Result, f.Counted)
		if f.Judgement.Detail != "" {
			n.Text = f.Judgement.Detail + "; " + n.Text
		}
		b.notices = append(b.notices, n)
	}
}

// nextWordsOf says what the next attempt does differently, if there is one.
func nextWordsOf(td *spec.TaskDecision) string {
	switch {
	case td.Start != nil:
		return nextWords(td.Start.Try)
	case td.State == spec.StateBlocked:
		return "none: " + string(td.Reason.Code)
	}
	return td.Reason.Detail
}

func (l *Loop) recordStart(b *batch, td *spec.TaskDecision) {
	s := td.Start
	e := l.event(spec.EventStart, td.Task)
	route := s.Try.Route
	e.Attempt, e.Role, e.Route = s.Locator.Attempt, s.Locator.Role, &route
	e.StartedAt, e.Locator = s.Locator.ClaimedAt, path.Join(runDir(s.Locator), "locator.json")
	if seen, ok := l.Seen[td.Task.ID]; ok && seen.Code == spec.LimitFull {
		e.Waited = l.Now().Sub(seen.Since).Seconds()
	}
	b.events = append(b.events, e)
	key := startKey(s)
	if key == ModelPromoted {
		p := l.event(spec.EventPromote, td.Task)
		p.Attempt, p.Role, p.Route, p.Cause = s.Locator.Attempt, s.Locator.Role, &route, s.Try.Why
		b.events = append(b.events, p)
	}
	b.notices = append(b.notices, Notice{
		Key: key, At: l.Now(), Task: td.Task, Role: s.Locator.Role, Locator: &s.Locator,
		Attempt: spec.ShortAttempt(s.Locator.Attempt), Dir: runDir(s.Locator), Next: s.Try.Why,
	})
}

// runDir is the run directory of a claimed attempt.
func runDir(l spec.Locator) string { return path.Dir(l.StreamLog) }

// stateNotice is what people are told of a new state; starts and results have
// notices of their own.
func stateNotice(td *spec.TaskDecision) (Notice, bool) {
	n := Notice{Task: td.Task, Role: td.Step.Role, Reason: td.Reason}
	switch {
	case td.State == spec.StateComplete:
		n.Key = TaskComplete
	case td.State == spec.StateBlocked:
		n.Key = TaskBlocked
	case td.State == spec.StateWaiting && td.Reason.Code == spec.QuotaWait:
		n.Key = QuotaWaiting
	case td.State == spec.StateWaiting && td.Reason.Code == spec.Gate:
		n.Key = GateOpened
	case td.State == spec.StateWaiting || td.State == spec.StateHeld:
		n.Key = TaskWaiting
	default:
		return n, false
	}
	return n, true
}

func (l *Loop) startRow(loc spec.Locator, dir string) spec.LogRow {
	return l.row(loc, dir, "START")
}

func (l *Loop) row(loc spec.Locator, dir, event string) spec.LogRow {
	if dir == "" {
		dir = runDir(loc)
	}
	route := spec.Route{Agent: loc.CLI, Model: loc.Model, Effort: loc.Effort}
	return spec.LogRow{
		Path: l.relative(loc.WorkLog), Time: loc.ClaimedAt, Event: event, Task: path.Base(loc.Task), Role: loc.Role,
		Attempt: spec.ShortAttempt(loc.Attempt), Model: route.String(), Result: "-",
		Locator: path.Join(dir, "locator.json"),
	}
}

func (l *Loop) finishRow(f spec.Fold) spec.LogRow {
	row := l.row(f.Run.Locator, f.Run.Dir, "FINISH")
	row.Time, row.Result = f.Run.Ended(), f.Result
	return row
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}
