package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/spec"
)

// diskLauncher owns the attempts.
type diskLauncher disk

func (l *diskLauncher) Observe(context.Context) ([]spec.Run, error) {
	d := (*disk)(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("observe", ""); err != nil {
		return nil, err
	}
	out := make([]spec.Run, 0, len(d.runs))
	for _, r := range d.runs {
		if r.State == spec.RunStarting && d.claimed[r.Locator.Attempt] != d.life {
			r.State = spec.RunUnstarted // its lock died with the drover that claimed it
		}
		out = append(out, *r)
	}
	return out, nil
}

func (l *diskLauncher) Claim(_ context.Context, starts []*spec.Start) []error {
	d := (*disk)(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := make([]error, len(starts))
	for i, s := range starts {
		loc := &s.Locator
		if errs[i] = d.call("claim", loc.Attempt); errs[i] != nil {
			continue
		}
		for _, r := range d.runs {
			if r.Locator.Attempt == loc.Attempt {
				d.fault("attempt %s claimed twice", loc.Attempt)
			}
			if r.Locator.Task == loc.Task && r.State.Live() {
				d.fault("%s claimed beside %s", loc.Attempt, r.Locator.Attempt)
			}
		}
		loc.ClaimedAt = d.now()
		loc.StreamLog = "/runs/" + loc.Attempt + "/stream.log"
		d.runs = append(d.runs, &spec.Run{Dir: "/runs/" + loc.Attempt, State: spec.RunStarting, Locator: *loc})
		d.claimed[loc.Attempt] = d.life
	}
	return errs
}

func (l *diskLauncher) Launch(_ context.Context, attempt string) error {
	d := (*disk)(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("launch", attempt); err != nil {
		return err
	}
	r := d.run(attempt)
	if !slices.ContainsFunc(d.rows, func(o spec.LogRow) bool { return o.Event == "START" && o.Locator == r.Dir+"/locator.json" }) {
		d.fault("%s launched without a START row", attempt)
	}
	r.State = spec.RunRunning
	d.launched[fmt.Sprintf("%s|%d|%s", r.Locator.Task, r.Locator.PlanNumber, r.Locator.Role)]++
	if d.agent != nil {
		time.AfterFunc(10*time.Second, func() { d.finish(attempt) })
	}
	return nil
}

// run is the attempt of that name.
func (d *disk) run(attempt string) *spec.Run {
	i := slices.IndexFunc(d.runs, func(r *spec.Run) bool { return r.Locator.Attempt == attempt })
	if i < 0 {
		return nil
	}
	return d.runs[i]
}

// finish lets an agent do its work and end.
func (d *disk) finish(attempt string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.run(attempt); r != nil && r.State == spec.RunRunning {
		r.Exit.Class = spec.ClassSuccess
		d.agent(d, r)
		d.end(r, r.Exit.Class)
	}
}

// end is what a shim records.
func (d *disk) end(r *spec.Run, class spec.Class) {
	r.State, r.Exit.Class, r.Exit.EndedAt = spec.RunEnded, class, d.now()
	select {
	case d.ended <- struct{}{}:
	default:
	}
}

func (l *diskLauncher) Stop(_ context.Context, attempt, _ string) error {
	d := (*disk)(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("stop", attempt); err != nil {
		return err
	}
	if r := d.run(attempt); r != nil && r.State == spec.RunRunning {
		d.end(r, spec.ClassStopped)
	}
	return nil
}

func (l *diskLauncher) Sweep(_ context.Context, attempt string) error {
	d := (*disk)(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("sweep", attempt); err != nil {
		return err
	}
	d.run(attempt).State = spec.RunLost
	return nil
}

func (l *diskLauncher) Conclude(_ context.Context, attempt string, class spec.Class, source spec.Source) error {
	return nil
}

func (l *diskLauncher) Remove(_ context.Context, attempts []string) error {
	d := (*disk)(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("remove", strings.Join(attempts, " ")); err != nil {
		return err
	}
	d.runs = slices.DeleteFunc(d.runs, func(r *spec.Run) bool { return slices.Contains(attempts, r.Locator.Attempt) })
	return nil
}

// started is how many agents of a step "task|plan|role" started.
func (d *disk) started(step string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launched[step]
}
