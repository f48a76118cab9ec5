package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drover/spec"
)

// lookAt is the loop's own arrow stopped before its effects: what is there and
// what would be done, without a lock.
func (a *App) lookAt(ctx context.Context, want func(spec.TaskID) bool) (spec.StatusDoc, error) {
	e, err := a.engine(ctx, engineOptions{readOnly: true})
	if err != nil {
		return spec.StatusDoc{}, err
	}
	defer e.Close()
	if err := e.Know(ctx); err != nil {
		return spec.StatusDoc{}, err
	}
	return e.doc(ctx, want)
}

// requestsDir is where commands leave what they ask of a running owner.
func (a *App) requestsDir() string { return filepath.Join(a.State.Path, "requests") }

func statusCommand(a *App) *cobra.Command {
	var all, needsYou, exitCode, follow bool
	c := &cobra.Command{
		Use: "status [SELECTOR…]", Short: "what runs, what waits and for what",
		Example: "  drover status --needs-you",
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "complete tasks too")
	c.Flags().BoolVar(&needsYou, "needs-you", false, "only what needs a person")
	c.Flags().BoolVarP(&follow, "watch", "w", false, "show it again whenever it changes")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with the code that run would have")
	c.RunE = func(c *cobra.Command, args []string) error {
		want, err := selector(args, "")
		if err != nil {
			return err
		}
		if err := a.Open(c.Context()); err != nil {
			return err
		}
		show := func(doc spec.StatusDoc) error {
			if needsYou {
				doc.Tasks = slices.DeleteFunc(slices.Clone(doc.Tasks), func(r spec.Row) bool { return !r.NeedsPerson })
			}
			return a.answer(doc, func(w io.Writer) { writeStatus(w, a, doc, all) })
		}
		if follow {
			return a.follow(c.Context(), want, show)
		}
		doc, err := a.lookAt(c.Context(), want)
		if err != nil {
			return err
		}
		if err := show(doc); err != nil {
			return err
		}
		if exitCode {
			return exitWith(outcome(doc.Summary))
		}
		return nil
	}
	return c
}

func listCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "list [KIND]", Short: "names and states of all tasks", Args: cobra.MaximumNArgs(1),
		Example: "  drover list",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "task" && args[0] != "tasks" {
				return notYet("list %s: this drover does not do %s yet", args[0], args[0])
			}
			if err := a.Open(c.Context()); err != nil {
				return err
			}
			doc, err := a.lookAt(c.Context(), nil)
			if err != nil {
				return err
			}
			rows := slices.Clone(doc.Tasks)
			slices.SortFunc(rows, func(x, y spec.Row) int { return strings.Compare(x.Task, y.Task) })
			return a.answer(verbDoc("list", map[string]any{"tasks": rows}), func(w io.Writer) {
				for _, r := range rows {
					fmt.Fprintf(w, "%-9s %s\n", r.State, r.Task)
				}
			})
		},
	}
}

func explainCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "explain TASK", Short: "why a task is where it is, and what would move it", Args: cobra.ExactArgs(1),
		Example: "  drover explain ledger/09+07_report",
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.Open(c.Context()); err != nil {
				return err
			}
			e, err := a.engine(c.Context(), engineOptions{readOnly: true})
			if err != nil {
				return err
			}
			defer e.Close()
			if err := e.Know(c.Context()); err != nil {
				return err
			}
			doc, err := e.doc(c.Context(), nil)
			if err != nil {
				return err
			}
			row, err := a.find(doc.Tasks, args[0])
			if err != nil {
				return err
			}
			x, err := e.explanation(c.Context(), row, doc.Tasks)
			if err != nil {
				return err
			}
			return a.answer(verbDoc("explain", x), func(w io.Writer) { writeExplain(w, a, x) })
		},
	}
}

func validateCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "validate [PATH…]", Short: "what is wrong in the task files, with file and line",
		Example: "  drover validate agent-task/ledger",
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.Open(c.Context()); err != nil {
				return err
			}
			doc, err := a.lookAt(c.Context(), nil)
			if err != nil {
				return err
			}
			found := findings(doc)
			if len(args) > 0 {
				if found, err = a.below(found, args); err != nil {
					return err
				}
			}
			err = a.answer(verbDoc("validate", map[string]any{"problems": found}), func(w io.Writer) {
				for _, p := range found {
					fmt.Fprintln(w, problemLine(p))
				}
				if len(found) == 0 {
					fmt.Fprintf(w, "nothing is wrong in the files of %d tasks\n", len(doc.Tasks))
				}
			})
			if err == nil && len(found) > 0 {
				return exitWith(exitPerson)
			}
			return err
		},
	}
}

// findings are the problems of files that belong to no task, and the contract
// errors of tasks.
func findings(d spec.StatusDoc) []spec.Problem {
	out := slices.Clone(d.Problems)
	for _, r := range d.Tasks {
		if r.State != spec.StateBlocked || r.Reason == nil || retryClears(r.Reason.Code) || r.Reason.Code == spec.UserReview {
			continue
		}
		p := spec.Problem{File: r.Reason.File, Line: r.Reason.Line, Code: string(r.Reason.Code), Message: r.Reason.Detail}
		if p.File == "" {
			p.File = r.File
		}
		out = append(out, p)
	}
	return out
}

// below keeps the findings in the named paths.
func (a *App) below(found []spec.Problem, paths []string) ([]spec.Problem, error) {
	out := []spec.Problem{}
	for _, word := range paths {
		abs := word
		if !filepath.IsAbs(word) {
			abs = filepath.Join(a.Dir, word)
		}
		if _, err := os.Lstat(abs); err != nil {
			return nil, usageError("validate %s: no such path", word)
		}
		rel := a.workspacePath(word)
		if rel == "" {
			rel = filepath.ToSlash(filepath.Clean(word))
		}
		for _, p := range found {
			if rel == "." || p.File == rel || selects(rel, p.File) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}
