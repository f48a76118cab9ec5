package agenttask

import (
	"maps"
	"strings"
	"testing"

	"drover/spec"
	"drover/spec/spectest"
)

// fixtures are the workspaces of the stage cases.
func fixtures(t *testing.T) []spectest.Fixture {
	t.Helper()
	var out []spectest.Fixture
	for name, files := range stageFiles(t) {
		out = append(out, spectest.Fixture{Name: name, Files: files})
	}
	return append(out, spectest.Fixture{Name: "empty", Files: map[string]string{"agent-task/README.md": "x"}})
}

func TestConformance(t *testing.T) {
	for _, finalize := range []string{"reviewer", "drover"} {
		t.Run(finalize, func(t *testing.T) { spectest.Run(t, testDialect(finalize), fixtures(t)) })
	}
}

// dueNow are the changes that the stages ask for, knowing what Decide would:
// a new generation begins without a record.
func dueNow(t *testing.T, files map[string]string, w spec.World) []spec.Change {
	t.Helper()
	d := testDialect("drover")
	tree := spec.MapTree{Files: files, Read: d.Read}
	var due []spec.Change
	for _, b := range d.Branches(tree) {
		for _, u := range d.Units(tree, b) {
			g := d.Parse(tree, u)
			now := w
			if rec := w.Record(g.Tasks[0].ID); rec != nil && rec.Generation != g.Tasks[0].Generation {
				now.Memory = spec.NewMemory()
			}
			due = append(due, d.Stage(tree, g, 0, now).Before...)
		}
	}
	return due
}

// settled applies what is due until nothing is.
func settled(t *testing.T, files map[string]string, w spec.World) map[string]string {
	t.Helper()
	for range 8 {
		due := dueNow(t, files, w)
		if len(due) == 0 {
			return files
		}
		next, err := spectest.ApplyAll(files, due)
		if err != nil {
			t.Fatal(err)
		}
		files = next
	}
	t.Fatal("changes are due for ever")
	return nil
}

func reviewedWorld(task string) spec.World {
	w := spec.World{Now: testNow, Root: "/w", Memory: spec.NewMemory()}
	w.Memory.Records[spec.TaskID{Dialect: Name, Name: task}] = &spec.Record{
		Generation: spec.Generation{Tag: "A"},
		Stages:     map[spec.Role]spec.StageRecord{spec.RoleWorker: {Done: true}, spec.RoleReview: {Done: true}},
	}
	return w
}

// TestFinalizeConverges: whatever prefix of the changes a crash leaves behind,
// the same files come out.
func TestFinalizeConverges(t *testing.T) {
	for _, c := range []struct {
		name, task, verdict string
		want                []string
	}{
		{"pass", "g/01_a", "PASS", []string{
			"agent-task/archive/2026/03/g/01_a/code_review_local_G05_0.log",
			"agent-task/archive/2026/03/g/01_a/complete.log",
			"agent-task/archive/2026/03/g/01_a/plan_local_G05_0.log",
			"agent-task/g/WORK_LOG.md",
		}},
		{"fail", "g/01_a", "FAIL", []string{
			"agent-task/g/01_a/CODE_REVIEW-local-G05.md",
			"agent-task/g/01_a/PLAN-local-G05.md",
			"agent-task/g/01_a/code_review_local_G05_0.log",
			"agent-task/g/01_a/plan_local_G05_0.log",
			"agent-task/g/WORK_LOG.md",
		}},
		{"flat group", "g", "PASS", []string{
			"agent-task/archive/2026/03/g/code_review_local_G05_0.log",
			"agent-task/archive/2026/03/g/complete.log",
			"agent-task/archive/2026/03/g/plan_local_G05_0.log",
			"agent-task/g/WORK_LOG.md",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := header(c.task, 0, "A")
			start := map[string]string{
				"agent-task/" + c.task + "/PLAN-local-G05.md":        head + "# a\n\n## 구현 체크리스트\n- [x] 1. do\n",
				"agent-task/" + c.task + "/CODE_REVIEW-local-G05.md": head + "## 코드리뷰 결과\n- 종합 판정: " + c.verdict + "\n- mend it\n",
				"agent-task/g/WORK_LOG.md":                           "| t |\n",
			}
			w := reviewedWorld(c.task)
			end := settled(t, start, w)
			if got := strings.Join(spectest.Paths(end), "\n"); got != strings.Join(c.want, "\n") {
				t.Fatalf("got:\n%s", got)
			}
			for files, steps := start, 0; ; steps++ {
				due := dueNow(t, files, w)
				if len(due) == 0 {
					break
				}
				next, err := spectest.Apply(files, due[0])
				if err != nil {
					t.Fatal(err)
				}
				if files = next; !maps.Equal(settled(t, files, w), end) {
					t.Fatalf("after %+v it ends elsewhere", due[0])
				}
				if steps > 10 {
					t.Fatal("no end")
				}
			}
		})
	}
}

func TestNextRound(t *testing.T) {
	head := header("g/01_a", 0, "A")
	files := settled(t, map[string]string{
		"agent-task/g/01_a/PLAN-local-G05.md":        head + "# a\n\n## 구현 체크리스트\n- [x] 1. do\n",
		"agent-task/g/01_a/CODE_REVIEW-local-G05.md": head + "## 코드리뷰 결과\n- 종합 판정: WARN\n- row 3 is wrong\n",
	}, reviewedWorld("g/01_a"))
	plan := files["agent-task/g/01_a/PLAN-local-G05.md"]
	for _, want := range []string{"<!-- task=g/01_a plan=1 tag=A -->\n", "- [ ] 1. do\n", "row 3 is wrong"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the next PLAN lacks %q:\n%s", want, plan)
		}
	}
	stub := readFacts(t, "g/CODE_REVIEW-local-G05.md", files["agent-task/g/01_a/CODE_REVIEW-local-G05.md"])
	if stub.Plan != 1 || stub.Synced || len(stub.Verdicts) > 0 || len(stub.Missing) != 5 {
		t.Errorf("the next CODE_REVIEW: %+v", stub)
	}
}

// TestStub: what stands in the stub's comments is no content and no verdict.
func TestStub(t *testing.T) {
	for _, finalize := range []string{"reviewer", "drover"} {
		d := testDialect(finalize)
		for _, title := range []string{"구현 체크리스트", "Implementation checklist"} {
			files := map[string]string{"agent-task/g/01_a/PLAN.md": "## " + title + "\n- [ ] 1. add it\n- [ ] 2. test it\n- [ ] CODE_REVIEW sync\n"}
			tree := spec.MapTree{Files: files, Read: d.Read}
			g := d.Parse(tree, spec.Unit{Dialect: Name, Key: "agent-task/g/01_a"})
			c, ok := d.Stage(tree, g, 0, spec.World{Now: testNow}).Before[0].(spec.CreateFile)
			if !ok || c.Path != "agent-task/g/01_a/CODE_REVIEW.md" {
				t.Fatalf("stub is %+v", c)
			}
			f := readFacts(t, c.Path, c.Text)
			if f.Task != "g/01_a" || f.Tag != "A" || len(f.Verdicts) > 0 || f.Synced || len(f.Missing) != 5 {
				t.Errorf("stub reads as %+v", f)
			}
			if !strings.Contains(c.Text, "- [ ] 1. add it\n- [ ] 2. test it\n") || strings.Contains(c.Text, "archive/<YYYY>") != (finalize == "reviewer") {
				t.Errorf("stub:\n%s", c.Text)
			}
		}
	}
}
