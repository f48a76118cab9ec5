package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"drover/spec"
)

// waitEvery is how often a wait looks; a look costs what changed.
const waitEvery = 200 * time.Millisecond

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
func (a *App) waitFor(ctx context.Context, until string, want func(spec.TaskID) bool) (spec.StatusDoc, int, error) {
	look := context.WithoutCancel(ctx)
	e, err := a.engine(look, engineOptions{readOnly: true})
	if err != nil {
		return spec.StatusDoc{}, 0, err
	}
	defer e.Close()
	ticker := time.NewTicker(waitEvery)
	defer ticker.Stop()
	first := ""
	for {
		if err := e.Refresh(look, e.journal.Load); err != nil {
			return spec.StatusDoc{}, 0, err
		}
		doc, err := e.doc(want)
		if err != nil {
			return doc, 0, err
		}
		code := outcome(doc.Summary)
		states := statesOf(doc)
		if first == "" {
			first = states
		}
		switch {
		case until == "final" && code != exitGoesOn,
			until == "complete" && code == exitDone,
			until == "complete" && code == exitPerson,
			until == "change" && states != first:
			return doc, code, nil
		}
		select {
		case <-ctx.Done():
			return doc, exitGoesOn, nil
		case <-ticker.C:
		}
	}
}

// statesOf is a text that differs when any task's state or reason does.
func statesOf(doc spec.StatusDoc) string {
	out := " "
	for _, r := range doc.Tasks {
		out += r.Task + "=" + string(r.State)
		if r.Reason != nil {
			out += ":" + string(r.Reason.Code)
		}
		out += " "
	}
	return out
}
