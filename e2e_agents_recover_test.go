package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/launcher/agent/modelstub"
	"drover/spec"
)

// lingering is a tool that does not end by itself. Programs start their tools
// in sessions of their own, which no signal to a process group reaches.
const lingering = "sleep 4711"

// lingerOnce is a model whose first tool lingers; asked again it does the task.
func lingerOnce() modelstub.Scenario {
	good := greet()
	return modelstub.Scenario{
		{Kind: modelstub.KindShell, Command: lingering + "; true", Times: 1, Then: &good[0]}, good[1], good[2],
	}
}

// TestAgentsKilled: a program that is killed in the middle of a tool leaves
// nothing, whoever was killed; a new session does the task.
func TestAgentsKilled(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, tt := range []struct{ program, victim string }{
		{"codex", "agent"},
		{"claude", "agent"},
		{"pi", "agent"},
		{"gemini", "agent"},
		{"opencode", "agent"},
		{"claude", "shim"},
		{"codex", "shim"},
	} {
		t.Run(tt.program+" "+tt.victim, func(t *testing.T) {
			two.enter(t)
			b := newBench(t, agents)
			b.configure(benchSettings{programs: []string{tt.program}, worker: tt.program, budget: "10"})
			b.models.Play(tt.program, lingerOnce())
			end := b.background("run", "--drain")
			b.until("the tool runs", func() bool { return len(b.processes(lingering)) > 0 })
			loc := b.locator("shop.01_hello__p0__worker__a00")
			victim, class, by := loc.AgentPID, spec.ClassProcessTerminated, "unknown"
			if tt.victim == "shim" {
				victim = loc.ShimPID
			}
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if code := end(); code != 0 {
				t.Fatalf("drover ended with %d\n%s", code, b.evidence())
			}
			b.complete("hello from the agent")
			all := b.only(spec.RoleWorker, 2)
			if tt.victim == "agent" && (all[0].exit.Class != class || all[0].locator.TerminationInitiator != by || !all[0].exit.Swept) {
				t.Errorf("killed: %+v", all[0].exit)
			}
			if tt.victim == "shim" && !all[0].exit.EndedAt.IsZero() {
				t.Errorf("a killed shim recorded %+v", all[0].exit)
			}
			if all[1].locator.SessionID == all[0].locator.SessionID {
				t.Errorf("both attempts are session %s", all[1].locator.SessionID)
			}
			if left := b.processes(lingering); len(left) > 0 {
				t.Errorf("the tool is left: %v", left)
			}
		})
	}
}

// TestAgentsStopped: what a person stops ends, with its tools, and no failure
// is counted; gemini ignores SIGTERM.
func TestAgentsStopped(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, program := range []string{"gemini", "claude"} {
		t.Run(program, func(t *testing.T) {
			two.enter(t)
			b := newBench(t, agents)
			b.configure(benchSettings{programs: []string{program}, worker: program})
			b.models.Play(program, lingerOnce())
			end := b.background("run", "--drain")
			b.until("the tool runs", func() bool { return len(b.processes(lingering)) > 0 })
			b.drover(0, "stop", "01")
			if code := end(); code != 2 {
				t.Errorf("drover ended with %d, want 2", code)
			}
			b.gone()
			a := b.only(spec.RoleWorker, 1)[0]
			if a.exit.EndedBy != "person" || a.exit.Class != spec.ClassStopped {
				t.Errorf("exit %+v", a.exit)
			}
			if row := b.row(); row.State != spec.StateHeld || row.Failures != 0 {
				t.Errorf("the task is %s after %d failures", row.State, row.Failures)
			}
		})
	}
}

