package agenttask

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"drover/spec"
	"drover/spec/markdown"
)

// The markers of the block that drover manages in .gitignore (DIALECTS 1.11).
const (
	ignoreBegin = "# agent-ops:begin"
	ignoreEnd   = "# agent-ops:end"
)

// ignoreLines are what no one commits; logs and archives are read by people
// and stay out of it.
func ignoreLines(root string) []string {
	return []string{".drover/", root + "/**/*.swp", root + "/**/*~", root + "/**/.#*"}
}

func managed(text []byte) bool {
	begin := bytes.Index(text, []byte(ignoreBegin))
	return begin >= 0 && bytes.Contains(text[begin:], []byte(ignoreEnd))
}

// ignoreBlock brings the managed block in before the first review, so that
// reviews never edit it side by side; it is there once, whatever it says.
func (d *Dialect) ignoreBlock(t spec.Tree) []spec.Change {
	if f, ok := t.Doc(".gitignore").Facts.(*facts); ok && f.Managed {
		return nil
	}
	return []spec.Change{spec.ManagedBlock{Path: ".gitignore", Begin: ignoreBegin, End: ignoreEnd, Lines: ignoreLines(d.Root)}}
}

func header(task string, plan int, tag string) string {
	return fmt.Sprintf("<!-- task=%s plan=%d tag=%s -->\n", task, plan, tag)
}

// stub is the CODE_REVIEW of a PLAN that has none.
func (d *Dialect) stub(x *taskFacts, task spec.Task) spec.Change {
	return spec.CreateFile{
		Path: path.Join(x.dir, "CODE_REVIEW"+x.plan.slot()+".md"),
		Text: d.stubText(x, task.Generation),
	}
}

// stubText is a CODE_REVIEW with everything still to be filled in. What the
// worker and the reviewer must write stands in comments, for agents without a
// code-review skill; comments never count as content or verdict.
func (d *Dialect) stubText(x *taskFacts, gen spec.Generation) string {
	lang := "en"
	if x.plan.Korean {
		lang = "ko"
	}
	h := func(section string) string { return "## " + markdown.TitleIn(section, lang) + "\n" }
	var b strings.Builder
	b.WriteString(header(x.fullName(), gen.Plan, gen.Tag))
	fmt.Fprintf(&b, "# CODE_REVIEW %s\n\n", x.base)
	b.WriteString("<!-- Worker: fill in every section below with what you did. Leave the review section to the reviewer. -->\n\n")
	b.WriteString(h("completed"))
	if lang == "ko" {
		b.WriteString("| 항목 | 완료 | 근거 |\n|---|---|---|\n")
	} else {
		b.WriteString("| Item | Done | Evidence |\n|---|---|---|\n")
	}
	items := itemsOf(x.plan.Items)
	for i := range items {
		fmt.Fprintf(&b, "| %d | [ ] |  |\n", i+1)
	}
	b.WriteString("\n" + h("checklist"))
	for _, it := range items {
		b.WriteString("- [ ] " + it + "\n")
	}
	b.WriteString("- [ ] " + syncItem(lang) + "\n")
	for _, s := range [...]string{"deviations", "decisions", "results"} {
		b.WriteString("\n" + h(s) + "\n")
	}
	b.WriteString("\n" + d.reviewerNote(x, gen, lang))
	return b.String()
}

// itemsOf are a PLAN's items without the one about the review file itself.
func itemsOf(items []string) []string {
	out := []string{}
	for _, it := range items {
		if !strings.Contains(it, "CODE_REVIEW") {
			out = append(out, it)
		}
	}
	if len(out) == 0 {
		out = append(out, "1")
	}
	return out
}

func syncItem(lang string) string {
	if lang == "ko" {
		return "CODE_REVIEW 동기화"
	}
	return "CODE_REVIEW brought up to date"
}

// reviewerNote tells a reviewer what to write and where.
func (d *Dialect) reviewerNote(x *taskFacts, gen spec.Generation, lang string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Reviewer: check the work against the PLAN, then add a section \"## %s\"\n", markdown.TitleIn("review", lang))
	fmt.Fprintf(&b, "with exactly one line \"- %s: PASS\", WARN or FAIL, and the findings below it.\n", markdown.TitleIn("verdict", lang))
	if !d.drover() {
		slot := x.plan.logSlot()
		fmt.Fprintf(&b, "PASS: rename the PLAN to plan%s_%d.log and this file to code_review%s_%d.log, write complete.log\n", slot, gen.Plan, slot, gen.Plan)
		what := "the folder"
		if x.flat {
			what = "these files, not WORK_LOG.md,"
		}
		fmt.Fprintf(&b, "(this file's first line, then verdict=PASS, completed_at=<RFC 3339>, review=<file>), and move %s to\n%s.\n", what, d.archivePattern(x))
		fmt.Fprintf(&b, "WARN or FAIL: rename the pair the same way, and write the next PLAN and CODE_REVIEW with plan=%d.\n", gen.Plan+1)
	}
	b.WriteString("-->\n")
	return b.String()
}

func (d *Dialect) archivePattern(x *taskFacts) string {
	return path.Join(d.Root, "archive/<YYYY>/<MM>", x.fullName())
}
