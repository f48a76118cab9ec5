package spec

import "time"

// Decision is what Decide asks for one unit.
type Decision struct {
	Unit     Unit
	Tasks    []TaskDecision
	Problems []Problem
	// Look is the earliest time worth another look, zero for none.
	Look time.Time
}

// TaskDecision is what Decide asks for one task.
type TaskDecision struct {
	Task   Task
	State  State
	Reason Reason
	Step   Step
	// Record is what shall be remembered; nil to forget the generation.
	Record *Record
	// Baseline are the same-named archives, at first sight of the task.
	Baseline []string
	Folds    []Fold
	Changes  []Change
	Start    *Start
	Stops    []string // attempts to be ended
	Sweeps   []string // orphaned attempts whose processes must go first
	Removes  []string // run directories that have served
	Live     *Run     // the attempt that runs
	// StopRoutes are agent programs that cannot start anything, and why.
	StopRoutes map[string]Reason
	// Look is when a timer of the task ends, zero for none.
	Look time.Time
	// Rollup is the one line kept of a task that is complete.
	Rollup *Rollup
}

// Fold is one ended attempt taken into the record.
type Fold struct {
	Run       Run
	Result    string // of the work-log row: PASS, FAIL, ok, a class, …
	Judgement Judgement
	Counted   int // failures in a row after it
	// Failure says what the next attempt does differently.
	Next string
}

// Start asks for one attempt.
type Start struct {
	Locator Locator // all that is known before the claim
	Prompt  string
	Try     Try
	Task    Task
	Step    Step
}

// Change is one change of the workspace's files. Each is idempotent: applied
// again after a crash it finds what it makes true.
type Change interface{ change() }

// CreateFile makes a file that must not exist; one that exists is left alone.
type CreateFile struct {
	Path string
	Text string
}

// MoveFile renames a file within a folder; a source that is gone while the
// target is there counts as done.
type MoveFile struct{ From, To string }

// DeriveFile makes a file that must not exist out of another one; Make is
// pure. A file that exists is left alone.
type DeriveFile struct {
	From, To string
	Make     func(old []byte) []byte
}

// ArchiveFolder moves a folder to a path below To's parent; a name that is
// taken gets "_<n>" (DIALECTS 1.4).
type ArchiveFolder struct{ From, To string }

// SetField sets one value of a document's head and changes no other byte.
// Was is the value it replaces; if the document says otherwise by now, a
// person's edit wins and nothing happens.
type SetField struct{ Path, Key, Value, Was string }

// ManagedBlock makes the lines between two marker lines of a file what Lines
// says, by a surgical edit; the markers are appended where they are missing.
type ManagedBlock struct {
	Path, Begin, End string
	Lines            []string
}

func (CreateFile) change()    {}
func (MoveFile) change()      {}
func (DeriveFile) change()    {}
func (ArchiveFolder) change() {}
func (SetField) change()      {}
func (ManagedBlock) change()  {}
