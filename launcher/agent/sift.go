package agent

import (
	"bytes"
	"encoding/json"
	"strings"
)

// sift reads lines of JSON as they arrive and hands on only the values that
// its owner names. It holds no line: a value is kept up to its limit and the
// rest passes by, so memory is the same for a line of 20 MB.
//
// A line that is not one JSON object is dropped whole; the next line starts
// afresh. Strings that a program breaks into another's line (two writers of
// one file) cost at most that line.
type sift struct {
	out    sink
	limits map[string]int

	state  siftState
	escape bool // the last byte of a string was a backslash
	stack  [siftDepth]container
	depth  int
	deep   int // open containers within a value that nobody wants
	quoted bool

	path  []byte
	keep  int // bytes of the current scalar to be kept
	value []byte
	cut   bool
}

// sink is who a sift works for. Values of a line that turns out to be broken
// are taken back with drop.
type sink interface {
	// set takes a wanted scalar. Elements of an array share the path "….*".
	set(path, value string)
	// leave says that the wanted object or array at path is complete.
	leave(path string)
	line()
	drop()
}

type container struct {
	array bool
	base  int // length of its own path
}

// goIn is the limit of what is wanted only for what is in it.
const goIn = -1

// siftDepth is deeper than any value that a reader wants.
const siftDepth = 16

// longKey is longer than any name that a reader wants.
const longKey = 64

type siftState uint8

const (
	siftValue  siftState = iota // before a value
	siftFirst                   // after {
	siftKey                     // after , in an object
	siftInKey                   // in a name
	siftColon                   // after a name
	siftString                  // in a string
	siftBare                    // in a number or literal
	siftSkip                    // in a container that nobody wants
	siftAfter                   // after a value
	siftDone                    // after the line's object
	siftJunk                    // until the line ends
)

// newSift wants the values at the paths named by limits, each up to so many
// bytes.
func newSift(out sink, limits map[string]int) *sift {
	all := make(map[string]int, 2*len(limits))
	for path, n := range limits {
		all[path] = n
		for i := len(path) - 1; i > 0; i-- {
			if path[i] == '.' && all[path[:i]] == 0 {
				all[path[:i]] = goIn
			}
		}
	}
	return &sift{out: out, limits: all}
}

// write takes the next bytes.
func (s *sift) write(p []byte) {
	for len(p) > 0 {
		switch s.state {
		case siftJunk:
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				return
			}
			p = p[i:]
		case siftInKey, siftString:
			p = s.text(p)
			continue
		case siftSkip:
			if s.quoted {
				p = s.text(p)
				continue
			}
			p = s.skip(p)
			continue
		}
		if p[0] == '\n' {
			s.endLine()
		} else {
			s.step(p[0])
		}
		p = p[1:]
	}
}

// close ends the last line if it lacks its newline.
func (s *sift) close() { s.endLine() }

func (s *sift) endLine() {
	switch {
	case s.state == siftDone:
		s.out.line()
	case s.state != siftValue || s.depth > 0:
		s.out.drop()
	}
	s.state, s.depth, s.deep, s.escape, s.quoted = siftValue, 0, 0, false, false
	s.path, s.value = s.path[:0], s.value[:0]
}

// text consumes bytes of a string up to its closing quote.
func (s *sift) text(p []byte) []byte {
	if s.escape {
		s.escape = false
		if p[0] == '\n' {
			s.endLine()
		} else {
			s.hold(p[:1])
		}
		return p[1:]
	}
	i := bytes.IndexByte(p, '"')
	part := p
	if i >= 0 {
		part = p[:i]
	}
	if j := bytes.IndexByte(part, '\\'); j >= 0 {
		i, part = j, part[:j]
	}
	if n := bytes.IndexByte(part, '\n'); n >= 0 {
		s.endLine()
		return p[n+1:]
	}
	s.hold(part)
	if i < 0 {
		return nil
	}
	if p[i] == '\\' {
		s.hold(p[i : i+1])
		s.escape = true
	} else {
		s.endText()
	}
	return p[i+1:]
}

func (s *sift) hold(part []byte) {
	if s.state == siftSkip {
		return
	}
	room := s.keep - len(s.value)
	if len(part) > room {
		s.cut = true
		part = part[:max(room, 0)]
	}
	s.value = append(s.value, part...)
}

