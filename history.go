package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/spec"
)

// historyShown is how many events are shown where no time is given.
const historyShown = 200

// followEvery is how often what is followed is looked at.
const followEvery = 300 * time.Millisecond

func historyCommand(a *App) *cobra.Command {
	var follow bool
	var since string
	c := &cobra.Command{
		Use: "history [TASK]", Short: "what happened, from the journal", Args: cobra.MaximumNArgs(1),
		Example: `  drover history --since 12h
  drover history ledger/02+01_reader -f`,
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	c.Flags().StringVar(&since, "since", "", "how far back: a span (90m, 7d), a time or a date")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.Open(c.Context()); err != nil {
			return err
		}
		var from time.Time
		if since != "" {
			var err error
			if from, err = parseSince(since, a.Now()); err != nil {
				return err
			}
		}
		var task *spec.TaskID
		if len(args) == 1 {
			id, err := a.pastTask(c.Context(), args[0])
			if err != nil {
				return err
			}
			task = &id
		}
		return a.history(c.Context(), task, from, follow)
	}
	return c
}

// pastTask resolves a TASK that may be long gone: the journal knows names that
// no folder has any more.
func (a *App) pastTask(ctx context.Context, word string) (spec.TaskID, error) {
	doc, err := a.lookAt(ctx, nil)
	if err != nil {
		return spec.TaskID{}, err
	}
	row, err := a.find(doc.Tasks, word)
	if err == nil {
		return spec.TaskID{Dialect: row.Dialect, Name: row.Task}, nil
	}
	for _, d := range a.dialects() {
		id := spec.TaskID{Dialect: d.Name(), Name: word}
		events, lastErr := a.openJournal().Last(ctx, 1, &id, nil)
		if lastErr != nil {
			return id, lastErr
		}
		if len(events) > 0 {
			return id, nil
		}
	}
	return spec.TaskID{}, err
}

func (a *App) openJournal() *fsstate.Journal {
	return fsstate.OpenJournal(a.State.Path, fsstate.Disk{Seam: a.Seam}, a.Now)
}

func (a *App) history(ctx context.Context, task *spec.TaskID, from time.Time, follow bool) error {
	j := a.openJournal()
	want := func(e spec.Event) bool { return !e.At.Before(from) }
	n := historyShown
	if !from.IsZero() {
		n = 0
	}
	began := a.Now()
	events, err := j.Last(ctx, n, task, want)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	for _, e := range events {
		if err := a.tellEvent(e); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	return a.followHistory(ctx, j, task, began)
}

// followHistory tells events as they come. Events of one pass may stand a
// little out of order, so the last moments are read again and what was told is
// left out.
func (a *App) followHistory(ctx context.Context, j *fsstate.Journal, task *spec.TaskID, began time.Time) error {
	const overlap = time.Minute
	told := map[string]time.Time{}
	key := func(e spec.Event) string { return fmt.Sprint(e.At.UnixNano(), e.Kind, e.Task, e.Attempt, e.To) }
	for e, err := range j.Events(ctx, began.Add(-overlap)) {
		if err != nil {
			return err
		}
		if e.At.Before(began) {
			told[key(e)] = e.At
		}
	}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		since := a.Now().Add(-overlap)
		for e, err := range j.Events(ctx, since) {
			if err != nil {
				return err
			}
			if _, known := told[key(e)]; known || task != nil && e.Task != task.Name {
				continue
			}
			told[key(e)] = e.At
			if err := a.tellEvent(e); err != nil {
				return err
			}
		}
		for k, at := range told {
			if at.Before(since) {
				delete(told, k)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *App) tellEvent(e spec.Event) error {
	if a.JSON {
		return writeJSON(a.Out, e)
	}
	_, err := fmt.Fprintln(a.Out, eventText(e, a.Now()))
	return err
}
