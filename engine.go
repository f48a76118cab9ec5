package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/fsstate"
	"drover/launcher"
	"drover/launcher/agent"
	"drover/reconcile"
	"drover/spec"
	"drover/spec/agenttask"
)

// engine is the loop with everything it works with.
type engine struct {
	*reconcile.Loop
	app      *App
	files    *fsstate.Workspace
	edits    *fsstate.Edits
	journal  *fsstate.Journal
	launcher *launcher.Launcher
	// rolled is what is kept of finished tasks, once somebody asked.
	rolled map[spec.TaskID]spec.Rollup
}

// files joins the two halves of a workspace: what is read and what is written.
type files struct {
	*fsstate.Workspace
	*fsstate.Edits
}

// Close is the reading half's; the writing half is closed by the engine.
func (f files) Close() error { return f.Workspace.Close() }

// engineOptions say what an engine may do.
type engineOptions struct {
	readOnly bool // it only looks: nothing on disk changes
	tell     func(reconcile.Notice)
	selects  func(spec.TaskID) bool
	probe    bool
	// files is the workspace, where it was opened and looked at already.
	files *fsstate.Workspace
	stays bool // it goes on after one pass: what saves time later is worth some now
}

// dialects are the ways to write tasks, in the order in which they are asked.
// A new one is one line here.
func (a *App) dialects() []spec.Dialect {
	s := a.Settings
	return []spec.Dialect{
		agenttask.New(agenttask.Options{
			Root: s.AgentTask.Root, Worker: s.Worker, Plain: s.Plain(), Review: s.Review(),
			Finalize: s.AgentTask.Finalize, MaxRounds: s.AgentTask.MaxRounds, Language: s.Language.Answers,
		}),
	}
}

// engine builds the loop over the workspace. Open was called before.
func (a *App) engine(ctx context.Context, o engineOptions) (*engine, error) {
	disk := fsstate.Disk{Seam: a.Seam}
	e := &engine{app: a, journal: fsstate.OpenJournal(a.State.Path, disk, a.Now)}
	memory, err := e.journal.Load(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := e.journal.Seen(ctx)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find drover's own binary: %w", err)
	}
	dialects := a.dialects()
	if e.files = o.files; e.files == nil {
		if e.files, err = fsstate.Open(a.State.Root, a.readOptions(dialects, exe)); err != nil {
			return nil, err
		}
	}
	if e.edits, err = fsstate.NewEdits(a.State, disk, a.Zone); err != nil {
		return nil, errors.Join(err, e.files.Close())
	}
	lo := a.launcherOptions(exe, o)
	lo.Active = activeIn(memory)
	if e.launcher, err = launcher.New(lo); err != nil {
		return nil, errors.Join(err, e.edits.Close(), e.files.Close())
	}
	e.Loop = reconcile.New(reconcile.Options{
		Root: a.State.Root, Dialects: dialects, Files: files{e.files, e.edits}, Journal: e.journal,
		Launcher: e.launcher, Policy: a.Settings.Policy(), Memory: memory, Seen: seen, Now: a.Now,
		Tell: o.tell, Selects: o.selects, Probe: o.probe,
		Looked: o.files != nil, Settings: digest(a.Settings.Agents, a.Settings.Routes),
	})
	return e, nil
}

// readOptions say how the workspace is read. The cache belongs to one binary
// and one reading of the settings.
func (a *App) readOptions(dialects []spec.Dialect, exe string) fsstate.Options {
	return fsstate.Options{
		Dialects: dialects, CachePath: filepath.Join(a.State.Path, "documents.cache"),
		Fingerprint: fingerprint(exe, a.Settings.AgentTask.Root), Seam: a.Seam, Now: a.Now,
		Settle: a.Settings.Watch.Settle, Resync: a.Settings.Watch.Resync,
		NoWatch: a.Env("DROVER_NO_WATCH") != "",
	}
}

