package reconcile

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"drover/spec"
)

// batch gathers the effects of one pass, so that each barrier is crossed once
// for all tasks.
type batch struct {
	events  []spec.Event
	rollups []spec.Rollup
	notices []Notice
	touched []string // paths that the pass changed
	tasks   []*pending
}

// pending is one decided task on its way through the barriers.
type pending struct {
	td      *spec.TaskDecision
	unit    spec.Unit
	claimed bool
	failed  bool // an effect failed; the rest of its effects are left out
}

// apply makes decisions true, in the order of the barriers (DESIGN 5). It
// returns the paths it changed.
func (l *Loop) apply(ctx context.Context, ds []spec.Decision) ([]string, error) {
	b := &batch{}
	b.tasks = make([]*pending, 0, len(ds))
	for i := range ds {
		for j := range ds[i].Tasks {
			b.tasks = append(b.tasks, &pending{td: &ds[i].Tasks[j], unit: ds[i].Unit})
		}
	}
	for _, p := range b.tasks {
		l.end(ctx, p)
		l.change(ctx, b, p)
	}
	l.conclude(ctx, b)
	l.finishRows(ctx, b)
	if err := l.baselines(ctx, b); err != nil {
		for _, p := range b.tasks {
			l.dirty[p.unit] = struct{}{}
		}
		return nil, err
	}
	l.claim(ctx, b)
	l.launch(ctx, b)
	b.events = make([]spec.Event, 0, len(b.tasks))
	for i := range ds {
		l.settle(ds[i]) // first, so that a changed state finds who waits for it
	}
	for _, p := range b.tasks {
		l.record(b, p)
	}
	l.dirtyTurned()
	l.acted = l.acted || l.unsaved || len(b.events)+len(b.rollups)+len(b.touched)+len(l.removes) > 0
	l.tell(b.notices)
	l.events, l.rollups = joined(l.events, b.events), joined(l.rollups, b.rollups)
	return b.touched, l.write(ctx)
}

// end stops and sweeps what the decision wants gone.
func (l *Loop) end(ctx context.Context, p *pending) {
	for _, attempt := range p.td.Stops {
		if !l.stopping[attempt] && l.Launcher.Stop(ctx, attempt, "person") == nil {
			l.stopping[attempt] = true
		}
	}
	for _, attempt := range p.td.Sweeps {
		if err := l.Launcher.Sweep(ctx, attempt); err != nil {
			p.td.State = spec.StateBlocked
			p.td.Reason = spec.Reason{Code: spec.LeftoverProcess, Detail: err.Error()}
			p.td.Look = l.Now().Add(l.Policy.Max)
			continue
		}
		l.dirty[p.unit] = struct{}{}
	}
}

// change applies the document changes of a task. A person's edit wins: the
// task is then looked at again.
func (l *Loop) change(ctx context.Context, b *batch, p *pending) {
	for _, c := range p.td.Changes {
		if err := l.Files.Apply(ctx, c); err != nil {
			l.keepBack(p, err)
			return
		}
		b.touched = append(b.touched, changedPaths(c)...)
	}
	if len(p.td.Changes) > 0 && p.td.Start == nil {
		l.dirty[p.unit] = struct{}{}
	}
}

func changedPaths(c spec.Change) []string {
	switch c := c.(type) {
	case spec.CreateFile:
		return []string{c.Path}
	case spec.MoveFile:
		return []string{c.From, c.To}
	case spec.DeriveFile:
		return []string{c.To}
	case spec.ArchiveFolder: // where the name is taken, it is another one beside it
		return []string{c.From, path.Dir(c.To)}
	case spec.SetField:
		return []string{c.Path}
	case spec.ManagedBlock:
		return []string{c.Path}
	}
	return []string{"."}
}

// keepBack leaves a task alone for a while after an effect failed for want of
// something that comes back by itself (a full disk); nothing is counted.
func (l *Loop) keepBack(p *pending, err error) {
	w := l.retries[p.td.Task.ID]
	w.n++
	w.until = l.Now().Add(backoff(w.n, spec.ClassInfra, l.Policy))
	w.reason = spec.Reason{Code: spec.InfraWait, Detail: err.Error()}
	l.retries[p.td.Task.ID] = w
	p.failed, l.vacant = true, l.vacant || p.td.Start != nil
	p.td.Start = nil
	p.td.State, p.td.Reason, p.td.Look = spec.StateWaiting, w.reason, w.until
}

