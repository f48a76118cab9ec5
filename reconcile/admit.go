package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"drover/spec"
)

// slots counts what runs against the limits of routes, programs and the whole
// (seed 003, concurrency; DIALECTS 0: limits are global over dialects).
type slots struct {
	total   int
	byKey   map[string][]string // limit key → tasks that hold a slot
	byAgent map[string][]string
	all     []string
}

func countSlots(total int, runs map[spec.TaskID][]spec.Run) *slots {
	s := &slots{total: total, byKey: map[string][]string{}, byAgent: map[string][]string{}}
	for id, rs := range runs {
		for _, r := range rs {
			if r.State.Live() {
				s.take(r.Locator.LimitKey, r.Locator.CLI, id.Name)
			}
		}
	}
	for _, held := range s.byKey {
		slices.Sort(held)
	}
	return s
}

func limitKey(r spec.Route) string {
	if r.LimitKey != "" {
		return r.LimitKey
	}
	return r.Agent + "/" + r.Model
}

func (s *slots) take(key, agent, task string) {
	s.byKey[key] = append(s.byKey[key], task)
	s.byAgent[agent] = append(s.byAgent[agent], task)
	s.all = append(s.all, task)
}

// room takes a slot for a start if there is one.
func (s *slots) room(st *spec.Start) bool {
	r := st.Try.Route
	key := limitKey(r)
	if r.AtOnce > 0 && len(s.byKey[key]) >= r.AtOnce || s.full() ||
		r.ProgramAtOnce > 0 && len(s.byAgent[r.Agent]) >= r.ProgramAtOnce {
		return false
	}
	s.take(key, r.Agent, st.Task.ID.Name)
	return true
}

// full reports whether no route at all has room.
func (s *slots) full() bool { return s.total > 0 && len(s.all) >= s.total }

// admit takes a slot for a start, or says which limit is full and who holds it.
func (s *slots) admit(st *spec.Start) (spec.Reason, bool) {
	if s.room(st) {
		return spec.Reason{}, true
	}
	r := st.Try.Route
	key := limitKey(r)
	switch {
	case r.AtOnce > 0 && len(s.byKey[key]) >= r.AtOnce:
		return full(key, r.AtOnce, s.byKey[key]), false
	case r.ProgramAtOnce > 0 && len(s.byAgent[r.Agent]) >= r.ProgramAtOnce:
		return full(r.Agent, r.ProgramAtOnce, s.byAgent[r.Agent]), false
	}
	return full("all agents", s.total, s.all), false
}

// full names the limit in the detail and its holders apart, so that a change
// of holders is no change of reason.
func full(key string, n int, held []string) spec.Reason {
	return spec.Reason{
		Code: spec.LimitFull, Detail: fmt.Sprintf("%s %d of %d", key, len(held), n),
		WaitsFor: slices.Clone(held[:min(len(held), 8)]),
	}
}

// admit lets the starts of a pass take their slots, those first that wait
// longest, then by name; the others wait and say for what.
func (l *Loop) admit(ds []spec.Decision) {
	free := countSlots(l.Policy.Total, l.runs)
	type candidate struct {
		td    *spec.TaskDecision
		since time.Time
	}
	now, stopped := l.Now(), stoppedBy(ds)
	var starts []candidate
	for i := range ds {
		for j := range ds[i].Tasks {
			td := &ds[i].Tasks[j]
			if td.Start == nil && len(td.Changes) == 0 || l.keptBack(td, stopped) || td.Start == nil {
				continue
			}
			since := now
			if s, ok := l.Seen[td.Task.ID]; ok && s.Code == spec.LimitFull {
				since = s.Since
			}
			starts = append(starts, candidate{td, since})
		}
	}
	slices.SortStableFunc(starts, func(a, b candidate) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.td.Task.ID.Name, b.td.Task.ID.Name))
	})
	for _, c := range starts {
		if why, ok := free.admit(c.td.Start); !ok {
			c.td.State, c.td.Reason, c.td.Changes = spec.StateWaiting, why, nil
		}
	}
}

// keptBack leaves out a task that was not selected, whose effects failed a
// moment ago, or whose program was stopped in this very pass.
func (l *Loop) keptBack(td *spec.TaskDecision, stopped map[string]spec.Reason) bool {
	wait, failed := l.retries[td.Task.ID]
	switch {
	case l.Selects != nil && !l.Selects(td.Task.ID):
	case failed && wait.until.After(l.Now()):
		td.State, td.Reason, td.Look = spec.StateWaiting, wait.reason, wait.until
	case td.Start == nil:
		return false
	default:
		why, ok := stopped[td.Start.Try.Route.Agent]
		if !ok {
			return false
		}
		td.State, td.Reason = spec.StateBlocked, why
	}
	td.Start, td.Changes = nil, nil
	return true
}

// admitted reports whether a decision's start has its slot.
func admitted(td *spec.TaskDecision) bool {
	return td.Start != nil && td.State == spec.StateReady
}

// enqueue keeps a unit's place among those that wait for a slot.
func (l *Loop) enqueue(u spec.Unit, full bool) {
	was, in := l.queued[u]
	if full && !in {
		l.queue = append(l.queue, u)
	}
	if full || in {
		l.queued[u] = full
	}
	l.vacant = l.vacant || was && !full
}

// wakeQueue lets those look again that wait for a slot and may now start, as
// many from the head of each limit's queue as there are slots. Who is not let
// in then keeps the place.
func (l *Loop) wakeQueue() {
	l.vacant = false
	free := countSlots(l.Policy.Total, l.runs)
	if len(l.queue) == 0 || free.full() {
		return
	}
	l.queue = slices.DeleteFunc(l.queue, func(u spec.Unit) bool {
		if !l.queued[u] {
			delete(l.queued, u)
			return true
		}
		if mayStart(l.units[u], free) {
			l.dirty[u] = struct{}{}
		}
		return false
	})
}

// mayStart takes a slot for a queued task if there is one.
func mayStart(st *standing, free *slots) bool {
	return st != nil && slices.ContainsFunc(st.tasks, func(td spec.TaskDecision) bool {
		return td.Reason.Code == spec.LimitFull && td.Start != nil && free.room(td.Start)
	})
}
