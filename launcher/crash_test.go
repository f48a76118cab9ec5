package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"drover/launcher/rundir"
	"drover/spec"

	"golang.org/x/sys/unix"
)

// subject is a drover that is killed at one of its effects: it claims and
// launches one attempt in the folder root and tells the effect on stdout.
func subject(root string) int {
	o := testOptions(root)
	n, _ := strconv.Atoi(os.Getenv(envDroverKill))
	o.Seam = killAt(n, func(op spec.Op, object string) { fmt.Printf("%s %s\n", op, filepath.Base(object)) })
	l, err := New(o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	st := newStart(attemptName(0), "echo x >>ran; echo RESULT ok")
	if err := l.Claim(context.Background(), []*spec.Start{st})[0]; err != nil {
		fmt.Println(err)
		return 1
	}
	if err := l.Launch(context.Background(), attemptName(0)); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("survived")
	return 0
}

// drover is killed between every two effects of a claim (CASES 20). Before the
// rename there is no attempt; after it, one that never started; once the shim
// has the lock, the agent runs exactly once.
func TestDroverKilledAtEveryEffect(t *testing.T) {
	renamed := false
	for n := 1; ; n++ {
		root, _ := filepath.EvalSymlinks(t.TempDir())
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envSubject+"="+root, envDroverKill+"="+strconv.Itoa(n))
		out, _ := cmd.CombinedOutput()
		last := strings.TrimSpace(string(out))
		t.Run(fmt.Sprintf("%d %s", n, last), func(t *testing.T) {
			b := openBench(t, root)
			if last == "survived" {
				if r := b.over(attemptName(0)); r.Exit.Class != spec.ClassSuccess || b.file("ran") != "x\n" {
					t.Errorf("state %v, exit %+v, ran %q", r.State, r.Exit, b.file("ran"))
				}
				return
			}
			r, ok := b.see(attemptName(0))
			if ok != renamed || ok && r.State != spec.RunUnstarted {
				t.Errorf("an attempt: %v, state %v; renamed: %v", ok, r.State, renamed)
			}
			if b.file("ran") != "" {
				t.Error("the agent ran")
			}
			left, _ := filepath.Glob(filepath.Join(b.RunsDir, ".new-*"))
			if len(left) != 0 {
				t.Errorf("left over: %v", left)
			}
		})
		if last == "survived" {
			break
		}
		if cmd.ProcessState.ExitCode() >= 0 || n > 50 {
			t.Fatalf("the subject was not killed: %s", last)
		}
		// Killed just before the rename; from the next effect on it stands.
		renamed = renamed || strings.HasPrefix(last, "rename ")
	}
	if !renamed {
		t.Error("no effect was the rename")
	}
}

// The shim is killed at every one of its effects. Whatever it left, one sweep
// makes the attempt lost, ended or unstarted, no process of it lives, and the
// agent ran at most once.
func TestShimKilledAtEveryEffect(t *testing.T) {
	script := `echo x >>ran; (setsid sh -c 'exec sleep 300' &); echo RESULT ok; sleep 0.05`
	states := map[spec.RunState]bool{}
	for n := 1; ; n++ {
		var state spec.RunState
		var ran string
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			b := newBench(t, func(o *Options) { o.Env = append(os.Environ(), envShimKill+"="+strconv.Itoa(n)) })
			name := attemptName(0)
			b.start(name, script)
			r := b.await(name, "the shim's death", func(r spec.Run) bool {
				return r.State != spec.RunStarting && r.State != spec.RunRunning
			})
			states[r.State] = true
			if r.State == spec.RunOrphaned {
				if err := b.Sweep(b.ctx, name); err != nil {
					t.Fatal(err)
				}
				r = b.over(name)
			}
			if left := b.marked(name); len(left) != 0 {
				t.Errorf("processes are left: %v", left)
			}
			state, ran = r.State, b.file("ran")
			if ran != "" && ran != "x\n" || r.State == spec.RunUnstarted && ran != "" || r.State == spec.RunEnded && ran == "" {
				t.Errorf("state %v, ran %q", r.State, ran)
			}
		})
		if state == spec.RunEnded || t.Failed() || n > 60 {
			break
		}
	}
	for _, s := range []spec.RunState{spec.RunUnstarted, spec.RunLost, spec.RunOrphaned, spec.RunEnded} {
		if !states[s] {
			t.Errorf("no kill led to %v", s)
		}
	}
}

