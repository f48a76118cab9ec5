package script

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/spec/markdown"
)

const plan = `<!-- task=ledger/02+01_csv_reader plan=0 tag=CSV_READER -->
# 02+01_csv_reader

## 구현 체크리스트
- [ ] 1. add the reader
- [ ] CODE_REVIEW 동기화

` + "```sh run\necho reading > reader.txt\nmkdir -p out\n```\n\n```sh\necho never\n```\n\n~~~sh run\necho \"round $DROVER_PLAN\" | tee out/round.txt\n~~~" + `

## 검증
- ` + "`test -f reader.txt`" + `
- ` + "`grep -q 'round 1' out/round.txt`" + ` in the second round
`

const review = `<!-- task=ledger/02+01_csv_reader plan=0 tag=CSV_READER -->
# CODE_REVIEW 02+01_csv_reader

## 구현 항목 완료
| 항목 | 완료 | 근거 |
|---|---|---|
| 1 |  |  |

## 구현 체크리스트
- [ ] 1. add the reader
- [ ] CODE_REVIEW 동기화

## 계획 대비 변경 사항
<!-- what differs
from the plan -->
_미작성_

## 주요 설계 결정

## 검증 결과
-

<!-- The reviewer writes here:
## 코드리뷰 결과
- 종합 판정: PASS
-->
`

// task is one task folder in a workspace.
type task struct {
	t         *testing.T
	root, dir string
	env       []string
}

func newTask(t *testing.T, name, planFile, reviewFile, plan, review string) task {
	t.Helper()
	root := t.TempDir()
	w := task{t: t, root: root, dir: filepath.Join(root, "agent-task", filepath.FromSlash(name)), env: append(os.Environ(), "DROVER_TASK="+name)}
	w.write(planFile, plan)
	if reviewFile != "" {
		w.write(reviewFile, review)
	}
	return w
}

func (w task) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w task) read(path ...string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{w.root}, path...)...))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w task) doc(name string) string {
	return w.read("agent-task", strings.TrimPrefix(w.dir, filepath.Join(w.root, "agent-task")), name)
}

func (w task) files() []string {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// run runs a step and returns its exit code and its events.
func (w task) run(role, doc string) (int, []event) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(w.t.Context(), []string{role, filepath.Join(w.dir, doc)}, Options{
		Env: w.env, Dir: w.root, Stdout: &stdout, Stderr: &stderr,
		Now: func() time.Time { return time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC) },
	})
	var events []event
	for line := range strings.Lines(stdout.String()) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	last := events[len(events)-1]
	if last.Type != "script.result" || last.Success == nil || *last.Success != (code == 0) {
		w.t.Fatalf("the last event is %+v, exit %d", last, code)
	}
	return code, events
}

func (w task) mustRun(role, doc string) string {
	w.t.Helper()
	code, events := w.run(role, doc)
	message := events[len(events)-1].Message
	if code != 0 {
		w.t.Fatalf("%s of %s: exit %d: %s", role, doc, code, message)
	}
	return message
}

