package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

func clockStart() time.Time { return time.Date(2026, 11, 30, 20, 25, 0, 0, time.UTC) }

func TestCommands(t *testing.T) {
	const id = "c38e0000-0000-4000-8000-000000000001"
	fresh := func(agent, model, effort string) Spec {
		return Spec{
			Role: spec.RoleWorker, Route: spec.Route{Agent: agent, Model: model, Effort: effort}, Prompt: "Do it.",
			PromptFile: "/runs/a/prompt.txt", Dir: "/repo", RunDir: "/runs/a", NewSession: id, Doc: "/repo/PLAN.md",
		}
	}
	resumed := func(s Spec) Spec {
		s.Resume = &Session{ID: "old", Path: "/runs/z/session/x_old.jsonl"}
		return s
	}
	long := func(s Spec) Spec { s.Prompt = strings.Repeat("x", maxArg+1); return s }
	stricter := map[string]Settings{"codex": {Path: "/opt/codex", Sandbox: "workspace-write", Args: []string{"--color", "never"}}}
	own := map[string]Settings{"mine": {Command: []string{"mytool", "-m", "{model}", "{prompt}"}}}
	for _, c := range []struct {
		name     string
		settings map[string]Settings
		spec     Spec
		want     string
		session  string
		stdin    bool
	}{
		{"codex", nil, fresh("codex", "gpt-5.6-sol", "xhigh"), `codex exec --json --dangerously-bypass-approvals-and-sandbox -C /repo --skip-git-repo-check -m gpt-5.6-sol -c model_reasoning_effort="xhigh" Do it.`, "", false},
		{"codex resumes", nil, resumed(fresh("codex", "m", "")), `codex exec --json --dangerously-bypass-approvals-and-sandbox -C /repo --skip-git-repo-check -m m resume old Do it.`, "old", false},
		{"codex long", nil, long(fresh("codex", "m", "")), `codex exec --json --dangerously-bypass-approvals-and-sandbox -C /repo --skip-git-repo-check -m m -`, "", true},
		{"codex stricter", stricter, fresh("codex", "m", ""), `/opt/codex exec --json -s workspace-write -C /repo --skip-git-repo-check -m m --color never Do it.`, "", false},
		{"claude", nil, fresh("claude", "claude-opus-4-8", "xhigh"), `claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model claude-opus-4-8 --effort xhigh --session-id ` + id + ` Do it.`, id, false},
		{"claude resumes", nil, resumed(fresh("claude", "m", "")), `claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model m --resume old Do it.`, "old", false},
		{"claude long", nil, long(fresh("claude", "", "")), `claude -p --output-format stream-json --verbose --dangerously-skip-permissions --session-id ` + id, id, true},
		{"pi", nil, fresh("pi", "iop/ornith-fast", "high"), `pi --mode json -p --provider iop --model ornith-fast --thinking high --session-dir /runs/a/session Do it.`, "", false},
		{"pi resumes", nil, resumed(fresh("pi", "iop/laguna-s:2.1", "high")), `pi --mode json -p --provider iop --model laguna-s:2.1 --thinking high --session-dir /runs/z/session --session /runs/z/session/x_old.jsonl Do it.`, "old", false},
		{"agy", nil, fresh("agy", "Gemini 3.5 Flash (Low)", ""), `agy --model gemini-3.5-flash --effort low --dangerously-skip-permissions --output-format stream-json --print-timeout 24h -p Do it.`, "", false},
		{"agy with effort", nil, fresh("agy", "Gemini 3.5 Flash", "High"), `agy --model gemini-3.5-flash --effort high --dangerously-skip-permissions --output-format stream-json --print-timeout 24h -p Do it.`, "", false},
		{"agy slug with effort", nil, fresh("agy", "gemini-3.1-pro-high", "high"), `agy --model gemini-3.1-pro-high --dangerously-skip-permissions --output-format stream-json --print-timeout 24h -p Do it.`, "", false},
		{"agy resumes, long", nil, resumed(long(fresh("agy", "", ""))), `agy --dangerously-skip-permissions --output-format stream-json --print-timeout 24h --add-dir /runs/a --conversation old -p Read /runs/a/prompt.txt and do what it says.`, "old", false},
		{"gemini", nil, fresh("gemini", "gemini-2.5-pro", "high"), `gemini -o stream-json --yolo -m gemini-2.5-pro --session-id ` + id + ` -p Do it.`, id, false},
		{"gemini resumes", nil, resumed(fresh("gemini", "m", "")), `gemini -o stream-json --yolo -m m --resume old -p Do it.`, "old", false},
		{"opencode", nil, fresh("opencode", "stub/stub-model", "high"), `opencode run --format json --auto -m stub/stub-model --variant high --dir /repo Do it.`, "", false},
		{"opencode resumes", nil, resumed(fresh("opencode", "m", "")), `opencode run --format json --auto -m m --dir /repo --session old Do it.`, "old", false},
		{"script", nil, fresh("script", "", ""), `/bin/drover script-agent worker /repo/PLAN.md`, "", false},
		{"own", own, fresh("mine", "big", ""), `mytool -m big Do it.`, "", false},
	} {
		cli, ok := NewSet("/bin/drover", c.settings).Lookup(c.spec.Route.Agent)
		if !ok {
			t.Fatalf("%s: no such agent", c.name)
		}
		cmd, err := cli.Command(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cmd.Argv, " "); got != c.want || cmd.SessionID != c.session || cmd.StdinPrompt != c.stdin {
			t.Errorf("%s:\n got %s (session %q, stdin %v)\nwant %s", c.name, got, cmd.SessionID, cmd.StdinPrompt, c.want)
		}
		if !slices.Contains(cmd.Argv, c.spec.Prompt) && !onStdin(c.spec.Prompt) && c.name != "script" {
			t.Errorf("%s: the prompt is no argument of its own", c.name)
		}
	}
}

