package reconcile

import (
	"time"

	"drover/spec"
)

// Notice is something that people are told as it happens; main turns it into a
// banner or a line (COMMANDS 5).
type Notice struct {
	Key     NoticeKey
	At      time.Time
	Task    spec.Task
	Role    spec.Role
	Attempt string // aNN
	// Locator is of the attempt that starts, or of the one that ended.
	Locator *spec.Locator
	Dir     string // its run directory
	Exit    *spec.Exit
	Reason  spec.Reason
	Verdict string
	Text    string // one line for people
	Next    string // what the next attempt does differently
}

// NoticeKey names the event of a notice (seed 003, banners).
type NoticeKey string

// The keys of notices.
const (
	TaskStarted       NoticeKey = "task-started"
	SelfcheckStarted  NoticeKey = "selfcheck-started"
	ReviewStarted     NoticeKey = "review-started"
	ReviewRetried     NoticeKey = "review-retried"
	PiRecovery        NoticeKey = "pi-recovery-retried"
	PiResumed         NoticeKey = "pi-session-resumed"
	StallRetried      NoticeKey = "stalled-session-retried"
	ConnectionRetried NoticeKey = "session-connection-retried"
	TaskComplete      NoticeKey = "task-complete"
	ModelPromoted     NoticeKey = "model-promoted"
	SilenceInspected  NoticeKey = "silence-inspected"
	RecordRetried     NoticeKey = "record-completion-retried"
	ReviewResult      NoticeKey = "review-result"
	NoProgressWarning NoticeKey = "no-progress-warning"
	TaskWaiting       NoticeKey = "task-waiting"
	TaskBlocked       NoticeKey = "task-blocked"
	GateOpened        NoticeKey = "gate-opened"
	QuotaWaiting      NoticeKey = "quota-wait"
	StoppedByPerson   NoticeKey = "stopped-by-person"
	// AttemptFailed carries the failure facts of the seed; it is a line of its
	// own between the banners.
	AttemptFailed NoticeKey = "attempt-failed"
)

// startKey is the banner of a start (DIALECTS 1.9).
func startKey(s *spec.Start) NoticeKey {
	role, try := s.Locator.Role, s.Try
	if try.Kind == spec.TryFresh {
		return firstKey(role)
	}
	var class spec.Class
	if try.Last != nil {
		class = classOf(*try.Last)
	}
	switch {
	case try.Kind == spec.TrySameSession:
		return PiResumed
	case try.Kind == spec.TryPromotion:
		return ModelPromoted
	case role == spec.RoleSelfcheck && class == spec.ClassSuccess:
		return RecordRetried
	case class == spec.ClassProviderConnection || class == spec.ClassProviderDisconnect:
		return ConnectionRetried
	case role == spec.RoleReview:
		return ReviewRetried
	case try.Route.Agent == "pi" && class == spec.ClassSessionStall:
		return StallRetried
	case try.Route.Agent == "pi" && class != spec.ClassSuccess:
		return PiRecovery
	}
	return TaskStarted
}

func firstKey(r spec.Role) NoticeKey {
	switch r {
	case spec.RoleSelfcheck:
		return SelfcheckStarted
	case spec.RoleReview:
		return ReviewStarted
	}
	return TaskStarted
}
