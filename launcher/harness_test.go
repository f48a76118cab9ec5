package launcher

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drover/launcher/agent"
	"drover/launcher/proc"
	"drover/launcher/shim"
	"drover/spec"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary plays drover, the shim, and the drover that gets killed.
const (
	envShimKill   = "LAUNCHER_TEST_SHIM_KILL"   // the shim's n-th effect kills it
	envShimFault  = "LAUNCHER_TEST_SHIM_FAULT"  // the first writes of this file fail with ENOSPC
	envDroverKill = "LAUNCHER_TEST_DROVER_KILL" // likewise drover's
	envSubject    = "LAUNCHER_TEST_SUBJECT"     // the folder a subject drover works in
)

func TestMain(m *testing.M) {
	switch {
	case shim.Invoked(os.Args):
		os.Exit(shim.Main(context.Background(), shim.Options{
			Seam:   shimSeam(),
			Agents: func(string) shim.Lookup { return fakes{}.Lookup },
			Now:    time.Now,
		}, os.Args))
	case os.Getenv(envSubject) != "":
		os.Exit(subject(os.Getenv(envSubject)))
	}
	goleak.VerifyTestMain(m)
}

// killAt kills the process at its n-th effect, after telling which it was.
func killAt(n int, tell func(op spec.Op, object string)) spec.Seam {
	var count atomic.Int64
	return func(op spec.Op, object string) error {
		if int(count.Add(1)) == n {
			tell(op, object)
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
		return nil
	}
}

func shimSeam() spec.Seam {
	if n, err := strconv.Atoi(os.Getenv(envShimKill)); err == nil {
		return killAt(n, func(spec.Op, string) {})
	}
	if name := os.Getenv(envShimFault); name != "" {
		var faults atomic.Int64
		return func(op spec.Op, object string) error {
			if op == spec.OpWrite && strings.Contains(object, name) && faults.Add(1) <= 1 {
				return unix.ENOSPC
			}
			return nil
		}
	}
	return nil
}

// fakes know one program: a shell whose script is the prompt, and whose output
// says in plain words what real programs say in JSON.
type fakes struct{}

func (fakes) Lookup(name string) (agent.CLI, bool) {
	return fake{name}, name == "fake" || name == "pi" || name == "absent"
}

type fake struct{ name string }

func (f fake) Name() string { return f.name }

func (f fake) Command(s agent.Spec) (agent.Command, error) {
	if f.name == "absent" {
		return agent.Command{Argv: []string{"no-such-agent-program"}}, nil
	}
	return agent.Command{
		Argv: []string{"sh", "-c", s.Prompt}, SessionID: s.NewSession,
		StdinPrompt: strings.HasPrefix(s.Prompt, "cat"),
	}, nil
}

func (fake) SessionFile(id, dir string, env []string) string { return "" }

func (fake) Reader() agent.Reader { return &fakeReader{} }

type fakeReader struct {
	line   []byte
	status agent.Status
	last   string
}

func (r *fakeReader) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			r.take(string(r.line))
			r.line = r.line[:0]
		} else if len(r.line) < 100 {
			r.line = append(r.line, b)
		}
	}
	return len(p), nil
}

func (r *fakeReader) take(line string) {
	r.status.Noise = line == "RETRY"
	switch line {
	case "TOOL":
		r.status.InTool = true
	case "TOOLEND":
		r.status.InTool = false
	case "COLLAB":
		r.status.ControlViolation = "collab_spawn"
	}
	if word, ok := strings.CutPrefix(line, "RESULT "); ok {
		r.status.Terminal, r.status.Success = true, word == "ok"
		r.last = line
	}
}

func (r *fakeReader) Status() agent.Status { return r.status }

func (r *fakeReader) Finish(end agent.End) agent.Outcome {
	out := agent.Outcome{Class: spec.ClassGenericError, Source: spec.SourceAgentExit, FinalMessage: r.last}
	switch {
	case r.status.Success && (end.Code == 0 || end.EndedBy == "dispatcher"):
		out.Class, out.Source, out.Success = spec.ClassSuccess, "", true
	case end.Stalled:
		out.Class, out.Source = spec.ClassSessionStall, spec.SourceTimeout
	case end.Signal != 0:
		out.Class, out.Source = spec.ClassProcessTerminated, spec.SourceTermination
	}
	return out
}

// bench is one workspace with its Launcher.
type bench struct {
	testing.TB
	*Launcher
	root string
	ctx  context.Context
}

func newBench(t testing.TB, change ...func(*Options)) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return openBench(t, root, change...)
}

