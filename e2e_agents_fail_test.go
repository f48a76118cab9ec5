package main

import (
	"cmp"
	"testing"
	"time"

	"drover/launcher/agent/modelstub"
	"drover/spec"
)

// trouble is one way for a model to fail.
type trouble struct {
	name  string
	step  modelstub.Step
	class spec.Class
	// but are the programs that tell it in another way.
	but map[string]spec.Class
	not string // a program that it tells nothing new of
}

func troubles() []trouble {
	fail := func(f modelstub.Fault) modelstub.Step {
		// opencode alone obeys it; else it tries for 80 seconds.
		return modelstub.Step{Kind: modelstub.KindFail, Fault: f, Header: map[string]string{"retry-after-ms": "50"}}
	}
	return []trouble{
		{name: "quota", step: fail(modelstub.Quota), class: spec.ClassQuota},
		{name: "rate", step: fail(modelstub.Rate), class: spec.ClassRateLimit},
		{name: "context", step: fail(modelstub.Context), class: spec.ClassContextLimit},
		{name: "model", step: fail(modelstub.Model), class: spec.ClassModelUnavailable},
		{name: "auth", step: fail(modelstub.Auth), class: spec.ClassAuthConfig},
		{
			name: "overload while it answers", step: modelstub.Step{Kind: modelstub.KindBreak, Fault: modelstub.Overloaded},
			class: spec.ClassOverloaded,
			// gemini sees only that the stream had no end.
			but: map[string]spec.Class{"gemini": spec.ClassProviderDisconnect},
			not: "opencode", // as for a cut
		},
		{name: "overload", step: fail(modelstub.Overloaded), class: spec.ClassOverloaded},
		{
			name: "cut", step: modelstub.Step{Kind: modelstub.KindCut}, class: spec.ClassProviderDisconnect,
			// It tries again without a word, for longer than anyone waits.
			but: map[string]spec.Class{"opencode": spec.ClassSessionStall},
		},
		{name: "stall", step: modelstub.Step{Kind: modelstub.KindSilent}, class: spec.ClassSessionStall},
	}
}

// TestAgentsFail: each real program meets each trouble. What happened is told
// by its right name, and drover does what seed 003 wants: up the ladder for a
// confirmed limit, the route stopped for a login, counted for the rest.
func TestAgentsFail(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, v := range variants() {
		for _, tr := range troubles() {
			program := v.program
			if program == tr.not {
				continue
			}
			t.Run(v.name+" "+tr.name, func(t *testing.T) {
				two.enter(t)
				b := newBench(t, agents)
				b.prefer(v)
				class := cmp.Or(tr.but[program], tr.class)
				s := benchSettings{programs: []string{program}, worker: program, subscriber: tr.step.Fault == modelstub.Quota}
				b.models.Play(program, modelstub.Scenario{tr.step})
				if class == spec.ClassSessionStall {
					s.endAfter = stallAfter(program).String()
				}
				switch {
				case class.Promotes() && program != "pi":
					s.promote, s.budget = "["+program+", check]", "10"
					b.configure(s)
					b.drover(0, "run", "--drain")
					b.promoted()
				case class == spec.ClassAuthConfig:
					s.budget = "10"
					b.configure(s)
					b.drover(2, "run", "--drain")
					b.stands(spec.RouteStopped)
				default:
					b.configure(s)
					b.drover(2, "run", "--drain")
					b.stands(spec.FailureBudget)
				}
				b.failedAs(class)
			})
		}
	}
}

// stallAfter is a silence that a program does not need for its start.
func stallAfter(program string) time.Duration {
	if program == "opencode" || program == "gemini" {
		return 25 * time.Second
	}
	return 10 * time.Second
}

// failedAs wants the first attempt's record to tell class, and all that seed
// 003 wants to be told with it.
func (b *bench) failedAs(class spec.Class) {
	b.t.Helper()
	all := b.attempts(spec.RoleWorker)
	if len(all) == 0 {
		b.t.Fatal("no attempt")
	}
	a := all[0]
	if a.exit.Class != class || a.locator.FailureClass != class || a.result.Success {
		b.t.Fatalf("class %s in exit.json, %s in the locator, want %s\n%s", a.exit.Class, a.locator.FailureClass, class, b.evidence())
	}
	source, by := spec.SourceProvider, "agent"
	if class == spec.ClassSessionStall {
		source, by = spec.SourceTimeout, "dispatcher"
		seconds := int(stallAfter(a.locator.CLI) / time.Second)
		if a.locator.TimeoutPhase != "model" || a.locator.TimeoutSeconds != seconds || a.locator.StreamSilenceInspection == nil && a.locator.PiSilenceInspection == nil {
			b.t.Errorf("timeout %q %d, inspections %v %v", a.locator.TimeoutPhase, a.locator.TimeoutSeconds,
				a.locator.StreamSilenceInspection, a.locator.PiSilenceInspection)
		}
	}
	if a.locator.FailureSource != source || a.locator.TerminationInitiator != by {
		b.t.Errorf("source %s by %s, want %s by %s", a.locator.FailureSource, a.locator.TerminationInitiator, source, by)
	}
	transport := class == spec.ClassProviderConnection || class == spec.ClassProviderDisconnect
	if a.locator.ProviderTransportFailureConfirmed != transport {
		b.t.Errorf("provider_transport_failure_confirmed is %t for %s", !transport, class)
	}
	if a.locator.FailureEvidenceSource == "" || a.locator.FailureEvidenceExcerpt == "" {
		b.t.Errorf("evidence %q: %q", a.locator.FailureEvidenceSource, a.locator.FailureEvidenceExcerpt)
	}
}

// promoted wants the second attempt on the rung above, and the task complete.
func (b *bench) promoted() {
	b.t.Helper()
	a := b.only(spec.RoleWorker, 2)[1]
	if a.locator.CLI != "script" || a.locator.Try != spec.TryPromotion || a.locator.Rung != 1 {
		b.t.Errorf("second attempt: %s by %s on rung %d", a.locator.Try, a.locator.CLI, a.locator.Rung)
	}
	b.complete("by script")
}

// stands wants the task blocked for code after one attempt.
func (b *bench) stands(code spec.Code) {
	b.t.Helper()
	b.only(spec.RoleWorker, 1)
	row := b.row()
	if row.State != spec.StateBlocked || row.Reason == nil || row.Reason.Code != code {
		b.t.Errorf("the task is %s, %+v; want blocked, %s", row.State, row.Reason, code)
	}
}

// TestAgentsQuotaWaits: a limit whose end is told, with nothing above, is waited
// for until then.
func TestAgentsQuotaWaits(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, program := range []string{"claude", "codex"} {
		t.Run(program, func(t *testing.T) {
			two.enter(t)
			b := newBench(t, agents)
			b.configure(benchSettings{programs: []string{program}, worker: program, budget: "10", subscriber: true})
			b.models.Play(program, modelstub.Scenario{{Kind: modelstub.KindFail, Fault: modelstub.UsageLimit}})
			b.drover(3, "run", "--drain", "--timeout", "12s")
			b.failedAs(spec.ClassQuota)
			b.only(spec.RoleWorker, 1)
			row := b.row()
			if row.State != spec.StateWaiting || row.Reason.Code != spec.QuotaWait || row.NextAt == nil {
				t.Fatalf("the task is %s, %+v, next at %v", row.State, row.Reason, row.NextAt)
			}
			if wait := time.Until(*row.NextAt); wait < 2*time.Hour || wait > 4*time.Hour {
				t.Errorf("it waits %s, want about 3h", wait)
			}
		})
	}
}
