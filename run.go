package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/reconcile"
	"drover/spec"
)

// runFlags are what `drover` and `drover run` take (COMMANDS 1).
type runFlags struct {
	once, drain, dryRun  bool
	retryBlocked, detach bool
	trust                bool
	group                string
	timeout              time.Duration
	onExit               string
	output               string
}

func (a *App) addRunFlags(c *cobra.Command) *runFlags {
	f := &runFlags{}
	fs := c.Flags()
	fs.BoolVar(&f.once, "once", false, "one pass: apply what is due, leave agents running, exit")
	fs.BoolVar(&f.drain, "drain", false, "run until nothing is ready, running or on a timer")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", false, "show what would be done; change nothing")
	fs.StringVar(&f.group, "task-group", "", "only the tasks of this `group`")
	fs.BoolVar(&f.retryBlocked, "retry-blocked", false, "clear blocks and counters once, at the start")
	fs.DurationVar(&f.timeout, "timeout", 0, "with --drain: end after this time, with exit code 3")
	fs.StringVar(&f.onExit, "on-exit", "leave", "leave agents running, or stop them")
	fs.BoolVar(&f.detach, "detach", false, "go on in the background")
	fs.StringVar(&f.output, "output", "text", "text, line or json")
	fs.StringVar(&a.Config, "config", "", "another settings `file` than drover.yaml")
	fs.BoolVar(&f.trust, "trust", false, "answer the first watch's question: agents may work here unattended")
	c.MarkFlagsMutuallyExclusive("once", "drain")
	return f
}

func runCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "run [SELECTOR…]", Short: "keep the repository converging",
		Example: "  drover run --drain 'ledger/0*'",
	}
	f := a.addRunFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.Open(c.Context()); err != nil {
			return err
		}
		return a.run(c.Context(), f, args)
	}
	return c
}

// run reconciles in the mode that the flags name.
func (a *App) run(ctx context.Context, f *runFlags, words []string) error {
	switch {
	case f.onExit != "leave" && f.onExit != "stop":
		return usageError("--on-exit wants leave or stop, not %q", f.onExit)
	case f.output != "text" && f.output != "line" && f.output != "json":
		return usageError("--output wants text, line or json, not %q", f.output)
	case f.timeout != 0 && !f.drain:
		return usageError("--timeout goes with --drain")
	}
	selects, err := selector(words, f.group)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.dryRun(ctx, selects)
	}
	if f.detach {
		return a.detach(ctx, f)
	}
	mode := reconcile.Watch
	switch {
	case f.once:
		mode = reconcile.Once
	case f.drain:
		mode = reconcile.Drain
	}
	if mode == reconcile.Watch {
		if err := a.askTrust(f.trust); err != nil {
			return err
		}
	}
	if a.State.Notice != "" {
		a.Warn("%s", a.State.Notice)
	}
	return a.drive(ctx, f, words, mode, selects)
}

// drive owns the workspace while the loop runs.
func (a *App) drive(ctx context.Context, f *runFlags, words []string, mode reconcile.Mode, selects func(spec.TaskID) bool) error {
	began := a.Now()
	screen := &screen{app: a, output: f.output}
	unlock, err := a.State.Lock(ctx, fsstate.Disk{Seam: a.Seam}, a.Now())
	var owned *fsstate.OwnedError
	if errors.As(err, &owned) && !a.JSON && mode == reconcile.Drain {
		return errors.Join(err, a.elsewhere(ctx, screen, owned.Owner, selects))
	}
	if err != nil {
		return err
	}
	defer unlock() // the kernel would do the same at our end
	o := engineOptions{tell: screen.notice, selects: selects, probe: mode == reconcile.Watch, stays: mode != reconcile.Once}
	of := a.quietOf(f, words, mode)
	if of != "" {
		q, quiet, err := a.quiet(ctx, &o, of)
		if err != nil {
			return err
		}
		if quiet {
			screen.summary(q.Summary, q.Next)
			return errors.Join(o.files.Close(), exitWith(outcome(q.Summary)))
		}
	}
	e, err := a.engine(ctx, o)
	if err != nil {
		return err
	}
	defer e.Close()
	if saved, err := e.edits.Recover(ctx); err != nil {
		return err
	} else if len(saved) > 0 {
		a.Warn("an interrupted edit was undone; what it held is kept in: %v", saved)
	}
	if f.retryBlocked {
		e.RetryBlocked()
	}
	ctx, signals := a.catch(ctx, f, mode, e)
	defer signals.stop()
	if mode == reconcile.Watch {
		go e.launcher.Warm() // an error shows at the first claim
	}
	wake, err := a.wake(ctx, e, screen, mode)
	if err != nil {
		return err
	}
	err = e.Run(ctx, mode, wake)
	timedOut := errors.Is(context.Cause(ctx), errTimeout)
	err = errors.Join(err, signals.end(e, f), e.finish(ctx))
	if err != nil {
		return err
	}
	if of != "" && signals.got == nil {
		sum, next := e.Tally(selects)
		if err := a.keepQuiet(e, of, sum, next); err != nil {
			return err
		}
	}
	return a.conclude(ctx, e, screen, mode, selects, began, timedOut, signals.got)
}

// elsewhere tells what the drover that owns the workspace runs (seed 003: exit
// code 3 while another dispatcher owns a running task).
func (a *App) elsewhere(ctx context.Context, s *screen, owner spec.Owner, selects func(spec.TaskID) bool) error {
	doc, err := a.lookAt(ctx, selects)
	if err != nil {
		return err
	}
	for _, r := range doc.Tasks {
		if r.State == spec.StateRunning {
			s.banner(Banner{
				Event: "following-another-drover", Task: r.Task,
				Fields: []Field{{"dispatcher_pid", fmt.Sprint(owner.PID)}, {"locator", r.Locator}},
			}, a.Now())
		}
	}
	return nil
}

