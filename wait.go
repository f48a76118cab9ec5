package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"drover/spec"
)

// waitEvery is how often a wait looks; a look costs what changed.
const waitEvery = 250 * time.Millisecond

func waitCommand(a *App) *cobra.Command {
	var until string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait [SELECTOR…]", Short: "block until tasks are final",
		Example: "  drover wait ledger --for complete --timeout 2h",
	}
	c.Flags().StringVar(&until, "for", "final", "complete, final (nothing goes on by itself) or change")
	c.Flags().DurationVar(&timeout, "timeout", 0, "end after this time, with exit code 3")
	c.RunE = func(c *cobra.Command, words []string) error {
		if until != "complete" && until != "final" && until != "change" {
			return usageError("--for wants complete, final or change, not %q", until)
		}
		want, err := selector(words, "")
		if err != nil {
			return err
		}
		if err := a.Open(c.Context()); err != nil {
			return err
		}
		ctx, cancel := c.Context(), context.CancelFunc(func() {})
		if timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, timeout)
		}
		defer cancel()
		doc, code, err := a.waitFor(ctx, until, want)
		if err != nil {
			return err
		}
		if err := a.answer(doc, func(w io.Writer) { writeStatus(w, a, doc, true) }); err != nil {
			return err
		}
		return exitWith(code)
	}
	return c
}

// waitFor looks until the tasks are what is waited for, or ctx ends.
func (a *App) waitFor(ctx context.Context, until string, want func(spec.TaskID) bool) (doc spec.StatusDoc, code int, err error) {
	first := ""
	ended, err := a.eachLook(ctx, want, func(d spec.StatusDoc) (bool, error) {
		doc, code = d, outcome(d.Summary)
		states := statesOf(d)
		if first == "" {
			if first = states; d.Owner == nil && d.Summary.Running == 0 && code == exitGoesOn {
				a.Warn("no drover runs here, so nothing moves until one does: drover")
			}
		}
		return until == "final" && code != exitGoesOn ||
			until == "complete" && (code == exitDone || code == exitPerson) ||
			until == "change" && states != first, nil
	})
	switch {
	case err != nil:
	case !ended:
		code = exitGoesOn
	case until != "complete":
		code = exitDone // what was waited for has come
	}
	return doc, code, err
}

// follow shows the status again whenever a task's state or reason changes,
// until somebody ends it.
func (a *App) follow(ctx context.Context, want func(spec.TaskID) bool, show func(spec.StatusDoc) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	shown := ""
	_, err := a.eachLook(ctx, want, func(d spec.StatusDoc) (bool, error) {
		states := statesOf(d)
		if states == shown {
			return false, nil
		}
		if shown != "" && !a.JSON {
			fmt.Fprintln(a.Out)
		}
		shown = states
		return false, show(d)
	})
	return err
}

// eachLook looks again and again until done says so or ctx ends; ended tells
// which.
func (a *App) eachLook(ctx context.Context, want func(spec.TaskID) bool, done func(spec.StatusDoc) (bool, error)) (ended bool, err error) {
	look := context.WithoutCancel(ctx)
	e, err := a.engine(look, engineOptions{readOnly: true})
	if err != nil {
		return false, err
	}
	defer e.Close()
	ticker := time.NewTicker(waitEvery)
	defer ticker.Stop()
	for {
		if err := e.Refresh(look, e.journal.Load); err != nil {
			return false, err
		}
		doc, err := e.doc(look, want)
		if err != nil {
			return false, err
		}
		if ended, err := done(doc); ended || err != nil {
			return ended, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-ticker.C:
		}
	}
}

// statesOf is a text that differs when any task's state or reason does.
func statesOf(doc spec.StatusDoc) string {
	var b strings.Builder
	for _, r := range doc.Tasks {
		fmt.Fprintf(&b, "%s=%s %s %s", r.Task, r.State, r.Stage, r.Attempt)
		if r.Reason != nil {
			b.WriteString(" " + string(r.Reason.Code) + " " + r.Reason.Detail)
		}
		b.WriteByte('\n')
	}
	for _, p := range doc.Problems {
		fmt.Fprintln(&b, p)
	}
	fmt.Fprintln(&b, doc.Owner != nil)
	return b.String()
}
