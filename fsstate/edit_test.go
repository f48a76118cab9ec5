package fsstate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"drover/spec"
	"drover/spec/markdown"
)

// place is a workspace for tests of Edits, without git.
func place(t *testing.T, dir string) StateDir {
	t.Helper()
	return StateDir{Root: filepath.Join(dir, "work"), GitDir: filepath.Join(dir, "git"), CommonDir: filepath.Join(dir, "git"), Path: filepath.Join(dir, "state")}
}

func edits(t *testing.T, dir string, d Disk) *Edits {
	t.Helper()
	s := place(t, dir)
	if err := os.MkdirAll(s.Root, 0o777); err != nil {
		t.Fatal(err)
	}
	e, err := NewEdits(s, d, time.FixedZone("KST", 9*3600))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

const doc = "\ufeff---\r\nid: a\r\nstatus: ready # now\r\n---\r\nbody\r\n"

var docDone = strings.Replace(doc, "ready", "done", 1)

func TestSetFieldConvergesFromEveryCrash(t *testing.T) {
	var saved []string
	everyPrefix(t,
		func(t *testing.T, dir string) { put(t, filepath.Join(dir, "work/a/X.md"), doc) },
		func(dir string, d Disk) error {
			e := edits(t, dir, d)
			var err error
			if saved, err = e.Recover(t.Context()); err != nil {
				return err
			}
			return e.Apply(t.Context(), spec.SetField{Path: "a/X.md", Key: "status", Value: "done", Was: "ready"})
		},
		func(t *testing.T, dir string, final bool) {
			got := textOf(t, filepath.Join(dir, "work/a/X.md"))
			if got != docDone && (final || got != doc) {
				t.Fatalf("holds %q", got)
			}
			if files := filesIn(t, dir); final && (len(files) != 1 || len(saved) > 0) {
				t.Fatalf("left over: %v, saved %v", files, saved)
			}
		})
}

func TestSetField(t *testing.T) {
	dir := t.TempDir()
	e := edits(t, dir, Disk{})
	path := filepath.Join(dir, "work/X.md")
	put(t, path, doc)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	set := func(value, was string) error {
		return e.Apply(t.Context(), spec.SetField{Path: "X.md", Key: "status", Value: value, Was: was})
	}
	if err := set("done", "pending"); !errors.Is(err, ErrChanged) {
		t.Errorf("a value that is not what it was taken for: %v", err)
	}
	if err := set("done", "ready"); err != nil {
		t.Fatal(err)
	}
	if err := set("done", "ready"); err != nil {
		t.Errorf("again: %v", err)
	}
	if got := textOf(t, path); got != docDone {
		t.Errorf("holds %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	put(t, filepath.Join(dir, "work/Y.md"), "---\nstatus: &x ready\n---\n")
	var refused *markdown.NotEditableError
	err := e.Apply(t.Context(), spec.SetField{Path: "Y.md", Key: "status", Value: "done", Was: "ready"})
	if !errors.As(err, &refused) {
		t.Errorf("anchor: %v", err)
	}
	put(t, filepath.Join(dir, "work/A.md"), "---\nid: &x ready\nstatus: *x\n---\n")
	err = e.Apply(t.Context(), spec.SetField{Path: "A.md", Key: "status", Value: "done", Was: "ready"})
	if !errors.As(err, &refused) {
		t.Errorf("alias: %v", err)
	}
	if err := os.Symlink("X.md", filepath.Join(dir, "work/Z.md")); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), spec.SetField{Path: "Z.md", Key: "status", Value: "x", Was: "done"}); !errors.As(err, &refused) {
		t.Errorf("symlink: %v", err)
	}
	if err := e.Apply(t.Context(), spec.SetField{Path: "none.md", Key: "status", Value: "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// An edit that came out of an exchange before a kill goes back in.
func TestRecoverPutsAPersonsEditBack(t *testing.T) {
	ours, theirs, later := docDone, doc+"more\r\n", doc+"later\r\n"
	swap := "a/" + swapName("X.md", []byte(doc), []byte(ours))
	tests := []struct {
		name, doc, swap string
		want            string
		saved           int
	}{
		{"not exchanged", doc, ours, doc, 0},
		{"exchanged", ours, doc, ours, 0},
		{"an edit came out", ours, theirs, theirs, 0},
		{"put back already", theirs, ours, theirs, 0},
		{"edited once more", later, theirs, later, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			e := edits(t, dir, Disk{})
			put(t, filepath.Join(dir, "work/a/X.md"), tt.doc)
			put(t, filepath.Join(dir, "work", swap), tt.swap)
			if err := e.note("a/X.md"); err != nil {
				t.Fatal(err)
			}
			saved, err := e.Recover(t.Context())
			if err != nil || len(saved) != tt.saved {
				t.Fatalf("saved %v, %v", saved, err)
			}
			if got := textOf(t, filepath.Join(dir, "work/a/X.md")); got != tt.want {
				t.Errorf("holds %q, want %q", got, tt.want)
			}
			files := filesIn(t, dir)
			if len(files) != 1+tt.saved {
				t.Errorf("left over: %v", files)
			}
			for _, s := range saved {
				if files["work/"+s] != tt.swap {
					t.Errorf("%s holds %q", s, files["work/"+s])
				}
			}
		})
	}
}

// A person who writes the document in place keeps it from being replaced
// until the file is closed.
func TestSetFieldWaitsForAWriter(t *testing.T) {
	dir := t.TempDir()
	e := edits(t, dir, Disk{})
	path := filepath.Join(dir, "work/X.md")
	put(t, path, doc)
	person, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	probe, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if probeWriter(int(probe.Fd())) != writerSome {
		t.Skip("this file system has no leases")
	}
	change := spec.SetField{Path: "X.md", Key: "status", Value: "done", Was: "ready"}
	if err := e.Apply(t.Context(), change); !errors.Is(err, ErrChanged) {
		t.Fatalf("beside a writer: %v", err)
	}
	if _, err := person.WriteString("more\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := person.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, path); got != docDone+"more\r\n" {
		t.Errorf("holds %q", got)
	}
}

// CASES 17: ten edits a second, and many more, of a document that drover is
// updating. Every line that a person added is there at the end.
func TestNoEditIsLost(t *testing.T) {
	styles := map[string]func(path string, edit func(string) string) error{
		"rename": func(path string, edit func(string) string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			temp := path + "~"
			if err := os.WriteFile(temp, []byte(edit(string(text))), 0o666); err != nil {
				return err
			}
			return os.Rename(temp, path)
		},
		"in place": func(path string, edit func(string) string) error {
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer file.Close()
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(text) == 0 {
				return errors.New("empty document seen")
			}
			if err := file.Truncate(0); err != nil {
				return err
			}
			_, err = file.WriteAt([]byte(edit(string(text))), 0)
			return err
		},
	}
	for name, save := range styles {
		t.Run(name, func(t *testing.T) {
			const rounds = 300
			dir := t.TempDir()
			e := edits(t, dir, Disk{})
			path := filepath.Join(dir, "work/X.md")
			put(t, path, "---\nstatus: s0\n---\n")
			ctx, cancel := context.WithCancel(t.Context())
			drover := make(chan error, 1)
			go func() {
				for n := 0; ctx.Err() == nil; n++ {
					text, _ := os.ReadFile(path)
					was, ok := markdown.Value(text, "status")
					if !ok {
						continue // half a document, as any reader may see
					}
					err := e.Apply(ctx, spec.SetField{Path: "X.md", Key: "status", Value: "s" + strconv.Itoa(n), Was: was})
					var broken *markdown.HeadError
					if err != nil && ctx.Err() == nil && !errors.Is(err, ErrChanged) && !errors.As(err, &broken) {
						drover <- err
						return
					}
				}
				drover <- nil
			}()
			// The person saves what the editor holds, one line more each time, and
			// each save must stand by the time of the next.
			lines := ""
			for n := range rounds {
				lines += fmt.Sprintf("line %d\n", n)
				err := save(path, func(text string) string {
					head, _, _ := strings.Cut(text, "\n---\n")
					return head + "\n---\n" + lines
				})
				if err != nil {
					t.Fatal(err)
				}
				waitFor(t, path, func(text string) bool { return strings.HasSuffix(text, "\n---\n"+lines) })
			}
			waitFor(t, path, func(text string) bool { return !strings.Contains(text, "status: s0\n") })
			cancel()
			if err := <-drover; err != nil {
				t.Fatal(err)
			}
			if got := textOf(t, path); !strings.HasSuffix(got, "\n---\n"+lines) {
				t.Fatalf("lines lost at the end: %q", got)
			}
		})
	}
}

func waitFor(t *testing.T, path string, good func(string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(path)
		if err == nil && good(string(text)) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never came: %q, %v", text, err)
		case <-tick.C:
		}
	}
}
