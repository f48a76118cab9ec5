package agenttask

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"drover/spec/markdown"
)

func readFacts(t testing.TB, p, text string) *facts {
	t.Helper()
	f, problem := testDialect("").Read(p, []byte(text))
	if problem != nil {
		t.Fatalf("%s: %v", p, problem)
	}
	return f.(*facts)
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "## 코드리뷰 결과\n종합 판정: PASS\n", []string{"PASS"}},
		{"item", "## 코드리뷰 결과\n- 종합 판정: WARN\n", []string{"WARN"}},
		{"bold label", "## 코드리뷰 결과\n- **종합 판정**: FAIL\n", []string{"FAIL"}},
		{"bold field", "## 코드리뷰 결과\n**종합 판정: PASS**\n", []string{"PASS"}},
		{"english", "## Code review result\n- Verdict: PASS\n", []string{"PASS"}},
		{"crlf and bom", "\ufeff# R\r\n## 코드리뷰 결과\r\n- 종합 판정: PASS\r\n", []string{"PASS"}},
		{"two", "## 코드리뷰 결과\n종합 판정: PASS\n종합 판정: FAIL\n", []string{"PASS", "FAIL"}},
		{"two sections", "## 코드리뷰 결과\n종합 판정: WARN\n## x\n## 코드리뷰 결과\n종합 판정: PASS\n", []string{"WARN", "PASS"}},
		{"outside its section", "## 검증 결과\n종합 판정: PASS\n## 코드리뷰 결과\nnothing\n", nil},
		{"after its section", "## 코드리뷰 결과\nnothing\n## 검증 결과\n종합 판정: PASS\n", nil},
		{"before any section", "종합 판정: PASS\n", nil},
		{"below a deeper heading", "## 코드리뷰 결과\n### 요약\n- 종합 판정: PASS\n", []string{"PASS"}},
		{"a deeper section of the name", "## x\n### 코드리뷰 결과\n- 종합 판정: PASS\n", nil},
		{"fence", "## 코드리뷰 결과\n```\n종합 판정: PASS\n```\n- 종합 판정: FAIL\n", []string{"FAIL"}},
		{"heading within a fence", "```\n## 코드리뷰 결과\n```\n종합 판정: PASS\n", nil},
		{"tilde fence with backticks in it", "## 코드리뷰 결과\n~~~\n```\n종합 판정: PASS\n~~~\n", nil},
		{"fence that never closes", "## 코드리뷰 결과\n```\n종합 판정: PASS\n", nil},
		{"comment", "## 코드리뷰 결과\n<!-- 종합 판정: PASS -->\n<!--\n종합 판정: PASS\n-->\n", nil},
		{"comment mark in code", "## 검증 결과\nreads `<!--`\n## 코드리뷰 결과\n종합 판정: PASS\n", []string{"PASS"}},
		{"quote", "## 코드리뷰 결과\n> 종합 판정: PASS\n", nil},
		{"in a sentence", "## 코드리뷰 결과\nthe line 종합 판정: PASS is an example\n", nil},
		{"choice left open", "## 코드리뷰 결과\n- 종합 판정: PASS|WARN|FAIL\n", nil},
		{"another word", "## 코드리뷰 결과\n- 종합 판정: OK\n", nil},
		{"lower case", "## 코드리뷰 결과\n- 종합 판정: pass\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := readFacts(t, "g/CODE_REVIEW.md", c.text).Verdicts; !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

const filled = `<!-- task=g/01_a plan=0 tag=A -->
# CODE_REVIEW 01_a

## 구현 항목 완료
| 항목 | 완료 | 근거 |
|---|---|---|
| 1 | [x] | a.go |

## 구현 체크리스트
- [x] 1. add it
- [x] CODE_REVIEW 동기화

## 계획 대비 변경 사항
없음

## 주요 설계 결정
Rows start at 1.

## 검증 결과
` + "```\nok\n```\n"

func TestMissing(t *testing.T) {
	if got := readFacts(t, "g/CODE_REVIEW.md", filled); len(got.Missing) > 0 || !got.Synced {
		t.Fatalf("a filled review: missing %v, synced %v", got.Missing, got.Synced)
	}
	for _, c := range []struct{ old, new, want string }{
		{"| 1 | [x] | a.go |", "| 1 | [ ] | a.go |", "구현 항목 완료"},
		{"| 1 | [x] | a.go |", "| 1 | [x] |  |", "구현 항목 완료"},
		{"| 1 | [x] | a.go |", "| 1 | [x] | TBD |", "구현 항목 완료"},
		{"| 1 | [x] | a.go |\n", "", "구현 항목 완료"},
		{"## 구현 항목 완료\n", "", "구현 항목 완료"},
		{"- [x] 1. add it", "- [ ] 1. add it", "구현 체크리스트"},
		{"- [x] CODE_REVIEW 동기화", "- [ ] CODE_REVIEW 동기화", "구현 체크리스트"},
		{"- [x] 1. add it\n- [x] CODE_REVIEW 동기화\n", "<!-- - [x] hidden -->\n", "구현 체크리스트"},
		{"없음\n", "\n", "계획 대비 변경 사항"},
		{"없음\n", "<!-- say what changed -->\n", "계획 대비 변경 사항"},
		{"없음\n", "- \n_미작성_\nTBD\n", "계획 대비 변경 사항"},
		{"Rows start at 1.\n", "-\n", "주요 설계 결정"},
		{"```\nok\n```\n", "```\n```\n", "검증 결과"},
	} {
		got := readFacts(t, "g/CODE_REVIEW.md", strings.Replace(filled, c.old, c.new, 1)).Missing
		if !reflect.DeepEqual(got, []string{c.want}) {
			t.Errorf("%q for %q: missing %v, want %s", c.new, c.old, got, c.want)
		}
	}
}

func TestWriteSet(t *testing.T) {
	f := readFacts(t, "g/PLAN.md", "## 수정 파일 요약\n| 파일 | 항목 |\n|---|---|\n| `internal/csv/reader.go` | 1 |\n| ./docs//a.md | 2 |\n| `../out` | 3 |\n| `/etc/x` | 3 |\n| `b.go`, `c.go` | 4 |\n|  | |\n| - | |\n")
	if want := []string{"internal/csv/reader.go", "docs/a.md", "b.go", "c.go"}; !reflect.DeepEqual(f.Writes, want) {
		t.Errorf("got %v, want %v", f.Writes, want)
	}
}

func TestNotText(t *testing.T) {
	for _, c := range []struct {
		text, want string
		line       int
	}{
		{"a\n\x00b\n", "NUL", 2},
		{"a\nb\nCaf\xe9\n", "UTF-8", 3},
		{"\xff\xfea\x00b\x00", "NUL", 1},
		{"---\n\tplan: 0\n---\nx\n", "tab", 2},
	} {
		_, problem := testDialect("").Read("agent-task/g/01_a/PLAN.md", []byte(c.text))
		if problem == nil || !strings.Contains(problem.Message, c.want) || problem.Line != c.line {
			t.Errorf("%q: %+v, want %s on line %d", c.text, problem, c.want, c.line)
		}
	}
	if _, problem := testDialect("").Read("g/CODE_REVIEW.md", []byte("output: Caf\xe9\n")); problem != nil {
		t.Errorf("what an agent pasted is taken as it is: %v", problem)
	}
}

// TestOwnDocuments: what drover writes itself, drover understands.
func TestOwnDocuments(t *testing.T) {
	for _, lang := range []string{"ko", "en"} {
		f := readFacts(t, "agent-task/g/01_a/PLAN.md", NewTask("g/01_a", lang))
		if f.Task != "g/01_a" || f.Tag != "A" || f.Status != "hold" || !f.Unfilled || len(f.Items) != 2 || f.Korean != (lang == "ko") {
			t.Errorf("new task in %s: %+v", lang, f)
		}
		text := NewTask("g/01_a", lang)
		for _, p := range placeholders() {
			text = strings.ReplaceAll(text, p, "real")
		}
		if f := readFacts(t, "agent-task/g/01_a/PLAN.md", text); f.Unfilled {
			t.Errorf("filled in, it still counts as a template:\n%s", text)
		}
	}
}

func TestNextPlan(t *testing.T) {
	old := "\ufeff---\ntask: g/01_a\r\nplan: 3\ntag: A\n---\n# 01_a\n\n## 구현 체크리스트\n- [x] 1. one\n* [X] two\n```md\n- [x] in code\n```\n\n## 리뷰 지적 사항\nold findings\n"
	got := string(nextPlan([]byte(old), header("g/01_a", 4, "A"), outcome{3, "FAIL", "code_review_3.log", "- 종합 판정: FAIL\n# big\n## sub\n- mend it"}))
	want := "<!-- task=g/01_a plan=4 tag=A -->\n# 01_a\n\n## 구현 체크리스트\n- [ ] 1. one\n* [ ] two\n```md\n- [x] in code\n```\n\n## 리뷰 지적 사항\nplan 3의 리뷰 판정은 FAIL이다 (code_review_3.log). 지적 사항을 해결한다.\n\n- 종합 판정: FAIL\n### big\n### sub\n- mend it\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	again := nextPlan([]byte(got), header("g/01_a", 5, "A"), outcome{4, "FAIL", "code_review_4.log", "more"})
	if n := bytes.Count(again, []byte("## 리뷰 지적 사항")); n != 1 || bytes.Contains(again, []byte("mend it")) {
		t.Errorf("findings must not pile up:\n%s", again)
	}
	if f := readFacts(t, "agent-task/g/01_a/PLAN.md", string(again)); f.Plan != 5 || f.Tag != "A" {
		t.Errorf("the next plan reads as %+v", f)
	}
	plain := string(nextPlan([]byte("do it\n"), header("g/01_a", 1, "A"), outcome{0, "WARN", "code_review_0.log", ""}))
	if !strings.Contains(plain, "do it\n\n## Findings of the review\nThe review of plan 0 says WARN") {
		t.Errorf("of a dropped-in plan:\n%s", plain)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{filled, NewTask("g/01_a", "ko"), "---\nstatus: hold\n---\n", "상태: USER_REVIEW\n연결 대상: [a](../x)\n", "<!-- task=a plan=0 tag=b -->\nverdict=PASS\n", ignoreBegin + "\n" + ignoreEnd} {
		f.Add(text)
	}
	d := testDialect("drover")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"PLAN.md", "CODE_REVIEW-local-G05.md", "USER_REVIEW.md", "complete.log", "plan_0.log", "code_review_local_G05_0.log", ".gitignore"} {
			p := "agent-task/g/01_a/" + name
			facts, problem := d.Read(p, []byte(text))
			if problem != nil {
				if problem.File != p || problem.Message == "" || problem.Line < 0 || problem.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
					t.Fatalf("%s: %+v", name, problem)
				}
				continue
			}
			b, err := facts.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := d.Decode(p, b); err != nil || !reflect.DeepEqual(again, facts) {
				t.Fatalf("%s: %v\n%+v\n%+v", name, err, facts, again)
			}
		}
		nextPlan([]byte(text), header("g/01_a", 1, "A"), outcome{findings: text})
	})
}

