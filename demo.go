package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/spec"
)

// The demo's repository and its tour.
//
//go:embed docs/demo
var demoFiles embed.FS

func demoCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "demo [FOLDER]", Short: "five tasks driven to their end in a repository of their own", Args: cobra.MaximumNArgs(1),
		Long: `Make a throw-away git repository with five tasks and drive them with the built-in
script agent: a dependency, a review that fails and passes in the second round, a
blocker and what waits for it. No account, no network. The repository, its logs and a
copy of drover stay.`,
		RunE: func(c *cobra.Command, args []string) error { return a.demo(c.Context(), args) },
	}
}

func (a *App) demo(ctx context.Context, args []string) error {
	folder, err := a.demoFolder(args)
	if err != nil {
		return err
	}
	own := filepath.Join(folder, "drover")
	if err := a.makeDemo(ctx, folder, own); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := a.driveDemo(ctx, folder, own); err != nil {
		return fmt.Errorf("demo in %s: %w", folder, err)
	}
	tour, err := demoText("TOUR.txt", "FOLDER", folder)
	if err != nil {
		return err
	}
	doc := verbDoc("demo", map[string]string{"folder": folder, "tour": tour})
	return a.answer(doc, func(w io.Writer) { fmt.Fprint(w, "\n"+tour) })
}

// demoFolder is the folder given, which must be empty or new, or a fresh one.
func (a *App) demoFolder(args []string) (string, error) {
	if len(args) == 0 {
		return os.MkdirTemp("", "drover-demo-")
	}
	folder, err := filepath.Abs(args[0])
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("demo: %w", err)
	}
	if len(entries) > 0 {
		return "", refuse("%s is not empty; the demo wants a folder of its own", folder)
	}
	return folder, nil
}

// makeDemo writes the repository, with a copy of this binary.
func (a *App) makeDemo(ctx context.Context, folder, own string) error {
	disk := fsstate.Disk{Seam: a.Seam}
	err := fs.WalkDir(demoFiles, "docs/demo", func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(p, "docs/demo"), "/")
		if err != nil || d.IsDir() || name == "TOUR.txt" {
			return err
		}
		text, err := demoText(name, "LANGUAGE", a.ScreenLanguage())
		if err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := disk.MakeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		return disk.CreateFile(path, []byte(text), 0o644)
	})
	if err != nil {
		return err
	}
	if err := a.copyOwn(own); err != nil {
		return err
	}
	if err := disk.CreateFile(filepath.Join(folder, ".gitignore"), []byte("/drover\n/.drover/\n"), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "drover demo"},
		{"config", "user.email", "demo@localhost"},
		{"config", "commit.gpgsign", "false"},
		{"add", "-A"},
		{"commit", "-q", "-m", "The demo's five tasks"},
	} {
		if err := a.child(ctx, folder, a.Err, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// demoText is one of the demo's files with a word filled in.
func demoText(name, word, value string) (string, error) {
	text, err := demoFiles.ReadFile("docs/demo/" + name)
	return strings.ReplaceAll(string(text), word, value), err
}

func (a *App) copyOwn(to string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		return fmt.Errorf("copy own binary: %w", err)
	}
	return fsstate.Disk{Seam: a.Seam}.CreateFile(to, text, 0o755)
}

// driveDemo lets the copy drive its repository: a drain, which ends with 2
// because the demo has a blocker, and the status after it.
func (a *App) driveDemo(ctx context.Context, folder, own string) error {
	out := a.Out
	if a.JSON {
		out = a.Err
	}
	err := a.child(ctx, folder, out, own, "run", "--drain", "--no-input", "--color", a.Color)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitPerson {
		err = nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	return a.child(ctx, folder, out, own, "status", "-a", "--color", a.Color)
}

// child runs a program to its end with our streams. The demo is a repository
// of its own, also when it is started by an agent or a git hook.
func (a *App) child(ctx context.Context, dir string, out io.Writer, name string, args ...string) error {
	if err := a.Seam.Pass(spec.OpStart, name); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, a.Err
	cmd.Env = slices.DeleteFunc(slices.Clone(a.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "DROVER_")
	})
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), args[0], err)
	}
	return nil
}
