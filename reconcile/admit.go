package reconcile

import (
	"fmt"
	"slices"

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

// admit takes a slot for a start, or says which limit is full and who holds it.
func (s *slots) admit(st *spec.Start) (spec.Reason, bool) {
	r := st.Try.Route
	key := limitKey(r)
	switch {
	case r.AtOnce > 0 && len(s.byKey[key]) >= r.AtOnce:
		return full(key, r.AtOnce, s.byKey[key]), false
	case r.ProgramAtOnce > 0 && len(s.byAgent[r.Agent]) >= r.ProgramAtOnce:
		return full(r.Agent, r.ProgramAtOnce, s.byAgent[r.Agent]), false
	case s.total > 0 && len(s.all) >= s.total:
		return full("all agents", s.total, s.all), false
	}
	s.take(key, r.Agent, st.Task.ID.Name)
	return spec.Reason{}, true
}

// full names the limit in the detail and its holders apart, so that a change
// of holders is no change of reason.
func full(key string, n int, held []string) spec.Reason {
	return spec.Reason{
		Code: spec.LimitFull, Detail: fmt.Sprintf("%s %d of %d", key, len(held), n),
		WaitsFor: slices.Clone(held[:min(len(held), 8)]),
	}
}
