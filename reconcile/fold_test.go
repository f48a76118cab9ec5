package reconcile

import (
	"testing"
	"time"

	"drover/spec"
)

func TestNewGeneration(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	for range 10 {
		b.run("g/01_a", spec.ClassGenericError)
	}
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.FailureBudget)
	b.files["agent-task/g/01_a/PLAN-cloud-G09.md"] = planText("g/01_a", 0) + "\nmore\n"
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.FailureBudget) // an edited body changes nothing
	b.memory.Records[id("g/01_a")].Held = &spec.Hold{By: "p", Since: b.now}
	b.files["agent-task/g/01_a/PLAN-cloud-G09.md"] = planText("g/01_a", 1)
	delete(b.files, "agent-task/g/01_a/CODE_REVIEW-cloud-G09.md")
	b.want(b.decide("g/01_a"), spec.StateHeld, spec.Held)
	rec := b.memory.Records[id("g/01_a")]
	if rec.Attempts != 10 || rec.Usage.InputTokens != 10 || !rec.Usage.CostKnown || rec.Rounds != 1 || len(rec.Stages) != 0 || rec.Block != nil {
		t.Errorf("the record of the new generation is %+v", rec)
	}
	rec.Held = nil
	if s := b.start("g/01_a"); s.Locator.Attempt != "g.01_a__p1__worker__a00" || s.Try.Kind != spec.TryFresh {
		t.Errorf("starts %s %s", s.Locator.Attempt, s.Try.Kind)
	}
}

// A generation that drover began and did not save before it died is known by
// its run directories.
func TestGenerationThatWasNotSaved(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	b.run("g/01_a", spec.ClassSuccess)
	b.decide("g/01_a")
	old := b.memory.Records[id("g/01_a")].Clone()
	b.files["agent-task/g/01_a/PLAN-cloud-G09.md"] = planText("g/01_a", 1)
	delete(b.files, "agent-task/g/01_a/CODE_REVIEW-cloud-G09.md")
	b.run("g/01_a", spec.ClassSuccess)
	b.memory.Records[id("g/01_a")] = old
	if s := b.start("g/01_a"); s.Locator.Role != spec.RoleReview {
		t.Errorf("starts %s again", s.Locator.Attempt)
	}
	if rec := b.memory.Records[id("g/01_a")]; rec.Attempts != 2 || rec.Rounds != 1 {
		t.Errorf("record %+v", rec)
	}
}

// Run directories alone say what state.json said.
func TestLostStateIsRebuilt(t *testing.T) {
	b := newBench(t, "g/01_a local-G01")
	b.run("g/01_a", spec.ClassGenericError)
	b.run("g/01_a", spec.ClassSuccess)
	b.files["agent-task/g/01_a/PLAN-local-G01.md"] = planText("g/01_a", 1)
	delete(b.files, "agent-task/g/01_a/CODE_REVIEW-local-G01.md")
	b.run("g/01_a", spec.ClassSuccess)
	b.run("g/01_a", spec.ClassGenericError)
	b.run("g/01_a", spec.ClassLost)
	b.decide("g/01_a")
	want := b.memory.Records[id("g/01_a")]
	b.memory = spec.NewMemory()
	b.decide("g/01_a")
	if got := b.memory.Records[id("g/01_a")]; !sameRecord(got, want) {
		t.Errorf("rebuilt:\n%+v, was\n%+v", got, want)
	}
	td := b.decide("g/01_a")
	if len(td.Folds) > 0 || !sameRecord(b.memory.Records[id("g/01_a")], want) {
		t.Errorf("a second look folds %d attempts again", len(td.Folds))
	}
}