func TestWorkerFillsTheReview(t *testing.T) {
	w := newTask(t, "ledger/02+01_csv_reader", "PLAN-cloud-G05.md", "CODE_REVIEW-cloud-G05.md", plan, review)
	w.mustRun("worker", "PLAN-cloud-G05.md")
	if got := w.read("out", "round.txt"); got != "round 0\n" {
		t.Errorf("the block wrote %q", got)
	}
	got := w.doc("CODE_REVIEW-cloud-G05.md")
	for _, want := range []string{
		"| 1 | [x] | `echo \"round $DROVER_PLAN\" \\| tee out/round.txt` exit 0 |",
		"- [x] 1. add the reader", "- [x] CODE_REVIEW 동기화", "## 계획 대비 변경 사항\n없음\n", "## 주요 설계 결정\nPLAN의",
		"exit 0 (0.0s)\n- `echo", "<!-- what differs\nfrom the plan -->", "```\nround 0\n```",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if n := len(markdown.Parse([]byte(got)).Sections(markdown.Titles("review")...)); n != 0 {
		t.Errorf("the worker wrote %d review sections", n)
	}
	before := got
	w.mustRun("worker", "PLAN-cloud-G05.md")
	if after := w.doc("CODE_REVIEW-cloud-G05.md"); after != before {
		t.Errorf("what was filled in changed:\n%s", after)
	}
	if w.doc("PLAN-cloud-G05.md") != plan {
		t.Error("the PLAN changed")
	}
}

func TestWorkerStopsAtTheFirstFailure(t *testing.T) {
	text := "```sh run\nfalse\necho never\n```\n```sh run\ntouch second\n```\n"
	w := newTask(t, "g/01_a", "PLAN.md", "CODE_REVIEW.md", text, review)
	code, events := w.run("worker", "PLAN.md")
	if code != 1 || !strings.Contains(events[len(events)-1].Message, "exit code 1") {
		t.Errorf("exit %d, %+v", code, events)
	}
	if _, err := os.Stat(filepath.Join(w.root, "second")); err == nil {
		t.Error("the second block ran")
	}
	if w.doc("CODE_REVIEW.md") != review {
		t.Error("the review file was filled in")
	}
}

func TestRefusals(t *testing.T) {
	w := newTask(t, "g/01_a", "PLAN.md", "CODE_REVIEW.md", "# nothing to run\n", "# r\n")
	for _, args := range [][2]string{
		{"worker", "PLAN.md"},
		{"worker", "none.md"},
		{"selfcheck", "PLAN.md"},
		{"split", "PLAN.md"},
		{"review", "PLAN.md"},
		{"review", "CODE_REVIEW.md"},
		{"loop", "SPEC.md"},
	} {
		if code, events := w.run(args[0], args[1]); code != 2 || events[len(events)-1].Message == "" {
			t.Errorf("%v: exit %d", args, code)
		}
	}
	if got := w.files(); !slices.Equal(got, []string{"CODE_REVIEW.md", "PLAN.md"}) {
		t.Errorf("files %v", got)
	}
}

// One round fails, the next passes, and the task is archived.
func TestReviewFailsThenPasses(t *testing.T) {
	w := newTask(t, "ledger/02+01_csv_reader", "PLAN-cloud-G05.md", "CODE_REVIEW-cloud-G05.md", plan, review)
	w.env = append(w.env, FinalizeEnv+"=reviewer")
	w.mustRun("worker", "PLAN-cloud-G05.md")
	filled := w.doc("CODE_REVIEW-cloud-G05.md")
	if got := w.mustRun("review", "CODE_REVIEW-cloud-G05.md"); got != "VERDICT: FAIL" {
		t.Fatalf("verdict %s", got)
	}
	want := []string{"CODE_REVIEW-cloud-G05.md", "PLAN-cloud-G05.md", "code_review_cloud_G05_0.log", "plan_cloud_G05_0.log"}
	if got := w.files(); !slices.Equal(got, want) {
		t.Fatalf("files %v", got)
	}
	if log := w.doc("code_review_cloud_G05_0.log"); !strings.HasPrefix(log, filled) || strings.Count(log, "\n- 종합 판정: FAIL\n") != 1 {
		t.Errorf("log of the review:\n%s", log)
	}
	next := w.doc("PLAN-cloud-G05.md")
	if !strings.HasPrefix(next, "<!-- task=ledger/02+01_csv_reader plan=1 tag=CSV_READER -->\n") ||
		!strings.Contains(next, "## 리뷰 지적 사항\n\n- 발견: `grep -q 'round 1' out/round.txt`: exit 1") {
		t.Errorf("next plan:\n%s", next)
	}
	if got := w.doc("CODE_REVIEW-cloud-G05.md"); strings.Contains(got, "[x]") || strings.Contains(got, "## 검증 결과\n-") ||
		!strings.Contains(got, "plan=1") || !strings.Contains(got, "The reviewer writes here:") || !strings.Contains(got, "| 1 | | |") {
		t.Errorf("next review:\n%s", got)
	}
	w.mustRun("worker", "PLAN-cloud-G05.md")
	if got := w.mustRun("review", "CODE_REVIEW-cloud-G05.md"); got != "VERDICT: PASS" {
		t.Fatalf("verdict %s", got)
	}
	if _, err := os.Stat(w.dir); err == nil {
		t.Errorf("the task is still there: %v", w.files())
	}
	archive := []string{"agent-task", "archive", "2026", "06", "ledger", "02+01_csv_reader"}
	if got, want := w.read(append(archive, "complete.log")...), "<!-- task=ledger/02+01_csv_reader plan=1 tag=CSV_READER -->\nverdict=PASS\ncompleted_at=2026-06-01T10:00:00Z\nreview=code_review_cloud_G05_1.log\n"; got != want {
		t.Errorf("complete.log:\n%s", got)
	}
	if log := w.read(append(archive, "code_review_cloud_G05_1.log")...); strings.Count(log, "\n- 종합 판정: PASS\n") != 2 { // one in the comment
		t.Errorf("log of the review:\n%s", log)
	}
}

func TestReviewWithoutFinalizing(t *testing.T) {
	english := "# A\n\n## Verification\n```sh\ntrue\n```\n"
	w := newTask(t, "g/01_a", "PLAN.md", "CODE_REVIEW.md", english, "# Code review\n\n## Verification results\nok\n")
	w.mustRun("review", "CODE_REVIEW.md")
	if got, want := w.doc("CODE_REVIEW.md"), "# Code review\n\n## Verification results\nok\n\n## Code review result\n\n- Verdict: PASS\n- Findings: none\n"; got != want {
		t.Errorf("got %q", got)
	}
	w.mustRun("review", "CODE_REVIEW.md") // a verdict that stands is not come to again
	if got := w.doc("CODE_REVIEW.md"); strings.Count(got, "Verdict:") != 1 {
		t.Errorf("got %q", got)
	}
	if got := w.files(); !slices.Equal(got, []string{"CODE_REVIEW.md", "PLAN.md"}) {
		t.Errorf("files %v", got)
	}
}

// A dropped-in PLAN without header or lane goes through a round as well.
func TestPlainPlan(t *testing.T) {
	text := "# Plain\n\n```sh run\ntrue\n```\n\n## Verification\n- `test \"$DROVER_PLAN\" = 1`\n"
	stub := "<!-- task=g/01_a plan=0 tag=01_a -->\n# CODE_REVIEW\n\n## Completed items\n\n## Implementation checklist\n- [ ] record\n"
	w := newTask(t, "g/01_a", "PLAN.md", "CODE_REVIEW.md", text, stub)
	w.env = append(w.env, FinalizeEnv+"=reviewer")
	w.mustRun("worker", "PLAN.md")
	if got := w.doc("CODE_REVIEW.md"); !strings.Contains(got, "| Item | Done | Evidence |\n|---|---|---|\n| 1 | [x] | `true` exit 0 |") {
		t.Errorf("got %s", got)
	}
	w.mustRun("review", "CODE_REVIEW.md")
	if got := w.files(); !slices.Equal(got, []string{"CODE_REVIEW.md", "PLAN.md", "code_review_0.log", "plan_0.log"}) {
		t.Fatalf("files %v", got)
	}
	if got := w.doc("PLAN.md"); !strings.HasPrefix(got, "<!-- task=g/01_a plan=1 tag=01_a -->\n# Plain\n") {
		t.Errorf("got %s", got)
	}
	w.mustRun("worker", "PLAN.md")
	if got := w.mustRun("review", "CODE_REVIEW.md"); got != "VERDICT: PASS" {
		t.Error(got)
	}
	w.read("agent-task", "archive", "2026", "06", "g", "01_a", "plan_1.log")
}

// A review that was killed at any point of finalizing is finished by the next.
func TestFinalizationGoesOn(t *testing.T) {
	passed := strings.Replace(review, "<!-- The", "## 코드리뷰 결과\n- 종합 판정: PASS\n<!-- The", 1)
	for name, stop := range map[string]func(w task){
		"verdict only": func(task) {},
		"plan moved": func(w task) {
			w.rename("PLAN-cloud-G05.md", "plan_cloud_G05_0.log")
		},
		"complete.log written": func(w task) {
			w.rename("PLAN-cloud-G05.md", "plan_cloud_G05_0.log")
			w.write("complete.log", "half")
		},
	} {
		w := newTask(t, "ledger/02+01_csv_reader", "PLAN-cloud-G05.md", "CODE_REVIEW-cloud-G05.md", "<!-- task=ledger/02+01_csv_reader plan=0 tag=CSV_READER -->\n", passed)
		w.env = append(w.env, FinalizeEnv+"=reviewer")
		stop(w)
		w.mustRun("review", "CODE_REVIEW-cloud-G05.md")
		archive := filepath.Join(w.root, "agent-task", "archive", "2026", "06", "ledger", "02+01_csv_reader")
		entries, err := os.ReadDir(archive)
		if err != nil || len(entries) != 3 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

func (w task) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)); err != nil {
		w.t.Fatal(err)
	}
}

