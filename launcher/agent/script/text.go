package script

import (
	"strings"

	"drover/spec/markdown"
)

// text is a document that is edited by whole lines.
type text struct {
	doc     *markdown.Doc
	lines   []string // by line number from 1; each may have become several
	newline string
	bom     bool
}

func edit(raw []byte) *text {
	t := &text{doc: markdown.Parse(raw), newline: "\n", bom: strings.HasPrefix(string(raw), "\uFEFF")}
	if strings.Contains(string(raw), "\r\n") {
		t.newline = "\r\n"
	}
	t.lines = make([]string, 1, len(t.doc.Lines)+1)
	for _, l := range t.doc.Lines {
		t.lines = append(t.lines, l.Raw)
	}
	return t
}

// korean reports whether the document speaks Korean, and so shall what is
// added to it (DIALECTS 0).
func (t *text) korean() bool {
	for _, l := range t.doc.Lines {
		if strings.IndexFunc(l.Raw, func(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }) >= 0 {
			return true
		}
	}
	return false
}

// pick is the one of two words in the document's language.
func (t *text) pick(ko, en string) string {
	if t.korean() {
		return ko
	}
	return en
}

func (t *text) language() string { return t.pick("ko", "en") }

const deleted = "\x00"

// drop takes a line away.
func (t *text) drop(no int) { t.lines[no] = deleted }

// after puts lines behind a line; 0 is the document's beginning.
func (t *text) after(no int, more string) {
	if t.lines[no] == deleted || no == 0 && t.lines[0] == "" {
		t.lines[no] = more
		return
	}
	t.lines[no] += "\n" + more
}

// add puts lines at the document's end, behind a blank line.
func (t *text) add(more string) {
	last := len(t.lines) - 1
	for last > 0 && (t.lines[last] == deleted || strings.TrimSpace(t.lines[last]) == "") {
		t.lines[last] = deleted
		last--
	}
	t.after(last, "\n"+more)
}

func (t *text) bytes() []byte {
	var b strings.Builder
	if t.bom {
		b.WriteString("\uFEFF")
	}
	for no, l := range t.lines {
		if l == deleted || no == 0 && l == "" {
			continue
		}
		b.WriteString(strings.ReplaceAll(l, "\n", t.newline) + t.newline)
	}
	return []byte(b.String())
}

// placeholder reports whether a line stands for content that is not there yet
// (FORMATS 4.2).
func placeholder(line string) bool {
	switch strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")) {
	case "", "-", "TBD", "_TBD_", "_미작성_", "미작성", "_not written_":
		return true
	}
	return false
}

// empty reports whether a section holds nothing but comments and placeholders.
func empty(s markdown.Section) bool {
	for _, l := range s.Lines {
		if l.Code || !placeholder(l.Text) {
			return false
		}
	}
	return true
}
