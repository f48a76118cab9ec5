package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/spec"
	"drover/spec/agenttask"
)

// bench is a workspace and a memory for Decide alone, without a loop.
type bench struct {
	*testing.T
	files    map[string]string
	dialect  *agenttask.Dialect
	memory   *spec.Memory
	runs     map[spec.TaskID][]spec.Run
	now      time.Time
	unstable map[string]bool
}

func newBench(t *testing.T, list ...string) *bench {
	return &bench{
		T: t, files: tasks(list...), dialect: testDialect("reviewer"), memory: spec.NewMemory(),
		runs: map[spec.TaskID][]spec.Run{}, now: time.Date(2026, 6, 1, 1, 0, 0, 0, time.UTC),
	}
}

// decide decides about one task and remembers it.
func (b *bench) decide(name string) spec.TaskDecision {
	b.Helper()
	u := spec.Unit{Dialect: agenttask.Name, Key: "agent-task/" + name}
	tree := unstableTree{spec.MapTree{Files: b.files, Read: b.dialect.Read}, b.unstable}
	l := New(Options{Memory: b.memory, Now: func() time.Time { return b.now }})
	w := spec.World{Now: b.now, Root: "/w", Memory: b.memory, Runs: b.runs, Stopped: b.memory.Stopped}
	d := Decide(b.dialect, tree, b.dialect.Parse(tree, u), w, spec.DefaultPolicy())
	if len(d.Tasks) == 0 {
		return spec.TaskDecision{}
	}
	td := d.Tasks[0]
	for _, c := range td.Changes {
		if f, ok := c.(spec.CreateFile); ok {
			b.files[f.Path] = f.Text
		}
	}
	l.remember(&td, u)
	return td
}

// start decides until something starts, waiting for timers.
func (b *bench) start(name string) *spec.Start {
	b.Helper()
	td := b.decide(name)
	if td.State == spec.StateWaiting && !td.Look.IsZero() {
		b.now = td.Look
		td = b.decide(name)
	}
	if td.Start == nil {
		b.Fatalf("%s does not start: %s %s %s", name, td.State, td.Reason.Code, td.Reason.Detail)
	}
	return td.Start
}

// run starts the next attempt of a task and lets it end.
func (b *bench) run(name string, class spec.Class) *spec.Run {
	b.Helper()
	return b.end(b.start(name), class)
}

func (b *bench) end(s *spec.Start, class spec.Class) *spec.Run {
	loc := s.Locator
	loc.ClaimedAt = b.now
	b.now = b.now.Add(time.Second)
	r := spec.Run{State: spec.RunEnded, Locator: loc, Dir: "/runs/" + loc.Attempt}
	switch class {
	case spec.ClassNotStarted:
		r.State = spec.RunUnstarted
	case spec.ClassLost:
		r.State = spec.RunLost
	}
	r.Exit.Class, r.Exit.EndedAt = class, b.now
	r.Exit.Usage = spec.Usage{InputTokens: 1, CostKnown: true}
	k := s.Task.ID
	b.runs[k] = append(b.runs[k], r)
	return &b.runs[k][len(b.runs[k])-1]
}

func (b *bench) want(td spec.TaskDecision, state spec.State, code spec.Code) {
	b.Helper()
	if td.State != state || td.Reason.Code != code {
		b.Errorf("got %s %s (%s), want %s %s", td.State, td.Reason.Code, td.Reason.Detail, state, code)
	}
}

func (b *bench) stage(name string, role spec.Role) spec.StageRecord {
	if rec := b.memory.Records[id(name)]; rec != nil {
		return rec.Stages[role]
	}
	return spec.StageRecord{}
}

// fill makes a task's CODE_REVIEW a filled one.
func (b *bench) fill(name, slot string) {
	b.files["agent-task/"+name+"/CODE_REVIEW"+slot+".md"] = fmt.Sprintf("<!-- task=%s plan=0 tag=T -->\n", name) + filledReview
}

