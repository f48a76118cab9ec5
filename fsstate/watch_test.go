package fsstate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

// watching is a watch under test and what it told so far.
type watching struct {
	testing.TB
	*Watch
	told Hint
}

// watch watches "tasks" until the test ends, and looks for goroutines then.
func watch(t testing.TB, b *bench, extra ...string) *watching {
	t.Helper()
	running := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(context.Background())
	x, err := b.Watch(ctx, []string{"tasks"}, extra)
	must(t, err)
	t.Cleanup(func() {
		cancel()
		for range x.Hints() { // until it is closed
		}
		goleak.VerifyNone(t, running)
	})
	return &watching{TB: t, Watch: x}
}

// until gathers hints until enough says so, and returns them all.
func (x *watching) until(what string, enough func(Hint) bool) Hint {
	x.Helper()
	deadline := time.After(10 * time.Second)
	x.told = Hint{}
	for !enough(x.told) {
		select {
		case h, ok := <-x.Hints():
			if !ok {
				x.Fatalf("hints ended before %s", what)
			}
			x.told.Paths = append(x.told.Paths, h.Paths...)
			x.told.Extra = append(x.told.Extra, h.Extra...)
			x.told.All = x.told.All || h.All
		case <-deadline:
			x.Fatalf("no hint of %s; told %+v", what, x.told)
		}
	}
	return x.told
}

// path waits for a hint of one path.
func (x *watching) path(rel string) Hint {
	x.Helper()
	return x.until(rel, func(h Hint) bool { return slices.Contains(h.Paths, rel) })
}

// drain gathers hints until the one of a new file at rel.
func (x *watching) drain(b *bench, rel string) Hint {
	x.Helper()
	b.write(rel, note("mark"))
	return x.path(rel)
}

func TestWatchTellsEachKindOfChange(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/P.md", note("one"))
	x := watch(t, b)
	abs := func(p string) string { return filepath.Join(b.root, p) }

	b.write("tasks/a/P.md", note("two"))
	x.path("tasks/a/P.md")
	must(t, os.Rename(abs("tasks/a/P.md"), abs("tasks/a/Q.md")))
	x.until("both names", func(h Hint) bool {
		return slices.Contains(h.Paths, "tasks/a/P.md") && slices.Contains(h.Paths, "tasks/a/Q.md")
	})
	b.write("tasks/n/e/w/P.md", note("deep"))
	x.path("tasks/n/e/w/P.md")
	b.write("tasks/n/e/w/P.md", note("deeper"))
	x.path("tasks/n/e/w/P.md")
	must(t, os.RemoveAll(abs("tasks/n")))
	x.path("tasks/n")
	b.write("tasks/n/P.md", note("again"))
	x.path("tasks/n/P.md")
	if got := x.Warning(); got != "" {
		t.Errorf("warning %q", got)
	}
}

// TestWatchFollowsFolders: a renamed folder is told under its new name only,
// and one that comes from elsewhere is told with all that is in it.
func TestWatchFollowsFolders(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/x/P.md", note("one"))
	b.write("elsewhere/y/z/P.md", note("two"))
	x := watch(t, b)
	abs := func(p string) string { return filepath.Join(b.root, p) }

	must(t, os.Rename(abs("tasks/a"), abs("tasks/b")))
	x.path("tasks/b/x/P.md")
	b.write("tasks/b/x/P.md", note("new name"))
	if got := x.path("tasks/b/x/P.md"); slices.Contains(got.Paths, "tasks/a/x/P.md") {
		t.Errorf("told the old name: %q", got.Paths)
	}
	b.write("tasks/a/x/P.md", note("another a"))
	x.path("tasks/a/x/P.md")
	b.write("tasks/a/x/P.md", note("another a, changed"))
	x.path("tasks/a/x/P.md")

	must(t, os.Rename(abs("elsewhere/y"), abs("tasks/y")))
	x.path("tasks/y/z/P.md")
	must(t, os.Rename(abs("tasks/y"), abs("elsewhere/y")))
	x.path("tasks/y")
	x.drain(b, "tasks/before.md")
	b.write("elsewhere/y/z/P.md", note("gone from here"))
	if got := x.drain(b, "tasks/mark.md"); slices.ContainsFunc(got.Paths, func(p string) bool { return strings.Contains(p, "y/") }) {
		t.Errorf("a folder that left is still told: %q", got.Paths)
	}
}

