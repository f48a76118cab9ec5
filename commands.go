package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drover/spec/markdown"
)

// commands is the command table, in the order in which help shows it. A new
// command is one constructor and one line here.
func commands(app *App) []*cobra.Command {
	table := []*cobra.Command{inGroup("run", runCommand(app)), inGroup("run", waitCommand(app))}
	for _, c := range askCommands(app) {
		table = append(table, inGroup("decide", c))
	}
	return append(table,
		inGroup("decide", later("merge MASTER-NNN", "bring a finished MASTER to its base branch", "issues")),
		inGroup("look", statusCommand(app)),
		inGroup("look", explainCommand(app)),
		inGroup("look", logsCommand(app)),
		inGroup("look", historyCommand(app)),
		inGroup("look", validateCommand(app)),
		inGroup("look", later("report", "what happened, what needs a person, at what cost", "reports")),
		inGroup("write", initCommand(app)),
		inGroup("write", newCommand(app)),
		inGroup("write", listCommand(app)),
		inGroup("write", later("recall QUERY", "search what was learned", "recall")),
		inGroup("upkeep", later("reclaim", "remove worktrees that are safe to remove", "worktrees")),
		inGroup("upkeep", demoCommand(app)),
		inGroup("upkeep", doctorCommand(app)),
		inGroup("upkeep", versionCommand(app)),
		inGroup("upkeep", completionCommand(app)),
		inGroup("dialect", later("milestone VERB", "start, stop and follow milestones", "milestones")),
		inGroup("debug", classifyCommand(app)),
	)
}

// groups are the headings of the command table (COMMANDS 1).
func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: "run", Title: "Run"},
		{ID: "decide", Title: "Decide"},
		{ID: "look", Title: "Look"},
		{ID: "write", Title: "Write"},
		{ID: "upkeep", Title: "Upkeep"},
		{ID: "dialect", Title: "Dialect"},
		{ID: "debug", Title: "Debug"},
	}
}

func inGroup(group string, c *cobra.Command) *cobra.Command {
	c.GroupID = group
	return c
}

// later is a command whose dialect or feature is not there yet. It is in the
// table so that nobody takes its absence for a typing error.
func later(use, short, what string) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short + " (not yet)", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return notYet("%s: this drover does not do %s yet", name, what)
		},
	}
}

// root builds the command tree.
func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "drover",
		Short:             "drive coding agents over task files until every task is done",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.checkFlags(c) },
	}
	run := a.addRunFlags(root)
	root.RunE = func(c *cobra.Command, _ []string) error { return a.bare(c, run) }
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(c, args[0])
	}
	flags := root.PersistentFlags()
	flags.StringVarP(&a.Dir, "workspace", "C", "", "the `folder` to work in")
	flags.BoolVar(&a.JSON, "json", false, "answer with one JSON document, or JSON Lines for streams")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "no warnings, no progress")
	flags.StringVar(&a.Color, "color", "auto", "auto, always or never")
	flags.BoolVar(&a.NoInput, "no-input", false, "ask nothing")
	flags.StringVar(&a.Language, "language", "", "of the screen: ko or en")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if word := a.firstWord(); c == root && word != "" && !strings.HasPrefix(word, "-") {
			return unknownCommand(root, word) // its flags are not ours to judge
		}
		return usageError("%v; see: %s --help", err, c.CommandPath())
	})
	root.AddGroup(groups()...)
	a.table = append(commands(a), inGroup("upkeep", helpCommand(a)))
	root.AddCommand(a.table...)
	root.SetHelpCommand(a.table[len(a.table)-1])
	root.SetHelpFunc(a.help)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	return root
}

// checkFlags looks at what holds for every command.
func (a *App) checkFlags(c *cobra.Command) error {
	if !slices.Contains([]string{"auto", "always", "never"}, a.Color) {
		return usageError("--color wants auto, always or never, not %q", a.Color)
	}
	if !slices.Contains([]string{"", "ko", "en"}, a.Language) {
		return usageError("--language wants ko or en, not %q", a.Language)
	}
	decides := []string{"drover", "run", "stop", "approve", "reject", "retry", "release", "merge", "forget"}
	if a.InsideAttempt() && slices.Contains(decides, c.Name()) {
		return &exitError{
			exit: exitFailed, code: "inside-attempt",
			message: fmt.Sprintf("%s is refused inside an attempt (DROVER_RUN_DIR is set): an agent may look, but not decide", c.Name()),
		}
	}
	return nil
}

// firstWord is the first argument, "" for none.
func (a *App) firstWord() string {
	if len(a.Argv) < 2 {
		return ""
	}
	return a.Argv[1]
}

func unknownCommand(root *cobra.Command, word string) error {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	e := &exitError{exit: exitFailed, code: "usage", message: fmt.Sprintf("there is no command %q; see: drover help", word)}
	if near := markdown.Nearest(word, names); near != "" {
		e.message = fmt.Sprintf("there is no command %q, did you mean %s?", word, near)
		e.near = []string{near}
	}
	return e
}

// execute runs the command line and prints its error, once.
func (a *App) execute(ctx context.Context) int {
	root := a.root()
	root.SetArgs(a.Argv[1:])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	e := asExit(err)
	switch {
	case e.code == "":
	case a.JSON || slices.Contains(a.Argv, "--json"):
		writeJSON(a.Out, errorDoc(e))
	case e.plain:
		fmt.Fprintln(a.Err, e.message)
	default:
		fmt.Fprintln(a.Err, "drover: "+e.message)
		if strings.HasSuffix(e.message, ":") { // it announces a list
			for _, n := range e.near {
				fmt.Fprintln(a.Err, "  "+n)
			}
		}
	}
	return e.exit
}

// answer writes a command's answer: its document under --json, else its text.
func (a *App) answer(doc any, text func(w io.Writer)) error {
	if a.JSON {
		return writeJSON(a.Out, doc)
	}
	text(a.Out)
	return nil
}
