package agenttask

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"drover/spec"
	"drover/spec/markdown"
)

// finalize brings a reviewed generation to its next state where drover does it
// (DIALECTS 1.7): on PASS the pair becomes logs, complete.log is written and
// the folder archived; on WARN or FAIL the pair becomes logs and the next pair
// carries the findings. Each change is idempotent, and what is left to do is
// told by the files alone: a crash between two of them converges at the next
// pass. It reports whether there was something to do.
func (d *Dialect) finalize(x *taskFacts, rec *spec.Record, now time.Time, s *spec.Stage) bool {
	if !d.drover() || !reviewed(rec) {
		return false
	}
	plan := d.generation(x)
	verdicts := x.verdicts(plan.Plan)
	if len(verdicts) != 1 {
		return false
	}
	s.State, s.Step = spec.StateReady, spec.Step{}
	if verdicts[0] == "PASS" {
		s.Before = d.pass(x, plan, now)
		return true
	}
	if rounds(rec)+1 >= d.MaxRounds && d.MaxRounds > 0 {
		s.State = spec.StateBlocked
		s.Reason = spec.Reason{
			Code: spec.RoundsLimit, File: x.verdictFile(), Detail: fmt.Sprintf("%d rounds, and the last review says %s", d.MaxRounds, verdicts[0]),
			Resume: "write the next PLAN by hand, or raise agent_task.max_rounds",
		}
		return true
	}
	s.Before = d.again(x, plan, verdicts[0])
	return true
}

func rounds(rec *spec.Record) int {
	if rec == nil {
		return 0
	}
	return rec.Rounds
}

// names are what the pair is called as logs.
func logNames(f fileName, k int) (plan, review string) {
	return fmt.Sprintf("plan%s_%d.log", f.logSlot(), k), fmt.Sprintf("code_review%s_%d.log", f.logSlot(), k)
}

// slotOf is the pair's lane and grade, from whatever of it is left.
func (x *taskFacts) slotOf(k int) fileName {
	switch {
	case x.plan != nil:
		return x.plan.fileName
	case x.review != nil:
		return x.review.fileName
	}
	for _, l := range x.logs {
		if l.k == k {
			return l.fileName
		}
	}
	return fileName{}
}

// toLogs moves what is left of the pair to its logs; the PLAN first, so that a
// review without a PLAN tells that a finalization was begun.
func (x *taskFacts) toLogs(k int) []spec.Change {
	plan, review := logNames(x.slotOf(k), k)
	var out []spec.Change
	if x.plan != nil {
		out = append(out, spec.MoveFile{From: x.plan.path, To: path.Join(x.dir, plan)})
	}
	if x.review != nil {
		out = append(out, spec.MoveFile{From: x.review.path, To: path.Join(x.dir, review)})
	}
	return out
}

// pass leaves the archiving to the pass that sees the complete.log.
func (d *Dialect) pass(x *taskFacts, gen spec.Generation, now time.Time) []spec.Change {
	_, review := logNames(x.slotOf(gen.Plan), gen.Plan)
	return append(x.toLogs(gen.Plan), spec.CreateFile{
		Path: path.Join(x.dir, "complete.log"),
		Text: header(x.fullName(), gen.Plan, gen.Tag) + "verdict=PASS\ncompleted_at=" + now.UTC().Format(time.RFC3339) + "\nreview=" + review + "\n",
	})
}

// archive moves a complete task away, where drover finalizes.
func (d *Dialect) archive(x *taskFacts, now time.Time) []spec.Change {
	if x.gone || !d.drover() {
		return nil
	}
	to := path.Join(d.Root, "archive", now.UTC().Format("2006"), now.UTC().Format("01"), x.fullName())
	if !x.flat {
		return []spec.Change{spec.ArchiveFolder{From: x.dir, To: to}}
	}
	// A flat group keeps its WORK_LOG.md (DIALECTS 1.12): the files move, not
	// the folder; complete.log last, so that what is left to do stays visible.
	var out []spec.Change
	for _, doc := range append(x.logs, *x.done) {
		out = append(out, spec.MoveFile{From: doc.path, To: path.Join(to, path.Base(doc.path))})
	}
	return out
}

// again writes the next PLAN out of the archived one: the same task, lane and
// grade, plan + 1, all boxes open, the findings at its end. Its CODE_REVIEW is
// made like any other.
func (d *Dialect) again(x *taskFacts, gen spec.Generation, verdict string) []spec.Change {
	slot := x.slotOf(gen.Plan)
	plan, review := logNames(slot, gen.Plan)
	findings := x.findings(gen.Plan)
	head := header(x.fullName(), gen.Plan+1, gen.Tag)
	return append(x.toLogs(gen.Plan), spec.DeriveFile{
		From: path.Join(x.dir, plan), To: path.Join(x.dir, "PLAN"+slot.slot()+".md"),
		Make: func(old []byte) []byte { return nextPlan(old, head, gen.Plan, verdict, review, findings) },
	})
}

func (x *taskFacts) findings(k int) string {
	if x.review != nil {
		return x.review.Findings
	}
	for _, l := range x.logs {
		if l.kind == reviewLog && l.k == k {
			return l.Findings
		}
	}
	return ""
}

// nextPlan is a PLAN's body under a new header, with the review's findings in
// place of those of the round before.
func nextPlan(old []byte, head string, round int, verdict, review, findings string) []byte {
	body := old
	if h := markdown.FindHead(old); h.State == markdown.WholeHead {
		body = old[h.Body:]
	} else if bytes.HasPrefix(old, []byte("<!-- task=")) {
		body = afterLine(old)
	}
	text := strings.NewReplacer("- [x]", "- [ ]", "- [X]", "- [ ]").Replace(string(body))
	title := "## Findings of the review"
	if i := strings.Index(text, "\n"+title+"\n"); i >= 0 {
		text = text[:i+1]
	}
	text = strings.TrimRight(text, "\n") + "\n\n" + title + "\n"
	text += fmt.Sprintf("The review of plan %d says %s (%s). Mend what it found:\n\n", round, verdict, review)
	for _, line := range strings.Split(findings, "\n") {
		if strings.HasPrefix(line, "## ") {
			line = "#" + line
		}
		text += line + "\n"
	}
	return []byte(head + text)
}
