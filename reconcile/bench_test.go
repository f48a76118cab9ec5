package reconcile

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"drover/spec"
	"drover/spec/agenttask"
)

const perGroup = 20

// simTree is a workspace of any number of tasks that takes no memory: groups
// of twenty, every second task after the one before it.
type simTree struct {
	groups, names, task []spec.Entry
	plan                spec.Doc
	edited              map[string]spec.Doc
}

func newSimTree(d *agenttask.Dialect, tasks int) *simTree {
	t := &simTree{task: []spec.Entry{{Name: "PLAN.md"}}, edited: map[string]spec.Doc{}}
	for i := range tasks / perGroup {
		t.groups = append(t.groups, spec.Entry{Name: fmt.Sprintf("g%06d", i), Kind: spec.KindDir})
	}
	for i := range perGroup {
		name := fmt.Sprintf("%02d_task", i)
		if i%2 == 1 {
			name = fmt.Sprintf("%02d+%02d_task", i, i-1)
		}
		t.names = append(t.names, spec.Entry{Name: name, Kind: spec.KindDir})
	}
	t.plan = simDoc(d, "Do it.")
	return t
}

func simDoc(d *agenttask.Dialect, goal string) spec.Doc {
	facts, problem := d.Read("agent-task/g/00_task/PLAN.md", []byte("# t\n\n## 목표\n"+goal+"\n\n## 구현 체크리스트\n- [ ] 1. do it\n"))
	if problem != nil {
		panic(problem)
	}
	return spec.Doc{State: spec.DocWhole, Facts: facts}
}

func (t *simTree) Dir(p string) []spec.Entry {
	switch {
	case p == "agent-task":
		return t.groups
	case !strings.HasPrefix(p, "agent-task/g"):
		return nil
	case strings.Count(p, "/") == 1:
		return t.names
	}
	return t.task
}

func (t *simTree) Doc(p string) spec.Doc {
	if doc, ok := t.edited[p]; ok {
		return doc
	}
	if strings.HasSuffix(p, "/PLAN.md") {
		return t.plan
	}
	return spec.Doc{}
}

func (t *simTree) Sum(string) string { return "" }

func simUnit(i int) spec.Unit {
	n := i % perGroup
	name := fmt.Sprintf("%02d_task", n)
	if n%2 == 1 {
		name = fmt.Sprintf("%02d+%02d_task", n, n-1)
	}
	return spec.Unit{Dialect: agenttask.Name, Key: fmt.Sprintf("agent-task/g%06d/%s", i/perGroup, name)}
}

// simPorts are ports that do nothing but what a loop needs to go on.
type simPorts struct {
	tree    *simTree
	changed []string
	runs    []spec.Run
}

func (s *simPorts) Snapshot(context.Context, []string) (spec.Tree, []string, error) {
	out := s.changed
	s.changed = nil
	return s.tree, out, nil
}
func (s *simPorts) Apply(context.Context, spec.Change) error { return nil }
func (s *simPorts) AppendLog(_ context.Context, rows []spec.LogRow) []error {
	return make([]error, len(rows))
}
func (s *simPorts) Append(context.Context, []spec.Event, []spec.Rollup) error { return nil }
func (s *simPorts) Save(context.Context, *spec.Memory) error                  { return nil }
func (s *simPorts) Requests(context.Context) ([]spec.Request, error)          { return nil, nil }
func (s *simPorts) Answer(context.Context, spec.Answer) error                 { return nil }
func (s *simPorts) Observe(context.Context) ([]spec.Run, error)               { return s.runs, nil }
func (s *simPorts) Claim(_ context.Context, starts []*spec.Start) []error {
	for _, st := range starts {
		s.runs = append(s.runs, spec.Run{State: spec.RunRunning, Locator: st.Locator})
	}
	return make([]error, len(starts))
}
func (s *simPorts) Launch(context.Context, string) error                            { return nil }
func (s *simPorts) Stop(context.Context, string, string) error                      { return nil }
func (s *simPorts) Sweep(context.Context, string) error                             { return nil }
func (s *simPorts) Conclude(context.Context, string, spec.Class, spec.Source) error { return nil }
func (s *simPorts) Remove(context.Context, []string) error                          { return nil }

func simLoop(tasks int) (*Loop, *simPorts) {
	d := testDialect("drover")
	p := &simPorts{tree: newSimTree(d, tasks)}
	policy := spec.DefaultPolicy()
	policy.Total = 8
	return New(Options{
		Root: "/w", Dialects: []spec.Dialect{d}, Files: p, Journal: p, Launcher: p, Policy: policy, Now: time.Now,
	}), p
}

func sizes(b *testing.B, run func(b *testing.B, tasks int)) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkDecide is the pure part: every unit parsed and decided once.
func BenchmarkDecide(b *testing.B) {
	sizes(b, func(b *testing.B, tasks int) {
		d := testDialect("drover")
		t := newSimTree(d, tasks)
		w := spec.World{Now: time.Now(), Root: "/w", Memory: spec.NewMemory()}
		p := spec.DefaultPolicy()
		b.ReportAllocs()
		for b.Loop() {
			for i := range tasks {
				u := simUnit(i)
				Decide(d, t, d.Parse(t, u), w, p)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tasks), "ns/task")
	})
}

// BenchmarkPass is the loop over ports that cost nothing.
func BenchmarkPass(b *testing.B) {
	pass := func(b *testing.B, l *Loop, hints []string) {
		if err := l.pass(b.Context(), hints, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		sizes(b, func(b *testing.B, tasks int) {
			b.ReportAllocs()
			for b.Loop() {
				l, _ := simLoop(tasks)
				pass(b, l, nil)
			}
		})
	})
	b.Run("no-op", func(b *testing.B) {
		sizes(b, func(b *testing.B, tasks int) {
			l, _ := simLoop(tasks)
			pass(b, l, nil)
			b.ReportAllocs()
			for b.Loop() {
				pass(b, l, []string{})
			}
		})
	})
	b.Run("one-changed", func(b *testing.B) {
		sizes(b, func(b *testing.B, tasks int) {
			l, p := simLoop(tasks)
			pass(b, l, nil)
			docs := [2]spec.Doc{simDoc(testDialect("drover"), "{{한 단계}}"), p.tree.plan}
			plan := simUnit(tasks/2).Key + "/PLAN.md"
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				p.tree.edited[plan] = docs[n%2]
				p.changed = []string{plan}
				n++
				pass(b, l, p.changed)
			}
		})
	})
}

// BenchmarkDecideMillion: a million tasks, of which one in a hundred changed.
func BenchmarkDecideMillion(b *testing.B) {
	if testing.Short() {
		b.Skip("takes a while")
	}
	const tasks = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l, p := simLoop(tasks)
	began := time.Now()
	if err := l.pass(b.Context(), nil, nil); err != nil {
		b.Fatal(err)
	}
	first := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	docs := [2]spec.Doc{simDoc(testDialect("drover"), "{{한 단계}}"), p.tree.plan}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := 0; i < tasks; i += 100 {
			plan := simUnit(i).Key + "/PLAN.md"
			p.tree.edited[plan] = docs[n%2]
			p.changed = append(p.changed, plan)
		}
		n++
		if err := l.pass(b.Context(), p.changed, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(first.Seconds(), "s/first-pass")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/tasks, "B/task")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	runtime.KeepAlive(l)
}
