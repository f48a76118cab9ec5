package markdown

import (
	"strings"
	"unicode/utf8"
)

// Doc is a Markdown text as lines that know what they are. Reading is linear
// in the text's length, whatever stands in it.
type Doc struct{ Lines []Line }

// Line is one line of a document.
type Line struct {
	No  int    // from 1
	Raw string // as it stands, without its line ending
	// Text is Raw without HTML comments; "" within a comment.
	Text string
	// Code is set on the lines of a fenced block and on its fences: nothing in
	// them is Markdown.
	Code bool
	// Level and Title are of a heading, 0 and "" for other lines.
	Level int
	Title string
}

// Parse reads a text. A BOM is left out; LF, CRLF and CR end lines.
func Parse(text []byte) *Doc {
	d := &Doc{}
	s := strings.TrimPrefix(string(text), "\uFEFF")
	var block codeFence
	comment := false
	for no := 1; s != ""; no++ {
		var raw string
		raw, s = takeLine(s)
		l := Line{No: no, Raw: raw, Text: raw}
		switch {
		case block.open():
			l.Code = true
			block.close(raw)
		case comment:
			l.Text, comment = stripComments(raw, true)
		case block.begin(raw):
			l.Code = true
		default:
			l.Text, comment = stripComments(raw, false)
			l.Level, l.Title = heading(l.Text)
		}
		d.Lines = append(d.Lines, l)
	}
	return d
}

// takeLine takes the first line off a text.
func takeLine(s string) (line, rest string) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, ""
	}
	n := 1
	if s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n' {
		n = 2
	}
	return s[:i], s[i+n:]
}

// codeFence is an open code block: its sign and its length.
type codeFence struct {
	sign byte
	n    int
}

func (f *codeFence) open() bool { return f.n > 0 }

// begin opens a block at a line of three or more backticks or tildes.
func (f *codeFence) begin(raw string) bool {
	sign, n, info := fenceOf(raw)
	if n == 0 || sign == '`' && strings.Contains(info, "`") {
		return false
	}
	f.sign, f.n = sign, n
	return true
}

// close ends the block at a fence of the same sign that is no shorter.
func (f *codeFence) close(raw string) {
	if sign, n, info := fenceOf(raw); n >= f.n && sign == f.sign && strings.TrimSpace(info) == "" {
		*f = codeFence{}
	}
}

func fenceOf(raw string) (sign byte, n int, info string) {
	s := strings.TrimLeft(raw, " ")
	if len(raw)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return 0, 0, ""
	}
	for n < len(s) && s[n] == s[0] {
		n++
	}
	if n < 3 {
		return 0, 0, ""
	}
	return s[0], n, strings.TrimSpace(s[n:])
}

