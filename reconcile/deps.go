package reconcile

import (
	"slices"

	"drover/spec"
)

// deps remembers which paths each reader asked of the tree, so that a changed
// path says what must be computed again: cost follows what changed. What was
// asked is only put in order when somebody wants to know: a single pass over
// many tasks never does.
type deps struct {
	fresh    []asking
	pathID   map[string]uint32
	paths    []string
	readerID map[reader]uint32
	readers  []reader
	users    []userSet  // by path: the readers that asked for it
	asks     [][]uint32 // by reader: the paths it asked for
}

// asking is what one reader asked for, not yet put in order.
type asking struct {
	r     reader
	paths []string
}

// reader is a unit, or a branch whose list of units was asked for.
type reader struct {
	unit   spec.Unit
	branch bool
}

func newDeps() *deps {
	return &deps{pathID: map[string]uint32{}, readerID: map[reader]uint32{}}
}

// record returns a tree that notes what r asks. done puts it in place of what
// r asked before.
func (d *deps) record(t spec.Tree, r reader) (tree spec.Tree, done func()) {
	rec := &recorder{Tree: t, asked: make([]string, 0, 8)}
	return rec, func() { d.fresh = append(d.fresh, asking{r, rec.asked}) }
}

// order takes in what was noted since the last time.
func (d *deps) order() {
	for _, a := range d.fresh {
		id, ok := d.readerID[a.r]
		if !ok {
			id = uint32(len(d.readers))
			d.readerID[a.r] = id
			d.readers = append(d.readers, a.r)
			d.asks = append(d.asks, nil)
		}
		asked := make([]uint32, len(a.paths))
		for i, p := range a.paths {
			asked[i] = d.path(p)
		}
		d.replace(id, asked)
	}
	d.fresh = nil
}

func (d *deps) replace(r uint32, asked []uint32) {
	old := d.asks[r]
	for _, p := range asked {
		if !slices.Contains(old, p) {
			d.users[p].add(r)
		}
	}
	for _, p := range old {
		if !slices.Contains(asked, p) {
			d.users[p].remove(r)
		}
	}
	d.asks[r] = asked
}

func (d *deps) path(p string) uint32 {
	id, ok := d.pathID[p]
	if !ok {
		id = uint32(len(d.paths))
		d.pathID[p] = id
		d.paths = append(d.paths, p)
		d.users = append(d.users, userSet{})
	}
	return id
}

// touched are the readers that asked for any of the paths.
func (d *deps) touched(paths []string) map[reader]struct{} {
	out := map[reader]struct{}{}
	if len(paths) == 0 {
		return out
	}
	d.order()
	for _, p := range paths {
		id, ok := d.pathID[p]
		if !ok {
			continue
		}
		d.users[id].each(func(r uint32) { out[d.readers[r]] = struct{}{} })
	}
	return out
}

// asked are the paths that r asked for.
func (d *deps) asked(r reader) []string {
	d.order()
	id, ok := d.readerID[r]
	if !ok {
		return nil
	}
	out := make([]string, 0, len(d.asks[id]))
	for _, p := range d.asks[id] {
		out = append(out, d.paths[p])
	}
	return out
}

// recorder is a Tree that notes what it is asked.
type recorder struct {
	spec.Tree
	asked []string
	known map[string]struct{} // the same, once there are many
}

// few is how many paths are looked through one by one.
const few = 16

func (t *recorder) note(p string) {
	if t.known != nil {
		if _, ok := t.known[p]; !ok {
			t.known[p] = struct{}{}
			t.asked = append(t.asked, p)
		}
		return
	}
	if slices.Contains(t.asked, p) {
		return
	}
	if t.asked = append(t.asked, p); len(t.asked) == few {
		t.known = make(map[string]struct{}, 2*few)
		for _, p := range t.asked {
			t.known[p] = struct{}{}
		}
	}
}

func (t *recorder) Dir(p string) []spec.Entry {
	t.note(p)
	return t.Tree.Dir(p)
}

func (t *recorder) Doc(p string) spec.Doc {
	t.note(p)
	return t.Tree.Doc(p)
}

func (t *recorder) Sum(p string) string {
	t.note(p)
	return t.Tree.Sum(p)
}

// userSet is the readers of one path: nearly always few, but the archive's
// folder has as many as there are tasks.
type userSet struct {
	few  []uint32
	many map[uint32]struct{}
}

// fewUsers is up to where a list is quicker than a map.
const fewUsers = 64

func (s *userSet) add(r uint32) {
	switch {
	case s.many != nil:
		s.many[r] = struct{}{}
	case len(s.few) < fewUsers:
		s.few = append(s.few, r)
	default:
		s.many = map[uint32]struct{}{r: {}}
		for _, u := range s.few {
			s.many[u] = struct{}{}
		}
		s.few = nil
	}
}

func (s *userSet) remove(r uint32) {
	delete(s.many, r)
	s.few = slices.DeleteFunc(s.few, func(u uint32) bool { return u == r })
}

func (s *userSet) each(do func(r uint32)) {
	for _, r := range s.few {
		do(r)
	}
	for r := range s.many {
		do(r)
	}
}
