package reconcile

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/spec"
	"drover/spec/agenttask"
	"drover/spec/settings"
	"drover/spec/spectest"
)

// crash is what a port call panics with where drover shall die.
type crash struct{ call int }

// disk is the world outside a loop: the workspace's files, the state folder
// and the attempts. It outlives loops, as the real one does. Its three ports
// count their calls; the call number crashAt dies before it has an effect.
type disk struct {
	mu       sync.Mutex
	now      func() time.Time
	dialect  *agenttask.Dialect
	files    map[string]string
	known    map[string]string // what the last snapshot saw
	memory   *spec.Memory
	events   []spec.Event
	rollups  []spec.Rollup
	requests []spec.Request
	answers  []spec.Answer
	rows     []spec.LogRow
	runs     []*spec.Run
	claimed  map[string]int // attempt → the life of drover that claimed it
	launched map[string]int // "task|plan|role" → attempts whose agent started
	life     int
	ended    chan struct{}
	trace    []string
	calls    int
	crashAt  int
	fail     func(call string) error // answers for a port call
	unstable map[string]bool         // documents that somebody is writing
	agent    func(d *disk, r *spec.Run)
	faults   []string // broken invariants
}

func testDialect(finalize string) *agenttask.Dialect {
	s := settings.Default()
	return agenttask.New(agenttask.Options{
		Worker: s.Worker, Plain: s.Plain(), Review: s.Review(), Finalize: finalize, MaxRounds: 10, Language: "ko",
	})
}

func newDisk(files map[string]string, now func() time.Time) *disk {
	return &disk{
		now: now, dialect: testDialect("drover"), files: maps.Clone(files), claimed: map[string]int{},
		launched: map[string]int{}, ended: make(chan struct{}, 1), unstable: map[string]bool{}, crashAt: -1, agent: goodAgent,
	}
}

// loop is a new drover on the disk.
func (d *disk) loop() *Loop {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life++
	d.known = nil
	seen := map[spec.TaskID]spec.Seen{}
	for _, e := range d.events {
		if e.Kind == spec.EventState {
			s := spec.Seen{State: e.To, Since: e.At}
			if e.Reason != nil {
				s.Code, s.Detail = e.Reason.Code, e.Reason.Detail
			}
			seen[spec.TaskID{Dialect: e.Dialect, Name: e.Task}] = s
		}
	}
	return New(Options{
		Root: "/w", Dialects: []spec.Dialect{d.dialect}, Files: (*diskFiles)(d), Journal: (*diskJournal)(d),
		Launcher: (*diskLauncher)(d), Policy: spec.DefaultPolicy(), Memory: cloneMemory(d.memory), Seen: seen, Now: d.now,
	})
}

func cloneMemory(m *spec.Memory) *spec.Memory {
	out := spec.NewMemory()
	if m == nil {
		return out
	}
	for k, g := range m.Groups {
		out.Groups[k] = g.Clone()
	}
	for k, r := range m.Records {
		out.Records[k] = r.Clone()
	}
	maps.Copy(out.Stopped, m.Stopped)
	return out
}

// call is the entry of every port call.
func (d *disk) call(name, object string) error {
	d.calls++
	if d.calls == d.crashAt {
		panic(crash{d.calls})
	}
	d.trace = append(d.trace, strings.TrimSpace(name+" "+object))
	if d.fail != nil {
		return d.fail(name)
	}
	return nil
}

func (d *disk) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

func (d *disk) write(p, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[p] = text
}

func (d *disk) ask(r spec.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, r)
}

// diskFiles is the workspace.
type diskFiles disk

func (f *diskFiles) tree(files map[string]string) spec.MapTree {
	return spec.MapTree{Files: files, Read: f.dialect.Read}
}

