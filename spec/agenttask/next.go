package agenttask

import (
	"fmt"
	"strings"

	"drover/spec/markdown"
)

// outcome is what a review said of a plan.
type outcome struct {
	plan     int
	verdict  string
	log      string // the review's name among the logs
	findings string
}

// nextPlan is a PLAN's body under a new header: all boxes open, and the
// review's findings in place of those of the round before.
func nextPlan(old []byte, head string, o outcome) []byte {
	doc := markdown.Parse(old)
	lang := "en"
	if korean(old) {
		lang = "ko"
	}
	title := findingsTitle(lang)
	var b strings.Builder
	b.WriteString(head)
	for _, l := range doc.Lines[headLines(doc, old):] {
		if l.Level == 2 && l.Title == title {
			break
		}
		b.WriteString(openBox(l) + "\n")
	}
	text := strings.TrimRight(b.String(), "\n") + "\n\n## " + title + "\n" + outcomeLine(lang, o) + "\n\n"
	return []byte(text + demote(o.findings) + "\n")
}

// headLines is how many lines a document's header takes.
func headLines(doc *markdown.Doc, text []byte) int {
	if h := markdown.FindHead(text); h.State == markdown.WholeHead {
		return min(h.BodyLine-1, len(doc.Lines))
	}
	if len(doc.Lines) > 0 && strings.HasPrefix(doc.Lines[0].Raw, "<!--") && hasHeaderWord(doc.Lines[0].Raw) {
		return 1
	}
	return 0
}

// openBox is a line with its checked box opened.
func openBox(l markdown.Line) string {
	rest, ok := markdown.Bullet(l.Raw)
	if l.Code || !ok || !strings.HasPrefix(rest, "[x]") && !strings.HasPrefix(rest, "[X]") {
		return l.Raw
	}
	at := len(l.Raw) - len(rest)
	return l.Raw[:at] + "[ ]" + rest[len("[x]"):]
}

func findingsTitle(lang string) string {
	if lang == "ko" {
		return "리뷰 지적 사항"
	}
	return "Findings of the review"
}

func outcomeLine(lang string, o outcome) string {
	if lang == "ko" {
		return fmt.Sprintf("plan %d의 리뷰 판정은 %s이다 (%s). 지적 사항을 해결한다.", o.plan, o.verdict, o.log)
	}
	return fmt.Sprintf("The review of plan %d says %s (%s). Mend what it found.", o.plan, o.verdict, o.log)
}

// demote turns headings of the findings into ones below the section's own, so
// that the section holds them all.
func demote(findings string) string {
	var b strings.Builder
	for _, l := range markdown.Parse([]byte(findings)).Lines {
		if l.Level == 1 || l.Level == 2 {
			b.WriteString(strings.Repeat("#", 3-l.Level))
		}
		b.WriteString(l.Raw + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
