package fsstate

import (
	"path"

	"drover/spec"
)

// tree is the current snapshot. What it is asked for the first time it finds
// on the disk and keeps.
type tree struct{ w *Workspace }

// Dir implements spec.Tree. Symlinked folders are followed within the
// workspace and never out of it.
func (t tree) Dir(p string) []spec.Entry {
	n := t.w.node(p)
	if n == nil {
		return nil
	}
	t.w.ask(n, askDir)
	return n.list[:len(n.list):len(n.list)]
}

// Doc implements spec.Tree. A path below no dialect's root is absent.
func (t tree) Doc(p string) spec.Doc {
	n := t.w.node(p)
	if n == nil {
		return spec.Doc{}
	}
	t.w.ask(n, askDoc)
	return t.w.doc(n)
}

// Sum implements spec.Tree. Of a file over 64 MiB it is made of its times and
// size, not its bytes.
func (t tree) Sum(p string) string {
	n := t.w.node(p)
	if n == nil {
		return ""
	}
	t.w.ask(n, askSum)
	return n.sum
}

// node is the known path p, made known if it is not; nil outside the
// workspace.
func (w *Workspace) node(p string) *node {
	if n, ok := w.nodes[p]; ok {
		return n
	}
	if c := path.Clean(p); c != p {
		return w.node(c)
	}
	if !within(p) {
		return nil
	}
	n := &node{path: p, tick: w.tick}
	parent := w.node(path.Dir(p))
	parent.adopt(n)
	w.nodes[p] = n
	w.dirty = true
	switch parent.kind {
	case kindFolder:
		now := w.opts.Now()
		n.sight = w.sightOf(n)
		n.young = n.key.young(now)
	case kindRefused:
		n.kind = kindRefused
	}
	return n
}

// ask answers a question about n that was not put before.
func (w *Workspace) ask(n *node, q asks) {
	n.used = true
	if n.asked&q != 0 {
		return
	}
	f := finding{n: n, sight: n.sight}
	if n.kind != kindAbsent && (n.tick != w.tick || n.key == statKey{}) {
		f.sight = w.sightOf(n)
	}
	now := w.opts.Now()
	w.observe(&f, q, now)
	n.asked |= q
	switch q {
	case askDir:
		n.list, n.links = f.list, f.links
	case askDoc:
		n.doc = f.doc
	case askSum:
		n.sum = f.sum
	}
	if f.key != n.key {
		n.key = statKey{} // the path moved on since it was verified
	}
	n.young = n.young || f.young
	w.dirty = true
	w.note(&f, q, now)
}

// doc is the answered document of n, decoded if it came from the cache. What
// cannot be decoded is read again.
func (w *Workspace) doc(n *node) spec.Doc {
	d := &n.doc
	if d.state == spec.DocWhole && d.facts == nil && d.raw != nil {
		dialect, err := w.dialect(n.path), error(nil)
		if dialect != nil {
			d.facts, err = dialect.Decode(n.path, d.raw)
		}
		if dialect == nil || err != nil {
			n.asked &^= askDoc
			w.ask(n, askDoc)
		}
	}
	out := spec.Doc{State: d.state, Facts: d.facts}
	if d.problem != nil {
		out.Problem = *d.problem
	}
	return out
}

// forget removes everything known below n and returns the paths somebody had
// asked about.
func (w *Workspace) forget(n *node) (asked []string) {
	n.below(func(d *node) {
		if d.used {
			asked = append(asked, d.path)
		}
		w.drop(d)
	})
	n.child = nil
	return asked
}

// drop removes n from what is known; the caller unlinks it.
func (w *Workspace) drop(n *node) {
	delete(w.nodes, n.path)
	delete(w.unsettled, n)
	delete(w.broken, n)
	w.dirty = true
}
