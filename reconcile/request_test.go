package reconcile

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/spec"
)

func (d *disk) request(t *testing.T, l *Loop, verb string, names ...string) []spec.TaskAnswer {
	t.Helper()
	r := spec.Request{ID: verb, Verb: verb, By: "kim"}
	for _, n := range names {
		r.Tasks = append(r.Tasks, id(n))
	}
	d.ask(r)
	d.step(t, l, []string{})
	a := d.answers[len(d.answers)-1]
	if a.ID != verb || len(a.Done) != len(names) {
		t.Fatalf("answer %+v", a)
	}
	return a.Done
}

func TestHoldAndRelease(t *testing.T) {
	d, _ := still(tasks("g/01_a cloud-G09", "g/02_b cloud-G09"))
	l := d.loop()
	if got := d.request(t, l, "hold", "g/02_b"); !got[0].Changed {
		t.Fatalf("hold: %+v", got)
	}
	d.wantState(t, l, "g/02_b", spec.StateRunning, "") // a hold ends nothing
	d.end(d.run("g.02_b__p0__worker__a00"), spec.ClassSuccess)
	d.step(t, l, []string{})
	d.wantState(t, l, "g/02_b", spec.StateHeld, spec.Held)
	if got := d.request(t, l, "hold", "g/02_b"); got[0].Changed {
		t.Error("held twice")
	}
	if got := d.request(t, l, "release", "g/02_b", "g/01_a"); !got[0].Changed || got[1].Changed {
		t.Errorf("release: %+v", got)
	}
	d.wantState(t, l, "g/02_b", spec.StateRunning, "")
	d.check(t)
}

func TestStop(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G09"))
	l := d.loop()
	d.step(t, l, nil)
	if got := d.request(t, l, "stop", "g/01_a"); !got[0].Changed {
		t.Fatalf("stop: %+v", got)
	}
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateHeld, spec.Held)
	if st := l.Memory.Records[id("g/01_a")].Stages[spec.RoleWorker]; st.Transport != 0 {
		t.Errorf("a stop counts as a failure: %+v", st)
	}
	c.at = c.at.Add(time.Second)
	d.request(t, l, "release", "g/01_a")
	d.wantState(t, l, "g/01_a", spec.StateRunning, "")
	d.request(t, l, "hold", "g/01_a")
	if got := d.request(t, l, "stop", "g/01_a"); !got[0].Changed {
		t.Errorf("a held task that still runs is not stopped: %+v", got)
	}
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateHeld, spec.Held)
	d.check(t)
}

// A stop that the shim did not hear before drover died is said again.
func TestStopIsSaidAgain(t *testing.T) {
	d, _ := still(tasks("g/01_a cloud-G09"))
	l := d.loop()
	d.step(t, l, nil)
	d.fail = func(call string) error {
		if call == "stop" {
			return errFull
		}
		return nil
	}
	d.request(t, l, "stop", "g/01_a")
	d.fail = nil
	l = d.loop()
	d.step(t, l, nil)
	d.step(t, l, []string{})
	d.wantState(t, l, "g/01_a", spec.StateHeld, spec.Held)
}

func TestHoldInTheDocument(t *testing.T) {
	head := "---\ntask: g/01_a\nplan: 0\ntag: T\nstatus: ready\n---\n"
	_, body, _ := strings.Cut(planText("g/01_a", 0), "\n")
	d, _ := still(map[string]string{"agent-task/g/01_a/PLAN-cloud-G09.md": head + body})
	l := d.loop()
	l.Policy.Total = 1
	d.files["agent-task/f/01_x/PLAN-cloud-G09.md"] = planText("f/01_x", 0)
	d.step(t, l, nil)
	d.wantState(t, l, "g/01_a", spec.StateWaiting, spec.LimitFull)
	d.request(t, l, "hold", "g/01_a")
	if got := d.files["agent-task/g/01_a/PLAN-cloud-G09.md"]; got != strings.Replace(head, "ready", "hold", 1)+body {
		t.Errorf("the PLAN is\n%s", got)
	}
	d.wantState(t, l, "g/01_a", spec.StateHeld, spec.Held)
	d.request(t, l, "release", "g/01_a")
	if got := d.files["agent-task/g/01_a/PLAN-cloud-G09.md"]; got != head+body {
		t.Errorf("the PLAN is\n%s", got)
	}
	d.wantState(t, l, "g/01_a", spec.StateWaiting, spec.LimitFull)
}

// What a request's own look at a document finds beside it is not lost.
func TestRequestLosesNoChange(t *testing.T) {
	head := "---\ntask: g/01_a\nplan: 0\ntag: T\nstatus: hold\n---\n"
	_, body, _ := strings.Cut(planText("g/01_a", 0), "\n")
	const b = "agent-task/g/02_b/PLAN-cloud-G09.md"
	d, _ := still(map[string]string{"agent-task/g/01_a/PLAN-cloud-G09.md": head + body, b: writing})
	d.unstable[b] = true
	l := d.loop()
	d.step(t, l, nil)
	d.wantState(t, l, "g/02_b", spec.StateWaiting, spec.InfraWait)
	d.unstable[b] = false
	d.files[b] = planText("g/02_b", 0)
	d.request(t, l, "release", "g/01_a")
	d.wantState(t, l, "g/02_b", spec.StateRunning, "")
}

