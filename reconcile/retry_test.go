package reconcile

import (
	"strings"
	"testing"
	"time"

	"drover/spec"
)

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
