package agent

import (
	"cmp"
	"strings"

	"drover/spec"
)

// opencode is the opencode CLI, measured with 1.18.33.
type opencode struct{ program }

// Command implements CLI. It reads no prompt from standard input.
func (c opencode) Command(s Spec) (Command, error) {
	argv := c.argv("opencode", "run", "--format", "json")
	if c.settings.Sandbox == "" {
		argv = append(argv, "--auto")
	}
	if s.Route.Model != "" {
		argv = append(argv, "-m", s.Route.Model)
	}
	if s.Route.Effort != "" {
		argv = append(argv, "--variant", strings.ToLower(s.Route.Effort))
	}
	argv = append(argv, "--dir", s.Dir)
	cmd := Command{Env: c.settings.Env}
	if s.Resume != nil && s.Resume.ID != "" {
		argv = append(argv, "--session", s.Resume.ID)
		cmd.SessionID = s.Resume.ID
	}
	argv = append(argv, c.settings.Args...)
	cmd.Argv = append(argv, asArgument(s))
	return cmd, nil
}

// SessionFile implements CLI: opencode keeps all sessions in one database, so
// there is no file whose change would tell of one run.
func (c opencode) SessionFile(_, _ string, _ []string) string { return "" }

// Reader implements CLI.
func (c opencode) Reader() Reader {
	return newStream(&opencodeLines{}, map[string]int{
		"type": keepWord, "sessionID": keepWord, "part.text": keepMessage, "part.reason": keepWord,
		"part.tool": keepWord, "part.callID": keepWord, "part.state.status": keepWord,
		"part.tokens.input": keepWord, "part.tokens.output": keepWord, "part.tokens.reasoning": keepWord,
		"part.tokens.cache.read": keepWord, "part.tokens.cache.write": keepWord, "part.cost": keepWord,
		"error.name": keepWord, "error.data.message": keepError, "error.data.statusCode": keepWord,
		"error.data.responseBody": keepError,
	})
}

type opencodeLine struct {
	kind, session, text, reason, tool, call, state, name, failure, status, body, cost string
	in, out                                                                           int64
}

type opencodeLines struct {
	now       opencodeLine
	session   string
	stop      string       // reason of the last finished step, "" while one goes on
	failure   opencodeLine // the newest error, if it is the last word
	begun     bool         // a step has begun and brought nothing yet
	tools     tools
	violation string
	message   string
	usage     spec.Usage
}

func (c *opencodeLines) set(path, value string) {
	now := &c.now
	switch path {
	case "type":
		now.kind = value
	case "sessionID":
		now.session = value
	case "part.text":
		now.text = value
	case "part.reason":
		now.reason = value
	case "part.tool":
		now.tool = value
	case "part.callID":
		now.call = value
	case "part.state.status":
		now.state = value
	case "part.tokens.input", "part.tokens.cache.read", "part.tokens.cache.write":
		now.in += number(value)
	case "part.tokens.output", "part.tokens.reasoning":
		now.out += number(value)
	case "part.cost":
		now.cost = value
	case "error.name":
		now.name = value
	case "error.data.message":
		now.failure = value
	case "error.data.statusCode":
		now.status = value
	case "error.data.responseBody":
		now.body = value
	}
}

func (c *opencodeLines) leave(string) {}
func (c *opencodeLines) reset()       { c.now = opencodeLine{} }

func (c *opencodeLines) line() (notice bool) {
	now := &c.now
	if now.session != "" {
		c.session = now.session
	}
	switch now.kind {
	case "step_start":
		again := c.begun // the same step, since nothing came of it
		c.begun, c.stop, c.failure = true, "", opencodeLine{}
		return again
	}
	c.begun = false
	switch now.kind {
	case "text":
		c.message = now.text
	case "tool_use":
		c.call(now)
	case "step_finish":
		c.stop, c.failure = now.reason, opencodeLine{}
		c.tools.clear()
		c.usage.InputTokens += now.in
		c.usage.OutputTokens += now.out
		if usd, known := money(now.cost); known {
			c.usage.CostUSD += usd
			c.usage.CostKnown = true
		}
	case "error":
		c.failure = *now
	}
	return false
}

// call notes a tool; this version tells of a call only when it is over.
func (c *opencodeLines) call(now *opencodeLine) {
	if now.state == "running" || now.state == "pending" {
		c.tools.start(now.call)
	} else {
		c.tools.end(now.call)
	}
	if now.tool == "task" && c.violation == "" {
		c.violation = now.tool
	}
}

func (c *opencodeLines) status() Status {
	done := c.stop == "stop" && c.failure.kind == ""
	return Status{
		Terminal: done, Success: done, InTool: c.tools.any(), ControlViolation: c.violation, SessionID: c.session,
	}
}

func (c *opencodeLines) result() result { return result{c.message, c.session, c.usage} }

func (c *opencodeLines) tell(end End) said {
	if f := c.failure; f.kind != "" {
		why := cause{
			status: int(number(f.status)), code: opencodeCode(f), text: cmp.Or(f.failure, f.name),
		}
		// It goes on after some errors: it compacts and tries again.
		return said{
			heard: true, weak: true, class: why.class(nil), source: "stdout error",
			text: cmp.Or(f.failure, f.name), resetAt: resetAt(f.failure+" "+f.body, end.Now),
		}
	}
	switch c.stop {
	case "stop":
		return said{heard: true, success: true, source: "stdout step_finish", text: c.message}
	case "length":
		return said{heard: true, class: spec.ClassContextLimit, source: "stdout step_finish", text: "reason length"}
	}
	if _, text := diagnostic(end.Stderr, "Error: "); text != "" && end.Code != 0 && !killed(end) {
		return said{heard: true, class: local(cause{text: text}.class(nil)), source: "stderr", text: text}
	}
	return said{}
}

// opencodeCode is the provider's code, else the name of opencode's error.
func opencodeCode(f opencodeLine) string {
	return cmp.Or(cause{text: f.body}.read().code, f.name)
}
