package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"drover/launcher/proc"
	"drover/launcher/rundir"
	"drover/spec"

	"golang.org/x/sys/unix"
)

func TestAttemptFromClaimToEnd(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, `echo $$ >pid; env >env; readlink /proc/$$/fd/0 >stdin; ls /proc/$$/fd >fds; pwd >cwd; ps -o sid= -p $$ >sid; echo RESULT ok; echo note >&2`)
	r := b.over(name)
	if r.State != spec.RunEnded || r.Exit.Class != spec.ClassSuccess || !r.Result.Success || r.Exit.EndedBy != "agent" || !r.Exit.Swept {
		t.Fatalf("state %v, exit %+v", r.State, r.Exit)
	}
	pid := strings.TrimSpace(b.file("pid"))
	if strings.TrimSpace(b.file("sid")) != pid {
		t.Errorf("the agent %s leads no session of its own: %q", pid, b.file("sid"))
	}
	if got := b.file("stdin"); got != "/dev/null\n" {
		t.Errorf("stdin is %q", got)
	}
	if got := b.file("cwd"); got != b.root+"\n" {
		t.Errorf("cwd is %q, want %s", got, b.root)
	}
	if got := strings.Fields(b.file("fds")); len(got) > 4 {
		t.Errorf("the agent inherited descriptors: %v", got)
	}
	for _, mark := range []string{
		"DROVER_TASK=group/task", "DROVER_ROLE=worker", "DROVER_ATTEMPT=" + name,
		"DROVER_RUN_DIR=" + r.Dir, "DROVER_DOC=" + b.root + "/task/PLAN.md",
	} {
		if !strings.Contains("\n"+b.file("env"), "\n"+mark+"\n") {
			t.Errorf("the agent lacks %s", mark)
		}
	}
	if !fileHas(r.Locator.StreamLog, "RESULT ok") || !fileHas(r.Locator.StderrLog, "note") {
		t.Error("the output is not in its files")
	}
	loc := r.Locator
	if loc.AgentPID == 0 || loc.AgentStart == "" || loc.ShimPID == 0 || loc.StartedAt.IsZero() || loc.BootID == "" ||
		loc.DispatcherPID != os.Getpid() || len(loc.DispatcherSourceSHA256) != 64 || !loc.DispatcherSourceMatchesLoaded {
		t.Errorf("the locator lacks something: %+v", loc)
	}
}

func TestPromptAsInput(t *testing.T) {
	b := newBench(t)
	b.start(attemptName(0), "cat >prompt.copy; echo RESULT ok")
	b.over(attemptName(0))
	if got := b.file("prompt.copy"); !strings.HasPrefix(got, "cat >prompt.copy") {
		t.Errorf("stdin was %q", got)
	}
}

func TestFiftyClaimsAtOnce(t *testing.T) {
	b := newBench(t)
	var starts []*spec.Start
	for i := range 50 {
		starts = append(starts, newStart(attemptName(i), "echo x >>ran; echo RESULT ok"))
	}
	for i, err := range b.Claim(b.ctx, starts) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := b.see(attemptName(i)); !ok || r.State != spec.RunStarting {
			t.Fatalf("attempt %d: %v", i, r.State)
		}
	}
	for i := range starts {
		if err := b.Launch(b.ctx, attemptName(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range starts {
		if r := b.over(attemptName(i)); r.Exit.Class != spec.ClassSuccess {
			t.Errorf("attempt %d: %+v", i, r.Exit)
		}
	}
	if n := strings.Count(b.file("ran"), "x"); n != 50 {
		t.Errorf("%d agents ran, want 50", n)
	}
}

func TestClaimOfTakenName(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	starts := []*spec.Start{newStart(name, "echo x >>ran; echo RESULT ok"), newStart(name, "echo x >>ran; echo RESULT ok")}
	errs := b.Claim(b.ctx, starts)
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), ErrClaimed) {
		t.Fatalf("errors %v: want one claim and one ErrClaimed", errs)
	}
	if err := b.Launch(b.ctx, name); err != nil {
		t.Fatal(err)
	}
	b.over(name)
	if err := b.Launch(b.ctx, name); err == nil {
		t.Error("one claim was launched twice")
	}
	if got := b.file("ran"); got != "x\n" {
		t.Errorf("ran %q", got)
	}
}

func TestClaimOfMissingProgram(t *testing.T) {
	b := newBench(t)
	st := newStart(attemptName(0), "", func(l *spec.Locator) { l.CLI = "absent" })
	err := b.Claim(b.ctx, []*spec.Start{st})[0]
	if !errors.Is(err, ErrCLIMissing) || !strings.Contains(err.Error(), os.Getenv("PATH")) {
		t.Fatalf("error %v: want ErrCLIMissing and the PATH", err)
	}
	if entries, _ := os.ReadDir(b.RunsDir); len(entries) != 0 {
		t.Errorf("a run directory was made: %v", entries)
	}
}

