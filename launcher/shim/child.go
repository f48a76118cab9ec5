package shim

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"drover/launcher/proc"
	"drover/spec"

	"golang.org/x/sys/unix"
)

// child is the agent's process, and with it everything that it started: the
// shim is the parent of every orphan below it.
type child struct {
	pid    int
	now    func() time.Time
	reaped bool      // the agent itself is over
	ended  time.Time // when it was reaped
	code   int       // 128 + signal where a signal ended it
	signal int
	usage  spec.Rusage
}

// reap takes the exit of every process that is over, orphans' too, and reports
// whether any child is left. No means that the kernel knows of none: the only
// proof there is.
func (c *child) reap() (left bool) {
	for {
		var ws unix.WaitStatus
		var ru unix.Rusage
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|waitAll, &ru)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false
		}
		if pid == 0 {
			return true
		}
		c.usage.UserMS += ru.Utime.Nano() / 1e6
		c.usage.SystemMS += ru.Stime.Nano() / 1e6
		c.usage.MaxRSSKB = max(c.usage.MaxRSSKB, ru.Maxrss*rssUnit/1024)
		if pid == c.pid {
			c.reaped, c.ended = true, c.now()
			c.code = ws.ExitStatus()
			if ws.Signaled() {
				c.signal = int(ws.Signal())
				c.code = 128 + c.signal
			}
		}
	}
}

// errMissing: the agent's program cannot be executed.
var errMissing = errors.New("cannot be executed")

// start starts the agent: a session of its own, its output straight into the
// log files, and SIGKILL when the shim dies.
func (s *shim) start() error {
	if info, err := os.Stat(s.loc.Cwd); err != nil || !info.IsDir() {
		return fmt.Errorf("start agent: its folder %s is not there", s.loc.Cwd)
	}
	files, err := s.agentFiles()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return fmt.Errorf("start agent: %w", err)
	}
	if s.logs, err = openLogs(s.Seam, s.loc); err != nil {
		return fmt.Errorf("start agent: %w", err)
	}
	if len(s.loc.Argv) == 0 {
		return fmt.Errorf("start agent: no command: %w", errMissing)
	}
	program := s.loc.Argv[0]
	if err := s.Seam.Pass(spec.OpStart, program); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	pid, err := syscall.ForkExec(program, s.loc.Argv, &syscall.ProcAttr{
		Dir: s.loc.Cwd, Env: environ(os.Environ(), s.loc.Env), Sys: agentAttr(),
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
	})
	if err != nil {
		return startError(program, err)
	}
	s.child = &child{pid: pid, now: s.Now}
	s.started()
	return nil
}

// startError tells a program that cannot be executed from a machine that
// cannot start one now.
func startError(program string, err error) error {
	for _, missing := range []error{unix.ENOENT, unix.EACCES, unix.ENOEXEC, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, missing) {
			return fmt.Errorf("start %s (PATH %s): %w: %w", program, os.Getenv("PATH"), errMissing, err)
		}
	}
	return fmt.Errorf("start %s: %w", program, err)
}

// started records the agent and begins its clock.
func (s *shim) started() {
	now := s.Now()
	s.loc.AgentPID, s.loc.StartedAt = s.child.pid, now.UTC()
	if info, err := proc.Get(s.child.pid); err == nil {
		s.loc.AgentStart = info.Start
	}
	s.life = liveness{limits: s.loc.Limits, pi: s.loc.CLI == "pi", progress: now, changed: now}
	s.save()
	s.ring()
}

// agentFiles opens the agent's three standard files. An open, silent pipe as
// input hangs codex and pi for ever, so it is /dev/null or the prompt.
func (s *shim) agentFiles() (files []*os.File, err error) {
	input := os.DevNull
	if s.loc.StdinPrompt {
		input = s.loc.Prompt
	}
	in, err := os.Open(input)
	if err != nil {
		return nil, err
	}
	files = append(files, in)
	for _, path := range []string{s.loc.StreamLog, s.loc.StderrLog} {
		if err := s.Seam.Pass(spec.OpWrite, path); err != nil {
			return files, err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// environ is base with the variables of more in place of its own.
func environ(base, more []string) []string {
	set := make(map[string]bool, len(more))
	for _, v := range more {
		name, _, _ := strings.Cut(v, "=")
		set[name] = true
	}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return set[name]
	})
	return append(env, more...)
}