// kill -9 of the shim while the agent and double-forked grandchildren without
// the marker run.
func TestShimKilledWithFamily(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, `echo $$ >agent; (setsid env -i PATH="$PATH" sh -c 'echo $$ >orphan; exec sleep 300' &) ; sleep 300`)
	r := b.running(name)
	agentPID, orphan := b.pid("agent"), b.pid("orphan")
	if err := unix.Kill(r.Locator.ShimPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await(name, "orphaned", func(r spec.Run) bool { return r.State == spec.RunOrphaned })
	b.until("the agent's death by its parent's", func() bool { return !alive(agentPID) })
	if !alive(orphan) {
		t.Fatal("the grandchild is gone already: nothing is tested")
	}
	if err := b.Sweep(b.ctx, name); err != nil {
		t.Fatal(err)
	}
	if alive(orphan) {
		t.Error("the grandchild survived the sweep")
	}
	r = b.over(name)
	if r.State != spec.RunLost || r.Exit.Class != spec.ClassLost || r.Locator.FailureClass != spec.ClassLost {
		t.Errorf("state %v, exit %+v", r.State, r.Exit)
	}
}

// A process that only looks like the attempt's is never signalled: the same
// argv, a recycled number, an older one with the marker.
func TestStrangersLive(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	stranger := exec.Command("sleep", "300")
	stranger.Dir = b.root
	old := exec.Command("sleep", "300")
	old.Env = append(os.Environ(), "DROVER_RUN_DIR="+b.dir(name))
	for _, c := range []*exec.Cmd{stranger, old} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	}
	// Start times have the grain of the clock tick: let the attempt be younger.
	tick := time.NewTicker(30 * time.Millisecond)
	<-tick.C
	tick.Stop()
	b.start(name, "sleep 300")
	r := b.running(name)
	if err := unix.Kill(r.Locator.ShimPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await(name, "the shim's death", func(r spec.Run) bool { return r.State != spec.RunRunning })
	if err := b.Sweep(b.ctx, name); err != nil {
		t.Fatal(err)
	}
	if r := b.over(name); r.State != spec.RunLost {
		t.Errorf("state %v", r.State)
	}
	if !alive(stranger.Process.Pid) || !alive(old.Process.Pid) {
		t.Error("a stranger was killed")
	}
	// shim.json names a number that a stranger has by now.
	var id rundir.ShimID
	if err := rundir.Read(r.Dir, rundir.Shim, &id); err != nil {
		t.Fatal(err)
	}
	id.PID = stranger.Process.Pid
	if err := rundir.Write(nil, r.Dir, rundir.Shim, id); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Dir, rundir.Alive)); err != nil {
		t.Fatal(err)
	}
	lock, err := rundir.TakeLock(nil, r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := b.Stop(b.ctx, name, "person"); err != nil {
		t.Fatal(err)
	}
	if !alive(stranger.Process.Pid) {
		t.Error("a stranger with the shim's number was signalled")
	}
}

// What a reboot leaves: another boot id, a free lock.
func TestAfterReboot(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "sleep 300")
	r := b.running(name)
	copyRun(t, b, name, attemptName(1), func(loc *spec.Locator) { loc.BootID = "another" })
	got, _ := b.see(attemptName(1))
	if got.State != spec.RunLost || !strings.Contains(got.Exit.Evidence.Excerpt, "restarted") {
		t.Errorf("state %v, exit %+v", got.State, got.Exit)
	}
	if again, _ := b.see(name); again.State != spec.RunRunning || again.Locator.AgentPID != r.Locator.AgentPID {
		t.Errorf("the living one: %v", again.State)
	}
}

