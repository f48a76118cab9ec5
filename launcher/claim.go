package launcher

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"drover/launcher/agent"
	"drover/launcher/proc"
	"drover/launcher/rundir"
	"drover/spec"
)

// claimsAtOnce bounds how many claims of one pass are written side by side.
const claimsAtOnce = 16

// claim is one attempt on its way to being claimed.
type claim struct {
	start *spec.Start
	temp  string // the .new- folder
	lock  *os.File
	err   error
}

// Claim makes the run directories of all starts durable, in parallel, and
// fills in the locators. The errors belong to the starts one to one; after a
// nil error a crash leaves an attempt that never started. runs/ is fsynced
// twice in all, however many there are.
func (l *Launcher) Claim(ctx context.Context, starts []*spec.Start) []error {
	claims := make([]claim, len(starts))
	room := make(chan struct{}, claimsAtOnce)
	var wg sync.WaitGroup
	for i, st := range starts {
		claims[i].start = st
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			claims[i].err = l.prepare(ctx, &claims[i])
		})
	}
	wg.Wait()
	l.barrier(claims)
	l.rename(claims)
	l.barrier(claims)
	l.settle(claims)

	errs := make([]error, len(starts))
	for i := range claims {
		if err := claims[i].err; err != nil {
			errs[i] = fmt.Errorf("claim %s: %w", claims[i].start.Locator.Attempt, err)
		}
	}
	return errs
}