func TestRetry(t *testing.T) {
	d, c := still(tasks("g/01_a cloud-G09", "g/02_b cloud-G09"))
	l := d.loop()
	d.step(t, l, nil)
	for range 10 {
		for _, r := range d.runs {
			if r.State.Live() {
				d.end(r, spec.ClassGenericError)
			}
		}
		d.step(t, l, []string{})
		c.at = c.at.Add(time.Minute)
		d.step(t, l, []string{})
	}
	d.wantState(t, l, "g/01_a", spec.StateBlocked, spec.FailureBudget)
	if got := d.request(t, l, "retry", "g/01_a"); !got[0].Changed {
		t.Errorf("retry: %+v", got)
	}
	d.wantState(t, l, "g/01_a", spec.StateRunning, "")
	d.wantState(t, l, "g/02_b", spec.StateBlocked, spec.FailureBudget)
	if st := l.Memory.Records[id("g/01_a")].Stages[spec.RoleWorker]; st.Transport != 0 {
		t.Errorf("the budget is not fresh: %+v", st)
	}
	if !l.Memory.Records[id("g/02_b")].Clone().Ran() {
		t.Error("the other's record is gone")
	}
	l2 := d.loop()
	l2.RetryBlocked()
	d.step(t, l2, nil)
	d.wantState(t, l2, "g/02_b", spec.StateRunning, "")
	d.check(t)
}

func TestForget(t *testing.T) {
	d, _ := still(tasks("g/01_a cloud-G09", "g/02+01_b cloud-G09"))
	l := d.loop()
	d.step(t, l, nil)
	if got := d.request(t, l, "forget", "g/01_a"); got[0].Changed {
		t.Errorf("a task whose documents are there was forgotten: %+v", got)
	}
	d.end(d.run("g.01_a__p0__worker__a00"), spec.ClassGenericError)
	for p := range d.files {
		if strings.Contains(p, "01_a/") {
			delete(d.files, p)
		}
	}
	d.step(t, l, nil)
	d.wantState(t, l, "g/01_a", spec.StateBlocked, spec.Vanished)
	if got := d.request(t, l, "forget", "g/01_a"); !got[0].Changed {
		t.Errorf("forget: %+v", got)
	}
	if td := l.task(id("g/01_a")); td != nil {
		t.Errorf("it is still %s %s", td.State, td.Reason.Code)
	}
	if len(d.runs) != 0 {
		t.Errorf("%d run directories are left", len(d.runs))
	}
	if td := l.task(id("g/02+01_b")); td.Reason.Code != spec.UnknownPredecessor {
		t.Errorf("what waited for it is %s %s", td.State, td.Reason.Code)
	}
	l = d.loop()
	d.step(t, l, nil)
	if td := l.task(id("g/01_a")); td != nil {
		t.Errorf("after a restart it is %s %s", td.State, td.Reason.Code)
	}
}

// A request that was applied, but not answered before drover died, is applied
// again and changes nothing.
func TestRequestAppliedTwice(t *testing.T) {
	for _, verb := range []string{"hold", "stop", "release", "retry"} {
		for _, at := range []string{"save", "answer", "events", "stop"} {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(tasks("g/01_a cloud-G09", "g/02_b cloud-G09"), time.Now)
				d.agent = nil
				l := d.loop()
				d.step(t, l, nil)
				if verb == "release" {
					d.request(t, l, "hold", "g/01_a")
				}
				if err := l.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				d.ask(spec.Request{ID: "x", Verb: verb, Tasks: []spec.TaskID{id("g/01_a")}, By: "kim"})
				armed := true
				d.fail = func(call string) error {
					if call == at && armed {
						armed = false
						panic(crash{})
					}
					return nil
				}
				func() {
					defer func() { _ = recover() }()
					_ = l.pass(t.Context(), []string{}, nil)
				}()
				d.fail = nil
				l = d.loop()
				d.step(t, l, nil)
				d.step(t, l, []string{})
				if len(d.requests) != 0 {
					t.Fatalf("%s, died at %s: not answered", verb, at)
				}
				rec := l.Memory.Records[id("g/01_a")]
				if held := rec != nil && rec.Held != nil; held != (verb == "hold" || verb == "stop") {
					t.Errorf("%s, died at %s: held %v", verb, at, held)
				}
				want := spec.StateRunning
				if verb == "stop" {
					want = spec.StateHeld
				}
				if td := l.task(id("g/01_a")); td.State != want {
					t.Errorf("%s, died at %s: %s", verb, at, td.State)
				}
				d.check(t)
			})
		}
	}
}