func FuzzDecode(f *testing.F) {
	b, _ := readFacts(f, "g/CODE_REVIEW.md", filled).AppendBinary(nil)
	f.Add(b)
	d := testDialect("")
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := d.Decode("g/CODE_REVIEW.md", b)
		if err != nil {
			return
		}
		again, err := got.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decode("g/CODE_REVIEW.md", again); err != nil {
			t.Fatalf("what was decoded cannot be decoded again: %v", err)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"01_a", "02+01_a", "03+01,02_a_b", "PLAN-local-G05.md", "code_review_cloud_G10_12.log", "plan_3.log", "4913"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := parseName(s); ok {
			back := n.index
			if after := slices.Collect(n.after()); len(after) > 0 {
				back += "+" + strings.Join(after, ",")
			}
			if back+"_"+n.slug != s {
				t.Fatalf("%q reads as %+v", s, n)
			}
		}
		switch n := parseFile(s); n.kind {
		case planFile:
			if "PLAN"+n.slot()+".md" != s {
				t.Fatalf("%q reads as %+v", s, n)
			}
		case reviewFile:
			if "CODE_REVIEW"+n.slot()+".md" != s {
				t.Fatalf("%q reads as %+v", s, n)
			}
		}
		if c := markdown.Clip(s, len(s)/2); len(c) > len(s)/2 {
			t.Fatalf("%q is clipped to %q", s, c)
		}
	})
}
