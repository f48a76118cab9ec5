package agent

import (
	"strings"

	"drover/spec"
)

// script is drover's own deterministic agent: its binary, started anew with a
// verb that nobody types.
type script struct {
	program
	exe string
}

// ScriptVerb is the hidden verb of the script agent.
const ScriptVerb = "script-agent"

// Command implements CLI.
func (c script) Command(s Spec) (Command, error) {
	return Command{Argv: append([]string{c.exe, ScriptVerb, string(s.Role), s.Doc}, c.settings.Args...), Env: c.settings.Env}, nil
}

// SessionFile implements CLI: it has no session.
func (c script) SessionFile(_, _ string, _ []string) string { return "" }

// Reader implements CLI.
func (c script) Reader() Reader {
	return newStream(&scriptLines{}, map[string]int{
		"type": keepWord, "success": keepWord, "message": keepMessage, "block": keepWord,
	})
}

type scriptLines struct {
	now     struct{ kind, success, message, block string }
	ended   string // "true", "false" or ""
	message string
	tools   tools
}

func (c *scriptLines) set(path, value string) {
	switch path {
	case "type":
		c.now.kind = value
	case "success":
		c.now.success = value
	case "message":
		c.now.message = value
	case "block":
		c.now.block = value
	}
}

func (c *scriptLines) leave(string) {}
func (c *scriptLines) reset()       { c.now = scriptLines{}.now }

func (c *scriptLines) line() (notice bool) {
	switch c.now.kind {
	case "script.block.started":
		c.tools.start(c.now.block)
	case "script.block":
		c.tools.end(c.now.block)
	case "script.result":
		c.ended, c.message = c.now.success, c.now.message
		c.tools.clear()
	}
	return false
}

func (c *scriptLines) status() Status {
	return Status{Terminal: c.ended != "", Success: c.ended == "true", InTool: c.tools.any()}
}

func (c *scriptLines) result() result {
	return result{message: c.message, usage: spec.Usage{CostKnown: true}}
}

func (c *scriptLines) tell(End) said {
	return said{
		heard: c.ended != "", success: c.ended == "true", class: spec.ClassGenericError,
		source: "stdout script.result", text: c.message,
	}
}

// custom is a program that the settings define by data.
type custom struct{ program }

// Command implements CLI.
func (c custom) Command(s Spec) (Command, error) {
	session := s.NewSession
	if s.Resume != nil && s.Resume.ID != "" {
		session = s.Resume.ID
	}
	fill := strings.NewReplacer(
		"{model}", s.Route.Model, "{effort}", s.Route.Effort, "{prompt}", asArgument(s),
		"{dir}", s.Dir, "{session}", session,
	)
	var argv []string
	for _, word := range c.settings.Command {
		argv = append(argv, fill.Replace(word))
	}
	if c.settings.Path != "" {
		argv[0] = c.settings.Path
	}
	return Command{Argv: append(argv, c.settings.Args...), Env: c.settings.Env}, nil
}

// SessionFile implements CLI: nothing is known of its sessions.
func (c custom) SessionFile(_, _ string, _ []string) string { return "" }

// Reader implements CLI.
func (c custom) Reader() Reader {
	path := valuePath(c.settings.Success.JSONPath)
	lines := &customLines{want: c.settings.Success, path: path}
	limits := map[string]int{}
	if path != "" {
		limits[path] = keepError
	}
	return &plainStream{stream: newStream(lines, limits), lines: lines}
}

// valuePath makes a sift's path of "$.a.b[0]"; an index means any element.
func valuePath(jsonPath string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(jsonPath, "$"), "."), ".") {
		name, index, indexed := strings.Cut(part, "[")
		if b.Len() > 0 && name != "" {
			b.WriteByte('.')
		}
		b.WriteString(name)
		for range strings.Count(index, "[") + 1 {
			if indexed {
				b.WriteString(".*")
			}
		}
	}
	return b.String()
}

type customLines struct {
	want  Success
	path  string
	now   string
	seen  bool // this line has the value
	value string
	found bool // some line had it
	tail  []byte
}

func (c *customLines) set(_, value string) { c.now, c.seen = value, true }
func (c *customLines) leave(string)        {}
func (c *customLines) reset()              { c.now, c.seen = "", false }

func (c *customLines) line() (notice bool) {
	if c.seen {
		c.value, c.found = c.now, true
	}
	return false
}

func (c *customLines) status() Status {
	return Status{Terminal: c.found, Success: c.found && c.value == c.want.Equals}
}

func (c *customLines) result() result {
	return result{message: strings.TrimSpace(strings.ToValidUTF8(string(c.tail), ""))}
}

func (c *customLines) tell(end End) said {
	switch {
	case c.path != "" && !c.found:
		return said{}
	case c.path != "" && c.value != c.want.Equals:
		return said{heard: true, class: spec.ClassGenericError, source: "stdout " + c.path, text: c.value}
	case killed(end), end.Stalled, end.Truncated && c.path == "":
		return said{}
	case end.Code != c.want.Exit || end.Signal != 0:
		return said{}
	}
	return said{heard: true, success: true, exit: true, source: "exit"}
}

// plainStream keeps the end of what a program of one's own prints as its
// final message.
type plainStream struct {
	*stream
	lines *customLines
}

const keepTail = 16 << 10

// Write implements Reader.
func (p *plainStream) Write(b []byte) (int, error) {
	last := b[max(0, len(b)-keepTail):]
	tail := append(p.lines.tail, last...)
	p.lines.tail = append(p.lines.tail[:0], tail[max(0, len(tail)-keepTail):]...)
	return p.stream.Write(b)
}
