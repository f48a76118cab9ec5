package reconcile

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/spec"
)

// A PLAN that is dropped while draining starts at the next verified
// complete.log, no earlier (seed 003, scanning).
func TestDrainScansOnlyAfterACompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks("g/01_a cloud-G09", "g/02_b local-G01"), time.Now)
		hints := make(chan Hint, 1)
		time.AfterFunc(5*time.Second, func() {
			d.write("agent-task/g/03_late/PLAN-cloud-G09.md", planText("g/03_late", 0))
			hints <- Hint{Paths: []string{"agent-task/g", "agent-task/g/03_late", "agent-task/g/03_late/PLAN-cloud-G09.md"}}
		})
		began := time.Now()
		d.drive(t, Drain, hints)
		d.check(t)
		if !d.archived("g/03_late") {
			t.Fatal("it never ran")
		}
		var completed, started time.Time
		for _, e := range d.events {
			if e.Kind == spec.EventState && e.To == spec.StateComplete && completed.IsZero() {
				completed = e.At
			}
			if e.Kind == spec.EventStart && e.Task == "g/03_late" && started.IsZero() {
				started = e.At
			}
		}
		if !started.Equal(completed) || completed.Sub(began) < 20*time.Second {
			t.Errorf("started at %s, the first completion was at %s", started.Sub(began), completed.Sub(began))
		}
	})
}

// In watch mode a dropped PLAN starts at once.
func TestWatchStartsADroppedPlanAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks("g/01_a cloud-G09"), time.Now)
		hints := make(chan Hint)
		l := d.loop()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx, Watch, Wake{Hints: hints, Ended: d.ended, Tick: time.Minute}) }()
		synctest.Wait()
		d.write("agent-task/g/02_b/PLAN-cloud-G09.md", planText("g/02_b", 0))
		hints <- Hint{Paths: []string{"agent-task/g", "agent-task/g/02_b"}}
		synctest.Wait()
		if d.started("g/02_b|0|worker") != 1 {
			t.Error("it did not start at once")
		}
		pause := time.NewTimer(time.Minute)
		<-pause.C
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !d.archived("g/01_a") || !d.archived("g/02_b") {
			t.Error("not all is done")
		}
		d.check(t)
	})
}

// A document that is being written at the entry still belongs to it; the
// drain does not end before it is whole.
func TestDrainWaitsForADocumentBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const p = "agent-task/g/01_a/PLAN-cloud-G09.md"
		d := newDisk(map[string]string{p: writing}, time.Now)
		d.unstable[p] = true
		time.AfterFunc(3*time.Second, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.files[p] = planText("g/01_a", 0)
			delete(d.unstable, p)
		})
		l, _ := d.drive(t, Drain, nil)
		if !d.archived("g/01_a") {
			t.Error(d.standing(l))
		}
	})
}

// In watch mode a document that became whole without an event runs, too.
func TestWatchTakesADocumentThatBecameWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const p = "agent-task/g/01_a/PLAN-cloud-G09.md"
		d := newDisk(map[string]string{p: writing}, time.Now)
		d.unstable[p] = true
		l := d.loop()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx, Watch, Wake{Ended: d.ended, Tick: time.Minute}) }()
		synctest.Wait()
		d.mu.Lock()
		d.files[p] = planText("g/01_a", 0)
		delete(d.unstable, p)
		d.mu.Unlock()
		pause := time.NewTimer(5 * time.Second)
		<-pause.C
		if d.started("g/01_a|0|worker") != 1 {
			t.Error("it did not start")
		}
		cancel()
		<-done
	})
}

// Processes that cannot be ended block their task; they do not keep a drain
// from ending.
func TestDrainEndsBesideALeftoverProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks("g/01_a cloud-G09", "g/02_b cloud-G09"), time.Now)
		l := d.loop()
		d.step(t, l, nil)
		d.mu.Lock()
		d.run("g.01_a__p0__worker__a00").State = spec.RunOrphaned
		d.mu.Unlock()
		d.fail = func(call string) error {
			if call == "sweep" {
				return errFull
			}
			return nil
		}
		l, _ = d.drive(t, Drain, nil)
		d.wantState(t, l, "g/01_a", spec.StateBlocked, spec.LeftoverProcess)
		if !d.archived("g/02_b") {
			t.Error("the other is not done")
		}
		d.fail = nil
		l, _ = d.drive(t, Drain, nil)
		if !d.archived("g/01_a") {
			t.Error(d.standing(l))
		}
		d.check(t)
	})
}