// TestWatchMovesWithFolder: a folder is found under its new name before its
// departure from the old one is told.
func TestWatchMovesWithFolder(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/b/x/P.md", note("one"))
	entered, release := make(chan bool), make(chan bool)
	b.watchAdd = func(w *fsnotify.Watcher, p string) error {
		if filepath.Base(p) == "new" {
			entered <- true
			<-release
		}
		return w.Add(p)
	}
	x := watch(t, b)
	must(t, os.Mkdir(filepath.Join(b.root, "tasks/new"), 0o755))
	<-entered
	must(t, os.Rename(filepath.Join(b.root, "tasks/b"), filepath.Join(b.root, "tasks/new/b")))
	release <- true
	x.path("tasks/new/b/x/P.md")
	x.drain(b, "tasks/mark.md") // the departure is told by now
	b.write("tasks/new/b/x/P.md", note("still watched"))
	x.path("tasks/new/b/x/P.md")
}

func TestWatchWaitsForMissingRoots(t *testing.T) {
	b := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := b.Watch(ctx, []string{"docs/features/x"}, nil)
	must(t, err)
	x := &watching{TB: t, Watch: w}
	b.write("docs/features/x/P.md", note("one"))
	x.path("docs/features/x/P.md")
	must(t, os.Rename(filepath.Join(b.root, "docs"), filepath.Join(b.root, "old")))
	x.path("docs")
	b.write("docs/features/x/P.md", note("two"))
	x.path("docs/features/x/P.md")
	b.write("docs/features/x/P.md", note("three"))
	x.path("docs/features/x/P.md")
	b.write("docs/other.md", "")
	b.write("top.md", "")
	b.write("docs/features/x/Q.md", "")
	if got := x.path("docs/features/x/Q.md"); slices.Contains(got.Paths, "docs/other.md") || slices.Contains(got.Paths, "top.md") {
		t.Errorf("told of what is in no root: %q", got.Paths)
	}
	if _, err := b.Watch(ctx, []string{"../x"}, nil); err == nil {
		t.Error("a root outside is watched")
	}
}

func TestWatchIgnoresAndExtra(t *testing.T) {
	b := open(t, t.TempDir(), func(o *Options) { o.Ignore = func(rel string) bool { return rel == "tasks/archive" } })
	b.write("tasks/archive/2026/P.md", "")
	requests := filepath.Join(b.root, ".git/requests")
	must(t, os.MkdirAll(requests, 0o755))
	x := watch(t, b, requests)
	b.write("tasks/archive/2026/P.md", "changed")
	if got := x.drain(b, "tasks/mark.md"); slices.Contains(got.Paths, "tasks/archive/2026/P.md") {
		t.Errorf("told of an ignored folder: %q", got.Paths)
	}
	writeFile(t, filepath.Join(requests, "r1.json"), "{}")
	got := x.until("a request", func(h Hint) bool { return slices.Contains(h.Extra, filepath.Join(requests, "r1.json")) })
	if len(got.Paths) > 0 {
		t.Errorf("a request is told as %q", got.Paths)
	}
}

// TestWatchFindsWhatIsMadeMeanwhile makes folders while they are being
// watched: none may be missed.
func TestWatchFindsWhatIsMadeMeanwhile(t *testing.T) {
	b := open(t, t.TempDir())
	must(t, os.Mkdir(filepath.Join(b.root, "tasks"), 0o755))
	x := watch(t, b)
	const n = 500
	go func() {
		for i := range n {
			dir := filepath.Join(b.root, fmt.Sprintf("tasks/g%d/t", i))
			_ = os.MkdirAll(dir, 0o755)
			_ = os.WriteFile(filepath.Join(dir, "P.md"), nil, 0o644)
		}
	}()
	x.until("all documents", func(h Hint) bool {
		found := map[string]bool{}
		for _, p := range h.Paths {
			if strings.HasSuffix(p, "/P.md") {
				found[p] = true
			}
		}
		return len(found) == n || h.All
	})
}

