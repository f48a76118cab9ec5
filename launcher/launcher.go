package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"drover/launcher/agent"
	"drover/launcher/proc"
	"drover/launcher/shim"
	"drover/spec"
)

// Errors that callers tell apart.
var (
	// ErrCLIMissing: the agent's program is not on PATH; nothing was claimed.
	ErrCLIMissing = spec.ErrCLIMissing
	// ErrClaimed: the attempt's name is taken.
	ErrClaimed = errors.New("attempt is claimed already")
	// ErrLeftover: processes of an attempt are left that cannot be ended.
	ErrLeftover = errors.New("processes are left")
)

// Agents are the agent programs that routes may name.
type Agents interface {
	Lookup(name string) (agent.CLI, bool)
}

// Options are what a Launcher works with.
type Options struct {
	RunsDir   string // absolute
	Workspace string // absolute
	Agents    Agents
	Seam      spec.Seam
	Now       func() time.Time
	// Exe is the binary that is started as a shim; "" means the running one,
	// even when the file was replaced or deleted meanwhile.
	Exe string
	// SourcePath is the binary's path for locators; "" means os.Executable's.
	SourcePath string
	// Env is the environment of shims and agents; nil means the process's own.
	Env []string
	// ReadOnly: somebody else owns the workspace. Observe changes nothing, and
	// the methods that do are not to be called.
	ReadOnly bool
	// Active are attempts that were not over when drover was last here. One
	// whose directory is gone is lost, once nothing of it runs.
	Active []spec.Locator
	// Spare keeps one shim started ahead, for a drover that stays: it saves a
	// start the time in which a process loads.
	Spare bool
}

// Launcher implements what the loop needs of attempts. Its methods may be
// called from several goroutines.
type Launcher struct {
	Options
	self    proc.ID
	source  source
	watcher *watcher
	changed chan struct{}

	mu      sync.Mutex
	claimed map[string]*os.File // attempt → its locked alive, until Launch
	spare   *spare              // nil when there is none
	making  map[string]bool     // .new-* folders of claims under way
	runs    memory
}

// New makes a Launcher. It starts one goroutine, which Close ends.
func New(o Options) (*Launcher, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.SourcePath == "" {
		path, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find own binary: %w", err)
		}
		o.SourcePath = path
	}
	if o.Exe == "" {
		o.Exe = ownBinary(o.SourcePath)
	}
	self, err := proc.Self()
	if err != nil {
		return nil, fmt.Errorf("identify drover: %w", err)
	}
	l := &Launcher{
		Options: o, self: self, changed: make(chan struct{}, 1),
		source:  source{imported: o.Now().UTC(), path: o.SourcePath, loaded: ownBinary(o.SourcePath)},
		claimed: map[string]*os.File{}, making: map[string]bool{},
		runs: newMemory(),
	}
	for _, loc := range o.Active {
		l.runs.add(spec.Run{Dir: l.dir(loc.Attempt), Locator: loc, State: spec.RunStarting})
	}
	if l.watcher, err = newWatcher(l.shimEnded, l.signal); err != nil {
		return nil, err
	}
	return l, nil
}

// Changed is signalled when an attempt started its agent, ended, or must be
// looked at. One signal may stand for many.
func (l *Launcher) Changed() <-chan struct{} { return l.changed }

// Warm does ahead of time what the first claim would have to wait for.
func (l *Launcher) Warm() error { return l.source.fill(&spec.Locator{}) }

func (l *Launcher) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// shimEnded is called by the watcher when a shim's process is over.
func (l *Launcher) shimEnded(attempt string) {
	l.mu.Lock()
	l.runs.stale(attempt)
	l.mu.Unlock()
	l.signal()
}

// Close lets go of everything; agents go on. Attempts that were claimed and
// not launched become unstarted.
func (l *Launcher) Close() error {
	err := l.watcher.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare != nil {
		l.spare.dismiss()
		l.spare = nil
	}
	for name, lock := range l.claimed {
		err = errors.Join(err, lock.Close())
		delete(l.claimed, name)
	}
	return err
}

// Launch starts the shim of a claimed attempt and hands it the lock. After an
// error the lock is free and the attempt means: not started.
func (l *Launcher) Launch(ctx context.Context, attempt string) error {
	l.mu.Lock()
	lock := l.claimed[attempt]
	delete(l.claimed, attempt)
	l.mu.Unlock()
	if lock == nil {
		return fmt.Errorf("launch %s: it was not claimed by this drover", attempt)
	}
	// Our copy goes as soon as the shim has its own.
	defer lock.Close()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("launch %s: %w", attempt, err)
	}
	if err := l.launch(attempt, lock); err != nil {
		return fmt.Errorf("launch %s: %w", attempt, err)
	}
	return nil
}

func (l *Launcher) launch(attempt string, lock *os.File) error {
	dir := l.dir(attempt)
	beat, err := os.OpenFile(heartbeat(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer beat.Close()
	if err := l.Seam.Pass(spec.OpStart, attempt); err != nil {
		return err
	}
	p, err := l.shimFor(dir, lock, beat)
	if err != nil {
		return err
	}
	// Watched first: the shim may end before add returns.
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.runs.entries[attempt]; e != nil {
		e.watched = true
	}
	if err := l.watcher.add(attempt, p); err != nil {
		l.runs.stale(attempt)
		return err
	}
	return nil
}

// shimFor gives an attempt its shim: the spare one, or a new process.
func (l *Launcher) shimFor(dir string, lock, beat *os.File) (process, error) {
	l.mu.Lock()
	s := l.spare
	l.spare = nil
	l.mu.Unlock()
	if s != nil {
		if s.take(dir, lock, beat) == nil {
			return s.process, nil
		}
		s.dismiss() // somebody ended it; nothing was handed over
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return process{}, err
	}
	defer null.Close()
	return startShim(l.Exe, []string{shim.Name, dir}, withoutMarks(l.Env),
		[]uintptr{null.Fd(), beat.Fd(), beat.Fd(), lock.Fd(), l.watcher.bell()})
}

// keepSpare makes sure that a spare shim waits. Without one a start is slower,
// so an error costs nothing else.
func (l *Launcher) keepSpare() {
	if !l.Spare || l.ReadOnly || l.spare != nil {
		return
	}
	if l.Seam.Pass(spec.OpStart, shim.Spare) != nil {
		return
	}
	if s, err := newSpare(l.Exe, withoutMarks(l.Env), l.watcher.bell()); err == nil {
		l.spare = s
	}
}
