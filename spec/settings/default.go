package settings

import "time"

// Default is the seeds' contract: what holds where drover.yaml is silent.
func Default() Settings {
	s := Settings{
		Language: Language{Answers: "ko"},
		Zone:     "Asia/Seoul",
		Agents:   map[string]Agent{},
		Routes:   defaultRoutes(),
		Promote:  [][]string{{"agy-low", "agy-medium", "agy-high"}, {"claude"}, {"codex"}},
		AgentTask: AgentTask{
			Root: "agent-task", Plain: "claude", Review: "codex",
			Finalize: FinalizeReviewer, MaxRounds: 10,
		},
		Issues: Issues{
			Root: ".hxsk/issues", Approve: "agent-splits",
			Split: "claude", Worker: "claude", Resolve: "claude",
		},
		Milestones: Milestones{
			Root: "milestones", Gates: "by-hand", Split: "claude", Spec: "claude", Loop: "claude",
			Iterations: 30, WallClock: 120 * time.Minute, AtOnce: 3, WaveTimeout: 7200 * time.Second,
			DoneLabel: "loop:done",
		},
		Plans: Plans{
			Globs:     []string{"docs/features/**/*-implementation-plan.md"},
			Implement: "haiku", Reorder: "sonnet", Review: "sonnet",
		},
		Failures:  Failures{Budget: 10, Strikes: 3},
		Backoff:   Backoff{First: time.Second, Max: time.Minute, ProviderMax: 10 * time.Minute},
		Liveness:  Liveness{Inspect: 3 * time.Minute, Tool: 30 * time.Minute, EndAfter: time.Hour},
		Watch:     Watch{Settle: 20 * time.Millisecond, Resync: time.Minute},
		Worktrees: ".drover/worktrees",
		LogCap:    128 << 20,
		Grace:     Grace{Stop: 10 * time.Second, AfterAnswer: 30 * time.Second},
		Reclaim:   Reclaim{Keep: 14 * 24 * time.Hour},
	}
	fill(&s.AgentTask.Local, 1, 6, "pi-ornith")
	fill(&s.AgentTask.Local, 7, 8, "pi-laguna")
	fill(&s.AgentTask.Local, 9, 10, "claude")
	fill(&s.AgentTask.Cloud, 1, 2, "agy-low")
	fill(&s.AgentTask.Cloud, 3, 4, "agy-medium")
	fill(&s.AgentTask.Cloud, 5, 6, "agy-high")
	fill(&s.AgentTask.Cloud, 7, 8, "claude")
	fill(&s.AgentTask.Cloud, 9, 10, "codex")
	return s
}

func fill(g *Grades, from, to int, route string) {
	for i := from; i <= to; i++ {
		g[i] = route
	}
}

// defaultRoutes are seed 003's route table and limits, and the models that
// plans are pinned to (DESIGN 9). A file may replace each by its name.
func defaultRoutes() map[string]Route {
	agy := func(level string) Route {
		return Route{Agent: "agy", Model: "Gemini 3.5 Flash (" + level + ")", AtOnce: 1, LimitKey: "agy"}
	}
	return map[string]Route{
		"pi-ornith":  {Agent: "pi", Model: "iop/ornith-fast", Effort: "high", Selfcheck: true, AtOnce: 3, LimitKey: "pi ornith-fast"},
		"pi-laguna":  {Agent: "pi", Model: "iop/laguna-s:2.1", Effort: "high", Selfcheck: true, AtOnce: 2, LimitKey: "pi laguna-s"},
		"agy-low":    agy("Low"),
		"agy-medium": agy("Medium"),
		"agy-high":   agy("High"),
		"claude":     {Agent: "claude", Model: "claude-opus-4-8", Effort: "xhigh"},
		"codex":      {Agent: "codex", Model: "gpt-5.6-sol", Effort: "xhigh"},
		"haiku":      {Agent: "claude", Model: "haiku"},
		"sonnet":     {Agent: "claude", Model: "sonnet"},
		"script":     {Agent: "script"},
	}
}