func TestTenthFailureBlocks(t *testing.T) {
	classes := []spec.Class{
		spec.ClassProviderConnection, spec.ClassProviderDisconnect, spec.ClassSessionStall, spec.ClassGenericError,
		spec.ClassProcessTerminated, spec.ClassContextLimit, spec.ClassQuota, spec.ClassModelUnavailable,
		spec.ClassReviewControl, spec.ClassLost,
	}
	b := newBench(t, "g/01_a cloud-G09")
	for i, class := range classes {
		b.run("g/01_a", class)
		td := b.decide("g/01_a")
		if got := b.stage("g/01_a", spec.RoleWorker).Transport; got != i+1 {
			t.Fatalf("%d failures are counted after %d", got, i+1)
		}
		if i < 9 && td.State == spec.StateBlocked {
			t.Fatalf("blocked after %d failures", i+1)
		}
	}
	td := b.decide("g/01_a")
	b.want(td, spec.StateBlocked, spec.FailureBudget)
	if !strings.HasSuffix(td.Reason.Locator, "worker__a09/locator.json") {
		t.Errorf("the block's locator is %s", td.Reason.Locator)
	}
	b.now = b.now.Add(1000 * time.Hour)
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.FailureBudget) // no cool-down
	b.runs[id("g/01_a")][0].Exit.EndedAt = b.now
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.FailureBudget)
}

func TestSuccessAfterNineResets(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	for range 9 {
		b.run("g/01_a", spec.ClassGenericError)
	}
	b.run("g/01_a", spec.ClassSuccess)
	if s := b.start("g/01_a"); s.Locator.Role != spec.RoleReview {
		t.Fatalf("next is %s, want review", s.Locator.Role)
	}
	if st := b.stage("g/01_a", spec.RoleWorker); st.Transport != 0 || !st.Done {
		t.Errorf("worker's record is %+v", st)
	}
	for range 9 { // the review has a budget of its own
		b.run("g/01_a", spec.ClassGenericError)
	}
	b.want(b.decide("g/01_a"), spec.StateWaiting, spec.BackoffWait)
}

func TestWhatIsNotCounted(t *testing.T) {
	for _, class := range []spec.Class{spec.ClassNotStarted, spec.ClassStopped, spec.ClassCLIMissing, spec.ClassInfra} {
		b := newBench(t, "g/01_a cloud-G09")
		for range 15 {
			b.run("g/01_a", class)
			b.decide("g/01_a")
			clear(b.memory.Stopped)
		}
		b.start("g/01_a")
		if st := b.stage("g/01_a", spec.RoleWorker); st.Transport != 0 {
			t.Errorf("%s: %d failures are counted", class, st.Transport)
		}
		if got := b.memory.Records[id("g/01_a")].Attempts; class == spec.ClassNotStarted && got != 0 {
			t.Errorf("%d attempts are counted that never started", got)
		}
	}
}

// What never started says nothing about the session before it: the next
// attempt goes about it as that one should have.
func TestNotStartedChangesNothingOfTheNextTry(t *testing.T) {
	b := newBench(t, "g/01_a local-G07")
	r := b.run("g/01_a", spec.ClassContextLimit)
	r.Result.SessionID = "s1"
	s := b.start("g/01_a")
	if s.Try.Kind != spec.TrySameSession {
		t.Fatalf("after a context limit of laguna-s: %s", s.Try.Kind)
	}
	b.end(s, spec.ClassNotStarted)
	s = b.start("g/01_a")
	if s.Try.Kind != spec.TrySameSession || s.Try.Last == nil || s.Try.Last.Result.SessionID != "s1" {
		t.Errorf("after a claim that never started: %s %+v", s.Try.Kind, s.Try.Last)
	}
	b.end(s, spec.ClassNotStarted)
	b.end(b.start("g/01_a"), spec.ClassNotStarted)
	at := b.now
	b.start("g/01_a")
	if wait := b.now.Sub(at); wait != 4*time.Second {
		t.Errorf("waited %s after three claims that never started, want 4s", wait)
	}
}

