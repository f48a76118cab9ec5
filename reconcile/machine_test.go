package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drover/spec"
)

// machine drives a loop with everything that can happen to it: agents that end
// in every way, people who edit, drop, delete and ask, clocks that go on, and
// drovers that die at any port call.
type machine struct {
	*disk
	c    *clock
	l    *Loop
	seen map[string]string // files at the last look, for hints
}

func machineNames() []string {
	return []string{"g/01_a", "g/02_b", "g/03+01_c", "g/04+01,02_d", "h/01_e", "h/02+01_f"}
}

func newMachine(t *rapid.T) *machine {
	c := newClock()
	d := newDisk(nil, c.now)
	d.files = map[string]string{}
	d.agent = nil
	d.dialect = testDialect(rapid.SampledFrom([]string{"drover", "reviewer"}).Draw(t, "finalize"))
	m := &machine{disk: d, c: c, l: d.loop()}
	for range 3 {
		m.drop(t)
	}
	return m
}

func (m *machine) name(t *rapid.T) string {
	return rapid.SampledFrom(machineNames()).Draw(t, "task")
}

// drop writes a PLAN where the task has none, or the next one.
func (m *machine) drop(t *rapid.T) {
	n := m.name(t)
	slot := rapid.SampledFrom([]string{"-local-G01", "-local-G07", "-cloud-G01", "-cloud-G08", "-cloud-G09", ""}).Draw(t, "slot")
	plan := rapid.IntRange(0, 2).Draw(t, "plan")
	for p := range m.files {
		if strings.HasPrefix(p, "agent-task/"+n+"/PLAN") || strings.HasPrefix(p, "agent-task/"+n+"/CODE") {
			delete(m.files, p)
		}
	}
	m.files["agent-task/"+n+"/PLAN"+slot+".md"] = planText(n, plan)
}

func (m *machine) remove(t *rapid.T) {
	n := m.name(t)
	maps.DeleteFunc(m.files, func(p, _ string) bool { return strings.HasPrefix(p, "agent-task/"+n+"/") })
}

func (m *machine) scribble(t *rapid.T) {
	if len(m.files) == 0 {
		t.Skip("no files")
	}
	p := rapid.SampledFrom(slices.Sorted(maps.Keys(m.files))).Draw(t, "file")
	m.files[p] = rapid.SampledFrom([]string{
		m.files[p] + "more\n", "<!-- task=x -->\n", m.files[p] + verdictText("PASS"), m.files[p] + verdictText("FAIL"), "",
	}).Draw(t, "text")
}

func (m *machine) tick(t *rapid.T) {
	m.c.at = m.c.at.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "seconds")) * time.Second)
}

func (m *machine) liveRuns() (out []*spec.Run) {
	for _, r := range m.runs {
		if r.State == spec.RunRunning {
			out = append(out, r)
		}
	}
	return out
}

// finishOne lets an agent end, having done its work or not.
func (m *machine) finishOne(t *rapid.T) {
	live := m.liveRuns()
	if len(live) == 0 {
		t.Skip("nothing runs")
	}
	r := live[rapid.IntRange(0, len(live)-1).Draw(t, "run")]
	m.c.at = m.c.at.Add(time.Second)
	if rapid.Bool().Draw(t, "works") {
		goodAgent(m.disk, r)
	}
	class := rapid.SampledFrom([]spec.Class{
		spec.ClassSuccess, spec.ClassSuccess, spec.ClassSuccess, spec.ClassSuccess, spec.ClassGenericError, spec.ClassQuota,
		spec.ClassContextLimit, spec.ClassSessionStall, spec.ClassAuthConfig, spec.ClassInfra, spec.ClassLost, spec.ClassNotStarted,
	}).Draw(t, "class")
	m.end(r, class)
	switch class {
	case spec.ClassLost:
		r.State = spec.RunLost
	case spec.ClassNotStarted:
		r.State = spec.RunUnstarted
	case spec.ClassContextLimit:
		r.Result.SessionID = "s"
	}
}

