package agenttask

import (
	"testing"

	"drover/spec"
)

func TestJudge(t *testing.T) {
	const (
		plan   = "<!-- task=g/01_a plan=0 tag=A -->\n## 수정 파일 요약\n| 파일 | 항목 |\n|---|---|\n| `src/a.go` | 1 |\n"
		plan1  = "<!-- task=g/01_a plan=1 tag=A -->\nagain\n"
		pass   = "## 코드리뷰 결과\n- 종합 판정: PASS\n"
		fail   = "## 코드리뷰 결과\n- 종합 판정: FAIL\n"
		done   = "<!-- task=g/01_a plan=0 tag=A -->\nverdict=PASS\n"
		a      = "agent-task/g/01_a/"
		passed = "agent-task/archive/2026/03/g/01_a/complete.log"
		user   = "상태: USER_REVIEW\n유형: milestone-lock\n연결 대상: agent-roadmap/x/milestones/m.md\n차단 판단 근거: a\n미해결 결정 항목: b\n재개 조건: c\n"
	)
	type files = map[string]string
	before := files{a + "PLAN.md": plan, a + "CODE_REVIEW.md": "# R\n", "src/a.go": "one", "agent-task/g/WORK_LOG.md": "1"}
	for _, c := range []struct {
		name     string
		role     spec.Role
		finalize string
		after    files
		want     spec.Judgement
	}{
		{"worker", spec.RoleWorker, "", before, spec.Judgement{Done: true}},
		{"selfcheck, nothing filled", spec.RoleSelfcheck, "", before, spec.Judgement{
			Refused: true, Limit: 10, Code: spec.SelfcheckIncomplete,
			Detail: "not filled in: 구현 항목 완료, 구현 체크리스트, 계획 대비 변경 사항, 주요 설계 결정, 검증 결과",
		}},
		{"selfcheck, file gone", spec.RoleSelfcheck, "", files{a + "PLAN.md": plan}, spec.Judgement{
			Refused: true, Limit: 10, Code: spec.SelfcheckIncomplete, Detail: "there is no CODE_REVIEW",
		}},
		{"selfcheck, all filled", spec.RoleSelfcheck, "", files{a + "PLAN.md": plan, a + "CODE_REVIEW.md": filled}, spec.Judgement{Done: true}},
		{"review, archived", spec.RoleReview, "", files{passed: done}, spec.Judgement{Done: true, Verdict: "PASS"}},
		{"review, complete in place", spec.RoleReview, "", files{a + "complete.log": done}, spec.Judgement{Done: true, Verdict: "PASS"}},
		{"review, next plan", spec.RoleReview, "", files{
			a + "PLAN.md": plan1, a + "plan_0.log": plan, a + "code_review_0.log": fail,
		}, spec.Judgement{Done: true, Verdict: "FAIL"}},
		{"review, stopped for a person", spec.RoleReview, "", files{
			a + "USER_REVIEW.md": user, a + "plan_0.log": plan, a + "code_review_0.log": fail, "agent-roadmap/x/milestones/m.md": "m",
		}, spec.Judgement{Done: true, Verdict: "FAIL"}},
		{"review, verdict only", spec.RoleReview, "", files{a + "PLAN.md": plan, a + "CODE_REVIEW.md": pass}, failedReview("PASS", false)},
		{"review, verdict only, drover goes on", spec.RoleReview, "drover", files{a + "PLAN.md": plan, a + "CODE_REVIEW.md": pass}, spec.Judgement{Done: true, Verdict: "PASS"}},
		{"review, half moved", spec.RoleReview, "", files{a + "PLAN.md": plan, a + "code_review_0.log": pass}, failedReview("PASS", false)},
		{"review, two verdicts", spec.RoleReview, "drover", files{a + "PLAN.md": plan, a + "CODE_REVIEW.md": pass + "종합 판정: FAIL\n"}, failedReview("", false)},
		{"review, nothing changed", spec.RoleReview, "drover", before, failedReview("", true)},
		{"review, only the log changed", spec.RoleReview, "", with(before, "agent-task/g/WORK_LOG.md", "2"), failedReview("", true)},
		{"review, another file changed", spec.RoleReview, "", with(before, "src/b.go", "2"), failedReview("", true)},
		{"review, the write set changed", spec.RoleReview, "", with(before, "src/a.go", "2"), failedReview("", false)},
		{"review, the review changed", spec.RoleReview, "", with(before, a+"CODE_REVIEW.md", "# R\nfound\n"), failedReview("", false)},
		{"review, folder gone", spec.RoleReview, "", files{"agent-task/g/WORK_LOG.md": "1"}, failedReview("", false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := testDialect(c.finalize)
			unit := spec.Unit{Dialect: Name, Key: "agent-task/g/01_a"}
			w := reviewedWorld("g/01_a")
			old := spec.MapTree{Files: before, Read: d.Read}
			run := spec.Run{Locator: spec.Locator{Role: c.role, Tag: "A", Before: d.Stage(old, d.Parse(old, unit), 0, w).Step.Before}}
			tree := spec.MapTree{Files: c.after, Read: d.Read}
			got := d.Judge(tree, d.Parse(tree, unit), 0, w, run)
			if c.want.Detail == "" {
				got.Detail = ""
			}
			got.Signature = ""
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestSignature: a folder or a pattern of the write set counts with the files
// in it.
func TestSignature(t *testing.T) {
	d := testDialect("")
	sign := func(files map[string]string) string {
		tree := spec.MapTree{Files: files, Read: d.Read}
		x := d.Parse(tree, spec.Unit{Dialect: Name, Key: "agent-task/g/01_a"}).Tasks[0].Facts.(*taskFacts)
		return d.signature(tree, x)
	}
	base := map[string]string{
		"agent-task/g/01_a/PLAN.md": "## Changed files\n| File | Item |\n|---|---|\n| src/ | 1 |\n| `docs/*.md` | 1 |\n",
		"src/deep/a.go":             "1", "docs/a.md": "1", "other/a": "1",
	}
	for p, changes := range map[string]bool{"src/deep/a.go": true, "src/new.go": true, "docs/a.md": true, "other/a": false} {
		if got := sign(with(base, p, "2")) != sign(base); got != changes {
			t.Errorf("an edit of %s changes the signature: %v, want %v", p, got, changes)
		}
	}
}

func failedReview(verdict string, unchanged bool) spec.Judgement {
	return spec.Judgement{
		Failed: true, Try: spec.TryRecovery, Verdict: verdict, Unchanged: unchanged, Limit: 10, Code: spec.ReviewNoProgress,
	}
}

func with(files map[string]string, p, text string) map[string]string {
	out := map[string]string{p: text}
	for k, v := range files {
		if k != p {
			out[k] = v
		}
	}
	return out
}
