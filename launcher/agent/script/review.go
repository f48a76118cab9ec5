package script

import (
	"context"
	"fmt"
	"os"
	"strings"

	"drover/spec/markdown"
)

// verdicts that the script agent can come to.
const (
	pass = "PASS"
	fail = "FAIL"
)

// review judges a task by the commands of its PLAN, and finalizes it where it
// is told to. A review that stopped half way goes on from where the files
// show it stood: a verdict that is written is not come to again.
func (a *agent) review(ctx context.Context, doc string) (string, error) {
	raw, err := os.ReadFile(doc)
	if err != nil {
		return "", refuse("read the review file: %v", err)
	}
	p, err := a.pairOf(doc, raw)
	if err != nil {
		return "", err
	}
	verdict, err := written(raw)
	if err != nil {
		return "", err
	}
	if verdict == "" {
		done, err := a.check(ctx, p.plan, p.number)
		if err != nil {
			return "", err
		}
		verdict, raw = judge(raw, done)
		if err := replace(doc, raw); err != nil {
			return "", err
		}
	}
	message := "VERDICT: " + verdict
	if a.variable(FinalizeEnv) != "reviewer" {
		return message, nil
	}
	p.review = raw
	if verdict == pass {
		return message, a.archive(p)
	}
	return message, a.followUp(p)
}

// written is the verdict that stands in a review already, or "".
func written(raw []byte) (string, error) {
	var found []string
	for _, s := range markdown.Parse(raw).Sections(markdown.Titles("review")...) {
		for _, l := range s.Lines {
			if v := verdictOn(l); v != "" {
				found = append(found, v)
			}
		}
	}
	switch {
	case len(found) > 1:
		return "", refuse("the review file holds %d verdicts", len(found))
	case len(found) == 1:
		return found[0], nil
	}
	return "", nil
}

// verdictOn is the verdict that a line of a review section gives, or "".
func verdictOn(l markdown.Line) string {
	if l.Code {
		return ""
	}
	words := strings.TrimSpace(strings.ReplaceAll(l.Text, "**", ""))
	if rest, ok := markdown.Bullet(words); ok {
		words = rest
	}
	label, value, _ := strings.Cut(words, ":")
	for _, title := range markdown.Titles("verdict") {
		value = strings.TrimSpace(value)
		if strings.EqualFold(strings.TrimSpace(label), title) && (value == pass || value == "WARN" || value == fail) {
			return value
		}
	}
	return ""
}

// check runs the commands under the verification heading, all of them: the
// findings shall be complete.
func (a *agent) check(ctx context.Context, plan []byte, number int) ([]command, error) {
	var done []command
	for _, s := range markdown.Parse(plan).Sections(markdown.Titles("verification")...) {
		for _, cmd := range commandsIn(s) {
			c, err := a.run(ctx, cmd, number)
			if err != nil {
				return done, err
			}
			done = append(done, c)
		}
	}
	if len(done) == 0 {
		return nil, refuse("the PLAN has no command under ## %s or ## %s, and the script agent judges by nothing else",
			markdown.TitleIn("verification", "ko"), markdown.TitleIn("verification", "en"))
	}
	return done, nil
}

// commandsIn are a section's back-quoted bullets, else its sh blocks.
func commandsIn(s markdown.Section) []string {
	var out []string
	for _, l := range s.Lines {
		if l.Code {
			continue
		}
		if rest, ok := markdown.Bullet(l.Text); ok {
			if cmd := markdown.Quoted(rest); cmd != "" {
				out = append(out, cmd)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, b := range markdown.Blocks(s.Lines) {
		if info := strings.Fields(b.Info); len(info) > 0 && info[0] == "sh" {
			out = append(out, b.Text)
		}
	}
	return out
}

// judge writes the review's section with its one verdict and the findings.
func judge(raw []byte, done []command) (verdict string, out []byte) {
	t := edit(raw)
	verdict = pass
	var findings strings.Builder
	for _, c := range done {
		if c.exit == 0 {
			continue
		}
		verdict = fail
		fmt.Fprintf(&findings, "- %s %s: exit %d\n", t.pick("발견:", "Finding:"), quoted(c.name()), c.exit)
		if text := c.fenced(); text != "" {
			findings.WriteString("\n" + text + "\n\n")
		}
	}
	if findings.Len() == 0 {
		fmt.Fprintf(&findings, "- %s\n", t.pick("발견: 없음", "Findings: none"))
	}
	body := fmt.Sprintf("- %s: %s\n%s", markdown.TitleIn("verdict", t.language()), verdict, strings.TrimRight(findings.String(), "\n"))
	if s := t.doc.Sections(markdown.Titles("review")...); len(s) > 0 {
		t.after(s[0].Line, "\n"+body)
	} else {
		t.add("## " + markdown.TitleIn("review", t.language()) + "\n\n" + body)
	}
	return verdict, t.bytes()
}
