package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drover/launcher/rundir"
	"drover/spec"
)

// memory is what a Launcher knows of runs/ from the last look. Everything in
// it can be found out again; it only saves looking.
type memory struct {
	entries map[string]*entry
	order   []spec.Run // the answer of the last Observe
	changed bool       // order is out of date

	unlisted bool // runs/ must be listed
	listed   time.Time
	mtime    time.Time
}

// entry is one attempt.
type entry struct {
	run     spec.Run
	final   bool // over, and nothing of it changes any more
	watched bool // the watcher holds its shim: it lives until told otherwise
	gone    bool // somebody removed its directory before it was over
	shim    rundir.ShimID
	stamp   os.FileInfo // of locator.json as read

	// Of the look under way.
	facts  facts
	exit   spec.Exit
	result spec.Result
	damage *spec.Problem
	newer  bool // locator or progress differ from the last look
	err    error
}

func newMemory() memory { return memory{entries: map[string]*entry{}, unlisted: true} }

func (m *memory) add(run spec.Run) {
	m.entries[filepath.Base(run.Dir)] = &entry{run: run}
	m.changed = true
}

// keep forgets all but names, and those that were not over: what is known of
// them stays until it is known that nothing of them runs.
func (m *memory) keep(names map[string]bool) {
	for name, e := range m.entries {
		if e.gone = !names[name] && !e.final; !names[name] && e.final {
			delete(m.entries, name)
			m.changed = true
		}
	}
}

// drop forgets all but names.
func (m *memory) drop(names map[string]bool) {
	for name := range m.entries {
		if !names[name] {
			delete(m.entries, name)
			m.changed = true
		}
	}
}

// stale says that an attempt's shim is gone: look again.
func (m *memory) stale(attempt string) {
	if e := m.entries[attempt]; e != nil {
		e.watched = false
	}
}

func (m *memory) live() []*entry {
	var live []*entry
	for _, e := range m.entries {
		if !e.final {
			live = append(live, e)
		}
	}
	return live
}

// sorted is all runs by name.
func (m *memory) sorted() []spec.Run {
	if m.changed {
		m.order = make([]spec.Run, 0, len(m.entries))
		for _, e := range m.entries {
			m.order = append(m.order, e.run)
		}
		slices.SortFunc(m.order, func(a, b spec.Run) int { return strings.Compare(a.Dir, b.Dir) })
		m.changed = false
	}
	return m.order
}

func (e *entry) name() string { return filepath.Base(e.run.Dir) }

// readLocator reads locator.json if it changed since it was read last.
func (e *entry) readLocator(dir string) {
	e.newer = false
	info, err := os.Stat(filepath.Join(dir, rundir.Locator))
	if err == nil && unchanged(e.stamp, info) {
		return
	}
	e.newer, e.stamp, e.damage = true, info, nil
	var loc spec.Locator
	if err == nil {
		err = rundir.Read(dir, rundir.Locator, &loc)
	}
	if err != nil {
		e.damage = problem(dir, rundir.Locator, err)
		return
	}
	e.run.Locator = loc
}

// readExit reads exit.json and, if that is whole, result.json.
func (e *entry) readExit(dir string) {
	e.exit, e.result = spec.Exit{}, spec.Result{}
	switch err := rundir.Read(dir, rundir.Exit, &e.exit); {
	case errors.Is(err, fs.ErrNotExist):
		e.facts.exit = exitAbsent
		return
	case err != nil:
		e.facts.exit = exitDamaged
		e.damage = problem(dir, rundir.Exit, err)
		return
	}
	e.facts.exit = exitValid
	if err := rundir.Read(dir, rundir.Result, &e.result); err != nil {
		e.damage = problem(dir, rundir.Result, err)
	}
}

func problem(dir, name string, err error) *spec.Problem {
	message := fmt.Sprintf("%s of a run cannot be read: %v; what it would tell of the attempt is lost", name, err)
	return &spec.Problem{File: filepath.Join(dir, name), Code: string(spec.Lost), Message: message}
}

// progress takes the newest sign of life: stream or native event, never the
// heartbeat.
func (e *entry) progress() {
	loc := e.run.Locator
	newest := e.run.Progress
	for _, path := range []string{loc.StreamLog, loc.StderrLog, loc.SessionPath} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if !newest.Equal(e.run.Progress) {
		e.run.Progress, e.newer = newest, true
	}
}

// conclude turns the facts into the run and reports whether it differs from
// before.
func (e *entry) conclude() (changed bool) {
	state := meaning(e.facts)
	if e.err != nil {
		// Nobody can say whether it lives, so nothing may start beside it. To
		// sweep it will fail with the same error, which blocks its task alone.
		state = spec.RunOrphaned
		e.damage = problem(e.run.Dir, rundir.Alive, e.err)
	}
	changed = e.newer || state != e.run.State
	e.run.State, e.run.Damage = state, e.damage
	e.run.Exit, e.run.Result = spec.Exit{}, spec.Result{}
	switch state {
	case spec.RunEnded:
		e.run.Exit, e.run.Result = e.exit, e.result
	case spec.RunLost:
		e.unrecorded(spec.ClassLost, spec.SourceSystem, e.howLost())
	case spec.RunUnstarted:
		e.unrecorded(spec.ClassNotStarted, spec.SourceDispatcher, "drover ended between the claim and the start of the agent")
	}
	e.final = !state.Live()
	return changed
}

func (e *entry) howLost() string {
	switch {
	case e.gone:
		return "its run directory was removed before it was over"
	case e.damage != nil:
		return e.damage.Message
	case !e.facts.sameBoot:
		return "the machine was restarted while it ran"
	}
	return "its shim ended without a record"
}

// unrecorded says of an end that nobody wrote down what can be known of it.
func (e *entry) unrecorded(class spec.Class, source spec.Source, how string) {
	loc := &e.run.Locator
	ended := loc.ClaimedAt
	if e.run.Progress.After(ended) {
		ended = e.run.Progress
	}
	e.run.Exit = spec.Exit{
		EndedBy: "unknown", StartedAt: loc.StartedAt, EndedAt: ended, Class: class, Source: source,
		Evidence: spec.Evidence{Source: "run directory", Excerpt: how},
	}
	loc.FailureClass, loc.FailureSource, loc.TerminationInitiator = class, source, "unknown"
	loc.FailureEvidenceSource, loc.FailureEvidenceExcerpt = "run directory", how
}