// The program is there at the claim and gone at the start.
func TestProgramVanishes(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	if err := b.Claim(b.ctx, []*spec.Start{newStart(name, "")})[0]; err != nil {
		t.Fatal(err)
	}
	var loc spec.Locator
	if err := rundir.Read(b.dir(name), rundir.Locator, &loc); err != nil {
		t.Fatal(err)
	}
	loc.Argv[0] = filepath.Join(b.root, "gone")
	if err := rundir.Write(nil, b.dir(name), rundir.Locator, loc); err != nil {
		t.Fatal(err)
	}
	if err := b.Launch(b.ctx, name); err != nil {
		t.Fatal(err)
	}
	r := b.over(name)
	if r.Exit.Class != spec.ClassCLIMissing || !strings.Contains(r.Exit.Evidence.Excerpt, "PATH") {
		t.Errorf("exit %+v", r.Exit)
	}
}

func TestWorkingFolderVanishes(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "echo RESULT ok", func(l *spec.Locator) { l.Cwd = filepath.Join(b.root, "nowhere") })
	if r := b.over(name); r.Exit.Class != spec.ClassInfra {
		t.Errorf("exit %+v", r.Exit)
	}
}

// An agent that starts drover must not lend it its own markers.
func TestMarkersAreNotInherited(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Env = append(os.Environ(), proc.EnvRunDir+"=/other/run", proc.EnvOut+"=/x") })
	b.start(attemptName(0), "env >env; echo RESULT ok")
	r := b.over(attemptName(0))
	if env := b.file("env"); strings.Contains(env, "/other/run") || strings.Contains(env, proc.EnvOut) ||
		!strings.Contains(env, proc.EnvRunDir+"="+r.Dir) {
		t.Errorf("environment of the agent:\n%s", env)
	}
}

func TestRemove(t *testing.T) {
	b := newBench(t)
	b.start(attemptName(0), "echo RESULT ok")
	b.start(attemptName(1), "sleep 60")
	b.over(attemptName(0))
	b.running(attemptName(1))
	if err := b.Remove(b.ctx, []string{attemptName(0), attemptName(1), "never"}); err == nil {
		t.Error("a running attempt was removed")
	}
	if _, ok := b.see(attemptName(0)); ok {
		t.Error("the removed attempt is still observed")
	}
	entries, _ := os.ReadDir(b.RunsDir)
	if len(entries) != 1 || entries[0].Name() != attemptName(1) {
		t.Errorf("left in runs: %v", entries)
	}
	// The name is free for a new task.
	b.start(attemptName(0), "echo RESULT ok")
	if r := b.over(attemptName(0)); r.Exit.Class != spec.ClassSuccess {
		t.Errorf("exit %+v", r.Exit)
	}
}

// A claim that is taken back before its start leaves nothing that looks alive.
func TestRemoveOfClaim(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	for range 2 { // the name is free again
		if err := b.Claim(b.ctx, []*spec.Start{newStart(name, "")})[0]; err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(b.ctx, []string{name}); err != nil {
			t.Fatal(err)
		}
		if r, ok := b.see(name); ok {
			t.Errorf("still observed: %v", r.State)
		}
	}
	if err := b.Launch(b.ctx, name); err == nil {
		t.Error("a claim that was taken back was launched")
	}
}

// A full disk at any effect of a claim: an error, and nothing that counts as
// an attempt which may run.
func TestClaimFaultAtEveryEffect(t *testing.T) {
	for n := 1; ; n++ {
		count := 0
		var mu sync.Mutex
		var failed spec.Op
		b := newBench(t, func(o *Options) {
			o.Seam = func(op spec.Op, object string) error {
				mu.Lock()
				defer mu.Unlock()
				if count++; count == n {
					failed = op
					return unix.ENOSPC
				}
				return nil
			}
		})
		st := newStart(attemptName(0), "echo x >>ran")
		err := b.Claim(b.ctx, []*spec.Start{st})[0]
		if err == nil {
			if n < 8 {
				t.Fatalf("effect %d did not fail", n)
			}
			return
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("effect %d, %s: %v", n, failed, err)
		}
		if r, ok := b.see(attemptName(0)); ok && r.State != spec.RunUnstarted {
			t.Errorf("effect %d, %s: state %v", n, failed, r.State)
		}
		if err := b.Launch(b.ctx, attemptName(0)); err == nil {
			t.Errorf("effect %d, %s: a failed claim was launched", n, failed)
		}
		left, _ := filepath.Glob(filepath.Join(b.RunsDir, ".new-*"))
		if len(left) != 0 {
			t.Errorf("effect %d, %s: left %v", n, failed, left)
		}
	}
}

// An error at the start frees the lock: the attempt was not started.
func TestLaunchFault(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Seam = func(op spec.Op, object string) error {
			if op == spec.OpStart {
				return unix.EAGAIN
			}
			return nil
		}
	})
	if err := b.Claim(b.ctx, []*spec.Start{newStart(attemptName(0), "")})[0]; err != nil {
		t.Fatal(err)
	}
	if err := b.Launch(b.ctx, attemptName(0)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("error %v", err)
	}
	if r, _ := b.see(attemptName(0)); r.State != spec.RunUnstarted || r.Exit.Class != spec.ClassNotStarted {
		t.Errorf("state %v, exit %+v", r.State, r.Exit)
	}
}
