package reconcile

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"drover/spec"
)

// Options are what a Loop works with.
type Options struct {
	Root     string // of the workspace, absolute
	Dialects []spec.Dialect
	Files    Files
	Journal  Journal
	Launcher Launcher
	Policy   spec.Policy
	Memory   *spec.Memory
	Seen     map[spec.TaskID]spec.Seen
	Now      func() time.Time
	// Tell gets notices in the order in which they happen; nil for none.
	Tell func(Notice)
	// Selects limits what may start to the tasks it accepts; nil accepts all.
	Selects func(spec.TaskID) bool
	// Settings is a hash of what programs and routes are set to.
	Settings string
	// Looked: Files was brought up to date just now, so the first pass need not
	// verify everything again.
	Looked bool
	// Probe lets a stopped route try again after the policy's ProviderMax
	// (watch mode only, DESIGN 9).
	Probe bool
}

// Loop reconciles a workspace. It is used by one goroutine.
type Loop struct {
	Options
	deps      *deps
	tree      spec.Tree
	branches  map[reader][]spec.Unit
	problems  map[reader][]spec.Problem
	units     map[spec.Unit]*standing
	taskUnit  map[spec.TaskID]spec.Unit
	waiters   map[string]map[spec.Unit]struct{} // by name of what they wait for
	runs      map[spec.TaskID][]spec.Run
	dirty     map[spec.Unit]struct{}
	stale     map[spec.Unit]struct{}  // files changed; decided at the next scan
	mine      map[spec.Unit]struct{}  // between scans: the units that files may mark
	queue     []spec.Unit             // units with a task that waits for a slot, oldest first
	vacant    bool                    // one left the queue, or its slot, without an attempt that ended
	queued    map[spec.Unit]bool      // of those in the queue: whether they still wait
	looks     map[spec.Unit]time.Time // when a timer of a unit ends
	probes    map[spec.Unit]string    // units that try a stopped program again
	turned    []string                // programs that were stopped or freed in this pass
	silent    map[string]time.Time    // attempt → the last look into its silence that was told
	stopping  map[string]bool
	listed    bool // the dialects were asked for their units
	entered   bool
	ending    bool                   // a request asked drover itself to end
	events    []spec.Event           // to be recorded
	rollups   []spec.Rollup          // likewise
	patient   bool                   // wait where drover's own state cannot be written
	broken    error                  // it cannot be written now
	regrouped map[string]*spec.Group // groups with a task whose state changed
	unsaved   bool
	savedAt   time.Time
	done      int  // tasks that became complete in this process
	ran       int  // attempts that ended in this process
	acted     bool // this process had an effect
	used      spec.Usage
	removes   []string // run directories to go once the memory is saved
	retries   map[spec.TaskID]infraWait
}

// standing is what the last decision said of a unit.
type standing struct {
	tasks    []spec.TaskDecision
	problems []spec.Problem
}

// infraWait keeps a task back whose effects failed for want of something that
// comes back by itself.
type infraWait struct {
	until  time.Time
	reason spec.Reason
	n      int
}

// New is a loop that has looked at nothing yet.
func New(o Options) *Loop {
	if o.Memory == nil {
		o.Memory = spec.NewMemory()
	}
	if o.Seen == nil {
		o.Seen = map[spec.TaskID]spec.Seen{}
	}
	return &Loop{
		Options: o, deps: newDeps(),
		branches: map[reader][]spec.Unit{}, problems: map[reader][]spec.Problem{},
		units: map[spec.Unit]*standing{}, taskUnit: map[spec.TaskID]spec.Unit{},
		waiters: map[string]map[spec.Unit]struct{}{}, runs: map[spec.TaskID][]spec.Run{},
		dirty: map[spec.Unit]struct{}{}, stale: map[spec.Unit]struct{}{}, stopping: map[string]bool{}, silent: map[string]time.Time{},
		retries: map[spec.TaskID]infraWait{}, queued: map[spec.Unit]bool{}, looks: map[spec.Unit]time.Time{},
		probes: map[spec.Unit]string{}, regrouped: map[string]*spec.Group{},
	}
}

// look brings what is known up to date with the disk: the runs, the tree, the
// lists of units. It marks what must be decided again. The attempts come
// first: files are read after the end of an attempt is known, so that it is
// never judged by what they said before it.
func (l *Loop) look(ctx context.Context, hints []string) error {
	over, err := l.observe(ctx)
	if err != nil {
		return err
	}
	if l.mine != nil {
		maps.Copy(l.mine, over)
	}
	if err := l.read(ctx, hints); err != nil || hints == nil {
		return err
	}
	return l.reread(ctx, sortedUnits(over))
}

// read takes a new snapshot and marks whose files changed.
func (l *Loop) read(ctx context.Context, hints []string) error {
	tree, changed, err := l.Files.Snapshot(ctx, hints)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	l.tree = tree
	if !l.listed {
		l.listed = true
		l.list(nil)
		l.recall()
		return nil
	}
	l.touch(changed)
	return nil
}

// touch marks what rests on paths whose answers changed.
func (l *Loop) touch(changed []string) {
	touched := l.deps.touched(changed)
	l.list(touched)
	for r := range touched {
		if !r.branch {
			l.mark(r.unit)
		}
	}
}

