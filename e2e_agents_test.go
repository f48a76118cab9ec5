package main

import (
	"os"
	"strings"
	"testing"

	"drover/launcher/agent/modelstub"
	"drover/spec"
)

// alarming prints what would be a failure, did anyone but a tool say it.
const alarming = "echo 'HTTP 429 Too Many Requests: rate limit exceeded; You exceeded your current quota; " +
	"prompt is too long: 300000 tokens > 200000 maximum; 401 Unauthorized: invalid api key; connection refused'"

// greet is a model that does the task, and says so.
func greet() modelstub.Scenario {
	return modelstub.Scenario{
		{Kind: modelstub.KindWrite, Path: "hello.txt", Text: "hello from the agent\n"},
		{Kind: modelstub.KindShell, Command: "cat hello.txt; " + alarming + "; " + alarming + " >&2"},
		{Kind: modelstub.KindText, Text: "Done: hello.txt is there."},
	}
}

// TestAgentsWork: each real program edits a file through a tool of its own, the
// task reaches complete.log, and all that a locator promises is found.
func TestAgentsWork(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, tt := range variants() {
		t.Run(tt.name, func(t *testing.T) {
			two.enter(t)
			b := newBench(t, agents)
			b.prefer(tt)
			b.configure(benchSettings{programs: []string{tt.program}, worker: tt.program})
			b.models.Play(tt.program, greet())
			b.drover(0, "run", "--drain")
			b.complete("hello from the agent")
			a := b.only(spec.RoleWorker, 1)[0]
			b.succeeded(a, tt.program)
			if prompt := b.models.Requests(tt.program)[0].Body; !strings.Contains(prompt, a.locator.Plan) {
				t.Errorf("the model was not told of %s: %.2000s", a.locator.Plan, prompt)
			}
		})
	}
}

// succeeded wants all that is known of a success: session, usage, last words.
func (b *bench) succeeded(a attempt, program string) {
	b.t.Helper()
	if a.exit.Class != spec.ClassSuccess || !a.exit.Swept || a.exit.EndedBy != "agent" {
		b.t.Errorf("exit %+v", a.exit)
	}
	if a.locator.SessionID == "" || a.result.SessionID != a.locator.SessionID {
		b.t.Errorf("session %q in the locator, %q in the result", a.locator.SessionID, a.result.SessionID)
	}
	// opencode keeps all sessions in one database.
	if _, err := os.Stat(a.locator.SessionPath); err != nil && program != "opencode" {
		b.t.Errorf("native session file: %v", err)
	}
	if a.result.Usage.InputTokens < 1000 || a.result.Usage.OutputTokens < 20 {
		b.t.Errorf("usage %+v", a.result.Usage)
	}
	if !strings.HasPrefix(a.result.FinalMessage, "Done: hello.txt") {
		b.t.Errorf("final message %q", a.result.FinalMessage)
	}
}

// passes is what a reviewer's shell does where drover finalizes.
const passes = `printf '\n## Code review result\n\nVerdict: PASS\n' >> agent-task/shop/01_hello/CODE_REVIEW.md`

// fills brings content into every field of the review file's worker half.
const fills = `sed -i -e 's/| \[ \] |  |/| [x] | hello.txt |/' -e 's/^- \[ \]/- [x]/' ` +
	`-e '/^## Deviations/a None.' -e '/^## Design/a None needed.' -e '/^## Verification/a It greets.' agent-task/shop/01_hello/CODE_REVIEW.md`

// TestAgentsChain: Pi works, looks at its own work once in a fresh session, and
// codex reviews it (seed 003's local route).
func TestAgentsChain(t *testing.T) {
	b := newBench(t, agentsDir(t))
	b.configure(benchSettings{
		programs: []string{"codex", "pi"}, worker: "local", review: "codex", budget: "10",
		routes: "  local: {agent: pi, model: stub/stub-model, effort: high}\n",
	})
	good := greet()
	b.models.Play("pi", modelstub.Scenario{good[0], {Kind: modelstub.KindShell, Command: fills}, good[2]})
	b.models.Play("codex", modelstub.Scenario{
		{Kind: modelstub.KindShell, Command: passes}, {Kind: modelstub.KindText, Text: "It passes."},
	})
	b.drover(0, "run", "--drain")
	b.complete("hello from the agent")
	worker, selfcheck := b.only(spec.RoleWorker, 1)[0], b.only(spec.RoleSelfcheck, 1)[0]
	review := b.only(spec.RoleReview, 1)[0]
	if selfcheck.locator.CLI != "pi" || selfcheck.locator.SessionID == worker.locator.SessionID {
		t.Errorf("selfcheck by %s in session %s, the worker's is %s", selfcheck.locator.CLI, selfcheck.locator.SessionID, worker.locator.SessionID)
	}
	if review.locator.CLI != "codex" || review.exit.Class != spec.ClassSuccess {
		t.Errorf("review by %s: %+v", review.locator.CLI, review.exit)
	}
}
