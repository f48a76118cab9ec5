package fsstate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
