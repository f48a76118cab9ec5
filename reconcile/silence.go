package reconcile

import (
	"context"
	"fmt"
	"path"
	"time"

	"drover/spec"
)

// inspected is when a run's silence was last looked into, zero for never.
func inspected(r spec.Run) time.Time {
	for _, i := range []*spec.Inspection{r.Locator.StreamSilenceInspection, r.Locator.PiSilenceInspection} {
		if i != nil {
			return i.At
		}
	}
	return time.Time{}
}

// tellSilence tells of agents whose silence their shims looked into since the
// last pass; an inspection ends nothing (seed 003, three minutes).
func (l *Loop) tellSilence(ctx context.Context) error {
	var events []spec.Event
	var notices []Notice
	for id, rs := range l.runs {
		for i := range rs {
			r := &rs[i]
			at := inspected(*r)
			if !r.State.Live() || at.IsZero() || !at.After(l.silent[r.Locator.Attempt]) {
				continue
			}
			l.silent[r.Locator.Attempt] = at
			task := spec.Task{ID: id, Generation: generationOf(*r)}
			e := l.event(spec.EventInspect, task)
			e.Attempt, e.Role, e.Locator = r.Locator.Attempt, r.Locator.Role, path.Join(r.Dir, "locator.json")
			events = append(events, e)
			notices = append(notices, Notice{
				Key: SilenceInspected, At: at, Task: task, Role: r.Locator.Role, Attempt: spec.ShortAttempt(r.Locator.Attempt),
				Locator: &r.Locator, Dir: r.Dir, Text: fmt.Sprintf("silent for %s; it goes on", silence(*r)),
			})
		}
	}
	if len(events) == 0 {
		return nil
	}
	if err := l.Journal.Append(ctx, events, nil); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	l.tell(notices)
	return nil
}

func silence(r spec.Run) time.Duration {
	for _, i := range []*spec.Inspection{r.Locator.StreamSilenceInspection, r.Locator.PiSilenceInspection} {
		if i != nil {
			return time.Duration(i.Silence) * time.Second
		}
	}
	return 0
}
