package fsstate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drover/spec"
)

func TestHintsStandForMore(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/x/P.md", note("one"))
	b.write("tasks/a/x/Q.md", note("two"))
	b.snap()
	b.tree.Dir("tasks/a")
	b.text("tasks/a/x/P.md")
	b.text("tasks/a/x/none.md")
	b.tree.Sum("tasks/a/x/Q.md")

	b.write("tasks/a/x/none.md", note("three"))
	if got := b.snap("tasks/a/x/none.md"); !slices.Equal(got, []string{"tasks/a/x/none.md"}) {
		t.Errorf("a new file: %q changed", got)
	}
	b.write("tasks/a/x/P.md", note("one more"))
	if got := b.snap("tasks/a/x/other.md"); len(got) != 0 {
		t.Errorf("a hint of something else: %q changed", got)
	}
	if got := b.text("tasks/a/x/P.md"); got != note("one") {
		t.Errorf("an answer changed without a hint: %q", got)
	}
	must(t, os.Rename(filepath.Join(b.root, "tasks/a/x"), filepath.Join(b.root, "tasks/away")))
	want := []string{"tasks/a", "tasks/a/x/P.md", "tasks/a/x/Q.md", "tasks/a/x/none.md"}
	if got := b.snap("tasks/a/x"); !slices.Equal(got, want) {
		t.Errorf("a folder that went: %q changed, want %q", got, want)
	}
	if got := b.text("tasks/a/x/P.md"); got != "absent" {
		t.Errorf("below a folder that went: %q", got)
	}
	must(t, os.Rename(filepath.Join(b.root, "tasks/away"), filepath.Join(b.root, "tasks/a/x")))
	if got := b.snap("tasks/a/x"); !slices.Equal(got, []string{"tasks/a", "tasks/a/x/P.md"}) {
		t.Errorf("a folder that came back: %q changed", got)
	}
}

// TestReplacedFolder: a hint of a folder that is another one by now reaches all
// that is known below it.
func TestReplacedFolder(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/x/P.md", note("one"))
	b.write("tasks/b/x/P.md", note("two"))
	b.clock.advance(3 * time.Second)
	b.snap()
	b.tree.Dir("tasks/a")
	b.tree.Dir("tasks/a/x")
	b.text("tasks/a/x/P.md")
	must(t, os.RemoveAll(filepath.Join(b.root, "tasks/a")))
	must(t, os.Rename(filepath.Join(b.root, "tasks/b"), filepath.Join(b.root, "tasks/a")))
	if got := b.snap("tasks/a"); !slices.Equal(got, []string{"tasks/a/x/P.md"}) || b.text("tasks/a/x/P.md") != note("two") {
		t.Errorf("%q changed, says %q", got, b.text("tasks/a/x/P.md"))
	}
}

// TestLinkTargets: what a symlink leads to changes without a trace in the
// folder that holds the symlink.
func TestLinkTargets(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/P.md", note("one"))
	must(t, os.MkdirAll(filepath.Join(b.root, "tasks/links"), 0o755))
	must(t, os.Symlink("../a", filepath.Join(b.root, "tasks/links/a")))
	b.clock.advance(3 * time.Second)
	b.snap()
	if got := fmt.Sprint(b.tree.Dir("tasks/links"), b.text("tasks/links/a/P.md")); got != "[{a 1}] "+note("one") && got != "[{a 1}]"+note("one") {
		t.Errorf("before: %q", got)
	}
	must(t, os.RemoveAll(filepath.Join(b.root, "tasks/a")))
	got := b.snap()
	if !slices.Equal(got, []string{"tasks/links", "tasks/links/a/P.md"}) || b.tree.Dir("tasks/links")[0].Kind != spec.KindOther {
		t.Errorf("%q changed, listing %v", got, b.tree.Dir("tasks/links"))
	}
}

// TestListingAndDocumentsAgree: a hint of a folder alone reaches the documents
// whose coming or going its listing shows.
func TestListingAndDocumentsAgree(t *testing.T) {
	for _, listed := range []bool{true, false} {
		b := open(t, t.TempDir())
		b.write("tasks/a/P.md", note("one"))
		b.snap()
		b.text("tasks/a/P.md")
		b.text("tasks/a/Q.md")
		if listed {
			b.tree.Dir("tasks/a")
		}
		must(t, os.Rename(filepath.Join(b.root, "tasks/a/P.md"), filepath.Join(b.root, "tasks/a/Q.md")))
		changed := b.snap("tasks/a")
		if !slices.Contains(changed, "tasks/a/P.md") || b.text("tasks/a/P.md") != "absent" || b.text("tasks/a/Q.md") != note("one") {
			t.Errorf("listed %v: %q changed, %q, %q", listed, changed, b.text("tasks/a/P.md"), b.text("tasks/a/Q.md"))
		}
	}
}

