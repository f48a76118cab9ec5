package fsstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"drover/spec"
)

var errCrash = errors.New("killed here")

// crashAt lets n effects happen and none after them, like a kill does.
func crashAt(n int) spec.Seam {
	return func(spec.Op, string) error {
		if n--; n < 0 {
			return errCrash
		}
		return nil
	}
}

// failAt lets all effects happen but the n-th, from 0, like a full disk that
// is full for a moment.
func failAt(n int, err error) spec.Seam {
	return func(spec.Op, string) error {
		if n--; n == -1 {
			return err
		}
		return nil
	}
}

// everyPrefix runs do with a crash, and with a single fault, after every
// number of its effects; then again without. check sees the folder after the
// fault and, final, at the end.
func everyPrefix(t *testing.T, setup func(t *testing.T, dir string), do func(dir string, d Disk) error, check func(t *testing.T, dir string, final bool)) {
	t.Helper()
	faults := map[string]func(int) spec.Seam{
		"crash": crashAt,
		"fault": func(n int) spec.Seam { return failAt(n, errCrash) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			n := 0
			for passed := 0; passed >= n; n++ {
				dir := t.TempDir()
				setup(t, dir)
				seam := fault(n)
				passed = 0
				err := do(dir, Disk{Seam: func(op spec.Op, object string) error {
					passed++
					return seam(op, object)
				}})
				if err != nil && !errors.Is(err, errCrash) {
					t.Fatalf("after %d effects: %v", n, err)
				}
				check(t, dir, false)
				if again := do(dir, Disk{}); again != nil {
					t.Fatalf("after %d effects, again: %v", n, again)
				}
				check(t, dir, true)
			}
			if n < 2 {
				t.Error("no effect passed the seam")
			}
		})
	}
}

// filesIn lists the files below dir and their content; temporary files are told
// by their names alone.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWriteFileIsWholeAtEveryCrash(t *testing.T) {
	everyPrefix(t,
		func(t *testing.T, dir string) { put(t, filepath.Join(dir, "a/f"), "old") },
		func(dir string, d Disk) error { return d.WriteFile(filepath.Join(dir, "a/f"), []byte("new"), 0o600) },
		func(t *testing.T, dir string, final bool) {
			got := textOf(t, filepath.Join(dir, "a/f"))
			if got != "new" && (final || got != "old") {
				t.Fatalf("holds %q", got)
			}
			if files := filesIn(t, dir); final && len(files) != 1 {
				t.Fatalf("left over: %v", files)
			}
		})
}

func TestCreateFileIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := (Disk{}).CreateFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Disk{}).CreateFile(path, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v, want exist", err)
	}
	if got := textOf(t, path); got != "one" {
		t.Errorf("holds %q", got)
	}

	// One of many wins, and nobody sees half a file.
	var wait sync.WaitGroup
	won := make(chan string, 8)
	path = filepath.Join(t.TempDir(), "g")
	for i := range 8 {
		text := strings.Repeat(string(rune('a'+i)), 10_000)
		wait.Go(func() {
			if (Disk{}).CreateFile(path, []byte(text), 0o600) == nil {
				won <- text
			}
		})
	}
	wait.Wait()
	close(won)
	if first := <-won; first == "" || first != textOf(t, path) || len(won) > 0 {
		t.Errorf("%d more winners; the file is not the first one's", len(won))
	}
}

func TestAppendEndsATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, "one\ntw")
	if err := (Disk{}).Append(path, []byte("three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, path); got != "one\ntw\nthree\n" {
		t.Errorf("holds %q", got)
	}
}

func TestAppendRefusesSymlinks(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "target"), "x")
	if err := os.Symlink("target", filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := (Disk{}).Append(filepath.Join(dir, "log"), []byte("y\n"), 0o600); err == nil {
		t.Error("appended through a symlink")
	}
	if got := textOf(t, filepath.Join(dir, "target")); got != "x" {
		t.Errorf("target holds %q", got)
	}
}

func TestMakeFolder(t *testing.T) {
	everyPrefix(t,
		func(*testing.T, string) {},
		func(dir string, d Disk) error { return d.MakeFolder(filepath.Join(dir, "a/b/c")) },
		func(t *testing.T, dir string, final bool) {
			if info, err := os.Stat(filepath.Join(dir, "a/b/c")); final && (err != nil || !info.IsDir()) {
				t.Fatal(err)
			}
		})
}

func TestRenames(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "A")
	put(t, filepath.Join(dir, "b"), "B")
	f, err := Disk{}.open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.move("a", f, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("move onto a taken name: %v", err)
	}
	if err := f.moveByLook("a", f, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("move by look onto a taken name: %v", err)
	}
	if err := f.exchange("a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := f.moveByLook("b", f, "c"); err != nil {
		t.Fatal(err)
	}
	if got := filesIn(t, dir); got["a"] != "B" || got["c"] != "A" || len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
