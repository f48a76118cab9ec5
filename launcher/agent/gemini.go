package agent

import (
	"path/filepath"
	"strings"

	"drover/spec"
)

// gemini is Google's Gemini CLI, measured with 0.61.0. It has no effort.
type gemini struct{ program }

// Command implements CLI.
func (c gemini) Command(s Spec) (Command, error) {
	argv := c.argv("gemini", "-o", "stream-json")
	if c.settings.Sandbox != "" {
		argv = append(argv, "--approval-mode", c.settings.Sandbox)
		for _, dir := range s.Writes {
			argv = append(argv, "--include-directories", dir)
		}
	} else {
		argv = append(argv, "--yolo")
	}
	if s.Route.Model != "" {
		argv = append(argv, "-m", s.Route.Model)
	}
	cmd := Command{
		// Without trust it would not run in a folder that it does not know.
		Env:         append([]string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, c.settings.Env...),
		StdinPrompt: onStdin(s.Prompt),
	}
	if s.Resume != nil && s.Resume.ID != "" {
		argv = append(argv, "--resume", s.Resume.ID)
		cmd.SessionID, cmd.SessionPath = s.Resume.ID, s.Resume.Path
	} else if s.NewSession != "" {
		argv = append(argv, "--session-id", s.NewSession)
		cmd.SessionID = s.NewSession
	}
	cmd.Argv = append(argv, c.settings.Args...)
	if !cmd.StdinPrompt {
		cmd.Argv = append(cmd.Argv, "-p", s.Prompt)
	}
	return cmd, nil
}

// SessionFile implements CLI.
func (c gemini) SessionFile(id, dir string, env []string) string {
	if len(id) < 8 {
		return ""
	}
	chats := filepath.Join(home(env), ".gemini", "tmp", filepath.Base(resolved(dir)), "chats")
	return newest(chats, "session-", "-"+id[:8]+".jsonl")
}

// Reader implements CLI.
func (c gemini) Reader() Reader {
	return newStream(&geminiLines{}, map[string]int{
		"type": keepWord, "session_id": keepWord, "role": keepWord, "content": keepMessage, "delta": keepWord,
		"tool_name": keepWord, "tool_id": keepWord, "status": keepWord, "message": keepError,
		"error.type": keepWord, "error.message": keepError,
		"stats.input_tokens": keepWord, "stats.output_tokens": keepWord,
	})
}

type geminiLine struct {
	kind, session, role, content, delta, tool, toolID, status, text, code string
	in, out                                                               int64
}

type geminiLines struct {
	now       geminiLine
	session   string
	ended     string // status of the newest result, or ""
	working   bool   // it went on after it
	failure   string
	code      string
	tools     tools
	violation string
	talking   bool // the message goes on
	message   string
	usage     spec.Usage
}

func (c *geminiLines) set(path, value string) {
	now := &c.now
	switch path {
	case "type":
		now.kind = value
	case "session_id":
		now.session = value
	case "role":
		now.role = value
	case "content":
		now.content = value
	case "delta":
		now.delta = value
	case "tool_name":
		now.tool = value
	case "tool_id":
		now.toolID = value
	case "status":
		now.status = value
	case "message", "error.message":
		now.text = value
	case "error.type":
		now.code = value
	case "stats.input_tokens":
		now.in = number(value)
	case "stats.output_tokens":
		now.out = number(value)
	}
}

func (c *geminiLines) leave(string) {}
func (c *geminiLines) reset()       { c.now = geminiLine{} }

func (c *geminiLines) line() (notice bool) {
	now := &c.now
	switch now.kind {
	case "init":
		c.session = now.session
	case "message":
		if now.role != "assistant" {
			return false
		}
		if !c.talking || now.delta != "true" {
			c.message = ""
		}
		c.working, c.talking = true, true
		c.message = joined(c.message, now.content)
	case "tool_use":
		c.working, c.talking = true, false
		c.tools.start(now.toolID)
		if strings.Contains(strings.ToLower(now.tool), "agent") && c.violation == "" {
			c.violation = now.tool
		}
	case "tool_result":
		c.talking = false
		c.tools.end(now.toolID)
	case "error":
		c.failure = now.text
	case "result":
		c.ended, c.working = now.status, false
		c.tools.clear()
		if now.text != "" {
			c.failure, c.code = now.text, now.code
		}
		c.usage.InputTokens, c.usage.OutputTokens = now.in, now.out
	}
	return false
}

func (c *geminiLines) status() Status {
	return Status{
		Terminal: c.ended != "" && !c.working, Success: c.ended == "success" && !c.working, InTool: c.tools.any(),
		ControlViolation: c.violation, SessionID: c.session,
	}
}

func (c *geminiLines) result() result { return result{c.message, c.session, c.usage} }

// tell: the exit code is the HTTP status modulo 256; it is 0 for some
// failures, and for an end by a signal to the group.
func (c *geminiLines) tell(end End) said {
	ended := c.ended
	if c.working && (killed(end) || end.Stalled) {
		ended = ""
	}
	switch ended {
	case "success":
		return said{heard: true, success: true, source: "stdout result", text: c.message}
	case "":
		if _, text := diagnostic(end.Stderr, "Error when talking to Gemini API", "Please set an Auth method"); text != "" && end.Code != 0 && !killed(end) {
			return said{heard: true, class: geminiCause(text, end).class(geminiPhrases()), source: "stderr", text: text}
		}
		return said{}
	}
	why := geminiCause(c.failure, end)
	if _, text := diagnostic(end.Stderr, "Error when talking to Gemini API"); strings.Contains(text, "TerminalQuotaError:") {
		why.code = "TerminalQuotaError" // what its own classifier made of a 429
	}
	return said{
		heard: true, class: why.class(geminiPhrases()), source: "stdout result",
		text: c.failure, resetAt: resetAt(c.failure, end.Now),
	}
}

// geminiCause reads "[API Error: {json}]", and the status that the exit code
// keeps of it. 41 is the code of a login that failed.
func geminiCause(text string, end End) cause {
	c := cause{text: text}.read()
	if end.Code == 41 && c.code == "" {
		c.code = "unauthenticated"
	}
	for _, status := range []int{400, 401, 403, 404, 429, 500, 502, 503, 504} {
		if c.status == 0 && end.Code == status%256 {
			c.status = status
		}
	}
	return c
}

func geminiPhrases() []phrase {
	return []phrase{
		{"exhausted your daily quota", spec.ClassQuota},
		{"exhausted your capacity", spec.ClassQuota},
		{"input token count", spec.ClassContextLimit},
		{"api key not valid", spec.ClassAuthConfig},
		{"set an auth method", spec.ClassAuthConfig},
		{"fetch failed", spec.ClassProviderConnection},
	}
}
