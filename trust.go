package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"drover/fsstate"
)

// askTrust asks once, on a terminal, before agents work unattended here. The
// answer is kept in the state folder, never in the tree; without a terminal
// nothing ever asks.
func (a *App) askTrust(given bool) error {
	path := filepath.Join(a.State.Path, "trust")
	if _, err := os.Lstat(path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the trust answer: %w", err)
	}
	if !given {
		if !a.HasTerminal() {
			return nil
		}
		fmt.Fprintf(a.Err, "agents will work unattended in %s, with their approval prompts off.\n", a.State.Root)
		for _, t := range a.Settings.Trusted {
			fmt.Fprintf(a.Err, "drover.yaml also runs: %s\n", t)
		}
		fmt.Fprint(a.Err, "go on? [y/N] ")
		line, err := bufio.NewReader(a.In).ReadString('\n')
		if err != nil && line == "" {
			return refuse("no answer; nothing was started")
		}
		if word := strings.ToLower(strings.TrimSpace(line)); word != "y" && word != "yes" {
			return refuse("nothing was started; drover --once and --drain ask nothing")
		}
	}
	disk := fsstate.Disk{Seam: a.Seam}
	if err := disk.MakeFolder(a.State.Path); err != nil {
		return fmt.Errorf("keep the trust answer: %w", err)
	}
	return disk.WriteFile(path, fmt.Appendf(nil, "%s %s\n", a.Now().Format("2006-01-02T15:04:05Z07:00"), userName()), 0o644)
}

// detach starts the same run again in a session of its own.
//
// It answers when that drover owns the workspace, or has ended.
func (a *App) detach(ctx context.Context, f *runFlags) error {
	if err := a.askTrust(f.trust); err != nil {
		return err
	}
	unlock, err := a.State.Lock(ctx, fsstate.Disk{Seam: a.Seam}, a.Now())
	if err != nil {
		return err // an owner is named here, not in a log that nobody reads
	}
	unlock()
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find drover's own binary: %w", err)
	}
	if err := (fsstate.Disk{Seam: a.Seam}).MakeFolder(a.State.Path); err != nil {
		return err
	}
	logPath := filepath.Join(a.State.Path, "drover.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	args := []string{"drover"}
	for _, w := range a.Argv[1:] {
		if w != "--detach" && w != "--detach=true" {
			args = append(args, w)
		}
	}
	c := &exec.Cmd{Path: exe, Args: args, Env: a.Environ, Stdout: log, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start in the background: %w", err)
	}
	if err := a.seeOwner(ctx, c); err != nil {
		return fmt.Errorf("the drover in the background ended: %w; its log: %s", err, logPath)
	}
	doc := verbDoc("run", map[string]any{"pid": c.Process.Pid, "log": logPath})
	return a.answer(doc, func(w io.Writer) {
		fmt.Fprintf(w, "drover %d goes on in the background; its log: %s\n", c.Process.Pid, logPath)
	})
}

// seeOwner waits until a child owns the workspace, or has ended well.
func (a *App) seeOwner(ctx context.Context, c *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		owner, err := a.State.Owner()
		if err != nil || owner != nil && owner.PID == c.Process.Pid {
			return err
		}
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
