// Package agent knows the coding-agent programs: how each is started and
// resumed, and what its output means.
//
// A CLI turns a Spec into a Command; its Reader consumes the standard output
// of one attempt as it grows and tells at the end how it went. Nothing here
// starts a process or reads a log by itself: the shim feeds the readers, so
// the package stays small (no regular expressions, no network, no os/exec).
//
// A verdict rests only on what the program says of itself in its own terminal
// events, or on the last diagnostic of its standard error; never on what tools
// or the model printed, and never on the exit code alone.
package agent

import (
	"time"

	"drover/spec"
)

// Spec is what a start asks of a CLI. Paths are absolute.
type Spec struct {
	Role       spec.Role
	Route      spec.Route
	Prompt     string
	PromptFile string // prompt.txt, holding Prompt
	Dir        string // the agent's working folder
	RunDir     string
	AttemptID  string
	// Resume is the session that shall go on; nil for a fresh one.
	Resume *Session
	// NewSession is a fresh UUID, for the CLIs that let us choose.
	NewSession string
	Doc        string // DROVER_DOC
	Out        string // DROVER_OUT, or ""
	// Writes are the folders that the agent must be able to write besides Dir.
	Writes []string
	// Env is what the attempt adds to drover's own environment.
	Env []string
}

// Session names a native session. Either field may be missing.
type Session struct{ ID, Path string }

// Command is a process to be started. Argv[0] is a program's name, to be
// looked up on PATH, or a path from the settings.
type Command struct {
	Argv []string
	// Env is added to the attempt's environment.
	Env []string
	// StdinPrompt asks for prompt.txt as standard input; otherwise it is
	// /dev/null. An open, silent pipe hangs codex and pi for ever.
	StdinPrompt bool
	// SessionID and SessionPath are what is known of the session before the
	// start, or "".
	SessionID, SessionPath string
}

// CLI is one agent program.
type CLI interface {
	Name() string
	Command(s Spec) (Command, error)
	// Reader reads one attempt's standard output.
	Reader() Reader
	// SessionFile finds the native session file of a session that ran in dir
	// with env, or returns "". It looks in the one folder where the program
	// keeps it and walks no tree.
	SessionFile(id, dir string, env []string) string
}

// Reader consumes one attempt's standard output as it grows. How the bytes are
// cut into writes makes no difference; memory stays constant however long a
// line is.
type Reader interface {
	// Write takes the next bytes. It never fails.
	Write(p []byte) (int, error)
	// Status is as of the bytes so far.
	Status() Status
	// Finish tells how the attempt went. The reader is used up.
	Finish(end End) Outcome
}

// End is what is known of an attempt's end besides its standard output.
type End struct {
	Code, Signal int
	// EndedBy is exit.json's: agent, person, dispatcher, unknown.
	EndedBy string
	Stderr  []byte // its tail
	// Truncated: the log lost bytes, so a missing event proves nothing.
	Truncated bool
	// Session reads the tail of the native session file; may be nil.
	Session func() []byte
	// Stalled: drover ended it for making no progress.
	Stalled, StalledInTool bool
	// Now is the clock that relative reset times count from.
	Now time.Time
}

// Status is what a reader knows while the agent runs.
type Status struct {
	// Terminal: the last event ended the run, Success says how. A program that
	// goes on after it takes both back.
	Terminal, Success bool
	// InTool: a tool call has begun whose result has not been seen.
	InTool bool
	// Noise: the newest lines were only the program's own retry notices, which
	// are not progress.
	Noise bool
	// ControlViolation names a collaboration or sub-agent tool that was called.
	ControlViolation string
	SessionID        string
}

// Outcome is how an attempt went.
type Outcome struct {
	Class   spec.Class
	Success bool
	// Evidence is what Class rests on.
	Evidence spec.Evidence
	Source   spec.Source // "" for a success
	// ProviderConfirmed: the provider's transport failed, by the program's own
	// terminal diagnostic (seed 003, failure contract).
	ProviderConfirmed bool
	ResetAt           time.Time // of a quota, when given
	FinalMessage      string
	SessionID         string
	SessionPath       string
	Usage             spec.Usage
}