func TestPromotion(t *testing.T) {
	for _, tt := range []struct {
		slot  string
		class spec.Class
		want  []string // agent and kind of the attempts after each such end
	}{
		{"cloud-G01", spec.ClassQuota, []string{"claude promotion", "codex promotion", "codex promotion"}},
		{"cloud-G05", spec.ClassContextLimit, []string{"claude promotion", "codex promotion", "codex promotion"}},
		{"cloud-G03", spec.ClassRateLimit, []string{"claude promotion", "codex promotion"}},
		{"cloud-G07", spec.ClassModelUnavailable, []string{"codex promotion", "codex promotion"}},
		{"local-G10", spec.ClassQuota, []string{"codex promotion", "codex promotion"}},
		{"cloud-G10", spec.ClassContextLimit, []string{"codex promotion", "codex promotion"}},
		{"local-G01", spec.ClassQuota, []string{"pi retry", "pi retry"}},
		{"local-G07", spec.ClassModelUnavailable, []string{"pi retry", "pi retry"}},
		{"cloud-G01", spec.ClassGenericError, []string{"agy retry", "agy retry"}},
		{"cloud-G01", spec.ClassSessionStall, []string{"agy retry"}},
		{"cloud-G01", spec.ClassProviderConnection, []string{"agy retry"}},
		{"cloud-G01", spec.ClassOverloaded, []string{"agy retry"}},
		{"cloud-G01", spec.ClassLost, []string{"agy retry"}},
	} {
		b := newBench(t, "g/01_a "+tt.slot)
		for i, want := range tt.want {
			last := b.run("g/01_a", tt.class)
			td := b.decide("g/01_a")
			s := b.start("g/01_a")
			if got := s.Try.Route.Agent + " " + string(s.Try.Kind); got != want {
				t.Errorf("%s, %d %s: %s, want %s", tt.slot, i+1, tt.class, got, want)
			}
			up := s.Locator.CLI != last.Locator.CLI
			if up != (td.Start != nil) {
				t.Errorf("%s: a promotion starts at once, a retry waits; %s", tt.slot, td.State)
			}
			if s.Locator.Previous != last.Dir+"/locator.json" {
				t.Errorf("%s: previous is %q", tt.slot, s.Locator.Previous)
			}
			if named := strings.Contains(s.Prompt, last.Dir+"/locator.json"); named != (s.Try.Kind == spec.TryPromotion) {
				t.Errorf("%s: prompt of a %s: %s", tt.slot, s.Try.Kind, s.Prompt)
			}
		}
	}
}

func TestPromotionSticks(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G01")
	b.run("g/01_a", spec.ClassQuota)
	b.run("g/01_a", spec.ClassGenericError)
	s := b.start("g/01_a")
	if s.Locator.CLI != "claude" || s.Try.Kind != spec.TryRetry {
		t.Errorf("after claude's error: %s %s", s.Locator.CLI, s.Try.Kind)
	}
	b.files["agent-task/g/01_a/PLAN-cloud-G01.md"] = planText("g/01_a", 1)
	b.files["agent-task/g/01_a/CODE_REVIEW-cloud-G01.md"] = strings.Replace(b.files["agent-task/g/01_a/CODE_REVIEW-cloud-G01.md"], "plan=0", "plan=1", 1)
	if s := b.start("g/01_a"); s.Locator.CLI != "agy" || s.Locator.Attempt != "g.01_a__p1__worker__a00" {
		t.Errorf("a new generation starts with %s %s", s.Locator.CLI, s.Locator.Attempt)
	}
}

func TestSameSession(t *testing.T) {
	for _, tt := range []struct {
		slot   string
		class  spec.Class
		inTool bool
		want   spec.TryKind
	}{
		{"local-G07", spec.ClassContextLimit, false, spec.TrySameSession},
		{"local-G08", spec.ClassSessionStall, false, spec.TrySameSession},
		{"local-G08", spec.ClassSessionStall, true, spec.TryRetry},
		{"local-G07", spec.ClassGenericError, false, spec.TryRetry},
		{"local-G01", spec.ClassContextLimit, false, spec.TryRetry},
		{"local-G01", spec.ClassSessionStall, false, spec.TryRetry},
		{"cloud-G07", spec.ClassSessionStall, false, spec.TryRetry},
	} {
		b := newBench(t, "g/01_a "+tt.slot)
		r := b.run("g/01_a", tt.class)
		r.Exit.StalledInTool, r.Result.SessionID = tt.inTool, "s"
		s := b.start("g/01_a")
		if s.Try.Kind != tt.want {
			t.Errorf("%s after %s (in tool %v): %s, want %s", tt.slot, tt.class, tt.inTool, s.Try.Kind, tt.want)
		}
	}
	b := newBench(t, "g/01_a local-G07") // ten same-session attempts block, too
	for range 10 {
		b.run("g/01_a", spec.ClassContextLimit).Result.SessionID = "s"
	}
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.FailureBudget)
}

