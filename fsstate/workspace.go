package fsstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"drover/spec"
)

// Options are what a workspace is read with.
type Options struct {
	// Dialects read the documents below their roots. Where two claim a path,
	// the longer root wins, then the earlier dialect.
	Dialects []spec.Dialect
	// CachePath is the file that keeps what was read for the next process; ""
	// keeps nothing.
	CachePath string
	// Fingerprint is of the program and the settings that decide what a reader
	// makes of a file; a cache with another one is ignored.
	Fingerprint string
	Seam        spec.Seam
	// Now is the clock that file times are held against.
	Now func() time.Time
	// Settle is how long a document must rest where the system cannot tell
	// whether somebody is writing it (DESIGN 7).
	Settle time.Duration
	// MaxDoc is the size over which a document is not read; 0 means 1 MiB.
	MaxDoc int64
	// Resync is the time between two rescans of everything; 0 means 60 s.
	Resync time.Duration
	// NoWatch leaves everything to rescans.
	NoWatch bool
	// Ignore names folders that the watcher does not go into; nil for none.
	Ignore func(rel string) bool
}

// Workspace answers what stands in the files of a workspace. It belongs to
// one goroutine; only the Watch it makes runs beside it.
type Workspace struct {
	root  string // absolute, free of symlinks
	dir   *os.File
	fd    int // of dir
	opts  Options
	roots []root

	top   *node
	nodes map[string]*node
	tick  uint64 // the snapshot that is current; 0 before the first
	doubt bool   // the last snapshot was cut short: everything is to be verified
	dirty bool   // the cache on disk lacks something
	moved int    // paths that a verification found otherwise

	unsettled map[*node]unsettled
	broken    map[*node]error

	watchAdd func(*fsnotify.Watcher, string) error // nil for the ordinary one
}

// root is one folder that a dialect reads.
type root struct {
	path    string
	dialect spec.Dialect
}

// Open begins reading the workspace at root. A cache that is missing, torn or
// of another fingerprint is ignored; nothing of the workspace is read yet.
func Open(dir string, opts Options) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	f, err := os.Open(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if opts.MaxDoc == 0 {
		opts.MaxDoc = 1 << 20
	}
	if opts.Resync == 0 {
		opts.Resync = time.Minute
	}
	w := &Workspace{
		root: abs, dir: f, fd: int(f.Fd()), opts: opts, roots: rootsOf(opts.Dialects),
		unsettled: map[*node]unsettled{}, broken: map[*node]error{},
	}
	if !w.loadCache() {
		w.top = &node{path: "."}
		w.nodes = map[string]*node{".": w.top}
	}
	return w, nil
}

// Close ends the use of the workspace; the cache is not saved.
func (w *Workspace) Close() error { return w.dir.Close() }

// Snapshot brings the tree up to date with the disk, as reconcile.Files says.
//
// With nil hints everything known is verified: what was ever asked for and not
// forgotten. Otherwise only what the hints may mean: each path, the folders
// above it, everything known below it if it is gone or another one by now,
// and documents that were being written when last seen and are due. A path
// below a folder that goes away is reported once and forgotten, until it is
// asked for again.
func (w *Workspace) Snapshot(ctx context.Context, hints []string) (spec.Tree, []string, error) {
	if err := w.stays(); err != nil {
		return nil, nil, fmt.Errorf("read workspace: %w", err)
	}
	first := w.tick == 0
	w.tick++
	now := w.opts.Now()
	var set []*node
	if hints == nil || first || w.doubt {
		set = w.all()
	} else {
		set = w.hinted(hints, now)
	}
	changed, doubt, err := w.verify(ctx, set, now)
	if w.doubt = err != nil; w.doubt {
		return nil, nil, fmt.Errorf("read workspace: %w", err)
	}
	for len(doubt) > 0 { // ends: doubt falls only on what is further down
		var more []string
		more, doubt, _ = w.verify(context.WithoutCancel(ctx), doubt, now)
		changed = append(changed, more...)
	}
	if first {
		return tree{w}, nil, nil
	}
	slices.Sort(changed)
	return tree{w}, slices.Compact(changed), nil
}