// TestAgentsSameSession: laguna-s goes on in the session that stalled outside
// a tool, also when another drover finds it (seed 003).
func TestAgentsSameSession(t *testing.T) {
	b := newBench(t, agentsDir(t))
	b.configure(benchSettings{
		programs: []string{"pi"}, worker: "laguna", budget: "10", endAfter: "6s",
		routes: "  laguna: {agent: pi, model: \"stub/laguna-s:2.1\", selfcheck: false}\n",
	})
	good := greet()
	b.models.Play("pi", modelstub.Scenario{good[0], {Kind: modelstub.KindSilent, Times: 1, Then: &good[2]}})
	b.drover(3, "run", "--once")
	first := filepath.Join(b.runs(), "shop.01_hello__p0__worker__a00")
	b.until("the stall is recorded", func() bool { return exists(filepath.Join(first, "exit.json")) })
	b.gone()
	b.drover(0, "run", "--drain")
	b.complete("hello from the agent")
	all := b.only(spec.RoleWorker, 2)
	old, now := all[0], all[1]
	if old.exit.Class != spec.ClassSessionStall || old.exit.StalledInTool {
		t.Errorf("stalled: %+v", old.exit)
	}
	if now.locator.Try != spec.TrySameSession || now.locator.SessionID != old.locator.SessionID || now.locator.SessionPath != old.locator.SessionPath {
		t.Errorf("%s of session %s (%s), want %s (%s)", now.locator.Try, now.locator.SessionID, now.locator.SessionPath,
			old.locator.SessionID, old.locator.SessionPath)
	}
	asked := b.models.Requests("pi")
	if last := asked[len(asked)-1].Body; !strings.Contains(last, old.locator.Plan) || !strings.Contains(last, "Continue this session and complete the current task.") {
		t.Errorf("the model did not get the old session and the new prompt: %.3000s", last)
	}
}

// TestAgentsPromotion: agy (a fake, from its documented output), then claude,
// then codex, then a fresh codex; each is told where the last one's traces are.
func TestAgentsPromotion(t *testing.T) {
	b := newBench(t, agentsDir(t))
	b.folders = []string{filepath.Join(b.home, "fake")}
	b.file(filepath.Join(b.home, "fake/agy"), fakeAgy)
	b.configure(benchSettings{
		programs: []string{"claude", "codex"}, worker: "agy", budget: "10", subscriber: true,
		routes:  "  agy: {agent: agy, model: flash}\n",
		promote: "[agy, claude, codex]",
	})
	good := greet()
	b.models.Play("claude", modelstub.Scenario{{Kind: modelstub.KindFail, Fault: modelstub.UsageLimit}})
	b.models.Play("codex", modelstub.Scenario{
		{Kind: modelstub.KindFail, Fault: modelstub.Context, Times: 1, Then: &good[0]}, good[1], good[2],
	})
	b.drover(0, "run", "--drain")
	b.complete("hello from the agent")
	all := b.only(spec.RoleWorker, 4)
	for i, want := range []struct {
		cli   string
		try   spec.TryKind
		class spec.Class
	}{
		{"agy", spec.TryFresh, spec.ClassQuota},
		{"claude", spec.TryPromotion, spec.ClassQuota},
		{"codex", spec.TryPromotion, spec.ClassContextLimit},
		{"codex", spec.TryPromotion, spec.ClassSuccess},
	} {
		got := all[i]
		if got.locator.CLI != want.cli || got.locator.Try != want.try || got.exit.Class != want.class {
			t.Errorf("a%02d: %s %s %s, want %+v", i, got.locator.CLI, got.locator.Try, got.exit.Class, want)
		}
	}
	for i, program := range []string{"claude", "codex"} {
		prompt := "Continue from " + filepath.Join(all[i].dir, "locator.json") + ". Check the saved context and current workspace. Final in English."
		if asked := b.models.Requests(program); len(asked) == 0 || !strings.Contains(asked[0].Body, prompt) {
			t.Errorf("%s was not told: %s", program, prompt)
		}
	}
	if all[2].locator.SessionID == all[3].locator.SessionID {
		t.Error("the second codex is not fresh")
	}
}

