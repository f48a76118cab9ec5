package main

import (
	"fmt"
	"strings"
)

// settingsText is the drover.yaml that init writes.
func settingsText(c agentChoice, facts Facts, language string) string {
	var b strings.Builder
	b.WriteString(`# drover's settings. Every key may be left out; drover doctor --settings shows
# what holds, drover help files and the README say more. A misspelt key is refused.
version: 1

# The screen, and the language that agents answer in.
`)
	fmt.Fprintf(&b, "language: {screen: %s, answers: %s}\n\n", language, language)
	b.WriteString("# The programs, where they are not on PATH (cron has a short one).\n# agents:\n")
	if len(facts.Programs) == 0 {
		b.WriteString("#   claude: {path: ~/.local/bin/claude, at_once: 3}\n")
	}
	for _, p := range facts.Programs {
		fmt.Fprintf(&b, "#   %s: {path: %s, at_once: 3}\n", p.Name, p.Path)
	}
	b.WriteString("\n")
	routesText(&b, c)
	b.WriteString("\nagent_task:\n")
	if !c.seed {
		b.WriteString(`  # Which route a PLAN's lane and grade mean; plain is for a PLAN.md without them.
  route: {local: {1-10: worker}, cloud: {1-10: worker}, plain: worker, review: reviewer}
`)
	}
	if facts.Skill != "" {
		fmt.Fprintf(&b, "  # %s archives and follows up by itself.\n  finalize: reviewer\n", facts.Skill)
	} else {
		b.WriteString("  # drover archives what passed and writes the follow-up of what did not.\n  finalize: drover\n")
	}
	b.WriteString(`  # Run directories of passed tasks, with prompts and logs; 0 deletes them at once.
  keep_logs: 7d

# Attempts at once over all routes; 0 is no limit.
limits: {total: 0}

# How often a step may fail in a row before a person is asked.
failures: {budget: 10}
`)
	return b.String()
}

func routesText(b *strings.Builder, c agentChoice) {
	if c.seed {
		b.WriteString("# Routes: the seed's table (pi, agy, claude, codex by lane and grade).\n")
		return
	}
	b.WriteString("# What a grade means. Without a model the program's own default is taken.\nroutes:\n")
	for _, r := range []struct{ name, agent string }{{"worker", c.worker}, {"reviewer", c.review}} {
		fmt.Fprintf(b, "  %s: {agent: %s}\n", r.name, r.agent)
	}
}

// firstTask is a held task that does something useful and harmless. For the
// script agent it carries the commands that do it.
func firstTask(c agentChoice, facts Facts, language string) string {
	checks := []string{"test -s NOTES.md"}
	if facts.Test != "" {
		checks = append(checks, facts.Test)
	}
	var verify, commands string
	for _, check := range checks {
		verify += "- `" + check + "`\n"
	}
	if c.worker == "script" {
		commands = firstTaskCommands
	}
	text := firstTaskEnglish
	if language == "ko" {
		text = firstTaskKorean
	}
	return strings.NewReplacer("{verify}\n", verify, "{commands}\n", commands).Replace(text)
}

const firstTaskCommands = "\n```sh run\n" +
	"{ echo '# Notes'; echo; echo 'Files of this project:'; git ls-files | sed 's/^/- /'; } > NOTES.md\n```\n"

const firstTaskEnglish = `---
task: first/01_notes
plan: 0
tag: NOTES
status: hold
---
# Notes for newcomers

This first task is held. Change it as you like, then: drover release first/01_notes

## Goal
Write NOTES.md in the repository's root: what this project is for, how it is
built and tested, and where a newcomer should begin to read. One page, checked
against the code. Change nothing else.
{commands}

## Implementation checklist
- [ ] 1. read the code and its documentation
- [ ] 2. write NOTES.md
- [ ] CODE_REVIEW brought up to date

## Changed files
| File | Item |
|---|---|
| ` + "`NOTES.md`" + ` | 2 |

## Verification
{verify}
`

const firstTaskKorean = `---
task: first/01_notes
plan: 0
tag: NOTES
status: hold
---
# 처음 읽는 사람을 위한 안내

이 첫 작업은 보류 상태입니다. 원하는 대로 고친 뒤: drover release first/01_notes

## 목표
저장소 루트에 NOTES.md를 작성한다: 이 프로젝트의 목적, 빌드와 테스트 방법, 처음
읽을 곳. 한 쪽 분량으로, 코드와 대조하여 확인한다. 다른 파일은 바꾸지 않는다.
{commands}

## 구현 체크리스트
- [ ] 1. 코드와 문서를 읽는다
- [ ] 2. NOTES.md를 작성한다
- [ ] CODE_REVIEW 동기화

## 수정 파일 요약
| 파일 | 항목 |
|---|---|
| ` + "`NOTES.md`" + ` | 2 |

## 검증
{verify}
`

// lineDiff shows what differs between two texts, line by line: "-" only in the
// first, "+" only in the second.
func lineDiff(a, b string) string {
	x, y := strings.Split(strings.TrimSuffix(a, "\n"), "\n"), strings.Split(strings.TrimSuffix(b, "\n"), "\n")
	if len(x)*len(y) > 1<<22 { // a settings file of thousands of lines: not worth the memory
		return "         (too long to compare here)\n"
	}
	common := commonLines(x, y)
	var out strings.Builder
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&out, "         -%s\n", x[i])
			i++
		default:
			fmt.Fprintf(&out, "         +%s\n", y[j])
			j++
		}
	}
	return out.String()
}

// commonLines counts, for every pair of tails, the lines of their longest
// common subsequence.
func commonLines(x, y []string) [][]int {
	n := make([][]int, len(x)+1)
	for i := range n {
		n[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}
