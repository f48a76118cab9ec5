package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// NotEditableError says why a value of a head cannot be set without touching
// other bytes, and what a person can do (reason code status-not-editable).
type NotEditableError struct {
	Key  string
	Line int // in the document, from 1
	Why  string
}

func (e *NotEditableError) Error() string {
	return fmt.Sprintf("line %d: %s cannot be edited in place: %s", e.Line, e.Key, e.Why)
}

const onOneLine = "; write it as one plain value on one line"

// Value is what a document's head says for a key, as text, also by an alias;
// false if the head has no such key or something else than a scalar there.
func Value(text []byte, key string) (string, bool) {
	fields, err := FindHead(text).Fields(text)
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return "", false
	}
	n := fields[i].Value
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n.Value, n.Kind == yaml.ScalarNode
}

// SetValue sets one top-level value of a document's head and leaves every
// other byte as it is: it splices the bytes of a plain or quoted one-line
// scalar, keeps its quotes, and adds quotes where the value would not be text
// without them. A missing key becomes a line before the closing fence, in the
// head's line ending. Everything else (anchors, tags, aliases, blocks, merge
// keys, duplicates, flow mappings) is a *NotEditableError; a document without
// a usable head is a *HeadError.
//
// The result is parsed again before it is returned: it differs from text in
// that value and nowhere else.
func SetValue(text []byte, key, value string) ([]byte, error) {
	h := FindHead(text)
	switch h.State {
	case BrokenHead:
		return nil, h.Err
	case NoHead:
		return nil, &HeadError{1, "the document has no head"}
	}
	e := edit{text: text, head: h, key: key, value: value}
	var root yaml.Node
	if err := h.decode(text, &root); err != nil {
		return nil, err
	}
	if err := e.read(&root); err != nil {
		return nil, err
	}
	out, err := e.splice()
	if err != nil {
		return nil, err
	}
	return out, e.verify(out)
}

// edit is one value on its way into a head.
type edit struct {
	text       []byte
	head       Head
	key, value string

	top    *yaml.Node // the mapping; nil for an empty head
	fields []Field
	at     int // the key's field, -1 for a missing one
}

func (e *edit) refuse(line int, why string) error {
	return &NotEditableError{Key: e.key, Line: line, Why: why}
}

// read takes the parsed head and refuses shapes that no splice is safe in.
func (e *edit) read(root *yaml.Node) error {
	e.at = -1
	if root.Kind == 0 {
		return nil
	}
	e.top = root.Content[0]
	var err *HeadError
	if e.fields, err = e.head.fields(e.text, e.top); err != nil {
		return e.refuse(err.Line, err.Message)
	}
	if e.top.Kind == yaml.MappingNode && (e.top.Style != 0 || e.top.Anchor != "") {
		return e.refuse(e.head.line(e.text, e.top), "the head is a flow mapping or has an anchor or tag; write one `key: value` a line")
	}
	for i, f := range e.fields {
		if f.Key == "<<" {
			return e.refuse(f.Line, "the head has a merge key; write the merged keys out")
		}
		if f.Key == e.key {
			e.at = i
		}
	}
	return nil
}

func (e *edit) splice() ([]byte, error) {
	if e.at < 0 {
		return e.insertLine()
	}
	field := e.fields[e.at]
	start, end, err := e.span(field)
	if err != nil {
		return nil, err
	}
	scalar, err := encode(e.value, field.Value)
	if err != nil {
		return nil, e.refuse(field.Line, err.Error())
	}
	if start == end { // nothing stands after the colon
		scalar = " " + scalar
	}
	start, end = e.head.Start+start, e.head.Start+end
	return slices.Concat(e.text[:start], []byte(scalar), e.text[end:]), nil
}

// insertLine adds a key before the closing fence, indented as the first key is.
func (e *edit) insertLine() ([]byte, error) {
	scalar, err := encode(e.value, nil)
	if err != nil {
		return nil, e.refuse(e.head.BodyLine-1, err.Error())
	}
	name, err := encode(e.key, nil)
	if err != nil {
		return nil, e.refuse(e.head.BodyLine-1, err.Error())
	}
	indent := ""
	if e.top != nil && len(e.top.Content) > 0 {
		indent = strings.Repeat(" ", e.top.Content[0].Column-1)
	}
	line := indent + name + ": " + scalar + e.head.Newline
	return slices.Concat(e.text[:e.head.End], []byte(line), e.text[e.head.End:]), nil
}

