package fsstate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drover/spec"
)

const groupSize = 20

// makeTasks makes n task folders of two documents each, in groups of 20.
func makeTasks(t testing.TB, root string, n int) {
	t.Helper()
	for i := range n {
		dir := filepath.Join(root, taskDir(i))
		must(t, os.MkdirAll(dir, 0o755))
		for _, name := range []string{"PLAN-cloud-G05.md", "CODE_REVIEW-cloud-G05.md"} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(note(fmt.Sprintf("task %d %s %0200d", i, name, i))), 0o644))
		}
	}
}

func taskDir(i int) string {
	return fmt.Sprintf("tasks/group_%04d/%02d_task_with_a_name", i/groupSize, i%groupSize)
}

// askAll asks about every task as a dialect would.
func askAll(tree spec.Tree) (docs int) {
	for _, g := range tree.Dir("tasks") {
		group := "tasks/" + g.Name
		for _, t := range tree.Dir(group) {
			task := group + "/" + t.Name
			for _, f := range tree.Dir(task) {
				if tree.Doc(task+"/"+f.Name).State == spec.DocWhole {
					docs++
				}
			}
		}
	}
	return docs
}

// benchOpen is a workspace whose clock runs ahead, so that what was written
// just now is not young.
func benchOpen(t testing.TB, root, cache string) *Workspace {
	t.Helper()
	w, err := Open(root, Options{
		Dialects: []spec.Dialect{newNotes()}, CachePath: cache,
		Now: func() time.Time { return time.Now().Add(time.Minute) },
	})
	must(t, err)
	return w
}

func snapshot(t testing.TB, w *Workspace, hints []string) (spec.Tree, []string) {
	t.Helper()
	tree, changed, err := w.Snapshot(context.Background(), hints)
	must(t, err)
	return tree, changed
}

// BenchmarkSnapshotWarm is a new process with a cache on disk that looks at
// everything and reads nothing.
func BenchmarkSnapshotWarm(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root, cache := b.TempDir(), filepath.Join(b.TempDir(), "cache")
			makeTasks(b, root, n)
			w := benchOpen(b, root, cache)
			tree, _ := snapshot(b, w, nil)
			askAll(tree)
			must(b, w.SaveCache(context.Background()))
			must(b, w.Close())
			for b.Loop() {
				w := benchOpen(b, root, cache)
				tree, _ := snapshot(b, w, nil)
				if docs := askAll(tree); docs != 2*n {
					b.Fatalf("%d documents", docs)
				}
				must(b, w.Close())
			}
		})
	}
}

// BenchmarkSnapshotCold is a first process without a cache.
func BenchmarkSnapshotCold(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := b.TempDir()
			makeTasks(b, root, n)
			for b.Loop() {
				w := benchOpen(b, root, "")
				tree, _ := snapshot(b, w, nil)
				if docs := askAll(tree); docs != 2*n {
					b.Fatalf("%d documents", docs)
				}
				must(b, w.Close())
			}
		})
	}
}

// BenchmarkRescan is the periodic rescan of a running process, nothing changed.
func BenchmarkRescan(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := b.TempDir()
			makeTasks(b, root, n)
			w := benchOpen(b, root, "")
			tree, _ := snapshot(b, w, nil)
			askAll(tree)
			for b.Loop() {
				if _, changed := snapshot(b, w, nil); len(changed) > 0 {
					b.Fatal(changed)
				}
			}
		})
	}
}

// BenchmarkOneChanged is a hint of one changed document among many.
func BenchmarkOneChanged(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := b.TempDir()
			makeTasks(b, root, n)
			w := benchOpen(b, root, "")
			tree, _ := snapshot(b, w, nil)
			askAll(tree)
			rel := taskDir(n/2) + "/PLAN-cloud-G05.md"
			hints := []string{rel}
			for i := 0; b.Loop(); i++ {
				must(b, os.WriteFile(filepath.Join(root, rel), []byte(note(fmt.Sprint(i))), 0o644))
				if _, changed := snapshot(b, w, hints); len(changed) != 1 {
					b.Fatal(changed)
				}
			}
		})
	}
}

// BenchmarkBareWalk is the yardstick: the same tasks with three stats each.
func BenchmarkBareWalk(b *testing.B) {
	root := b.TempDir()
	makeTasks(b, root, 10000)
	var st unix.Stat_t
	for b.Loop() {
		for i := range 10000 {
			dir := filepath.Join(root, taskDir(i))
			for _, p := range []string{dir, dir + "/PLAN-cloud-G05.md", dir + "/CODE_REVIEW-cloud-G05.md"} {
				must(b, unix.Lstat(p, &st))
			}
		}
	}
}
