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
	"pgregory.net/rapid"

	"drover/spec"
)

// TestSnapshotIsTheDisk changes files at random and holds every answer of a
// long-lived workspace, told by hints or by nothing, against those of a new
// one without a cache.
func TestSnapshotIsTheDisk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp("", "drover-snapshot")
		must(t, err)
		defer os.RemoveAll(root)
		m := &machine{T: rt, TB: t, root: root, cache: filepath.Join(root, ".cache")}
		m.reopen()
		rt.Repeat(map[string]func(*rapid.T){
			"write":  m.write,
			"mkdir":  m.mkdir,
			"remove": m.remove,
			"rename": m.rename,
			"link":   m.link,
			"ask":    m.ask,
			"snap":   m.snap,
			"save":   m.save,
			"age":    func(*rapid.T) { m.b.clock.advance(3 * time.Second) },
		})
		_ = m.b.Close()
	})
}

// machine is the state of TestSnapshotIsTheDisk.
type machine struct {
	*rapid.T
	testing.TB
	root, cache string
	b           *bench
	hints       []string
	blind       bool // something happened that no event tells
	known       map[string]string
	serial      int
}

func (m *machine) Helper()                   { m.TB.Helper() }
func (m *machine) Fatal(args ...any)         { m.T.Fatal(args...) }
func (m *machine) Fatalf(f string, a ...any) { m.T.Fatalf(f, a...) }

func (m *machine) reopen() {
	ahead := time.Duration(0)
	if m.b != nil {
		ahead = time.Duration(m.b.clock.ahead.Load())
		_ = m.b.Close()
	}
	m.b = open(m.TB, m.root, cached(m.cache))
	m.b.clock.advance(ahead)
	m.b.snap()
	m.hints, m.blind, m.known = []string{}, false, map[string]string{}
}

var dirs = []string{"tasks", "tasks/a", "tasks/b", "tasks/a/x", "tasks/b/x", "other"}

var places = func() (out []string) {
	for _, d := range dirs {
		out = append(out, d, d+"/P.md", d+"/Q.md")
	}
	return out
}()

func (m *machine) place(rt *rapid.T, label string) string {
	return rapid.SampledFrom(places).Draw(rt, label)
}

func (m *machine) abs(p string) string { return filepath.Join(m.root, p) }

func (m *machine) write(rt *rapid.T) {
	p := m.place(rt, "path")
	m.serial++
	text := rapid.SampledFrom([]string{note(fmt.Sprint(m.serial)), note("same"), "head: open\n", "", "bad"}).Draw(rt, "text")
	if m.inPlace(p) != nil || os.WriteFile(m.abs(p), []byte(text), 0o644) != nil {
		return
	}
	m.hints = append(m.hints, p)
}

// inPlace refuses paths behind symlinks: events come under other names there.
func (m *machine) inPlace(p string) error {
	for dir := p; dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(m.abs(dir)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return os.ErrInvalid
		}
	}
	return nil
}

func (m *machine) mkdir(rt *rapid.T) {
	p := rapid.SampledFrom(dirs).Draw(rt, "dir")
	if m.inPlace(p) == nil && os.Mkdir(m.abs(p), 0o755) == nil {
		m.hints = append(m.hints, p)
	}
}

func (m *machine) remove(rt *rapid.T) {
	p := m.place(rt, "path")
	if m.inPlace(filepath.Dir(p)) == nil && os.RemoveAll(m.abs(p)) == nil {
		m.hints = append(m.hints, p)
	}
}

func (m *machine) rename(rt *rapid.T) {
	from, to := m.place(rt, "from"), m.place(rt, "to")
	if m.inPlace(filepath.Dir(from)) != nil || m.inPlace(filepath.Dir(to)) != nil {
		return
	}
	if os.Rename(m.abs(from), m.abs(to)) == nil {
		m.hints = append(m.hints, from, to)
		// The watcher hints at all it finds in a folder that arrives.
		_ = filepath.WalkDir(m.abs(to), func(p string, _ os.DirEntry, err error) error {
			if rel, relErr := filepath.Rel(m.root, p); err == nil && relErr == nil {
				m.hints = append(m.hints, rel)
			}
			return nil
		})
	}
}