func TestOneBadAmongGood(t *testing.T) {
	b := open(t, t.TempDir())
	for i := range 5 {
		b.write(fmt.Sprintf("tasks/t%d/P.md", i), note("good"))
	}
	bad := map[string]struct {
		text, code string
		line       int
	}{
		"tasks/nul/P.md":    {"head: x\nend\nab\x00c\n", "not-text", 3},
		"tasks/latin/P.md":  {"head: x\nM\xfcller\nend\n", "not-text", 2},
		"tasks/nohead/P.md": {"\ufeff<!-- -->\nhead: x\nend\n", "no-head", 1},
	}
	for p, d := range bad {
		b.write(p, d.text)
	}
	b.snap()
	for i := range 5 {
		if got := b.text(fmt.Sprintf("tasks/t%d/P.md", i)); got != note("good") {
			t.Errorf("good document: %q", got)
		}
	}
	for p, d := range bad {
		doc := b.tree.Doc(p)
		if doc.State != spec.DocBad || doc.Problem.Code != d.code || doc.Problem.Line != d.line || doc.Problem.File != p {
			t.Errorf("%s: %+v", p, doc)
		}
	}
	b.write("tasks/latin/P.md", note("fixed"))
	if got := b.snap("tasks/latin/P.md"); !slices.Equal(got, []string{"tasks/latin/P.md"}) || b.text("tasks/latin/P.md") != note("fixed") {
		t.Errorf("a fixed document: %q changed, says %q", got, b.text("tasks/latin/P.md"))
	}
}

func TestSymlinks(t *testing.T) {
	b := open(t, t.TempDir())
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "P.md"), note("outside"))
	b.write("tasks/real/P.md", note("inside"))
	links := map[string]string{
		"tasks/out":    outside,
		"tasks/in":     "real",
		"tasks/abs":    filepath.Join(b.root, "tasks/real"),
		"tasks/file":   filepath.Join(outside, "P.md"),
		"tasks/broken": "nowhere",
		"tasks/loop":   "loop",
	}
	for p, target := range links {
		must(t, os.Symlink(target, filepath.Join(b.root, p)))
	}
	must(t, unix.Mkfifo(filepath.Join(b.root, "tasks/pipe"), 0o644))
	b.snap()
	want := "[{abs 1} {broken 2} {file 2} {in 1} {loop 2} {out 2} {pipe 2} {real 1}]"
	if got := fmt.Sprint(b.tree.Dir("tasks")); got != want {
		t.Errorf("listing %s, want %s", got, want)
	}
	for p, want := range map[string]string{
		"tasks/in/P.md": note("inside"), "tasks/abs/P.md": note("inside"), "tasks/out/P.md": "symlink-outside",
		"tasks/file": "symlink-outside", "tasks/broken": "symlink-broken", "tasks/loop": "symlink-broken",
		"tasks/pipe": "not-a-file", "tasks/real": "absent", "tasks/real/P.md/x": "absent", "../x": "absent",
	} {
		if got := b.text(p); got != want && (want != "symlink-outside" || got != "absent") {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	if b.text("tasks/file") != "symlink-outside" {
		t.Errorf("a linked file: %q", b.text("tasks/file"))
	}
	if b.tree.Dir("tasks/out") != nil || b.tree.Sum("tasks/file") != "" || b.tree.Sum("tasks/out/P.md") != "" {
		t.Error("something outside was read")
	}

	// A folder that is moved out and linked back keeps the times of its files.
	b.clock.advance(3 * time.Second)
	b.snap()
	b.text("tasks/real/P.md")
	moved := filepath.Join(outside, "real")
	must(t, os.Rename(filepath.Join(b.root, "tasks/real"), moved))
	must(t, os.Symlink(moved, filepath.Join(b.root, "tasks/real")))
	if got := b.snap(); !slices.Contains(got, "tasks/real/P.md") || b.text("tasks/real/P.md") != "absent" {
		t.Errorf("moved out: %q changed, %q", got, b.text("tasks/real/P.md"))
	}
}

// TestSameTickRewrite rewrites a document so that its times and size tell
// nothing, as happens within one tick of a file system's clock.
func TestSameTickRewrite(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/P.md", note("one"))
	b.snap()
	b.text("tasks/P.md")
	b.tree.Sum("tasks/P.md")
	b.write("tasks/P.md", note("two"))
	n := b.nodes["tasks/P.md"]
	n.key = b.look("tasks/P.md").key // as if the tick had been the same
	if got := b.snap(); !slices.Equal(got, []string{"tasks/P.md"}) || b.text("tasks/P.md") != note("two") {
		t.Errorf("%q changed, the document says %q", got, b.text("tasks/P.md"))
	}

	b.clock.advance(3 * time.Second)
	b.snap()
	reads := b.notes.reads.Load()
	b.snap()
	if got := b.notes.reads.Load(); got != reads {
		t.Errorf("an old file was read %d times more", got-reads)
	}
}

func TestAnswersStandWithinASnapshot(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/P.md", note("one"))
	b.snap()
	list, text, sum := fmt.Sprint(b.tree.Dir("tasks")), b.text("tasks/P.md"), b.tree.Sum("tasks/P.md")
	b.write("tasks/P.md", note("two and more"))
	b.write("tasks/Q.md", note("three"))
	if fmt.Sprint(b.tree.Dir("tasks")) != list || b.text("tasks/P.md") != text || b.tree.Sum("tasks/P.md") != sum {
		t.Error("an answer changed within a snapshot")
	}
	if got := strings.Join(b.snap(), " "); got != "tasks tasks/P.md" {
		t.Errorf("%q changed", got)
	}
}

func TestMissingWorkspaceIsNoEmptyOne(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	must(t, os.Mkdir(root, 0o755))
	b := open(t, root)
	b.write("tasks/P.md", note("one"))
	b.snap()
	must(t, os.RemoveAll(root))
	if _, _, err := b.Snapshot(t.Context(), nil); err == nil {
		t.Error("a removed workspace is read")
	}
	if _, err := Open(root, Options{}); err == nil {
		t.Error("a missing workspace opens")
	}
}
