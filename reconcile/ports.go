package reconcile

import (
	"context"

	"drover/spec"
)

// Files is the workspace: the desired state.
type Files interface {
	// Snapshot brings the tree up to date with the disk. hints are paths that
	// may have changed; nil means that anything may have. It returns the
	// snapshot and the paths whose answers (Dir, Doc or Sum) differ from the
	// snapshot before; nil changed with the first snapshot.
	Snapshot(ctx context.Context, hints []string) (tree spec.Tree, changed []string, err error)
	// Apply makes one change. A change that already stands is no error. An edit
	// that a person made meanwhile wins: ErrChanged of the implementation.
	Apply(ctx context.Context, c spec.Change) error
	// AppendLog appends rows to work logs, each durably and at most once. The
	// errors belong to the rows one to one.
	AppendLog(ctx context.Context, rows []spec.LogRow) []error
}

// Journal is drover's own state on disk.
type Journal interface {
	// Append writes events and roll-ups with one append and fdatasync each.
	Append(ctx context.Context, events []spec.Event, rollups []spec.Rollup) error
	// Save writes state.json durably.
	Save(ctx context.Context, m *spec.Memory) error
	// Requests are those not answered yet, oldest first.
	Requests(ctx context.Context) ([]spec.Request, error)
	// Answer answers one and removes it.
	Answer(ctx context.Context, a spec.Answer) error
}

// Launcher owns attempts.
type Launcher interface {
	// Observe tells every attempt on disk by the table of observable states.
	// It deletes claims that never became one.
	Observe(ctx context.Context) ([]spec.Run, error)
	// Claim makes the run directories durable, in parallel. It fills in what
	// only the machine knows (argv, paths, ids); the errors belong to the
	// starts one to one. After a nil error the attempt is claimed: a crash
	// leaves an attempt that never started.
	Claim(ctx context.Context, starts []*spec.Start) []error
	// Launch starts the shim of a claimed attempt.
	Launch(ctx context.Context, attempt string) error
	// Stop tells an attempt's shim to end it; by is the initiator: person, dispatcher.
	Stop(ctx context.Context, attempt, by string) error
	// Sweep kills what is left of an attempt whose shim is gone. An error means
	// that something is left.
	Sweep(ctx context.Context, attempt string) error
	// Conclude writes into an ended attempt's locator what only drover can know
	// of its failure.
	Conclude(ctx context.Context, attempt string, class spec.Class, source spec.Source) error
	// Remove deletes run directories that have served.
	Remove(ctx context.Context, attempts []string) error
}