func (m *machine) link(rt *rapid.T) {
	p := m.place(rt, "path")
	target := rapid.SampledFrom([]string{m.abs("tasks/a"), "a", "P.md", m.abs("other"), "/etc", "nowhere"}).Draw(rt, "target")
	if m.inPlace(filepath.Dir(p)) == nil && os.Symlink(target, m.abs(p)) == nil {
		m.blind = true // what lies behind it is found by rescans
	}
}

func (m *machine) links() (some bool) {
	_ = filepath.WalkDir(m.root, func(_ string, d os.DirEntry, err error) error {
		some = some || err == nil && d.Type()&os.ModeSymlink != 0
		return nil
	})
	return some
}

func (m *machine) ask(rt *rapid.T) {
	p := m.place(rt, "path")
	kind := rapid.IntRange(0, 2).Draw(rt, "question")
	m.known[fmt.Sprint(kind, p)] = answer(m.b.tree, kind, p)
}

// answer is one answer of a tree in words. A document that is being written
// depends on the clock and is compared as such.
func answer(tree spec.Tree, kind int, p string) string {
	switch kind {
	case 0:
		if list := tree.Dir(p); list != nil {
			return fmt.Sprint("list ", list)
		}
		return "no folder"
	case 1:
		doc := tree.Doc(p)
		return fmt.Sprint(doc.State, doc.Facts, doc.Problem)
	}
	return tree.Sum(p)
}

func (m *machine) save(*rapid.T) {
	m.b.save()
	m.reopen()
	m.compare(nil, true)
}

func (m *machine) snap(rt *rapid.T) {
	hints := m.hints
	if m.blind || m.links() || rapid.Bool().Draw(rt, "full") {
		hints = nil
	}
	tree, changed, err := m.b.Snapshot(m.TB.Context(), hints)
	if err != nil {
		m.Fatal(err)
	}
	m.b.tree = tree
	m.hints, m.blind = []string{}, false
	m.compare(changed, false)
	nextTick(m.TB, m.abs(".cache-tick"))
}

// compare holds all answers against a fresh workspace's, and what changed
// against the answers that were known.
func (m *machine) compare(changed []string, first bool) {
	fresh := open(m.TB, m.root)
	fresh.clock.ahead.Store(m.b.clock.ahead.Load())
	fresh.snap()
	defer fresh.Close()
	for key, was := range m.known {
		kind, p := int(key[0]-'0'), key[1:]
		is := answer(fresh.tree, kind, p)
		if got := answer(m.b.tree, kind, p); got != is {
			m.Fatalf("%s: answers %q, a new workspace %q", key, got, is)
		}
		if !first && is != was && !slices.Contains(changed, p) {
			m.Fatalf("%s: was %q, is %q, not among the changed %q", key, was, is, changed)
		}
		m.known[key] = is
	}
	for _, p := range changed {
		if !slices.ContainsFunc([]string{"0", "1", "2"}, func(k string) bool { _, ok := m.known[k+p]; return ok }) {
			m.Fatalf("%s is reported though nobody asked about it", p)
		}
	}
}

// nextTick returns when the file system's clock has moved on, so that what
// happens now does not leave the same times as what happened before.
func nextTick(t testing.TB, probe string) {
	t.Helper()
	var st unix.Stat_t
	stamp := func() int64 {
		must(t, os.WriteFile(probe, nil, 0o644))
		must(t, unix.Stat(probe, &st))
		must(t, os.Remove(probe))
		return st.Mtim.Nano()
	}
	deadline := time.Now().Add(5 * time.Second)
	for was := stamp(); stamp() == was; {
		if time.Now().After(deadline) {
			t.Fatal("the file system's clock stands still")
		}
	}
}

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
