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
// it either way.
func (l *Loop) Run(ctx context.Context, mode Mode, w Wake) error {
	if err := l.pass(ctx, nil, nil); err != nil {
		return err
	}
	if mode == Once {
		return l.Close(ctx)
	}
	var held Hint // file changes since the last scan (drain)
	beat := time.NewTicker(max(w.Tick, time.Second))
	defer beat.Stop()
	for !l.ending && (mode == Watch || !l.Drained()) {
		timer := l.alarm()
		var err error
		select {
		case <-ctx.Done():
			timer.Stop()
			return l.Close(context.WithoutCancel(ctx))
		case h := <-w.Hints:
			if mode == Drain {
				held = held.add(h)
				err = l.pass(ctx, []string{}, l.none())
			} else {
				err = l.pass(ctx, h.paths(), nil)
			}
		case <-w.Ended:
			held.All = held.All || w.Blind
			err = l.ended(ctx, mode, &held)
		case <-timer.C:
			err = l.pass(ctx, []string{}, l.none())
		case <-beat.C:
			if l.Running() > 0 && w.Beat != nil {
				w.Beat()
			}
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
	return l.Close(ctx)
}

// ended reads the tasks again whose attempts changed, and only them; a
// complete task makes it a scan.
func (l *Loop) ended(ctx context.Context, mode Mode, held *Hint) error {
	mine := l.none()
	if mode == Watch {
		mine = nil
	}
	if err := l.observe(ctx); err != nil {
		return err
	}
	units := sortedUnits(l.dirty)
	for _, u := range units {
		if mine != nil {
			mine[u] = struct{}{}
		}
	}
	if err := l.reread(ctx, units, mine); err != nil {
		return err
	}
	done := l.done
	if err := l.pass(ctx, []string{}, mine); err != nil {
		return err
	}
	if mode == Watch || l.done == done {
		return nil
	}
	h := *held
	*held = Hint{}
	return l.pass(ctx, h.paths(), nil)
}

// reread verifies every path that the units' decisions rest on: what an agent
// did to its own task is read at once, whether or not the watcher has told of
// it. What a document says may lead to further paths, so it is repeated until
// no new one is asked for.
func (l *Loop) reread(ctx context.Context, units []spec.Unit, mine map[spec.Unit]struct{}) error {
	l.mine = mine
	verified := map[string]bool{}
	for {
		var paths []string
		for _, u := range units {
			for _, p := range l.deps.asked(reader{unit: u}) {
				if !verified[p] {
					verified[p] = true
					paths = append(paths, p)
				}
			}
		}
		if len(paths) == 0 {
			return nil
		}
		if err := l.look(ctx, paths); err != nil {
			return err
		}
		w := l.world()
		for _, u := range units {
			l.weigh(u, w)
			l.dirty[u] = struct{}{}
		}
	}
}

func (l *Loop) none() map[spec.Unit]struct{} { return map[spec.Unit]struct{}{} }

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

// pass answers requests and reconciles.
func (l *Loop) pass(ctx context.Context, hints []string, mine map[spec.Unit]struct{}) error {
	if err := l.Requests(ctx); err != nil {
		return err
	}
	return l.Pass(ctx, hints, mine)
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
	if l.unsaved {
		wait = min(wait, saveEvery-now.Sub(l.savedAt))
	}
	return time.NewTimer(max(wait, time.Millisecond))
}

// Running is the number of attempts that live.
func (l *Loop) Running() int { return live(l.runs) }

// Spent is how many attempts ended in this process, and what they used.
func (l *Loop) Spent() (attempts int, used spec.Usage) { return l.ran, l.used }

// Drained reports whether nothing is running, startable or on a timer: what is
// left needs a person, or waits for what needs one.
func (l *Loop) Drained() bool {
	if l.Running() > 0 || len(l.dirty) > 0 {
		return false
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
