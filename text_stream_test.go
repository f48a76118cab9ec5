package main

import "testing"

// TestStreamText: one line of each program's own format, as recorded.
func TestStreamText(t *testing.T) {
	for _, tt := range []struct{ cli, line, want string }{
		{"codex", `{"type":"thread.started","thread_id":"01"}`, ""},
		{"codex", `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"I will."}}`, "I will."},
		{"codex", `{"type":"item.completed","item":{"type":"command_execution","command":"/bin/bash -lc ls","exit_code":2}}`, "$ /bin/bash -lc ls  → exit 2"},
		{"codex", `{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a.go"},{"path":"b.go"}]}}`, "edit a.go b.go"},
		{"codex", `{"type":"turn.failed","error":{"message":"Quota exceeded."}}`, "failed: Quota exceeded."},
		{"claude", `{"type":"assistant","message":{"content":[{"name":"Write","type":"tool_use","input":{"file_path":"hello.txt","content":"x"}}]}}`, "Write hello.txt"},
		{"claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"Now."},{"name":"Bash","type":"tool_use","input":{"command":"go test"}}]}}`, "Now.\n$ go test"},
		{"claude", `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error":"rate_limit"}`, "notice: api retry 1 of 2, rate_limit"},
		{"claude", `{"type":"result","subtype":"success","is_error":true,"result":"You've hit your session limit"}`, "failed: You've hit your session limit"},
		{"claude", `{"type":"result","subtype":"success","is_error":false,"result":"Done."}`, ""},
		{"pi", `{"type":"message_end","message":{"role":"assistant","content":[{"type":"toolCall","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}`, "$ ls"},
		{"pi", `{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429 quota"}}`, "failed: 429 quota"},
		{"pi", `{"type":"tool_execution_end","toolName":"bash","isError":true}`, "  → bash failed"},
		{"gemini", `{"type":"tool_use","tool_name":"run_shell_command","parameters":{"command":"ls"}}`, "$ ls"},
		{"gemini", `{"type":"result","status":"error","error":{"message":"no"}}`, "failed: no"},
		{"opencode", `{"type":"tool_use","part":{"tool":"write","state":{"status":"completed","input":{"filePath":"x"}}}}`, "write x"},
		{"opencode", `{"type":"error","error":{"name":"APIError","data":{"message":"down"}}}`, "failed: down"},
		{"agy", `{"event":"step_update","step_update":{"state":"DONE","step_type":"tool","tool_name":"read","tool_info":{"parameters":{"path":"x"},"error":"gone"}}}`, "read x  → gone"},
		{"agy", `{"event":"result","result":{"status":"SUCCESS","response":"Fertig."}}`, "Fertig."},
		{"script", `{"type":"script.block","block":1,"exit":3}`, "→ exit 3"},
		{"mine", `{"a":1}`, `{"a":1}`},
		{"codex", "no JSON at all", "no JSON at all"},
		{"claude", `{"type":"assistant","message":7}`, ""},
		{"codex", `null`, "null"},
	} {
		if got := streamText(tt.cli, []byte(tt.line)); got != tt.want {
			t.Errorf("%s %s\n got %q\nwant %q", tt.cli, tt.line, got, tt.want)
		}
	}
}

// FuzzStreamText: no line of an agent's output stops the reader of logs.
func FuzzStreamText(f *testing.F) {
	f.Add("codex", `{"type":"item.completed","item":{"type":"file_change","changes":[3]}}`)
	f.Add("claude", `{"type":"assistant","message":{"content":[{"type":"tool_use"}]}}`)
	f.Fuzz(func(_ *testing.T, cli, line string) { streamText(cli, []byte(line)) })
}