// wake gathers what can end the loop's wait. The watch begins before the first
// look, so that nothing falls between the two.
func (a *App) wake(ctx context.Context, e *engine, s *screen, mode reconcile.Mode) (reconcile.Wake, error) {
	w := reconcile.Wake{Ended: e.launcher.Changed(), Tick: time.Minute, Beat: func() { s.beat(ctx, e) }}
	if mode == reconcile.Once {
		return w, nil
	}
	var roots []string
	for _, d := range e.Dialects {
		roots = append(roots, d.Roots()...)
	}
	watch, err := e.files.Watch(ctx, roots, []string{a.requestsDir()})
	if err != nil {
		return w, err
	}
	if warning := watch.Warning(); warning != "" {
		a.Warn("%s", warning)
		w.Blind = true
	}
	hints := make(chan reconcile.Hint)
	go func() {
		for h := range watch.Hints() {
			select {
			case hints <- reconcile.Hint{Paths: h.Paths, All: h.All}:
			case <-ctx.Done():
			}
		}
	}()
	w.Hints = hints
	return w, nil
}

var errTimeout = errors.New("the time for draining is over")

// signalled is what a signal did to a run.
type signalled struct {
	got  os.Signal
	ch   chan os.Signal
	done context.CancelCauseFunc
	app  *App
	mode reconcile.Mode
}

// catch ends the run's context at a signal or at the drain's timeout.
func (a *App) catch(ctx context.Context, f *runFlags, mode reconcile.Mode, e *engine) (context.Context, *signalled) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &signalled{ch: make(chan os.Signal, 2), done: cancel, app: a, mode: mode}
	signal.Notify(s.ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if f.timeout > 0 {
		time.AfterFunc(f.timeout, func() { cancel(errTimeout) })
	}
	go func() {
		select {
		case s.got = <-s.ch:
			cancel(context.Canceled)
		case <-ctx.Done():
		}
	}()
	return ctx, s
}

func (s *signalled) stop() {
	signal.Stop(s.ch)
	s.done(context.Canceled)
}

// secondChance is how long a second Ctrl-C is waited for.
const secondChance = 3 * time.Second

// end says what happens to the agents. They go on, unless --on-exit stop or a
// second Ctrl-C says otherwise, or there is nobody to leave them to.
func (s *signalled) end(e *engine, f *runFlags) error {
	running := e.Running()
	if running == 0 || s.mode == reconcile.Once {
		return nil
	}
	stop := f.onExit == "stop" || os.Getpid() == 1
	if !stop && s.got == syscall.SIGINT && s.app.HasTerminal() {
		s.app.Warn("agents go on by themselves (%d); Ctrl-C again within 3 s ends them too", running)
		select {
		case got := <-s.ch:
			stop = got == syscall.SIGINT
		case <-time.After(secondChance):
		}
	} else if !stop && s.got != nil {
		s.app.Warn("agents go on by themselves (%d); follow them with: drover status", running)
	}
	if !stop {
		return nil
	}
	return s.stopAgents(e)
}

// stopAgents ends every agent and waits until their ends are recorded.
func (s *signalled) stopAgents(e *engine) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*s.app.Settings.Grace.Stop+10*time.Second)
	defer cancel()
	for {
		runs, err := e.launcher.Observe(ctx)
		if err != nil {
			return err
		}
		left := 0
		for _, r := range runs {
			if r.State.Live() {
				left++
				if err := e.launcher.Stop(ctx, r.Locator.Attempt, "person"); err != nil {
					return fmt.Errorf("end %s: %w", r.Locator.Attempt, err)
				}
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-e.launcher.Changed():
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d agents did not end in time; see: drover status", left)
		}
	}
}

// conclude prints the end report and answers with the exit code.
func (a *App) conclude(ctx context.Context, e *engine, s *screen, mode reconcile.Mode, selects func(spec.TaskID) bool, began time.Time, timedOut bool, got os.Signal) error {
	if sig, ok := got.(syscall.Signal); ok {
		return &signalError{sig}
	}
	sum, next := e.Tally(selects)
	if sum == (spec.Summary{}) {
		a.Warn("there are no tasks below %s; write one with: drover new task GROUP/01_name", a.Settings.AgentTask.Root)
	}
	if mode == reconcile.Drain || a.JSON || s.output == "json" {
		doc, err := e.doc(context.WithoutCancel(ctx), selects)
		if err != nil {
			return err
		}
		s.report(doc, e, a.Now().Sub(began))
	} else if mode == reconcile.Once {
		s.summary(sum, next)
	}
	if timedOut {
		return exitWith(exitGoesOn)
	}
	return exitWith(outcome(sum))
}

// outcome is the exit code that a summary stands for (COMMANDS 2): 3 while
// something goes on by itself, 2 when a person is needed, else 0.
func outcome(s spec.Summary) int {
	switch {
	case s.GoesOn > 0:
		return exitGoesOn
	case s.Left():
		return exitPerson
	}
	return exitDone
}

// signalError ends the program by the signal that ended the run, so that who
// started it sees the truth.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return "ended by " + e.signal.String() }

// dryRun shows what a pass would do. It takes no lock and works beside an
// owner.
func (a *App) dryRun(ctx context.Context, selects func(spec.TaskID) bool) error {
	doc, err := a.lookAt(ctx, selects)
	if err != nil {
		return err
	}
	if err := a.answer(doc, func(w io.Writer) { writeStatus(w, a, doc, true) }); err != nil {
		return err
	}
	return nil
}