// The barriers of a pass come in their order (DESIGN 5).
func TestBarriers(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G09", "g/02_b cloud-G09"))
	l := d.loop()
	d.step(t, l, nil)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	order(t, d.trace, "apply spec.CreateFile", "claim g.01_a__p0__worker__a00", "claim g.02_b__p0__worker__a00",
		"rows START", "launch g.01_a__p0__worker__a00", "launch g.02_b__p0__worker__a00", "events", "save")
	for _, r := range d.runs {
		goodAgent(d, r)
		d.end(r, spec.ClassSuccess)
	}
	c.at = c.at.Add(time.Second)
	d.step(t, l, []string{})
	for _, r := range d.runs {
		if r.State.Live() {
			goodAgent(d, r)
			d.end(r, spec.ClassSuccess)
		}
	}
	c.at = c.at.Add(time.Second)
	d.trace = nil
	d.step(t, l, []string{})
	d.step(t, l, []string{})
	order(t, d.trace, "observe", "snapshot", "rows START", "events", "save", "remove")
	d.check(t)
}

// order wants the calls in the trace, one after the other.
func order(t *testing.T, trace []string, calls ...string) {
	t.Helper()
	at := 0
	for _, want := range calls {
		i := slices.IndexFunc(trace[at:], func(s string) bool { return strings.HasPrefix(s, want) })
		if i < 0 {
			t.Errorf("no %q after the first %d calls of\n%s", want, at, strings.Join(trace, "\n"))
			return
		}
		at += i
	}
}

// A new task of a name that is complete is told from the old one even if
// drover dies right after the claim.
func TestNewLifeSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks("g/01_a cloud-G09"), time.Now)
		l := d.loop()
		l.Policy.KeepLogs = time.Hour
		ctx := t.Context()
		if err := l.Run(ctx, Drain, Wake{Ended: d.ended}); err != nil {
			t.Fatal(err)
		}
		if len(d.runs) != 2 {
			t.Fatalf("%d run directories are kept, want 2", len(d.runs))
		}
		d.write("agent-task/g/01_a/PLAN-cloud-G09.md", planText("g/01_a", 0))
		l = d.loop()
		d.fail = func(call string) error {
			if call == "launch" {
				panic(crash{})
			}
			return nil
		}
		func() {
			defer func() { _ = recover() }()
			_ = l.pass(ctx, nil, nil)
		}()
		d.fail = nil
		d.drive(t, Drain, nil)
		if d.launched["g/01_a|0|worker"] != 2 || d.launched["g/01_a|0|review"] != 2 {
			t.Errorf("two lives, but %v", d.launched)
		}
		d.check(t)
	})
}

// A run directory that cannot be removed stops nothing.
func TestRemoveThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks("g/01_a cloud-G09", "g/02+01_b cloud-G09"), time.Now)
		d.fail = func(call string) error {
			if call == "remove" {
				return errFull
			}
			return nil
		}
		l, _ := d.drive(t, Drain, nil)
		if !d.archived("g/02+01_b") {
			t.Error(d.standing(l))
		}
		d.fail = nil
		d.drive(t, Drain, nil)
		if len(d.runs) != 0 {
			t.Errorf("%d run directories are left", len(d.runs))
		}
	})
}

// Run directories of a passed task are kept as long as asked, by whichever
// drover is there when the time is over.
func TestKeepLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(tasks("g/01_a cloud-G09"), time.Now)
		l := d.loop()
		l.Policy.KeepLogs = time.Hour
		if err := l.Run(t.Context(), Drain, Wake{Ended: d.ended}); err != nil {
			t.Fatal(err)
		}
		if len(d.runs) != 2 {
			t.Fatalf("%d run directories, want 2", len(d.runs))
		}
		l = d.loop()
		l.Policy.KeepLogs = time.Hour
		d.step(t, l, nil)
		if len(d.runs) != 2 || l.Due().IsZero() {
			t.Errorf("%d run directories, due at %s", len(d.runs), l.Due())
		}
		pause := time.NewTimer(time.Hour)
		<-pause.C
		d.step(t, l, []string{})
		if len(d.runs) != 0 {
			t.Errorf("%d run directories are left after an hour", len(d.runs))
		}
		d.check(t)
	})
}