// reread verifies every path that the units' decisions rest on: what an agent
// did to its own task is read at once, whether or not the watcher has told of
// it. What a document says may lead to further paths, so it is repeated until
// no new one is asked for.
func (l *Loop) reread(ctx context.Context, units []spec.Unit) error {
	verified := map[string]bool{}
	for len(units) > 0 {
		w := l.world()
		var paths []string
		for _, u := range units {
			l.weigh(u, w)
			for _, p := range l.deps.asked(reader{unit: u}) {
				if !verified[p] {
					verified[p] = true
					paths = append(paths, p)
				}
			}
		}
		if len(paths) == 0 {
			break
		}
		if err := l.read(ctx, paths); err != nil {
			return err
		}
	}
	return nil
}

// mark notes that a unit's files changed. Between scans only the task that
// an attempt belonged to is read again; others wait for the next scan (seed
// 003, scanning).
func (l *Loop) mark(u spec.Unit) {
	if l.mine != nil {
		if _, ok := l.mine[u]; !ok {
			l.stale[u] = struct{}{}
			return
		}
	}
	l.dirty[u] = struct{}{}
}

// scan makes all that is stale due.
func (l *Loop) scan() {
	for u := range l.stale {
		l.dirty[u] = struct{}{}
	}
	clear(l.stale)
}

// list asks the dialects for their units: of the branches that were touched,
// or of all at the first look.
func (l *Loop) list(touched map[reader]struct{}) {
	for _, d := range l.Dialects {
		root := reader{spec.Unit{Dialect: d.Name()}, true}
		if _, ok := touched[root]; !ok && touched != nil {
			l.relist(d, touched)
			continue
		}
		tree, done := l.deps.record(l.tree, root)
		names := d.Branches(tree)
		done()
		now := map[reader]bool{}
		for _, name := range names {
			r := reader{spec.Unit{Dialect: d.Name(), Key: name}, true}
			now[r] = true
			_, again := touched[r]
			if _, known := l.branches[r]; !known || again {
				l.listBranch(d, r)
			}
		}
		for r := range l.branches {
			if r.unit.Dialect == d.Name() && !now[r] {
				l.dropBranch(r)
			}
		}
	}
}

func (l *Loop) relist(d spec.Dialect, touched map[reader]struct{}) {
	for r := range touched {
		if r.branch && r.unit.Dialect == d.Name() {
			l.listBranch(d, r)
		}
	}
}

func (l *Loop) listBranch(d spec.Dialect, r reader) {
	tree, done := l.deps.record(l.tree, r)
	defer done()
	before := l.branches[r]
	l.branches[r] = d.Units(tree, r.unit.Key)
	l.problems[r] = d.Problems(tree, r.unit.Key)
	for _, u := range l.branches[r] {
		if l.units[u] == nil {
			l.mark(u)
		}
	}
	for _, u := range before {
		if !slices.Contains(l.branches[r], u) {
			l.mark(u)
		}
	}
}

func (l *Loop) dropBranch(r reader) {
	for _, u := range l.branches[r] {
		l.mark(u)
	}
	delete(l.branches, r)
	delete(l.problems, r)
}

// recall adds the units that only the memory knows: tasks whose folders are
// gone are still to be judged (seed 003, baseline).
func (l *Loop) recall() {
	for id, rec := range l.Memory.Records {
		l.dirty[spec.Unit{Dialect: id.Dialect, Key: rec.Unit}] = struct{}{}
	}
	for _, g := range l.Memory.Groups {
		for task, state := range g.Tasks {
			if state != string(spec.StateComplete) {
				l.dirty[spec.Unit{Dialect: g.Dialect, Key: path.Join(g.Root, task)}] = struct{}{}
			}
		}
	}
}

// Due reports the next moment at which something is due by the clock, zero
// for none.
func (l *Loop) Due() time.Time {
	var next time.Time
	for _, at := range l.looks {
		next = earlier(next, at)
	}
	return next
}

func (l *Loop) world() spec.World {
	return spec.World{Now: l.Now(), Root: l.Root, Memory: l.Memory, Runs: l.runs, Stopped: l.Memory.Stopped}
}

func (l *Loop) dialect(name string) spec.Dialect {
	for _, d := range l.Dialects {
		if d.Name() == name {
			return d
		}
	}
	return nil
}

// decide computes the decision of every dirty unit.
func (l *Loop) decide() []spec.Decision {
	w := l.world()
	todo := sortedUnits(l.dirty)
	clear(l.dirty)
	out := make([]spec.Decision, 0, len(todo))
	for _, u := range todo {
		if d, ok := l.weigh(u, l.probing(u, w)); ok {
			out = append(out, d)
		}
	}
	return out
}

// weigh computes the decision of one unit and notes what it rests on.
func (l *Loop) weigh(u spec.Unit, w spec.World) (spec.Decision, bool) {
	d := l.dialect(u.Dialect)
	if d == nil {
		return spec.Decision{}, false
	}
	tree, done := l.deps.record(l.tree, reader{unit: u})
	defer done()
	return Decide(d, tree, d.Parse(tree, u), w, l.Policy), true
}

func sortedUnits(set map[spec.Unit]struct{}) []spec.Unit {
	out := make([]spec.Unit, 0, len(set))
	for u := range maps.Keys(set) {
		out = append(out, u)
	}
	sortUnits(out)
	return out
}
