package reconcile

import (
	"context"
	"fmt"
	"time"

	"drover/spec"
)

// Requests applies what commands asked for and answers them. A verb that was
// applied before a crash is applied again and changes nothing.
func (l *Loop) Requests(ctx context.Context) error {
	rs, err := l.Journal.Requests(ctx)
	if err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	for _, r := range rs {
		if !l.entered {
			if err := l.Pass(ctx, nil, nil); err != nil {
				return err
			}
		}
		if r.Verb == "end" {
			l.ending = true
		}
		answer := l.Request(ctx, r)
		if err := l.flush(ctx, true); err != nil {
			return err
		}
		if err := l.Journal.Answer(ctx, answer); err != nil {
			return fmt.Errorf("answer request %s: %w", r.ID, err)
		}
	}
	return nil
}

// Know brings the loop's knowledge up to date without any effect, for a
// command that applies its request itself.
func (l *Loop) Know(ctx context.Context) error {
	if err := l.look(ctx, nil); err != nil {
		return err
	}
	ds := l.decide()
	l.entered = true
	l.admit(ds)
	for _, d := range ds {
		l.settle(d)
	}
	return nil
}

// Refresh looks again, as Know did, with the memory as load reads it: for one
// who watches what an owner does.
func (l *Loop) Refresh(ctx context.Context, load func(context.Context) (*spec.Memory, error)) error {
	memory, err := load(ctx)
	if err != nil {
		return err
	}
	l.Memory = memory
	for u := range l.units {
		l.dirty[u] = struct{}{}
	}
	return l.Know(ctx)
}

// Request applies one request to the tasks it names.
func (l *Loop) Request(ctx context.Context, r spec.Request) spec.Answer {
	out := spec.Answer{Version: 1, ID: r.ID}
	tasks := r.Tasks
	if r.All {
		tasks = l.allTasks()
	}
	for _, id := range tasks {
		changed, message := l.ask(ctx, r, id)
		out.Done = append(out.Done, spec.TaskAnswer{Dialect: id.Dialect, Task: id.Name, Changed: changed, Message: message})
		if !changed {
			continue
		}
		if td := l.task(id); td != nil && td.Task.Doc != "" { // it may have been edited
			if err := l.read(ctx, []string{td.Task.Doc}); err != nil {
				out.Error = err.Error()
			}
		}
		l.unsaved = true
		l.dirty[l.unitOf(id)] = struct{}{}
		l.wakeWaiters(id.Name)
		e := spec.Event{
			Version: 1, At: l.Now(), Kind: spec.EventRequest, Dialect: id.Dialect, Task: id.Name,
			Cause: r.Verb, By: r.By, Message: r.Message,
		}
		if err := l.Journal.Append(ctx, []spec.Event{e}, nil); err != nil {
			out.Error = err.Error()
		}
	}
	return out
}

// ask applies a verb to one task and says what it did.
func (l *Loop) ask(ctx context.Context, r spec.Request, id spec.TaskID) (bool, string) {
	td := l.task(id)
	switch r.Verb {
	case "stop":
		return l.stop(ctx, r, id, td)
	case "hold", "reject":
		return l.hold(ctx, r, id, td)
	case "release":
		return l.release(ctx, id, td)
	case "retry":
		return l.retry(id, td)
	case "forget":
		return l.forget(id, td)
	case "approve":
		return false, "no gate of this task is open"
	}
	return false, "unknown verb " + r.Verb
}

// stop is end and hold: the attempt ends, no failure is counted, and the task
// goes on only when it is released. A shim that cannot be told now is told in
// the next pass.
func (l *Loop) stop(ctx context.Context, r spec.Request, id spec.TaskID, td *spec.TaskDecision) (bool, string) {
	changed, message := l.hold(ctx, r, id, td)
	runs := l.liveRuns(id)
	if len(runs) == 0 {
		return changed, message
	}
	attempt := runs[0].Locator.Attempt // a task has one at most
	if rec := l.Memory.Records[id].Clone(); rec != nil && rec.Held != nil && !rec.Held.Stop {
		rec.Held.Stop = true
		l.Memory.Records[id] = rec
		changed = true
	}
	if err := l.Launcher.Stop(ctx, attempt, "person"); err != nil {
		return changed, fmt.Sprintf("held, but %s could not be told to end: %v", attempt, err)
	}
	l.stopping[attempt] = true
	return changed, "ending " + attempt + "; held until: drover release " + id.Name
}

// hold keeps a task from starting anything; an attempt that lives goes on to
// its end.
func (l *Loop) hold(ctx context.Context, r spec.Request, id spec.TaskID, td *spec.TaskDecision) (bool, string) {
	rec := l.Memory.Records[id].Clone()
	if rec != nil && rec.Held != nil || td != nil && td.State == spec.StateHeld {
		return false, "held already"
	}
	switch {
	case td != nil && td.State == spec.StateComplete, td == nil && l.passed(id):
		return false, "complete already"
	case td == nil:
		return false, "there is no such task"
	}
	if was := td.Task.Status; was != "" && len(l.liveRuns(id)) == 0 {
		err := l.Files.Apply(ctx, spec.SetField{Path: td.Task.Doc, Key: "status", Value: "hold", Was: was})
		if err == nil {
			return true, "held: " + td.Task.Doc + " says status: hold"
		}
	}
	if rec == nil {
		rec = &spec.Record{Generation: td.Task.Generation, Unit: l.unitOf(id).Key}
	}
	rec.Held = &spec.Hold{Since: l.Now(), By: r.By}
	l.Memory.Records[id] = rec
	return true, "held until: drover release " + id.Name
}

