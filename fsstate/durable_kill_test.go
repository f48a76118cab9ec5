package fsstate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"drover/spec"
)

// TestKilledEdit is no test: as another process it sets a field, and kills
// itself after a number of effects.
func TestKilledEdit(t *testing.T) {
	dir := os.Getenv("TEST_KILL")
	if dir == "" {
		t.Skip("only as another process")
	}
	left, err := strconv.Atoi(os.Getenv("TEST_KILL_AFTER"))
	if err != nil {
		t.Fatal(err)
	}
	e := edits(t, dir, Disk{Seam: func(spec.Op, string) error {
		if left--; left < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // does not return
		}
		return nil
	}})
	row := row(1)
	row.Path = "a/WORK_LOG.md"
	for _, err := range e.AppendLog(t.Context(), []spec.LogRow{row}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Apply(t.Context(), spec.SetField{Path: "a/X.md", Key: "status", Value: "done", Was: "ready"}); err != nil {
		t.Fatal(err)
	}
}

// A process killed at any of its effects leaves whole documents, and the next
// one goes on.
func TestKillAtEveryEffect(t *testing.T) {
	for n := 0; ; n++ {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "work/a/X.md"), doc)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledEdit$")
		cmd.Env = append(os.Environ(), "TEST_KILL="+dir, "TEST_KILL_AFTER="+strconv.Itoa(n))
		err := cmd.Run()
		if got := textOf(t, filepath.Join(dir, "work/a/X.md")); got != doc && got != docDone {
			t.Fatalf("killed after %d effects: %q", n, got)
		}
		e := edits(t, dir, Disk{})
		if saved, err := e.Recover(t.Context()); err != nil || len(saved) > 0 {
			t.Fatalf("killed after %d effects: saved %v, %v", n, saved, err)
		}
		if got := filesIn(t, filepath.Join(dir, "work")); len(got) > 2 {
			t.Fatalf("killed after %d effects: left over %v", n, got)
		}
		again := row(1)
		again.Path = "a/WORK_LOG.md"
		if errs := e.AppendLog(t.Context(), []spec.LogRow{again}); errs[0] != nil {
			t.Fatal(errs[0])
		}
		if err := e.Apply(t.Context(), spec.SetField{Path: "a/X.md", Key: "status", Value: "done", Was: "ready"}); err != nil {
			t.Fatal(err)
		}
		files := filesIn(t, dir)
		if files["work/a/X.md"] != docDone || rowsOf(files["work/a/WORK_LOG.md"]) != 1 || len(files) != 2 {
			t.Fatalf("killed after %d effects, then again: %q", n, files)
		}
		if err == nil {
			if n < 10 {
				t.Errorf("only %d effects", n)
			}
			return
		}
	}
}

func BenchmarkSetField(b *testing.B) {
	dir := b.TempDir()
	s := StateDir{Root: dir, Path: filepath.Join(dir, "state")}
	e, err := NewEdits(s, Disk{}, time.UTC)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if err := os.WriteFile(filepath.Join(dir, "X.md"), []byte("---\nstatus: a\n---\n"), 0o666); err != nil {
		b.Fatal(err)
	}
	was, is := "a", "b"
	for b.Loop() {
		if err := e.Apply(b.Context(), spec.SetField{Path: "X.md", Key: "status", Value: is, Was: was}); err != nil {
			b.Fatal(err)
		}
		was, is = is, was
	}
}