// stays tells a workspace that was removed or replaced, which would read as
// one without files.
func (w *Workspace) stays() error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(w.root, &st) }); err != nil {
		return &fs.PathError{Op: "stat", Path: w.root, Err: err}
	}
	if s := w.look("."); replaced(s, sight{kind: kindOf(&st), key: keyOf(&st)}) {
		return fmt.Errorf("%s is another folder by now", w.root)
	}
	return nil
}

// all schedules every known path, folders before what is in them.
func (w *Workspace) all() []*node {
	set := make([]*node, 0, len(w.nodes))
	w.top.tick = w.tick
	set = append(set, w.top)
	w.top.below(func(n *node) {
		n.tick = w.tick
		set = append(set, n)
	})
	return set
}

// hinted schedules what hints stand for, folders before what is in them.
func (w *Workspace) hinted(hints []string, now time.Time) []*node {
	var set []*node
	for _, p := range hints {
		if p = path.Clean(p); within(p) {
			set = w.schedule(set, p)
		}
	}
	for n, u := range w.unsettled {
		if !now.Before(u.look) {
			set = w.schedule(set, n.path)
		}
	}
	return set
}

// schedule adds the known one of path p and of the folders above it to set.
func (w *Workspace) schedule(set []*node, p string) []*node {
	n := w.nodes[p]
	if n != nil && n.tick == w.tick {
		return set
	}
	if p != "." {
		set = w.schedule(set, path.Dir(p))
	}
	if n != nil {
		n.tick = w.tick
		set = append(set, n)
	}
	return set
}

// Stood reports whether every verification so far found all as the cache has
// it: whatever was computed from the same questions then still holds.
func (w *Workspace) Stood() bool {
	return w.tick > 0 && w.moved == 0 && !w.dirty && !w.doubt && len(w.unsettled) == 0 && len(w.broken) == 0
}

// Unstable lists the documents that somebody was writing when they were last
// looked at, sorted; hints for the next snapshot.
func (w *Workspace) Unstable() []string {
	out := make([]string, 0, len(w.unsettled))
	for n := range w.unsettled {
		out = append(out, n.path)
	}
	slices.Sort(out)
	return out
}

// NextLook is when the first of Unstable is worth another look, zero for never.
func (w *Workspace) NextLook() time.Time {
	var next time.Time
	for _, u := range w.unsettled {
		if next.IsZero() || u.look.Before(next) {
			next = u.look
		}
	}
	return next
}

// Problems are the folders that could not be listed when last looked at. Dir
// goes on answering what they held before.
func (w *Workspace) Problems() []spec.Problem {
	var out []spec.Problem
	for n, err := range w.broken {
		out = append(out, spec.Problem{
			File: n.path, Code: "unreadable",
			Message: fmt.Sprintf("this folder cannot be listed (%v); give drover's user the right to read it", errText(err)),
		})
	}
	slices.SortFunc(out, func(a, b spec.Problem) int { return strings.Compare(a.File, b.File) })
	return out
}

// dialect is who reads the document at p, nil for nobody.
func (w *Workspace) dialect(p string) spec.Dialect {
	for _, r := range w.roots {
		if r.path == "." || p == r.path || strings.HasPrefix(p, r.path) && p[len(r.path)] == '/' {
			return r.dialect
		}
	}
	return nil
}

// rootsOf are the dialects' roots, longest first.
func rootsOf(dialects []spec.Dialect) []root {
	var out []root
	for _, d := range dialects {
		for _, p := range d.Roots() {
			out = append(out, root{path.Clean(p), d})
		}
	}
	slices.SortStableFunc(out, func(a, b root) int { return len(b.path) - len(a.path) })
	return out
}

// within reports whether a clean relative path stays in the workspace.
func within(p string) bool { return filepath.IsLocal(p) }

// errText is what is wrong without the path, which the reader knows.
func errText(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}
