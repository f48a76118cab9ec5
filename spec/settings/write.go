package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text is the settings as a file that Parse reads back to the same.
func (s *Settings) Text() string {
	w := writer{}
	w.line("version: 1")
	if s.Language.Screen != "" {
		w.line("language: {screen: %s, answers: %s}", s.Language.Screen, s.Language.Answers)
	} else {
		w.line("language: {answers: %s}", s.Language.Answers)
	}
	w.line("zone: %s", quote(s.Zone))
	w.agents(s.Agents)
	w.routes(s)
	w.line("limits: {total: %d}", s.Limits.Total)
	w.agentTask(s.AgentTask)
	w.later(s)
	w.line("failures: {budget: %d, strikes: %d}", s.Failures.Budget, s.Failures.Strikes)
	w.line("backoff: {first: %s, max: %s, provider_max: %s}", s.Backoff.First, s.Backoff.Max, s.Backoff.ProviderMax)
	w.line("liveness: {inspect: %s, tool: %s, end_after: %s}", s.Liveness.Inspect, s.Liveness.Tool, s.Liveness.EndAfter)
	w.line("watch: {settle: %s, resync: %s}", s.Watch.Settle, s.Watch.Resync)
	w.line("worktrees: %s", quote(s.Worktrees))
	w.line("log_cap: %d", s.LogCap)
	w.line("grace: {stop: %s, after_answer: %s}", s.Grace.Stop, s.Grace.AfterAnswer)
	w.line("reclaim: {ignore: %s, keep: %s}", list(s.Reclaim.Ignore), days(s.Reclaim.Keep))
	if len(s.Notify) > 0 {
		w.line("notify:")
		for _, n := range s.Notify {
			w.line("  - {on: %s, run: %s}", list(n.On), list(n.Run))
		}
	}
	return w.String()
}

type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) agents(agents map[string]Agent) {
	if len(agents) == 0 {
		return
	}
	w.line("agents:")
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		w.line("  %s:", quote(name))
		w.line("    at_once: %d", a.AtOnce)
		if a.Path != "" {
			w.line("    path: %s", quote(a.Path))
		}
		if len(a.Args) > 0 {
			w.line("    args: %s", list(a.Args))
		}
		if a.Sandbox != "" {
			w.line("    sandbox: %s", quote(a.Sandbox))
		}
		if len(a.Command) > 0 {
			w.line("    command: %s", list(a.Command))
			w.line("    success: {exit: %d, json_path: %s, equals: %s}", a.Success.Exit, quote(a.Success.JSONPath), quote(a.Success.Equals))
		}
		if len(a.Env) > 0 {
			w.line("    env:")
			for _, k := range slices.Sorted(maps.Keys(a.Env)) {
				w.line("      %s: %s", quote(k), quote(a.Env[k]))
			}
		}
	}
}

func (w *writer) routes(s *Settings) {
	w.line("routes:")
	for _, name := range slices.Sorted(maps.Keys(s.Routes)) {
		r := s.Routes[name]
		w.line("  %s: {agent: %s, model: %s, effort: %s, at_once: %d, selfcheck: %t}",
			quote(name), quote(r.Agent), quote(r.Model), quote(r.Effort), r.AtOnce, r.Selfcheck)
	}
	w.line("promote:")
	for _, rung := range s.Promote {
		w.line("  - %s", list(rung))
	}
}

func (w *writer) agentTask(t AgentTask) {
	w.line("agent_task:")
	w.line("  root: %s", quote(t.Root))
	w.line("  route:")
	w.line("    local: %s", t.Local.text())
	w.line("    cloud: %s", t.Cloud.text())
	w.line("    review: %s", quote(t.Review))
	w.line("    plain: %s", quote(t.Plain))
	w.line("  finalize: %s", t.Finalize)
	w.line("  keep_logs: %s", days(t.KeepLogs))
	w.line("  max_rounds: %d", t.MaxRounds)
}

// text is the grades, neighbours of one route together.
func (g Grades) text() string {
	var parts []string
	for from := 1; from < len(g); {
		to := from
		for to+1 < len(g) && g[to+1] == g[from] {
			to++
		}
		grades := strconv.Itoa(from)
		if to > from {
			grades += "-" + strconv.Itoa(to)
		}
		parts = append(parts, grades+": "+quote(g[from]))
		from = to + 1
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (w *writer) later(s *Settings) {
	i, m, p := s.Issues, s.Milestones, s.Plans
	w.line("issues: {root: %s, approve: %s, split: %s, worker: %s, resolve: %s%s, verify: %s}",
		quote(i.Root), i.Approve, quote(i.Split), quote(i.Worker), quote(i.Resolve), optional("review", i.Review), quote(i.Verify))
	w.line("milestones: {root: %s, gates: %s, split: %s, spec: %s, loop: %s, iterations: %d, wall_clock: %s, at_once: %d, wave_timeout: %s, done_label: %s}",
		quote(m.Root), m.Gates, quote(m.Split), quote(m.Spec), quote(m.Loop), m.Iterations, m.WallClock, m.AtOnce, m.WaveTimeout, quote(m.DoneLabel))
	w.line("plans: {globs: %s, verify: %s%s, implement: %s, reorder: %s, review: %s}",
		list(p.Globs), quote(p.Verify), optional("risk", p.Risk), quote(p.Implement), quote(p.Reorder), quote(p.Review))
}

func optional(key, route string) string {
	if route == "" {
		return ""
	}
	return ", " + key + ": " + quote(route)
}

// quote writes a text bare where YAML reads it as itself, else in double
// quotes, whose escapes YAML shares with Go's.
func quote(s string) string {
	if s == "" {
		return `""`
	}
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if letter || i > 0 && ('0' <= r && r <= '9' || strings.ContainsRune("_./-+", r)) {
			continue
		}
		return strconv.Quote(s)
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	return s
}

func list(items []string) string {
	out := make([]string, len(items))
	for i, s := range items {
		out[i] = quote(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// days writes whole days as such.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d > 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}