// conclude tells the locators of failures that the shims could not record: an
// attempt that was lost, and one whose CLI reported a success that was none.
func (l *Loop) conclude(ctx context.Context, b *batch) {
	for _, p := range b.tasks {
		for i := range p.td.Folds {
			f := &p.td.Folds[i]
			class, source := classOf(f.Run), spec.SourceSystem
			if f.Judgement.Failed {
				class, source = spec.ClassGenericError, spec.SourceDispatcher
			} else if class != spec.ClassLost {
				continue
			}
			loc := &f.Run.Locator
			loc.FailureClass, loc.FailureSource = class, source
			if err := l.Launcher.Conclude(ctx, loc.Attempt, class, source); err != nil {
				l.keepBack(p, err) // the fold itself stands; the next pass has room again
			}
		}
	}
}

// finishRows writes the FINISH rows of what was folded; the state follows.
func (l *Loop) finishRows(ctx context.Context, b *batch) {
	var rows []spec.LogRow
	var owners []*pending
	for _, p := range b.tasks {
		for _, f := range p.td.Folds {
			if f.Run.Locator.WorkLog == "" {
				continue
			}
			rows = append(rows, l.startRow(f.Run.Locator, f.Run.Dir), l.finishRow(f))
			owners = append(owners, p, p)
		}
	}
	for i, err := range l.Files.AppendLog(ctx, rows) {
		if err != nil && owners[i].td.Record != nil {
			l.blockLog(owners[i], err, spec.WorkLogRuntimeWrite)
		}
	}
}

func (l *Loop) blockLog(p *pending, err error, code spec.Code) {
	if errors.Is(err, spec.ErrWorkLogSetup) {
		code = spec.WorkLogSetup
	}
	if p.td.Record == nil {
		p.td.Record = &spec.Record{Generation: p.td.Task.Generation, Unit: p.unit.Key}
	}
	why := spec.Reason{Code: code, Detail: err.Error(), Resume: "drover retry " + p.td.Task.ID.Name}
	p.td.Record.Block = &spec.Block{Reason: why, Since: l.Now()}
	l.vacant = l.vacant || p.td.Start != nil
	p.td.State, p.td.Reason, p.td.Start, p.failed = spec.StateBlocked, why, nil, true
}

// baselines saves, before anything of theirs runs, the archives that tasks had
// when they were first seen, and when a new life of a name began: afterwards
// nobody could tell old from new.
func (l *Loop) baselines(ctx context.Context, b *batch) error {
	need := false
	for _, p := range b.tasks {
		if p.td.Start == nil {
			continue
		}
		if len(p.td.Baseline) > 0 {
			l.rememberGroup(p.td, p.unit)
			need = true
		}
		if id, rec := p.td.Task.ID, p.td.Record; rec != nil && !rec.Born.IsZero() && l.Memory.Records[id] == nil && len(p.td.Folds) == 0 {
			l.Memory.Records[id] = rec.Clone()
			need = true
		}
	}
	if !need {
		return nil
	}
	return l.save(ctx)
}

// claim makes the run directories of all starts, then their START rows.
func (l *Loop) claim(ctx context.Context, b *batch) {
	var starts []*spec.Start
	var owners []*pending
	for _, p := range b.tasks {
		if admitted(p.td) && !p.failed {
			starts = append(starts, p.td.Start)
			owners = append(owners, p)
		}
	}
	var rows []spec.LogRow
	var logged []*pending
	for i, err := range l.Launcher.Claim(ctx, starts) {
		p := owners[i]
		switch {
		case err == nil:
			p.claimed = true
			if loc := p.td.Start.Locator; loc.WorkLog != "" {
				rows = append(rows, l.startRow(loc, ""))
				logged = append(logged, p)
			}
		case errors.Is(err, spec.ErrCLIMissing):
			l.missing(p, err.Error())
		default:
			l.keepBack(p, err)
		}
	}
	for i, err := range l.Files.AppendLog(ctx, rows) {
		if err != nil {
			l.unclaim(ctx, logged[i], err)
		}
	}
}