func TestSessionFile(t *testing.T) {
	root := t.TempDir()
	const id = "01a22e22-4fff-7cc1-8a7f-ca8803b5fa70"
	began, _ := uuidTime(id)
	files := map[string]string{
		"codex":  ".codex/sessions/" + began.Format("2006/01/02") + "/rollout-2026-11-30T20-25-30-" + id + ".jsonl",
		"claude": ".claude/projects/-my-repo-1/" + id + ".jsonl",
		"pi":     "run/session/2026-11-30T20-25-34-752Z_" + id + ".jsonl",
		"gemini": ".gemini/tmp/repo.1/chats/session-2026-11-30T20-28-01a22e22.jsonl",
		"agy":    ".gemini/antigravity-cli/brain/" + id + "/.system_generated/logs/transcript_full.jsonl",
	}
	env := []string{"HOME=" + root, "CODEX_HOME=", "CLAUDE_CONFIG_DIR=", "DROVER_RUN_DIR=" + root + "/run"}
	set := NewSet("drover", nil)
	for name, file := range files {
		cli, _ := set.Lookup(name)
		if got := cli.SessionFile(id, "/my/repo.1", env); got != "" {
			t.Errorf("%s: found %s before it was there", name, got)
		}
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := cli.SessionFile(id, "/my/repo.1", env); got != path {
			t.Errorf("%s: got %q, want %q", name, got, path)
		}
	}
}

// finish runs lines through a reader.
func finish(t *testing.T, name, stdout string, end End) (Status, Outcome) {
	t.Helper()
	set := NewSet("drover", map[string]Settings{
		"mine":  {Command: []string{"mine"}, Success: Success{JSONPath: "$.out[0].status", Equals: "ok"}},
		"plain": {Command: []string{"plain"}, Success: Success{Exit: 3}},
	})
	cli, ok := set.Lookup(name)
	if !ok {
		t.Fatalf("no agent %s", name)
	}
	r := cli.Reader()
	_, _ = r.Write([]byte(stdout))
	st := r.Status()
	if end.Now.IsZero() {
		end.Now = clockStart()
	}
	return st, r.Finish(end)
}

const claudeOK = `{"type":"result","subtype":"success","is_error":false,"result":"Done."}` + "\n"

