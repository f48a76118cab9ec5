package agenttask

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"drover/spec"
	"drover/spec/markdown"
)

// Read implements spec.Dialect.
func (d *Dialect) Read(p string, text []byte) (spec.Facts, *spec.Problem) {
	f := &facts{}
	name := parseFile(path.Base(p))
	switch name.kind {
	case otherFile, misnamed:
		return f, nil
	case ignoreFile:
		f.Managed = bytes.Contains(text, []byte(ignoreBegin)) && managed(text)
		return f, nil
	}
	doc := markdown.Parse(text)
	h := headReader{facts: f, path: p, kind: name.kind, text: text, doc: doc}
	body, problem := h.read()
	if problem != nil {
		return nil, problem
	}
	f.Title, f.Korean = doc.Title(), korean(text)
	switch name.kind {
	case planFile:
		if problem := notText(p, text); problem != nil {
			return nil, problem
		}
		f.plan(doc, body)
	case reviewFile, reviewLog:
		f.review(doc)
	case userReviewFile:
		f.userReview(doc, path.Dir(p))
	case completeFile:
		f.complete(doc)
	}
	return f, nil
}

// notText says where a PLAN holds what is no UTF-8 text. Files that agents
// fill in are taken as they are: a command's output may hold anything.
func notText(p string, text []byte) *spec.Problem {
	at, why := bytes.IndexByte(text, 0), "holds a NUL byte"
	if at < 0 {
		if utf8.Valid(text) {
			return nil
		}
		for at = 0; at < len(text); {
			r, size := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		why = "is not UTF-8"
	}
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	return &spec.Problem{File: p, Line: line, Code: string(spec.ContractError), Message: "the file " + why + "; save it as UTF-8 text"}
}

// korean reports whether a document is written in Korean.
func korean(text []byte) bool {
	for _, r := range string(text) {
		if r >= 0xac00 && r <= 0xd7a3 {
			return true
		}
	}
	return false
}

// plan reads a PLAN, whose body begins on a line.
func (f *facts) plan(doc *markdown.Doc, body int) {
	for _, s := range doc.Sections(markdown.Titles("checklist")...) {
		for _, it := range s.Items() {
			f.Items = append(f.Items, it.Text)
		}
	}
	for _, s := range doc.Sections(markdown.Titles("files")...) {
		for _, row := range s.Rows() {
			f.Writes = append(f.Writes, paths(row.Cells[0])...)
		}
	}
	f.Unfilled, f.Line = unfilled(doc, body)
}

// unfilled reports a body that says nothing, or the line that still holds a
// placeholder of the template. Other texts in double braces are somebody's own.
func unfilled(doc *markdown.Doc, body int) (yes bool, line int) {
	empty := true
	for _, l := range doc.Lines {
		text := strings.TrimSpace(l.Text)
		if l.No < body || text == "" || l.Level > 0 {
			continue
		}
		empty = false
		if l.Code || !strings.Contains(text, "{{") {
			continue
		}
		for _, p := range placeholders() {
			if strings.Contains(text, p) {
				return true, l.No
			}
		}
	}
	return empty, 0
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// paths are those that a cell names: each back-quoted token, else the cell.
func paths(cell string) []string {
	var out []string
	rest := cell
	for {
		token := markdown.Quoted(rest)
		if token == "" {
			break
		}
		if p := cleanPath(token); p != "" {
			out = append(out, p)
		}
		_, rest, _ = strings.Cut(rest, token+"`")
	}
	if rest == cell {
		if p := cleanPath(cell); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// cleanPath is a path of the write set, "" when it leads out of the workspace.
func cleanPath(p string) string {
	p = path.Clean(strings.TrimSpace(p))
	if p == "." || p == "-" || path.IsAbs(p) || strings.HasPrefix(p, "../") || p == ".." {
		return ""
	}
	return p
}

// complete reads a complete.log: the header, then verdict=PASS.
func (f *facts) complete(doc *markdown.Doc) {
	for _, l := range doc.Lines {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l.Raw), "verdict="); ok {
			f.Verdicts = append(f.Verdicts, v)
		}
	}
}
