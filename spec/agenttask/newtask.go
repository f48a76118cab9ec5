package agenttask

import (
	"path"

	"drover/spec/markdown"
)

// template is the words of a new PLAN in one language.
type template struct{ goal, item, file, check, fileHead string }

// path of the changed-files table, in every language.
const pathPlaceholder = "{{path/to/file}}"

func templateIn(lang string) template {
	if lang == "ko" {
		return template{"{{끝났을 때 참이어야 할 것}}", "{{한 단계}}", pathPlaceholder, "{{증명하는 명령}}", "| 파일 | 항목 |"}
	}
	return template{"{{what shall be true when this is done}}", "{{one step}}", pathPlaceholder, "{{a command that proves it}}", "| File | Item |"}
}

// placeholders are the texts that a person must replace before a new PLAN may
// run.
func placeholders() []string {
	ko, en := templateIn("ko"), templateIn("en")
	return []string{ko.goal, ko.item, ko.check, en.goal, en.item, en.check, pathPlaceholder}
}

// NewTask is a held PLAN with placeholders, for a person to fill in.
func NewTask(task, lang string) string {
	base, w := path.Base(task), templateIn(lang)
	h := func(section string) string { return "## " + markdown.TitleIn(section, lang) + "\n" }
	return "---\ntask: " + task + "\nplan: 0\ntag: " + defaultTag(base) + "\nstatus: hold\n---\n# " + base + "\n\n" +
		h("goal") + w.goal + "\n\n" +
		h("checklist") + "- [ ] 1. " + w.item + "\n- [ ] " + syncItem(lang) + "\n\n" +
		h("files") + w.fileHead + "\n|---|---|\n| `" + w.file + "` | 1 |\n\n" +
		h("verification") + "- `" + w.check + "`\n"
}
