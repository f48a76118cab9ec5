package spec

import "time"

// Unit is what one pass reconciles. Key is the workspace-relative path of its
// folder or document.
type Unit struct{ Dialect, Key string }

// TaskID names a task over all dialects.
type TaskID struct{ Dialect, Name string }

func (t TaskID) String() string { return t.Name }

// Generation is the identity of what a task currently asks for; a new plan
// number or tag starts its steps afresh, an edited body does not (seed 003).
type Generation struct {
	Plan int    `json:"plan"`
	Tag  string `json:"tag"`
}

// Graph is what a unit's documents say, and nothing else.
type Graph struct {
	Unit     Unit
	Tasks    []Task
	Problems []Problem // of files that belong to no task
}

// Task is one task as its documents say.
type Task struct {
	ID    TaskID
	Group string // the seed's orchestration group, or the unit
	Title string
	Doc   string // the document a person edits, workspace-relative
	// Status is the value of the document's own status key, "" where it has none:
	// a hold is then kept in the memory.
	Status     string
	Line       int
	Generation Generation
	Route      string // key of the route its worker runs on, for listings
	DependsOn  []string
	// Gone: its documents are not there; its generation is unknown.
	Gone bool
	// Facts are the dialect's own knowledge of the task.
	Facts any
}

// State is what a listing says of a task.
type State string

// The states (COMMANDS 3).
const (
	StateReady    State = "ready"
	StateRunning  State = "running"
	StateWaiting  State = "waiting"
	StateBlocked  State = "blocked"
	StateHeld     State = "held"
	StateComplete State = "complete"
)

// Stage is where a task stands by its documents and its record.
type Stage struct {
	State  State
	Reason Reason // why it is not ready or complete
	Step   Step   // the step it stands at; the next to run when ready
	// Before are document changes that must stand before the step runs, or
	// that are due in this state (a stub, a finalisation).
	Before []Change
	// Archives are the same-named archives, asked for when the memory does not
	// know the task yet: its baseline (seed 003).
	Archives []string
}

// Step is one agent run's worth of work within a task.
type Step struct {
	Role   Role
	Ladder Ladder
	// Prefix begins the attempt's name; "__aNN" follows.
	Prefix string
	Dir    string // where it runs, workspace-relative; "." is the root
	Doc    string // DROVER_DOC, workspace-relative
	Out    string // DROVER_OUT, workspace-relative, or "" for none
	Plan   string // of the locator, workspace-relative
	Review string
	// WorkLog is the group's log, or "" in dialects that keep none.
	WorkLog string
	// Before is the signature of the artefacts that the step is about to change.
	Before string
	// Env is added to the agent's environment, "NAME=value".
	Env []string
}

// TryKind says how an attempt goes about its step.
type TryKind string

// The ways to try.
const (
	TryFresh       TryKind = "fresh"        // the first attempt
	TryRetry       TryKind = "retry"        // the role's prompt again, new session
	TryPromotion   TryKind = "promotion"    // another CLI, or a fresh codex, with the locator
	TrySameSession TryKind = "same-session" // the native session goes on
	TryRecovery    TryKind = "recovery"     // a review that stopped half way
)

// Try is how the next attempt of a step is made.
type Try struct {
	Kind  TryKind
	Rung  int
	Route Route
	// Last is the attempt that it follows; nil at the first.
	Last *Run
	// Why names what differs, for banners: "a new session", "claude instead of agy".
	Why string
}

// Judgement is what a finished attempt made of its step.
type Judgement struct {
	// Done: the step has what it asked for.
	Done bool
	// Refused: the CLI succeeded but its work is not what was asked. It counts
	// against the dialect's own number, and the next attempt goes on from there.
	Refused bool
	// Failed: the attempt counts as a failed one of the step's budget although
	// the CLI reported success (a review without exactly one verdict).
	Failed bool
	// Detail is one line for people.
	Detail string
	// Verdict is PASS, WARN, FAIL or "".
	Verdict string
	// Unchanged: nothing that counts as progress moved during the attempt.
	Unchanged bool
	// Signature is of the artefacts now.
	Signature string
	// Limit is how many refusals in a row block the step, 0 for none; Code is
	// the reason then.
	Limit int
	Code  Code
	// Try is the kind of the next attempt, "" for a plain retry.
	Try TryKind
	// Block is a reason that blocks at once.
	Block *Reason
}

// Dialect is one way to write tasks as files. All methods are pure: what they
// answer is a function of their arguments.
type Dialect interface {
	Name() string
	// Roots are the folders whose files can matter, for the watcher.
	Roots() []string
	// Read parses one file. It never sees a file over the size limit. The
	// facts it returns are kept in the cache until the file changes.
	Read(path string, text []byte) (Facts, *Problem)
	// Decode is the inverse of the facts' AppendBinary.
	Decode(path string, b []byte) (Facts, error)

	// Branches lists the parts of the dialect's tree; Units the units of one.
	Branches(t Tree) []string
	Units(t Tree, branch string) []Unit
	// Problems are those of files that belong to no unit of the branch.
	Problems(t Tree, branch string) []Problem
	// Parse says what a unit's documents say. A unit that is gone parses to a
	// task whose stage says so.
	Parse(t Tree, u Unit) Graph

	// Stage says where task i of g stands, knowing its record.
	Stage(t Tree, g Graph, i int, w World) Stage
	// Judge says what an attempt that succeeded made of its step.
	Judge(t Tree, g Graph, i int, w World, r Run) Judgement
	// Prompt is what an attempt of the step is told. Paths in it are absolute,
	// below root or runDir.
	Prompt(g Graph, i int, s Step, try Try, root string) string
}

// World is what Decide knows of a unit beside its documents.
type World struct {
	Now  time.Time
	Root string // absolute path of the workspace
	// Memory is what drover remembers; never changed by Decide.
	Memory *Memory
	// Folded are records that Decide has brought up to date in this decision.
	Folded map[TaskID]*Record
	// Runs are the attempts on disk of each task of the unit, oldest first.
	Runs map[TaskID][]Run
	// Stopped routes: agent → reason it may not start anything now.
	Stopped map[string]Reason
}

// Record is what is remembered of a task, as of this decision; nil where
// drover knows nothing of it.
func (w World) Record(id TaskID) *Record {
	if r, ok := w.Folded[id]; ok {
		return r
	}
	if w.Memory == nil {
		return nil
	}
	return w.Memory.Records[id]
}
