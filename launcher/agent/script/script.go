// Package script is drover's own deterministic agent, for mechanical steps,
// checks and first tries: drover's binary, started anew with a verb that
// nobody types.
//
// As worker it runs the fenced blocks of the task's document whose info string
// is "sh run", in order, in the step's folder, and stops at the first failure;
// then it records in the CODE_REVIEW beside the PLAN what it did (agent-task),
// or commits and reports (issues). As reviewer it runs the commands under the
// PLAN's verification heading and writes the verdict; if it finalizes, it also
// archives the task or writes the follow-up pair. Blocks and commands find the
// plan's number in DROVER_PLAN. It refuses every other role.
//
// It reports on stdout in lines of JSON: script.start, script.block.started,
// script.output, script.block, and as the last script.result.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"drover/spec"
)

// FinalizeEnv tells a reviewer to finalize, if its value is "reviewer"
// (DIALECTS 1.7).
const FinalizeEnv = "DROVER_FINALIZE"

// Options are what the agent's surroundings are.
type Options struct {
	Env    []string // of the process
	Dir    string   // the step's folder
	Now    func() time.Time
	Stdout io.Writer
	Stderr io.Writer
}

// agent is one run.
type agent struct {
	Options
	events *json.Encoder
	blocks int
}

// Main runs one step: args are its role and its document. The result is the
// process's exit code: 0 done, 1 a block or command failed, 2 refused.
func Main(ctx context.Context, args []string, o Options) int {
	a := &agent{Options: o, events: json.NewEncoder(o.Stdout)}
	a.events.SetEscapeHTML(false)
	message, err := a.step(ctx, args)
	code := 0
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		code = 2
	case err != nil:
		code = 1
	}
	if err != nil {
		message = err.Error()
		fmt.Fprintln(o.Stderr, "drover script agent:", message)
	}
	a.emit(event{Type: "script.result", Success: new(err == nil), Message: message})
	return code
}

// refusal is a step that the script agent cannot do at all.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

func (a *agent) step(ctx context.Context, args []string) (message string, err error) {
	if len(args) != 2 {
		return "", refuse("it is started with a role and a document, not with %q", args)
	}
	role, doc := spec.Role(args[0]), args[1]
	a.emit(event{Type: "script.start", Role: role, Doc: doc})
	name := filepath.Base(doc)
	switch {
	case role == spec.RoleWorker && strings.HasPrefix(name, "WORK-"):
		return a.workIssue(ctx, doc)
	case role == spec.RoleWorker:
		return a.work(ctx, doc)
	case role == spec.RoleReview && strings.HasPrefix(name, reviewName):
		return a.review(ctx, doc)
	}
	return "", refuse("the script agent cannot do the role %q of %s; give that step another agent", role, name)
}

// event is one line of output.
type event struct {
	Type    string    `json:"type"`
	Role    spec.Role `json:"role,omitempty"`
	Doc     string    `json:"doc,omitempty"`
	Block   int       `json:"block,omitempty"`
	Command string    `json:"command,omitempty"`
	Text    string    `json:"text,omitempty"`
	Exit    *int      `json:"exit,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	Success *bool     `json:"success,omitempty"`
	Message string    `json:"message,omitempty"`
}

// emit prints an event. Where nobody reads any more there is nobody to tell.
func (a *agent) emit(e event) { _ = a.events.Encode(e) }
