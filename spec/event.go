package spec

import "time"

// EventKind names what an event records.
type EventKind string

// The kinds of event.
const (
	EventState EventKind = "state" // a task's state or reason changed
	EventStart EventKind = "start" // an attempt was claimed
	// EventFinish: an attempt was folded. After a crash it may be told again:
	// who counts attempts counts each name once.
	EventFinish   EventKind = "finish"
	EventVerdict  EventKind = "verdict"  // a review said something
	EventComplete EventKind = "complete" // a task is complete; its roll-up
	EventGate     EventKind = "gate"     // a gate opened or was passed
	EventRequest  EventKind = "request"  // a person asked for something
	EventInspect  EventKind = "inspect"  // a silent agent was looked at
	EventPromote  EventKind = "promote"
	EventDrover   EventKind = "drover" // drover itself began or ended
)

// Event is one line of events.jsonl, version 1. Fields that do not belong to
// its kind are left out.
type Event struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Kind    EventKind `json:"kind"`
	Dialect string    `json:"dialect,omitempty"`
	Task    string    `json:"task,omitempty"`

	From     State    `json:"from,omitempty"`
	To       State    `json:"to,omitempty"`
	Reason   *Reason  `json:"reason,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	WaitsFor []string `json:"waits_for,omitempty"`

	Attempt   string    `json:"attempt,omitempty"`
	Role      Role      `json:"role,omitempty"`
	Route     *Route    `json:"route,omitempty"`
	Plan      int       `json:"plan,omitempty"`
	Tag       string    `json:"tag,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Waited    float64   `json:"slot_wait_seconds,omitempty"`
	Class     Class     `json:"class,omitempty"`
	Result    string    `json:"result,omitempty"`
	Verdict   string    `json:"verdict,omitempty"`
	Usage     *Usage    `json:"usage,omitempty"`
	Message   string    `json:"message,omitempty"` // the final message, at most 4 KiB
	By        string    `json:"by,omitempty"`
	Locator   string    `json:"locator,omitempty"`
}

// Rollup is the one line that is kept of a finished task for ever.
type Rollup struct {
	Version     int       `json:"version"`
	Dialect     string    `json:"dialect"`
	Task        string    `json:"task"`
	Title       string    `json:"title"`
	Plan        int       `json:"plan"`
	Tag         string    `json:"tag"`
	CompletedAt time.Time `json:"completed_at"`
	FirstStart  time.Time `json:"first_start,omitzero"`
	Attempts    int       `json:"attempts"`
	Rounds      int       `json:"rounds"`
	Usage       Usage     `json:"usage"`
}
