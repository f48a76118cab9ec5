package fsstate

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"unsafe"
)

// The cache file, version 1:
//
//	magic, fingerprint (length, bytes), CRC-32C of the rest (4 bytes)
//	number of records, length of the names, length of the facts
//	names    all paths and entry names, one after the other
//	facts    encoded facts, one after the other
//	records  one per known path, folders before their entries
//
// A record is: the number of its folder's record (the root's own is 0), its
// path, kind, flags, questions, saves idle, the sight's key if it can be
// trusted, and the answers to its questions. Numbers are varints. A path with
// a symlink in it is kept without a key.
const cacheMagic = "drover cache 1\n"

const (
	flagLink = 1 << iota
	flagKey
	flagLinks
)

var errCache = errors.New("not a cache of this version")

// encoder gathers the three parts of a cache file.
type encoder struct{ names, facts, rec []byte }

func (e *encoder) number(n uint64) { e.rec = binary.AppendUvarint(e.rec, n) }
func (e *encoder) signed(n int64)  { e.rec = binary.AppendVarint(e.rec, n) }
func (e *encoder) name(s string) {
	e.number(uint64(len(s)))
	e.names = append(e.names, s...)
}

func encodeCache(top *node, fingerprint string) ([]byte, error) {
	var e encoder
	var err error
	count := uint64(0)
	var walk func(n *node, parent uint64)
	walk = func(n *node, parent uint64) {
		if !n.kept() || err != nil {
			return
		}
		number := count
		count++
		err = e.node(n, parent)
		for c := n.child; c != nil; c = c.next {
			walk(c, number)
		}
	}
	walk(top, 0)
	if err != nil {
		return nil, err
	}
	body := binary.AppendUvarint(nil, count)
	body = binary.AppendUvarint(body, uint64(len(e.names)))
	body = binary.AppendUvarint(body, uint64(len(e.facts)))
	body = append(append(append(body, e.names...), e.facts...), e.rec...)
	out := append([]byte(cacheMagic), binary.AppendUvarint(nil, uint64(len(fingerprint)))...)
	out = append(out, fingerprint...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, body...), nil
}

func (e *encoder) node(n *node, parent uint64) error {
	trusted := n.key != statKey{} && !n.young && n.real == ""
	flags := byte(0)
	if n.link {
		flags |= flagLink
	}
	if trusted {
		flags |= flagKey
	}
	if n.links {
		flags |= flagLinks
	}
	e.number(parent)
	e.name(n.path)
	e.rec = append(e.rec, byte(n.kind), flags, byte(n.asked), n.idle)
	if trusted {
		e.number(n.key.dev)
		e.number(n.key.ino)
		e.signed(n.key.size)
		e.signed(n.key.mtime)
		e.signed(n.key.ctime - n.key.mtime)
	}
	if n.asked&askDir != 0 {
		e.listing(n.list)
	}
	if n.asked&askSum != 0 {
		e.name(n.sum)
	}
	if n.asked&askDoc != 0 {
		return e.document(n.doc)
	}
	return nil
}

// decoder takes a cache file apart. After the first thing that does not fit
// everything is zero and bad is set.
type decoder struct {
	names string
	facts []byte
	rec   []byte
	bad   bool
}

func (d *decoder) fail() { d.bad, d.rec, d.names, d.facts = true, nil, "", nil }

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rec)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rec = d.rec[size:]
	return n
}

func (d *decoder) signed() int64 {
	n, size := binary.Varint(d.rec)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rec = d.rec[size:]
	return n
}

// count is a number of things that take at least a byte each.
func (d *decoder) count() uint64 {
	n := d.number()
	if n > uint64(len(d.rec))+1 {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) byte() byte {
	if len(d.rec) == 0 {
		d.fail()
		return 0
	}
	b := d.rec[0]
	d.rec = d.rec[1:]
	return b
}

func (d *decoder) name() string {
	n := d.number()
	if n > uint64(len(d.names)) {
		d.fail()
		return ""
	}
	s := d.names[:n]
	d.names = d.names[n:]
	return s
}

// take cuts n bytes from the front of part.
func (d *decoder) take(part *[]byte, n uint64) []byte {
	if n > uint64(len(*part)) {
		d.fail()
		return nil
	}
	b := (*part)[:n:n]
	*part = (*part)[n:]
	return b
}

// decodeCache is the inverse of encodeCache; the nodes are linked, the root's
// is the first.
func decodeCache(b []byte, fingerprint string) ([]node, error) {
	d := decoder{rec: b}
	if string(d.take(&d.rec, uint64(len(cacheMagic)))) != cacheMagic {
		return nil, errCache
	}
	if n := d.number(); n != uint64(len(fingerprint)) || string(d.take(&d.rec, n)) != fingerprint {
		return nil, errCache
	}
	sum := d.take(&d.rec, 4)
	if d.bad || binary.LittleEndian.Uint32(sum) != crc32.Checksum(d.rec, crc32.MakeTable(crc32.Castagnoli)) {
		return nil, errCache
	}
	return d.body()
}

func (d *decoder) body() ([]node, error) {
	count, names, facts := d.count(), d.number(), d.number()
	text := d.take(&d.rec, names)
	d.names = unsafe.String(unsafe.SliceData(text), len(text)) // never written to
	d.facts = d.take(&d.rec, facts)
	nodes := make([]node, min(count, uint64(len(d.rec))))
	populate(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(nodes))), len(nodes)*int(unsafe.Sizeof(node{}))))
	for i := range nodes {
		parent := d.node(&nodes[i])
		if d.bad || i > 0 && parent >= uint64(i) || i == 0 && nodes[i].path != "." {
			return nil, errCache
		}
		if i > 0 {
			nodes[parent].adopt(&nodes[i])
		}
	}
	if d.bad {
		return nil, errCache
	}
	return nodes, nil
}

func (d *decoder) node(n *node) (parent uint64) {
	parent = d.number()
	n.path = d.name()
	n.kind = kind(d.byte())
	flags := d.byte()
	n.asked = asks(d.byte())
	n.idle = d.byte()
	n.link, n.links = flags&flagLink != 0, flags&flagLinks != 0
	if flags&flagKey != 0 {
		n.key = statKey{dev: d.number(), ino: d.number(), size: d.signed(), mtime: d.signed(), ctime: d.signed()}
		n.key.ctime += n.key.mtime
	}
	if n.asked&askDir != 0 {
		n.list = d.listing()
	}
	if n.asked&askSum != 0 {
		n.sum = d.name()
	}
	if n.asked&askDoc != 0 {
		n.doc = d.document()
	}
	return parent
}
