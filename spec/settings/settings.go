// Package settings turns the bytes of drover.yaml into Settings: strictly, so
// that a misspelt key is a message with its line and never a silent default.
//
// It is pure. An absent file means the seeds' contract (Default).
package settings

import (
	"slices"
	"time"

	"drover/spec"
)

// Settings are all values a person may set (COMMANDS 4). The zero value of a
// duration, size or count means "no limit" unless its field says otherwise.
type Settings struct {
	Language Language
	// Zone is the name of WORK_LOG.md's time zone; ZoneLine is its line, for
	// whoever finds that there is no such zone.
	Zone     string
	ZoneLine int

	Agents map[string]Agent
	Routes map[string]Route
	// Promote are the rungs of promotion, lowest first; routes of one rung
	// stand side by side. A route on no rung is never promoted.
	Promote [][]string
	Limits  Limits

	AgentTask  AgentTask
	Issues     Issues
	Milestones Milestones
	Plans      Plans

	Failures  Failures
	Backoff   Backoff
	Liveness  Liveness
	Watch     Watch
	Worktrees string // workspace-relative, or absolute
	LogCap    int64  // bytes of stream.log and of stderr.log, each
	Grace     Grace
	Reclaim   Reclaim
	Spend     Spend
	Hours     Hours
	Notify    []Notify

	// NotYet are settings that are understood and kept, but that this version
	// does not obey. They change nothing that would be unsafe.
	NotYet []spec.Problem
	// Trusted names what the file makes drover run beside the known agents
	// (agents.*.path, agents.*.command, notify.run): it needs a person's trust.
	Trusted []string
}

// Language says in which words drover and the agents speak.
type Language struct {
	Screen  string // "ko", "en", or "" to go by the locale
	Answers string // "ko" or "en"; of the prompts
}

// Agent is how one agent program is started.
type Agent struct {
	Path    string // "" looks it up on PATH; a leading "~/" is the home folder
	AtOnce  int    // attempts of this program at once; 0 is no limit
	Args    []string
	Env     map[string]string
	Sandbox string
	// Command makes a program that drover does not know an agent: {prompt},
	// {model} and {effort} are replaced in each word.
	Command []string
	Success Success // of Command
}

// Success is how an agent of one's own shows that it succeeded.
type Success struct {
	Exit     int
	JSONPath string // into the last JSON object of its output; "" asks for the exit code only
	Equals   string
}

// Route is what a grade means.
type Route struct {
	Agent     string
	Model     string // "" is the program's own default
	Effort    string
	AtOnce    int  // 0 is no limit of the route's own
	Selfcheck bool // a fresh look at its own work before the review
	// LimitKey groups routes that share AtOnce; "" is the route's own name.
	LimitKey string
}

// Limits bound what runs at once.
type Limits struct{ Total int }

// Grades are the routes of the ten grades of a lane; index 0 is unused.
type Grades [11]string

// AgentTask are the settings of seed 003's dialect.
type AgentTask struct {
	Root      string
	Local     Grades
	Cloud     Grades
	Plain     string // the route of a PLAN.md without lane and grade
	Review    string
	Finalize  string        // who archives: FinalizeReviewer or FinalizeDrover
	KeepLogs  time.Duration // run directories of passed tasks; 0 deletes at once
	MaxRounds int
}

// Who finalizes a reviewed task.
const (
	FinalizeReviewer = "reviewer"
	FinalizeDrover   = "drover"
)

// Issues are the settings of seed 000's dialect.
type Issues struct {
	Root, Approve, Split, Worker, Resolve, Review, Verify string
}

// Milestones are the settings of seed 001's dialect.
type Milestones struct {
	Root, Gates, Split, Spec, Loop string
	Iterations                     int
	WallClock                      time.Duration
	AtOnce                         int
	WaveTimeout                    time.Duration
	DoneLabel                      string
}

// Plans are the settings of seed 002's dialect.
type Plans struct {
	Globs                      []string
	Verify, Risk               string
	Implement, Reorder, Review string
}

// Failures say how often a step may fail in a row.
type Failures struct{ Budget, Strikes int }

// Backoff says how long to wait after a failure; it doubles from First.
type Backoff struct{ First, Max, ProviderMax time.Duration }

// Liveness says how long an agent may be silent.
type Liveness struct{ Inspect, Tool, EndAfter time.Duration }

// Watch are the times of the watcher.
type Watch struct{ Settle, Resync time.Duration }

// Grace are the times between asking and killing.
type Grace struct {
	Stop        time.Duration // TERM to KILL
	AfterAnswer time.Duration // terminal event to the process's end
}

// Reclaim says what may be removed of old worktrees.
type Reclaim struct {
	Ignore []string
	Keep   time.Duration
}

// Spend is what a day may cost.
type Spend struct {
	USD    float64
	Tokens int64
}

// Hours is when new work may start, in minutes after midnight; equal ends
// mean always.
type Hours struct{ From, To int }

// Notify is a program that is told of events.
type Notify struct {
	On  []string
	Run []string
}

// Policy are the numbers that Decide goes by.
func (s *Settings) Policy() spec.Policy {
	p := spec.DefaultPolicy()
	p.Budget = s.Failures.Budget
	p.First, p.Max, p.ProviderMax = s.Backoff.First, s.Backoff.Max, s.Backoff.ProviderMax
	p.KeepLogs = s.AgentTask.KeepLogs
	p.Total = s.Limits.Total
	p.Limits = spec.ShimLimits{
		InspectMS:     s.Liveness.Inspect.Milliseconds(),
		ToolMS:        s.Liveness.Tool.Milliseconds(),
		EndMS:         s.Liveness.EndAfter.Milliseconds(),
		StopGraceMS:   s.Grace.Stop.Milliseconds(),
		AnswerGraceMS: s.Grace.AfterAnswer.Milliseconds(),
		LogCap:        s.LogCap,
	}
	p.Language = s.BannerLanguage()
	return p
}

// BannerLanguage is that of banners' event words: Korean, as the seed has
// them, unless the screen's language is set.
func (s *Settings) BannerLanguage() string {
	if s.Language.Screen == "" {
		return "ko"
	}
	return s.Language.Screen
}

// Programs are the agents that the routes of agent-task need, sorted.
func (s *Settings) Programs() []string {
	var out []string
	names := append(slices.Concat(s.AgentTask.Local[1:], s.AgentTask.Cloud[1:]), s.AgentTask.Plain, s.AgentTask.Review)
	for _, name := range names {
		for _, r := range s.ladder(name) {
			out = append(out, r.Agent)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
