package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"drover/spec"
)

// agy is Google's Antigravity CLI, by its documented output (1.1.13–1.2.17);
// it was not run.
type agy struct{ program }

// Command implements CLI. -p takes the next argument as the prompt, so it
// comes last. --print-timeout is always given: its default is five minutes in
// some versions, and its end looks like a success; drover's own clocks end a
// silent run long before.
func (c agy) Command(s Spec) (Command, error) {
	argv := c.argv("agy")
	model, effort := agyModel(s.Route.Model, s.Route.Effort)
	if model != "" {
		argv = append(argv, "--model", model)
	}
	if effort != "" {
		argv = append(argv, "--effort", effort)
	}
	if c.settings.Sandbox != "" {
		argv = append(argv, "--mode", c.settings.Sandbox)
	} else {
		argv = append(argv, "--dangerously-skip-permissions")
	}
	argv = append(argv, "--output-format", "stream-json", "--print-timeout", "24h")
	for _, dir := range s.Writes {
		argv = append(argv, "--add-dir", dir)
	}
	if onStdin(s.Prompt) {
		argv = append(argv, "--add-dir", s.RunDir)
	}
	cmd := Command{Env: c.settings.Env}
	if s.Resume != nil && s.Resume.ID != "" {
		argv = append(argv, "--conversation", s.Resume.ID)
		cmd.SessionID, cmd.SessionPath = s.Resume.ID, s.Resume.Path
	}
	argv = append(argv, c.settings.Args...)
	cmd.Argv = append(argv, "-p", asArgument(s))
	return cmd, nil
}

// agyModel makes a slug and an effort of the name that people see: "Gemini 3.5
// Flash (Low)" is gemini-3.5-flash at low. A slug that carries its effort
// takes no --effort: the two conflict.
func agyModel(model, effort string) (slug, level string) {
	level = strings.ToLower(effort)
	if name, rest, ok := strings.Cut(model, " ("); ok {
		word := strings.ToLower(strings.TrimSuffix(rest, ")"))
		if !isEffort(word) {
			return strings.Join(strings.Fields(strings.ToLower(name+" "+word)), "-"), ""
		}
		model, level = name, cmp.Or(level, word)
	}
	slug = strings.Join(strings.Fields(strings.ToLower(model)), "-")
	if i := strings.LastIndexByte(slug, '-'); i >= 0 && isEffort(slug[i+1:]) {
		return slug, ""
	}
	return slug, level
}

func isEffort(word string) bool { return word == "low" || word == "medium" || word == "high" }

// SessionFile implements CLI.
func (c agy) SessionFile(id, _ string, env []string) string {
	if id == "" {
		return ""
	}
	root := filepath.Join(home(env), ".gemini", "antigravity-cli")
	return existing(
		filepath.Join(root, "brain", id, ".system_generated", "logs", "transcript_full.jsonl"),
		filepath.Join(root, "conversations", id+".db"),
	)
}

// Reader implements CLI.
func (c agy) Reader() Reader {
	const step, end = "step_update.", "result."
	return newStream(&agyLines{}, map[string]int{
		"event": keepWord, "conversation_id": keepWord,
		step + "step_index": keepWord, step + "state": keepWord, step + "step_type": keepWord,
		step + "text_delta": keepMessage, step + "tool_name": keepWord,
		end + "conversation_id": keepWord, end + "status": keepWord, end + "response": keepMessage,
		"result.error": keepError, "result.error.message": keepError,
		"result.denied_actions": keepError, "result.denied_actions.*": keepError, "result.denied_actions.*.tool_name": keepWord,
		"result.usage.input_tokens": keepWord, "result.usage.output_tokens": keepWord,
	})
}

type agyLine struct {
	event, session, step, state, kind, text, tool, status, response, failure string
	denied                                                                   bool
	in, out                                                                  int64
}

type agyLines struct {
	now       agyLine
	session   string
	end       agyLine // the newest result
	working   bool    // it went on after it
	tools     tools
	violation string
	message   string
	usage     spec.Usage
}

func (c *agyLines) set(path, value string) {
	now := &c.now
	switch path {
	case "event":
		now.event = value
	case "conversation_id", "result.conversation_id":
		now.session = value
	case "step_update.step_index":
		now.step = value
	case "step_update.state":
		now.state = value
	case "step_update.step_type":
		now.kind = value
	case "step_update.text_delta":
		now.text = value
	case "step_update.tool_name":
		now.tool = value
	case "result.status":
		now.status = value
	case "result.response":
		now.response = value
	case "result.error", "result.error.message":
		now.failure = value
	case "result.usage.input_tokens":
		now.in = number(value)
	case "result.usage.output_tokens":
		now.out = number(value)
	case "result.denied_actions", "result.denied_actions.*", "result.denied_actions.*.tool_name":
		now.denied = value != "" && value != "0" && value != "false"
	}
}

