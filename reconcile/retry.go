package reconcile

import (
	"fmt"
	"time"

	"drover/spec"
)

// nextTry says how the next attempt of a step is made. Every one differs from
// the last in something that it can name (DESIGN 9).
func nextTry(s spec.Step, st spec.StageRecord, last *spec.Run) spec.Try {
	rung := min(st.Rung, len(s.Ladder)-1)
	if rung < 0 {
		return spec.Try{Kind: spec.TryFresh, Last: last}
	}
	try := spec.Try{Kind: spec.TryRetry, Rung: rung, Route: s.Ladder[rung], Last: last, Why: "a new session"}
	switch {
	case last == nil || st.LastClass == "":
		try.Kind, try.Why, try.Last = spec.TryFresh, "", nil
	case resumable(s.Ladder[rung], *last, st.LastClass):
		try.Kind, try.Why = spec.TrySameSession, "the same session goes on"
	case st.LastClass.Promotes() && rung+1 < len(s.Ladder):
		try.Kind, try.Rung = spec.TryPromotion, rung+1
		try.Route = s.Ladder[rung+1]
		try.Why = fmt.Sprintf("%s instead of %s", try.Route.Agent, last.Locator.CLI)
	case st.LastClass.Promotes() && promotesToItself(s.Ladder[rung]):
		try.Kind, try.Why = spec.TryPromotion, "a fresh session that reads the locator"
	case st.Next != "":
		try.Kind, try.Why = st.Next, "the "+string(st.Next)+" prompt"
	}
	return try
}

// resumable reports whether the native session goes on: after a context limit
// or a stall outside a tool, on the routes that say so (seed 003: laguna-s).
func resumable(r spec.Route, last spec.Run, class spec.Class) bool {
	if !r.SameSession || (last.Locator.SessionID == "" && last.Locator.SessionPath == "" && last.Result.SessionID == "") {
		return false
	}
	return class == spec.ClassContextLimit || (class == spec.ClassSessionStall && !last.Exit.StalledInTool)
}

// promotesToItself: a codex that met a limit is followed by a fresh codex with
// the locator; Pi is never promoted, not even to itself (seed 003).
func promotesToItself(r spec.Route) bool { return r.Agent == "codex" }

// timer is when the next attempt may start, and why not before. idle is how
// many claims in a row never started their agent.
func timer(try spec.Try, st spec.StageRecord, idle int, rec *spec.Record, p spec.Policy) (time.Time, spec.Reason) {
	if st.LastEnd.IsZero() || st.Done {
		return time.Time{}, spec.Reason{}
	}
	why := spec.Reason{Code: spec.BackoffWait, Locator: st.LastLocator}
	if idle > 0 {
		why.Detail = fmt.Sprintf("claimed %d times, but the agent never started", idle)
		return st.LastEnd.Add(backoff(idle, spec.ClassNotStarted, p)), why
	}
	if try.Kind == spec.TryPromotion && try.Last != nil && try.Rung > try.Last.Locator.Rung {
		return time.Time{}, spec.Reason{}
	}
	if st.LastClass == spec.ClassQuota && st.ResetAt.After(st.LastEnd) {
		why.Code = spec.QuotaWait
		why.Detail = fmt.Sprintf("%s has no quota until %s", try.Route.Agent, st.ResetAt.Format("15:04 MST"))
		return st.ResetAt, why
	}
	n := max(st.Transport, rec.NoProgress)
	if st.LastClass == spec.ClassInfra {
		n = max(n, 1)
	}
	if n == 0 {
		return time.Time{}, spec.Reason{}
	}
	why.Detail = fmt.Sprintf("%d of %d failed: %s; next %s", st.Transport, p.Budget, st.LastClass, nextWords(try))
	return st.LastEnd.Add(backoff(n, st.LastClass, p)), why
}

func nextWords(t spec.Try) string {
	if t.Why == "" {
		return "the same again"
	}
	return t.Why
}

// backoff doubles from p.First, up to p.Max; up to p.ProviderMax where the
// provider's side is to blame.
func backoff(n int, class spec.Class, p spec.Policy) time.Duration {
	limit := p.Max
	if class.Provider() {
		limit = max(limit, p.ProviderMax)
	}
	d := p.First
	for range n - 1 {
		if d *= 2; d >= limit {
			return limit
		}
	}
	return min(d, limit)
}
