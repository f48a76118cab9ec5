package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"drover/spec"
)

// codex is OpenAI's codex, measured with 0.171.0.
type codex struct{ program }

// Command implements CLI. The options stand before `resume`, which knows
// neither -C nor -s.
func (c codex) Command(s Spec) (Command, error) {
	argv := c.argv("codex", "exec", "--json")
	if c.settings.Sandbox != "" {
		argv = append(argv, "-s", c.settings.Sandbox)
		for _, dir := range s.Writes {
			argv = append(argv, "--add-dir", dir)
		}
	} else {
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	}
	argv = append(argv, "-C", s.Dir, "--skip-git-repo-check")
	if s.Route.Model != "" {
		argv = append(argv, "-m", s.Route.Model)
	}
	if s.Route.Effort != "" {
		argv = append(argv, "-c", `model_reasoning_effort="`+strings.ToLower(s.Route.Effort)+`"`)
	}
	argv = append(argv, c.settings.Args...)
	cmd := Command{Env: c.settings.Env, StdinPrompt: onStdin(s.Prompt)}
	if s.Resume != nil && s.Resume.ID != "" {
		argv = append(argv, "resume", s.Resume.ID)
		cmd.SessionID, cmd.SessionPath = s.Resume.ID, s.Resume.Path
	}
	if cmd.StdinPrompt {
		cmd.Argv = append(argv, "-")
	} else {
		cmd.Argv = append(argv, s.Prompt)
	}
	return cmd, nil
}

// SessionFile implements CLI: the thread id, a version 7 UUID, tells the day
// whose folder holds the rollout, give or take the time zone.
func (c codex) SessionFile(id, _ string, env []string) string {
	root := cmp.Or(lookup(env, "CODEX_HOME"), filepath.Join(home(env), ".codex"))
	began, ok := uuidTime(id)
	if !ok {
		return ""
	}
	for _, days := range []int{0, -1, 1} {
		day := began.AddDate(0, 0, days).Format("2006/01/02")
		if path := newest(filepath.Join(root, "sessions", day), "rollout-", "-"+id+".jsonl"); path != "" {
			return path
		}
	}
	return ""
}

// Reader implements CLI.
func (c codex) Reader() Reader {
	return newStream(&codexLines{}, map[string]int{
		"type": keepWord, "thread_id": keepWord, "message": keepError, "error.message": keepError,
		"item.id": keepWord, "item.type": keepWord, "item.text": keepMessage,
		"usage.input_tokens": keepWord, "usage.output_tokens": keepWord,
	})
}

type codexLines struct {
	now struct {
		kind, thread, message, itemID, itemKind, text string
		in, out                                       int64
	}
	thread    string
	last      string // turn.completed, turn.failed, error, or "" while it works
	lastError string
	tools     tools
	violation string
	message   string
	usage     spec.Usage
}

func (c *codexLines) set(path, value string) {
	switch path {
	case "type":
		c.now.kind = value
	case "thread_id":
		c.now.thread = value
	case "message", "error.message":
		c.now.message = value
	case "item.id":
		c.now.itemID = value
	case "item.type":
		c.now.itemKind = value
	case "item.text":
		c.now.text = value
	case "usage.input_tokens":
		c.now.in = number(value)
	case "usage.output_tokens":
		c.now.out = number(value)
	}
}

func (c *codexLines) leave(string) {}

func (c *codexLines) reset() { c.now = codexLines{}.now }

func (c *codexLines) line() (notice bool) {
	switch c.now.kind {
	case "thread.started":
		c.thread = c.now.thread
	case "turn.started":
		c.last = ""
	case "item.started", "item.updated", "item.completed":
		c.item()
	case "turn.completed":
		c.last = c.now.kind
		c.tools.clear()
		c.usage.InputTokens += c.now.in
		c.usage.OutputTokens += c.now.out
	case "turn.failed":
		c.last, c.lastError = c.now.kind, c.now.message
		c.tools.clear()
	case "error":
		if strings.HasPrefix(c.now.message, "Reconnecting") {
			return true
		}
		if c.last == "" || c.last == "error" {
			c.last, c.lastError = c.now.kind, c.now.message
		}
	}
	return false
}

// item notes tool calls and messages. Whatever is not talk is a tool; a
// warning is an item of type error and means nothing.
func (c *codexLines) item() {
	switch kind := c.now.itemKind; {
	case kind == "agent_message":
		c.message = c.now.text
	case kind == "reasoning", kind == "todo_list", kind == "error", kind == "user_message":
	case c.now.kind == "item.started":
		c.tools.start(c.now.itemID)
	case c.now.kind == "item.completed":
		c.tools.end(c.now.itemID)
	}
	if strings.HasPrefix(c.now.itemKind, "collab") && c.violation == "" {
		c.violation = c.now.itemKind
	}
}

