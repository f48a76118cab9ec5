package script

import (
	"context"
	"fmt"
	"os"
	"strings"

	"drover/spec/markdown"
)

// work runs the PLAN's blocks and records them in the CODE_REVIEW beside it.
func (a *agent) work(ctx context.Context, doc string) (string, error) {
	plan, err := os.ReadFile(doc)
	if err != nil {
		return "", refuse("read the plan: %v", err)
	}
	h := headerOf(plan, a.taskOf(doc))
	done, err := a.runBlocks(ctx, plan, h.number)
	if err != nil {
		return "", err
	}
	review, err := beside(doc, reviewName)
	if err != nil {
		return "", err
	}
	if review == "" {
		return summary(done) + "\nThere is no CODE_REVIEW beside the PLAN, so nothing was recorded.", nil
	}
	raw, err := os.ReadFile(review)
	if err != nil {
		return "", fmt.Errorf("read the review file: %w", err)
	}
	if err := replace(review, fill(raw, done)); err != nil {
		return "", err
	}
	return summary(done), nil
}

// runBlocks runs the `sh run` blocks in order up to the first that fails.
func (a *agent) runBlocks(ctx context.Context, doc []byte, plan int) ([]command, error) {
	var done []command
	for _, b := range markdown.Blocks(markdown.Parse(doc).Lines) {
		if info := strings.Fields(b.Info); len(info) < 2 || info[0] != "sh" || info[1] != "run" {
			continue
		}
		c, err := a.run(ctx, b.Text, plan)
		if err != nil {
			return done, err
		}
		if c.exit != 0 {
			return done, fmt.Errorf("the block on line %d (%s) ended with exit code %d\n%s", b.Line, c.name(), c.exit, c.output)
		}
		done = append(done, c)
	}
	if len(done) == 0 {
		return nil, refuse("the document has no fenced block with the info string `sh run`, and the script agent does nothing else")
	}
	return done, nil
}

func summary(done []command) string {
	var b strings.Builder
	for _, c := range done {
		fmt.Fprintf(&b, "%s: exit %d\n", c.name(), c.exit)
	}
	return strings.TrimSpace(b.String())
}

// fill writes what was done into the implementation fields that are still
// empty; what somebody has written stays (FORMATS 4.2).
func fill(raw []byte, done []command) []byte {
	t := edit(raw)
	for _, s := range t.doc.Sections(markdown.Titles("completed")...) {
		t.fillTable(s, done)
	}
	for _, s := range t.doc.Sections(markdown.Titles("checklist")...) {
		for _, it := range s.Items() {
			if !it.Checked {
				t.lines[it.Line] = strings.Replace(t.lines[it.Line], "[ ]", "[x]", 1)
			}
		}
	}
	t.fillText("deviations", t.pick("없음", "None"))
	t.fillText("decisions", t.pick("PLAN의 `sh run` 블록을 적힌 순서대로 실행했다.", "The PLAN's `sh run` blocks were run in the order in which they stand."))
	var results strings.Builder
	for _, c := range done {
		fmt.Fprintf(&results, "- %s: exit %d (%.1fs)\n", quoted(c.name()), c.exit, c.took.Seconds())
	}
	if out := done[len(done)-1].fenced(); out != "" {
		results.WriteString("\n" + out + "\n")
	}
	t.fillText("results", strings.TrimRight(results.String(), "\n"))
	return t.bytes()
}

// fillText puts words into sections that hold nothing yet, in the place of
// their placeholders.
func (t *text) fillText(section, words string) {
	for _, s := range t.doc.Sections(markdown.Titles(section)...) {
		if !empty(s) {
			continue
		}
		for _, l := range s.Lines {
			if placeholder(l.Raw) {
				t.drop(l.No)
			}
		}
		t.after(s.Line, words+"\n")
	}
}

// fillTable gives every row its item, a tick and its evidence; a table without
// rows gets one.
func (t *text) fillTable(s markdown.Section, done []command) {
	evidence := quoted(done[len(done)-1].name()) + " exit 0"
	rows := s.Rows()
	for i, row := range rows {
		for j, cell := range row.Cells {
			switch {
			case strings.Contains(cell, "[ ]"):
				row.Cells[j] = strings.Replace(cell, "[ ]", "[x]", 1)
			case !placeholder(cell):
			case j == 0:
				row.Cells[j] = fmt.Sprint(i + 1)
			case j == 1:
				row.Cells[j] = "[x]"
			default:
				row.Cells[j] = evidence
			}
		}
		for j := range row.Cells {
			row.Cells[j] = strings.ReplaceAll(row.Cells[j], "|", `\|`)
		}
		t.lines[row.Line] = "| " + strings.Join(row.Cells, " | ") + " |"
	}
	if len(rows) > 0 {
		return
	}
	row := "| 1 | [x] | " + strings.ReplaceAll(evidence, "|", `\|`) + " |"
	for i := len(s.Lines) - 1; i >= 0; i-- {
		if l := s.Lines[i]; !l.Code && strings.HasPrefix(strings.TrimSpace(l.Text), "|") {
			t.after(l.No, row)
			return
		}
	}
	head := t.pick("| 항목 | 완료 | 근거 |", "| Item | Done | Evidence |")
	t.after(s.Line, head+"\n|---|---|---|\n"+row+"\n")
}

// quoted is a command as inline code.
func quoted(name string) string {
	if strings.Contains(name, "`") {
		return "`` " + name + " ``"
	}
	return "`" + name + "`"
}
