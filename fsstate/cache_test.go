package fsstate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"drover/spec"
)

// warm is a workspace of n tasks whose cache was saved.
func warm(t testing.TB, n int) (root, cache string) {
	t.Helper()
	root, cache = t.TempDir(), filepath.Join(t.TempDir(), "cache")
	makeTasks(t, root, n)
	b := open(t, root, cached(cache))
	b.clock.advance(time.Minute)
	b.snap()
	b.tree.Sum("tasks/group_0000/00_task_with_a_name/PLAN-cloud-G05.md")
	b.text("tasks/none.md")
	if got := askAll(b.tree); got != 2*n {
		t.Fatalf("%d documents", got)
	}
	b.save()
	return root, cache
}

func TestWarmProcessReadsNothing(t *testing.T) {
	root, cache := warm(t, 40)
	b := open(t, root, cached(cache))
	b.clock.advance(time.Minute)
	b.snap()
	if got := askAll(b.tree); got != 80 {
		t.Errorf("%d documents", got)
	}
	if reads, decodes := b.notes.reads.Load(), b.notes.decodes.Load(); reads != 0 || decodes != 80 {
		t.Errorf("%d read, %d decoded", reads, decodes)
	}
	if b.dirty {
		t.Error("nothing changed, but the cache is to be written")
	}
}

func TestWarmProcessSeesChanges(t *testing.T) {
	root, cache := warm(t, 40)
	one := taskDir(7) + "/PLAN-cloud-G05.md"
	writeFile(t, filepath.Join(root, one), note("changed"))
	must(t, os.RemoveAll(filepath.Join(root, taskDir(8))))
	writeFile(t, filepath.Join(root, taskDir(9), "new.md"), note("new"))
	b := open(t, root, cached(cache))
	b.clock.advance(time.Minute)
	if got := b.snap(); got != nil {
		t.Errorf("the first snapshot reports %q", got)
	}
	if got := askAll(b.tree); got != 79 || b.text(one) != note("changed") {
		t.Errorf("%d documents, %q", got, b.text(one))
	}
	if got := b.notes.reads.Load(); got != 2 {
		t.Errorf("%d read", got)
	}
}

// TestYoungFilesAreNotCached: a cache is no proof for a file that was too
// young when it was read.
func TestYoungFilesAreNotCached(t *testing.T) {
	root, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	b := open(t, root, cached(cache))
	b.write("tasks/P.md", note("x"))
	b.snap()
	b.text("tasks/P.md")
	b.save()
	b = open(t, root, cached(cache))
	b.clock.advance(time.Minute)
	b.snap()
	b.text("tasks/P.md")
	if got := b.notes.reads.Load(); got != 1 {
		t.Errorf("%d read", got)
	}
	b.save()
	b = open(t, root, cached(cache))
	b.snap()
	if b.text("tasks/P.md") != note("x") || b.notes.reads.Load() != 0 {
		t.Errorf("now it is old: %q, %d read", b.text("tasks/P.md"), b.notes.reads.Load())
	}
}

func TestBrokenCacheIsIgnored(t *testing.T) {
	root, cache := warm(t, 3)
	good, err := os.ReadFile(cache)
	must(t, err)
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	broken := map[string][]byte{
		"empty": {}, "torn": good[:len(good)/2], "flipped": flipped, "longer": append(slices.Clone(good), 0),
		"zeroes": make([]byte, len(good)), "no cache": []byte("{}"), "magic alone": []byte(cacheMagic),
	}
	for name, b := range broken {
		must(t, os.WriteFile(cache, b, 0o600))
		checkIgnored(t, name, root, cached(cache))
	}
	must(t, os.WriteFile(cache, good, 0o600))
	checkIgnored(t, "foreign", root, cached(cache), func(o *Options) { o.Fingerprint = "another program" })
	checkIgnored(t, "missing", root, cached(cache+"x"))
	checkIgnored(t, "a folder", root, cached(t.TempDir()))
}