func (s *sift) endText() {
	switch s.state {
	case siftSkip:
		s.quoted = false
	case siftInKey:
		base := s.stack[s.depth-1].base
		s.path = s.path[:base]
		if base > 0 {
			s.path = append(s.path, '.')
		}
		if bytes.IndexByte(s.value, '.') >= 0 {
			s.value = s.value[:0] // nobody wants it, and it must not look like a path
		}
		s.path = append(s.path, s.value...)
		s.state = siftColon
	case siftString:
		if s.keep > 0 {
			s.out.set(string(s.path), unquote(s.value, s.cut))
		}
		s.state = siftAfter
	}
}

// skip consumes bytes of an unwanted container, outside of its strings.
func (s *sift) skip(p []byte) []byte {
	for i, c := range p {
		switch c {
		case '"':
			s.quoted = true
			return p[i+1:]
		case '{', '[':
			s.deep++
		case '}', ']':
			if s.deep--; s.deep == 0 {
				s.state = siftAfter
				return p[i+1:]
			}
		case '\n':
			s.endLine()
			return p[i+1:]
		}
	}
	return nil
}

func (s *sift) step(c byte) {
	if s.state == siftBare {
		if c != ',' && c != '}' && c != ']' && c > ' ' {
			s.hold([]byte{c})
			return
		}
		if s.keep > 0 && string(s.value) != "null" {
			s.out.set(string(s.path), string(s.value))
		}
		s.state = siftAfter
	}
	if c == ' ' || c == '\t' || c == '\r' {
		return
	}
	switch s.state {
	case siftValue:
		s.begin(c)
	case siftFirst, siftKey:
		switch {
		case c == '"':
			s.state, s.keep, s.value, s.cut = siftInKey, longKey, s.value[:0], false
		case c == '}' && s.state == siftFirst:
			s.pop(c)
		default:
			s.state = siftJunk
		}
	case siftColon:
		s.state = siftValue
		if c != ':' {
			s.state = siftJunk
		}
	case siftAfter:
		s.after(c)
	case siftDone:
		s.state = siftJunk
	}
}

// begin starts the value that c is the first byte of.
func (s *sift) begin(c byte) {
	s.keep = 0
	if s.depth > 0 {
		s.keep = s.limits[string(s.path)]
	}
	s.value, s.cut = s.value[:0], false
	switch c {
	case '{', '[':
		s.push(c)
	case '"':
		s.state = siftString
		if s.depth == 0 {
			s.state = siftJunk
		}
	case ']':
		if s.depth > 0 && s.stack[s.depth-1].array {
			s.pop(c)
			return
		}
		s.state = siftJunk
	case ',', ':', '}':
		s.state = siftJunk
	default:
		s.state = siftBare
		if s.depth == 0 {
			s.state = siftJunk
			return
		}
		s.hold([]byte{c})
	}
}

func (s *sift) push(c byte) {
	if s.depth == 0 && c == '[' {
		s.state = siftJunk
		return
	}
	if s.depth > 0 && s.keep == 0 || s.depth == siftDepth {
		s.state, s.deep = siftSkip, 1
		return
	}
	s.stack[s.depth] = container{c == '[', len(s.path)}
	s.depth++
	if c == '[' {
		s.path = append(s.path, ".*"...)
		s.state = siftValue
	} else {
		s.state = siftFirst
	}
}

func (s *sift) after(c byte) {
	top := s.stack[s.depth-1]
	switch {
	case c == ',' && top.array:
		s.path = append(s.path[:top.base], ".*"...)
		s.state = siftValue
	case c == ',':
		s.state = siftKey
	case c == '}' || c == ']':
		s.pop(c)
	default:
		s.state = siftJunk
	}
}

func (s *sift) pop(c byte) {
	top := s.stack[s.depth-1]
	if (c == ']') != top.array {
		s.state = siftJunk
		return
	}
	s.depth--
	s.path = s.path[:top.base]
	if s.depth == 0 {
		s.state = siftDone
		return
	}
	s.state = siftAfter
	s.out.leave(string(s.path))
}

// unquote undoes the escapes of a JSON string whose end may have been cut off.
func unquote(raw []byte, cut bool) string {
	if cut {
		raw = wholeEscapes(raw)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return strings.ToValidUTF8(string(raw), "")
	}
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return strings.ToValidUTF8(string(raw), "")
	}
	return text
}

// wholeEscapes cuts an escape that lacks its end.
func wholeEscapes(raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		n := 2
		if i+1 < len(raw) && raw[i+1] == 'u' {
			n = 6
		}
		if i+n > len(raw) {
			return raw[:i]
		}
		i += n - 1
	}
	return raw
}
