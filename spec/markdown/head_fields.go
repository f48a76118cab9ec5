package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adrg/frontmatter"
	"gopkg.in/yaml.v3"
)

// Field is one top-level key of a head. A scalar's Value.Value is its text as
// written ("010", "1.10", a date), before YAML makes numbers of it.
type Field struct {
	Key   string
	Line  int // in the document, from 1
	Value *yaml.Node
}

// Fields lists the keys of a whole head in their order. It refuses what YAML
// readers let pass: a key given twice, a second document, bytes that are no
// text. Without a whole head there are no fields; FindHead says why.
func (h Head) Fields(text []byte) ([]Field, *HeadError) {
	if h.State != WholeHead {
		return nil, h.Err
	}
	var root yaml.Node
	if err := h.decode(text, &root); err != nil {
		return nil, err
	}
	if root.Kind == 0 {
		return nil, nil
	}
	return h.fields(text, root.Content[0])
}

func (h Head) fields(text []byte, top *yaml.Node) ([]Field, *HeadError) {
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" && top.Value == "" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, &HeadError{h.line(text, top), "the head is not a list of `key: value` lines"}
	}
	fields := make([]Field, 0, len(top.Content)/2)
	for i := 0; i < len(top.Content); i += 2 {
		key, line := top.Content[i], h.line(text, top.Content[i])
		if key.Kind != yaml.ScalarNode {
			return nil, &HeadError{line, "a key of the head must be a plain word"}
		}
		for _, f := range fields {
			if f.Key == key.Value {
				return nil, &HeadError{line, fmt.Sprintf("key %s is given twice (first on line %d); keep one", key.Value, f.Line)}
			}
		}
		fields = append(fields, Field{Key: key.Value, Line: line, Value: top.Content[i+1]})
	}
	return fields, nil
}

// guard opens and closes what decode hands to the front matter library. No
// line of a head can look like it: a head with a NUL byte is refused first.
const guard = "\x00"

// decode parses the YAML of a whole head into a node.
//
// The library of front matter formats gets the head only after FindHead has
// cut it out, between fences of our own, because by itself it ends a head at
// an indented "---" and takes TOML and JSON too. Its one format here is
// yaml.v3; its default, yaml.v2, reads "on" as true and lets a later
// duplicate win.
func (h Head) decode(text []byte, root *yaml.Node) *HeadError {
	head := h.YAML(text)
	if err := h.checkBytes(text, head); err != nil {
		return err
	}
	format := frontmatter.NewFormat(guard, guard, func(data []byte, v any) error {
		return decodeOne(data[:len(head)], v)
	})
	r := io.MultiReader(strings.NewReader(guard+"\n"), bytes.NewReader(head), strings.NewReader("\n"+guard+"\n"))
	if _, err := frontmatter.MustParse(r, root, format); err != nil {
		return h.yamlError(text, err)
	}
	return nil
}

var errSecondDocument = errors.New("the head holds a second YAML document; remove the line `...` or `--- …`")

func decodeOne(data []byte, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(v); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return errSecondDocument
	}
	return nil
}

func (h Head) checkBytes(text, head []byte) *HeadError {
	if i := bytes.IndexByte(head, 0); i >= 0 {
		return &HeadError{lineAt(text, h.Start+i), "the head holds a NUL byte"}
	}
	for i := 0; i < len(head); {
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size == 1 {
			return &HeadError{lineAt(text, h.Start+i), "the head is not UTF-8; save the file as UTF-8"}
		}
		i += size
	}
	return nil
}

// yamlError gives an error of yaml.v3 a line of the document. The library
// counts from the head's first line and is one line off now and then, so an
// indentation by tabs, the usual cause, is looked for by ourselves.
func (h Head) yamlError(text []byte, err error) *HeadError {
	if i := tabIndent(h.YAML(text)); i >= 0 {
		return &HeadError{lineAt(text, h.Start+i), "indented with a tab; YAML wants spaces"}
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if n, convErr := strconv.Atoi(number); convErr == nil {
			at := min(offset(h.YAML(text), n, 1), h.End-h.Start)
			line, message = lineAt(text, h.Start+at), what
		}
	}
	return &HeadError{line, "the head is not YAML: " + message}
}

// tabIndent is the offset of the first tab that indents a line, or -1.
func tabIndent(yaml []byte) int {
	for i := 0; i < len(yaml); {
		line, next := lineFrom(yaml, i)
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		if spaces < len(line) && line[spaces] == '\t' && len(bytes.TrimSpace(line)) > 0 {
			return i + spaces
		}
		i = next
	}
	return -1
}

// line is the document's line of a node.
func (h Head) line(text []byte, n *yaml.Node) int {
	at := min(offset(h.YAML(text), n.Line, n.Column), h.End-h.Start)
	return lineAt(text, h.Start+at)
}
