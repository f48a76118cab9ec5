package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"drover/spec"
)

// saveEvery bounds how often state.json is written; what is newer is rebuilt
// from run directories and files.
const saveEvery = 100 * time.Millisecond

// journalError is why drover's own state could not be written. It passes by
// itself, as a full disk does: nothing is lost meanwhile, and nothing starts.
type journalError struct{ err error }

func (e *journalError) Error() string { return e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// write records what the passes so far have to tell.
func (l *Loop) write(ctx context.Context) error {
	if len(l.events)+len(l.rollups) == 0 {
		return nil
	}
	if err := l.Journal.Append(ctx, l.events, l.rollups); err != nil {
		return &journalError{fmt.Errorf("record events: %w", err)}
	}
	l.events, l.rollups = nil, nil
	return nil
}

func (l *Loop) save(ctx context.Context) error {
	for name, g := range l.regrouped {
		g.Orchestration = orchestration(g)
		delete(l.regrouped, name)
	}
	if err := l.Journal.Save(ctx, l.Memory); err != nil {
		return &journalError{err}
	}
	l.unsaved, l.savedAt = false, l.Now()
	return nil
}

// flush saves the memory if it changed, and lets go of run directories only
// after the memory no longer needs them.
func (l *Loop) flush(ctx context.Context, now bool) error {
	if l.unsaved && (now || len(l.removes) > 0 || l.Now().Sub(l.savedAt) >= saveEvery) {
		if err := l.save(ctx); err != nil {
			return err
		}
	}
	if len(l.removes) == 0 {
		return nil
	}
	gone := l.removes
	l.removes = nil
	// What cannot be removed now is tried again by the next process: a run
	// directory that stays costs room, and means nothing to anyone.
	_ = l.Launcher.Remove(ctx, gone)
	return nil
}

// Close records and saves what the last passes left.
func (l *Loop) Close(ctx context.Context) error {
	if err := l.write(ctx); err != nil {
		return err
	}
	return l.flush(ctx, true)
}

// stuck takes an error of a pass: where it is only that drover's own state
// cannot be written now, and somebody waits, the loop waits, too.
func (l *Loop) stuck(err error) error {
	var j *journalError
	if !l.patient || !errors.As(err, &j) {
		return err
	}
	if l.broken == nil {
		why := spec.Reason{Code: spec.InfraWait, Detail: err.Error()}
		l.tell([]Notice{{Key: TaskWaiting, At: l.Now(), Reason: why, Text: "nothing starts until drover's own state can be written again"}})
	}
	l.broken = err
	return nil
}

// mended tries again to write what could not be written.
func (l *Loop) mended(ctx context.Context) bool {
	if l.broken == nil {
		return true
	}
	if err := l.Close(ctx); err != nil {
		return false
	}
	l.broken = nil
	return true
}

// sameRecord compares by value; times are compared as instants.
func sameRecord(a, b *spec.Record) bool {
	if a == nil || b == nil {
		return a == b
	}
	if !maps.EqualFunc(a.Stages, b.Stages, sameStage) || !maps.Equal(a.From, b.From) || !sameBlock(a.Block, b.Block) || !sameHold(a.Held, b.Held) {
		return false
	}
	x, y := *a, *b
	x.Stages, y.Stages, x.Block, y.Block, x.Held, y.Held = nil, nil, nil, nil, nil, nil
	if !x.FirstStart.Equal(y.FirstStart) || !x.Born.Equal(y.Born) {
		return false
	}
	return x.Generation == y.Generation && x.Unit == y.Unit && x.State == y.State && x.Active == y.Active &&
		x.NoProgress == y.NoProgress && x.Signature == y.Signature && x.Rounds == y.Rounds &&
		x.Usage == y.Usage && x.Attempts == y.Attempts
}

func sameStage(a, b spec.StageRecord) bool {
	if !a.LastEnd.Equal(b.LastEnd) || !a.ResetAt.Equal(b.ResetAt) {
		return false
	}
	a.LastEnd, b.LastEnd, a.ResetAt, b.ResetAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return a == b
}

func sameBlock(a, b *spec.Block) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Reason.Same(b.Reason) && a.Role == b.Role
}

func sameHold(a, b *spec.Hold) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.By == b.By && a.Was == b.Was && a.Stop == b.Stop && a.Since.Equal(b.Since)
}