func (f *diskFiles) Snapshot(_ context.Context, hints []string) (spec.Tree, []string, error) {
	d := (*disk)(f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("snapshot", ""); err != nil {
		return nil, nil, err
	}
	before, first := d.known, d.known == nil
	d.known = maps.Clone(before)
	if hints == nil || first {
		d.known = maps.Clone(d.files)
	}
	for _, h := range append(slices.Clone(hints), d.due(before)...) {
		within := func(p, _ string) bool { return p == h || strings.HasPrefix(p, h+"/") || h == "." }
		maps.DeleteFunc(d.known, within)
		for p, text := range d.files {
			if within(p, text) {
				d.known[p] = text
			}
		}
	}
	tree := unstableTree{f.tree(d.known), maps.Clone(d.unstable)}
	if first {
		return tree, nil, nil
	}
	return tree, f.changed(before, d.known), nil
}

// due are the documents that somebody was writing: any snapshot looks again.
func (d *disk) due(before map[string]string) []string {
	var out []string
	for p := range before {
		if strings.HasPrefix(before[p], writing) && !d.unstable[p] {
			out = append(out, p)
		}
	}
	return out
}

// writing begins the text of a document that is half written.
const writing = "\x00writing"

// unstableTree tells of documents that somebody is writing.
type unstableTree struct {
	spec.MapTree
	unstable map[string]bool
}

func (t unstableTree) Doc(p string) spec.Doc {
	if t.unstable[p] {
		return spec.Doc{State: spec.DocUnstable}
	}
	return t.MapTree.Doc(p)
}

func (f *diskFiles) changed(a, b map[string]string) []string {
	was, is := f.tree(a), f.tree(b)
	set := map[string]bool{}
	for _, m := range []map[string]string{a, b} {
		for p := range m {
			x, had := a[p]
			y, has := b[p]
			if had == has && x == y {
				continue
			}
			set[p] = true
			for dir := path.Dir(p); had != has; dir = path.Dir(dir) {
				if !slices.Equal(was.Dir(dir), is.Dir(dir)) {
					set[dir] = true
				}
				if dir == "." {
					break
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func (f *diskFiles) Apply(_ context.Context, c spec.Change) error {
	d := (*disk)(f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("apply", fmt.Sprintf("%T", c)); err != nil {
		return err
	}
	if set, ok := c.(spec.SetField); ok {
		old := set.Key + ": " + set.Was
		if !strings.Contains(d.files[set.Path], old) {
			return fmt.Errorf("%s says otherwise", set.Path)
		}
		d.files[set.Path] = strings.Replace(d.files[set.Path], old, set.Key+": "+set.Value, 1)
		return nil
	}
	files, err := spectest.Apply(d.files, c)
	if err == nil {
		d.files = files
	}
	return err
}

func (f *diskFiles) AppendLog(_ context.Context, rows []spec.LogRow) []error {
	d := (*disk)(f)
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := make([]error, len(rows))
	if len(rows) == 0 {
		return errs
	}
	err := d.call("rows", rows[0].Event)
	for i, r := range rows {
		if errs[i] = err; err == nil && !slices.ContainsFunc(d.rows, func(o spec.LogRow) bool {
			return o.Event == r.Event && o.Locator == r.Locator
		}) {
			d.rows = append(d.rows, r)
		}
	}
	return errs
}

// diskJournal is drover's own state.
type diskJournal disk

func (j *diskJournal) Append(_ context.Context, events []spec.Event, rollups []spec.Rollup) error {
	d := (*disk)(j)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("events", ""); err != nil {
		return err
	}
	d.events = append(d.events, events...)
	d.rollups = append(d.rollups, rollups...)
	return nil
}

func (j *diskJournal) Save(_ context.Context, m *spec.Memory) error {
	d := (*disk)(j)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("save", ""); err != nil {
		return err
	}
	d.memory = cloneMemory(m)
	return nil
}

func (j *diskJournal) Requests(context.Context) ([]spec.Request, error) {
	d := (*disk)(j)
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests), nil
}

func (j *diskJournal) Answer(_ context.Context, a spec.Answer) error {
	d := (*disk)(j)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("answer", a.ID); err != nil {
		return err
	}
	d.answers = append(d.answers, a)
	d.requests = slices.DeleteFunc(d.requests, func(r spec.Request) bool { return r.ID == a.ID })
	return nil
}

// goodAgent does what its step asks for; reviews say PASS.
func goodAgent(d *disk, r *spec.Run) {
	review := strings.TrimPrefix(r.Locator.Review, "/w/")
	switch r.Locator.Role {
	case spec.RoleReview:
		d.files[review] += verdictText("PASS")
	default:
		head, _, _ := strings.Cut(d.files[review], "\n")
		d.files[review] = head + "\n" + filledReview
	}
}

func verdictText(verdict string) string {
	return "\n## 코드리뷰 결과\n- 종합 판정: " + verdict + "\n- 발견: 없음\n"
}

const filledReview = `# CODE_REVIEW

## 구현 항목 완료
| 항목 | 완료 | 근거 |
|---|---|---|
| 1 | [x] | a.go |

## 구현 체크리스트
- [x] 1. do it
- [x] CODE_REVIEW 동기화

## 계획 대비 변경 사항
없음

## 주요 설계 결정
None needed.

## 검증 결과
ok
`

// planText is a PLAN of generation n of a task.
func planText(task string, n int) string {
	return fmt.Sprintf(`<!-- task=%s plan=%d tag=T -->
# %s

## 목표
Do it.

## 구현 체크리스트
- [ ] 1. do it
- [ ] CODE_REVIEW 동기화

## 수정 파일 요약
| 파일 | 항목 |
|---|---|
| a.go | 1 |

## 검증
- true
`, task, n, path.Base(task))
}

// tasks is a workspace of PLANs: "g/01_a cloud-G07".
func tasks(list ...string) map[string]string {
	files := map[string]string{}
	for _, s := range list {
		name, slot, _ := strings.Cut(s, " ")
		if slot != "" {
			slot = "-" + slot
		}
		files["agent-task/"+name+"/PLAN"+slot+".md"] = planText(name, 0)
	}
	return files
}

func id(name string) spec.TaskID { return spec.TaskID{Dialect: agenttask.Name, Name: name} }
