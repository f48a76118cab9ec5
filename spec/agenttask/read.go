package agenttask

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"drover/spec"
	"drover/spec/markdown"
)

// Read implements spec.Dialect.
func (d *Dialect) Read(p string, text []byte) (spec.Facts, *spec.Problem) {
	f := &facts{}
	name := parseFile(path.Base(p))
	if name.kind == ignoreFile {
		f.Managed = bytes.Contains(text, []byte(ignoreBegin)) && managed(text)
		return f, nil
	}
	body, problem := f.head(p, text, name.kind)
	if problem != nil {
		return nil, problem
	}
	doc := markdown.Parse(text)
	f.Title, f.Korean = doc.Title(), korean(text)
	switch name.kind {
	case planFile:
		f.plan(doc, body)
	case reviewFile, reviewLog:
		f.review(doc)
	case userReviewFile:
		f.userReview(doc)
	case completeFile:
		f.complete(doc)
	}
	return f, nil
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

// head reads the header: a comment on the first line, or frontmatter. It
// returns the rest. A first line that is neither is no header: a dropped-in
// file (DIALECTS 1.2).
func (f *facts) head(p string, text []byte, kind fileKind) ([]byte, *spec.Problem) {
	bad := func(line int, format string, args ...any) *spec.Problem {
		return &spec.Problem{File: p, Line: line, Code: string(spec.ContractError), Message: fmt.Sprintf(format, args...)}
	}
	lines := markdown.Parse(text).Lines
	if len(lines) == 0 {
		return nil, nil
	}
	if first := lines[0].Raw; strings.HasPrefix(first, "<!--") && hasHeaderWord(first) {
		if !f.comment(first) {
			return nil, bad(1, "the header is not `<!-- task=GROUP/TASK plan=N tag=TAG -->`; mend the line or remove it")
		}
		for _, l := range lines[1:] {
			if !l.Code && strings.HasPrefix(l.Raw, "<!--") && hasHeaderWord(l.Raw) && kind != planLog && kind != reviewLog {
				return nil, bad(l.No, "a second header; keep one")
			}
		}
		if h := markdown.FindHead(afterLine(text)); h.State == markdown.WholeHead && f.looksLikeHead(h, afterLine(text)) {
			return nil, bad(2, "a second header, as frontmatter; keep one")
		}
		return afterLine(text), nil
	}
	h := markdown.FindHead(text)
	switch h.State {
	case markdown.NoHead:
		return text, nil
	case markdown.BrokenHead:
		return nil, bad(h.Err.Line, "%s", h.Err.Message)
	}
	fields, err := h.Fields(text)
	if err != nil {
		return nil, bad(err.Line, "%s", err.Message)
	}
	f.HasHead = true
	for _, field := range fields {
		if msg := f.field(field, kind); msg != "" {
			return nil, bad(field.Line, "%s", msg)
		}
	}
	return text[h.Body:], nil
}

func (f *facts) looksLikeHead(h markdown.Head, text []byte) bool {
	fields, err := h.Fields(text)
	if err != nil {
		return false
	}
	for _, field := range fields {
		if field.Key == "task" || field.Key == "plan" || field.Key == "tag" {
			return true
		}
	}
	return false
}

func afterLine(text []byte) []byte {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[i+1:]
	}
	return nil
}

func hasHeaderWord(line string) bool {
	for _, w := range [...]string{"task=", "plan=", "tag="} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// comment reads `<!-- task=… plan=… tag=… -->`.
func (f *facts) comment(line string) bool {
	inner, ok := strings.CutPrefix(strings.TrimRight(line, " \t"), "<!-- ")
	if ok {
		inner, ok = strings.CutSuffix(inner, " -->")
	}
	words := strings.Split(inner, " ")
	if !ok || len(words) != 3 {
		return false
	}
	values := [3]string{}
	for i, key := range [...]string{"task=", "plan=", "tag="} {
		if values[i], ok = strings.CutPrefix(words[i], key); !ok || values[i] == "" {
			return false
		}
	}
	n, err := strconv.Atoi(values[1])
	if err != nil || !digits(values[1]) {
		return false
	}
	f.HasHead, f.Task, f.Plan, f.Tag = true, values[0], n, values[2]
	return true
}

// field takes one key of the frontmatter; the answer is what is wrong with it.
func (f *facts) field(field markdown.Field, kind fileKind) string {
	value := field.Value.Value
	switch field.Key {
	case "task":
		f.Task = value
	case "tag":
		f.Tag = value
	case "plan":
		n, err := strconv.Atoi(value)
		if err != nil || !digits(value) {
			return fmt.Sprintf("plan wants a number from 0, not %q", value)
		}
		f.Plan = n
	case "status":
		if kind != planFile {
			return "only a PLAN has a status"
		}
		if value != "ready" && value != "hold" {
			return fmt.Sprintf("status wants ready or hold, not %q", value)
		}
		f.Status = value
	default:
		known := []string{"task", "plan", "tag", "status"}
		if near := markdown.Nearest(field.Key, known); near != "" {
			return fmt.Sprintf("unknown key %s, did you mean %s?", field.Key, near)
		}
		return fmt.Sprintf("unknown key %s; a task file has %s", field.Key, strings.Join(known, ", "))
	}
	return ""
}

// plan reads a PLAN's body.
func (f *facts) plan(doc *markdown.Doc, body []byte) {
	for _, s := range doc.Sections(markdown.Titles("checklist")...) {
		for _, it := range s.Items() {
			f.Items = append(f.Items, it.Text)
		}
	}
	for _, s := range doc.Sections(markdown.Titles("files")...) {
		for _, row := range s.Rows() {
			if p := cleanPath(firstNonEmpty(markdown.Quoted(row.Cells[0]), row.Cells[0])); p != "" {
				f.Writes = append(f.Writes, p)
			}
		}
	}
	empty := true
	inBody := markdown.Parse(body)
	for _, l := range inBody.Lines {
		if !l.Code && strings.Contains(l.Text, "{{") && strings.Contains(l.Text, "}}") {
			f.Unfilled = true
		}
		if strings.TrimSpace(l.Text) != "" && l.Level != 1 {
			empty = false
		}
	}
	f.Unfilled = f.Unfilled || empty
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
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