// copyRun makes a run directory with another's locator and shim.json.
func copyRun(t *testing.T, b *bench, from, to string, change func(*spec.Locator)) {
	t.Helper()
	var loc spec.Locator
	var id rundir.ShimID
	err := errors.Join(os.Mkdir(b.dir(to), 0o700),
		rundir.Read(b.dir(from), rundir.Locator, &loc), rundir.Read(b.dir(from), rundir.Shim, &id))
	if err != nil {
		t.Fatal(err)
	}
	loc.Attempt = to
	change(&loc)
	err = errors.Join(rundir.Write(nil, b.dir(to), rundir.Locator, loc), rundir.Write(nil, b.dir(to), rundir.Shim, id),
		os.WriteFile(filepath.Join(b.dir(to), rundir.Alive), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFiles(t *testing.T) {
	for _, tt := range []struct{ name, file, text string }{
		{"exit.json empty", rundir.Exit, ""},
		{"exit.json cut", rundir.Exit, `{"version":1,"code":`},
		{"exit.json zeroed", rundir.Exit, "\x00\x00\x00\x00"},
		{"locator.json empty", rundir.Locator, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.start(attemptName(0), "echo RESULT ok")
			b.over(attemptName(0))
			if err := os.WriteFile(filepath.Join(b.dir(attemptName(0)), tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.file == rundir.Locator {
				if err := os.Remove(filepath.Join(b.dir(attemptName(0)), rundir.Exit)); err != nil {
					t.Fatal(err)
				}
			}
			after := openBench(t, b.root)
			r, ok := after.see(attemptName(0))
			if !ok || r.State != spec.RunLost || r.Damage == nil || !strings.HasSuffix(r.Damage.File, tt.file) {
				t.Errorf("state %v, damage %v", r.State, r.Damage)
			}
		})
	}
}

// An attempt whose lock cannot be asked for blocks its own task and no other.
func TestUnreadableLock(t *testing.T) {
	b := newBench(t)
	for i := range 2 {
		b.start(attemptName(i), "echo RESULT ok")
		b.over(attemptName(i))
	}
	alive := filepath.Join(b.dir(attemptName(0)), rundir.Alive)
	if err := errors.Join(os.Remove(alive), os.Symlink(alive, alive)); err != nil {
		t.Fatal(err)
	}
	after := openBench(t, b.root)
	if r, _ := after.see(attemptName(0)); r.State != spec.RunOrphaned || r.Damage == nil {
		t.Errorf("state %v, damage %v", r.State, r.Damage)
	}
	if err := after.Sweep(after.ctx, attemptName(0)); err == nil {
		t.Error("it was swept")
	}
	if r, _ := after.see(attemptName(1)); r.State != spec.RunEnded {
		t.Errorf("the other: %v", r.State)
	}
	if err := os.Remove(alive); err != nil {
		t.Fatal(err)
	}
}

// A second drover finds the same agent process and sees how it ends (CASES 12).
func TestAdoption(t *testing.T) {
	first := newBench(t, func(*Options) {})
	for i, code := range []string{"0", "7"} {
		first.start(attemptName(i), "echo $$ >>agents; until [ -e go ]; do sleep 0.02; done; [ "+code+" = 0 ] && echo RESULT ok; exit "+code)
		first.running(attemptName(i))
	}
	second := openBench(t, first.root)
	before := second.running(attemptName(0))
	if err := os.WriteFile(filepath.Join(first.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-second.Changed():
	case <-second.ctx.Done():
		t.Fatal("the adopter was not told of the end")
	}
	ok, failed := second.over(attemptName(0)), second.over(attemptName(1))
	if ok.Exit.Class != spec.ClassSuccess || failed.Exit.Code != 7 || failed.Exit.Class != spec.ClassGenericError {
		t.Errorf("exits %+v and %+v", ok.Exit, failed.Exit)
	}
	if ok.Locator.AgentPID != before.Locator.AgentPID || strings.Count(first.file("agents"), "\n") != 2 {
		t.Errorf("agents: %q", first.file("agents"))
	}
}
