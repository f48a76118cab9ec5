package spec

import "time"

// RunState is what a run directory means: one meaning for every combination
// of boot id, lock, shim.json, exit.json and living processes.
type RunState uint8

// The states of a run.
const (
	RunStarting  RunState = iota // claimed, its shim holds the lock, no agent yet
	RunRunning                   // the shim owns a living agent
	RunEnded                     // exit.json is valid and nothing of it lives
	RunLost                      // it ended and nobody recorded how: counted
	RunUnstarted                 // claimed but its agent never started: not counted
	RunOrphaned                  // the shim is gone, processes are left: sweep first
)

// Live reports whether the attempt is not over.
func (s RunState) Live() bool { return s == RunStarting || s == RunRunning || s == RunOrphaned }

func (s RunState) String() string {
	return [...]string{"starting", "running", "ended", "lost", "unstarted", "orphaned"}[s]
}

// Run is one attempt as its run directory shows it.
type Run struct {
	Dir     string // absolute path of the run directory
	State   RunState
	Locator Locator
	Exit    Exit   // of RunEnded; for RunLost only what can be known
	Result  Result // of RunEnded
	// Progress is the time of the newest sign of life: stream or native event,
	// never the heartbeat (seed 003).
	Progress time.Time
	// Damage is set where the directory holds a file that cannot be read; the
	// run counts as lost.
	Damage *Problem
}

// Ended is when the attempt was over.
func (r Run) Ended() time.Time {
	if !r.Exit.EndedAt.IsZero() {
		return r.Exit.EndedAt
	}
	return r.Locator.ClaimedAt
}

// Locator is locator.json: where everything about an attempt is, and what it
// was (seed 003). One writer at a time: drover until the shim starts, then
// the shim, after exit.json drover.
type Locator struct {
	Version int    `json:"version"`
	Attempt string `json:"attempt"`
	Task    string `json:"task"`
	Dialect string `json:"dialect"`
	Unit    string `json:"unit"`
	Role    Role   `json:"role"`

	PlanNumber int    `json:"plan_number"`
	Tag        string `json:"tag"`

	CLI    string `json:"cli"`
	Model  string `json:"model"`
	Effort string `json:"effort"`
	Rung   int    `json:"rung"` // of the ladder
	// LimitKey is the limit that the attempt counts against while it lives.
	LimitKey string   `json:"limit_key,omitempty"`
	Argv     []string `json:"argv"`
	Cwd      string   `json:"cwd"`
	// StdinPrompt: prompt.txt is the agent's standard input.
	StdinPrompt bool     `json:"stdin_prompt,omitempty"`
	Env         []string `json:"env,omitempty"` // added to drover's own
	Writes      []string `json:"writes,omitempty"`

	Workspace    string `json:"workspace"`
	Plan         string `json:"plan"`
	Review       string `json:"review"`
	WorkLog      string `json:"work_log"`
	Prompt       string `json:"prompt"`
	SessionID    string `json:"session_id"`
	SessionPath  string `json:"session_path"`
	StreamLog    string `json:"stream_log"`
	StderrLog    string `json:"stderr_log"`
	HeartbeatLog string `json:"heartbeat_log"`

	BootID          string    `json:"boot_id"`
	PIDNamespace    string    `json:"pid_ns"`
	DispatcherPID   int       `json:"dispatcher_pid"`
	DispatcherStart string    `json:"dispatcher_start"`
	ShimPID         int       `json:"shim_pid"`
	AgentPID        int       `json:"agent_pid"`
	AgentStart      string    `json:"agent_start"`
	ClaimedAt       time.Time `json:"claimed_at"`
	StartedAt       time.Time `json:"started_at"`

	ImportTime                    time.Time `json:"import_time"`
	SourcePath                    string    `json:"source_path"`
	DispatcherSourceSHA256        string    `json:"dispatcher_source_sha256"`
	CurrentSourceSHA256           string    `json:"current_source_sha256"`
	DispatcherSourceMatchesLoaded bool      `json:"dispatcher_source_matches_loaded"`

	FailureClass                      Class       `json:"failure_class"`
	FailureSource                     Source      `json:"failure_source"`
	ProviderTransportFailureConfirmed bool        `json:"provider_transport_failure_confirmed"`
	FailureEvidenceSource             string      `json:"failure_evidence_source"`
	FailureEvidenceExcerpt            string      `json:"failure_evidence_excerpt"`
	TerminationInitiator              string      `json:"termination_initiator"`
	TimeoutPhase                      string      `json:"timeout_phase"`
	TimeoutSeconds                    int         `json:"timeout_seconds"`
	StreamSilenceInspection           *Inspection `json:"stream_silence_inspection,omitempty"`
	PiSilenceInspection               *Inspection `json:"pi_silence_inspection,omitempty"`

	// Try says how this attempt differs from the one before: fresh, retry,
	// promotion, same-session, recovery.
	Try TryKind `json:"try"`
	// Previous is the locator of the attempt that this one follows.
	Previous string `json:"previous,omitempty"`
	// Before is the signature of the step's artefacts when it was claimed; a
	// dialect compares it when it judges the attempt.
	Before string `json:"before,omitempty"`
	// Limits are the shim's orders.
	Limits ShimLimits `json:"limits"`
}