// TestWatchOverflow loses events for good: one rescan is told, and what was
// made meanwhile is watched (CASES 10).
func TestWatchOverflow(t *testing.T) {
	limit := 16384
	if b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events"); err == nil {
		limit, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	if limit > 50000 {
		t.Skipf("the queue holds %d events", limit)
	}
	b := open(t, t.TempDir())
	b.write("tasks/a/P.md", "")
	entered, release := make(chan bool, 1), make(chan bool)
	b.watchAdd = func(w *fsnotify.Watcher, p string) error {
		if filepath.Base(p) == "blocker" {
			select {
			case entered <- true:
			default:
			}
			<-release
		}
		return w.Add(p)
	}
	x := watch(t, b)
	must(t, os.Mkdir(filepath.Join(b.root, "tasks/blocker"), 0o755))
	<-entered
	for i := range limit/2 + 6000 { // two events each; some thousand are read ahead
		p := filepath.Join(b.root, "tasks/a", strconv.Itoa(i%100))
		must(t, os.WriteFile(p, []byte{1}, 0o644))
		must(t, os.Remove(p))
	}
	b.write("tasks/late/P.md", "")
	close(release)
	x.until("everything", func(h Hint) bool { return h.All })
	b.write("tasks/late/P.md", "changed")
	if got := x.path("tasks/late/P.md"); got.All {
		t.Error("one overflow led to a second rescan")
	}
}

// TestWatchRefused: where the system has no watches left, a warning names the
// limit, rescans find what changed, and watching begins when there are again.
func TestWatchRefused(t *testing.T) {
	b := open(t, t.TempDir(), func(o *Options) { o.Resync = 20 * time.Millisecond })
	b.write("tasks/a/P.md", note("one"))
	full := make(chan bool) // closed when there are watches again
	b.watchAdd = func(w *fsnotify.Watcher, p string) error {
		select {
		case <-full:
			return w.Add(p)
		default:
			return syscall.ENOSPC
		}
	}
	x := watch(t, b)
	if got := x.Warning(); !strings.Contains(got, "fs.inotify.max_user_watches") {
		t.Errorf("warning %q", got)
	}
	b.snap()
	b.text("tasks/a/P.md")
	b.write("tasks/a/P.md", note("two"))
	x.until("a rescan", func(h Hint) bool { return h.All })
	if got := b.snap(); !slices.Equal(got, []string{"tasks/a/P.md"}) {
		t.Errorf("the rescan found %q", got)
	}
	close(full)
	x.until("a rescan", func(Hint) bool { return x.told.All && x.Warning() == "" })
}

func TestNoWatch(t *testing.T) {
	b := open(t, t.TempDir(), func(o *Options) { o.NoWatch, o.Resync = true, 5*time.Millisecond })
	x := watch(t, b)
	b.write("tasks/a/P.md", "")
	if got := x.until("a rescan", func(h Hint) bool { return h.All }); len(got.Paths) > 0 {
		t.Errorf("told %q", got.Paths)
	}
}

// TestWatchIsQuick: from a rename to its hint, at the median.
func TestWatchIsQuick(t *testing.T) {
	b := open(t, t.TempDir())
	b.write("tasks/a/P.md", "")
	x := watch(t, b)
	var took []time.Duration
	for range 50 {
		b.write("new", note("x"))
		start := time.Now()
		must(t, os.Rename(filepath.Join(b.root, "new"), filepath.Join(b.root, "tasks/a/P.md")))
		x.path("tasks/a/P.md")
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("median %v, slowest %v", took[25], took[49])
	if took[25] > 20*time.Millisecond {
		t.Errorf("median %v", took[25])
	}
}

// TestWatchedWorkspaceIsTheDisk: hints alone keep a workspace as the disk is,
// through renames of folders that are watched.
func TestWatchedWorkspaceIsTheDisk(t *testing.T) {
	b := open(t, t.TempDir())
	must(t, os.Mkdir(filepath.Join(b.root, "tasks"), 0o755))
	x := watch(t, b)
	b.snap()
	abs := func(p string) string { return filepath.Join(b.root, p) }
	for round := range 40 {
		from, to := fmt.Sprintf("tasks/d%d", round%3), fmt.Sprintf("tasks/d%d/sub", (round+1)%3)
		b.write(from+"/P.md", note(fmt.Sprint(round)))
		b.write(to+"/Q.md", note(fmt.Sprint(round)))
		_ = os.RemoveAll(abs(to + "/moved"))
		must(t, os.Rename(abs(from), abs(to+"/moved")))
		got := x.drain(b, fmt.Sprintf("tasks/mark%d.md", round))
		b.snap(got.Paths...)
		fresh := open(t, b.root)
		fresh.snap()
		_ = filepath.WalkDir(abs("tasks"), func(p string, d os.DirEntry, err error) error {
			rel, _ := filepath.Rel(b.root, p)
			for kind := range 3 {
				if got, want := answer(b.tree, kind, rel), answer(fresh.tree, kind, rel); got != want {
					t.Fatalf("round %d, %s: %q, on disk %q", round, rel, got, want)
				}
			}
			return err
		})
	}
}