func checkIgnored(t *testing.T, name, root string, edit ...func(*Options)) {
	t.Helper()
	b := open(t, root, edit...)
	b.snap()
	if got := askAll(b.tree); got != 6 || b.notes.reads.Load() != 6 {
		t.Errorf("%s: %d documents, %d read", name, got, b.notes.reads.Load())
	}
}

// TestFactsThatCannotBeDecoded are read again.
func TestFactsThatCannotBeDecoded(t *testing.T) {
	root, cache := warm(t, 1)
	b := open(t, root, cached(cache))
	p := taskDir(0) + "/PLAN-cloud-G05.md"
	b.nodes[p].doc.raw = []byte("of another version")
	b.clock.advance(time.Minute)
	b.snap()
	if got := b.text(p); got[:5] != "head:" || b.notes.reads.Load() != 1 {
		t.Errorf("%q, %d read", got, b.notes.reads.Load())
	}
}

func TestProblemsAreCached(t *testing.T) {
	root, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	b := open(t, root, cached(cache))
	b.write("tasks/P.md", "no head")
	b.clock.advance(time.Minute)
	b.snap()
	want := b.tree.Doc("tasks/P.md")
	b.save()
	b = open(t, root, cached(cache))
	b.clock.advance(time.Minute)
	b.snap()
	if got := b.tree.Doc("tasks/P.md"); got.State != spec.DocBad || got != want || b.notes.reads.Load() != 0 {
		t.Errorf("%+v, want %+v; %d read", got, want, b.notes.reads.Load())
	}
}

// TestSaveCrash: whatever effect fails, the old cache or none is found.
func TestSaveCrash(t *testing.T) {
	root, cache := warm(t, 2)
	full := errors.New("no space left on device")
	for _, op := range []spec.Op{spec.OpWrite, spec.OpRename} {
		b := open(t, root, cached(cache), func(o *Options) {
			o.Seam = func(got spec.Op, _ string) error {
				if got == op {
					return full
				}
				return nil
			}
		})
		b.write("tasks/new.md", note("x"))
		b.snap()
		b.text("tasks/new.md")
		if err := b.SaveCache(t.Context()); !errors.Is(err, full) {
			t.Errorf("%s: %v", op, err)
		}
		c := open(t, root, cached(cache))
		c.clock.advance(time.Minute)
		c.snap()
		if got := askAll(c.tree); got != 4 || c.notes.reads.Load() > 1 {
			t.Errorf("%s: %d documents, %d read", op, got, c.notes.reads.Load())
		}
	}
}

// TestCacheForgets what nobody asks for any more.
func TestCacheForgets(t *testing.T) {
	root, cache := warm(t, 40)
	for i := range idleMost + 1 {
		b := open(t, root, cached(cache))
		b.clock.advance(time.Minute)
		b.snap()
		b.text(fmt.Sprintf("tasks/question%d.md", i))
		b.tree.Dir(taskDir(0))
		b.save()
	}
	b := open(t, root, cached(cache))
	if _, ok := b.nodes[taskDir(0)]; !ok {
		t.Error("what is asked for is forgotten")
	}
	for _, p := range []string{taskDir(21), taskDir(21) + "/PLAN-cloud-G05.md", "tasks/group_0001"} {
		if _, ok := b.nodes[p]; ok {
			t.Errorf("%s is still kept", p)
		}
	}
}

func FuzzDecodeCache(f *testing.F) {
	_, cache := warm(f, 2)
	good, err := os.ReadFile(cache)
	must(f, err)
	f.Add(good[len(cacheMagic)+1+len("test")+4:])
	f.Add([]byte{1, 1, 0, '.', 0, 1, 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		d := decoder{rec: body}
		nodes, err := d.body()
		if err != nil || len(nodes) == 0 {
			return
		}
		again, err := encodeCache(&nodes[0], "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeCache(again, ""); err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
	})
}
