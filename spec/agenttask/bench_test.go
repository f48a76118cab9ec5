package agenttask

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"drover/spec"
)

// fastTree answers from maps, as a snapshot does whose files did not change.
type fastTree struct {
	dirs map[string][]spec.Entry
	docs map[string]spec.Doc
}

func (f fastTree) Dir(p string) []spec.Entry { return f.dirs[p] }
func (f fastTree) Doc(p string) spec.Doc     { return f.docs[p] }
func (f fastTree) Sum(string) string         { return "" }

// benchTree has tasks in groups of a size; every task after the first of its
// group needs the one before.
func benchTree(tasks, group int, d *Dialect) fastTree {
	f := fastTree{dirs: map[string][]spec.Entry{}, docs: map[string]spec.Doc{}}
	add := func(p string, kind spec.EntryKind) {
		for p != "." {
			dir := path.Dir(p)
			e := spec.Entry{Name: path.Base(p), Kind: kind}
			i, there := slices.BinarySearchFunc(f.dirs[dir], e.Name, func(e spec.Entry, n string) int { return strings.Compare(e.Name, n) })
			if there {
				return
			}
			f.dirs[dir] = slices.Insert(f.dirs[dir], i, e)
			p, kind = dir, spec.KindDir
		}
	}
	for i := range tasks {
		n := i % group % 100
		name := fmt.Sprintf("%02d_task%d", n, i)
		if n > 0 {
			name = fmt.Sprintf("%02d+%02d_task%d", n, n-1, i)
		}
		dir := fmt.Sprintf("agent-task/group%d/%s", i/group, name)
		text := fmt.Sprintf("<!-- task=group%d/%s plan=0 tag=T -->\n# t\n\n## 구현 체크리스트\n- [ ] 1. do it\n", i/group, name)
		facts, _ := d.Read(dir+"/PLAN-local-G05.md", []byte(text))
		add(dir+"/PLAN-local-G05.md", spec.KindFile)
		f.docs[dir+"/PLAN-local-G05.md"] = spec.Doc{State: spec.DocWhole, Facts: facts}
	}
	for m := range 24 {
		add(fmt.Sprintf("agent-task/archive/%d/%02d/group0/00_old%d/complete.log", 2024+m/12, 1+m%12, m), spec.KindFile)
	}
	return f
}

// BenchmarkStages lists, parses and stages every task. Its cost grows with the
// tasks, not with the square of a group's size.
func BenchmarkStages(b *testing.B) {
	for _, size := range []struct{ tasks, group int }{{100, 20}, {1000, 20}, {10000, 20}, {10000, 1000}} {
		b.Run(fmt.Sprintf("tasks=%d/group=%d", size.tasks, size.group), func(b *testing.B) {
			d := testDialect("reviewer")
			tree := benchTree(size.tasks, size.group, d)
			w := spec.World{Now: testNow, Root: "/w", Memory: spec.NewMemory()}
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, branch := range d.Branches(tree) {
					d.Problems(tree, branch)
					for _, u := range d.Units(tree, branch) {
						g := d.Parse(tree, u)
						d.Stage(tree, g, 0, w)
						n++
					}
				}
				if n != size.tasks {
					b.Fatalf("%d tasks", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size.tasks), "ns/task")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	d := testDialect("")
	b.SetBytes(int64(len(filled)))
	for b.Loop() {
		d.Read("agent-task/g/01_a/CODE_REVIEW.md", []byte(filled))
	}
}