func (m *machine) orphan(t *rapid.T) {
	live := m.liveRuns()
	if len(live) == 0 {
		t.Skip("nothing runs")
	}
	live[rapid.IntRange(0, len(live)-1).Draw(t, "run")].State = spec.RunOrphaned
}

func (m *machine) request(t *rapid.T) {
	verb := rapid.SampledFrom([]string{"hold", "release", "retry", "stop", "forget"}).Draw(t, "verb")
	m.requests = append(m.requests, spec.Request{ID: verb, Verb: verb, Tasks: []spec.TaskID{id(m.name(t))}, By: "kim"})
}

// restart is a new drover; what was not saved is lost.
func (m *machine) restart(*rapid.T) {
	m.l = m.loop()
	m.seen = nil
}

// die kills the drover at one of the next port calls.
func (m *machine) die(t *rapid.T) {
	m.crashAt = m.calls + rapid.IntRange(1, 25).Draw(t, "call")
	m.look(t)
	m.crashAt = -1
}

// look is a pass that is told what changed, and nothing else.
func (m *machine) look(t *rapid.T) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(crash); !ok {
				panic(p)
			}
			m.restart(t)
		}
	}()
	var hints []string // nil at the first look
	if m.seen != nil {
		hints = (*diskFiles)(m.disk).changed(m.seen, m.files)
	}
	m.seen = maps.Clone(m.files)
	for range 4 { // what its own timers and effects ask for at once
		if err := m.l.pass(context.Background(), hints, nil); err != nil {
			t.Fatal(err)
		}
		hints = []string{}
	}
	m.seen = maps.Clone(m.files)
}

// check looks at the world after a pass.
func (m *machine) check(t *rapid.T) {
	m.look(t)
	for _, f := range m.faults {
		t.Error(f)
	}
	calls, told := len(m.trace), len(m.events)
	if err := m.l.pass(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, call := range m.trace[calls:] {
		if call != "observe" && call != "snapshot" && call != "save" {
			t.Fatalf("a full look finds something to do: %v, tells %+v", m.trace[calls:], m.events[told:])
		}
	}
	for task, rec := range m.l.Memory.Records {
		for role, st := range rec.Stages {
			if st.Transport > 10 || st.Judged > 10 || rec.NoProgress > 10 {
				t.Errorf("%s %s: %+v", task, role, st)
			}
		}
	}
	held := map[string]int{}
	for _, r := range m.runs {
		if r.State.Live() {
			held[r.Locator.LimitKey]++
		}
	}
	for key, most := range map[string]int{"agy": 1, "pi ornith-fast": 3, "pi laguna-s": 2} {
		if held[key] > most {
			t.Errorf("%d run on %s", held[key], key)
		}
	}
	m.sameAsFresh(t)
}

// sameAsFresh: what the loop knows from changes alone is what a new one finds.
func (m *machine) sameAsFresh(t *rapid.T) {
	other := newDisk(m.files, m.now)
	other.dialect, other.runs, other.memory = m.dialect, m.runs, m.l.Memory
	fresh := other.loop()
	fresh.Seen = maps.Clone(m.l.Seen)
	fresh.retries = m.l.retries
	if err := fresh.Know(context.Background()); err != nil {
		t.Fatal(err)
	}
	was, is := m.states(m.l), m.states(fresh)
	if was != is {
		t.Fatalf("the loop says\n%s\na new one says\n%s", was, is)
	}
}

func (m *machine) states(l *Loop) string {
	var b strings.Builder
	tds, _ := l.View()
	for _, td := range tds {
		if td.State == spec.StateComplete {
			continue // a new loop does not list what is long done
		}
		fmt.Fprintf(&b, "%s %s %s %s %s\n", td.Task.ID.Name, td.State, td.Step.Role, td.Reason.Code, td.Reason.Detail)
	}
	return b.String()
}

func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"drop": m.drop, "remove": m.remove, "scribble": m.scribble, "tick": m.tick, "finish": m.finishOne,
			"finish again": m.finishOne, "orphan": m.orphan, "request": m.request, "restart": m.restart, "die": m.die,
			"": m.check,
		})
	})
}
