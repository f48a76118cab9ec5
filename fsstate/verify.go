package fsstate

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drover/spec"
)

// finding is what verification found new about a path.
type finding struct {
	n *node
	sight
	answers
	seen  statKey // of the look; the sight's is zero where it must be repeated
	young bool
	err   error // of listing a folder
}

// verify compares the paths of set with the disk and takes over what is new.
// It returns the paths whose answers changed and further known paths that
// what was found casts doubt on. An error means that nothing was taken over.
//
// The set holds the known folders above each of its paths, before it.
func (w *Workspace) verify(ctx context.Context, set []*node, now time.Time) (changed []string, doubt []*node, err error) {
	found := w.lookAll(ctx, set)
	w.moved += len(found)
	parallel(ctx, len(found), 8, func(i int) { w.observe(&found[i], found[i].n.asked, now) })
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for i := range found {
		c, d := w.take(&found[i], now)
		changed, doubt = append(changed, c...), append(doubt, d...)
	}
	return changed, doubt, nil
}

// lookAll finds the paths of set whose answers may stand no longer.
//
// An absent path below a folder that did not change, or is itself still
// absent, costs no look.
func (w *Workspace) lookAll(ctx context.Context, set []*node) []finding {
	var mu sync.Mutex
	var found []finding
	look := func(n *node) {
		s := w.sightOf(n)
		if n.fresh = n.stands(s); !n.fresh {
			mu.Lock()
			found = append(found, finding{n: n, sight: s})
			mu.Unlock()
		}
	}
	parallel(ctx, len(set), 256, func(i int) {
		if set[i].kind != kindAbsent {
			look(set[i])
		}
	})
	for _, n := range set {
		if n.kind != kindAbsent {
			continue
		}
		if p := n.parent; p != nil && p.tick == w.tick && p.fresh {
			n.fresh = true
			continue
		}
		look(n)
	}
	return found
}

// replaced reports whether another object stands at a path than before.
func replaced(was, is sight) bool {
	return was.kind != is.kind || was.link != is.link || was.real != is.real ||
		was.key.dev != is.key.dev || was.key.ino != is.key.ino
}

// observe answers questions from the disk. It changes nothing of w.
func (w *Workspace) observe(f *finding, q asks, now time.Time) {
	f.seen, f.young = f.key, f.key.young(now)
	if q&askDir != 0 {
		w.readFolder(f)
	}
	if q&askDoc != 0 {
		w.readDoc(f, now)
	}
	if q&askSum != 0 {
		w.readSum(f)
	}
}

// take makes what was found what is known.
func (w *Workspace) take(f *finding, now time.Time) (changed []string, doubt []*node) {
	n := f.n
	if w.nodes[n.path] != n {
		return nil, nil // it went with its folder
	}
	moved, other := f.key == statKey{} || f.sight != n.sight, replaced(n.sight, f.sight)
	if f.err != nil {
		f.list, f.links = n.list, n.links
	}
	differs := n.asked.differs(&n.answers, &f.answers)
	if differs && n.used {
		changed = append(changed, n.path)
	}
	if moved || differs || f.young != n.young {
		w.dirty = true
	}
	n.sight, n.answers, n.young = f.sight, f.answers, f.young
	w.note(f, n.asked, now)
	switch {
	case n.child == nil:
	case n.kind == kindFolder && moved:
		doubt = w.doubtful(n, other)
	case n.kind != kindFolder && n.kind != kindRefused:
		changed = append(changed, w.forget(n)...)
	}
	return changed, doubt
}

// doubtful schedules the known entries of a changed folder whose last sight
// does not fit its listing; all that were not looked at yet where nobody asked
// for the listing; and just all where it is another folder, or reached by
// another way, by now: nothing there is what it was, whatever its times say.
func (w *Workspace) doubtful(n *node, other bool) (set []*node) {
	for c := n.child; c != nil; c = c.next {
		if other || c.tick != w.tick && (n.asked&askDir == 0 || !fits(n.list, c)) {
			c.tick = w.tick
			set = append(set, c)
		}
	}
	return set
}

// fits reports whether the last sight of n is what its folder's listing says.
func fits(list []spec.Entry, n *node) bool {
	name := n.path[strings.LastIndexByte(n.path, '/')+1:]
	i, ok := slices.BinarySearchFunc(list, name, func(e spec.Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return n.kind == kindAbsent
	}
	return n.kind != kindAbsent && n.kind.entry() == list[i].Kind
}

// parallel calls do for every number below n, in chunks on all processors
// when there is more than one chunk. It stops early when ctx ends.
func parallel(ctx context.Context, n, chunk int, do func(i int)) {
	if n <= chunk {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(chunk))) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}