// fingerprint is of the binary, by what its file's times and size tell, and of
// what decides how a document is read.
func fingerprint(exe string, more ...string) string {
	h := sha256.New()
	if info, err := os.Stat(exe); err == nil {
		fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
	}
	fmt.Fprintln(h, more)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// digest tells one set of values from another.
func digest(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		fmt.Fprintf(h, "%+v\n", v)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (a *App) launcherOptions(exe string, o engineOptions) launcher.Options {
	return launcher.Options{
		RunsDir: filepath.Join(a.State.Path, "runs"), Workspace: a.State.Root, Agents: a.agents(exe),
		Seam: a.Seam, Now: a.Now, Env: a.Environ, ReadOnly: o.readOnly, Spare: o.stays,
	}
}

// activeIn are the attempts that the memory takes for running, as far as it
// knows them.
func activeIn(m *spec.Memory) []spec.Locator {
	var out []spec.Locator
	for id, rec := range m.Records {
		if rec.Active == "" {
			continue
		}
		prefix, _ := spec.SplitAttempt(rec.Active)
		out = append(out, spec.Locator{
			Attempt: rec.Active, Dialect: id.Dialect, Task: id.Name, Unit: rec.Unit,
			Role:       spec.Role(prefix[strings.LastIndexByte(prefix, '_')+1:]),
			PlanNumber: rec.Generation.Plan, Tag: rec.Generation.Tag,
		})
	}
	return out
}

// agents are the programs that routes may name, as the settings start them.
func (a *App) agents(exe string) agent.Set {
	set := map[string]agent.Settings{}
	for name, s := range a.Settings.Agents {
		as := agent.Settings{
			Path: a.expandHome(s.Path), Args: s.Args, Sandbox: s.Sandbox, Command: s.Command,
			Success: agent.Success{Exit: s.Success.Exit, JSONPath: s.Success.JSONPath, Equals: s.Success.Equals},
		}
		for k, v := range s.Env {
			as.Env = append(as.Env, k+"="+v)
		}
		slices.Sort(as.Env)
		set[name] = as
	}
	return agent.NewSet(exe, set)
}

func (a *App) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(a.Env("HOME"), rest)
	}
	return path
}

// Close lets go of what the engine holds. Agents go on.
func (e *engine) Close() error {
	return errors.Join(e.launcher.Close(), e.edits.Close(), e.files.Close())
}

// finish keeps what makes the next process fast.
func (e *engine) finish(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return errors.Join(e.Loop.Close(ctx), e.journal.SaveSeen(ctx, e.Seen), e.files.SaveCache(ctx))
}

// doc is the status document of the tasks that want accepts.
func (e *engine) doc(ctx context.Context, want func(spec.TaskID) bool) (spec.StatusDoc, error) {
	host, _ := os.Hostname() // "" is an answer too
	owner, err := e.app.State.Owner()
	if err != nil {
		return spec.StatusDoc{}, err
	}
	tasks, problems := e.View()
	d := spec.StatusDoc{
		Version: 1, GeneratedAt: e.app.Now(), Workspace: e.app.State.Root, Host: host, Owner: owner,
		Tasks: make([]spec.Row, 0, len(tasks)), Problems: append([]spec.Problem{}, problems...),
	}
	for i := range tasks {
		if want != nil && !want(tasks[i].Task.ID) {
			continue
		}
		row := e.Row(tasks[i])
		row.Do = remedies(row)
		d.Tasks = append(d.Tasks, row)
	}
	finished, err := e.finished(ctx, d.Tasks, want)
	if err != nil {
		return spec.StatusDoc{}, err
	}
	d.Tasks = append(d.Tasks, finished...)
	d.Summary = summarize(d)
	return d, nil
}

