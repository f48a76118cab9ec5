package agent

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"drover/spec"
)

// claude is Anthropic's Claude Code, measured with 2.1.197 and 2.1.332.
type claude struct{ program }

// Command implements CLI. A resumed session must run in the folder it began in.
func (c claude) Command(s Spec) (Command, error) {
	argv := c.argv("claude", "-p", "--output-format", "stream-json", "--verbose")
	if c.settings.Sandbox != "" {
		argv = append(argv, "--permission-mode", c.settings.Sandbox)
		for _, dir := range s.Writes {
			argv = append(argv, "--add-dir="+dir)
		}
	} else {
		argv = append(argv, "--dangerously-skip-permissions")
	}
	if s.Route.Model != "" {
		argv = append(argv, "--model", s.Route.Model)
	}
	if s.Route.Effort != "" {
		argv = append(argv, "--effort", strings.ToLower(s.Route.Effort))
	}
	cmd := Command{Env: c.settings.Env, StdinPrompt: onStdin(s.Prompt)}
	if s.Resume != nil && s.Resume.ID != "" {
		argv = append(argv, "--resume", s.Resume.ID)
		cmd.SessionID, cmd.SessionPath = s.Resume.ID, s.Resume.Path
	} else if s.NewSession != "" {
		argv = append(argv, "--session-id", s.NewSession)
		cmd.SessionID = s.NewSession
	}
	cmd.Argv = append(argv, c.settings.Args...)
	if !cmd.StdinPrompt {
		cmd.Argv = append(cmd.Argv, s.Prompt)
	}
	return cmd, nil
}

// SessionFile implements CLI: a folder named after the working folder, with
// every character that is no letter or digit made a hyphen.
func (c claude) SessionFile(id, dir string, env []string) string {
	if id == "" {
		return ""
	}
	root := cmp.Or(lookup(env, "CLAUDE_CONFIG_DIR"), filepath.Join(home(env), ".claude"))
	hyphens := func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}
	in := func(dir string) string {
		return filepath.Join(root, "projects", strings.Map(hyphens, dir), id+".jsonl")
	}
	return existing(in(dir), in(resolved(dir)))
}

// Reader implements CLI.
func (c claude) Reader() Reader {
	return newStream(&claudeLines{}, map[string]int{
		"type": keepWord, "subtype": keepWord, "session_id": keepWord, "parent_tool_use_id": keepWord,
		"is_error": keepWord, "api_error_status": keepWord, "api_error_type": keepWord, "error": keepWord, "result": keepMessage,
		"errors.*": keepError, "terminal_reason": keepWord, "total_cost_usd": keepWord,
		"usage.input_tokens": keepWord, "usage.output_tokens": keepWord,
		"usage.cache_creation_input_tokens": keepWord, "usage.cache_read_input_tokens": keepWord,
		"rate_limit_info.status": keepWord, "rate_limit_info.resetsAt": keepWord,
		"message.content.*.type": keepWord, "message.content.*.id": keepWord, "message.content.*.name": keepWord,
		"message.content.*.tool_use_id": keepWord, "message.content.*.text": keepMessage,
	})
}

type claudeLine struct {
	kind, subtype, session, parent, code, result, errors, reason string
	isError, errorStatus, apiType, limit                         string
	limitReset                                                   int64
	cost                                                         string
	in, out                                                      int64
	item                                                         struct{ kind, id, name, result, text string }
	opened, closed                                               []string
	tool, text                                                   string
}

type claudeLines struct {
	now       claudeLine
	session   string
	end       claudeLine // the newest result
	working   bool       // it went on after it
	code      string     // of the newest assistant line that tells an error
	rejected  bool       // the subscription's limit was reached
	resetsAt  int64
	tools     tools
	violation string
	message   string
	usage     spec.Usage
}

func (c *claudeLines) set(path, value string) {
	now := &c.now
	switch path {
	case "type":
		now.kind = value
	case "subtype":
		now.subtype = value
	case "session_id":
		now.session = value
	case "parent_tool_use_id":
		now.parent = value
	case "is_error":
		now.isError = value
	case "api_error_status":
		now.errorStatus = value
	case "api_error_type":
		now.apiType = value
	case "error":
		now.code = value
	case "result":
		now.result = value
	case "errors.*":
		now.errors = joined(now.errors, value+"\n")
	case "terminal_reason":
		now.reason = value
	case "total_cost_usd":
		now.cost = value
	case "usage.output_tokens":
		now.out = number(value)
	case "usage.input_tokens", "usage.cache_creation_input_tokens", "usage.cache_read_input_tokens":
		now.in += number(value)
	case "rate_limit_info.status":
		now.limit = value
	case "rate_limit_info.resetsAt":
		now.limitReset = number(value)
	case "message.content.*.type":
		now.item.kind = value
	case "message.content.*.id":
		now.item.id = value
	case "message.content.*.name":
		now.item.name = value
	case "message.content.*.tool_use_id":
		now.item.result = value
	case "message.content.*.text":
		now.item.text = value
	}
}

