package fsstate

import (
	"slices"

	"drover/spec"
)

// kind is what stands at a path.
type kind uint8

const (
	kindAbsent kind = iota
	kindFile
	kindFolder
	kindSpecial  // a device, socket or pipe
	kindOutside  // a symlink that leaves the workspace
	kindDangling // a symlink that leads nowhere
	kindRefused  // the system does not let us look
)

// entry is the kind as folder listings tell it.
func (k kind) entry() spec.EntryKind {
	switch k {
	case kindFile:
		return spec.KindFile
	case kindFolder:
		return spec.KindDir
	}
	return spec.KindOther
}

// sight is what one look at a path shows.
type sight struct {
	kind kind
	link bool // the path itself is a symlink
	key  statKey
	real string // where a path with a symlink in it leads, absolute; else ""
}

// asks are the questions that were put about a path.
type asks uint8

const (
	askDir asks = 1 << iota
	askDoc
	askSum
)

// answers are what a path's questions were answered.
type answers struct {
	list  []spec.Entry
	links bool // list holds symlinks, whose kind the folder's times do not tell
	doc   document
	sum   string
}

// document is an answered Doc. Facts from the cache stay encoded until
// somebody wants them.
type document struct {
	state   spec.DocState
	facts   spec.Facts
	raw     []byte // the encoding of facts where it came from the cache
	problem *spec.Problem
}

// node is one known path: somebody asked about it or about a path below it.
//
// Its answers stand as long as the disk shows the same sight. A zero key says
// that they must be found again at the next verification: the disk was
// changing when they were found, or they depend on the clock.
type node struct {
	path                string
	parent, child, next *node
	sight
	answers
	tick  uint64 // the snapshot that verified it last
	fresh bool   // that verification found nothing new
	// young: when the answers were found, the times were too young to tell a
	// later change from them.
	young bool
	asked asks
	used  bool  // asked for since Open
	idle  uint8 // saves of the cache since it was last used
}

// adopt makes c an entry of n.
func (n *node) adopt(c *node) {
	c.parent, c.next, n.child = n, n.child, c
}

// below calls f for every known path below n, folders before their entries.
func (n *node) below(f func(*node)) {
	for c := n.child; c != nil; c = c.next {
		f(c)
		c.below(f)
	}
}

// underLink reports whether a folder above n is a symlink.
func (n *node) underLink() bool {
	for p := n.parent; p != nil; p = p.parent {
		if p.link {
			return true
		}
	}
	return false
}

// stands reports whether the answers hold if the disk shows s. Where symlinks
// are involved nothing but a new look tells.
func (n *node) stands(s sight) bool {
	if s.kind == kindAbsent {
		return n.kind == kindAbsent
	}
	return s == n.sight && s.real == "" && !n.young && !n.links && n.key != statKey{}
}

// differs reports whether an asked question is answered otherwise in b.
func (q asks) differs(a, b *answers) bool {
	return q&askDir != 0 && ((a.list == nil) != (b.list == nil) || !slices.Equal(a.list, b.list)) ||
		q&askSum != 0 && a.sum != b.sum ||
		q&askDoc != 0 && !a.doc.same(b.doc)
}

// same reports whether two documents say the same to a dialect.
func (d document) same(e document) bool {
	if d.state != e.state {
		return false
	}
	switch d.state {
	case spec.DocBad:
		return *d.problem == *e.problem
	case spec.DocWhole:
		a, errA := d.encoded()
		b, errB := e.encoded()
		return errA == nil && errB == nil && string(a) == string(b)
	}
	return true
}

// encoded is the facts' encoding.
func (d document) encoded() ([]byte, error) {
	if d.raw != nil || d.facts == nil {
		return d.raw, nil
	}
	return d.facts.AppendBinary(nil)
}
