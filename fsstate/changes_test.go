package fsstate

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"drover/spec"
	"drover/spec/markdown"
)

func TestChangesConvergeFromEveryCrash(t *testing.T) {
	tests := []struct {
		name   string
		before map[string]string
		change spec.Change
		after  map[string]string
	}{
		{
			"create", nil,
			spec.CreateFile{Path: "g/t/CODE_REVIEW.md", Text: "stub"},
			map[string]string{"g/t/CODE_REVIEW.md": "stub"},
		},
		{
			"create leaves an existing file alone",
			map[string]string{"g/t/R.md": "written"},
			spec.CreateFile{Path: "g/t/R.md", Text: "stub"},
			map[string]string{"g/t/R.md": "written"},
		},
		{
			"move",
			map[string]string{"g/t/PLAN.md": "p"},
			spec.MoveFile{From: "g/t/PLAN.md", To: "g/t/plan_0.log"},
			map[string]string{"g/t/plan_0.log": "p"},
		},
		{
			"move into a new folder",
			map[string]string{"g/PLAN.md": "p", "g/WORK_LOG.md": "log"},
			spec.MoveFile{From: "g/PLAN.md", To: "archive/2026/11/g/plan_0.log"},
			map[string]string{"archive/2026/11/g/plan_0.log": "p", "g/WORK_LOG.md": "log"},
		},
		{
			"archive",
			map[string]string{"g/t/a": "1", "g/t/sub/b": "2", "g/u/c": "3"},
			spec.ArchiveFolder{From: "g/t", To: "archive/2026/11/g/t"},
			map[string]string{"archive/2026/11/g/t/a": "1", "archive/2026/11/g/t/sub/b": "2", "g/u/c": "3"},
		},
		{
			"archive beside older ones",
			map[string]string{"g/t/a": "1", "arc/t/x": "0", "arc/t_1/y": "0"},
			spec.ArchiveFolder{From: "g/t", To: "arc/t"},
			map[string]string{"arc/t/x": "0", "arc/t_1/y": "0", "arc/t_2/a": "1"},
		},
		{
			"managed lines in a new file", nil,
			spec.ManagedBlock{Path: ".gitignore", Begin: "# b", End: "# e", Lines: []string{".drover/"}},
			map[string]string{".gitignore": "# b\n.drover/\n# e\n"},
		},
		{
			"managed lines",
			map[string]string{".gitignore": "x\r\n# b\r\nold\r\n# e\r\ny"},
			spec.ManagedBlock{Path: ".gitignore", Begin: "# b", End: "# e", Lines: []string{"a", "b"}},
			map[string]string{".gitignore": "x\r\n# b\r\na\r\nb\r\n# e\r\ny"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everyPrefix(t,
				func(t *testing.T, dir string) {
					for p, text := range tt.before {
						put(t, filepath.Join(dir, "work", p), text)
					}
				},
				func(dir string, d Disk) error { return edits(t, dir, d).Apply(t.Context(), tt.change) },
				func(t *testing.T, dir string, final bool) {
					if !final {
						return
					}
					if got := filesIn(t, filepath.Join(dir, "work")); !maps.Equal(got, tt.after) {
						t.Fatalf("got  %q\nwant %q", got, tt.after)
					}
				})
		})
	}
}

func TestMoveNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	e := edits(t, dir, Disk{})
	put(t, filepath.Join(dir, "work/a"), "A")
	put(t, filepath.Join(dir, "work/b"), "B")
	if err := e.Apply(t.Context(), spec.MoveFile{From: "a", To: "b"}); !errors.Is(err, os.ErrExist) {
		t.Errorf("onto a taken name: %v", err)
	}
	if err := e.Apply(t.Context(), spec.MoveFile{From: "none", To: "c"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if got := filesIn(t, filepath.Join(dir, "work")); got["a"] != "A" || got["b"] != "B" {
		t.Errorf("got %v", got)
	}
}

// No change leads out of the workspace, by dots or by symlinks.
func TestChangesStayInside(t *testing.T) {
	dir := t.TempDir()
	e := edits(t, dir, Disk{})
	outside := filepath.Join(dir, "outside")
	put(t, filepath.Join(outside, "X.md"), "---\nstatus: a\n---\n")
	put(t, filepath.Join(dir, "work/in/Y.md"), "y")
	if err := os.Symlink(outside, filepath.Join(dir, "work/link")); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, outside)
	for _, c := range []spec.Change{
		spec.CreateFile{Path: "link/new", Text: "x"},
		spec.CreateFile{Path: "../outside/new", Text: "x"},
		spec.MoveFile{From: "in/Y.md", To: "link/Y.md"},
		spec.MoveFile{From: "link/X.md", To: "in/X.md"},
		spec.ArchiveFolder{From: "in", To: "link/in"},
		spec.SetField{Path: "link/X.md", Key: "status", Value: "b", Was: "a"},
		spec.SetField{Path: "../outside/X.md", Key: "status", Value: "b", Was: "a"},
		spec.ManagedBlock{Path: "link/.gitignore", Begin: "# b", End: "# e"},
	} {
		if err := e.Apply(t.Context(), c); err == nil {
			t.Errorf("%#v was applied", c)
		}
	}
	for i, err := range e.AppendLog(t.Context(), []spec.LogRow{{Path: "link/WORK_LOG.md"}, {Path: "../outside/WORK_LOG.md"}}) {
		if !errors.Is(err, ErrWorkLogSetup) {
			t.Errorf("log %d: %v", i, err)
		}
	}
	if got := filesIn(t, outside); !maps.Equal(got, before) {
		t.Errorf("outside is now %v", got)
	}
	if textOf(t, filepath.Join(dir, "work/in/Y.md")) != "y" {
		t.Error("a refused move moved")
	}
}

func TestSetBlock(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"empty", "", "# b\nx\n# e\n"},
		{"no markers", "a\n", "a\n# b\nx\n# e\n"},
		{"no last newline", "a", "a\n# b\nx\n# e\n"},
		{"crlf", "a\r\nc", "a\r\nc\r\n# b\r\nx\r\n# e\r\n"},
		{"markers with blanks", "# b  \nold\n# e\t\nz", "# b  \nx\n# e\t\nz"},
		{"empty block", "# b\n# e", "# b\nx\n# e"},
		{"an end before the beginning", "# e\n# b\n# e\n", "# e\n# b\nx\n# e\n"},
		{"same already", "# b\nx\n# e\n", "# b\nx\n# e\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := setBlock([]byte(tt.before), "# b", "# e", []string{"x"})
			if err != nil || string(got) != tt.after {
				t.Errorf("got %q, %v; want %q", got, err, tt.after)
			}
		})
	}
	var refused *markdown.NotEditableError
	if _, err := setBlock([]byte("a\n# b\nx\n"), "# b", "# e", nil); !errors.As(err, &refused) || refused.Line != 2 {
		t.Errorf("never ended: %v", err)
	}
}
