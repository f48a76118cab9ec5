package agenttask

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"drover/spec"
	"drover/spec/markdown"
)

// headReader reads a file's header: a comment on its first line, or
// frontmatter. A first line that is neither is no header: a dropped-in file
// (DIALECTS 1.2).
type headReader struct {
	*facts
	path string
	kind fileKind
	text []byte
	doc  *markdown.Doc
}

func (h headReader) bad(line int, format string, args ...any) *spec.Problem {
	return &spec.Problem{File: h.path, Line: line, Code: string(spec.ContractError), Message: fmt.Sprintf(format, args...)}
}

// read fills in the facts of the header and returns the line on which the body
// begins.
func (h headReader) read() (body int, problem *spec.Problem) {
	if len(h.doc.Lines) == 0 {
		return 1, nil
	}
	if first := h.doc.Lines[0].Raw; strings.HasPrefix(first, "<!--") && hasHeaderWord(first) {
		if !h.comment(first) {
			return 0, h.bad(1, "the header is not `<!-- task=GROUP/TASK plan=N tag=TAG -->`; mend the line or remove it")
		}
		return 2, h.only(2, "a second header; keep the one on line 1")
	}
	head := markdown.FindHead(h.text)
	switch head.State {
	case markdown.NoHead:
		return 1, h.only(1, "a header that is not on the first line; move it there or remove it")
	case markdown.BrokenHead:
		return 0, h.bad(head.Err.Line, "%s", head.Err.Message)
	}
	fields, err := head.Fields(h.text)
	if err != nil {
		return 0, h.bad(err.Line, "%s", err.Message)
	}
	h.HasHead = true
	for _, field := range fields {
		if msg := h.field(field, h.kind); msg != "" {
			return 0, h.bad(field.Line, "%s", msg)
		}
	}
	return head.BodyLine, h.only(head.BodyLine, "a second header; keep the one that begins on line 1")
}

// only refuses a header between a line and the document's first content: it
// would be passed over, and with it perhaps a `status: hold`.
func (h headReader) only(from int, message string) *spec.Problem {
	if h.kind == planLog || h.kind == reviewLog {
		return nil
	}
	for _, l := range h.doc.Lines[min(from-1, len(h.doc.Lines)):] {
		raw := strings.TrimSpace(l.Raw)
		switch {
		case strings.HasPrefix(raw, "<!--") && hasHeaderWord(raw):
			return h.bad(l.No, "%s", message)
		case strings.TrimSpace(l.Text) == "":
		case strings.HasPrefix(l.Raw, "---") && h.isHead(l.No):
			return h.bad(l.No, "%s", message)
		default:
			return nil
		}
	}
	return nil
}

// isHead reports whether a head with a task file's keys begins on a line.
func (h headReader) isHead(line int) bool {
	var rest strings.Builder
	for _, l := range h.doc.Lines[line-1:] {
		rest.WriteString(l.Raw + "\n")
	}
	text := []byte(rest.String())
	head := markdown.FindHead(text)
	fields, err := head.Fields(text)
	if err != nil {
		return head.State == markdown.WholeHead
	}
	for _, field := range fields {
		switch field.Key {
		case "task", "plan", "tag", "status":
			return true
		}
	}
	return false
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
	n, ok := planNumber(values[1])
	if !ok {
		return false
	}
	f.HasHead, f.Task, f.Plan, f.Tag = true, values[0], n, values[2]
	return true
}

// planNumber reads a plan's number, always to the base of ten.
func planNumber(s string) (int, bool) {
	const most = 9 // digits
	n, err := strconv.Atoi(s)
	return n, err == nil && digits(s) && len(s) <= most
}

// field takes one key of the frontmatter; the answer is what is wrong with it.
func (f *facts) field(field markdown.Field, kind fileKind) string {
	value := field.Value.Value
	if field.Value.Kind != yaml.ScalarNode || strings.TrimSpace(value) == "" {
		return field.Key + " wants one plain value"
	}
	switch field.Key {
	case "task":
		f.Task = value
	case "tag":
		f.Tag = value
	case "plan":
		n, ok := planNumber(value)
		if !ok {
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
