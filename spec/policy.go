package spec

import "time"

// Policy are the numbers Decide goes by (COMMANDS 4: failures, backoff, limits).
type Policy struct {
	Budget      int           // failed attempts in a row that block a step (seed 003: 10)
	First       time.Duration // the first backoff; it doubles
	Max         time.Duration
	ProviderMax time.Duration // for causes on the provider's side
	KeepLogs    time.Duration // run directories of passed tasks; 0 deletes at once
	Total       int           // attempts at once over all routes, 0 for no limit
	Limits      ShimLimits
	Language    string // of banners: ko or en
}

// DefaultPolicy is the seeds' contract.
func DefaultPolicy() Policy {
	return Policy{
		Budget: 10, First: time.Second, Max: time.Minute, ProviderMax: 10 * time.Minute,
		Limits: ShimLimits{
			InspectMS: 180_000, ToolMS: 1_800_000, EndMS: 3_600_000,
			StopGraceMS: 10_000, AnswerGraceMS: 30_000, LogCap: 128 << 20,
		},
	}
}

// LogRow is one row of a group's WORK_LOG.md (seed 003). It is identified by
// its event, locator and time: appending it again changes nothing.
type LogRow struct {
	Path    string // of the log, workspace-relative
	Time    time.Time
	Event   string // START, FINISH
	Task    string
	Role    Role
	Attempt string // aNN
	Model   string
	Result  string
	Locator string
}
