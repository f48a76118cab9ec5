package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/spec"
)

// verb is a command that asks something of the loop.
type verb struct {
	name, short, example string
	all                  bool // takes --all
	message              bool // takes -m
}

// askCommands are the verbs that a person decides with. Beside a running owner
// each leaves a request that the owner applies and answers; without one it
// takes the lock and applies it itself (COMMANDS 1).
func askCommands(a *App) []*cobra.Command {
	verbs := []verb{
		{"stop", "end agents and hold their tasks", "drover stop ledger/02+01_reader", true, false},
		{"hold", "keep tasks from running", "drover hold ledger/02", true, false},
		{"release", "let held tasks go on", "drover release ledger/02", true, false},
		{"retry", "new attempts for a blocked task, once the cause is mended", "drover retry 07", true, false},
		{"approve", "pass a gate", "drover approve billing", false, false},
		{"reject", "send back what waits at a gate; elsewhere hold", "drover reject billing -m 'split it further'", false, true},
		{"forget", "forget a task whose folder is gone", "drover forget ledger/03_docs", false, false},
	}
	var out []*cobra.Command
	for _, v := range verbs {
		out = append(out, askCommand(a, v))
	}
	return out
}

func askCommand(a *App, v verb) *cobra.Command {
	var all, loop bool
	var message string
	c := &cobra.Command{Use: v.name + " TASK…", Short: v.short, Example: "  " + v.example}
	if v.all {
		c.Use += "|--all"
		c.Flags().BoolVar(&all, "all", false, "all tasks that it applies to")
	}
	if v.message {
		c.Flags().StringVarP(&message, "message", "m", "", "`text` for whoever does it again")
	}
	if v.name == "stop" {
		c.Flags().BoolVar(&loop, "loop", false, "end drover itself; agents go on")
	}
	c.RunE = func(c *cobra.Command, words []string) error {
		if loop {
			return a.stopLoop(c.Context())
		}
		if len(words) == 0 && !all {
			return usageError("%s which task? name one, or give --all; see: drover list", v.name)
		}
		if err := a.Open(c.Context()); err != nil {
			return err
		}
		request := spec.Request{Version: 1, Verb: v.name, Message: message, By: userName(), At: a.Now()}
		if err := a.resolve(c.Context(), &request, words, all); err != nil {
			return err
		}
		answer, err := a.ask(c.Context(), request)
		if err != nil {
			return err
		}
		return a.answer(verbDoc(v.name, answer.Done), func(w io.Writer) {
			for _, t := range answer.Done {
				fmt.Fprintf(w, "%s: %s\n", t.Task, t.Message)
			}
		})
	}
	return c
}

// resolve turns words into the tasks of a request; --all means those that the
// verb would change.
func (a *App) resolve(ctx context.Context, r *spec.Request, words []string, all bool) error {
	doc, err := a.lookAt(ctx, nil)
	if err != nil {
		return err
	}
	if all {
		for _, row := range doc.Tasks {
			if applies(r.Verb, row) {
				r.Tasks = append(r.Tasks, spec.TaskID{Dialect: row.Dialect, Name: row.Task})
			}
		}
		return nil
	}
	for _, word := range words {
		row, err := a.find(doc.Tasks, word)
		if err != nil {
			return err
		}
		r.Tasks = append(r.Tasks, spec.TaskID{Dialect: row.Dialect, Name: row.Task})
	}
	return nil
}

// applies reports whether --all means this task.
func applies(verb string, r spec.Row) bool {
	switch verb {
	case "stop":
		return r.State == spec.StateRunning
	case "release":
		return r.State == spec.StateHeld
	case "retry":
		return r.State == spec.StateBlocked && r.Reason != nil && retryClears(r.Reason.Code) || r.Failures > 0
	case "hold":
		return r.State != spec.StateHeld && r.State != spec.StateComplete
	}
	return false
}

// askPatience is how long an owner may take: it answers within a second.
const askPatience = 30 * time.Second

// ask leaves the request for the owner, or applies it where there is none.
func (a *App) ask(ctx context.Context, r spec.Request) (spec.Answer, error) {
	disk := fsstate.Disk{Seam: a.Seam}
	for {
		unlock, err := a.State.Lock(ctx, disk, a.Now())
		if err == nil {
			defer unlock()
			return a.applyRequest(ctx, r)
		}
		var owned *fsstate.OwnedError
		if !errors.As(err, &owned) {
			return spec.Answer{}, err
		}
		wait, cancel := context.WithTimeout(ctx, askPatience)
		answer, err := a.State.Ask(wait, disk, r)
		cancel()
		if !errors.Is(err, fsstate.ErrNoOwner) {
			return answer, err
		}
	}
}

// applyRequest is the owner's side in this very process.
func (a *App) applyRequest(ctx context.Context, r spec.Request) (spec.Answer, error) {
	e, err := a.engine(ctx, engineOptions{})
	if err != nil {
		return spec.Answer{}, err
	}
	defer e.Close()
	if err := e.Know(ctx); err != nil {
		return spec.Answer{}, err
	}
	answer := e.Request(ctx, r)
	return answer, e.finish(ctx)
}

// stopLoop ends the drover that owns the workspace; its agents go on.
func (a *App) stopLoop(ctx context.Context) error {
	if err := a.Open(ctx); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	r := spec.Request{Version: 1, Verb: "end", By: userName(), At: a.Now()}
	_, err := a.State.Ask(wait, fsstate.Disk{Seam: a.Seam}, r)
	text := "drover ends; its agents go on"
	switch {
	case errors.Is(err, fsstate.ErrNoOwner):
		text = "no drover runs here"
	case err != nil:
		return err
	}
	return a.answer(verbDoc("stop", map[string]any{"loop": err == nil}), func(w io.Writer) { fmt.Fprintln(w, text) })
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "a person"
}