func (c *claudeLines) leave(path string) {
	if path != "message.content.*" {
		return
	}
	item := c.now.item
	switch item.kind {
	case "tool_use":
		if len(c.now.opened) < maxOpenTools {
			c.now.opened = append(c.now.opened, item.id)
		}
		if delegates(item.name) {
			c.now.tool = item.name
		}
	case "tool_result":
		if len(c.now.closed) < maxOpenTools {
			c.now.closed = append(c.now.closed, item.result)
		}
	case "text":
		c.now.text = joined(c.now.text, item.text)
	}
	c.now.item = claudeLine{}.item
}

// delegates names claude's tools that hand work to another agent.
func delegates(tool string) bool { return tool == "Task" || tool == "Agent" }

func (c *claudeLines) reset() { c.now = claudeLine{} }

func (c *claudeLines) line() (notice bool) {
	now := &c.now
	if now.session != "" {
		c.session = now.session
	}
	switch now.kind {
	case "system":
		return now.subtype == "api_retry"
	case "rate_limit_event":
		if now.limit != "" {
			c.rejected, c.resetsAt = now.limit == "rejected", now.limitReset
		}
	case "assistant", "user":
		c.turn(now)
	case "result":
		c.end, c.working = *now, false
		c.tools.clear()
		c.message = cmp.Or(now.result, c.message)
		c.usage.InputTokens, c.usage.OutputTokens = now.in, now.out
		c.usage.CostUSD, c.usage.CostKnown = money(now.cost)
	}
	return false
}

// turn takes a line of the conversation. Those of a sub-agent say nothing of
// the run itself.
func (c *claudeLines) turn(now *claudeLine) {
	for _, id := range now.opened {
		c.tools.start(id)
	}
	for _, id := range now.closed {
		c.tools.end(id)
	}
	if now.tool != "" && c.violation == "" {
		c.violation = now.tool
	}
	if now.parent != "" {
		return
	}
	c.working = true
	if now.kind == "assistant" {
		c.code = now.code
		c.message = cmp.Or(now.text, c.message)
	}
}

func (c *claudeLines) succeeded() bool {
	return c.end.isError == "false" && c.end.subtype == "success"
}

func (c *claudeLines) status() Status {
	return Status{
		Terminal: c.end.kind != "" && !c.working, Success: c.succeeded() && !c.working, InTool: c.tools.any(),
		ControlViolation: c.violation, SessionID: c.session,
	}
}

func (c *claudeLines) result() result { return result{c.message, c.session, c.usage} }

// tell goes by is_error: subtype is "success" for failures of the API too.
func (c *claudeLines) tell(end End) said {
	if c.working && (killed(end) || end.Stalled) {
		c.end = claudeLine{} // that was not its last word
	}
	if c.succeeded() {
		return said{heard: true, success: true, source: "stdout result", text: c.end.result}
	}
	if c.end.kind != "" {
		text := cmp.Or(c.end.result, strings.TrimSpace(c.end.errors), c.end.subtype)
		return said{
			heard: true, class: c.class(text), source: "stdout result", text: text, resetAt: c.resets(text, end.Now),
		}
	}
	if end.Code != 0 && !killed(end) {
		if mark, text := diagnostic(end.Stderr, "API Error", "Error:", "error:", "--dangerously-skip-permissions", "No conversation found", "Session ID"); mark != "" {
			text = strings.TrimSpace(mark + " " + text)
			class := cause{text: text, status: statusAfter(text, "API Error")}.class(claudePhrases())
			if mark != "API Error" {
				class = local(class)
			}
			return said{heard: true, weak: true, class: class, source: "stderr", text: text}
		}
	}
	return said{}
}

func (c *claudeLines) class(text string) spec.Class {
	status := int(number(c.end.errorStatus))
	switch {
	case c.end.reason == "prompt_too_long":
		return spec.ClassContextLimit
	case strings.HasPrefix(c.end.reason, "aborted"):
		return spec.ClassProcessTerminated
	case c.rejected && (c.code == "rate_limit" || status == 429):
		return spec.ClassQuota
	}
	if status == 0 {
		status = statusAfter(text, "API Error:", "Request rejected")
	}
	return cause{status: status, code: cmp.Or(c.code, c.end.apiType), text: text}.class(claudePhrases())
}

func (c *claudeLines) resets(text string, now time.Time) time.Time {
	if c.rejected && c.resetsAt > 0 {
		return time.Unix(c.resetsAt, 0).In(now.Location())
	}
	return resetAt(text, now)
}

func claudePhrases() []phrase {
	return []phrase{
		{"cannot be used with root", spec.ClassAuthConfig},
		{"prompt is too long", spec.ClassContextLimit},
		{"credit balance is too low", spec.ClassQuota},
		{"issue with the selected model", spec.ClassModelUnavailable},
		{"stream idle", spec.ClassProviderDisconnect},
		{"unable to connect to api (econnreset)", spec.ClassProviderDisconnect},
		{"request timed out", spec.ClassProviderConnection},
	}
}
