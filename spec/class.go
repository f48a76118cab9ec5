package spec

// Class says how an attempt ended.
type Class string

// The classes. Success is what the CLI's own terminal event says; whether the
// step got what it asked for is judged by the dialect.
const (
	ClassSuccess            Class = "success"
	ClassContextLimit       Class = "context-limit"
	ClassQuota              Class = "quota"
	ClassRateLimit          Class = "rate-limit"
	ClassModelUnavailable   Class = "model-unavailable"
	ClassAuthConfig         Class = "auth-config"
	ClassProviderConnection Class = "provider-connection"
	ClassProviderDisconnect Class = "provider-stream-disconnect"
	ClassOverloaded         Class = "overloaded"
	ClassSessionStall       Class = "session-stall"
	ClassProcessTerminated  Class = "process-terminated"
	ClassReviewControl      Class = "review-control"
	ClassGenericError       Class = "generic-error"
	ClassLost               Class = "lost"
	ClassInfra              Class = "infra"
	ClassStopped            Class = "stopped" // ended by a person: not a failure
	ClassCLIMissing         Class = "cli-missing"
	ClassNotStarted         Class = "not-started" // claimed, agent never started: not counted
)

// Promotes reports whether a step goes up its ladder after such an end
// (seed 003, promotion).
func (c Class) Promotes() bool {
	switch c {
	case ClassContextLimit, ClassQuota, ClassRateLimit, ClassModelUnavailable:
		return true
	}
	return false
}

// Provider reports whether the provider's side is to blame, which allows the
// longer backoff.
func (c Class) Provider() bool {
	switch c {
	case ClassQuota, ClassRateLimit, ClassModelUnavailable, ClassProviderConnection,
		ClassProviderDisconnect, ClassOverloaded:
		return true
	}
	return false
}

// StopsRoute reports whether the cause lies with the program or its login, so
// that another attempt on the same route would fail alike.
func (c Class) StopsRoute() bool {
	return c == ClassAuthConfig || c == ClassCLIMissing
}

// Counted reports whether such an end uses up the step's failure budget.
// Waiting and drover's own troubles cost nothing.
func (c Class) Counted() bool {
	switch c {
	case ClassSuccess, ClassStopped, ClassInfra, ClassNotStarted, ClassCLIMissing:
		return false
	}
	return true
}

// Source is where the knowledge of a failure comes from.
type Source string

// The sources of a failure (seed 003, failure contract).
const (
	SourceProvider    Source = "provider-terminal-diagnostic"
	SourceTimeout     Source = "dispatcher-timeout"
	SourceTermination Source = "process-termination"
	SourceAgentExit   Source = "agent-exit"
	SourceDispatcher  Source = "dispatcher"
	SourceSystem      Source = "system"
)
