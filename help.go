package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"drover/spec/markdown"
)

// The help topics' texts.
//
//go:embed docs/help/*.txt
var topicFiles embed.FS

// topics are the help topics, in the order in which help lists them.
func topics() []string {
	return []string{"states", "reasons", "exit-codes", "files", "environment", "json", "systemd", "dialects"}
}

func topicText(name string) (string, error) {
	if name == "reasons" {
		return reasonsTopic(), nil
	}
	b, err := fs.ReadFile(topicFiles, "docs/help/"+name+".txt")
	return string(b), err
}

func helpCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use: "help [TOPIC | COMMAND]", Short: "this, a topic, or a command",
		Args:              cobra.MaximumNArgs(2),
		ValidArgs:         topics(),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.writeHelp(c.Root())
			}
			if text, err := topicText(args[0]); err == nil {
				doc := verbDoc("help", map[string]string{"topic": args[0], "text": text})
				return app.answer(doc, func(w io.Writer) { fmt.Fprint(w, text) })
			}
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 || found == c.Root() {
				return noTopic(c.Root(), args[0])
			}
			return app.writeHelp(found)
		},
	}
}

func noTopic(root *cobra.Command, word string) error {
	names := topics()
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	e := &exitError{exit: exitFailed, code: "usage", message: fmt.Sprintf("there is no help on %q; topics are %s", word, strings.Join(topics(), ", "))}
	if near := markdown.Nearest(word, names); near != "" {
		e.message, e.near = fmt.Sprintf("there is no help on %q, did you mean %s?", word, near), []string{near}
	}
	return e
}

// help is what --help writes; cobra gives its function no way to fail.
func (a *App) help(c *cobra.Command, _ []string) { _ = a.writeHelp(c) }

func (a *App) writeHelp(c *cobra.Command) error {
	text := commandHelp(c)
	if c == c.Root() {
		text = a.rootHelp(c)
	}
	doc := verbDoc("help", map[string]string{"topic": c.CommandPath(), "text": text})
	return a.answer(doc, func(w io.Writer) { fmt.Fprint(w, text) })
}

// rootHelp is the whole command line on one screen.
func (a *App) rootHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("drover drives coding agents over task files until every task is done.\n\n")
	for _, g := range groups() {
		title := g.Title
		for _, c := range a.table {
			if c.GroupID != g.ID || c.Hidden {
				continue
			}
			fmt.Fprintf(&b, "%-8s %-28s %s\n", title, c.Use, c.Short)
			title = ""
		}
	}
	b.WriteString("\nEverywhere\n")
	b.WriteString(root.PersistentFlags().FlagUsages())
	b.WriteString("\nTopics: drover help " + strings.Join(topics(), ", ") + "\n")
	return b.String()
}

// commandHelp is one command's text and flags.
func commandHelp(c *cobra.Command) string {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	fmt.Fprintf(&b, "%s\n\nusage: %s\n", about, c.UseLine())
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			fmt.Fprintf(&b, "  %-24s %s\n", sub.Use, sub.Short)
		}
	}
	if flags := c.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		b.WriteString("\nflags\n" + flags.FlagUsages())
	}
	b.WriteString("\neverywhere\n" + c.Root().PersistentFlags().FlagUsages())
	return b.String()
}
