package reconcile

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"time"

	"drover/spec"
)

// Pass looks at what hints name (nil: at everything), decides, and applies,
// until its own effects ask for nothing more. With mine it reads only the
// files of those units again; the candidates as a whole are scanned with nil,
// and as soon as a task became complete (seed 003, scanning).
func (l *Loop) Pass(ctx context.Context, hints []string, mine map[spec.Unit]struct{}) error {
	const rounds = 256 // a chain of waiting tasks is told one by one
	for range rounds {
		if l.mine = mine; mine == nil {
			l.scan()
		}
		if err := l.look(ctx, hints); err != nil {
			return err
		}
		if err := l.tellSilence(ctx); err != nil {
			return err
		}
		l.due()
		ds := l.decide()
		l.entered = true
		if len(ds) == 0 {
			break
		}
		done := l.done
		l.admit(ds)
		touched, err := l.apply(ctx, ds)
		if err != nil {
			return err
		}
		if l.vacant {
			l.wakeQueue()
		}
		if hints = touched; hints == nil {
			hints = []string{}
		}
		if l.done > done && mine != nil {
			mine = nil
		}
	}
	l.expire()
	return l.flush(ctx, false)
}

// due marks the units whose timers have run out.
func (l *Loop) due() {
	now := l.Now()
	for u, at := range l.looks {
		if !at.After(now) {
			delete(l.looks, u)
			l.dirty[u] = struct{}{}
		}
	}
	if l.Probe {
		l.probe(now)
	}
}

// settle keeps what was decided of a unit, and who waits for whom.
func (l *Loop) settle(d spec.Decision) {
	l.unwait(d.Unit)
	st := &standing{tasks: d.Tasks, problems: d.Problems}
	var look time.Time
	full := false
	for i := range d.Tasks {
		td := &d.Tasks[i]
		l.taskUnit[td.Task.ID] = d.Unit
		look = earlier(look, td.Look)
		for _, name := range waitsFor(td) {
			l.wait(name, d.Unit)
		}
		full = full || td.Reason.Code == spec.LimitFull
	}
	l.enqueue(d.Unit, full)
	if delete(l.looks, d.Unit); !look.IsZero() {
		l.looks[d.Unit] = look
	}
	if len(d.Tasks)+len(d.Problems) == 0 {
		delete(l.units, d.Unit)
	} else {
		l.units[d.Unit] = st
	}
}

// waitsFor are the names whose change may free a task; where one is unknown,
// any task of the group may turn out to be it.
func waitsFor(td *spec.TaskDecision) []string {
	switch td.Reason.Code {
	case spec.LimitFull:
		return nil
	case spec.UnknownPredecessor, spec.PredecessorBlocked, spec.PredecessorAmbiguous:
		return append(td.Reason.WaitsFor[:len(td.Reason.WaitsFor):len(td.Reason.WaitsFor)], td.Task.Group)
	}
	return td.Reason.WaitsFor
}

func (l *Loop) wait(name string, u spec.Unit) {
	if l.waiters[name] == nil {
		l.waiters[name] = map[spec.Unit]struct{}{}
	}
	l.waiters[name][u] = struct{}{}
}

func (l *Loop) unwait(u spec.Unit) {
	if st := l.units[u]; st != nil {
		for i := range st.tasks {
			for _, name := range waitsFor(&st.tasks[i]) {
				if delete(l.waiters[name], u); len(l.waiters[name]) == 0 {
					delete(l.waiters, name)
				}
			}
		}
	}
}

// wakeWaiters marks the units that wait for a task whose state changed.
func (l *Loop) wakeWaiters(task string) {
	for u := range l.waiters[task] {
		l.dirty[u] = struct{}{}
	}
}

// remember takes a decided task into the memory.
func (l *Loop) remember(td *spec.TaskDecision, unit spec.Unit) {
	if td.Record != nil {
		td.Record.State = groupState(td.State)
	}
	id := td.Task.ID
	if old := l.Memory.Records[id]; !sameRecord(old, td.Record) {
		l.unsaved = true
		l.wakeWaiters(id.Name) // whether a completion counts rests on the record
		if td.Record == nil {
			delete(l.Memory.Records, id)
		} else {
			l.Memory.Records[id] = td.Record
		}
	}
	l.rememberRoutes(td)
	l.rememberGroup(td, unit)
}

// rememberGroup keeps the seed's orchestration state of a group.
func (l *Loop) rememberGroup(td *spec.TaskDecision, unit spec.Unit) {
	name := td.Task.Group
	if name == "" {
		return
	}
	g := l.Memory.Groups[name]
	if g == nil {
		root := path.Clean(unit.Key[:len(unit.Key)-len(td.Task.ID.Name)])
		g = &spec.Group{Dialect: unit.Dialect, Root: root, Tasks: map[string]string{}, Baseline: map[string][]string{}}
		l.Memory.Groups[name] = g
		l.unsaved = true
	}
	state := groupState(td.State)
	if g.Tasks[td.Task.ID.Name] == state {
		return
	}
	if old := g.Tasks[td.Task.ID.Name]; old == "" || old == string(spec.StateComplete) {
		delete(g.Baseline, td.Task.ID.Name)
		if len(td.Baseline) > 0 {
			g.Baseline[td.Task.ID.Name] = td.Baseline
		}
	}
	g.Tasks[td.Task.ID.Name] = state
	l.regrouped[name] = g
	l.unsaved = true
	l.wakeWaiters(td.Task.ID.Name) // they may rest on the memory alone
	l.wakeWaiters(name)
}

// groupState is a task's state in the seed's words.
func groupState(s spec.State) string {
	switch s {
	case spec.StateComplete, spec.StateBlocked, spec.StateWaiting:
		return string(s)
	case spec.StateHeld:
		return string(spec.StateWaiting)
	}
	return "active"
}

// orchestration is complete when every task is, blocked when nothing of the
// group can go on without a person, else active.
func orchestration(g *spec.Group) string {
	out := string(spec.StateComplete)
	for _, s := range g.Tasks {
		switch s {
		case "active":
			return s
		case string(spec.StateBlocked), string(spec.StateWaiting):
			out = string(spec.StateBlocked)
		}
	}
	return out
}

func sortUnits(us []spec.Unit) {
	slices.SortFunc(us, func(a, b spec.Unit) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Key, b.Key))
	})
}

// relative is a path below the workspace as the tree names it.
func (l *Loop) relative(abs string) string {
	rel, err := filepath.Rel(l.Root, abs)
	if err != nil {
		return abs
	}
	return filepath.ToSlash(rel)
}
