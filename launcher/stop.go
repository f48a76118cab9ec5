package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"drover/launcher/proc"
	"drover/launcher/rundir"
	"drover/spec"

	"golang.org/x/sys/unix"
)

// Stop tells an attempt's shim to end it and to record who wanted that: a file
// for shims in other namespaces and those that are just starting, and SIGTERM
// to the process that shim.json names. An attempt that is over is left alone.
func (l *Launcher) Stop(ctx context.Context, attempt, by string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stop %s: %w", attempt, err)
	}
	stop := l.stop
	if shim, gone := l.goneShim(attempt); gone {
		stop = func(dir, _ string) error { return l.tell(dir, shim) }
	}
	if err := stop(l.dir(attempt), by); err != nil {
		return fmt.Errorf("stop %s: %w", attempt, err)
	}
	return nil
}

func (l *Launcher) stop(dir, by string) error {
	if held, err := rundir.Held(dir); err != nil || !held {
		return err
	}
	if err := rundir.Publish(l.Seam, dir, rundir.Stop, []byte(by)); err != nil {
		return err
	}
	var id rundir.ShimID
	// The shim looks for the file after it wrote shim.json: one of us sees the
	// other.
	if err := rundir.Read(dir, rundir.Shim, &id); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return l.tell(dir, id)
}

// tell signals a shim to end its agent.
func (l *Launcher) tell(dir string, shim rundir.ShimID) error {
	if err := l.Seam.Pass(spec.OpSignal, dir); err != nil {
		return err
	}
	if err := proc.Signal(shim.ID, unix.SIGTERM); err != nil && !errors.Is(err, proc.ErrGone) {
		return err
	}
	return nil
}

// goneShim is the shim of an attempt whose directory was removed.
func (l *Launcher) goneShim(attempt string) (rundir.ShimID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.runs.entries[attempt]; e != nil && e.gone {
		return e.shim, true
	}
	return rundir.ShimID{}, false
}

// How a sweep goes about it.
const (
	sweepFor  = 10 * time.Second
	sweepStep = 20 * time.Millisecond
)

// Sweep kills what is left of an attempt whose shim is gone: search and KILL,
// round by round, until a search finds nothing. Each signal goes through a
// handle that was compared with the process found. ErrLeftover names what
// cannot be ended; the attempt stays orphaned.
func (l *Launcher) Sweep(ctx context.Context, attempt string) error {
	run := spec.Run{Dir: l.dir(attempt)}
	if held, err := rundir.Held(run.Dir); err != nil {
		return fmt.Errorf("sweep %s: %w", attempt, err)
	} else if held {
		return fmt.Errorf("sweep %s: its shim lives", attempt)
	}
	shim, gone := l.goneShim(attempt)
	if !gone {
		if err := rundir.Read(run.Dir, rundir.Locator, &run.Locator); err != nil {
			return fmt.Errorf("sweep %s: %w", attempt, err)
		}
		if err := rundir.Read(run.Dir, rundir.Shim, &shim); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweep %s: %w", attempt, err)
		}
	}
	defer l.signal()
	if err := l.sweep(ctx, target(run, shim)); err != nil {
		return fmt.Errorf("sweep %s: %w", attempt, err)
	}
	return nil
}

func (l *Launcher) sweep(ctx context.Context, t proc.Target) error {
	ctx, cancel := context.WithTimeout(ctx, sweepFor)
	defer cancel()
	tick := time.NewTicker(sweepStep)
	defer tick.Stop()
	for {
		found, err := proc.Search([]proc.Target{t})
		if err != nil {
			return err
		}
		left := found[t.RunDir]
		if len(left) == 0 {
			return nil
		}
		refused := error(nil)
		for _, p := range left {
			if err := l.kill(p); err != nil {
				refused = err
			}
		}
		if refused != nil {
			return fmt.Errorf("%w: %w", ErrLeftover, refused)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d, first process %d", ErrLeftover, len(left), left[0].PID)
		}
	}
}

func (l *Launcher) kill(p proc.Info) error {
	if err := l.Seam.Pass(spec.OpSignal, fmt.Sprint(p.PID)); err != nil {
		return err
	}
	if err := proc.SignalInfo(p, unix.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
		return err
	}
	return nil
}

// Remove deletes run directories that have served. Each is renamed to a name
// that claims nothing first, so that a crash half way leaves no attempt with
// half its files.
func (l *Launcher) Remove(ctx context.Context, attempts []string) error {
	if len(attempts) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var gone []string
	var errs []error
	for _, name := range attempts {
		temp, err := l.retire(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", name, err))
		} else if temp != "" {
			gone = append(gone, temp)
		}
	}
	if len(gone) > 0 {
		if err := rundir.SyncDir(l.Seam, l.RunsDir); err != nil {
			return errors.Join(append(errs, fmt.Errorf("remove runs: %w", err))...)
		}
	}
	for _, temp := range gone {
		if err := l.discard(filepath.Base(temp)); err != nil {
			errs = append(errs, fmt.Errorf("remove runs: %w", err))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// retire takes an attempt's name away; "" when there is no such attempt.
func (l *Launcher) retire(name string) (temp string, err error) {
	dir := l.dir(name)
	if lock := l.claimed[name]; lock != nil { // never launched: only we hold it
		delete(l.claimed, name)
		l.runs.stale(name)
		if err := lock.Close(); err != nil {
			return "", err
		}
	}
	held, err := rundir.Held(dir)
	if err != nil {
		return "", err
	}
	if held {
		return "", errors.New("it is not over")
	}
	temp = l.dir(rundir.Unclaimed + "gone-" + name)
	if err := l.Seam.Pass(spec.OpRename, dir); err != nil {
		return "", err
	}
	err = os.Rename(dir, temp)
	if errors.Is(err, fs.ErrNotExist) {
		err, temp = nil, ""
	}
	if err == nil {
		delete(l.runs.entries, name)
		l.runs.changed = true
	}
	return temp, err
}
