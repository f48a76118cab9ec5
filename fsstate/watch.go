package fsstate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Hint says what may have changed. It may be wrong both ways: what it names
// may be as it was, and what it lacks is found by the next rescan.
type Hint struct {
	Paths []string // workspace-relative
	Extra []string // absolute, in the extra folders
	All   bool     // anything may have changed
}

// gather is how long events are gathered before they are handed on: long
// enough for the two or three events of one save to come together.
const gather = time.Millisecond

// pathsMost is how many paths a hint names before it says All.
const pathsMost = 4096

// Watch turns the system's file events into hints. Symlinks are not followed:
// what lies behind them is found by rescans.
type Watch struct {
	root   string
	roots  []string
	extra  []string
	ignore func(rel string) bool
	resync time.Duration
	hints  chan Hint

	// The rest belongs to the goroutine, save warning.
	notify  *fsnotify.Watcher // nil while there are only rescans
	add     func(*fsnotify.Watcher, string) error
	watched map[string]inode // folders by workspace-relative path
	paths   map[inode]string // and back
	pending Hint
	named   map[string]bool // what pending names

	mu      sync.Mutex
	warning string
}

// Watch begins to watch the folders of roots with all that is below them, and
// the extra absolute folders without. It ends, and Hints is closed, with ctx.
// When it returns, every change from then on will be hinted at; so make the
// first snapshot after it.
//
// Where the system refuses to watch, Warning says so and rescans remain.
func (w *Workspace) Watch(ctx context.Context, roots, extra []string) (*Watch, error) {
	x := &Watch{
		root: w.root, extra: extra, ignore: w.opts.Ignore, resync: w.opts.Resync,
		hints: make(chan Hint), add: (*fsnotify.Watcher).Add, named: map[string]bool{},
	}
	for _, r := range roots {
		if r = path.Clean(r); !within(r) {
			return nil, fmt.Errorf("watch %s: not a path in the workspace", r)
		}
		x.roots = append(x.roots, r)
	}
	if w.watchAdd != nil {
		x.add = w.watchAdd
	}
	if !w.opts.NoWatch {
		x.begin()
	}
	go x.run(ctx)
	return x, nil
}

// Hints delivers batches as soon as the events' queue is drained. Closed when
// the watch ends.
func (x *Watch) Hints() <-chan Hint { return x.hints }

// Warning is one sentence about what is not watched, and the remedy; "" where
// all is well.
func (x *Watch) Warning() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.warning
}

// run hands on hints until ctx ends.
func (x *Watch) run(ctx context.Context) {
	defer close(x.hints)
	defer x.end()
	resync := time.NewTicker(x.resync)
	defer resync.Stop()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	var out chan Hint // x.hints while pending is to be delivered
	waiting := true   // for quiet
	for {
		if x.some() && !waiting && out == nil {
			quiet.Reset(gather)
			waiting = true
		}
		select {
		case <-ctx.Done():
			return
		case out <- x.pending:
			out, x.pending = nil, Hint{}
			clear(x.named)
		case <-quiet.C:
			waiting = false
			if x.some() {
				out = x.hints
			}
		case <-resync.C:
			x.rescan()
		case ev, ok := <-x.events():
			if ok {
				x.event(ev)
			}
		case err, ok := <-x.errors():
			if ok {
				x.lost(err)
			}
		}
	}
}

// events are the system's, never ready where nothing is watched.
func (x *Watch) events() <-chan fsnotify.Event {
	if x.notify == nil {
		return nil
	}
	return x.notify.Events
}

func (x *Watch) errors() <-chan error {
	if x.notify == nil {
		return nil
	}
	return x.notify.Errors
}

// begin watches everything anew, with one inotify instance.
func (x *Watch) begin() {
	x.warn("")
	x.watched, x.paths = map[string]inode{}, map[inode]string{}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		x.warn(fmt.Sprintf("nothing is watched (%v): changes are found by the rescan every %v; raise the sysctl fs.inotify.max_user_instances", err, x.resync))
		return
	}
	x.notify = notify
	for _, r := range x.roots {
		x.arm(r, false)
	}
	for _, dir := range x.extra {
		_ = x.add(notify, dir) // not there yet: tried again at each rescan
	}
}

func (x *Watch) end() {
	if x.notify != nil {
		_ = x.notify.Close() // it only gives up descriptors
		x.notify = nil
	}
}

// lost answers an error of the event queue: whatever it held is gone, and with
// it maybe new folders, so everything is watched anew and rescanned once.
func (x *Watch) lost(err error) {
	x.end()
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		x.begin()
	} else {
		x.warn(fmt.Sprintf("nothing is watched (%v): changes are found by the rescan every %v", err, x.resync))
	}
	x.everything()
}

// rescan says that anything may have changed, and mends what is not watched.
func (x *Watch) rescan() {
	x.everything()
	if x.Warning() != "" {
		x.end()
		x.begin()
		return
	}
	for _, dir := range x.extra {
		if x.notify != nil {
			_ = x.add(x.notify, dir)
		}
	}
}

func (x *Watch) warn(sentence string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.warning = sentence
}

// refused reports the first folder that could not be watched.
func (x *Watch) refused(rel string, err error) {
	switch {
	case x.Warning() != "":
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR):
	case errors.Is(err, syscall.ENOSPC):
		x.warn(fmt.Sprintf("not all folders are watched, from %s on: changes there are found by the rescan every %v; raise the sysctl fs.inotify.max_user_watches", rel, x.resync))
	default:
		x.warn(fmt.Sprintf("the folder %s is not watched (%v): changes there are found by the rescan every %v", rel, errText(err), x.resync))
	}
}

// some reports whether there is anything to hand on.
func (x *Watch) some() bool {
	return x.pending.All || len(x.pending.Paths) > 0 || len(x.pending.Extra) > 0
}

// everything makes the pending hint say All.
func (x *Watch) everything() {
	x.pending.All, x.pending.Paths = true, nil
	clear(x.named)
	for _, p := range x.pending.Extra {
		x.named[p] = true
	}
}

// hint adds a workspace-relative path to the pending hint.
func (x *Watch) hint(rel string) {
	if x.pending.All || x.named[rel] {
		return
	}
	if len(x.pending.Paths) >= pathsMost {
		x.everything()
		return
	}
	x.named[rel] = true
	x.pending.Paths = append(x.pending.Paths, rel)
}

// event takes in one event.
func (x *Watch) event(ev fsnotify.Event) {
	name := filepath.Clean(ev.Name)
	if slices.Contains(x.extra, filepath.Dir(name)) || slices.Contains(x.extra, name) {
		if !x.named[name] {
			x.named[name] = true
			x.pending.Extra = append(x.pending.Extra, name)
		}
		return
	}
	rel, ok := strings.CutPrefix(name, x.root+"/")
	if name == x.root {
		rel, ok = ".", true
	}
	if !ok || !x.matters(rel) {
		return
	}
	x.hint(rel)
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		x.drop(rel)
	}
	if ev.Has(fsnotify.Create) || ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		x.arrived(rel)
	}
}