func TestQuotaWaitsOnlyWhereNothingIsAbove(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	reset := b.now.Add(3 * time.Hour)
	b.run("g/01_a", spec.ClassQuota).Exit.ResetAt = reset
	td := b.decide("g/01_a")
	b.want(td, spec.StateWaiting, spec.QuotaWait)
	if !td.Look.Equal(reset) {
		t.Errorf("looks again at %s, want the reset", td.Look)
	}
	b.now = reset
	if s := b.start("g/01_a"); s.Try.Kind != spec.TryPromotion || s.Locator.CLI != "codex" {
		t.Errorf("after the reset: %s %s", s.Locator.CLI, s.Try.Kind)
	}
	b = newBench(t, "g/01_a cloud-G01")
	b.run("g/01_a", spec.ClassQuota).Exit.ResetAt = reset
	if td := b.decide("g/01_a"); td.Start == nil || td.Start.Locator.CLI != "claude" {
		t.Errorf("agy's quota: %s %s, want claude at once", td.State, td.Reason.Detail)
	}
	b = newBench(t, "g/01_a cloud-G09") // a reset that is over when it is told
	b.run("g/01_a", spec.ClassQuota).Exit.ResetAt = b.now.Add(-time.Hour)
	b.want(b.decide("g/01_a"), spec.StateWaiting, spec.BackoffWait)
}

func TestBackoff(t *testing.T) {
	p := spec.DefaultPolicy()
	for n, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		if got := backoff(n+1, spec.ClassGenericError, p); got != want*time.Second {
			t.Errorf("backoff(%d) = %s, want %ds", n+1, got, want)
		}
	}
	for n, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600} {
		if got := backoff(n+1, spec.ClassOverloaded, p); got != want*time.Second {
			t.Errorf("backoff(%d, overloaded) = %s, want %ds", n+1, got, want)
		}
	}
	if got := backoff(1<<30, spec.ClassLost, p); got != time.Minute {
		t.Errorf("backoff of very many = %s", got)
	}
}

func TestSelfcheckRefusedTenTimes(t *testing.T) {
	b := newBench(t, "g/01_a local-G01")
	b.run("g/01_a", spec.ClassSuccess)
	for i := range 10 {
		s := b.start("g/01_a")
		if s.Locator.Role != spec.RoleSelfcheck {
			t.Fatalf("attempt %d is a %s", i, s.Locator.Role)
		}
		b.end(s, spec.ClassSuccess)
	}
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.SelfcheckIncomplete)

	b = newBench(t, "g/01_a local-G01") // filled in at the tenth
	b.run("g/01_a", spec.ClassSuccess)
	for range 9 {
		b.run("g/01_a", spec.ClassSuccess)
	}
	s := b.start("g/01_a")
	b.fill("g/01_a", "-local-G01")
	b.end(s, spec.ClassSuccess)
	if s := b.start("g/01_a"); s.Locator.Role != spec.RoleReview {
		t.Errorf("after a filled selfcheck: %s", s.Locator.Role)
	}
}

