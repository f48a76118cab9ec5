package spec

import "time"

// StatusDoc is the document of `status --json` and of `wait` (COMMANDS 3).
// Arrays are never null.
type StatusDoc struct {
	Version     int       `json:"version"`
	GeneratedAt time.Time `json:"generated_at"`
	Workspace   string    `json:"workspace"`
	Host        string    `json:"host"`
	Owner       *Owner    `json:"owner"`
	Tasks       []Row     `json:"tasks"`
	Problems    []Problem `json:"problems"`
	Summary     Summary   `json:"summary"`
}

// Owner is the drover that drives the workspace.
type Owner struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Host  string    `json:"host,omitempty"`
}

// Row is one task of a status document.
type Row struct {
	Dialect      string     `json:"dialect"`
	Task         string     `json:"task"`
	Title        string     `json:"title"`
	State        State      `json:"state"`
	Stage        Role       `json:"stage"`
	Since        *time.Time `json:"since"`
	NeedsPerson  bool       `json:"needs_person"`
	Reason       *Reason    `json:"reason"`
	WaitsFor     []string   `json:"waits_for"`
	Do           []Do       `json:"do"`
	Route        *Route     `json:"route"`
	Attempt      string     `json:"attempt"`  // the current attempt's name
	Attempts     int        `json:"attempts"` // so far, over the lineage
	Failures     int        `json:"failures"`
	FailureLimit int        `json:"failure_limit"`
	StartedAt    *time.Time `json:"started_at"`
	LastProgress *time.Time `json:"last_progress_at"`
	NextAt       *time.Time `json:"next_at"`
	Plan         int        `json:"plan"`
	Tag          string     `json:"tag"`
	DependsOn    []string   `json:"depends_on"`
	Locator      string     `json:"locator"`
	File         string     `json:"file"`
	Line         int        `json:"line"`
	Usage        Usage      `json:"usage"`
}

// Do is a command that would move a task on, and what it changes.
type Do struct {
	Argv    []string `json:"argv"`
	Changes string   `json:"changes"`
}

// Summary counts the rows; each task and each problem once.
type Summary struct {
	Complete    int `json:"complete"`
	Running     int `json:"running"`
	Ready       int `json:"ready"`
	Waiting     int `json:"waiting"`
	Blocked     int `json:"blocked"`
	Held        int `json:"held"`
	NeedsPerson int `json:"needs_person"`
	Problems    int `json:"problems"`
	// GoesOn counts those that go on without anybody doing anything.
	GoesOn int `json:"-"`
}

// Count takes one task in. timed: it waits for a time that is known.
func (s *Summary) Count(state State, code Code, timed bool) {
	switch state {
	case StateComplete:
		s.Complete++
	case StateRunning:
		s.Running++
		s.GoesOn++
	case StateReady:
		s.Ready++
		s.GoesOn++
	case StateWaiting:
		s.Waiting++
		if timed || code == LimitFull {
			s.GoesOn++
		}
	case StateBlocked:
		s.Blocked++
	case StateHeld:
		s.Held++
	}
	if NeedsPerson(state, code) {
		s.NeedsPerson++
	}
}

// Left reports whether anything is neither complete nor goes on by itself.
func (s Summary) Left() bool {
	return s.Problems > 0 || s.Running+s.Ready+s.Waiting+s.Blocked+s.Held > s.GoesOn
}
