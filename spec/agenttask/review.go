package agenttask

import (
	"path"
	"strings"

	"drover/spec/markdown"
)

// findingsMost bounds what is kept of a review's findings, in bytes.
const findingsMost = 8 << 10

// review reads a CODE_REVIEW: what is filled in, and the verdict.
func (f *facts) review(doc *markdown.Doc) {
	f.Missing = missing(doc)
	for _, s := range doc.Sections(markdown.Titles("checklist")...) {
		items := s.Items()
		f.Synced = len(items) > 0 && items[len(items)-1].Checked
	}
	for _, s := range doc.Sections(markdown.Titles("review")...) {
		f.Verdicts = append(f.Verdicts, verdicts(s)...)
		var b strings.Builder
		for _, l := range s.Lines {
			b.WriteString(l.Raw + "\n")
		}
		f.Findings = markdown.Clip(strings.TrimSpace(b.String()), findingsMost)
	}
}

// missing are the implementation fields that hold no real content yet (seed
// 003: a selfcheck is done when none is missing).
func missing(doc *markdown.Doc) []string {
	var out []string
	if !filledTable(doc.Sections(markdown.Titles("completed")...)) {
		out = append(out, markdown.TitleIn("completed", ""))
	}
	if !filledList(doc.Sections(markdown.Titles("checklist")...)) {
		out = append(out, markdown.TitleIn("checklist", ""))
	}
	for _, name := range [...]string{"deviations", "decisions", "results"} {
		if !filledText(doc.Sections(markdown.Titles(name)...)) {
			out = append(out, markdown.TitleIn(name, ""))
		}
	}
	return out
}

// filledTable: there are rows, no cell is empty, no box unchecked.
func filledTable(ss []markdown.Section) bool {
	n := 0
	for _, s := range ss {
		for _, r := range s.Rows() {
			n++
			for _, c := range r.Cells {
				if c == "" || placeholder(c) || strings.Contains(c, "[ ]") {
					return false
				}
			}
		}
	}
	return n > 0
}

// filledList: there are items and all are checked, the last one too, which is
// that the review file was brought up to date.
func filledList(ss []markdown.Section) bool {
	n := 0
	for _, s := range ss {
		for _, it := range s.Items() {
			n++
			if !it.Checked {
				return false
			}
		}
	}
	return n > 0
}

// filledText: something is left once comments and placeholder lines are gone.
func filledText(ss []markdown.Section) bool {
	for _, s := range ss {
		for _, l := range s.Lines {
			text := strings.TrimSpace(l.Text)
			if l.Code {
				text = strings.TrimSpace(strings.Trim(text, "`~"))
			}
			if text != "" && !placeholder(text) {
				return true
			}
		}
	}
	return false
}

func placeholder(s string) bool {
	s = strings.TrimSpace(strings.TrimPrefix(s, "- "))
	switch s {
	case "", "-", "TBD", "_TBD_", "_미작성_", "미작성", "_not written_":
		return true
	}
	return false
}

// verdicts are the verdict fields of a review section, outside code and
// comments; "- " and "**" may stand around them (seed 003).
func verdicts(s markdown.Section) []string {
	var out []string
	for _, l := range s.Lines {
		if l.Code {
			continue
		}
		text := strings.TrimSpace(l.Text)
		if rest, ok := markdown.Bullet(text); ok {
			text = rest
		}
		label, value, ok := strings.Cut(strings.ReplaceAll(text, "**", ""), ":")
		if !ok || !isVerdictLabel(label) {
			continue
		}
		value = strings.TrimRight(strings.TrimSpace(value), ".")
		switch value {
		case "PASS", "WARN", "FAIL":
			out = append(out, value)
		}
	}
	return out
}

func isVerdictLabel(s string) bool {
	s = strings.TrimSpace(s)
	for _, t := range markdown.Titles("verdict") {
		if strings.EqualFold(s, t) {
			return true
		}
	}
	return false
}

// userReviewLabels are the fields of a USER_REVIEW.md and their English names
// (seed 003: all must hold something real).
func userReviewLabels() [6][2]string {
	return [6][2]string{
		{"상태", "State"},
		{"유형", "Type"},
		{"연결 대상", "Target"},
		{"차단 판단 근거", "Rationale"},
		{"미해결 결정 항목", "Open decisions"},
		{"재개 조건", "Resume condition"},
	}
}

// userReview reads a USER_REVIEW: what is missing, or says nothing.
func (f *facts) userReview(doc *markdown.Doc, dir string) {
	values, lines, open := userFields(doc)
	f.Target = target(values[2], dir)
	f.Open, f.Line = open, lines[4]
	for i, label := range userReviewLabels() {
		v := strings.Trim(values[i], "` ")
		switch {
		case i == 0 && v != "USER_REVIEW":
			f.Missing = append(f.Missing, label[0]+": USER_REVIEW")
		case i == 1 && v != "milestone-lock":
			f.Missing = append(f.Missing, label[0]+": milestone-lock")
		case i == 2 && f.Target == "":
			f.Missing = append(f.Missing, label[0]+": agent-roadmap/**/milestones/*.md")
		case undecided(v):
			f.Missing = append(f.Missing, label[0])
		}
	}
}

// undecided reports a value that stands for none (seed 003: 없음, 미정).
func undecided(v string) bool {
	v = strings.TrimRight(v, ".")
	return v == "" || v == "없음" || v == "미정" || strings.EqualFold(v, "none") || strings.EqualFold(v, "tbd")
}

// userFields finds each label's value: on its line, or in the list below it.
// open counts the undecided items.
func userFields(doc *markdown.Doc) (values [6]string, lines [6]int, open int) {
	current := -1
	for _, l := range doc.Lines {
		text := strings.TrimSpace(l.Text)
		if l.Code || text == "" {
			continue
		}
		rest, isItem := markdown.Bullet(text)
		if i, v, ok := userLabel(firstNonEmpty(strings.TrimLeft(rest, "# "), text)); ok {
			current, values[i], lines[i] = i, v, l.No
			if i == 4 && v != "" {
				open = 1
			}
			continue
		}
		if l.Level > 0 {
			current = -1
			continue
		}
		if current < 0 {
			continue
		}
		if values[current] == "" {
			values[current] = rest
		}
		if current == 4 && isItem {
			open++
		}
	}
	return values, lines, open
}

func userLabel(s string) (i int, value string, ok bool) {
	s = strings.ReplaceAll(s, "**", "")
	for i, names := range userReviewLabels() {
		for _, n := range names {
			if rest, found := strings.CutPrefix(s, n); found {
				rest = strings.TrimSpace(rest)
				if v, colon := strings.CutPrefix(rest, ":"); colon {
					return i, strings.TrimSpace(v), true
				}
				if rest == "" {
					return i, "", true
				}
			}
		}
	}
	return 0, "", false
}

// target is the milestone that a link or a quoted word names, "" for anything
// else. A link may be relative to the file's own folder.
func target(s, dir string) string {
	if _, link, ok := strings.Cut(s, "]("); ok {
		s, _, _ = strings.Cut(link, ")")
	} else if q := markdown.Quoted(s); q != "" {
		s = q
	}
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "../") {
		s = path.Join(dir, s)
	}
	s = cleanPath(s)
	if !strings.HasPrefix(s, "agent-roadmap/") || !strings.HasSuffix(s, ".md") || path.Base(path.Dir(s)) != "milestones" || path.Base(s) == ".md" {
		return ""
	}
	return s
}
