package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/spec"
)

var errFull = errors.New("no space left on device")

// step is one pass in watch mode.
func (d *disk) step(t *testing.T, l *Loop, hints []string) {
	t.Helper()
	if err := l.pass(t.Context(), hints, nil); err != nil {
		t.Fatal(err)
	}
}

func (d *disk) live(cli string) (out []string) {
	for _, r := range d.runs {
		if r.State.Live() && r.Locator.CLI == cli {
			out = append(out, r.Locator.Task)
		}
	}
	slices.Sort(out)
	return out
}

func (d *disk) wantState(t *testing.T, l *Loop, name string, state spec.State, code spec.Code) *spec.TaskDecision {
	t.Helper()
	td := l.task(id(name))
	if td == nil {
		t.Fatalf("%s is not known", name)
	}
	if td.State != state || td.Reason.Code != code {
		t.Errorf("%s is %s %s (%s), want %s %s", name, td.State, td.Reason.Code, td.Reason.Detail, state, code)
	}
	return td
}

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)} }

// still is a disk whose agents run until the test ends them.
func still(files map[string]string) (*disk, *clock) {
	c := newClock()
	d := newDisk(files, c.now)
	d.agent = nil
	return d, c
}

func TestLimits(t *testing.T) {
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("g/%02d_o local-G01", i), fmt.Sprintf("h/%02d_l local-G07", i),
			fmt.Sprintf("i/%02d_y cloud-G0%d", i, i+1), fmt.Sprintf("j/%02d_c cloud-G08", i))
	}
	d, _ := still(tasks(names...))
	l := d.loop()
	d.step(t, l, nil)
	for cli, want := range map[string]int{"pi": 5, "agy": 1, "claude": 5} {
		if got := d.live(cli); len(got) != want {
			t.Errorf("%d of %s run, want %d: %v", len(got), cli, want, got)
		}
	}
	td := d.wantState(t, l, "g/03_o", spec.StateWaiting, spec.LimitFull)
	if got := td.Reason.WaitsFor; !slices.Equal(got, []string{"g/00_o", "g/01_o", "g/02_o"}) {
		t.Errorf("waits for %v", got)
	}
	d.wantState(t, l, "h/02_l", spec.StateWaiting, spec.LimitFull)
}

func TestTotalLimit(t *testing.T) {
	d, _ := still(tasks("g/01_a cloud-G07", "g/02_b cloud-G09", "g/03_c local-G01"))
	l := d.loop()
	l.Policy.Total = 2
	d.step(t, l, nil)
	td := d.wantState(t, l, "g/03_c", spec.StateWaiting, spec.LimitFull)
	if td.Reason.Detail != "all agents 2 of 2" {
		t.Error(td.Reason.Detail)
	}
}

// A freed slot goes to the one that waits longest, whatever its name, even if
// the detail of its reason changed meanwhile.
func TestFirstInFirstOut(t *testing.T) {
	d, c := still(tasks("g/05_a cloud-G01"))
	l := d.loop()
	d.step(t, l, nil)
	for i, n := range []string{"g/04_b", "g/03_c", "g/02_d", "g/01_e"} {
		c.at = c.at.Add(time.Second)
		d.write("agent-task/"+n+"/PLAN-cloud-G01.md", planText(n, 0))
		if i == 1 {
			l.Policy.Total = 1 // the same wait for another reason
		}
		d.step(t, l, nil)
	}
	for u := range l.units {
		l.dirty[u] = struct{}{}
	}
	d.step(t, l, nil)
	l.Policy.Total = 0
	for _, want := range []string{"g/04_b", "g/03_c", "g/02_d", "g/01_e"} {
		c.at = c.at.Add(time.Second)
		for _, r := range d.runs {
			if r.State.Live() && r.Locator.CLI == "agy" {
				d.end(r, spec.ClassSuccess)
			}
		}
		d.step(t, l, []string{})
		if got := d.live("agy"); len(got) != 1 || got[0] != want {
			t.Fatalf("%v runs, want %s", got, want)
		}
	}
}

// A waiting task that is held in the moment its slot is freed does not keep
// the slot from the next.
func TestFreedSlotIsNotLost(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G01", "g/02_b cloud-G01", "g/03_c cloud-G01"))
	l := d.loop()
	d.step(t, l, nil)
	c.at = c.at.Add(time.Second)
	d.files["agent-task/g/02_b/PLAN-cloud-G01.md"] = strings.Replace(planText("g/02_b", 0), "Do it.", "{{한 단계}}", 1)
	d.end(d.runs[0], spec.ClassSuccess)
	d.step(t, l, nil)
	d.wantState(t, l, "g/02_b", spec.StateWaiting, spec.Unfilled)
	d.wantState(t, l, "g/03_c", spec.StateRunning, "")
}

func TestStoppedRouteStopsOnlyItsProgram(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G01", "g/02_b cloud-G01", "g/03_c cloud-G09", "g/04_d cloud-G10"))
	l := d.loop()
	d.step(t, l, nil)
	d.end(d.run("g.01_a__p0__worker__a00"), spec.ClassAuthConfig)
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateBlocked, spec.RouteStopped)
	d.wantState(t, l, "g/02_b", spec.StateBlocked, spec.RouteStopped)
	d.wantState(t, l, "g/03_c", spec.StateRunning, "")
	d.end(d.run("g.03_c__p0__worker__a00"), spec.ClassAuthConfig)
	d.step(t, l, []string{})
	c.at = c.at.Add(time.Minute)
	d.ask(spec.Request{ID: "1", Verb: "retry", Tasks: []spec.TaskID{id("g/02_b")}, By: "p"})
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateRunning, "")
	d.wantState(t, l, "g/02_b", spec.StateWaiting, spec.LimitFull)
	d.wantState(t, l, "g/03_c", spec.StateBlocked, spec.RouteStopped) // codex was not asked about
}