// Inspection is a look at a silent agent that ends nothing (seed 003).
type Inspection struct {
	At      time.Time `json:"at"`
	Silence int       `json:"silence_seconds"`
	Tail    string    `json:"tail"` // the stream's last bytes
}

// ShimLimits are what the shim holds an agent to. Durations in milliseconds,
// sizes in bytes; 0 means no limit.
type ShimLimits struct {
	InspectMS     int64 `json:"inspect_ms"`      // silence that is looked at
	ToolMS        int64 `json:"tool_ms"`         // one tool window
	EndMS         int64 `json:"end_after_ms"`    // silence outside a tool
	StopGraceMS   int64 `json:"stop_grace_ms"`   // TERM to KILL
	AnswerGraceMS int64 `json:"answer_grace_ms"` // terminal event to the process's end
	// PauseMS is how long a stream rests before its new tail is read; 0 means
	// two seconds.
	PauseMS       int64 `json:"pause_ms,omitempty"`
	LogCap        int64 `json:"log_cap_bytes"` // of each log
	ReviewControl bool  `json:"review_control"`
}

// Exit is exit.json: how an attempt ended. It is written once, durably, by
// the shim, after the agent and all its descendants are gone.
type Exit struct {
	Version int    `json:"version"`
	Code    int    `json:"code"`
	Signal  int    `json:"signal"`
	EndedBy string `json:"ended_by"` // agent, person, dispatcher, unknown

	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`

	Class               Class    `json:"class"`
	Evidence            Evidence `json:"evidence"`
	Usage               Usage    `json:"usage"`
	LogTruncatedByAgent bool     `json:"log_truncated_by_agent"`
	// Swept: the kernel told the shim that no descendant was left.
	Swept           bool      `json:"swept"`
	Rusage          Rusage    `json:"rusage"`
	ResetAt         time.Time `json:"reset_at,omitzero"` // of a quota, when given
	StalledInTool   bool      `json:"stalled_in_tool,omitempty"`
	ProviderFailure bool      `json:"provider_failure,omitempty"`
	Source          Source    `json:"source,omitempty"`
	TimeoutPhase    string    `json:"timeout_phase,omitempty"`
	TimeoutSeconds  int       `json:"timeout_seconds,omitempty"`
}

// Evidence is what a classification rests on.
type Evidence struct {
	Source  string `json:"source"`  // "stdout result", "stderr", "session", …
	Excerpt string `json:"excerpt"` // at most 500 bytes
}

// Usage is what an attempt cost by the CLI's own figures.
type Usage struct {
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
	CostKnown    bool    `json:"cost_known"`
}

// Add is the sum; the cost is known only where every part's is.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:  u.InputTokens + v.InputTokens,
		OutputTokens: u.OutputTokens + v.OutputTokens,
		CostUSD:      u.CostUSD + v.CostUSD,
		CostKnown:    u.CostKnown && v.CostKnown,
	}
}

// Rusage is what the kernel charged an attempt's processes.
type Rusage struct {
	UserMS   int64 `json:"user_ms"`
	SystemMS int64 `json:"system_ms"`
	MaxRSSKB int64 `json:"max_rss_kb"`
}

// Result is result.json: what the agent said at its end.
type Result struct {
	Version      int    `json:"version"`
	Success      bool   `json:"success"`
	FinalMessage string `json:"final_message"` // at most 64 KiB
	SessionID    string `json:"session_id"`
	SessionPath  string `json:"session_path"`
	Usage        Usage  `json:"usage"`
}