func (c *agyLines) leave(path string) {
	if path == "result.denied_actions.*" {
		c.now.denied = true
	}
}

func (c *agyLines) reset() { c.now = agyLine{} }

func (c *agyLines) line() (notice bool) {
	now := &c.now
	if now.session != "" {
		c.session = now.session
	}
	switch now.event {
	case "step_update":
		c.step(now)
	case "result":
		c.end, c.working = *now, false
		c.tools.clear()
		c.message = cmp.Or(now.response, c.message)
		c.usage.InputTokens, c.usage.OutputTokens = now.in, now.out
	}
	return false
}

func (c *agyLines) step(now *agyLine) {
	c.working = true
	switch {
	case now.kind == "agent_response":
		if now.state == "ACTIVE" || now.text != "" {
			c.message = joined(c.message, now.text)
		}
	case now.kind == "user_input":
		c.message = ""
	case now.state == "ACTIVE":
		c.tools.start(now.step)
		c.message = ""
	default:
		c.tools.end(now.step)
	}
	if now.kind == "subagent" && c.violation == "" {
		c.violation = cmp.Or(now.tool, now.kind)
	}
}

func (c *agyLines) status() Status {
	return Status{
		Terminal: c.end.event != "" && !c.working, Success: c.end.status == "SUCCESS" && !c.end.denied && !c.working,
		InTool: c.tools.any(), ControlViolation: c.violation, SessionID: c.session,
	}
}

func (c *agyLines) result() result { return result{c.message, c.session, c.usage} }

// agyTimeout is the only sign of a run that its print timeout cut short.
const agyTimeout = "[agy] print timeout after"

// tell: status SUCCESS at exit 0 is no success when actions were denied or
// the print timeout cut the turn.
func (c *agyLines) tell(end End) said {
	failure, code := agyDiagnostic(end.Stderr)
	if c.working && (killed(end) || end.Stalled) {
		c.end = agyLine{}
	}
	switch {
	case c.end.status == "SUCCESS" && c.end.denied:
		return said{heard: true, class: spec.ClassGenericError, source: "stdout result", text: "denied_actions"}
	case c.end.status == "SUCCESS" && bytes.Contains(end.Stderr, []byte(agyTimeout)):
		_, text := diagnostic(end.Stderr, agyTimeout)
		return said{heard: true, class: spec.ClassGenericError, source: "stderr", text: agyTimeout + " " + text}
	case c.end.status == "SUCCESS":
		return said{heard: true, success: true, source: "stdout result", text: c.end.response}
	}
	source, text := "stdout result", c.end.failure
	if failure != "" && end.Code != 0 {
		source, text = "stderr AGY_ERROR", failure
	} else if c.end.event == "" {
		_, line := diagnostic(end.Stderr, "error: ", "Error: ")
		if line == "" || end.Code == 0 || killed(end) {
			return said{}
		}
		source, text = "stderr", line
	}
	why := cause{code: code, text: cmp.Or(text, failure)}
	_, line := diagnostic(end.Stderr, "error: ", "Error: ")
	resets := resetAt(why.text, end.Now)
	if resets.IsZero() {
		resets = resetAt(line, end.Now)
	}
	class := why.class(agyPhrases())
	if class == spec.ClassRateLimit && match(plain(line), agyPhrases()) == spec.ClassQuota {
		class = spec.ClassQuota
	}
	if source == "stderr" {
		class = local(class)
	}
	return said{heard: true, class: class, source: source, text: cmp.Or(why.text, line), resetAt: resets}
}

// agyDiagnostic reads the line "AGY_ERROR: {json}". Its keys are not
// documented, so any of those that were seen will do.
func agyDiagnostic(stderr []byte) (text, code string) {
	_, body := diagnostic(stderr, "AGY_ERROR:")
	if body == "" {
		return "", ""
	}
	var e struct {
		Status     string `json:"status"`
		Code       any    `json:"error_code"`
		ShortError string `json:"short_error"`
		Error      string `json:"error"`
		Message    string `json:"message"`
	}
	if json.Unmarshal([]byte(body), &e) != nil {
		return body, ""
	}
	name, _ := e.Code.(string)
	return cmp.Or(e.ShortError, e.Message, e.Error, body), cmp.Or(e.Status, name)
}

func agyPhrases() []phrase {
	return []phrase{
		{"individual quota", spec.ClassQuota},
		{"quota reached", spec.ClassQuota},
		{"quota", spec.ClassQuota},
		{"invalid model", spec.ClassModelUnavailable},
		{"unknown model", spec.ClassModelUnavailable},
		{"not signed in", spec.ClassAuthConfig},
		{"sign in", spec.ClassAuthConfig},
	}
}