func (l *Loop) release(ctx context.Context, id spec.TaskID, td *spec.TaskDecision) (bool, string) {
	changed := false
	if rec := l.Memory.Records[id].Clone(); rec != nil && rec.Held != nil {
		rec.Held = nil
		l.Memory.Records[id] = rec
		changed = true
	}
	if td != nil && td.Task.Status == "hold" {
		err := l.Files.Apply(ctx, spec.SetField{Path: td.Task.Doc, Key: "status", Value: "ready", Was: "hold"})
		if err != nil {
			return changed, fmt.Sprintf("%s still says status: hold: %v", td.Task.Doc, err)
		}
		changed = true
	}
	if !changed {
		return false, "not held"
	}
	return true, "goes on"
}

// retry gives a blocked task a fresh budget, once the cause is mended.
func (l *Loop) retry(id spec.TaskID, td *spec.TaskDecision) (bool, string) {
	changed := false
	delete(l.retries, id)
	if td != nil && routeBlocked(td) {
		for agent, why := range l.Memory.Stopped {
			if why.Same(td.Reason) {
				l.freeRoute(agent)
				changed = true
			}
		}
		l.dirtyTurned()
	}
	if rec := l.Memory.Records[id].Clone(); rec != nil && l.clearBlock(rec) {
		l.Memory.Records[id] = rec
		changed = true
	}
	if !changed {
		return false, "not blocked by anything that a retry clears"
	}
	return true, fmt.Sprintf("%d new attempts", l.Policy.Budget)
}

// clearBlock takes a stored block and the counters that led to it away.
func (l *Loop) clearBlock(rec *spec.Record) bool {
	changed := rec.Block != nil || rec.NoProgress > 0
	rec.Block, rec.NoProgress = nil, 0
	for role, st := range rec.Stages {
		if st.Transport > 0 || st.Judged > 0 {
			changed = true
		}
		st.Transport, st.Judged, st.LastEnd = 0, 0, time.Time{}
		rec.Stages[role] = st
	}
	return changed
}

// RetryBlocked clears all blocks and counters once, of the tasks that the
// loop's selection accepts (seed 003, retry_blocked).
func (l *Loop) RetryBlocked() {
	for id, rec := range l.Memory.Records {
		if l.Selects != nil && !l.Selects(id) {
			continue
		}
		fresh := rec.Clone()
		if l.clearBlock(fresh) {
			l.Memory.Records[id] = fresh
			l.unsaved = true
		}
	}
	if len(l.Memory.Stopped) > 0 {
		clear(l.Memory.Stopped)
		l.unsaved = true
	}
}

// forget lets go of a task whose documents are gone.
func (l *Loop) forget(id spec.TaskID, td *spec.TaskDecision) (bool, string) {
	if td != nil && !td.Task.Gone && td.State != spec.StateComplete {
		return false, "its documents are still there: " + td.Task.Doc
	}
	if len(l.liveRuns(id)) > 0 {
		return false, "an agent of it still runs; first: drover stop " + id.Name
	}
	changed := false
	if _, ok := l.Memory.Records[id]; ok {
		delete(l.Memory.Records, id)
		changed = true
	}
	for name, g := range l.Memory.Groups {
		if _, ok := g.Tasks[id.Name]; ok {
			delete(g.Tasks, id.Name)
			delete(g.Baseline, id.Name)
			l.regrouped[name] = g
			changed = true
		}
	}
	for _, r := range l.runs[id] {
		l.removes = append(l.removes, r.Locator.Attempt)
		changed = true
	}
	if !changed {
		return false, "nothing is known of it"
	}
	u := l.unitOf(id)
	l.unwait(u)
	l.enqueue(u, false)
	delete(l.units, u)
	delete(l.looks, u)
	delete(l.Seen, id)
	return true, "forgotten"
}

// passed reports whether only the memory still knows a task, as complete.
func (l *Loop) passed(id spec.TaskID) bool {
	for _, g := range l.Memory.Groups {
		if g.Dialect == id.Dialect && g.Tasks[id.Name] == string(spec.StateComplete) {
			return true
		}
	}
	return false
}

func (l *Loop) liveRuns(id spec.TaskID) []spec.Run {
	var out []spec.Run
	for _, r := range l.runs[id] {
		if r.State.Live() {
			out = append(out, r)
		}
	}
	return out
}

// task is the last decision about a task.
func (l *Loop) task(id spec.TaskID) *spec.TaskDecision {
	st := l.units[l.unitOf(id)]
	if st == nil {
		return nil
	}
	for i := range st.tasks {
		if st.tasks[i].Task.ID == id {
			return &st.tasks[i]
		}
	}
	return nil
}

func (l *Loop) unitOf(id spec.TaskID) spec.Unit {
	if u, ok := l.taskUnit[id]; ok {
		return u
	}
	if rec := l.Memory.Records[id]; rec != nil {
		return spec.Unit{Dialect: id.Dialect, Key: rec.Unit}
	}
	return spec.Unit{Dialect: id.Dialect}
}

func (l *Loop) allTasks() []spec.TaskID {
	var out []spec.TaskID
	for _, st := range l.units {
		for _, td := range st.tasks {
			out = append(out, td.Task.ID)
		}
	}
	sortTasks(out)
	return out
}