func TestReviewWithoutVerdict(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	b.run("g/01_a", spec.ClassSuccess)
	first := b.start("g/01_a")
	if !strings.HasPrefix(first.Prompt, "Read /w/agent-task/g/01_a/CODE_REVIEW-cloud-G09.md and start the review.") {
		t.Errorf("prompt: %s", first.Prompt)
	}
	b.files["agent-task/g/01_a/CODE_REVIEW-cloud-G09.md"] += "more\n"
	b.end(first, spec.ClassSuccess)
	td := b.decide("g/01_a")
	b.want(td, spec.StateWaiting, spec.BackoffWait)
	if got := b.stage("g/01_a", spec.RoleReview).Transport; got != 1 {
		t.Errorf("%d failures, want 1", got)
	}
	if s := b.start("g/01_a"); s.Try.Kind != spec.TryRecovery || !strings.HasPrefix(s.Prompt, "Continue the review for /w/agent-task/g/01_a.") {
		t.Errorf("%s: %s", s.Try.Kind, s.Prompt)
	}
	for range 9 {
		b.run("g/01_a", spec.ClassSuccess)
	}
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.FailureBudget)
}

func TestReviewWithoutProgress(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	b.run("g/01_a", spec.ClassSuccess)
	for i := range 10 {
		b.run("g/01_a", spec.ClassSuccess)
		td := b.decide("g/01_a")
		if len(td.Folds) > 0 && !td.Folds[0].Judgement.Unchanged {
			t.Fatalf("review %d counts as progress", i)
		}
	}
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.ReviewNoProgress)
}

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

func TestStopsAndSweeps(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	r := b.run("g/01_a", spec.ClassSuccess)
	r.State = spec.RunOrphaned
	if td := b.decide("g/01_a"); len(td.Sweeps) != 1 || td.Start != nil || td.State != spec.StateRunning {
		t.Errorf("orphaned: %+v", td)
	}
	r.State = spec.RunRunning
	if td := b.decide("g/01_a"); len(td.Sweeps)+len(td.Stops) != 0 || td.Start != nil || td.Live == nil {
		t.Errorf("running: %+v", td)
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

// An attempt that lives is never overlooked, whatever the memory says of its
// life.
func TestNeverBesideAnAttemptOfAnOtherLife(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	r := b.run("g/01_a", spec.ClassSuccess)
	r.State = spec.RunRunning
	b.memory = spec.NewMemory()
	b.memory.Groups["g"] = &spec.Group{Tasks: map[string]string{"g/01_a": "complete"}, Baseline: map[string][]string{}}
	b.now = b.now.Add(time.Hour)
	if td := b.decide("g/01_a"); td.Start != nil || td.State != spec.StateRunning {
		t.Errorf("starts beside a running attempt: %s", td.State)
	}
}

func TestRouteStopped(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09", "g/02_b cloud-G07", "g/03_c cloud-G09")
	b.run("g/01_a", spec.ClassAuthConfig)
	td := b.decide("g/01_a")
	b.want(td, spec.StateBlocked, spec.RouteStopped)
	b.want(b.decide("g/03_c"), spec.StateBlocked, spec.RouteStopped)
	if s := b.start("g/02_b"); s.Locator.CLI != "claude" {
		t.Errorf("b runs on %s", s.Locator.CLI)
	}
}

// A document that somebody is writing is looked at again soon.
func TestUnstableDocumentHasATimer(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	b.unstable = map[string]bool{"agent-task/g/01_a/PLAN-cloud-G09.md": true}
	td := b.decide("g/01_a")
	b.want(td, spec.StateWaiting, spec.InfraWait)
	if d := td.Look.Sub(b.now); d <= 0 || d > 2*time.Second {
		t.Errorf("looks again in %s", d)
	}
}

// What nobody knows is no task: not even a vanished one.
func TestForgottenTaskIsNone(t *testing.T) {
	b := newBench(t, "g/01_a cloud-G09")
	b.decide("g/01_a")
	delete(b.files, "agent-task/g/01_a/PLAN-cloud-G09.md")
	delete(b.files, "agent-task/g/01_a/CODE_REVIEW-cloud-G09.md")
	b.want(b.decide("g/01_a"), spec.StateBlocked, spec.Vanished)
	b.memory = spec.NewMemory()
	if td := b.decide("g/01_a"); td.State != "" {
		t.Errorf("a forgotten task is %s %s", td.State, td.Reason.Code)
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
