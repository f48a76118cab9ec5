package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drover/launcher/proc"
	"drover/launcher/rundir"
	"drover/spec"
)

// How long the listing of runs/ is believed. Its mtime tells of changes, but
// not of one within the clock's grain after the last look.
const (
	listingLife  = time.Minute
	listingGrain = 100 * time.Millisecond
)

// Observe tells every attempt on disk by the table, ordered by name. What is
// over is remembered and not read again; what lives costs a few stats. The
// result is shared: it must not be changed.
func (l *Launcher) Observe(ctx context.Context) ([]spec.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.list(); err != nil {
		return nil, fmt.Errorf("observe runs: %w", err)
	}
	live := l.runs.live()
	each(live, l.look)
	if err := l.search(live); err != nil {
		return nil, fmt.Errorf("observe runs: %w", err)
	}
	blind, starting := time.Duration(0), false
	for _, e := range live {
		l.runs.changed = e.conclude() || l.runs.changed
		starting = starting || e.run.State.Live() && e.run.Locator.AgentPID == 0
		if wait := l.follow(e); wait > 0 && (blind == 0 || wait < blind) {
			blind = wait
		}
	}
	l.watcher.lookEvery(blind)
	if !starting {
		l.keepSpare() // it would load beside the one that somebody waits for
	}
	return l.runs.sorted(), ctx.Err()
}

// list brings the names of runs/ up to date and deletes what never became a
// claim.
func (l *Launcher) list() error {
	info, err := os.Stat(l.RunsDir)
	if errors.Is(err, fs.ErrNotExist) {
		l.forget(nil)
		return nil
	}
	if err != nil {
		return err
	}
	now, m := l.Now(), &l.runs
	young := now.Sub(info.ModTime()) < listingGrain
	if !m.unlisted && !young && info.ModTime().Equal(m.mtime) && now.Sub(m.listed) < listingLife {
		return nil
	}
	entries, err := os.ReadDir(l.RunsDir)
	if err != nil {
		return err
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, rundir.Unclaimed):
			if err := l.discard(name); err != nil {
				return err
			}
		case e.IsDir():
			names[name] = true
		}
	}
	l.forget(names)
	for name := range names {
		if m.entries[name] == nil {
			m.add(spec.Run{Dir: l.dir(name), Locator: spec.Locator{Attempt: name}})
		}
	}
	m.unlisted, m.listed, m.mtime = false, now, info.ModTime()
	return nil
}

// forget lets go of attempts whose directories are gone. One who only looks
// cannot tell whether the owner removed them.
func (l *Launcher) forget(names map[string]bool) {
	if l.ReadOnly {
		l.runs.drop(names)
		return
	}
	l.runs.keep(names)
}

// discard deletes a folder that is no claim, unless one is just being made of it.
func (l *Launcher) discard(name string) error {
	if l.ReadOnly || l.making[name] {
		return nil
	}
	if err := l.Seam.Pass(spec.OpRemove, l.dir(name)); err != nil {
		return err
	}
	return os.RemoveAll(l.dir(name))
}

// each runs look over all entries, several at a time.
func each(entries []*entry, look func(*entry)) {
	const atOnce = 8
	var wg sync.WaitGroup
	for k := range min(atOnce, len(entries)) {
		wg.Go(func() {
			for i := k; i < len(entries); i += atOnce {
				look(entries[i])
			}
		})
	}
	wg.Wait()
}

// look collects the facts of one attempt. The lock comes first: once it is
// free, nothing of the shim changes any more, so what is read after it is final.
func (l *Launcher) look(e *entry) {
	dir := e.run.Dir
	e.err, e.facts = nil, facts{held: true}
	if e.gone { // its lock cannot be asked any more; its processes can
		e.newer, e.damage = false, nil
		e.facts = facts{held: e.watched, shim: true, sameBoot: true}
		return
	}
	if !e.watched {
		if e.facts.held, e.err = rundir.Held(dir); e.err != nil {
			return
		}
	}
	e.readLocator(dir)
	e.facts.sameBoot = e.run.Locator.BootID == l.self.BootID
	if e.shim.PID == 0 {
		// A torn shim.json cannot be: it is renamed into place.
		_ = rundir.Read(dir, rundir.Shim, &e.shim)
	}
	e.facts.shim = e.shim.PID != 0
	e.progress()
	if e.watched {
		return
	}
	e.readExit(dir)
}

// search looks for processes of those attempts that have lost their shim
// without its word that nothing is left.
func (l *Launcher) search(live []*entry) error {
	var targets []proc.Target
	for _, e := range live {
		if e.err == nil && !e.facts.held && e.facts.sameBoot && !(e.facts.exit == exitValid && e.exit.Swept) {
			targets = append(targets, target(e.run, e.shim))
		}
	}
	found, err := proc.Search(targets)
	if err != nil {
		return err
	}
	for _, e := range live {
		e.facts.left = len(found[e.run.Dir]) > 0
	}
	return nil
}

// target is what the processes of an attempt are known by.
func target(run spec.Run, shim rundir.ShimID) proc.Target {
	t := proc.Target{RunDir: run.Dir, Since: shim.Start}
	// Only a linked worktree belongs to one attempt; its .git is a file.
	if info, err := os.Lstat(filepath.Join(run.Locator.Cwd, ".git")); err == nil && info.Mode().IsRegular() {
		t.Worktree = run.Locator.Cwd
	}
	return t
}

// follow makes sure that the end of a living attempt will be noticed. It
// returns how soon to look again by oneself, 0 if the watcher tells.
func (l *Launcher) follow(e *entry) time.Duration {
	const starting, foreign = 50 * time.Millisecond, time.Second
	name := e.name()
	if e.watched || e.err != nil || !e.facts.held || l.claimed[name] != nil {
		return 0
	}
	if !e.facts.shim {
		return starting
	}
	switch err := l.watcher.adopt(name, e.shim.ID); {
	case err == nil:
		e.watched = true
		return 0
	case e.shim.PIDNamespace == l.self.PIDNamespace:
		return starting // it is just ending
	}
	return foreign
}
