package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"drover/launcher/rundir"
	"drover/spec"
)

// Conclude writes into the locator of an attempt that is over what only drover
// can know of its failure: how one was lost, or that a reported success was
// none. Drover is the locator's writer by then; a crash leaves the old one or
// the new one. A run directory that is gone needs no word.
func (l *Launcher) Conclude(ctx context.Context, attempt string, class spec.Class, source spec.Source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(l.RunsDir, attempt)
	var loc spec.Locator
	err := rundir.Read(dir, rundir.Locator, &loc)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, rundir.ErrDamaged) {
		return nil // it counts as lost by what is there
	}
	if err == nil {
		if loc.FailureClass == class && loc.FailureSource == source {
			return nil
		}
		loc.FailureClass, loc.FailureSource = class, source
		err = rundir.Write(l.Seam, dir, rundir.Locator, loc)
	}
	if err != nil {
		return fmt.Errorf("conclude %s: %w", attempt, err)
	}
	if e := l.runs.entries[attempt]; e != nil {
		e.run.Locator.FailureClass, e.run.Locator.FailureSource = class, source
		l.runs.changed = true
	}
	return nil
}
