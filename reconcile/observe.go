package reconcile

import (
	"context"
	"fmt"
	"slices"

	"drover/spec"
)

// observe reads the attempts and marks the tasks whose attempts changed. It
// returns the units with an attempt that is over since the last time.
func (l *Loop) observe(ctx context.Context) (over map[spec.Unit]struct{}, err error) {
	runs, err := l.Launcher.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("observe attempts: %w", err)
	}
	now := map[spec.TaskID][]spec.Run{}
	for _, r := range runs {
		id := spec.TaskID{Dialect: r.Locator.Dialect, Name: r.Locator.Task}
		now[id] = append(now[id], r)
	}
	over = map[spec.Unit]struct{}{}
	for id, rs := range now {
		if sameRuns(rs, l.runs[id]) {
			continue
		}
		u := l.touchTask(id, rs[0].Locator.Unit)
		if !rs[len(rs)-1].State.Live() {
			over[u] = struct{}{}
		}
	}
	for id, rs := range l.runs {
		if _, ok := now[id]; !ok && len(rs) > 0 {
			l.touchTask(id, rs[0].Locator.Unit)
		}
	}
	freed := live(l.runs) > live(now)
	l.runs = now
	if freed || !l.entered {
		l.wakeQueue()
	}
	return over, nil
}

func (l *Loop) touchTask(id spec.TaskID, unit string) spec.Unit {
	u, ok := l.taskUnit[id]
	if !ok {
		u = spec.Unit{Dialect: id.Dialect, Key: unit}
	}
	l.dirty[u] = struct{}{}
	return u
}

func sameRuns(a, b []spec.Run) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].State != b[i].State || a[i].Locator.Attempt != b[i].Locator.Attempt {
			return false
		}
	}
	return true
}

func live(runs map[spec.TaskID][]spec.Run) int {
	n := 0
	for _, rs := range runs {
		if lives(rs) {
			n++
		}
	}
	return n
}

// lives reports whether one of a task's attempts is not over; two never are.
func lives(rs []spec.Run) bool {
	return slices.ContainsFunc(rs, func(r spec.Run) bool { return r.State.Live() })
}
