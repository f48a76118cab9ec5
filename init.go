package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/spec/settings"
)

// initFlags are what init takes; worker and review are its questions' answers.
type initFlags struct {
	yes, systemd, cron, agents bool
	worker, review             string
}

func initCommand(a *App) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use: "init", Short: "look at this repository and write drover.yaml and a first task", Args: cobra.NoArgs,
		Long: `Look at this repository and write drover.yaml, a task folder and a first task
that is held until you release it. It asks only what it cannot see. Run again, it
shows what it would write now and keeps what is there.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.Open(c.Context()); err != nil {
				return err
			}
			switch {
			case f.systemd:
				return a.printUnit()
			case f.cron:
				return a.printCron()
			case f.agents:
				return a.printAgents(c.Context())
			}
			return a.init(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "take every default")
	flags.StringVar(&f.worker, "worker", "", "the agent `program` that works on tasks")
	flags.StringVar(&f.review, "review", "", "the agent `program` that reviews them")
	flags.BoolVar(&f.systemd, "systemd", false, "print a systemd unit for this workspace")
	flags.BoolVar(&f.cron, "cron", false, "print a crontab line for this workspace")
	flags.BoolVar(&f.agents, "agents", false, "print the agent programs found, as settings with their paths")
	c.MarkFlagsMutuallyExclusive("systemd", "cron", "agents")
	return c
}

// InitFile is what became of one file.
type InitFile struct {
	Path string `json:"path"`
	// Change is created, kept or same.
	Change string `json:"change"`
	Diff   string `json:"diff"`
}

func (a *App) init(ctx context.Context, f initFlags) error {
	facts := a.facts(ctx, a.State.Root)
	choice, err := a.chooseAgents(f, facts)
	if err != nil {
		return err
	}
	text := settingsText(choice, facts, a.ScreenLanguage())
	if _, problems := settings.Parse(settingsFile, []byte(text)); len(problems) > 0 {
		return settingsError(problems)
	}
	var files []InitFile
	for _, want := range []struct{ path, text string }{
		{settingsFile, text},
		{a.Settings.AgentTask.Root + "/first/01_notes/PLAN.md", firstTask(choice, facts, a.ScreenLanguage())},
	} {
		file, err := a.offer(want.path, want.text)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	doc := verbDoc("init", map[string]any{"files": files, "detected": facts})
	return a.answer(doc, func(w io.Writer) { a.writeInit(w, files, facts, choice) })
}

// agentChoice is who works and who reviews; "script" where no program is.
type agentChoice struct {
	worker, review string
	// seed: all four programs of the seed's table are there, so it holds.
	seed bool
}

// chooseAgents asks who works and who reviews, where there is a choice and
// somebody to ask.
func (a *App) chooseAgents(f initFlags, facts Facts) (agentChoice, error) {
	var names []string
	for _, p := range facts.Programs {
		names = append(names, p.Name)
	}
	known := append(programNames(), "script")
	for _, given := range []string{f.worker, f.review} {
		if given != "" && !slices.Contains(known, given) {
			return agentChoice{}, usageError("there is no agent %q; known are %s", given, strings.Join(known, ", "))
		}
	}
	c := agentChoice{worker: f.worker, review: f.review}
	all := !slices.ContainsFunc([]string{"pi", "agy", "claude", "codex"}, func(n string) bool { return !slices.Contains(names, n) })
	if c.worker == "" && c.review == "" && all {
		c.seed = true
		return c, nil
	}
	names = append(names, "script")
	reviewer := names[0]
	if slices.Contains(names, "codex") {
		reviewer = "codex"
	}
	ask := !f.yes && len(names) > 2 && a.HasTerminal()
	in := bufio.NewReader(a.In)
	var err error
	if c.worker == "" {
		if c.worker, err = a.question(in, ask, "who works on tasks", names, names[0]); err != nil {
			return c, err
		}
	}
	if c.review == "" {
		c.review, err = a.question(in, ask, "who reviews them", names, reviewer)
	}
	return c, err
}

// question asks for one of a few words; an empty line takes the default.
func (a *App) question(in *bufio.Reader, ask bool, what string, words []string, byDefault string) (string, error) {
	for ask {
		fmt.Fprintf(a.Err, "%s (%s)? [%s] ", what, strings.Join(words, ", "), byDefault)
		line, err := in.ReadString('\n')
		line = strings.TrimSpace(line)
		switch {
		case line == "" && err == nil:
			return byDefault, nil
		case slices.Contains(words, line):
			return line, nil
		case err != nil:
			return "", refuse("nothing was answered; nothing was written")
		}
	}
	return byDefault, nil
}

// offer creates a file where there is none; what is there is kept, and the
// difference shown.
func (a *App) offer(path, text string) (InitFile, error) {
	full := filepath.Join(a.State.Root, filepath.FromSlash(path))
	disk := fsstate.Disk{Seam: a.Seam}
	if err := disk.MakeFolder(filepath.Dir(full)); err != nil {
		return InitFile{}, fmt.Errorf("init: %w", err)
	}
	err := disk.CreateFile(full, []byte(text), 0o644)
	if err == nil {
		return InitFile{Path: path, Change: "created"}, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return InitFile{}, fmt.Errorf("init: %w", err)
	}
	have, err := os.ReadFile(full)
	if err != nil {
		return InitFile{}, fmt.Errorf("init: %w", err)
	}
	if string(have) == text {
		return InitFile{Path: path, Change: "same"}, nil
	}
	return InitFile{Path: path, Change: "kept", Diff: lineDiff(string(have), text)}, nil
}

func (a *App) writeInit(w io.Writer, files []InitFile, facts Facts, c agentChoice) {
	for _, p := range facts.Programs {
		fmt.Fprintf(w, "found    %s%s\n", strings.TrimSpace(p.Name+" "+p.Version), signedInText(p))
	}
	if len(facts.Programs) == 0 {
		fmt.Fprintln(w, "found    no agent program; the script agent runs what a task's `sh run` blocks say")
	}
	if facts.Test != "" {
		fmt.Fprintf(w, "found    tests: %s\n", facts.Test)
	}
	if facts.Skill != "" {
		fmt.Fprintf(w, "found    %s: reviewers finalize tasks themselves\n", facts.Skill)
	}
	for _, f := range files {
		fmt.Fprintf(w, "%-8s %s\n", f.Change, f.Path)
		if f.Diff != "" {
			fmt.Fprintf(w, "         init would write now (- yours, + its own):\n%s", f.Diff)
		}
	}
	first := a.Settings.AgentTask.Root + "/first/01_notes/PLAN.md"
	if c.seed {
		fmt.Fprintln(w, "\nall four programs of the seed's route table are here, so it holds")
	}
	fmt.Fprintf(w, `
next     read %s, then: drover release first/01_notes
         drover            watch: a saved PLAN starts work
         drover doctor     what might be in the way
`, first)
}

func signedInText(p Program) string {
	switch p.SignedIn {
	case "yes":
		return ", signed in"
	case "no":
		return ", not signed in"
	}
	return ""
}
