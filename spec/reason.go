package spec

import "time"

// Code names why a task does not go on. Codes are the contract (COMMANDS 3).
type Code string

// The reason codes.
const (
	PredecessorIncomplete Code = "predecessor-incomplete"
	PredecessorBlocked    Code = "predecessor-blocked"
	PredecessorAmbiguous  Code = "predecessor-ambiguous"
	UnknownPredecessor    Code = "unknown-predecessor"
	Cycle                 Code = "cycle"
	LimitFull             Code = "limit-full"
	WaveNotMerged         Code = "wave-not-merged"
	Gate                  Code = "gate"
	Held                  Code = "held"
	Unfilled              Code = "unfilled"
	ContractError         Code = "contract-error"
	DuplicateID           Code = "duplicate-id"
	Vanished              Code = "vanished"
	ArchiveAmbiguous      Code = "archive-ambiguous"
	UserReview            Code = "user-review"
	FailureBudget         Code = "failure-budget"
	Strikes               Code = "strikes"
	RoundsLimit           Code = "rounds-limit"
	ReviewNoProgress      Code = "review-no-progress-limit"
	SelfcheckIncomplete   Code = "selfcheck-incomplete-limit"
	OwnershipOverlap      Code = "ownership-overlap"
	ScopeViolation        Code = "scope-violation"
	SplitRefused          Code = "split-refused"
	CommitPolicy          Code = "commit-policy"
	StaleBuffer           Code = "stale-buffer"
	MergeConflict         Code = "merge-conflict"
	BranchCheckedOut      Code = "branch-checked-out"
	VerifyFailed          Code = "verify-failed"
	NoVerify              Code = "no-verify"
	Escalated             Code = "escalated"
	WaveTimeout           Code = "wave-timeout"
	QuotaWait             Code = "quota-wait"
	BackoffWait           Code = "backoff"
	SpendLimit            Code = "spend-limit"
	OutsideHours          Code = "outside-hours"
	RouteStopped          Code = "route-stopped"
	CLIMissing            Code = "cli-missing"
	Lost                  Code = "lost"
	LeftoverProcess       Code = "leftover-process"
	StatusNotEditable     Code = "status-not-editable"
	Isolated              Code = "isolated"
	FailFast              Code = "fail-fast"
	Cancelled             Code = "cancelled"
	InfraWait             Code = "infra-wait"
	SpecMissing           Code = "spec-missing"
	BranchExists          Code = "branch-exists"
	GitIdentity           Code = "git-identity"
	WorkLogSetup          Code = "work-log-setup"
	WorkLogRuntimeWrite   Code = "work-log-runtime-write"
	OwnedByOther          Code = "owned-by-other"
)

// Reason is why a task does not go on, and what would free it.
type Reason struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
	// File and Line point at what a person should look at, if anything.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// WaitsFor are names of tasks, or a route's limit.
	WaitsFor []string `json:"waits_for,omitempty"`
	// Looked are the places where it was looked for, for explain.
	Looked []string `json:"looked,omitempty"`
	// Locator is of the attempt that led here.
	Locator string `json:"locator,omitempty"`
	// Since is when a route was stopped, Settings what programs and routes were
	// set to then: other settings let it go on. Empty elsewhere.
	Since    time.Time `json:"since,omitzero"`
	Settings string    `json:"settings,omitempty"`
	// Resume tells how to go on, in a person's words or a command.
	Resume string `json:"resume,omitempty"`
}

// Zero reports whether there is no reason.
func (r Reason) Zero() bool { return r.Code == "" }

// Same reports whether two reasons say the same to a person; a difference is
// an event.
func (r Reason) Same(o Reason) bool { return r.Code == o.Code && r.Detail == o.Detail }

// NeedsPerson reports whether a task in this state goes on only when a person
// does something.
func NeedsPerson(s State, c Code) bool {
	switch s {
	case StateBlocked:
		return c != PredecessorBlocked
	case StateWaiting:
		return c == Gate || c == Unfilled
	}
	return false
}
