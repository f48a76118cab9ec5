package reconcile

import (
	"maps"
	"slices"
	"time"

	"drover/spec"
)

// stoppedBy are the programs that the decisions of a pass stop.
func stoppedBy(ds []spec.Decision) map[string]spec.Reason {
	out := map[string]spec.Reason{}
	for i := range ds {
		for j := range ds[i].Tasks {
			maps.Copy(out, ds[i].Tasks[j].StopRoutes)
		}
	}
	return out
}

// rememberRoutes keeps what a task's attempts say of their programs: those
// that cannot work are stopped, those that worked go on.
func (l *Loop) rememberRoutes(td *spec.TaskDecision) {
	for i := range td.Folds {
		agent := td.Folds[i].Run.Locator.CLI
		if _, stopped := l.Memory.Stopped[agent]; stopped && classOf(td.Folds[i].Run) == spec.ClassSuccess {
			l.freeRoute(agent)
		}
	}
	for agent, why := range td.StopRoutes {
		if was, ok := l.Memory.Stopped[agent]; ok && !why.Since.After(was.Since) {
			why = was // what is told of the program is one thing
		}
		l.stopRoute(agent, why)
	}
}

// stopRoute keeps all tasks off a program. They are looked at again when this
// pass has settled.
func (l *Loop) stopRoute(agent string, why spec.Reason) {
	why.Settings = l.Settings
	l.Memory.Stopped[agent] = why
	l.unsaved = true
	l.turned = append(l.turned, agent)
}

// readmit lets stopped programs go on that may work by now: where one was
// missing, looking again costs no attempt; where the settings are others, so
// is the cause.
func (l *Loop) readmit() {
	for agent, why := range l.Memory.Stopped {
		if why.Code == spec.CLIMissing || why.Settings != l.Settings {
			delete(l.Memory.Stopped, agent)
			l.unsaved = true
		}
	}
}

func (l *Loop) freeRoute(agent string) {
	delete(l.Memory.Stopped, agent)
	l.unsaved = true
	l.turned = append(l.turned, agent)
}

// dirtyTurned looks again at all tasks that a program's stop or return
// concerns.
func (l *Loop) dirtyTurned() {
	for _, agent := range l.turned {
		for u, st := range l.units {
			if slices.ContainsFunc(st.tasks, func(td spec.TaskDecision) bool { return concerns(&td, agent) }) {
				l.dirty[u] = struct{}{}
			}
		}
	}
	l.turned = nil
}

// concerns reports whether a task that waits or is blocked may run on a
// program.
func concerns(td *spec.TaskDecision, agent string) bool {
	switch td.State {
	case spec.StateRunning, spec.StateComplete, spec.StateHeld:
		return false
	}
	return slices.ContainsFunc(td.Step.Ladder, func(r spec.Route) bool { return r.Agent == agent })
}

func routeBlocked(td *spec.TaskDecision) bool {
	return td.Reason.Code == spec.RouteStopped || td.Reason.Code == spec.CLIMissing
}

// probe lets one task of each program that was stopped long enough ago try it
// again (DESIGN 9). The next probe has to wait as long again.
func (l *Loop) probe(now time.Time) {
	for agent, why := range l.Memory.Stopped {
		if now.Sub(why.Since) < l.Policy.ProviderMax {
			continue
		}
		if u, ok := l.firstStopped(why); ok {
			l.probes[u] = agent
			l.dirty[u] = struct{}{}
		}
		why.Since = now
		l.Memory.Stopped[agent] = why
		l.unsaved = true
	}
}

// firstStopped is the first unit by name that a stopped program keeps back.
func (l *Loop) firstStopped(why spec.Reason) (first spec.Unit, ok bool) {
	for u, st := range l.units {
		for i := range st.tasks {
			td := &st.tasks[i]
			if routeBlocked(td) && td.Reason.Same(why) && (!ok || u.Key < first.Key) {
				first, ok = u, true
			}
		}
	}
	return first, ok
}

// probing is the world as a unit sees it that tries a stopped program.
func (l *Loop) probing(u spec.Unit, w spec.World) spec.World {
	agent, ok := l.probes[u]
	if !ok {
		return w
	}
	delete(l.probes, u)
	w.Stopped = maps.Clone(w.Stopped)
	delete(w.Stopped, agent)
	return w
}