func (c *codexLines) status() Status {
	return Status{
		Terminal: c.last == "turn.completed" || c.last == "turn.failed", Success: c.last == "turn.completed",
		InTool: c.tools.any(), ControlViolation: c.violation, SessionID: c.thread,
	}
}

func (c *codexLines) result() result { return result{c.message, c.thread, c.usage} }

// tell prefers the session's codex_error_info to the text of the event.
func (c *codexLines) tell(end End) said {
	switch c.last {
	case "turn.completed":
		return said{heard: true, success: true, source: "stdout turn.completed"}
	case "turn.failed", "error":
		why := cause{text: c.lastError, status: codexStatus(c.lastError)}
		w := said{heard: true, weak: c.last == "error", source: "stdout " + c.last, text: c.lastError}
		if end.Session != nil {
			info := readCodexSession(end.Session())
			if info.message == c.lastError {
				why.code, why.status = info.code, cmp.Or(info.status, why.status)
			}
		}
		w.class = why.class(codexPhrases())
		w.resetAt = resetAt(c.lastError, end.Now)
		return w
	}
	if end.Session != nil && readCodexSession(end.Session()).interrupted {
		return said{heard: true, class: spec.ClassProcessTerminated, source: "session turn_aborted", text: "interrupted"}
	}
	if _, text := diagnostic(end.Stderr, "Error: ", "Error loading "); text != "" && end.Code != 0 {
		why := cause{text: text, status: codexStatus(text)}
		return said{heard: true, weak: true, class: local(why.class(codexPhrases())), source: "stderr", text: text}
	}
	return said{}
}

func codexStatus(text string) int {
	return statusAfter(text, "unexpected status ", "last status: ", "status code ")
}

func codexPhrases() []phrase {
	return []phrase{
		{"ran out of room", spec.ClassContextLimit},
		{"quota exceeded", spec.ClassQuota},
		{"hit your usage limit", spec.ClassQuota},
		{"config.toml", spec.ClassAuthConfig},
		{"requires a newer version of codex", spec.ClassModelUnavailable},
		{"not supported when using codex", spec.ClassModelUnavailable},
		{"model is at capacity", spec.ClassOverloaded},
	}
}

// codexSession is the newest end of a turn in a rollout file.
type codexSession struct {
	kind, message, code string
	status              int
	interrupted         bool
	now                 struct {
		kind, message, code, reason string
		status                      int
	}
}

func readCodexSession(tail []byte) *codexSession {
	const info = "payload.error.codex_error_info"
	c := &codexSession{}
	limits := map[string]int{"payload.type": keepWord, "payload.reason": keepWord, "payload.error.message": keepError, info: keepWord}
	for _, code := range codexErrorStatus() {
		limits[info+"."+code+".http_status_code"] = keepWord
	}
	s := newSift(c, limits)
	s.write(tail)
	s.close()
	return c
}

// codexErrorStatus are the codes that come as an object with an HTTP status.
func codexErrorStatus() []string {
	return []string{
		"response_too_many_failed_attempts", "http_connection_failed",
		"response_stream_connection_failed", "response_stream_disconnected",
	}
}

func (c *codexSession) set(path, value string) {
	switch {
	case path == "payload.type":
		c.now.kind = value
	case path == "payload.reason":
		c.now.reason = value
	case path == "payload.error.message":
		c.now.message = value
	case path == "payload.error.codex_error_info":
		c.now.code = value
	case strings.HasSuffix(path, ".http_status_code"):
		c.now.status = int(number(value))
	}
}

func (c *codexSession) leave(string) {}

func (c *codexSession) line() {
	if c.now.kind == "task_complete" || c.now.kind == "turn_aborted" {
		c.kind, c.message, c.code, c.status = c.now.kind, c.now.message, c.now.code, c.now.status
		c.interrupted = c.kind == "turn_aborted" && c.now.reason == "interrupted"
	} else if c.now.kind == "task_started" {
		c.kind, c.message, c.code, c.status, c.interrupted = "", "", "", 0, false
	}
	c.drop()
}

func (c *codexSession) drop() { c.now = codexSession{}.now }

// uuidTime is the moment a version 7 UUID was made.
func uuidTime(id string) (time.Time, bool) {
	if len(id) != 36 || id[14] != '7' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}

// newest is the last by name of a folder's files with this beginning and end.
func newest(dir, prefix, suffix string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if name := entries[i].Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
