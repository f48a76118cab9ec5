package spec

// Role is what a step is for.
type Role string

// The roles.
const (
	RoleWorker    Role = "worker"
	RoleSelfcheck Role = "selfcheck"
	RoleReview    Role = "review"
	RoleSplit     Role = "split"
	RoleResolve   Role = "resolve"
	RoleSpec      Role = "spec"
	RoleLoop      Role = "loop"
	RoleImplement Role = "implement"
	RoleReorder   Role = "reorder"
	RoleVerify    Role = "verify"
)

// Route is who runs a step: the agent program, its model and effort.
type Route struct {
	Agent  string `json:"cli"`
	Model  string `json:"model"`
	Effort string `json:"effort"`
	// AtOnce is how many attempts may run at the same time on what LimitKey
	// names; 0 means no limit.
	AtOnce   int    `json:"at_once,omitempty"`
	LimitKey string `json:"-"`
	// ProgramAtOnce bounds all attempts of Agent, whatever their LimitKey, where
	// the route has a limit of its own too; 0 means no such second limit.
	ProgramAtOnce int `json:"-"`
	// Selfcheck asks for one fresh look of the same model at its own work
	// before the review (seed 003: Pi).
	Selfcheck bool `json:"-"`
	// SameSession resumes the native session after a context limit or a stall
	// outside a tool, where others start afresh (seed 003: laguna-s).
	SameSession bool `json:"-"`
	// Price is a CLI's own figure or nothing; drover never guesses one.
}

// String is the route as banners and work logs show it:
// "pi/iop/ornith-fast", "codex/gpt-5.6-sol xhigh".
func (r Route) String() string {
	s := r.Agent
	if r.Model != "" {
		s += "/" + r.Model
	}
	if r.Effort != "" && r.Agent != "pi" {
		s += " " + r.Effort
	}
	return s
}

// Ladder is the route of a step and those above it, lowest first.
type Ladder []Route
