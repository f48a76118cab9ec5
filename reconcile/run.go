package reconcile

import (
	"context"
	"time"

	"drover/spec"
)

// Hint says what may have changed. It carries no truth: a lost one costs at
// most one rescan.
type Hint struct {
	Paths []string // workspace-relative
	All   bool     // anything may have
}

// Wake is what can end the loop's wait.
type Wake struct {
	Hints <-chan Hint     // files, or a request
	Ended <-chan struct{} // an attempt began or ended
	// Blind: there are no file events, so a scan has to look at everything.
	Blind bool
	// Tick is how often Beat is called while something runs.
	Tick time.Duration
	Beat func()
}

// Mode is how long a run goes on (COMMANDS 1).
type Mode int

// The modes.
const (
	Watch Mode = iota // for ever
	Once              // one pass; agents go on by themselves
	Drain             // until nothing is ready, running or on a timer
)

// Run reconciles until the mode is satisfied or ctx ends. Agents go on after
// it either way. A pass that has begun is brought to its end: what it did is
// recorded.
func (l *Loop) Run(ctx context.Context, mode Mode, w Wake) error {
	whole := context.WithoutCancel(ctx)
	l.readmit()
	l.patient = mode != Once
	var hints []string
	if l.Looked {
		hints = []string{}
	}
	if err := l.pass(whole, hints, nil); err != nil {
		return err
	}
	if mode == Once {
		return l.Close(whole)
	}
	var held Hint // file changes since the last scan (drain)
	beat := time.NewTicker(max(w.Tick, time.Second))
	defer beat.Stop()
	for ctx.Err() == nil && !l.ending && (mode == Watch || !l.Drained()) {
		done := l.done
		if err := l.turn(ctx, mode, w, beat.C, &held); err != nil {
			return err
		}
		if mode == Watch || l.done == done {
			continue
		}
		h := held
		held = Hint{}
		if err := l.pass(whole, h.paths(), nil); err != nil {
			return err
		}
	}
	return l.Close(whole)
}

// turn waits for something to happen and reconciles what it concerns. While
// draining, changed files wait for the next scan; an attempt that is over
// concerns its own task (seed 003, scanning).
func (l *Loop) turn(ctx context.Context, mode Mode, w Wake, beat <-chan time.Time, held *Hint) error {
	timer := l.alarm()
	defer timer.Stop()
	hints := Hint{Paths: []string{}}
	select {
	case <-ctx.Done():
		return nil
	case <-beat:
		if l.Running() > 0 && w.Beat != nil {
			w.Beat()
		}
		return nil
	case hints = <-w.Hints:
	case <-w.Ended:
		held.All = held.All || w.Blind
	case <-timer.C:
	}
	if mode == Watch {
		return l.pass(context.WithoutCancel(ctx), hints.paths(), nil)
	}
	*held = held.add(hints)
	return l.pass(context.WithoutCancel(ctx), []string{}, map[spec.Unit]struct{}{})
}

func (h Hint) add(o Hint) Hint {
	return Hint{Paths: append(h.Paths, o.Paths...), All: h.All || o.All}
}

// paths are the hints of a pass: nil for anything.
func (h Hint) paths() []string {
	if h.All {
		return nil
	}
	if h.Paths == nil {
		return []string{}
	}
	return h.Paths
}

// pass answers requests and reconciles. After drover's own state could not be
// written for a while, it looks at everything.
func (l *Loop) pass(ctx context.Context, hints []string, mine map[spec.Unit]struct{}) error {
	if l.broken != nil {
		if !l.mended(ctx) {
			return nil
		}
		hints = nil
	}
	err := l.Requests(ctx)
	if err == nil {
		err = l.Pass(ctx, hints, mine)
	}
	return l.stuck(err)
}

// alarm rings at the next timer of a task, or when the memory wants saving;
// once a second at the latest where neither is near, for requests and
// documents whose events were lost while they were being written.
func (l *Loop) alarm() *time.Timer {
	wait := time.Second
	now := l.Now()
	if at := l.Due(); !at.IsZero() {
		wait = min(wait, at.Sub(now))
	}
	if l.broken != nil {
		return time.NewTimer(time.Second)
	}
	if l.unsaved {
		wait = min(wait, saveEvery-now.Sub(l.savedAt))
	}
	return time.NewTimer(max(wait, time.Millisecond))
}

// Running is the number of attempts that live.
func (l *Loop) Running() int { return live(l.runs) }

// Spent is how many attempts ended in this process, and what they used.
func (l *Loop) Spent() (attempts int, used spec.Usage) { return l.ran, l.used }

// Acted reports whether this process had any effect, or learned anything that
// it had to remember.
func (l *Loop) Acted() bool { return l.acted }

// Drained reports whether nothing is running, startable or on a timer: what is
// left needs a person, or waits for what needs one.
func (l *Loop) Drained() bool {
	if len(l.dirty) > 0 || l.broken != nil {
		return false
	}
	for id, rs := range l.runs {
		if td := l.task(id); lives(rs) && (td == nil || td.Reason.Code != spec.LeftoverProcess) {
			return false
		}
	}
	for _, st := range l.units {
		for i := range st.tasks {
			td := &st.tasks[i]
			if admitted(td) || td.State == spec.StateWaiting && !td.Look.IsZero() {
				return false
			}
		}
	}
	return true
}