// span finds the bytes of a field's scalar within the YAML.
func (e *edit) span(f Field) (start, end int, err error) {
	n := f.Value
	switch {
	case n.Kind == yaml.AliasNode:
		return 0, 0, e.refuse(f.Line, "its value is an alias"+onOneLine)
	case n.Kind != yaml.ScalarNode:
		return 0, 0, e.refuse(f.Line, "its value is a list or a mapping"+onOneLine)
	case n.Anchor != "":
		return 0, 0, e.refuse(f.Line, "its value has an anchor"+onOneLine)
	case n.Style&yaml.TaggedStyle != 0:
		return 0, 0, e.refuse(f.Line, "its value has a tag"+onOneLine)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, 0, e.refuse(f.Line, "its value is a block"+onOneLine)
	}
	head := e.head.YAML(e.text)
	start = offset(head, n.Line, n.Column)
	if start > len(head) {
		return 0, 0, e.refuse(f.Line, "its value cannot be found"+onOneLine)
	}
	if bytes.HasPrefix(head[start:], []byte("!")) {
		return 0, 0, e.refuse(f.Line, "its value has a tag"+onOneLine)
	}
	size := scalarSize(head[start:], n)
	if size < 0 {
		return 0, 0, e.refuse(f.Line, "its value goes over more than one line"+onOneLine)
	}
	return start, start + size, nil
}

// scalarSize is the size of the scalar that line begins with, or -1 when n is
// not wholly there.
func scalarSize(b []byte, n *yaml.Node) int {
	line := firstLine(b)
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return quotedSize(line, '"', '\\')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return quotedSize(line, '\'', '\'')
	case !bytes.HasPrefix(line, []byte(n.Value)):
		return -1
	}
	return len(n.Value)
}

func firstLine(b []byte) []byte {
	for i := range b {
		if yamlBreak(b[i:]) > 0 {
			return b[:i]
		}
	}
	return b
}

// quotedSize is the size of the quoted scalar that line begins with, or -1.
// escape takes the next byte with it; a single quote escapes only itself.
func quotedSize(line []byte, quote, escape byte) int {
	if len(line) == 0 || line[0] != quote {
		return -1
	}
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == escape && quote != escape:
			i++
		case line[i] == quote && quote == escape && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return -1
}

// encode writes a value in the style of the scalar that it replaces, nil for
// none. A number may take a number's place; all else stays text.
func encode(value string, old *yaml.Node) (string, error) {
	n := yaml.Node{Kind: yaml.ScalarNode, Value: value, Tag: "!!str"}
	if old != nil {
		n.Style = old.Style
		if old.Style == 0 && old.Tag == "!!int" {
			if again := (&yaml.Node{Kind: yaml.ScalarNode, Value: value}); again.ShortTag() == "!!int" {
				return value, nil
			}
		}
	}
	for _, style := range []yaml.Style{n.Style, yaml.DoubleQuotedStyle} {
		n.Style = style
		out, err := yaml.Marshal(&n)
		if err != nil {
			return "", fmt.Errorf("encode %q: %w", value, err)
		}
		out = bytes.TrimSuffix(out, []byte("\n"))
		if len(firstLine(out)) == len(out) && !bytes.ContainsAny(out[:1], "|>") {
			return string(out), nil
		}
	}
	return "", errors.New("its new value does not fit on one line")
}

// verify parses the edited text and compares: the same tree but for this
// value, the same bytes before and behind the head's spliced place.
func (e *edit) verify(out []byte) error {
	line := 1
	if e.at >= 0 {
		line = e.fields[e.at].Line
	}
	changed := e.refuse(line, "the edit would change more than this value"+onOneLine)
	h := FindHead(out)
	if h.State != WholeHead || h.Start != e.head.Start || !bytes.Equal(out[h.End:], e.text[e.head.End:]) {
		return changed
	}
	var root yaml.Node
	if err := h.decode(out, &root); err != nil || root.Kind == 0 {
		return changed
	}
	fields, err := h.fields(out, root.Content[0])
	if err != nil {
		return changed
	}
	at := e.at
	if at < 0 {
		at = len(e.fields)
	}
	if len(fields) != max(len(e.fields), at+1) {
		return changed
	}
	for i, f := range fields {
		switch {
		case i == at && (f.Key != e.key || f.Value.Kind != yaml.ScalarNode || f.Value.Value != e.value):
			return changed
		case i != at && (f.Key != e.fields[i].Key || !sameTree(f.Value, e.fields[i].Value)):
			return changed
		}
	}
	return nil
}

// sameTree reports whether two nodes mean the same and are written in the same
// style.
func sameTree(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || a.Anchor != b.Anchor || a.Style != b.Style ||
		len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