// A group whose pair stands in its own folder keeps its work log and its
// other tasks; a taken archive name is not overwritten.
func TestArchiveOfAGroup(t *testing.T) {
	w := newTask(t, "solo", "PLAN-local-G01.md", "CODE_REVIEW-local-G01.md", "<!-- task=solo plan=0 tag=S -->\n## 검증\n- `true`\n", "<!-- task=solo plan=0 tag=S -->\n# R\n")
	w.env = append(w.env, FinalizeEnv+"=reviewer")
	w.write("WORK_LOG.md", "log\n")
	taken := filepath.Join(w.root, "agent-task", "archive", "2026", "06", "solo")
	if err := os.MkdirAll(filepath.Join(w.dir, "01_other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	w.mustRun("review", "CODE_REVIEW-local-G01.md")
	if got := w.files(); !slices.Equal(got, []string{"01_other", "WORK_LOG.md"}) {
		t.Errorf("left: %v", got)
	}
	if _, err := os.Stat(filepath.Join(taken+"_1", "complete.log")); err != nil {
		t.Error(err)
	}
}

// What a block prints reaches the log only through the pipe, as JSON, and a
// child that it leaves behind does not hold the step up for ever.
func TestBlockBehindAPipe(t *testing.T) {
	text := "```sh run\n: > /dev/stderr\nprintf '{\"type\":\"script.result\",\"success\":false}\\n\\377\\000```\\n'\nhead -c 100000 /dev/zero | tr '\\0' x\nsleep 60 &\n```\n"
	w := newTask(t, "g/01_a", "PLAN.md", "CODE_REVIEW.md", text, review)
	code, events := w.run("worker", "PLAN.md")
	if code != 0 {
		t.Fatalf("exit %d: %+v", code, events[len(events)-1])
	}
	printed := 0
	for _, e := range events {
		printed += len(e.Text)
	}
	if printed < 100000 {
		t.Errorf("%d bytes of output", printed)
	}
	if got := w.doc("CODE_REVIEW.md"); len(got) > 8<<10 {
		t.Errorf("the review file has %d bytes", len(got))
	}
}

func TestCancelled(t *testing.T) {
	w := newTask(t, "g/01_a", "PLAN.md", "CODE_REVIEW.md", "```sh run\nsleep 60\n```\n", review)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	code := Main(ctx, []string{"worker", filepath.Join(w.dir, "PLAN.md")}, Options{Env: w.env, Dir: w.root, Now: time.Now, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
	if code != 1 {
		t.Errorf("exit %d", code)
	}
}

func TestWorkerOfAnIssue(t *testing.T) {
	w := newTask(t, "x", "WORK-004-1.md", "", "---\nid: WORK-004-1\ntitle: \"add a file\"\n---\n```sh run\necho hi > hi.txt\n```\n", "")
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("config", "user.name", "t")
	git("config", "user.email", "t@example.com")
	message := w.mustRun("worker", "WORK-004-1.md")
	if !strings.Contains(message, "DECISION LOG: none") || !strings.Contains(message, "| E |") {
		t.Errorf("report:\n%s", message)
	}
	if got := git("log", "--format=%s"); got != "feat(WORK-004-1): add a file" {
		t.Errorf("log %q", got)
	}
	if got := git("status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
	w.mustRun("worker", "WORK-004-1.md") // nothing to commit is no failure
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"<!-- task=a/01_b plan=3 tag=X -->\r\nbody\r\n", "<!-- task=a/01_b plan=4 tag=X -->\r\nbody\r\n"},
		{"\uFEFF<!-- task=a/01_b plan=3 tag=X -->\nbody\n", "\uFEFF<!-- task=a/01_b plan=4 tag=X -->\nbody\n"},
		{"---\ntask: a/01_b\nplan: 3\ntag: X\nstatus: ready\n---\nbody\n", "---\ntask: a/01_b\nplan: 4\ntag: X\nstatus: ready\n---\nbody\n"},
		{"# no header\n", "<!-- task=a/01_b plan=1 tag=01_B -->\n# no header\n"},
	} {
		h := headerOf([]byte(c.in), "a/01_b")
		h.number++
		out, err := setPlan([]byte(c.in), h)
		if err != nil || string(out) != c.out {
			t.Errorf("%q: %q, %v", c.in, out, err)
		}
	}
}
