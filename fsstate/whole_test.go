package fsstate

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drover/spec"
)

func TestWriterIsWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("leases are Linux's")
	}
	b := open(t, t.TempDir())
	b.write("tasks/P.md", note("whole already"))
	b.clock.advance(time.Hour) // no age helps while there is a writer
	f, err := os.OpenFile(filepath.Join(b.root, "tasks/P.md"), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	b.snap()
	if got := b.text("tasks/P.md"); got != "unstable" {
		t.Fatalf("while somebody writes: %q", got)
	}
	if got := b.Unstable(); !slices.Equal(got, []string{"tasks/P.md"}) {
		t.Errorf("unstable: %q", got)
	}
	if look := b.NextLook(); look.IsZero() || look.After(b.clock.now().Add(time.Second)) {
		t.Errorf("next look: %v", look)
	}
	must(t, f.Close())
	b.clock.advance(time.Second)
	if got := b.snap([]string{}...); b.text("tasks/P.md") != "unstable" && len(got) == 0 {
		t.Error("answer changed without a report")
	}
	b.snap(b.Unstable()...)
	if got := b.text("tasks/P.md"); got != note("whole already") {
		t.Errorf("after the writer closed: %q", got)
	}
	if b.Unstable(); len(b.Unstable()) != 0 || !b.NextLook().IsZero() {
		t.Errorf("still unstable: %q", b.Unstable())
	}
}

// TestDueLooksNeedNoHint: a document that was being written is looked at in
// the first snapshot after its time, whatever the hints are.
func TestDueLooksNeedNoHint(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/P.md", "")
	b.snap()
	if got := b.text("tasks/P.md"); got != "unstable" {
		t.Fatalf("an empty new document: %q", got)
	}
	b.clock.advance(3 * time.Second)
	if got := b.snap("elsewhere"); !slices.Equal(got, []string{"tasks/P.md"}) || b.text("tasks/P.md") != "no-head" {
		t.Errorf("an empty old document: %q changed, %q", got, b.text("tasks/P.md"))
	}
}

func TestHalfDocuments(t *testing.T) {
	for _, half := range []string{"", "head: x\n"} {
		b := open(t, t.TempDir())
		b.write("tasks/P.md", half)
		b.snap()
		if got := b.text("tasks/P.md"); got != "unstable" {
			t.Errorf("%q, just written: %q", half, got)
		}
		b.write("tasks/P.md", note("the rest"))
		b.snap("tasks/P.md")
		if got := b.text("tasks/P.md"); got != note("the rest") {
			t.Errorf("%q, then whole: %q", half, got)
		}
	}
	b := open(t, t.TempDir())
	b.write("tasks/P.md", "head: x\n")
	b.clock.advance(3 * time.Second)
	b.snap()
	if got := b.text("tasks/P.md"); got != "incomplete" {
		t.Errorf("half and old: %q", got)
	}
}

// TestFutureTimes: a file from another machine's future ages by what we see.
func TestFutureTimes(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/P.md", "")
	ahead := time.Now().Add(time.Hour)
	must(t, os.Chtimes(filepath.Join(b.root, "tasks/P.md"), ahead, ahead))
	b.snap()
	if got := b.text("tasks/P.md"); got != "unstable" {
		t.Fatalf("empty, of the future: %q", got)
	}
	b.clock.advance(3 * time.Second)
	b.snap(b.Unstable()...)
	if got := b.text("tasks/P.md"); got != "no-head" {
		t.Errorf("after it rested: %q", got)
	}
}

func TestLargeDocumentIsNotRead(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/P.md", "")
	must(t, os.Truncate(filepath.Join(b.root, "tasks/P.md"), 50<<20))
	b.snap()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	doc := b.tree.Doc("tasks/P.md")
	runtime.ReadMemStats(&after)
	if doc.State != spec.DocBad || doc.Problem.Code != "document-too-large" || !strings.Contains(doc.Problem.Message, "1048576") {
		t.Errorf("50 MB: %+v", doc)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated for it", got)
	}
	if b.notes.reads.Load() != 0 {
		t.Error("the dialect saw it")
	}
}

// TestSettle holds the rule for systems that cannot tell writers: the probe
// cannot be told apart here, so the age decides.
func TestSettle(t *testing.T) {
	b := open(t, t.TempDir(), func(o *Options) { o.Settle = time.Minute })
	b.write("tasks/P.md", note("x"))
	p := filepath.Join(b.root, "tasks/P.md")
	fd, err := unix.Open(p, unix.O_RDONLY, 0)
	must(t, err)
	defer unix.Close(fd)
	known := probeWriter(fd) != writerUnknown
	b.snap()
	if got := b.text("tasks/P.md"); (got == note("x")) != known {
		t.Errorf("fresh, probe known=%v: %q", known, got)
	}
	b.clock.advance(2 * time.Minute)
	b.snap(b.Unstable()...)
	if got := b.text("tasks/P.md"); got != note("x") {
		t.Errorf("rested: %q", got)
	}
}

