package spec

import "time"

// Request is what a command asks of the owner of the workspace: one file in
// requests/, made by exclusive create, answered by the owner within a second.
type Request struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Verb    string    `json:"verb"` // stop, hold, release, retry, approve, reject, forget, …
	Tasks   []TaskID  `json:"tasks,omitempty"`
	All     bool      `json:"all,omitempty"`
	Message string    `json:"message,omitempty"`
	Args    []string  `json:"args,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Answer is what became of a request, task by task.
type Answer struct {
	Version int          `json:"version"`
	ID      string       `json:"id"`
	Done    []TaskAnswer `json:"done"`
	Error   string       `json:"error,omitempty"`
}

// TaskAnswer is what a request did to one task.
type TaskAnswer struct {
	Dialect string `json:"dialect"`
	Task    string `json:"task"`
	Changed bool   `json:"changed"`
	Message string `json:"message"`
}
