package launcher

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/launcher/rundir"
	"drover/spec"

	"golang.org/x/sys/unix"
)

func TestStopByPerson(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "trap 'echo bye >bye; exit 1' TERM; echo $$ >pid; sleep 300 & wait")
	b.running(name)
	pid := b.pid("pid")
	if err := b.Stop(b.ctx, name, "person"); err != nil {
		t.Fatal(err)
	}
	r := b.over(name)
	if r.Exit.Class != spec.ClassStopped || r.Exit.EndedBy != "person" || r.Locator.TerminationInitiator != "person" {
		t.Errorf("exit %+v", r.Exit)
	}
	if b.file("bye") == "" {
		t.Error("the agent was not asked first")
	}
	if alive(pid) || len(b.marked(name)) != 0 {
		t.Error("something is left")
	}
	if err := b.Stop(b.ctx, name, "person"); err != nil {
		t.Errorf("stop of an ended attempt: %v", err)
	}
}

// An agent that ignores TERM is killed after its grace, with all it started.
func TestStopOfStubbornAgent(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, `trap '' TERM; (setsid env -i sh -c 'trap "" TERM; echo $$ >orphan; while :; do sleep 1; done' >/dev/null 2>&1 &); echo $$ >pid; while :; do sleep 1; done`)
	pid, orphan := b.pid("pid"), b.pid("orphan")
	if err := b.Stop(b.ctx, name, "dispatcher"); err != nil {
		t.Fatal(err)
	}
	r := b.over(name)
	if r.Exit.Signal != int(syscall.SIGKILL) || r.Exit.EndedBy != "dispatcher" || !r.Exit.Swept {
		t.Errorf("exit %+v", r.Exit)
	}
	if alive(pid) || alive(orphan) {
		t.Error("something is left")
	}
}

func TestStopBetweenClaimAndLaunch(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	if err := b.Claim(b.ctx, []*spec.Start{newStart(name, "echo x >ran")})[0]; err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(b.ctx, name, "person"); err != nil {
		t.Fatal(err)
	}
	if err := b.Launch(b.ctx, name); err != nil {
		t.Fatal(err)
	}
	if r := b.over(name); r.Exit.Class != spec.ClassStopped || r.Exit.EndedBy != "person" || b.file("ran") != "" {
		t.Errorf("exit %+v, ran %q", r.Exit, b.file("ran"))
	}
}

// The file alone is enough: a shim in another pid namespace gets no signal.
func TestStopByFile(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "sleep 300")
	r := b.running(name)
	if err := rundir.Publish(nil, r.Dir, rundir.Stop, []byte("person")); err != nil {
		t.Fatal(err)
	}
	if r := b.over(name); r.Exit.Class != spec.ClassStopped || r.Exit.EndedBy != "person" {
		t.Errorf("exit %+v", r.Exit)
	}
}

// SIGTERM from nobody we know ends the agent with a record (seed 003:
// process-terminated, initiator unknown).
func TestTermFromOutside(t *testing.T) {
	for _, victim := range []string{"shim", "agent"} {
		t.Run(victim, func(t *testing.T) {
			b := newBench(t)
			name := attemptName(0)
			b.start(name, "exec sleep 300")
			r := b.running(name)
			pid := r.Locator.ShimPID
			if victim == "agent" {
				pid = r.Locator.AgentPID
			}
			if err := unix.Kill(pid, unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			r = b.over(name)
			if r.Exit.Class != spec.ClassProcessTerminated || r.Exit.EndedBy != "unknown" || r.Exit.Source != spec.SourceTermination ||
				r.Exit.Signal != int(syscall.SIGTERM) || r.Exit.Code != 143 {
				t.Errorf("exit %+v", r.Exit)
			}
		})
	}
}

// The shim survives what a terminal or a dying login sends.
func TestShimSurvivesHangup(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "until [ -e go ]; do sleep 0.02; done; echo RESULT ok")
	r := b.running(name)
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGPIPE} {
		if err := unix.Kill(r.Locator.ShimPID, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.over(name); r.Exit.Class != spec.ClassSuccess {
		t.Errorf("exit %+v", r.Exit)
	}
}

// An agent prints its result and exits but its child holds stdout open (CASES 15).
func TestHungPipe(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "sleep 300 & echo $! >child; echo RESULT ok")
	r := b.over(name)
	if r.Exit.Class != spec.ClassSuccess || r.Exit.EndedBy != "agent" || alive(b.pid("child")) {
		t.Errorf("exit %+v, child alive %v", r.Exit, alive(b.pid("child")))
	}
	if took := r.Exit.EndedAt.Sub(r.Exit.StartedAt); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// An agent says its last word and stays: it is ended, and counts as what it said.
func TestAnsweredAndStays(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "echo RESULT ok; sleep 300")
	if r := b.over(name); r.Exit.Class != spec.ClassSuccess || r.Exit.EndedBy != "dispatcher" || !r.Result.Success {
		t.Errorf("exit %+v", r.Exit)
	}
}

