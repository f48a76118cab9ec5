package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/spec"
)

// drive runs a loop to its end; a crash ends it early.
func (d *disk) drive(t *testing.T, mode Mode, hints chan Hint) (l *Loop, crashed bool) {
	t.Helper()
	l = d.loop()
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(crash); !ok {
				panic(p)
			}
			crashed = true
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	if err := l.Run(ctx, mode, Wake{Hints: hints, Ended: d.ended, Tick: time.Minute}); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if ctx.Err() != nil {
		t.Errorf("Run did not end by itself: %s", d.standing(l))
	}
	return l, false
}

func (d *disk) standing(l *Loop) string {
	var b strings.Builder
	tds, problems := l.View()
	for _, td := range tds {
		fmt.Fprintf(&b, "%s %s %s %s\n", td.Task.ID.Name, td.State, td.Reason.Code, td.Reason.Detail)
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "problem %s: %s\n", p.File, p.Message)
	}
	return b.String()
}

// check holds the disk to what must always hold.
func (d *disk) check(t *testing.T) {
	t.Helper()
	for _, f := range d.faults {
		t.Error(f)
	}
	last := map[string]spec.Event{}
	for _, e := range d.events {
		if e.Kind != spec.EventState {
			continue
		}
		was, ok := last[e.Task]
		if ok && was.To == e.To && sameReason(was.Reason, e.Reason) {
			t.Errorf("%s: %s told twice in a row", e.Task, e.To)
		}
		if ok && e.From != was.To {
			t.Errorf("%s: told from %s, but it was %s", e.Task, e.From, was.To)
		}
		last[e.Task] = e
	}
}

func sameReason(a, b *spec.Reason) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(*b)
}

func (d *disk) archived(task string) bool {
	for p := range d.files {
		if strings.HasPrefix(p, "agent-task/archive/") && strings.HasSuffix(p, "/"+task+"/complete.log") {
			return true
		}
	}
	return false
}

func TestDrainRunsEverythingOnce(t *testing.T) {
	names := []string{"g/01_a cloud-G07", "g/02+01_b local-G01", "g/03+01,02_c cloud-G01", "h/01_d", "h/02_e cloud-G09"}
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks(names...), time.Now)
		l, _ := d.drive(t, Drain, nil)
		d.check(t)
		for _, n := range names {
			n, _, _ = strings.Cut(n, " ")
			if !d.archived(n) {
				t.Errorf("%s is not archived: %s", n, d.standing(l))
			}
		}
		for step, n := range d.launched {
			if n != 1 {
				t.Errorf("%s ran %d times", step, n)
			}
		}
		if got := d.launched["g/02+01_b|0|selfcheck"]; got != 1 {
			t.Errorf("%d selfchecks of the pi task, want 1", got)
		}
		if len(d.launched) != 11 {
			t.Errorf("launched %v, want 5 workers, 5 reviews, 1 selfcheck", d.launched)
		}
		if len(d.runs) != 0 {
			t.Errorf("%d run directories are left of passed tasks", len(d.runs))
		}
		if len(d.rollups) != 5 {
			t.Errorf("%d roll-ups, want 5", len(d.rollups))
		}
	})
}

// A drover that dies between any two port calls and comes back ends where one
// that never died ends, and no step runs twice.
func TestCrashBetweenAnyTwoCalls(t *testing.T) {
	names := []string{"g/01_a local-G01", "g/02+01_b cloud-G07", "g/03_c cloud-G01", "g/04_d cloud-G01"}
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks(names...), time.Now)
		d.agent = failsFirstReview
		d.drive(t, Drain, nil)
		calls = d.calls
	})
	for n := 1; n <= calls; n++ {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk(tasks(names...), time.Now)
			d.agent = failsFirstReview
			d.crashAt = n
			if _, crashed := d.drive(t, Drain, nil); !crashed {
				return // fewer calls than the first time: what ends together is seen together or apart
			}
			// Agents go on while there is no drover.
			pause := time.NewTimer(time.Duration(n%3) * 7 * time.Second)
			<-pause.C
			l, _ := d.drive(t, Drain, nil)
			d.check(t)
			for _, name := range names {
				name, _, _ = strings.Cut(name, " ")
				if !d.archived(name) {
					t.Errorf("crash at %d: %s is not archived: %s", n, name, d.standing(l))
				}
			}
			for _, step := range slices.Sorted(maps.Keys(d.launched)) {
				if d.launched[step] != 1 {
					t.Errorf("crash at %d: %s ran %d times", n, step, d.launched[step])
				}
			}
			if len(d.rollups) != len(names) {
				t.Errorf("crash at %d: %d roll-ups, want %d", n, len(d.rollups), len(names))
			}
			if len(d.runs) != 0 {
				t.Errorf("crash at %d: %d run directories are left", n, len(d.runs))
			}
			if t.Failed() {
				t.Logf("before the crash:\n%s", strings.Join(d.trace[:min(n, len(d.trace))], "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
}

// failsFirstReview: the first plan of g/03_c fails its review.
func failsFirstReview(d *disk, r *spec.Run) {
	if r.Locator.Role == spec.RoleReview && r.Locator.Task == "g/03_c" && r.Locator.PlanNumber == 0 {
		d.files[strings.TrimPrefix(r.Locator.Review, "/w/")] += verdictText("FAIL")
		return
	}
	goodAgent(d, r)
}
