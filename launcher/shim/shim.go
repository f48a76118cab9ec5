// Package shim is the small process that owns one agent and outlives drover.
//
// It inherits the attempt's lock, says who it is, starts the agent, holds it
// to the limits of its locator, makes sure that nothing of it is left, and
// records how it ended. The agent writes its output straight into files; none
// of it passes through the shim.
//
// Crash windows, each with what a later drover sees (package launcher):
//
//	before shim.json             lock free, no shim.json       not started
//	after shim.json              lock free, no exit.json       lost; the agent got SIGKILL by its
//	                                                           parent's death, what it left is swept
//	after exit.json              lock free, exit.json valid    ended
//
// The package is part of a large program but must stay small in memory, a
// hundred at once: no regular expressions, no templates, no command tree.
package shim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"drover/launcher/agent"
	"drover/launcher/proc"
	"drover/launcher/rundir"
	"drover/spec"

	"golang.org/x/sys/unix"
)

// Name is the shim's argv[0], followed by the run directory.
const Name = "drover-shim"

// Spare stands in place of the run directory for a shim that was started ahead
// and will be told.
const Spare = "spare"

// Invoked reports whether this process was started as a shim.
func Invoked(args []string) bool { return len(args) == 2 && args[0] == Name }

// Lookup finds an agent program by its name in the settings.
type Lookup func(name string) (agent.CLI, bool)

// Options are what main hands a shim.
type Options struct {
	Seam spec.Seam
	// Agents is called once, as late as possible: when the first output is read.
	// workspace is the attempt's.
	Agents func(workspace string) Lookup
	Now    func() time.Time
}

// shim is one attempt being run.
type shim struct {
	Options
	dir   string
	loc   spec.Locator
	life  liveness
	logs  *logs
	child *child
	// reader is nil until output is read for the first time.
	reader agent.Reader
	cli    agent.CLI
	cause  cause
	// unsaved: the locator holds something that is not on disk yet.
	unsaved bool
	session sessionMark
}

// Main runs the attempt of args[1] to its end and returns the exit code of the
// shim's process. It must be called by the main goroutine before anything else
// is built: the thread it locks is the one whose death kills the agent.
func Main(ctx context.Context, o Options, args []string) int {
	runtime.LockOSThread()
	unix.CloseOnExec(rundir.LockFD)
	unix.CloseOnExec(rundir.BellFD)
	closeInherited()
	s := &shim{Options: o, dir: args[1]}
	term, chld := catch()
	if s.dir == Spare {
		_ = json.Unmarshal([]byte("{}"), &s.loc) // builds the decoder ahead
		dir, err := awaitAttempt()
		if err != nil {
			return 0 // drover is gone, or has no use for it
		}
		s.dir = dir
	}
	if err := s.run(ctx, term, chld); err != nil {
		s.say(err.Error())
		return 1
	}
	return 0
}

// catch takes the two signals that mean something. The others are caught and
// forgotten, whatever drover ignored, so that the agent, whose handlers exec
// resets, starts with the defaults.
func catch() (term, chld <-chan os.Signal) {
	t, c := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(t, unix.SIGTERM)
	signal.Notify(c, unix.SIGCHLD)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT,
		unix.SIGPIPE, unix.SIGALRM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	return t, c
}

// closeInherited closes what the process that started drover left open for
// its children: neither the shim nor an agent shall hold somebody's pipe. What
// this process opened itself is marked close-on-exec.
func closeInherited() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// run is the whole life of a shim. An error means that the attempt could not
// be recorded.
func (s *shim) run(ctx context.Context, term, chld <-chan os.Signal) error {
	if err := rundir.Read(s.dir, rundir.Locator, &s.loc); err != nil {
		return fmt.Errorf("run %s: %w", filepath.Base(s.dir), err)
	}
	if err := s.introduce(); err != nil {
		return fmt.Errorf("run %s: %w", s.loc.Attempt, err)
	}
	if by, wanted := s.stopWanted(); wanted {
		return s.record(end{cause: cause{kind: causeStop, by: by}, at: s.Now()})
	}
	if err := s.start(); err != nil {
		return s.record(end{cause: startFailure(err), at: s.Now()})
	}
	s.watch(ctx, term, chld)
	return s.record(s.finish(chld))
}

// settle makes the process small for the long wait. It takes milliseconds that
// the start of the agent, or an agent that ends at once, need not pay.
func settle() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
	debug.FreeOSMemory()
}

// introduce writes shim.json. Nothing in it outlives the boot, so it is not
// made durable.
func (s *shim) introduce() error {
	if err := proc.Adopt(); err != nil {
		return err
	}
	id, err := proc.Self()
	if err != nil {
		return err
	}
	s.loc.ShimPID = id.PID
	b := fmt.Appendf(nil, "{\"version\":1,\"pid\":%d,\"start\":%q,\"boot_id\":%q,\"pid_ns\":%q}\n",
		id.PID, id.Start, id.BootID, id.PIDNamespace)
	return rundir.Publish(s.Seam, s.dir, rundir.Shim, b)
}

// stopWanted reads the file stop. One that names nobody was made by hand.
func (s *shim) stopWanted() (by string, wanted bool) {
	b, err := os.ReadFile(filepath.Join(s.dir, rundir.Stop))
	if err != nil {
		return "", false
	}
	if by = strings.TrimSpace(string(b)); by == "" {
		by = "person"
	}
	return by, true
}

// ring tells drover, if it still lives, to look at this attempt.
func (s *shim) ring() {
	// Nobody listening (EPIPE), a full bell (EAGAIN) or none at all change nothing.
	_, _ = syscall.Write(rundir.BellFD, []byte{1})
}

// say adds a line to the heartbeat log, which is the shim's standard output.
func (s *shim) say(line string) {
	const most = 64 << 10
	if info, err := os.Stdout.Stat(); err == nil && info.Size() > most {
		_ = os.Stdout.Truncate(0)
	}
	fmt.Fprintf(os.Stdout, "%s %s\n", s.Now().UTC().Format(time.RFC3339), line)
}
