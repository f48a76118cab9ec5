package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const noWorkspaceText = `%s is no drover workspace yet: it has no drover.yaml and no %s folder.

  drover init     look at this repository and write drover.yaml, a task folder and a first task
  drover demo     see five tasks driven to their end in a repository of their own, no account needed
  drover help     all commands

Nothing was created.
`

// bare is drover without a command: it watches a workspace, and tells what to
// do where there is none.
func (a *App) bare(c *cobra.Command, f *runFlags) error {
	if err := a.Open(c.Context()); err != nil {
		return err
	}
	if !a.IsWorkspace() {
		root := a.Settings.AgentTask.Root
		doc := verbDoc("run", map[string]any{"workspace": a.State.Root, "is_workspace": false})
		return a.answer(doc, func(w io.Writer) { fmt.Fprintf(w, noWorkspaceText, a.State.Root, root) })
	}
	return a.run(c.Context(), f, nil)
}