// fakeAgy reports a used up quota as agy's documentation has it.
const fakeAgy = `#!/bin/sh
echo '{"event":"init","conversation_id":"11111111-2222-3333-4444-555555555555","init":{"cwd":"/","tools":[],"permission_mode":"default"}}'
echo '{"event":"result","result":{"conversation_id":"11111111-2222-3333-4444-555555555555","status":"ERROR","response":"","error":"Individual quota reached. Resets in 34m13s.","duration_seconds":1,"num_turns":0}}'
echo 'AGY_ERROR: {"status":"RESOURCE_EXHAUSTED","error_code":429,"short_error":"Individual quota reached","retryable":false}' >&2
echo 'error: Individual quota reached. Please upgrade your plan. Resets in 34m13s.' >&2
exit 3
`

// TestAgentsReviewControl: a review that calls a sub-agent is ended, counted,
// and another one does it by itself.
func TestAgentsReviewControl(t *testing.T) {
	b := newBench(t, agentsDir(t))
	b.configure(benchSettings{programs: []string{"claude"}, worker: "check", review: "claude", budget: "10"})
	b.models.Play("claude", modelstub.Scenario{
		{Kind: modelstub.KindTool, Name: "Agent", Args: map[string]any{
			"description": "review it", "prompt": "Review it.", "subagent_type": "general-purpose",
		}},
		{Kind: modelstub.KindSilent},
	})
	end := b.background("run", "--drain")
	first := filepath.Join(b.runs(), "shop.01_hello__p0__review__a00")
	b.until("the review is ended", func() bool { return exists(filepath.Join(first, "exit.json")) })
	b.models.Play("claude", modelstub.Scenario{
		{Kind: modelstub.KindShell, Command: passes},
		{Kind: modelstub.KindText, Text: "It passes."},
	})
	if code := end(); code != 0 {
		t.Fatalf("drover ended with %d\n%s", code, b.evidence())
	}
	b.complete("by script")
	all := b.attempts(spec.RoleReview)
	if old := all[0]; old.exit.Class != spec.ClassReviewControl || old.exit.EndedBy != "dispatcher" || old.exit.Evidence.Excerpt != "Agent" {
		t.Errorf("ended review: %+v", old.exit)
	}
	if last := all[len(all)-1]; len(all) < 2 || last.exit.Class != spec.ClassSuccess || last.locator.SessionID == all[0].locator.SessionID {
		t.Errorf("%d reviews, the last %+v", len(all), last.exit)
	}
}

// TestAgentsNeverEnd: programs that would go on for ever without a word of
// progress are noticed, and their own notices of it do not count as one.
func TestAgentsNeverEnd(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, tt := range []struct {
		name, program string
		offline       bool
	}{
		{"claude after the head of an answer", "claude", false},
		{"codex without a network", "codex", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			two.enter(t)
			b := newBench(t, agents)
			if tt.offline {
				b.address = "http://127.0.0.1:1"
			}
			b.configure(benchSettings{programs: []string{tt.program}, worker: tt.program, endAfter: "10s"})
			b.models.Play(tt.program, modelstub.Scenario{{Kind: modelstub.KindBegun}})
			b.drover(2, "run", "--drain")
			b.failedAs(spec.ClassSessionStall)
			b.stands(spec.FailureBudget)
		})
	}
}

// background starts drover; end waits for it and returns its exit code.
func (b *bench) background(args ...string) (end func() int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	c := b.command(ctx, args...)
	if err := c.Start(); err != nil {
		cancel()
		b.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = c.Wait() // the code is asked for
		close(done)
	}()
	b.t.Cleanup(func() {
		cancel()
		<-done
	})
	return func() int {
		<-done
		return c.ProcessState.ExitCode()
	}
}

// locator is of an attempt that may still run.
func (b *bench) locator(attempt string) spec.Locator {
	b.t.Helper()
	var loc spec.Locator
	b.json(filepath.Join(b.runs(), attempt, "locator.json"), &loc)
	if loc.AgentPID == 0 || loc.ShimPID == 0 {
		b.t.Fatal("agent " + strconv.Itoa(loc.AgentPID) + ", shim " + strconv.Itoa(loc.ShimPID))
	}
	return loc
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
