package agent

import (
	"path/filepath"
	"strings"

	"drover/spec"
)

// pi is the pi coding agent, measured with 0.73.1 and 1.6.0.
type pi struct{ program }

// Command implements CLI. A fresh session gets a folder of its own in the run
// directory, where it is found again; a resumed one stays in its folder. What
// died before its first answer left no session (0.73.1) and is begun afresh.
func (c pi) Command(s Spec) (Command, error) {
	argv := c.argv("pi", "--mode", "json", "-p")
	provider, model, ok := strings.Cut(s.Route.Model, "/")
	if !ok {
		provider, model = "", s.Route.Model
	}
	if provider != "" {
		argv = append(argv, "--provider", provider)
	}
	if model != "" {
		argv = append(argv, "--model", model)
	}
	if s.Route.Effort != "" {
		argv = append(argv, "--thinking", strings.ToLower(s.Route.Effort))
	}
	cmd := Command{Env: c.settings.Env, StdinPrompt: onStdin(s.Prompt)}
	if s.Resume != nil && s.Resume.Path != "" {
		argv = append(argv, "--session-dir", filepath.Dir(s.Resume.Path), "--session", s.Resume.Path)
		cmd.SessionID, cmd.SessionPath = s.Resume.ID, s.Resume.Path
	} else {
		argv = append(argv, "--session-dir", filepath.Join(s.RunDir, piSessions))
	}
	cmd.Argv = append(argv, c.settings.Args...)
	if !cmd.StdinPrompt {
		cmd.Argv = append(cmd.Argv, s.Prompt)
	}
	return cmd, nil
}

// piSessions is the folder of a run directory that holds a fresh session.
const piSessions = "session"

// SessionFile implements CLI. env names the run directory of the attempt.
func (c pi) SessionFile(id, _ string, env []string) string {
	run := lookup(env, "DROVER_RUN_DIR")
	if id == "" || run == "" {
		return ""
	}
	return newest(filepath.Join(run, piSessions), "", "_"+id+".jsonl")
}

// Reader implements CLI.
func (c pi) Reader() Reader {
	return newStream(&piLines{}, map[string]int{
		"type": keepWord, "id": keepWord, "willRetry": keepWord,
		"message.role": keepWord, "message.stopReason": keepWord, "message.errorMessage": keepError,
		"message.toolCallId": keepWord, "toolResults.*.toolCallId": keepWord,
		"message.content.*.type": keepWord, "message.content.*.id": keepWord, "message.content.*.text": keepMessage,
		"message.usage.input": keepWord, "message.usage.output": keepWord, "message.usage.cacheRead": keepWord,
		"message.usage.cacheWrite": keepWord, "message.usage.cost.total": keepWord,
	})
}

type piLine struct {
	kind, id, willRetry, role, stop, failure string
	results, calls                           []string
	item                                     struct{ kind, id, text string }
	text                                     string
	in, out                                  int64
	cost                                     string
}

type piLines struct {
	now     piLine
	session string
	// stop and failure are of the last assistant message: the verdict.
	stop, failure string
	settled       bool // nothing is to follow
	retrying      bool // the failure is being tried again
	hanging       bool // an answer has begun and brought nothing
	tools         tools
	message       string
	usage         spec.Usage
}

func (c *piLines) set(path, value string) {
	now := &c.now
	switch path {
	case "type":
		now.kind = value
	case "id":
		now.id = value
	case "willRetry":
		now.willRetry = value
	case "message.role":
		now.role = value
	case "message.stopReason":
		now.stop = value
	case "message.errorMessage":
		now.failure = value
	case "message.toolCallId", "toolResults.*.toolCallId":
		if len(now.results) < maxOpenTools {
			now.results = append(now.results, value)
		}
	case "message.content.*.type":
		now.item.kind = value
	case "message.content.*.id":
		now.item.id = value
	case "message.content.*.text":
		now.item.text = value
	case "message.usage.input", "message.usage.cacheRead", "message.usage.cacheWrite":
		now.in += number(value)
	case "message.usage.output":
		now.out = number(value)
	case "message.usage.cost.total":
		now.cost = value
	}
}