func TestMissingProgram(t *testing.T) {
	d, _ := still(tasks("g/01_a cloud-G01", "g/02_b cloud-G01", "g/03_c cloud-G09"))
	l := d.loop()
	d.fail = func(call string) error {
		if call == "claim" && strings.Contains(d.trace[len(d.trace)-1], "01_a") {
			return fmt.Errorf("agy: %w", spec.ErrCLIMissing)
		}
		return nil
	}
	d.step(t, l, nil)
	d.wantState(t, l, "g/01_a", spec.StateBlocked, spec.CLIMissing)
	d.wantState(t, l, "g/02_b", spec.StateBlocked, spec.CLIMissing)
	d.wantState(t, l, "g/03_c", spec.StateRunning, "")
	d.fail = nil
	d.ask(spec.Request{ID: "1", Verb: "retry", Tasks: []spec.TaskID{id("g/01_a")}})
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateRunning, "")
	d.wantState(t, l, "g/02_b", spec.StateWaiting, spec.LimitFull)
}

// In watch mode one task tries a stopped route again after a while; success
// frees the route, another failure keeps it for as long again.
func TestProbe(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G09", "g/02_b cloud-G09", "g/03_c cloud-G09"))
	l := d.loop()
	l.Probe = true
	d.step(t, l, nil)
	for _, r := range d.runs {
		d.end(r, spec.ClassAuthConfig)
	}
	d.step(t, l, []string{})
	if len(d.live("codex")) != 0 {
		t.Fatal("a stopped route runs")
	}
	for range 2 {
		c.at = c.at.Add(l.Policy.ProviderMax - time.Second)
		d.step(t, l, []string{})
		if got := d.live("codex"); len(got) != 0 {
			t.Fatalf("%v probe too early", got)
		}
		c.at = c.at.Add(time.Second)
		d.step(t, l, []string{})
		got := d.live("codex")
		if len(got) != 1 {
			t.Fatalf("%v probe, want one", got)
		}
		d.end(d.runs[len(d.runs)-1], spec.ClassAuthConfig)
		d.step(t, l, []string{})
		if got := d.live("codex"); len(got) != 0 {
			t.Fatalf("%v run after a probe that failed", got)
		}
	}
	c.at = c.at.Add(l.Policy.ProviderMax)
	d.step(t, l, []string{})
	d.end(d.runs[len(d.runs)-1], spec.ClassSuccess)
	d.step(t, l, []string{})
	if got := d.live("codex"); len(got) != 3 {
		t.Errorf("%v run after a probe that succeeded, want all three", got)
	}
}

// A shim that cannot be started backs off; nothing is counted and the run
// directories do not pile up at full speed.
func TestLaunchThatFails(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G09"))
	l := d.loop()
	d.fail = func(call string) error {
		if call == "launch" {
			return errFull
		}
		return nil
	}
	for range 600 {
		d.step(t, l, []string{})
		for _, r := range d.runs {
			if r.State == spec.RunStarting {
				r.State = spec.RunUnstarted
			}
		}
		c.at = c.at.Add(time.Second)
	}
	if len(d.runs) > 20 {
		t.Errorf("%d claims in ten minutes", len(d.runs))
	}
	d.fail = nil
	c.at = c.at.Add(2 * time.Minute)
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateRunning, "")
	if st := l.Memory.Records[id("g/01_a")].Stages[spec.RoleWorker]; st.Transport != 0 {
		t.Errorf("%d failures are counted", st.Transport)
	}
}

// A change that fails is tried again after a while, not in every pass.
func TestChangeThatFailsBacksOff(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G09"))
	n := 0
	d.fail = func(call string) error {
		if call == "apply" {
			n++
			return errFull
		}
		return nil
	}
	l := d.loop()
	d.step(t, l, nil)
	d.wantState(t, l, "g/01_a", spec.StateWaiting, spec.InfraWait)
	if l.Drained() {
		t.Error("a drain ends before the wait does")
	}
	for range 5 {
		l.dirty[spec.Unit{Dialect: "agent-task", Key: "agent-task/g/01_a"}] = struct{}{}
		d.step(t, l, []string{})
	}
	if n != 1 {
		t.Errorf("tried %d times at once", n)
	}
	d.fail = nil
	c.at = c.at.Add(time.Minute)
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateRunning, "")
	d.check(t)
}

// Events and state that cannot be written wait for room; nothing is lost, and
// nothing starts meanwhile.
func TestFullDiskOfTheJournal(t *testing.T) {
	for _, broken := range []string{"events", "save"} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk(tasks("g/01_a cloud-G09", "g/02+01_b cloud-G09"), time.Now)
			until := time.Now().Add(5 * time.Minute)
			d.fail = func(call string) error {
				if call == broken && time.Now().Before(until) {
					return errFull
				}
				return nil
			}
			l, _ := d.drive(t, Drain, nil)
			d.check(t)
			if !d.archived("g/01_a") || !d.archived("g/02_b") && !d.archived("g/02+01_b") {
				t.Errorf("%s: %s", broken, d.standing(l))
			}
			starts := 0
			for _, e := range d.events {
				if e.Kind == spec.EventStart {
					starts++
				}
			}
			if starts != 4 {
				t.Errorf("%s: %d starts are told, want 4", broken, starts)
			}
		})
	}
}