// A replay after a crash changes nothing.
func TestFoldedThrough(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	for range 3 {
		b.run("g/01_a", spec.ClassGenericError)
		b.decide("g/01_a")
	}
	st := b.stage("g/01_a", spec.RoleWorker)
	if st.FoldedThrough != "a02" || st.Transport != 3 {
		t.Errorf("stage %+v", st)
	}
	for range 3 {
		if td := b.decide("g/01_a"); len(td.Folds) > 0 {
			t.Errorf("folds again: %v", td.Folds)
		}
	}
	if got := b.stage("g/01_a", spec.RoleWorker); got != st {
		t.Errorf("changed to %+v", got)
	}
}

// Attempts of an earlier task of the same name mean nothing to a new one.
func TestNewLifeOfAName(t *testing.T) {
	const dir = "agent-task/g/01_a/"
	b := newBench(t, "g/01_a cloud-G09")
	b.run("g/01_a", spec.ClassSuccess)
	s := b.start("g/01_a")
	for p := range b.files {
		delete(b.files, p)
	}
	done := "agent-task/archive/2026/06/g/01_a/complete.log"
	b.files[done] = "<!-- task=g/01_a plan=0 tag=T -->\nverdict=PASS\n"
	b.end(s, spec.ClassSuccess)
	b.want(b.decide("g/01_a"), spec.StateComplete, "")
	b.want(b.decide("g/01_a"), spec.StateComplete, "") // its run directories are still there
	if rec := b.memory.Records[id("g/01_a")]; rec != nil {
		t.Errorf("a complete task is remembered: %+v", rec)
	}
	delete(b.files, done)
	b.want(b.decide("g/01_a"), spec.StateComplete, "") // an archive that somebody cleared away
	b.files[done] = "<!-- task=g/01_a plan=0 tag=T -->\nverdict=PASS\n"

	b.now = b.now.Add(time.Hour)
	b.files[dir+"PLAN-cloud-G09.md"] = planText("g/01_a", 0)
	s = b.start("g/01_a")
	if s.Locator.Attempt != "g.01_a__p0__worker__a01" || s.Try.Kind != spec.TryFresh {
		t.Errorf("the new life starts %s %s", s.Locator.Attempt, s.Try.Kind)
	}
	b.now = b.now.Add(time.Minute)
	r := b.end(s, spec.ClassSuccess)
	r.State = spec.RunRunning
	if td := b.decide("g/01_a"); td.State != spec.StateRunning {
		t.Errorf("its attempt lives, but: %s", td.State)
	}
	r.State = spec.RunEnded
	if s := b.start("g/01_a"); s.Locator.Role != spec.RoleReview {
		t.Errorf("then %s", s.Locator.Role)
	}
	if got := b.memory.Records[id("g/01_a")].Attempts; got != 1 {
		t.Errorf("%d attempts of the new life", got)
	}
}

// A generation that a person takes up again starts afresh, too.
func TestGenerationTakenUpAgain(t *testing.T) {
	const plan, review = "agent-task/g/01_a/PLAN-cloud-G09.md", "agent-task/g/01_a/CODE_REVIEW-cloud-G09.md"
	b := newBench(t, "g/01_a cloud-G09")
	b.run("g/01_a", spec.ClassGenericError)
	b.run("g/01_a", spec.ClassSuccess)
	b.files[plan] = planText("g/01_a", 1)
	delete(b.files, review)
	b.run("g/01_a", spec.ClassSuccess)
	b.decide("g/01_a")
	b.files[plan] = planText("g/01_a", 0)
	delete(b.files, review)
	b.decide("g/01_a")
	s := b.start("g/01_a")
	if s.Locator.Attempt != "g.01_a__p0__worker__a02" || s.Try.Kind != spec.TryFresh {
		t.Errorf("starts %s %s", s.Locator.Attempt, s.Try.Kind)
	}
	b.end(s, spec.ClassSuccess)
	if s := b.start("g/01_a"); s.Locator.Attempt != "g.01_a__p0__review__a00" {
		t.Errorf("then %s", s.Locator.Attempt)
	}
	if rec := b.memory.Records[id("g/01_a")]; rec.Attempts != 4 {
		t.Errorf("%d attempts of the lineage, want 4", rec.Attempts)
	}
}