// openBench is a drover that comes to a workspace which may have been used.
func openBench(t testing.TB, root string, change ...func(*Options)) *bench {
	t.Helper()
	o := testOptions(root)
	for _, c := range change {
		c(&o)
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b := &bench{TB: t, Launcher: l, root: root, ctx: ctx}
	t.Cleanup(func() {
		if !o.ReadOnly {
			b.endAll()
		}
		cancel()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func testOptions(root string) Options {
	return Options{
		RunsDir: filepath.Join(root, "runs"), Workspace: root, Agents: fakes{}, Now: time.Now, Env: os.Environ(),
	}
}

// endAll leaves no agent of a test behind.
func (b *bench) endAll() {
	runs, _ := b.Observe(b.ctx)
	for _, r := range runs {
		if r.State.Live() {
			_ = b.Stop(b.ctx, r.Locator.Attempt, "dispatcher")
		}
	}
	for _, r := range runs {
		if r.State == spec.RunOrphaned {
			_ = b.Sweep(b.ctx, r.Locator.Attempt)
		} else if b.claimed[r.Locator.Attempt] == nil && r.State.Live() {
			b.over(r.Locator.Attempt)
		}
	}
}

// newStart is a step that runs script.
func newStart(attempt, script string, change ...func(*spec.Locator)) *spec.Start {
	st := &spec.Start{
		Prompt: script,
		Locator: spec.Locator{
			Attempt: attempt, Task: "group/task", Role: spec.RoleWorker, CLI: "fake",
			Limits: spec.ShimLimits{StopGraceMS: 300, AnswerGraceMS: 200, PauseMS: 50},
		},
		Step: spec.Step{Role: spec.RoleWorker, Dir: ".", Doc: "task/PLAN.md"},
	}
	for _, c := range change {
		c(&st.Locator)
	}
	return st
}

// start claims and launches.
func (b *bench) start(attempt, script string, change ...func(*spec.Locator)) {
	b.Helper()
	if err := b.Claim(b.ctx, []*spec.Start{newStart(attempt, script, change...)})[0]; err != nil {
		b.Fatal(err)
	}
	if err := b.Launch(b.ctx, attempt); err != nil {
		b.Fatal(err)
	}
}

// see observes one attempt; false when there is none.
func (b *bench) see(attempt string) (spec.Run, bool) {
	b.Helper()
	runs, err := b.Observe(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range runs {
		if filepath.Base(r.Dir) == attempt {
			return r, true
		}
	}
	return spec.Run{}, false
}

// await observes until cond holds.
func (b *bench) await(attempt, what string, cond func(spec.Run) bool) spec.Run {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, ok := b.see(attempt)
		if ok && cond(r) {
			return r
		}
		select {
		case <-b.Changed():
		case <-tick.C:
		case <-b.ctx.Done():
			b.Fatalf("%s: still %v, waiting for: %s", attempt, r.State, what)
		}
	}
}

func (b *bench) over(attempt string) spec.Run {
	b.Helper()
	return b.await(attempt, "its end", func(r spec.Run) bool { return !r.State.Live() })
}

func (b *bench) running(attempt string) spec.Run {
	b.Helper()
	return b.await(attempt, "its agent", func(r spec.Run) bool { return r.State == spec.RunRunning && r.Locator.AgentPID != 0 })
}

// until polls for something outside of run directories.
func (b *bench) until(what string, cond func() bool) {
	b.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			b.Fatalf("waited in vain for: %s", what)
		}
	}
}

// file is a file of the workspace, "" when it is not there.
func (b *bench) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(b.root, name))
	return string(text)
}

// pid reads a pid that a script wrote to a file of the workspace.
func (b *bench) pid(name string) int {
	b.Helper()
	var pid int
	b.until("pid in "+name, func() bool {
		text := b.file(name)
		n, err := strconv.Atoi(strings.TrimSpace(text))
		pid = n
		return err == nil && strings.HasSuffix(text, "\n")
	})
	return pid
}

func alive(pid int) bool {
	info, err := proc.Get(pid)
	return err == nil && !info.Zombie
}

// marked lists processes that carry the marker of a run.
func (b *bench) marked(attempt string) []proc.Info {
	b.Helper()
	found, err := proc.Search([]proc.Target{{RunDir: b.dir(attempt)}})
	if err != nil {
		b.Fatal(err)
	}
	return found[b.dir(attempt)]
}

func fileHas(path, text string) bool {
	b, err := os.ReadFile(path)
	return err == nil && bytes.Contains(b, []byte(text))
}

func attemptName(n int) string { return fmt.Sprintf("group.task__p1__worker__a%02d", n) }
