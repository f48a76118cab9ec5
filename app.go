package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/spec"
	"drover/spec/settings"
)

// App is one invocation of drover: what it was given, and what its flags and
// settings make of it. It is handed to every command; there is no other state.
type App struct {
	Argv    []string
	Environ []string
	In      io.Reader
	Out     io.Writer // the answer
	Err     io.Writer // warnings and progress
	Now     func() time.Time
	Seam    spec.Seam

	// The flags that every command takes (COMMANDS 1).
	Dir      string // -C; "" is the current folder
	JSON     bool
	Quiet    bool
	NoInput  bool
	Color    string // auto, always, never
	Language string // of the screen: ko, en, or "" for none given
	Config   string // another settings file than drover.yaml

	// What Open finds.
	State    fsstate.StateDir
	Settings settings.Settings
	Zone     *time.Location // of WORK_LOG.md

	table []*cobra.Command // in the order in which help shows it
}

// settingsFile is the workspace's own settings.
const settingsFile = "drover.yaml"

// Env is the value of an environment variable, "" for none; the last one wins.
func (a *App) Env(name string) string {
	for _, kv := range slices.Backward(a.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Open finds the workspace and reads its settings. It changes nothing on disk.
func (a *App) Open(ctx context.Context) error {
	if err := a.Find(ctx); err != nil {
		return err
	}
	return a.Load()
}

// Find finds the workspace and its state folder.
func (a *App) Find(ctx context.Context) error {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return err
	}
	a.State, err = fsstate.FindStateDir(ctx, dir, a.Environ)
	return err
}

// Load reads the settings: the user's, and over them the workspace's.
func (a *App) Load() error {
	user := settings.Default()
	path := a.userConfig()
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		var problems []spec.Problem
		if user, problems = settings.ParseUser(path, text); len(problems) > 0 {
			return settingsError(problems)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read settings: %w", err)
	}
	path, shown := filepath.Join(a.State.Root, settingsFile), settingsFile
	if a.Config != "" {
		path, shown = a.Config, a.Config
	}
	text, err = os.ReadFile(path)
	if err != nil && (a.Config != "" || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("read settings: %w", err)
	}
	s, problems := settings.ParseOver(user, shown, text)
	if len(problems) > 0 {
		return settingsError(problems)
	}
	a.Settings = s.WithCPUs(runtime.NumCPU())
	a.Zone, err = loadZone(s.Zone)
	if err != nil {
		return settingsError([]spec.Problem{{
			File: shown, Line: s.ZoneLine, Code: "bad-setting",
			Message: fmt.Sprintf("there is no time zone %q; write one such as Asia/Seoul or UTC", s.Zone),
		}})
	}
	return nil
}

// loadZone finds a time zone; the seed's is known on machines without a zone
// database too.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil && name == "Asia/Seoul" {
		return time.FixedZone("KST", 9*60*60), nil
	}
	return zone, err
}

// userConfig is the path of the user's own settings.
func (a *App) userConfig() string {
	dir := a.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Env("HOME"), ".config")
	}
	return filepath.Join(dir, "drover", "config.yaml")
}

// IsWorkspace reports whether somebody wants drover here: a settings file or
// the folder of a dialect is there.
func (a *App) IsWorkspace() bool {
	for _, p := range []string{settingsFile, a.Settings.AgentTask.Root} {
		if _, err := os.Lstat(filepath.Join(a.State.Root, p)); err == nil {
			return true
		}
	}
	return false
}

// InsideAttempt reports whether drover was started by an agent that drover
// started: such a one may look, but not decide.
func (a *App) InsideAttempt() bool { return a.Env("DROVER_RUN_DIR") != "" }

// Warn writes one line to stderr; -q keeps it back.
func (a *App) Warn(format string, args ...any) {
	if !a.Quiet {
		fmt.Fprintf(a.Err, "drover: "+format+"\n", args...)
	}
}

// ScreenLanguage is that of everything a person reads: the flag, else the
// settings, else the locale.
func (a *App) ScreenLanguage() string {
	if a.Language != "" {
		return a.Language
	}
	if s := a.Settings.Language.Screen; s != "" {
		return s
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := a.Env(name); v != "" {
			if strings.HasPrefix(v, "ko") {
				return "ko"
			}
			return "en"
		}
	}
	return "en"
}

// BannerLanguage is that of banners' event words: the flag, else the
// settings, else the seed's Korean.
func (a *App) BannerLanguage() string {
	if a.Language != "" {
		return a.Language
	}
	return a.Settings.BannerLanguage()
}

// HasTerminal reports whether somebody sits there who can be asked.
func (a *App) HasTerminal() bool {
	return !a.NoInput && !a.JSON && isTerminal(a.In) && isTerminal(a.Err)
}

// Painter says how to write to the answer's place: with colour or without.
func (a *App) Painter() Painter {
	switch {
	case a.Color == "always":
		return true
	case a.Color == "never", a.Env("NO_COLOR") != "":
		return false
	case a.Env("CLICOLOR_FORCE") != "" && a.Env("CLICOLOR_FORCE") != "0":
		return true
	}
	return Painter(isTerminal(a.Out) && a.Env("TERM") != "dumb")
}

// Columns is how wide the answer's place is; 0 when it is no terminal.
func (a *App) Columns() int { return terminalColumns(a.Out) }
