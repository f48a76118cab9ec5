package script

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// command is a shell command, and how it went.
type command struct {
	text   string
	exit   int
	output string // its end
	took   time.Duration
}

// name is the command's first line, for lists.
func (c command) name() string {
	line, _, more := strings.Cut(strings.TrimSpace(c.text), "\n")
	if more {
		line += " …"
	}
	return line
}

const (
	// keptOutput is how much of a command's output goes into documents.
	keptOutput = 2 << 10
	// pipeGrace is how long a child that a command left behind may hold its
	// output open.
	pipeGrace = 2 * time.Second
)

// run runs a command with sh -e in the step's folder, behind a pipe, so that
// it cannot reach the log. The error is not the command's own failure, which
// is in its exit code.
func (a *agent) run(ctx context.Context, text string, plan int) (command, error) {
	a.blocks++
	c := command{text: text}
	a.emit(event{Type: "script.block.started", Block: a.blocks, Command: c.name()})
	began := a.Now()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", text)
	cmd.Dir = a.Dir
	cmd.Env = append(append(cmd.Env, a.Env...), "DROVER_PLAN="+strconv.Itoa(plan))
	out := &output{agent: a, block: a.blocks}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = pipeGrace
	err := cmd.Run()
	out.flush()
	c.took, c.output = a.Now().Sub(began), strings.TrimSpace(string(out.tail))
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return c, fmt.Errorf("%s: %w", c.name(), context.Cause(ctx))
	case errors.As(err, &exit):
		c.exit = exit.ExitCode()
		if c.exit < 0 {
			c.exit = 255 // by a signal
		}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return c, fmt.Errorf("run %s: %w", c.name(), err)
	}
	a.emit(event{Type: "script.block", Block: a.blocks, Exit: &c.exit, Seconds: c.took.Seconds()})
	return c, nil
}

// output makes events of what a command prints and keeps its end.
type output struct {
	agent *agent
	block int
	tail  []byte
	part  []byte // of a character or line that goes on
}

func (o *output) Write(p []byte) (int, error) {
	o.tail = append(o.tail, p...)
	if len(o.tail) > 4*keptOutput {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-keptOutput:]...)
	}
	o.part = append(o.part, p...)
	if i := strings.LastIndexByte(string(o.part), '\n'); i >= 0 {
		o.say(o.part[:i+1])
		o.part = append(o.part[:0], o.part[i+1:]...)
	} else if len(o.part) > keptOutput {
		o.flush()
	}
	return len(p), nil
}

func (o *output) say(text []byte) {
	o.agent.emit(event{Type: "script.output", Block: o.block, Text: strings.ToValidUTF8(string(text), "�")})
}

func (o *output) flush() {
	if len(o.part) > 0 {
		o.say(o.part)
		o.part = o.part[:0]
	}
	o.tail = o.tail[max(0, len(o.tail)-keptOutput):]
	for len(o.tail) > 0 && !utf8.RuneStart(o.tail[0]) {
		o.tail = o.tail[1:]
	}
}

// fenced is a command's output as a code block that it cannot end, or "".
func (c command) fenced() string {
	text := strings.ToValidUTF8(c.output, "�")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
