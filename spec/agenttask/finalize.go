package agenttask

import (
	"fmt"
	"path"
	"time"

	"drover/spec"
)

// finalize brings a reviewed generation to its next state where drover does it
// (DIALECTS 1.7): on PASS the pair becomes logs, complete.log is written and
// the folder archived; on WARN or FAIL the pair becomes logs and the next pair
// carries the findings. Each change is idempotent, and what is left to do is
// told by the files alone: a crash between two of them converges at the next
// pass. It reports whether there was something to do.
func (d *Dialect) finalize(x *taskFacts, gen spec.Generation, rec *spec.Record, now time.Time, s *spec.Stage) bool {
	if !d.drover() || !reviewed(rec) {
		return false
	}
	verdicts := x.verdicts(gen.Plan)
	if len(verdicts) != 1 {
		return false
	}
	why := x.taken(gen.Plan)
	if why == nil && verdicts[0] != "PASS" && d.MaxRounds > 0 && rounds(rec)+1 >= d.MaxRounds {
		why = &spec.Reason{
			Code: spec.RoundsLimit, File: x.verdictFile(), Detail: fmt.Sprintf("%d rounds, and the last review says %s", d.MaxRounds, verdicts[0]),
			Resume: "write the next PLAN by hand, or raise agent_task.max_rounds",
		}
	}
	switch {
	case why != nil:
		s.State, s.Reason = spec.StateBlocked, *why
	case verdicts[0] == "PASS":
		s.State, s.Before = spec.StateReady, d.pass(x, gen, now)
	default:
		s.State, s.Before = spec.StateReady, d.again(x, gen, verdicts[0])
	}
	return true
}

// taken is why the pair cannot become logs: a log of its plan is there already.
func (x *taskFacts) taken(k int) *spec.Reason {
	plan, review := logNames(x.slotOf(k), k)
	for _, l := range x.logs {
		name := path.Base(l.path)
		if x.plan != nil && name == plan || x.review != nil && name == review {
			return &spec.Reason{
				Code: spec.ContractError, File: l.path, Detail: fmt.Sprintf("is there already, but plan %d is still active", k),
				Resume: fmt.Sprintf("raise plan in the pair's headers above %d, or move the log away", k),
			}
		}
	}
	return nil
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
func (d *Dialect) archive(t spec.Tree, x *taskFacts, now time.Time) []spec.Change {
	if x.gone || !d.drover() {
		return nil
	}
	month := path.Join(d.Root, "archive", now.UTC().Format("2006"), now.UTC().Format("01"))
	if !x.flat {
		return []spec.Change{spec.ArchiveFolder{From: x.dir, To: path.Join(month, x.fullName())}}
	}
	// A flat group keeps its WORK_LOG.md (DIALECTS 1.12): the files move, not
	// the folder; complete.log last, so that what is left to do stays visible.
	to := freeArchive(t, month, x.group)
	var out []spec.Change
	for _, doc := range x.logs {
		out = append(out, spec.MoveFile{From: doc.path, To: path.Join(to, path.Base(doc.path))})
	}
	return append(out, spec.MoveFile{From: x.done.path, To: path.Join(to, path.Base(x.done.path))})
}

// freeArchive is a month's first folder of a name that holds no complete.log:
// a new one, or one that a crash left half filled.
func freeArchive(t spec.Tree, month, name string) string {
	to := path.Join(month, name)
	for n := 1; spec.HasEntry(t.Dir(to), "complete.log"); n++ {
		to = fmt.Sprintf("%s_%d", path.Join(month, name), n)
	}
	return to
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
		Make: func(old []byte) []byte {
			return nextPlan(old, head, outcome{gen.Plan, verdict, review, findings})
		},
	})
}

func (x *taskFacts) findings(k int) string {
	if x.review != nil {
		return x.review.Findings
	}
	if l := x.log(reviewLog, k); l != nil {
		return l.Findings
	}
	return ""
}
