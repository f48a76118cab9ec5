package agenttask

import (
	"encoding/binary"
	"errors"

	"drover/spec"
)

// facts are what is kept of one file. Which fields mean something depends on
// the kind of file, which its name tells.
type facts struct {
	HasHead bool
	Task    string // of the head
	Plan    int
	Tag     string
	Status  string // of a PLAN's frontmatter
	Title   string
	Korean  bool // the document's own language

	// Of a PLAN.
	Items    []string // the implementation checklist's texts
	Writes   []string // paths of the changed-files table
	Unfilled bool     // placeholders or an empty body

	// Of a CODE_REVIEW.
	Missing  []string // what is not filled in yet
	Synced   bool     // the last item of the checklist is checked
	Verdicts []string // in the review section, in order
	Findings string   // the review section's text

	// Of a USER_REVIEW: the labels that are missing or say nothing.
	Target string
	Open   int // undecided items
	Line   int // of the undecided items; of a PLAN's placeholder

	// Of .gitignore: the managed block's lines. Managed: it has one.
	Managed bool
}

// AppendBinary implements spec.Facts.
func (f *facts) AppendBinary(b []byte) ([]byte, error) {
	var flags byte
	for i, on := range [...]bool{f.HasHead, f.Korean, f.Unfilled, f.Synced, f.Managed} {
		if on {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	for _, n := range [...]int{f.Plan, f.Open, f.Line} {
		b = binary.AppendVarint(b, int64(n))
	}
	for _, s := range [...]string{f.Task, f.Tag, f.Status, f.Title, f.Findings, f.Target} {
		b = appendText(b, s)
	}
	for _, list := range [...][]string{f.Items, f.Writes, f.Missing, f.Verdicts} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendText(b, s)
		}
	}
	return b, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errFacts = errors.New("not the facts of a task file")

// Decode implements spec.Dialect.
func (d *Dialect) Decode(_ string, b []byte) (spec.Facts, error) {
	r := factReader{b: b}
	flags := r.byte()
	f := &facts{
		HasHead: flags&1 != 0, Korean: flags&2 != 0, Unfilled: flags&4 != 0,
		Synced: flags&8 != 0, Managed: flags&16 != 0,
	}
	for _, n := range [...]*int{&f.Plan, &f.Open, &f.Line} {
		*n = int(r.varint())
	}
	for _, s := range [...]*string{&f.Task, &f.Tag, &f.Status, &f.Title, &f.Findings, &f.Target} {
		*s = r.text()
	}
	for _, list := range [...]*[]string{&f.Items, &f.Writes, &f.Missing, &f.Verdicts} {
		n := r.uvarint()
		for range n {
			if r.bad {
				break
			}
			*list = append(*list, r.text())
		}
	}
	if r.bad || len(r.b) > 0 || flags > 31 {
		return nil, errFacts
	}
	return f, nil
}

// factReader takes values off the front; bad once it is short.
type factReader struct {
	b   []byte
	bad bool
}

func (r *factReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *factReader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *factReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		n = -1
	}
	r.take(n)
	return v
}

func (r *factReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		n = -1
	}
	r.take(n)
	return v
}

func (r *factReader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		n, r.bad = 0, true
	}
	return string(r.take(int(n)))
}
