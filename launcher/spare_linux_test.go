package launcher

import (
	"testing"

	"drover/launcher/proc"
	"drover/spec"

	"golang.org/x/sys/unix"
)

func withSpare(o *Options) { o.Spare = true }

// spareOf waits for the spare that Observe starts.
func (b *bench) sparePID() int {
	b.Helper()
	if _, err := b.Observe(b.ctx); err != nil {
		b.Fatal(err)
	}
	if b.spare == nil {
		b.Fatal("no spare shim was started")
	}
	return b.spare.pid
}

func TestSpareRunsTheNextAttempt(t *testing.T) {
	b := newBench(t, withSpare)
	for i := range 3 {
		pid := b.sparePID()
		name := attemptName(i)
		b.start(name, "ls /proc/$$/fd >fds; until [ -e go ]; do sleep 0.02; done; echo RESULT ok")
		r := b.running(name)
		if r.Locator.ShimPID != pid {
			t.Errorf("shim %d, want the spare %d", r.Locator.ShimPID, pid)
		}
		if err := b.Stop(b.ctx, name, "person"); err != nil {
			t.Fatal(err)
		}
		if r := b.over(name); r.Exit.Class != spec.ClassStopped || !r.Exit.Swept {
			t.Errorf("exit %+v", r.Exit)
		}
	}
}

// The spare that somebody killed is not missed, and lets go of nothing.
func TestSpareDies(t *testing.T) {
	b := newBench(t, withSpare)
	pid := b.sparePID()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.until("its death", func() bool { return !alive(pid) })
	name := attemptName(0)
	b.start(name, "echo RESULT ok")
	if r := b.over(name); r.Exit.Class != spec.ClassSuccess || r.Locator.ShimPID == pid {
		t.Errorf("exit %+v", r.Exit)
	}
}

// A spare never outlives its drover, and a launcher that is closed leaves none.
func TestSpareEndsWithDrover(t *testing.T) {
	b := newBench(t, withSpare)
	pid := b.sparePID()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := proc.Get(pid); err == nil {
		t.Error("the spare is still there")
	}
}