func TestVerdicts(t *testing.T) {
	claudeErr := func(code, status, text string) string {
		return `{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]},"error":"` + code + `"}` + "\n" +
			`{"type":"result","subtype":"success","is_error":true,"api_error_status":` + status + `,"result":"` + text + `"}` + "\n"
	}
	codexErr := func(text string) string { return `{"type":"turn.failed","error":{"message":"` + text + `"}}` + "\n" }
	piErr := func(text string) string {
		return `{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"` + text + `"}}` + "\n"
	}
	agyEnd := func(rest string) string { return `{"event":"result","result":{` + rest + `}}` + "\n" }
	one := End{Code: 1}
	for _, c := range []struct {
		name, cli, stdout string
		end               End
		want              spec.Class
	}{
		{"a success that exits", "claude", claudeOK, End{}, spec.ClassSuccess},
		{"would not exit, ended by drover", "claude", claudeOK, End{Signal: 9, EndedBy: "dispatcher"}, spec.ClassSuccess},
		{"would not exit, called stalled", "claude", claudeOK, End{Signal: 15, EndedBy: "dispatcher", Stalled: true}, spec.ClassSuccess},
		{"ended by a stranger after its word", "claude", claudeOK, End{Code: 143, EndedBy: "unknown"}, spec.ClassProcessTerminated},
		{"exits 1 after success", "claude", claudeOK, one, spec.ClassGenericError},
		{"failure, then stalled", "claude", claudeErr("rate_limit", "429", "limit"), End{Signal: 15, Stalled: true, EndedBy: "dispatcher"}, spec.ClassRateLimit},
		{"stalled", "codex", "", End{Signal: 15, Stalled: true, EndedBy: "dispatcher"}, spec.ClassSessionStall},
		{"stopped", "codex", "", End{Signal: 15, EndedBy: "person"}, spec.ClassStopped},
		{"killed", "codex", "", End{Signal: 9, EndedBy: "unknown"}, spec.ClassProcessTerminated},
		{"crashed", "codex", "", End{Signal: 11}, spec.ClassGenericError},
		{"exits 0 without a word", "codex", "", End{}, spec.ClassGenericError},
		{"truncated", "codex", "", End{Truncated: true}, spec.ClassGenericError},
		{"goes on after its result, stalls", "claude", claudeOK + `{"type":"assistant","message":{"content":[]}}` + "\n", End{Signal: 15, Stalled: true, EndedBy: "dispatcher"}, spec.ClassSessionStall},
		{"last lines swapped", "claude", claudeOK + `{"type":"assistant","message":{"content":[]}}` + "\n", End{}, spec.ClassSuccess},
		{"last lines swapped", "codex", `{"type":"turn.completed"}` + "\n" + `{"type":"error","message":"late"}` + "\n", End{}, spec.ClassSuccess},
		{"last lines swapped", "gemini", `{"type":"result","status":"success"}` + "\n" + `{"type":"message","role":"assistant","content":"x"}` + "\n", End{}, spec.ClassSuccess},

		{"interrupted", "claude", `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}`, End{}, spec.ClassProcessTerminated},
		{"max turns", "claude", `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":30}`, one, spec.ClassGenericError},
		{"credit", "claude", claudeErr("billing_error", "400", "Credit balance is too low"), one, spec.ClassQuota},
		{"session limit", "claude", claudeErr("rate_limit", "429", "You've hit your session limit · resets 11:29pm (UTC)"), one, spec.ClassQuota},
		{"5-hour limit", "claude", claudeErr("rate_limit", "429", "You've hit your 5-hour limit · resets 3am (UTC)"), one, spec.ClassQuota},
		{"rejected", "claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796081347}}` + "\n" + claudeErr("rate_limit", "429", "API Error: Request rejected (429)"), one, spec.ClassQuota},
		{"only a warning", "claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}` + "\n" + claudeOK, End{}, spec.ClassSuccess},
		{"root", "claude", "", End{Code: 1, Stderr: []byte("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n")}, spec.ClassAuthConfig},
		{"id in use", "claude", "", End{Code: 1, Stderr: []byte("Error: Session ID x is already in use.\n")}, spec.ClassGenericError},
		{"tool's words on stderr", "claude", "", End{Code: 1, Stderr: []byte("curl: (7) connection refused\n")}, spec.ClassGenericError},
		{"mark but local", "claude", "", End{Code: 1, Stderr: []byte("Error: dial tcp 127.0.0.1: connection refused\n")}, spec.ClassGenericError},
		{"certificate", "claude", claudeErr("unknown", "null", "API Error: Unable to connect to API: SSL certificate error"), one, spec.ClassProviderConnection},
		{"502", "claude", claudeErr("unknown", "502", "API Error: 502 Bad gateway"), one, spec.ClassOverloaded},
		{"403", "claude", claudeErr("authentication_failed", "403", "OAuth token has been revoked"), one, spec.ClassAuthConfig},

		{"plan limit", "codex", codexErr("You’ve hit your usage limit. Upgrade to Pro or try again at 11:25 PM."), one, spec.ClassQuota},
		{"missing key", "codex", codexErr("Missing environment variable: `STUB_API_KEY`."), one, spec.ClassAuthConfig},
		{"refused", "codex", codexErr("stream disconnected before completion: error sending request for url (http://x/)"), one, spec.ClassProviderConnection},
		{"503", "codex", codexErr("unexpected status 503 Service Unavailable: x"), one, spec.ClassOverloaded},
		{"404", "codex", codexErr("unexpected status 404 Not Found: unknown"), one, spec.ClassModelUnavailable},
		{"403", "codex", codexErr("unexpected status 403 Forbidden: country"), one, spec.ClassAuthConfig},
		{"429 with quota", "codex", codexErr("unexpected status 429: insufficient_quota"), one, spec.ClassQuota},
		{"model of another plan", "codex", codexErr("The 'x' model is not supported when using Codex with a ChatGPT account."), one, spec.ClassModelUnavailable},
		{"error only", "codex", `{"type":"error","message":"Quota exceeded."}` + "\n", one, spec.ClassQuota},
		{"error only, then killed", "codex", `{"type":"error","message":"Quota exceeded."}` + "\n", End{Signal: 15}, spec.ClassProcessTerminated},
		{"no such session", "codex", "", End{Code: 1, Stderr: []byte("Error: thread/resume: thread/resume failed: no rollout found for thread id x\n")}, spec.ClassGenericError},
		{"interrupted", "codex", "", End{Code: 1, Session: func() []byte {
			return []byte(`{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}`)
		}}, spec.ClassProcessTerminated},
		{"code of the session", "codex", codexErr("something new"), End{Code: 1, Session: func() []byte {
			return []byte(`{"type":"event_msg","payload":{"type":"task_complete","error":{"message":"something new","codex_error_info":{"http_connection_failed":{"http_status_code":401}}}}}`)
		}}, spec.ClassAuthConfig},
		{"code of another turn", "codex", codexErr("something new"), End{Code: 1, Session: func() []byte {
			return []byte(`{"type":"event_msg","payload":{"type":"task_complete","error":{"message":"something old","codex_error_info":"usage_limit_exceeded"}}}`)
		}}, spec.ClassGenericError},

		{"output limit", "pi", `{"type":"message_end","message":{"role":"assistant","stopReason":"length"}}`, End{}, spec.ClassContextLimit},
		{"tool call last", "pi", `{"type":"message_end","message":{"role":"assistant","stopReason":"toolUse"}}`, End{}, spec.ClassGenericError},
		{"plan limit", "pi", piErr(`429: {\"type\":\"usage_limit_reached\",\"message\":\"The usage limit has been reached\",\"resets_at\":1796081347}`), End{}, spec.ClassQuota},
		{"killed while it tries again", "pi", piErr("503 overloaded") + `{"type":"auto_retry_start","attempt":1}` + "\n", End{Code: 143}, spec.ClassProcessTerminated},
		{"no key", "pi", `{"type":"session","id":"x"}`, End{Code: 1, Stderr: []byte("No API key found for iop.\n")}, spec.ClassAuthConfig},
		{"no session", "pi", "", End{Code: 1, Stderr: []byte("No session found matching 'x'\n")}, spec.ClassGenericError},
		{"anthropic's words", "pi", piErr(`529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}`), End{}, spec.ClassOverloaded},
		{"google's words", "pi", piErr(`{\"error\":{\"code\":429,\"message\":\"You exceeded your current quota\",\"status\":\"RESOURCE_EXHAUSTED\"}}`), End{}, spec.ClassQuota},
		{"google's rate", "pi", piErr(`got status: 429. {\"error\":{\"code\":429,\"message\":\"slow\",\"status\":\"RESOURCE_EXHAUSTED\"}}`), End{}, spec.ClassRateLimit},
		{"anthropic's auth", "pi", piErr(`401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}`), End{}, spec.ClassAuthConfig},
		{"hanging, live", "pi", `{"type":"message_start","message":{"role":"assistant"}}`, End{Code: 143, EndedBy: "unknown"}, spec.ClassProcessTerminated},

		{"ok", "agy", agyEnd(`"status":"SUCCESS","response":"Done."`), End{}, spec.ClassSuccess},
		{"denied", "agy", agyEnd(`"status":"SUCCESS","response":"","denied_actions":[{"tool_name":"run"}]`), End{}, spec.ClassGenericError},
		{"denied, as words", "agy", agyEnd(`"status":"SUCCESS","response":"","denied_actions":["run"]`), End{}, spec.ClassGenericError},
		{"none denied", "agy", agyEnd(`"status":"SUCCESS","response":"Done.","denied_actions":[]`), End{}, spec.ClassSuccess},
		{"print timeout", "agy", agyEnd(`"status":"SUCCESS","response":"half"`), End{Stderr: []byte("[agy] print timeout after 5m0s with turn in progress; returning partial output\n")}, spec.ClassGenericError},
		{"quota", "agy", agyEnd(`"status":"ERROR","error":"x"`), End{Code: 3, Stderr: []byte("error: Individual quota reached. Contact your administrator. Resets in 34m13s.\nAGY_ERROR: {\"status\":\"RESOURCE_EXHAUSTED\",\"short_error\":\"Individual quota reached\",\"retryable\":false}\n")}, spec.ClassQuota},
		{"quota at exit 0", "agy", agyEnd(`"status":"ERROR","error":"Individual quota reached. Resets in 34m13s."`), End{}, spec.ClassQuota},
		{"unavailable", "agy", "", End{Code: 3, Stderr: []byte("AGY_ERROR: {\"status\":\"UNAVAILABLE\",\"short_error\":\"backend\"}\n")}, spec.ClassOverloaded},
		{"not signed in", "agy", agyEnd(`"status":"ERROR","error":"You are not signed in. Please sign in first."`), one, spec.ClassAuthConfig},
		{"wrong model", "agy", agyEnd(`"status":"ERROR","error":"invalid model selection (--model \"x\")"`), one, spec.ClassModelUnavailable},
		{"usage", "agy", "", End{Code: 2, Stderr: []byte("flag provided but not defined: -x\n")}, spec.ClassGenericError},

		{"no result, exit 429", "gemini", `{"type":"init","session_id":"x"}`, End{Code: 173, Stderr: []byte("Error when talking to Gemini API Full report: x TerminalQuotaError: You have exhausted your daily quota\n")}, spec.ClassQuota},
		{"quota", "gemini", `{"type":"result","status":"error","error":{"message":"[API Error: You have exhausted your capacity on this model. Your quota will reset after 3h2m1s.]"}}`, End{Code: 173}, spec.ClassQuota},
		{"login failed", "gemini", "", End{Code: 41, Stderr: []byte("Please set an Auth method in your settings.json\n")}, spec.ClassAuthConfig},
		{"unknown text, known exit", "gemini", `{"type":"result","status":"error","error":{"message":"?"}}`, End{Code: 247}, spec.ClassOverloaded},

		{"length", "opencode", `{"type":"step_finish","part":{"reason":"length"}}`, End{}, spec.ClassContextLimit},
		{"provider auth", "opencode", `{"type":"error","error":{"name":"ProviderAuthError","data":{"message":"x"}}}`, one, spec.ClassAuthConfig},

		{"script", "script", `{"type":"script.result","success":true,"message":"ok"}`, End{}, spec.ClassSuccess},
		{"script fails", "script", `{"type":"script.result","success":false,"message":"block 1: exit 3"}`, one, spec.ClassGenericError},
		{"own, by value", "mine", "hello\n" + `{"out":[{"status":"ok"}]}`, End{}, spec.ClassSuccess},
		{"own, other value", "mine", `{"out":[{"status":"bad"}]}`, End{}, spec.ClassGenericError},
		{"own, no value", "mine", "{}", End{}, spec.ClassGenericError},
		{"own, by value but exit", "mine", `{"out":[{"status":"ok"}]}`, one, spec.ClassGenericError},
		{"own, by exit", "plain", "hello", End{Code: 3}, spec.ClassSuccess},
		{"own, other exit", "plain", "hello", End{}, spec.ClassGenericError},
		{"own, killed", "plain", "hello", End{Signal: 9}, spec.ClassProcessTerminated},
	} {
		_, o := finish(t, c.cli, c.stdout, c.end)
		if o.Class != c.want || o.Success != (c.want == spec.ClassSuccess) {
			t.Errorf("%s, %s: %s by %+v, want %s", c.cli, c.name, o.Class, o.Evidence, c.want)
		}
	}
}

func TestReviewControl(t *testing.T) {
	for _, c := range []struct{ cli, stdout, tool string }{
		{"codex", `{"type":"item.started","item":{"id":"1","type":"collab_tool_call"}}`, "collab_tool_call"},
		{"claude", `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Task"}]}}`, "Task"},
		{"claude", `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Agent"}]}}`, "Agent"},
		{"claude", `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"TaskList"}]}}`, ""},
		{"claude", `{"type":"system","subtype":"init","tools":["Task","Agent"]}`, ""},
		{"claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"I could use Task"}]}}`, ""},
		{"agy", `{"event":"step_update","step_update":{"step_index":3,"state":"ACTIVE","step_type":"subagent"}}`, "subagent"},
		{"gemini", `{"type":"tool_use","tool_name":"delegate_to_agent","tool_id":"1"}`, "delegate_to_agent"},
		{"gemini", `{"type":"tool_use","tool_name":"run_shell_command","tool_id":"1"}`, ""},
		{"opencode", `{"type":"tool_use","part":{"tool":"task","callID":"1","state":{"status":"completed"}}}`, "task"},
	} {
		st, o := finish(t, c.cli, c.stdout+"\n", End{Signal: 15, EndedBy: "dispatcher"})
		if st.ControlViolation != c.tool {
			t.Errorf("%s %s: violation %q", c.cli, c.stdout, st.ControlViolation)
		}
		if (o.Class == spec.ClassReviewControl) != (c.tool != "") {
			t.Errorf("%s %s: class %s", c.cli, c.stdout, o.Class)
		}
	}
}

func TestNoise(t *testing.T) {
	for _, c := range []struct {
		cli, stdout string
		noise       bool
	}{
		{"codex", `{"type":"error","message":"Reconnecting... waiting for network (x)"}`, true},
		{"codex", `{"type":"error","message":"Quota exceeded."}`, false},
		{"claude", `{"type":"system","subtype":"api_retry","attempt":1}`, true},
		{"claude", `{"type":"system","subtype":"init"}`, false},
		{"pi", `{"type":"auto_retry_start","attempt":1}`, true},
		{"pi", `{"type":"auto_retry_start","attempt":1}` + "\n" + `{"type":"message_start"}`, false},
		{"pi", "plain text", false},
	} {
		if st, _ := finish(t, c.cli, c.stdout+"\n", End{}); st.Noise != c.noise {
			t.Errorf("%s %s: noise %v", c.cli, c.stdout, st.Noise)
		}
	}
}

// opencode begins the same step again, without a word about why.
func TestNoiseOfOpencode(t *testing.T) {
	cli, _ := NewSet("drover", nil).Lookup("opencode")
	r := cli.Reader()
	for _, c := range []struct {
		line  string
		noise bool
	}{
		{`{"type":"step_start","sessionID":"s"}`, false},
		{`{"type":"step_start","sessionID":"s"}`, true},
		{`{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls"}}`, false},
		{`{"type":"step_start","sessionID":"s"}`, false},
	} {
		_, _ = r.Write([]byte(c.line + "\n"))
		if st := r.Status(); st.Noise != c.noise {
			t.Errorf("%s: noise %v", c.line, st.Noise)
		}
	}
}

// Pi's window is from the calls to the results of all of them, and a result
// alone opens nothing.
func TestPiToolWindow(t *testing.T) {
	cli, _ := NewSet("drover", nil).Lookup("pi")
	r := cli.Reader()
	for _, step := range []struct {
		line   string
		inTool bool
	}{
		{`{"type":"message_start","message":{"role":"assistant"}}`, false},
		{`{"type":"message_end","message":{"role":"assistant","stopReason":"toolUse","content":[{"type":"toolCall","id":"a"},{"type":"text","text":"x"},{"type":"toolCall","id":"b"}]}}`, true},
		{`{"type":"tool_execution_end","toolCallId":"a"}`, true},
		{`{"type":"message_end","message":{"role":"toolResult","toolCallId":"a"}}`, true},
		{`{"type":"message_end","message":{"role":"toolResult","toolCallId":"other"}}`, true},
		{`{"type":"message_end","message":{"role":"toolResult","toolCallId":"b"}}`, false},
		{`{"type":"turn_start"}`, false},
	} {
		_, _ = r.Write([]byte(step.line + "\n"))
		if r.Status().InTool != step.inTool {
			t.Errorf("after %s: in a tool %v", step.line, !step.inTool)
		}
	}
}

func TestResetAt(t *testing.T) {
	now := clockStart()
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Skip("no time zones here")
	}
	for _, c := range []struct {
		text string
		now  time.Time
		want string
	}{
		{"You've hit your session limit · resets 11:29pm (UTC)", now, "2026-11-30T23:29:00Z"},
		{"You've hit your 5-hour limit · resets 3am (UTC)", now, "2026-12-01T03:00:00Z"},
		{"limit reached · resets 3am (Asia/Seoul)", now, "2026-12-01T18:00:00Z"},
		{"limit · resets Dec 5, 5pm (UTC)", now, "2026-12-05T17:00:00Z"},
		{"limit · resets Jan 2 at 9am (UTC)", now, "2027-01-02T09:00:00Z"},
		{"You’ve hit your usage limit. … try again at 11:25 PM.", now, "2026-11-30T23:25:00Z"},
		{"try again at 11:25 PM.", now.In(seoul), "2026-12-01T14:25:00Z"},
		{"try again at Dec 3rd, 2026 11:25 PM.", now, "2026-12-03T23:25:00Z"},
		{"try again in 3 days 4 hours 5 minutes.", now, "2026-12-04T00:30:00Z"},
		{"Individual quota reached. Resets in 34m13s.", now, "2026-11-30T20:59:13Z"},
		{"Please try again in 1.5s. Visit", now, "2026-11-30T20:25:01Z"},
		{"Your quota will reset after 3h2m1s.", now, "2026-11-30T23:27:01Z"},
		{`429: {"type":"usage_limit_reached","resets_at":1796081347}`, now, "2026-11-30T23:29:07Z"},
		{`{\"resets_in_seconds\":60}`, now, "2026-11-30T20:26:00Z"},
		{"Claude AI usage limit reached|1796081347", now, "2026-11-30T23:29:07Z"},
		{"Please try again later.", now, "none"},
		{"resets soon", now, "none"},
		{"", now, "none"},
	} {
		got := "none"
		if at := resetAt(c.text, c.now); !at.IsZero() {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func FuzzResetAt(f *testing.F) {
	f.Add("resets Dec 5, 5pm (UTC)")
	f.Add("try again in 1e9 days 3h")
	f.Fuzz(func(t *testing.T, text string) { resetAt(text, clockStart()) })
}

func TestParseExit(t *testing.T) {
	for _, c := range []struct {
		text         string
		code, signal int
		ok           bool
	}{
		{"0", 0, 0, true},
		{"143\n", 143, 0, true},
		{"signal 15", 0, 15, true},
		{"signal 9 (shell: 137)", 0, 9, true},
		{"", 0, 0, false},
		{"-1", 0, 0, false},
		{"signal", 0, 0, false},
		{"300", 0, 0, false},
	} {
		code, signal, err := ParseExit(c.text)
		if code != c.code || signal != c.signal || (err == nil) != c.ok {
			t.Errorf("%q: %d, %d, %v", c.text, code, signal, err)
		}
	}
}
