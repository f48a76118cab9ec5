package main

import (
	"errors"
	"fmt"
	"strings"

	"drover/fsstate"
	"drover/spec"
)

// The exit codes (COMMANDS 2).
const (
	exitDone   = 0
	exitFailed = 1   // could not: usage, tool, setting, torn state, refused
	exitPerson = 2   // a person is needed
	exitGoesOn = 3   // not final, goes on by itself
	exitSignal = 128 // plus the signal that ended drover; main raises it again
)

// exitError ends a command with an exit code. main prints it once.
type exitError struct {
	exit int
	// code is the error's name in JSON; "" prints nothing, for a code that is
	// an answer.
	code string
	// message is what happened, to what, and what next.
	message string
	near    []string // names that were perhaps meant
	argv    []string // a command that would help
	// plain messages begin with a file and line; no "drover: " before them.
	plain bool
}

func (e *exitError) Error() string { return e.message }

// exitWith ends with a code and without a message.
func exitWith(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{exit: code}
}

func usageError(format string, args ...any) error {
	return &exitError{exit: exitFailed, code: "usage", message: fmt.Sprintf(format, args...)}
}

// refuse is a command that will not do what was asked, and says why.
func refuse(format string, args ...any) error {
	return &exitError{exit: exitFailed, code: "refused", message: fmt.Sprintf(format, args...)}
}

func notYet(format string, args ...any) error {
	return &exitError{exit: exitFailed, code: "not-yet", message: fmt.Sprintf(format, args...)}
}

// settingsError shows every problem of a settings file on its own line.
func settingsError(problems []spec.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = problemLine(p)
	}
	code := "bad-setting"
	if problems[0].Code == "not-yet" {
		code = "not-yet"
	}
	return &exitError{exit: exitFailed, code: code, message: strings.Join(lines, "\n"), plain: true}
}

// problemLine is "drover.yaml:14: unknown key …".
func problemLine(p spec.Problem) string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// asExit finds the exit code and name of any error.
func asExit(err error) *exitError {
	var (
		exit  *exitError
		owned *fsstate.OwnedError
		torn  *fsstate.TornStateError
		work  *fsstate.WorkspaceError
		ended *signalError
	)
	switch {
	case errors.As(err, &exit):
		return exit
	case errors.As(err, &ended):
		return &exitError{exit: exitSignal + int(ended.signal)}
	case errors.As(err, &owned):
		return &exitError{exit: exitGoesOn, code: "owned-by-other", message: err.Error(), argv: []string{"drover", "status", "-w"}}
	case errors.As(err, &torn):
		return &exitError{exit: exitFailed, code: "torn-state", message: err.Error(), argv: []string{"drover", "help", "files"}}
	case errors.As(err, &work):
		code := "not-a-workspace"
		if strings.HasPrefix(work.Message, "git is ") {
			code = "tool-missing"
		}
		return &exitError{exit: exitFailed, code: code, message: err.Error()}
	}
	return &exitError{exit: exitFailed, code: "refused", message: err.Error()}
}