// prepare makes the folder of a claim, durably, under a name that claims nothing.
func (l *Launcher) prepare(ctx context.Context, c *claim) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.fill(c.start); err != nil {
		return err
	}
	if err := l.makeTemp(c); err != nil {
		return err
	}
	files, err := l.write(c)
	if c.lock == nil {
		for _, f := range files {
			f.Close()
		}
		return err
	}
	// Side by side, so that the file system commits once for all of them.
	errs := make([]error, len(files))
	var wg sync.WaitGroup
	for i, f := range files {
		wg.Go(func() { errs[i] = rundir.Sync(l.Seam, f) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return rundir.SyncDir(l.Seam, c.temp)
}

// write makes the files of a claim and takes its lock, last of all.
func (l *Launcher) write(c *claim) (files []*os.File, err error) {
	text, err := json.MarshalIndent(c.start.Locator, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", rundir.Locator, err)
	}
	for name, data := range map[string][]byte{
		rundir.Locator: append(text, '\n'), rundir.Prompt: []byte(c.start.Prompt),
	} {
		f, err := rundir.Create(l.Seam, filepath.Join(c.temp, name), data)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	c.lock, err = rundir.TakeLock(l.Seam, c.temp)
	return files, err
}

func (l *Launcher) makeTemp(c *claim) error {
	if err := l.Seam.Pass(spec.OpMkdir, filepath.Join(l.RunsDir, rundir.Unclaimed)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	temp, err := os.MkdirTemp(l.RunsDir, rundir.Unclaimed)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(l.RunsDir, 0o700); err == nil {
			temp, err = os.MkdirTemp(l.RunsDir, rundir.Unclaimed)
		}
	}
	if err != nil {
		return err
	}
	c.temp = temp
	l.making[filepath.Base(temp)] = true
	return nil
}

// barrier makes the names in runs/ durable for all claims that are still good.
func (l *Launcher) barrier(claims []claim) {
	if !slices.ContainsFunc(claims, func(c claim) bool { return c.err == nil }) {
		return
	}
	err := rundir.SyncDir(l.Seam, l.RunsDir)
	for i := range claims {
		if claims[i].err == nil {
			claims[i].err = err
		}
	}
}

// rename is the claim itself.
func (l *Launcher) rename(claims []claim) {
	for i := range claims {
		c := &claims[i]
		if c.err != nil {
			continue
		}
		target := l.dir(c.start.Locator.Attempt)
		if c.err = l.Seam.Pass(spec.OpRename, target); c.err != nil {
			continue
		}
		if c.err = rundir.RenameNew(c.temp, target); errors.Is(c.err, fs.ErrExist) {
			c.err = ErrClaimed
		}
	}
}

// settle keeps the locks of what was claimed and clears away what was not. A
// claim that was renamed and could not be made durable stays; without its lock
// it means: not started.
func (l *Launcher) settle(claims []claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range claims {
		c := &claims[i]
		name := c.start.Locator.Attempt
		if c.temp != "" {
			delete(l.making, filepath.Base(c.temp))
		}
		if c.err == nil {
			l.claimed[name] = c.lock
			l.runs.add(spec.Run{
				Dir: l.dir(name), State: spec.RunStarting, Locator: c.start.Locator,
				Progress: c.start.Locator.ClaimedAt,
			})
			continue
		}
		if c.lock != nil {
			c.lock.Close()
		}
		if c.temp != "" {
			// Best effort: Observe deletes what is left.
			_ = os.RemoveAll(c.temp)
		}
	}
	l.runs.unlisted = true
}

// fill completes a locator with what only the machine knows.
func (l *Launcher) fill(st *spec.Start) error {
	loc := &st.Locator
	if filepath.Base(loc.Attempt) != loc.Attempt || strings.HasPrefix(loc.Attempt, ".") {
		return fmt.Errorf("%q is no name for an attempt", loc.Attempt)
	}
	dir := l.dir(loc.Attempt)
	loc.Version = 1
	loc.CLI = or(loc.CLI, st.Try.Route.Agent)
	loc.Model = or(loc.Model, st.Try.Route.Model)
	loc.Effort = or(loc.Effort, st.Try.Route.Effort)
	loc.Role = spec.Role(or(string(loc.Role), string(st.Step.Role)))
	loc.Workspace = or(loc.Workspace, l.Workspace)
	loc.Cwd = l.absolute(or(or(loc.Cwd, st.Step.Dir), "."))
	loc.Prompt = filepath.Join(dir, rundir.Prompt)
	loc.StreamLog = filepath.Join(dir, rundir.Stream)
	loc.StderrLog = filepath.Join(dir, rundir.Stderr)
	loc.HeartbeatLog = heartbeat(dir)
	loc.BootID, loc.PIDNamespace = l.self.BootID, l.self.PIDNamespace
	loc.DispatcherPID, loc.DispatcherStart = l.self.PID, l.self.Start
	if loc.ClaimedAt.IsZero() {
		loc.ClaimedAt = l.Now().UTC()
	}
	if err := l.source.fill(loc); err != nil {
		return err
	}
	return l.command(st, dir)
}

// command asks the agent program's own package how it is started, and finds
// the program.
func (l *Launcher) command(st *spec.Start, dir string) error {
	loc := &st.Locator
	cli, ok := l.Agents.Lookup(loc.CLI)
	if !ok {
		return fmt.Errorf("agent program %q is not known", loc.CLI)
	}
	marks := l.marks(st, dir)
	cmd, err := cli.Command(agent.Spec{
		Role: loc.Role, Route: st.Try.Route, Prompt: st.Prompt, PromptFile: loc.Prompt,
		Dir: loc.Cwd, RunDir: dir, AttemptID: loc.Attempt,
		Resume: resume(st.Try), NewSession: newUUID(),
		Doc: l.absolute(st.Step.Doc), Out: l.absolute(st.Step.Out),
		Writes: loc.Writes, Env: marks,
	})
	if err != nil {
		return fmt.Errorf("command of %s: %w", loc.CLI, err)
	}
	if len(cmd.Argv) == 0 {
		return fmt.Errorf("command of %s is empty", loc.CLI)
	}
	loc.Env = append(append(slices.Clone(loc.Env), cmd.Env...), marks...)
	program, err := l.lookPath(cmd.Argv[0], append(slices.Clone(l.Env), loc.Env...))
	if err != nil {
		return err
	}
	loc.Argv = append([]string{program}, cmd.Argv[1:]...)
	loc.StdinPrompt = cmd.StdinPrompt
	loc.SessionID, loc.SessionPath = cmd.SessionID, cmd.SessionPath
	return nil
}

// marks are what every process of the attempt is known by.
func (l *Launcher) marks(st *spec.Start, dir string) []string {
	env := []string{
		proc.EnvTask + "=" + st.Locator.Task,
		proc.EnvRole + "=" + string(st.Locator.Role),
		proc.EnvAttempt + "=" + st.Locator.Attempt,
		proc.EnvRunDir + "=" + dir,
	}
	if st.Step.Doc != "" {
		env = append(env, proc.EnvDoc+"="+l.absolute(st.Step.Doc))
	}
	if st.Step.Out != "" {
		env = append(env, proc.EnvOut+"="+l.absolute(st.Step.Out))
	}
	return env
}

// resume is the session that goes on, nil for a fresh one.
func resume(try spec.Try) *agent.Session {
	if try.Kind != spec.TrySameSession || try.Last == nil {
		return nil
	}
	return &agent.Session{
		ID:   or(try.Last.Result.SessionID, try.Last.Locator.SessionID),
		Path: or(try.Last.Result.SessionPath, try.Last.Locator.SessionPath),
	}
}

// lookPath finds a program as the shell would, with the PATH that the agent
// will have. A path from the settings is taken relative to the workspace.
func (l *Launcher) lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := l.absolute(name)
		if executable(path) {
			return path, nil
		}
		return "", fmt.Errorf("%w: %s is not there, or no program", ErrCLIMissing, path)
	}
	var search string
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			search = p
		}
	}
	for _, dir := range filepath.SplitList(search) {
		// A relative entry would mean another program in every folder.
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not on PATH (%s)", ErrCLIMissing, name, search)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// absolute makes a workspace-relative path absolute; "" stays.
func (l *Launcher) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(l.Workspace, path)
}

func (l *Launcher) dir(attempt string) string { return filepath.Join(l.RunsDir, attempt) }

func heartbeat(dir string) string { return filepath.Join(dir, rundir.Heartbeat) }

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// withoutMarks is an environment without the markers of an attempt that drover
// itself may have been started in.
func withoutMarks(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(proc.Marks(), name)
	})
}

// newUUID is a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
