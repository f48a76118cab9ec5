package modelstub

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

// wires are the four formats: a first request, one after a tool result, and
// one of a person after that.
func wires() map[string]struct{ path, first, result, again string } {
	const chatTools = `"stream":true,"tools":[{"function":{"name":"bash"}},{"function":{"name":"write"}}]`
	const claudeTools = `"stream":true,"tools":[{"name":"Bash"},{"name":"Write"}]`
	const codexTools = `"stream":true,"tools":[{"type":"function","name":"exec_command"}]`
	const geminiTools = `"tools":[{"functionDeclarations":[{"name":"run_shell_command"},{"name":"write_file"}]}]`
	return map[string]struct{ path, first, result, again string }{
		"codex": {
			"v1/responses",
			`{` + codexTools + `,"input":[{"type":"message","role":"user"}]}`,
			`{` + codexTools + `,"input":[{"type":"message","role":"user"},{"type":"function_call_output"}]}`,
			`{` + codexTools + `,"input":[{"type":"message","role":"user"},{"type":"function_call_output"},{"role":"user"}]}`,
		},
		"claude": {
			"v1/messages",
			`{` + claudeTools + `,"messages":[{"role":"user","content":"hi"}]}`,
			`{` + claudeTools + `,"messages":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"<system-reminder>"}]}]}`,
			`{` + claudeTools + `,"messages":[{"role":"user","content":[{"type":"tool_result"}]},{"role":"user","content":[{"type":"text","text":"go on"}]}]}`,
		},
		"pi": {
			"v1/chat/completions",
			`{` + chatTools + `,"messages":[{"role":"system"},{"role":"user"}]}`,
			`{` + chatTools + `,"messages":[{"role":"user"},{"role":"assistant"},{"role":"tool"}]}`,
			`{` + chatTools + `,"messages":[{"role":"user"},{"role":"tool"},{"role":"user"}]}`,
		},
		"gemini": {
			"v1beta/models/m:streamGenerateContent",
			`{` + geminiTools + `,"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			`{` + geminiTools + `,"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"user","parts":[{"functionResponse":{}}]}]}`,
			`{` + geminiTools + `,"contents":[{"role":"user","parts":[{"functionResponse":{}}]},{"role":"user","parts":[{"text":"go on"}]}]}`,
		},
	}
}

func serve(t *testing.T, s *Server) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func ask(t *testing.T, url, body string) (status int, text string, err error) {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}

// The turn follows from the request alone, in every format.
func TestTurns(t *testing.T) {
	for name, wire := range wires() {
		s := New()
		s.Play(name, Scenario{{Kind: KindShell, Command: "first-turn"}, {Kind: KindText, Text: "second-turn"}})
		url := serve(t, s) + "/" + name + "/" + wire.path
		for _, c := range []struct{ body, want string }{
			{wire.first, "first-turn"}, {wire.first, "first-turn"}, {wire.result, "second-turn"}, {wire.again, "first-turn"},
		} {
			if status, text, err := ask(t, url, c.body); err != nil || status != 200 || !strings.Contains(text, c.want) {
				t.Errorf("%s %s: %d %v %s", name, c.body, status, err, text)
			}
		}
		if n := len(s.Requests(name)); n != 4 {
			t.Errorf("%s: %d requests noted, want 4", name, n)
		}
	}
}

// A step of limited times gives way; faults have each provider's own status.
func TestFaults(t *testing.T) {
	statuses := map[string]map[Fault]int{
		"codex":  {Quota: 429, UsageLimit: 429, Rate: 429, Context: 400, Model: 404, Auth: 401, Overloaded: 503, Broken: 500},
		"claude": {Quota: 429, UsageLimit: 429, Rate: 429, Context: 400, Model: 404, Auth: 401, Overloaded: 529, Broken: 500},
		"pi":     {Quota: 429, UsageLimit: 429, Rate: 429, Context: 400, Model: 404, Auth: 401, Overloaded: 503, Broken: 500},
		"gemini": {Quota: 429, UsageLimit: 429, Rate: 429, Context: 400, Model: 404, Auth: 400, Overloaded: 503, Broken: 500},
	}
	for name, wire := range wires() {
		s := New()
		url := serve(t, s) + "/" + name + "/" + wire.path
		for fault, want := range statuses[name] {
			s.Play(name, Scenario{{Kind: KindFail, Fault: fault, Times: 1, Then: &Step{Kind: KindText, Text: "recovered"}}})
			if status, _, err := ask(t, url, wire.first); err != nil || status != want {
				t.Errorf("%s %s: %d %v, want %d", name, fault, status, err, want)
			}
			if status, text, err := ask(t, url, wire.first); err != nil || status != 200 || !strings.Contains(text, "recovered") {
				t.Errorf("%s after %s: %d %v %s", name, fault, status, err, text)
			}
		}
	}
}

// A cut answer begins, and then its connection is reset.
func TestCut(t *testing.T) {
	for name, wire := range wires() {
		s := New()
		s.Play(name, Scenario{{Kind: KindCut}})
		_, text, err := ask(t, serve(t, s)+"/"+name+"/"+wire.path, wire.first)
		if !errors.Is(err, syscall.ECONNRESET) || !strings.Contains(text, "I will now") {
			t.Errorf("%s: %v %s", name, err, text)
		}
	}
}

// Nothing answers under a name that nobody plays.
func TestUnknownName(t *testing.T) {
	if status, _, err := ask(t, serve(t, New())+"/nobody/v1/responses", `{}`); err != nil || status != 404 {
		t.Errorf("%d %v", status, err)
	}
}
