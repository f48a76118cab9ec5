package script

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drover/spec/markdown"
)

// pair is a task's two documents as a review finds them.
type pair struct {
	header
	dir, suffix string
	reviewPath  string
	planPath    string // "" when the PLAN has become a log already
	plan        []byte
	review      []byte
}

func (p pair) in(name string) string { return filepath.Join(p.dir, name) }

// pairOf finds the PLAN of a review, or the log it has become. A review
// without a header is of the generation of its PLAN.
func (a *agent) pairOf(doc string, review []byte) (pair, error) {
	h := headerOf(review, a.taskOf(doc))
	p := pair{header: h, dir: filepath.Dir(doc), suffix: suffix(doc), reviewPath: doc, review: review}
	var err error
	if p.planPath, err = beside(doc, planName); err != nil {
		return p, err
	}
	from := p.planPath
	if from == "" {
		from = p.in(logName(planName, p.suffix, h.number))
	}
	if p.plan, err = os.ReadFile(from); err != nil {
		return p, refuse("read the plan of the review: %v", err)
	}
	if p.planPath != "" {
		p.suffix = suffix(p.planPath)
		own := headerOf(p.plan, h.task)
		if !hasHeader(review) {
			p.header = own
		} else if own.number != h.number {
			return p, refuse("the PLAN is plan %d and the CODE_REVIEW is of plan %d", own.number, h.number)
		}
	}
	return p, nil
}

// archive finalizes a PASS: the pair becomes logs, complete.log says so, and
// the folder moves to the archive. The PLAN goes first and the CODE_REVIEW
// last: whatever is between them, a review without its PLAN is taken up again.
func (a *agent) archive(p pair) error {
	if err := p.logPlan(); err != nil {
		return err
	}
	log := logName(reviewName, suffix(p.reviewPath), p.number)
	done := fmt.Sprintf("%s\nverdict=%s\ncompleted_at=%s\nreview=%s\n", p.header, pass, a.Now().Format(time.RFC3339), log)
	if err := replace(p.in("complete.log"), []byte(done)); err != nil {
		return err
	}
	if err := move(p.reviewPath, p.in(log)); err != nil {
		return err
	}
	return a.moveToArchive(p)
}

func (p pair) logPlan() error {
	if p.planPath == "" {
		return nil
	}
	return move(p.planPath, p.in(logName(planName, p.suffix, p.number)))
}