// TestEditors: each way editors save is taken once, and never an empty or half
// document (CASES 9).
func TestEditors(t *testing.T) {
	const p = "tasks/P.md"
	saves := map[string]func(b *bench, abs string) (hints []string){
		"temp and rename": func(b *bench, abs string) []string {
			b.write("tasks/.P.md.swp", note("two"))
			must(b, os.Rename(filepath.Join(b.root, "tasks/.P.md.swp"), abs))
			return []string{"tasks/.P.md.swp", p}
		},
		"rename away and new file": func(b *bench, abs string) []string {
			must(b, os.Rename(abs, abs+"~"))
			b.snap(p, p+"~")
			if got := b.text(p); got != "absent" {
				b.Errorf("between: %q", got)
			}
			b.write(p, note("two"))
			return []string{p}
		},
		"truncate, later write": func(b *bench, abs string) []string {
			f, err := os.OpenFile(abs, os.O_WRONLY|os.O_TRUNC, 0)
			must(b, err)
			b.snap(p)
			if got := b.text(p); got != "unstable" {
				b.Errorf("truncated: %q", got)
			}
			_, err = f.WriteString("head: t")
			must(b, err)
			b.snap(p)
			if got := b.text(p); got != "unstable" {
				b.Errorf("half: %q", got)
			}
			_, err = f.WriteString(note("two")[len("head: t"):])
			must(b, err)
			must(b, f.Close())
			return b.Unstable()
		},
	}
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			b := open(t, t.TempDir())
			b.write(p, note("one"))
			b.snap()
			b.text(p)
			hints := save(b, filepath.Join(b.root, p))
			b.notes.reads.Store(0)
			changed := b.snap(hints...)
			if !slices.Contains(changed, p) || b.text(p) != note("two") || b.notes.reads.Load() != 1 {
				t.Errorf("%q changed, says %q, read %d times", changed, b.text(p), b.notes.reads.Load())
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/P.md", note("x"))
	b.snap()
	b.text("tasks/a/P.md")
	b.tree.Dir("tasks/a")
	must(t, os.Chmod(filepath.Join(b.root, "tasks/a/P.md"), 0))
	must(t, os.Chmod(filepath.Join(b.root, "tasks/a"), 0o100))
	defer os.Chmod(filepath.Join(b.root, "tasks/a"), 0o755)
	b.snap()
	if _, err := os.ReadDir(filepath.Join(b.root, "tasks/a")); err == nil {
		t.Skip("the system lets this user read everything")
	}
	if got := b.text("tasks/a/P.md"); got != "unreadable" {
		t.Errorf("a file without rights: %q", got)
	}
	if len(b.tree.Dir("tasks/a")) != 1 || len(b.Problems()) != 1 || b.Problems()[0].File != "tasks/a" {
		t.Errorf("a folder without rights: %v, problems %v", b.tree.Dir("tasks/a"), b.Problems())
	}
	must(t, os.Chmod(filepath.Join(b.root, "tasks/a"), 0o755))
	must(t, os.Chmod(filepath.Join(b.root, "tasks/a/P.md"), 0o644))
	b.snap()
	if got := b.text("tasks/a/P.md"); got != note("x") || len(b.Problems()) != 0 {
		t.Errorf("with rights again: %q, %v", got, b.Problems())
	}
}

// TestNeverHalf looks at a document while it is being rewritten in place, over
// and over: what is taken is always one whole save.
func TestNeverHalf(t *testing.T) {
	b := open(t, t.TempDir())
	const p = "tasks/P.md"
	saves := []string{note(strings.Repeat("a", 40000)), note(strings.Repeat("b", 70000))}
	b.write(p, saves[0])
	again, done := make(chan bool), make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && <-again; i++ {
			err = inPieces(filepath.Join(b.root, p), saves[i%2])
		}
		done <- err
	}()
	taken := 0
	b.snap()
	for range 3000 {
		select {
		case again <- true:
		default: // still at the last save
		}
		b.snap(p)
		switch got := b.text(p); got {
		case saves[0], saves[1]:
			taken++
		case "unstable":
		default:
			t.Fatalf("%d bytes that nobody saved: %.40q", len(got), got)
		}
	}
	close(again)
	must(t, <-done)
	b.snap(p)
	if got := b.text(p); got != saves[0] && got != saves[1] {
		t.Errorf("at rest: %.40q", got)
	}
	t.Logf("%d of 3000 looks took a document", taken)
}

// inPieces saves a text as a slow editor does.
func inPieces(p, text string) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	for len(text) > 0 && err == nil {
		n := min(len(text), 10000)
		_, err = f.WriteString(text[:n])
		text = text[n:]
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
