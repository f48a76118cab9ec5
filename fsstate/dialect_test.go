package fsstate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"drover/spec"
)

// notes is a dialect of the tests: documents below "tasks" that begin with
// "head:" and are whole when a line "end" follows somewhere.
type notes struct {
	spec.Dialect
	reads   *atomic.Int64 // of Read
	decodes *atomic.Int64
}

func newNotes() notes { return notes{reads: new(atomic.Int64), decodes: new(atomic.Int64)} }

type noteFacts string

func (f noteFacts) AppendBinary(b []byte) ([]byte, error) { return append(b, f...), nil }

func (notes) Name() string    { return "notes" }
func (notes) Roots() []string { return []string{"tasks"} }

func (d notes) Read(_ string, text []byte) (spec.Facts, *spec.Problem) {
	d.reads.Add(1)
	switch {
	case !bytes.HasPrefix(text, []byte("head:")):
		return nil, &spec.Problem{Line: 1, Code: "no-head", Message: "no head"}
	case !bytes.Contains(text, []byte("\nend")):
		return nil, &spec.Problem{Line: 1, Code: "incomplete", Message: "the head is not closed"}
	}
	return noteFacts(text), nil
}

func (d notes) Decode(_ string, b []byte) (spec.Facts, error) {
	d.decodes.Add(1)
	if !bytes.HasPrefix(b, []byte("head:")) {
		return nil, errors.New("not facts of notes")
	}
	return noteFacts(b), nil
}

// note is a whole document of the test dialect.
func note(body string) string { return "head: " + body + "\nend\n" }

// clock is a test's time: the system's, moved on by hand.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// bench is a workspace under test and what it was made with.
type bench struct {
	testing.TB
	*Workspace
	root  string
	notes notes
	clock *clock
	tree  spec.Tree
}

// open begins a workspace at root.
func open(t testing.TB, root string, edit ...func(*Options)) *bench {
	t.Helper()
	b := &bench{TB: t, root: root, notes: newNotes(), clock: &clock{}}
	opts := Options{Dialects: []spec.Dialect{b.notes}, Now: b.clock.now, Settle: time.Millisecond, Fingerprint: "test"}
	for _, e := range edit {
		e(&opts)
	}
	w, err := Open(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	b.Workspace = w
	return b
}

func cached(path string) func(*Options) { return func(o *Options) { o.CachePath = path } }

// snap takes a snapshot; no hints at all mean nil.
func (b *bench) snap(hints ...string) []string {
	b.Helper()
	tree, changed, err := b.Snapshot(context.Background(), hints)
	if err != nil {
		b.Fatal(err)
	}
	b.tree = tree
	return changed
}

func (b *bench) save() {
	b.Helper()
	if err := b.SaveCache(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// text is what a document's facts say, or its state in words.
func (b *bench) text(p string) string {
	doc := b.tree.Doc(p)
	switch doc.State {
	case spec.DocAbsent:
		return "absent"
	case spec.DocUnstable:
		return "unstable"
	case spec.DocBad:
		return doc.Problem.Code
	}
	return string(doc.Facts.(noteFacts))
}

func (b *bench) write(rel, text string) {
	b.Helper()
	writeFile(b.TB, filepath.Join(b.root, rel), text)
}

func writeFile(t testing.TB, p, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
