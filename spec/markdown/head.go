package markdown

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// HeadState says whether a document has a head.
type HeadState uint8

// The states of a head. A document without one and a document whose head is
// broken are different things: the first may be a dropped-in file, the second
// is a problem.
const (
	NoHead     HeadState = iota // the first line does not begin with ---
	WholeHead                   // opened and closed
	BrokenHead                  // begins like a head but is none
)

// Head is where the YAML head of a document lies. Offsets are in bytes of the
// text that FindHead was given.
//
// The rule, in one place: a fence is a line of exactly "---", optionally
// followed by blanks; it starts at the line's first column and may be the last
// line without a line ending. The opening fence is the document's first line,
// after a byte order mark at most. "----", "--- x" and "..." are no fences.
// Lines end with LF, CRLF or CR.
type Head struct {
	State   HeadState
	HasBOM  bool
	Newline string // the ending of the opening fence: "\n", "\r\n" or "\r"
	Start   int    // of the YAML
	End     int    // of the YAML; the closing fence begins here
	Body    int    // after the closing fence's line; the whole text if there is no head
	// BodyLine is the line, from 1, on which the body begins.
	BodyLine int
	// Err is set for BrokenHead.
	Err *HeadError
}

// HeadError is a head that cannot be understood.
type HeadError struct {
	Line    int // in the document, from 1
	Message string
}

func (e *HeadError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

const bom = "\xef\xbb\xbf"

// FindHead looks for a document's head. It finds the bytes itself because
// front matter libraries answer "no head" to a BOM, to CR line endings and to
// a head that is never closed, and end a head at an indented "---".
func FindHead(text []byte) Head {
	h := Head{Newline: "\n", BodyLine: 1}
	if bytes.HasPrefix(text, []byte(bom)) {
		h.HasBOM = true
		h.Body = len(bom)
	}
	line, next := lineFrom(text, h.Body)
	if !bytes.HasPrefix(line, []byte("---")) {
		return h
	}
	if !isFence(line) {
		return h.broken(1, fmt.Sprintf("a head begins with a line of exactly ---, not %q", excerpt(line)))
	}
	h.Newline = string(text[h.Body+len(line) : next])
	h.Start = next
	for n := 2; next < len(text); n++ {
		start := next
		line, next = lineFrom(text, start)
		if isFence(line) {
			h.State, h.End, h.Body, h.BodyLine = WholeHead, start, next, n+1
			return h
		}
	}
	return h.broken(1, "the head is never closed; end it with a line of exactly ---")
}

func (h Head) broken(line int, message string) Head {
	h.State = BrokenHead
	h.Err = &HeadError{Line: line, Message: message}
	return h
}

// YAML is the head's text between its fences, nil without a whole head.
func (h Head) YAML(text []byte) []byte {
	if h.State != WholeHead {
		return nil
	}
	return text[h.Start:h.End]
}

// lineFrom returns the line that starts at offset i, without its ending, and
// the offset of the next one.
func lineFrom(text []byte, i int) (line []byte, next int) {
	n := bytes.IndexAny(text[i:], "\r\n")
	if n < 0 {
		return text[i:], len(text)
	}
	end := i + n
	if text[end] == '\r' && end+1 < len(text) && text[end+1] == '\n' {
		return text[i:end], end + 2
	}
	return text[i:end], end + 1
}

func isFence(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && len(bytes.Trim(rest, " \t")) == 0
}

// lineAt is the number, from 1, of the line that holds offset i.
func lineAt(text []byte, i int) int {
	n := 1
	for at := 0; ; n++ {
		_, next := lineFrom(text, at)
		if next > i || next >= len(text) {
			return n
		}
		at = next
	}
}

// offset converts a position of yaml.v3 into an offset of the YAML it was
// given. Its lines break at NEL, LS and PS too, its columns count runes from
// 1, and a byte order mark at the start counts for nothing. An offset past
// the end means that there is no such position.
func offset(yaml []byte, line, column int) int {
	i := 0
	if bytes.HasPrefix(yaml, []byte(bom)) {
		i = len(bom)
	}
	for n := 1; n < line; n++ {
		for i < len(yaml) && yamlBreak(yaml[i:]) == 0 {
			_, size := utf8.DecodeRune(yaml[i:])
			i += size
		}
		if i >= len(yaml) {
			return len(yaml) + 1
		}
		i += yamlBreak(yaml[i:])
	}
	for n := 1; n < column; n++ {
		if i >= len(yaml) {
			return len(yaml) + 1
		}
		_, size := utf8.DecodeRune(yaml[i:])
		i += size
	}
	return i
}

// yamlBreak is the size of the line break, by YAML 1.1, that b begins with.
func yamlBreak(b []byte) int {
	if bytes.HasPrefix(b, []byte("\r\n")) {
		return 2
	}
	for _, br := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(b, []byte(br)) {
			return len(br)
		}
	}
	return 0
}

// excerpt is the beginning of a line for a message.
func excerpt(line []byte) string {
	const most = 40
	s := strings.ToValidUTF8(string(line), "\ufffd")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