// finished are the rows of complete tasks that only the memory still knows.
func (e *engine) finished(ctx context.Context, known []spec.Row, want func(spec.TaskID) bool) ([]spec.Row, error) {
	have := map[string]bool{}
	for _, r := range known {
		have[r.Task] = true
	}
	var rows []spec.Row
	loaded := false
	for _, g := range e.Memory.Groups {
		for name, state := range g.Tasks {
			id := spec.TaskID{Dialect: g.Dialect, Name: name}
			if state != string(spec.StateComplete) || have[name] || want != nil && !want(id) {
				continue
			}
			row := spec.Row{
				Dialect: g.Dialect, Task: name, State: spec.StateComplete, WaitsFor: []string{},
				Do: []spec.Do{}, DependsOn: []string{}, FailureLimit: e.Policy.Budget,
			}
			if s, ok := e.Seen[id]; ok && s.State == spec.StateComplete {
				row.Since = &s.Since
			}
			if _, ok := e.rolled[id]; !ok && !loaded {
				if err := e.loadRollups(ctx); err != nil {
					return nil, err
				}
				loaded = true
			}
			e.recall(id, &row)
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b spec.Row) int { return strings.Compare(a.Task, b.Task) })
	return rows, nil
}

// loadRollups reads what is kept of finished tasks: the newest life of each,
// where there were several of its name.
func (e *engine) loadRollups(ctx context.Context) error {
	e.rolled = map[spec.TaskID]spec.Rollup{}
	for r, err := range e.journal.Rollups(ctx, time.Time{}) {
		if err != nil {
			return fmt.Errorf("read what is kept of finished tasks: %w", err)
		}
		e.rolled[spec.TaskID{Dialect: r.Dialect, Name: r.Task}] = r
	}
	return nil
}

// recall fills in what is kept of a finished task. One that was complete
// before drover came has nothing.
func (e *engine) recall(id spec.TaskID, row *spec.Row) {
	r, ok := e.rolled[id]
	if !ok {
		e.rolled[id] = spec.Rollup{} // asked once is enough
		return
	}
	row.Title, row.Plan, row.Tag, row.Attempts, row.Usage = r.Title, r.Plan, r.Tag, r.Attempts, r.Usage
	if !r.FirstStart.IsZero() {
		row.StartedAt = &r.FirstStart
	}
	if row.Since == nil && !r.CompletedAt.IsZero() {
		row.Since = &r.CompletedAt
	}
}

func summarize(d spec.StatusDoc) spec.Summary {
	s := spec.Summary{Problems: len(d.Problems)}
	for _, r := range d.Tasks {
		code := spec.Code("")
		if r.Reason != nil {
			code = r.Reason.Code
		}
		s.Count(r.State, code, r.NextAt != nil)
	}
	return s
}

// remedies are the commands that would move a task on.
func remedies(r spec.Row) []spec.Do {
	do := []spec.Do{}
	add := func(changes string, argv ...string) {
		do = append(do, spec.Do{Argv: append([]string{"drover"}, argv...), Changes: changes})
	}
	if r.Locator != "" {
		add("nothing: read the last attempt", append([]string{"logs", r.Task}, attemptFlags(r.Locator)...)...)
	}
	var code spec.Code
	if r.Reason != nil {
		code = r.Reason.Code
	}
	switch {
	case r.State == spec.StateHeld:
		add("the task goes on", "release", r.Task)
	case r.State == spec.StateRunning:
		add("ends the agent and holds the task", "stop", r.Task)
	case code == spec.Vanished || code == spec.ArchiveAmbiguous:
		add("forgets the task", "forget", r.Task)
	case r.State == spec.StateBlocked && retryClears(code):
		add("new attempts, once the cause is mended", "retry", r.Task)
	case r.State == spec.StateBlocked:
		add("nothing: lists what is wrong in its files", "validate")
	}
	return do
}

// attemptFlags name the attempt of a locator to `drover logs`.
func attemptFlags(locator string) []string {
	prefix, n := spec.SplitAttempt(filepath.Base(filepath.Dir(locator)))
	i := strings.LastIndex(prefix, "__")
	if n < 0 || i < 0 {
		return nil
	}
	return []string{"--role", prefix[i+2:], "--attempt", strconv.Itoa(n)}
}

// retryClears reports whether a blocker is one that `retry` takes away.
func retryClears(c spec.Code) bool {
	switch c {
	case spec.ContractError, spec.UserReview, spec.Cycle, spec.DuplicateID,
		spec.PredecessorAmbiguous, spec.PredecessorBlocked:
		return false
	}
	return true
}
