package spec

import (
	"maps"
	"slices"
	"time"
)

// Memory is all that drover remembers; the content of state.json. What is
// newer than its last write is rebuilt from run directories and files.
type Memory struct {
	Groups  map[string]*Group
	Records map[TaskID]*Record
	// Stopped routes by agent program, until retry or a change of settings.
	Stopped map[string]Reason
}

// NewMemory is an empty memory.
func NewMemory() *Memory {
	return &Memory{Groups: map[string]*Group{}, Records: map[TaskID]*Record{}, Stopped: map[string]Reason{}}
}

// Group is the orchestration state of one task group (seed 003).
type Group struct {
	Orchestration string `json:"orchestration"` // active, blocked, complete
	// Dialect and Root lead from a task's name to its unit: Root + "/" + name.
	Dialect string `json:"dialect,omitempty"`
	Root    string `json:"root,omitempty"`
	// Tasks are the observed tasks and their state: active, blocked, waiting, complete.
	Tasks map[string]string `json:"tasks"`
	// Baseline are, by task, the same-named archives when it was first seen,
	// complete or not: a completion among them is not ours (seed 003).
	Baseline map[string][]string `json:"baseline_archives"`
}

// Record is what drover remembers of one generation of a task.
type Record struct {
	Generation Generation           `json:"generation"`
	Unit       string               `json:"unit"`
	State      string               `json:"state,omitempty"`
	Stages     map[Role]StageRecord `json:"stages,omitempty"`
	Active     string               `json:"active,omitempty"` // attempt
	Block      *Block               `json:"block,omitempty"`
	Held       *Hold                `json:"held,omitempty"`
	NoProgress int                  `json:"no_progress,omitempty"`
	Signature  string               `json:"signature,omitempty"`
	Rounds     int                  `json:"rounds,omitempty"`
	// Born is when this life of the name began: attempts claimed before it
	// belong to a task of the same name that is complete.
	Born time.Time `json:"born,omitzero"`
	// From is, by role, the first attempt number of this generation, where an
	// earlier one had the same plan number: lower numbers are not of it.
	From       map[Role]int `json:"from,omitempty"`
	Usage      Usage        `json:"usage,omitzero"`     // over the lineage
	Attempts   int          `json:"attempts,omitempty"` // over the lineage
	FirstStart time.Time    `json:"first_start,omitzero"`
	Title      string       `json:"title,omitempty"` // of the document that ran last
}

// Ran reports whether drover has run a step of this generation.
func (r *Record) Ran() bool { return r != nil && len(r.Stages) > 0 }

// StageRecord is what is remembered of one step of a generation.
type StageRecord struct {
	Done bool `json:"done,omitempty"`
	// Transport counts attempts in a row that did not end in the CLI's success
	// event; any success resets it. Judged counts successes in a row whose work
	// was refused.
	Transport int `json:"transport,omitempty"`
	Judged    int `json:"judged,omitempty"`
	// FoldedThrough is the newest attempt number that is counted, "a07"; a
	// replay of older ones changes nothing.
	FoldedThrough string `json:"folded_through,omitempty"`
	// Rung is how far the step was promoted.
	Rung int `json:"rung,omitempty"`
	// Next is the kind of the next attempt, "" for the ordinary one.
	Next TryKind `json:"next,omitempty"`
	// LastClass is how the last counted attempt ended.
	LastClass Class `json:"last_class,omitempty"`
	// LastLocator is of the last attempt; LastEnd when it ended.
	LastLocator string    `json:"last_locator,omitempty"`
	LastEnd     time.Time `json:"last_end,omitzero"`
	// ResetAt is when the provider's quota is said to be there again.
	ResetAt time.Time `json:"reset_at,omitzero"`
}

// Block is a stored blocker.
type Block struct {
	Reason Reason    `json:"reason"`
	Role   Role      `json:"role,omitempty"`
	Since  time.Time `json:"since"`
}

// Hold is a person's wish that a task does not run.
type Hold struct {
	Since time.Time `json:"since"`
	By    string    `json:"by"`
	// Stop: its living attempt shall end, too.
	Stop bool `json:"stop,omitempty"`
	// Was is the status that the hold replaced, where the document has one.
	Was string `json:"was,omitempty"`
}

// Clone is a copy that shares nothing mutable.
func (r *Record) Clone() *Record {
	if r == nil {
		return nil
	}
	c := *r
	c.Stages, c.From = maps.Clone(r.Stages), maps.Clone(r.From)
	if r.Block != nil {
		b := *r.Block
		c.Block = &b
	}
	if r.Held != nil {
		h := *r.Held
		c.Held = &h
	}
	return &c
}

// Clone is a copy that shares nothing mutable.
func (g *Group) Clone() *Group {
	c := *g
	c.Tasks = maps.Clone(g.Tasks)
	c.Baseline = make(map[string][]string, len(g.Baseline))
	for k, v := range g.Baseline {
		c.Baseline[k] = slices.Clone(v)
	}
	return &c
}

// Seen is the last state and reason that an event told of a task. One is kept
// for every task, so it is small.
type Seen struct {
	State  State
	Code   Code
	Detail string
	Since  time.Time
}

// Says reports whether what was told is what there is to tell now.
func (s Seen) Says(state State, why Reason) bool {
	return s.State == state && s.Code == why.Code && s.Detail == why.Detail
}