func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name, script, phase string
		tool                bool
	}{
		{"model", "echo thinking; sleep 300", "model", false},
		{"retries are no progress", "echo thinking; while :; do echo RETRY; sleep 0.1; done", "model", false},
		{"tool", "echo TOOL; while :; do echo output; sleep 0.1; done", "tool", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			name := attemptName(0)
			b.start(name, tt.script, func(l *spec.Locator) {
				l.Limits.InspectMS, l.Limits.ToolMS, l.Limits.EndMS = 300, 1000, 1000
			})
			r := b.over(name)
			if r.Exit.Class != spec.ClassSessionStall || r.Exit.TimeoutPhase != tt.phase || r.Exit.StalledInTool != tt.tool ||
				r.Exit.EndedBy != "dispatcher" || r.Exit.Source != spec.SourceTimeout || r.Exit.TimeoutSeconds != 1 {
				t.Errorf("exit %+v", r.Exit)
			}
			if inspected := r.Locator.StreamSilenceInspection != nil; inspected == tt.tool {
				t.Errorf("inspected: %v, in a tool: %v", inspected, tt.tool)
			}
		})
	}
}

// Tools one after another are no long tool.
func TestManyShortTools(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "for i in 1 2 3 4 5 6 7 8; do echo TOOL; sleep 0.25; echo TOOLEND; done; echo RESULT ok",
		func(l *spec.Locator) { l.Limits.ToolMS, l.Limits.EndMS = 1200, 1200 })
	if r := b.over(name); r.Exit.Class != spec.ClassSuccess {
		t.Errorf("exit %+v", r.Exit)
	}
}

func TestInspectionEndsNothing(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "echo last words; until [ -e go ]; do sleep 0.02; done; echo RESULT ok", func(l *spec.Locator) {
		l.CLI, l.Limits.InspectMS = "pi", 100
	})
	r := b.await(name, "inspection", func(r spec.Run) bool { return r.Locator.PiSilenceInspection != nil })
	if r.State != spec.RunRunning || r.Locator.PiSilenceInspection.Tail != "last words\n" {
		t.Errorf("state %v, inspection %+v", r.State, r.Locator.PiSilenceInspection)
	}
	if err := os.WriteFile(filepath.Join(b.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.over(name); r.Exit.Class != spec.ClassSuccess {
		t.Errorf("exit %+v", r.Exit)
	}
}

func TestReviewControl(t *testing.T) {
	for _, control := range []bool{true, false} {
		b := newBench(t)
		name := attemptName(0)
		b.start(name, "echo COLLAB; sleep 0.5; echo RESULT ok", func(l *spec.Locator) { l.Limits.ReviewControl = control })
		r := b.over(name)
		want := spec.ClassSuccess
		if control {
			want = spec.ClassReviewControl
		}
		if r.Exit.Class != want {
			t.Errorf("control %v: exit %+v", control, r.Exit)
		}
	}
}

// An agent that prints without end is held to the cap on disk; its first bytes
// and its last word stay (CASES 14, 19).
func TestEndlessPrinter(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	const logCap = 8 << 20
	b.start(name, "echo first line; yes 'some output of a tool that does not end' | head -c 300000000; echo; echo RESULT ok",
		func(l *spec.Locator) { l.Limits.LogCap = logCap })
	r := b.over(name)
	if r.Exit.Class != spec.ClassSuccess {
		t.Errorf("exit %+v", r.Exit)
	}
	var st unix.Stat_t
	if err := unix.Stat(r.Locator.StreamLog, &st); err != nil {
		t.Fatal(err)
	}
	t.Logf("stream.log: %d bytes, %d on disk", st.Size, st.Blocks*512)
	if st.Size < 300000000 || st.Blocks*512 > 2*logCap {
		t.Errorf("%d bytes take %d on disk", st.Size, st.Blocks*512)
	}
	head := make([]byte, 11)
	f, err := os.Open(r.Locator.StreamLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(head); err != nil || string(head) != "first line\n" {
		t.Errorf("the head is %q", head)
	}
}

func TestAgentCutsItsOwnLog(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "echo one line of output; sleep 0.4; echo x >/dev/stdout; echo a much longer line than before; echo RESULT ok",
		func(l *spec.Locator) {})
	r := b.over(name)
	if !r.Exit.LogTruncatedByAgent {
		b, _ := os.ReadFile(r.Locator.StreamLog)
		t.Errorf("the cut went unnoticed; log %q", b)
	}
}

// A full disk when the record is written is waited for.
func TestRecordWaitsForDisk(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Env = append(os.Environ(), envShimFault+"="+rundir.Exit) })
	name := attemptName(0)
	b.start(name, "echo RESULT ok")
	if r := b.over(name); r.Exit.Class != spec.ClassSuccess {
		t.Errorf("state %v, exit %+v", r.State, r.Exit)
	}
	if !strings.Contains(b.file("runs/"+name+"/heartbeat.log"), "no space left") {
		t.Error("the shim did not say why it waited")
	}
}

// Observing what did not change costs no reading.
func TestObserveRemembers(t *testing.T) {
	b := newBench(t)
	b.start(attemptName(0), "echo RESULT ok")
	b.over(attemptName(0))
	first, err := b.Observe(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	// A remembered run is not read again: what happens to its files goes unseen.
	if err := os.Remove(filepath.Join(b.dir(attemptName(0)), rundir.Exit)); err != nil {
		t.Fatal(err)
	}
	again, err := b.Observe(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if &first[0] != &again[0] {
		t.Error("the answer was made anew")
	}
}

// Somebody who only looks changes nothing.
func TestReadOnly(t *testing.T) {
	b := newBench(t)
	half := filepath.Join(b.RunsDir, rundir.Unclaimed+"1234")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	looker := openBench(t, b.root, func(o *Options) { o.ReadOnly = true })
	if runs, err := looker.Observe(looker.ctx); err != nil || len(runs) != 0 {
		t.Errorf("runs %v, error %v", runs, err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Error("the claim under way was deleted")
	}
	if _, err := b.Observe(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("the owner kept what is no claim")
	}
}