func heading(s string) (level int, title string) {
	for level < len(s) && s[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(s) && s[level] != ' ' && s[level] != '\t' {
		return 0, ""
	}
	title = strings.TrimSpace(s[level:])
	if t := strings.TrimRight(title, "#"); t == "" || strings.HasSuffix(t, " ") {
		title = strings.TrimSpace(t)
	}
	return level, title
}

// Title is the document's first heading of level 1, "" for none.
func (d *Doc) Title() string {
	for _, l := range d.Lines {
		if l.Level == 1 {
			return l.Title
		}
	}
	return ""
}

// Section is the part of a document under one heading of level 2: up to the
// next heading of level 1 or 2.
type Section struct {
	Line  int // of the heading
	Title string
	Lines []Line // without the heading
}

// Sections are the parts under headings of level 2 that name one of the
// titles; several may have the same one.
func (d *Doc) Sections(names ...string) []Section {
	var out []Section
	open := false
	for i, l := range d.Lines {
		if l.Level == 1 || l.Level == 2 {
			open = false
			if l.Level == 2 && named(l.Title, names) {
				out = append(out, Section{Line: l.No, Title: l.Title})
				open = true
			}
			continue
		}
		if open {
			s := &out[len(out)-1]
			if s.Lines == nil {
				s.Lines = d.Lines[i:i]
			}
			s.Lines = s.Lines[:len(s.Lines)+1]
		}
	}
	return out
}

// named compares titles without case, and without a number before them.
func named(title string, names []string) bool {
	title = strings.TrimSpace(strings.TrimLeft(title, "0123456789. "))
	for _, n := range names {
		if strings.EqualFold(title, n) {
			return true
		}
	}
	return false
}

// Item is one entry of a checklist.
type Item struct {
	Line    int
	Checked bool
	Text    string
}

// Items are the checklist entries of a section, outside code and comments.
func (s Section) Items() []Item {
	var out []Item
	for _, l := range s.Lines {
		if l.Code {
			continue
		}
		if it, ok := item(l.Text); ok {
			it.Line = l.No
			out = append(out, it)
		}
	}
	return out
}

func item(s string) (Item, bool) {
	s = strings.TrimLeft(s, " \t")
	rest, ok := bullet(s)
	if !ok || len(rest) < 3 || rest[0] != '[' || rest[2] != ']' {
		return Item{}, false
	}
	switch rest[1] {
	case ' ':
		return Item{Text: strings.TrimSpace(rest[3:])}, true
	case 'x', 'X':
		return Item{Checked: true, Text: strings.TrimSpace(rest[3:])}, true
	}
	return Item{}, false
}

// bullet takes the sign of a list entry off: "- ", "* ", "+ ", "12. ".
func bullet(s string) (rest string, ok bool) {
	if len(s) >= 2 && strings.IndexByte("-*+", s[0]) >= 0 && s[1] == ' ' {
		return strings.TrimLeft(s[2:], " "), true
	}
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	if n > 0 && n+1 < len(s) && (s[n] == '.' || s[n] == ')') && s[n+1] == ' ' {
		return strings.TrimLeft(s[n+2:], " "), true
	}
	return s, false
}

// Bullet takes the sign of a list entry off a line; ok is false for a line
// that is none.
func Bullet(line string) (rest string, ok bool) { return bullet(strings.TrimLeft(line, " \t")) }

// Row is one row of a table, its heading and ruler rows left out.
type Row struct {
	Line  int
	Cells []string
}

// Rows are the body rows of the tables in a section.
func (s Section) Rows() []Row {
	var out []Row
	head := true
	for _, l := range s.Lines {
		t := strings.TrimSpace(l.Text)
		if l.Code || !strings.HasPrefix(t, "|") {
			head = true
			continue
		}
		cells := Cells(t)
		switch {
		case ruler(cells):
			head = false
		case !head:
			out = append(out, Row{l.No, cells})
		}
	}
	return out
}

// Cells are the cells of a table's line; "\|" is no border.
func Cells(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	var out []string
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i++
		case line[i] == '|':
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(line[i])
		}
	}
	if rest := strings.TrimSpace(b.String()); rest != "" {
		out = append(out, rest)
	}
	return out
}

func ruler(cells []string) bool {
	for _, c := range cells {
		if c == "" || strings.Trim(c, "-:") != "" {
			return false
		}
	}
	return len(cells) > 0
}

// Quoted is the first back-quoted token of a line, "" for none.
func Quoted(s string) string {
	_, s, ok := strings.Cut(s, "`")
	if !ok {
		return ""
	}
	s = strings.TrimLeft(s, "`")
	token, _, ok := strings.Cut(s, "`")
	if !ok {
		return ""
	}
	return strings.TrimSpace(token)
}

// Block is one fenced code block.
type Block struct {
	Line int // of its opening fence
	Info string
	Text string // its lines, each with a line feed
}

// Blocks are the fenced blocks of lines; one that is never closed reaches to
// the end.
func Blocks(lines []Line) []Block {
	var out []Block
	var open codeFence
	var body strings.Builder
	for _, l := range lines {
		switch {
		case !l.Code:
		case !open.open():
			open.begin(l.Raw)
			_, _, info := fenceOf(l.Raw)
			out = append(out, Block{Line: l.No, Info: info})
		default:
			if open.close(l.Raw); !open.open() {
				out[len(out)-1].Text = body.String()
				body.Reset()
				continue
			}
			body.WriteString(l.Raw + "\n")
		}
	}
	if open.open() {
		out[len(out)-1].Text = body.String()
	}
	return out
}

// Clip is a text cut to at most n bytes, at a whole character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