// missing stops every route of a program that is not there.
func (l *Loop) missing(p *pending, detail string) {
	agent := p.td.Start.Try.Route.Agent
	if _, rest, ok := strings.Cut(detail, spec.ErrCLIMissing.Error()+": "); ok {
		detail = rest // without the one attempt that met it: it stops them all
	}
	why := spec.Reason{Code: spec.CLIMissing, Since: l.Now(), Resume: "set agents." + agent + ".path in drover.yaml (drover init --agents prints it), then: drover retry --all"}
	var where string
	if why.Detail, where, _ = strings.Cut(detail, " ("); where != "" { // long, and the same for every task
		why.Looked = []string{"in " + strings.TrimSuffix(where, ")")}
	}
	l.stopRoute(agent, why)
	p.td.Start = nil
	p.td.State, p.td.Reason = spec.StateBlocked, why
}

// unclaim takes a claim back whose START row could not be written: nothing
// may run that the log does not tell of (seed 003).
func (l *Loop) unclaim(ctx context.Context, p *pending, err error) {
	attempt := p.td.Start.Locator.Attempt
	p.claimed = false
	_ = l.Launcher.Remove(ctx, []string{attempt}) // left over, it counts as never started
	l.blockLog(p, err, spec.WorkLogRuntimeWrite)
}

// launch starts the shims of what was claimed.
func (l *Loop) launch(ctx context.Context, b *batch) {
	for _, p := range b.tasks {
		if !p.claimed {
			continue
		}
		loc := p.td.Start.Locator
		if err := l.Launcher.Launch(ctx, loc.Attempt); err != nil {
			l.keepBack(p, err)
			p.claimed = false
			continue
		}
		delete(l.retries, p.td.Task.ID)
		if p.td.Record == nil {
			p.td.Record = &spec.Record{Generation: p.td.Task.Generation, Unit: p.unit.Key}
		}
		touch(p.td.Record, loc.Role)
		p.td.Record.Active, p.td.Record.Title = loc.Attempt, p.td.Task.Title
		if p.td.Record.FirstStart.IsZero() {
			p.td.Record.FirstStart = loc.ClaimedAt
		}
		p.td.State, p.td.Reason = spec.StateRunning, spec.Reason{}
		id := p.td.Task.ID
		l.runs[id] = append(slices.Clone(l.runs[id]), spec.Run{State: spec.RunStarting, Locator: loc, Dir: runDir(loc)})
	}
}

// record takes what happened to a task into the memory, the events and the
// notices.
func (l *Loop) record(b *batch, p *pending) {
	td := p.td
	for i := range td.Folds {
		l.recordFold(b, td, &td.Folds[i])
	}
	if p.claimed {
		l.recordStart(b, td)
	}
	seen, known := l.Seen[td.Task.ID]
	if !known || !seen.Says(td.State, td.Reason) {
		l.recordState(b, td, seen)
	}
	if td.State == spec.StateComplete {
		if seen.State != spec.StateComplete {
			l.done++
		}
		if td.Rollup != nil && seen.State != spec.StateComplete {
			b.rollups = append(b.rollups, *td.Rollup)
		}
		l.removes = append(l.removes, td.Removes...)
	}
	l.remember(td, p.unit)
}

func (l *Loop) recordState(b *batch, td *spec.TaskDecision, seen spec.Seen) {
	now := l.Now()
	e := l.event(spec.EventState, td.Task)
	e.From, e.To, e.Role = seen.State, td.State, td.Step.Role
	if !td.Reason.Zero() {
		why := td.Reason
		e.Reason, e.WaitsFor, e.Cause = &why, why.WaitsFor, string(why.Code)
	}
	b.events = append(b.events, e)
	since := now
	if seen.Code == spec.LimitFull && td.Reason.Code == spec.LimitFull {
		since = seen.Since // another limit is full now; its place in the queue stays
	}
	l.Seen[td.Task.ID] = spec.Seen{State: td.State, Code: td.Reason.Code, Detail: td.Reason.Detail, Since: since}
	l.wakeWaiters(td.Task.ID.Name)
	if n, ok := stateNotice(td); ok {
		n.At = now
		b.notices = append(b.notices, n)
	}
}

func (l *Loop) event(kind spec.EventKind, t spec.Task) spec.Event {
	return spec.Event{
		Version: 1, At: l.Now(), Kind: kind, Dialect: t.ID.Dialect, Task: t.ID.Name,
		Plan: t.Generation.Plan, Tag: t.Generation.Tag,
	}
}

func (l *Loop) tell(ns []Notice) {
	if l.Tell == nil {
		return
	}
	for _, n := range ns {
		l.Tell(n)
	}
}

// joined is append without a copy where there was nothing.
func joined[T any](a, b []T) []T {
	if len(a) == 0 {
		return b
	}
	return append(a, b...)
}
