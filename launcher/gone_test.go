package launcher

import (
	"os"
	"testing"

	"drover/spec"
)

// Somebody removes the directory of an attempt that runs: it goes on living,
// can be stopped, and is lost when it is over.
func TestDirectoryRemovedWhileRunning(t *testing.T) {
	b := newBench(t)
	name := attemptName(0)
	b.start(name, "echo $$ >pid; while [ ! -e go ]; do sleep 0.01; done")
	b.running(name)
	pid := b.pid("pid")
	if err := os.RemoveAll(b.dir(name)); err != nil {
		t.Fatal(err)
	}
	if r, ok := b.see(name); !ok || r.State != spec.RunRunning || !alive(pid) {
		t.Fatalf("state %v, agent lives: %v", r.State, alive(pid))
	}
	if err := b.Stop(b.ctx, name, "person"); err != nil {
		t.Fatal(err)
	}
	r := b.over(name)
	if r.State != spec.RunLost || r.Exit.Class != spec.ClassLost || r.Locator.Task != "group/task" {
		t.Errorf("run %+v", r)
	}
	if alive(pid) {
		t.Error("the agent is left")
	}
}

// The next drover only knows the attempt's name: what is left of it is swept
// before it counts as lost.
func TestDirectoryRemovedBetweenDrovers(t *testing.T) {
	first := newBench(t)
	name := attemptName(0)
	first.start(name, "echo $$ >pid; while :; do sleep 0.1; done")
	first.running(name)
	pid := first.pid("pid")
	if err := os.RemoveAll(first.dir(name)); err != nil {
		t.Fatal(err)
	}
	b := openBench(t, first.root, func(o *Options) {
		o.Active = []spec.Locator{{Attempt: name, Task: "group/task", Role: spec.RoleWorker}}
	})
	r, ok := b.see(name)
	if !ok || r.State != spec.RunOrphaned {
		t.Fatalf("state %v, want orphaned", r.State)
	}
	if err := b.Sweep(b.ctx, name); err != nil {
		t.Fatal(err)
	}
	if r := b.over(name); r.State != spec.RunLost || alive(pid) {
		t.Errorf("state %v, agent lives: %v", r.State, alive(pid))
	}
	// Nothing was ever seen of this one.
	c := openBench(t, first.root, func(o *Options) { o.Active = []spec.Locator{{Attempt: attemptName(7)}} })
	if r, ok := c.see(attemptName(7)); !ok || r.State != spec.RunLost {
		t.Errorf("state %v, want lost", r.State)
	}
}