func (c *piLines) leave(path string) {
	if path != "message.content.*" {
		return
	}
	switch item := c.now.item; item.kind {
	case "toolCall":
		if len(c.now.calls) < maxOpenTools {
			c.now.calls = append(c.now.calls, item.id)
		}
	case "text":
		c.now.text = joined(c.now.text, item.text)
	}
	c.now.item = piLine{}.item
}

func (c *piLines) reset() { c.now = piLine{} }

func (c *piLines) line() (notice bool) {
	now := &c.now
	switch now.kind {
	case "session":
		c.session = now.id
	case "agent_start", "turn_start", "compaction_start":
		c.settled = false
	case "message_start":
		c.settled, c.retrying = false, false
		c.hanging = now.role == "assistant"
	case "message_update":
		c.hanging = false
	case "message_end":
		c.hanging = false
		c.ended(now)
	case "turn_end":
		for _, id := range now.results {
			c.tools.end(id)
		}
	case "agent_end":
		c.settled = now.willRetry != "true"
	case "agent_settled":
		c.settled = true
	case "auto_retry_start":
		c.settled, c.retrying = false, true
		return true
	case "auto_retry_end":
		c.settled, c.retrying = true, false
		return true
	}
	return false
}

// ended takes a whole message. A tool window is exactly from an assistant's
// calls to the results of all of them (seed 003).
func (c *piLines) ended(now *piLine) {
	switch now.role {
	case "toolResult":
		for _, id := range now.results {
			c.tools.end(id)
		}
	case "assistant":
		c.stop, c.failure = now.stop, now.failure
		c.tools.clear()
		if now.stop == "toolUse" {
			for _, id := range now.calls {
				c.tools.start(id)
			}
		}
		if now.text != "" {
			c.message = now.text
		}
		c.usage.InputTokens += now.in
		c.usage.OutputTokens += now.out
		if usd, known := money(now.cost); known {
			c.usage.CostUSD += usd
			c.usage.CostKnown = true
		}
	}
}

func (c *piLines) status() Status {
	return Status{
		Terminal: c.settled && c.stop != "" && c.stop != "toolUse", Success: c.settled && c.stop == "stop",
		InTool: c.tools.any(), SessionID: c.session,
	}
}

func (c *piLines) result() result { return result{c.message, c.session, c.usage} }

// tell goes by the last assistant message: the exit code is 0 for every
// failure of the API. An error begins with its status: "429 text" (0.73.1),
// "429: {json}" (1.6.0).
func (c *piLines) tell(end End) said {
	const source = "stdout message_end"
	switch c.stop {
	case "stop":
		return said{heard: true, success: true, source: source, text: c.message}
	case "error":
		return said{
			heard: true, weak: c.retrying, class: cause{text: c.failure, status: leadingStatus(c.failure)}.class(piPhrases()),
			source: source, text: c.failure, resetAt: resetAt(c.failure, end.Now),
		}
	case "length":
		return said{heard: true, class: spec.ClassContextLimit, source: source, text: "stopReason length"}
	case "aborted":
		return said{heard: true, weak: true, class: spec.ClassProcessTerminated, source: source, text: c.failure}
	}
	if _, text := diagnostic(end.Stderr, "No API key found", "No session found", "Error: "); text != "" && end.Code != 0 && !killed(end) {
		class := local(cause{text: lastLine(end.Stderr)}.class(piPhrases()))
		return said{heard: true, class: class, source: "stderr", text: lastLine(end.Stderr)}
	}
	if c.hanging && end.EndedBy == "" && killed(end) {
		// A recording does not tell who ended it. This one waited for a model
		// that had begun to answer and sent nothing.
		return said{heard: true, class: spec.ClassGenericError, source: "stdout message_start", text: "the answer began and brought nothing"}
	}
	return said{}
}

func piPhrases() []phrase {
	return []phrase{
		{"no api key found", spec.ClassAuthConfig},
		{"request was aborted", spec.ClassGenericError},
	}
}
