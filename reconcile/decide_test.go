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
