package reconcile

import (
	"time"

	"drover/spec"
)

// expire lets go of run directories of complete tasks that have been kept long
// enough (agent_task.keep_logs); of those that a crash left behind, at once.
func (l *Loop) expire() {
	now := l.Now()
	l.served(func(r spec.Run, until time.Time) {
		if !until.After(now) {
			l.removes = append(l.removes, r.Locator.Attempt)
		}
	})
}

// Expiry is when the next run directory has been kept long enough, zero for
// never.
func (l *Loop) Expiry() (next time.Time) {
	l.served(func(_ spec.Run, until time.Time) { next = earlier(next, until) })
	return next
}

// served visits the attempts of complete tasks, and until when each is kept.
func (l *Loop) served(visit func(r spec.Run, until time.Time)) {
	for id, rs := range l.runs {
		if l.Memory.Records[id] != nil || l.task(id) != nil && l.task(id).State != spec.StateComplete || !l.finished(id) {
			continue
		}
		for _, r := range rs {
			if !r.State.Live() {
				visit(r, r.Ended().Add(l.Policy.KeepLogs))
			}
		}
	}
}

// finished reports whether the last task of a name is complete.
func (l *Loop) finished(id spec.TaskID) bool {
	for _, g := range l.Memory.Groups {
		if g.Dialect == id.Dialect && g.Tasks[id.Name] == string(spec.StateComplete) {
			return true
		}
	}
	return false
}