// moveToArchive moves agent-task/<group>/<task> to
// agent-task/archive/<year>/<month>/<group>/<task>. Of a group that is itself
// the task, the work log and other tasks stay.
func (a *agent) moveToArchive(p pair) error {
	split := strings.Contains(p.task, "/")
	root := filepath.Dir(p.dir)
	if split {
		root = filepath.Dir(root)
	}
	to := filepath.Join(root, "archive", a.Now().Format("2006"), a.Now().Format("01"), filepath.FromSlash(p.task))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("archive %s: %w", p.task, err)
	}
	if split {
		return move(p.dir, to)
	}
	to, err := mkdirFree(to)
	if err != nil {
		return fmt.Errorf("archive %s: %w", p.task, err)
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return fmt.Errorf("archive %s: %w", p.task, err)
	}
	// complete.log is the last: as long as it is here the task is complete here.
	for _, last := range []bool{false, true} {
		for _, e := range entries {
			if e.IsDir() || e.Name() == "WORK_LOG.md" || (e.Name() == "complete.log") != last {
				continue
			}
			if err := move(p.in(e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// followUp finalizes a FAIL: the pair becomes logs and a new one asks for the
// same again, with the findings. The new CODE_REVIEW takes the old one's place
// before the new PLAN appears, which ends the step.
func (a *agent) followUp(p pair) error {
	next := p.header
	next.number++
	plan, err := nextPlan(p.plan, p.review, next)
	if err != nil {
		return err
	}
	review, err := setPlan(blank(p.review), next)
	if err != nil {
		return err
	}
	if err := p.logPlan(); err != nil {
		return err
	}
	if err := replace(p.in(logName(reviewName, suffix(p.reviewPath), p.number)), p.review); err != nil {
		return err
	}
	if err := replace(p.reviewPath, review); err != nil {
		return err
	}
	return replace(p.in(planName+p.suffix+".md"), plan)
}

// nextPlan is the PLAN of the next round: unticked, with the findings in the
// place of those of the round before.
func nextPlan(plan, review []byte, next header) ([]byte, error) {
	t := edit(plan)
	for _, s := range t.doc.Sections(markdown.Titles("checklist")...) {
		t.untick(s)
	}
	title := [2]string{"리뷰 지적 사항", "Review findings"}
	for _, s := range t.doc.Sections(title[:]...) {
		t.drop(s.Line)
		for _, l := range s.Lines {
			t.drop(l.No)
		}
	}
	var findings strings.Builder
	for _, s := range markdown.Parse(review).Sections(markdown.Titles("review")...) {
		for _, l := range s.Lines {
			if verdictOn(l) == "" {
				findings.WriteString(l.Raw + "\n")
			}
		}
	}
	t.add("## " + t.pick(title[0], title[1]) + "\n\n" + strings.TrimSpace(findings.String()))
	return setPlan(t.bytes(), next)
}

// blank is a CODE_REVIEW as it was before anybody filled it in. Comments stay.
func blank(review []byte) []byte {
	t := edit(review)
	for _, s := range t.doc.Sections(markdown.Titles("completed")...) {
		for _, row := range s.Rows() {
			t.lines[row.Line] = "| " + row.Cells[0] + strings.Repeat(" |", len(row.Cells)) + " "
			t.lines[row.Line] = strings.TrimRight(t.lines[row.Line], " ")
		}
	}
	for _, s := range t.doc.Sections(markdown.Titles("checklist")...) {
		t.untick(s)
	}
	for _, section := range []string{"deviations", "decisions", "results"} {
		for _, s := range t.doc.Sections(markdown.Titles(section)...) {
			for _, l := range s.Lines {
				if l.Code || strings.TrimSpace(l.Text) != "" {
					t.drop(l.No)
				}
			}
		}
	}
	for _, s := range t.doc.Sections(markdown.Titles("review")...) {
		t.drop(s.Line)
		for _, l := range s.Lines {
			if l.Code || strings.TrimSpace(l.Text) != "" {
				t.drop(l.No)
			}
		}
	}
	return t.bytes()
}

func (t *text) untick(s markdown.Section) {
	for _, it := range s.Items() {
		for _, tick := range []string{"[x]", "[X]"} {
			if it.Checked {
				t.lines[it.Line] = strings.Replace(t.lines[it.Line], tick, "[ ]", 1)
			}
		}
	}
}

// move renames without taking anything's place: a name that is taken gets
// "_<n>" (DIALECTS 1.4), unless it holds the same text already.
func move(from, to string) error {
	if a, err := os.ReadFile(from); err == nil {
		if b, err := os.ReadFile(to); err == nil && bytes.Equal(a, b) {
			if err := os.Remove(from); err != nil {
				return fmt.Errorf("remove %s: %w", from, err)
			}
			return nil
		}
	}
	free := to
	for n := 1; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			break
		}
		ext := filepath.Ext(to)
		if ext != ".log" {
			ext = ""
		}
		free = fmt.Sprintf("%s_%d%s", strings.TrimSuffix(to, ext), n, ext)
	}
	if err := os.Rename(from, free); err != nil {
		return fmt.Errorf("move %s: %w", from, err)
	}
	return nil
}

// mkdirFree makes a folder under this name or one with "_<n>".
func mkdirFree(dir string) (string, error) {
	free := dir
	for n := 1; ; n++ {
		err := os.Mkdir(free, 0o755)
		if err == nil {
			return free, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		free = fmt.Sprintf("%s_%d", dir, n)
	}
}
