package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Finding is something that is or may come in the way.
type Finding struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Fact is something doctor saw that is well.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// checkup is what doctor gathers.
type checkup struct {
	Findings []Finding `json:"findings"`
	Facts    []Fact    `json:"facts"`
}

func (c *checkup) fact(name, format string, args ...any) {
	c.Facts = append(c.Facts, Fact{name, fmt.Sprintf(format, args...)})
}

func (c *checkup) find(code, remedy, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{code, fmt.Sprintf(format, args...), remedy})
}

func doctorCommand(a *App) *cobra.Command {
	var showSettings bool
	c := &cobra.Command{
		Use: "doctor", Short: "what is, or may come, in the way", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if showSettings {
				return a.doctorSettings(c.Context())
			}
			return a.doctor(c.Context())
		},
	}
	c.Flags().BoolVar(&showSettings, "settings", false, "print all settings as they hold here")
	return c
}

// doctorSettings prints the settings that hold, as a file that could be used.
func (a *App) doctorSettings(ctx context.Context) error {
	if err := a.Open(ctx); err != nil {
		return err
	}
	text := a.Settings.Text()
	return a.answer(verbDoc("doctor", map[string]string{"settings": text}), func(w io.Writer) { io.WriteString(w, text) })
}

func (a *App) doctor(ctx context.Context) error {
	c := &checkup{Findings: []Finding{}, Facts: []Fact{}}
	c.fact("drover", "%s", thisBuild())
	if err := a.Find(ctx); err != nil {
		c.find(asExit(err).code, "", "%v", err)
		return a.tellCheckup(c)
	}
	c.fact("workspace", "%s", a.State.Root)
	c.fact("git", "%s", a.State.GitVersion)
	c.fact("state", "%s", a.State.Path)
	if a.State.Notice != "" {
		c.find("state-elsewhere", "make the git folder writable for this user, if that is not meant", "%s", a.State.Notice)
	}
	if err := a.Load(); err != nil {
		var e *exitError
		if !errors.As(err, &e) {
			e = &exitError{code: "bad-setting", message: err.Error()}
		}
		for _, line := range strings.Split(e.message, "\n") {
			c.find(e.code, "", "%s", line)
		}
		return a.tellCheckup(c)
	}
	for _, p := range a.Settings.NotYet {
		c.find("not-yet", "", "%s", problemLine(p))
	}
	a.checkPrograms(ctx, c)
	a.checkMachine(c)
	a.checkRepository(c)
	if err := a.checkState(ctx); err != nil {
		c.find(asExit(err).code, "drover help files", "%v", err)
	}
	return a.tellCheckup(c)
}

func (a *App) tellCheckup(c *checkup) error {
	err := a.answer(verbDoc("doctor", c), func(w io.Writer) {
		for _, f := range c.Facts {
			fmt.Fprintf(w, "%-10s %s\n", f.Name, clean(f.Value))
		}
		for _, f := range c.Findings {
			fmt.Fprintf(w, "%-10s %s: %s\n", "FINDING", f.Code, clean(f.Message))
			if f.Remedy != "" {
				fmt.Fprintf(w, "%-10s %s\n", "", clean(f.Remedy))
			}
		}
		if len(c.Findings) == 0 {
			fmt.Fprintln(w, "nothing is in the way")
		}
	})
	if err == nil && len(c.Findings) > 0 {
		return exitWith(exitPerson)
	}
	return err
}
