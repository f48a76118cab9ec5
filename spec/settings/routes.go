package settings

import (
	"strings"

	"drover/spec"
)

// Worker is the ladder of a lane's grade, "local" or "cloud", 1 to 10; nil
// for any other.
func (s *Settings) Worker(lane string, grade int) spec.Ladder {
	if grade < 1 || grade > 10 {
		return nil
	}
	switch lane {
	case "local":
		return s.ladder(s.AgentTask.Local[grade])
	case "cloud":
		return s.ladder(s.AgentTask.Cloud[grade])
	}
	return nil
}

// Plain is the ladder of a PLAN.md without lane and grade.
func (s *Settings) Plain() spec.Ladder { return s.ladder(s.AgentTask.Plain) }

// Review is the ladder of agent-task's reviews.
func (s *Settings) Review() spec.Ladder { return s.ladder(s.AgentTask.Review) }

// ladder is the route of that name and those it may be promoted to.
func (s *Settings) ladder(name string) spec.Ladder {
	out := spec.Ladder{s.route(name)}
	for i, rung := range s.Promote {
		for _, n := range rung {
			if n != name {
				continue
			}
			for _, higher := range s.Promote[i+1:] {
				out = append(out, s.route(higher[0]))
			}
			return out
		}
	}
	return out
}

// route is a named route as the loop knows it.
func (s *Settings) route(name string) spec.Route {
	r := s.Routes[name]
	out := spec.Route{
		Agent: r.Agent, Model: r.Model, Effort: r.Effort,
		AtOnce: r.AtOnce, Selfcheck: r.Selfcheck,
		SameSession:   r.Agent == "pi" && strings.Contains(r.Model, "laguna-s"),
		ProgramAtOnce: s.Agents[r.Agent].AtOnce,
	}
	if out.LimitKey = r.LimitKey; out.LimitKey == "" && r.AtOnce > 0 {
		out.LimitKey = name
	}
	return out
}

// WithCPUs gives the script agent the machine's number of CPUs as its limit
// where the settings give none (DIALECTS 0, route limits).
func (s Settings) WithCPUs(n int) Settings {
	script := s.Agents["script"]
	if script.AtOnce > 0 {
		return s
	}
	script.AtOnce = n
	agents := map[string]Agent{"script": script}
	for name, a := range s.Agents {
		if name != "script" {
			agents[name] = a
		}
	}
	s.Agents = agents
	return s
}
