package fsstate

import (
	"context"
	"fmt"
	"io"
	"os"

	"drover/spec"
)

// idleMost is how many saves of the cache an entry outlives that nobody asks
// for any more.
const idleMost = 8

// loadCache makes known what the last process knew. What it read is trusted
// only after the first snapshot has verified it.
func (w *Workspace) loadCache() bool {
	if w.opts.CachePath == "" {
		return false
	}
	b, err := readCache(w.opts.CachePath)
	if err != nil {
		return false
	}
	nodes, err := decodeCache(b, w.opts.Fingerprint)
	if err != nil || len(nodes) == 0 {
		return false // a cache can be lost at any time
	}
	w.top = &nodes[0]
	w.nodes = make(map[string]*node, len(nodes)+len(nodes)/8)
	for i := range nodes {
		w.nodes[nodes[i].path] = &nodes[i]
	}
	return true
}

// readCache reads a file whole.
func readCache(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errCache
	}
	b := make([]byte, info.Size())
	populate(b)
	_, err = io.ReadFull(f, b)
	return b, err
}

// SaveCache writes what is known for the next process, if that differs from
// what is on disk. The file is replaced whole; after a crash the old one, the
// new one or a torn one is found, and a torn one is ignored.
func (w *Workspace) SaveCache(ctx context.Context) error {
	if w.opts.CachePath == "" || !w.dirty {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("save cache: %w", err)
	}
	w.age()
	b, err := encodeCache(w.top, w.opts.Fingerprint)
	if err == nil {
		err = w.replaceCache(b)
	}
	if err != nil {
		return fmt.Errorf("save cache %s: %w", w.opts.CachePath, err)
	}
	w.dirty = false
	return nil
}

func (w *Workspace) replaceCache(b []byte) error {
	temp := w.opts.CachePath + ".new"
	if err := w.opts.Seam.Pass(spec.OpWrite, temp); err != nil {
		return err
	}
	if err := os.WriteFile(temp, b, 0o600); err != nil {
		return err
	}
	if err := w.opts.Seam.Pass(spec.OpRename, w.opts.CachePath); err != nil {
		return err
	}
	return os.Rename(temp, w.opts.CachePath)
}

// age forgets what came from the cache and was not asked for in this process
// or the last few. Nobody here can have used it.
func (w *Workspace) age() {
	var old []*node
	w.top.below(func(n *node) {
		if n.used {
			n.idle = 0
		} else if n.idle++; n.idle > idleMost {
			old = append(old, n)
		}
	})
	for i := len(old) - 1; i >= 0; i-- { // entries before their folders
		n := old[i]
		if n.child == nil {
			n.parent.disown(n)
			w.drop(n)
		}
	}
}

// disown takes the entry c from n.
func (n *node) disown(c *node) {
	for p := &n.child; *p != nil; p = &(*p).next {
		if *p == c {
			*p = c.next
			return
		}
	}
}

// kept reports whether n is worth a place in the cache: an absent path below
// an absent folder is not.
func (n *node) kept() bool {
	return n.parent == nil || n.kind != kindAbsent || n.parent.kind == kindFolder
}

// listing is the folder's names, each with the byte of its kind before it.
func (e *encoder) listing(list []spec.Entry) {
	if list == nil {
		e.number(0)
		return
	}
	e.number(uint64(len(list)) + 1)
	for _, entry := range list {
		e.rec = append(e.rec, byte(entry.Kind))
		e.name(entry.Name)
	}
}

func (d *decoder) listing() []spec.Entry {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]spec.Entry, n-1)
	for i := range list {
		list[i] = spec.Entry{Kind: spec.EntryKind(d.byte()), Name: d.name()}
	}
	return list
}

// document encodes facts beside the records, so that they are decoded only
// when somebody wants them.
func (e *encoder) document(d document) error {
	e.rec = append(e.rec, byte(d.state))
	switch d.state {
	case spec.DocWhole:
		b, err := d.encoded()
		if err != nil {
			return err
		}
		e.number(uint64(len(b)))
		e.facts = append(e.facts, b...)
	case spec.DocBad:
		e.number(uint64(d.problem.Line))
		for _, s := range []string{d.problem.File, d.problem.Code, d.problem.Message} {
			e.name(s)
		}
	}
	return nil
}

func (d *decoder) document() document {
	doc := document{state: spec.DocState(d.byte())}
	switch doc.state {
	case spec.DocWhole:
		doc.raw = d.take(&d.facts, d.number())
	case spec.DocBad:
		doc.problem = &spec.Problem{Line: int(d.number()), File: d.name(), Code: d.name(), Message: d.name()}
	}
	return doc
}
