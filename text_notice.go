package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"drover/reconcile"
	"drover/spec"
)

// noticeBanner is what people see of a notice: the seed's banner with the keys
// that belong to it.
func noticeBanner(n reconcile.Notice) Banner {
	b := Banner{Event: string(n.Key), Task: n.Task.ID.Name}
	switch n.Key {
	case reconcile.AttemptFailed:
		b.Event, b.Warning = "attempt-failed", true
		b.Fields = failureFields(n)
	case reconcile.TaskBlocked:
		b.Warning = true
		b.Fields = blockFields(n.Reason)
	case reconcile.TaskWaiting, reconcile.QuotaWaiting, reconcile.GateOpened:
		b.Fields = waitFields(n.Reason)
	case reconcile.ReviewResult:
		b.Fields = []Field{{"verdict", n.Verdict}}
		b.Fields = appendField(b.Fields, "locator", locatorPath(n))
	case reconcile.SilenceInspected, reconcile.NoProgressWarning, reconcile.StoppedByPerson:
		b.Warning = n.Key == reconcile.NoProgressWarning
		b.Fields = appendField(nil, "locator", locatorPath(n))
	case reconcile.TaskComplete:
	default:
		b.Fields = startFields(n)
	}
	b.Line = noticeLine(n)
	return b
}

// noticeLine is "[task][role][aNN] …" with what there is to say.
func noticeLine(n reconcile.Notice) string {
	if n.Attempt == "" {
		return clean(n.Text)
	}
	text := n.Text
	if text == "" {
		text = n.Next
	}
	if text == "" {
		text = "..."
	}
	return fmt.Sprintf("[%s][%s][%s] %s", path.Base(n.Task.ID.Name), n.Role, n.Attempt, text)
}

func startFields(n reconcile.Notice) []Field {
	l := n.Locator
	if l == nil {
		return nil
	}
	route := spec.Route{Agent: l.CLI, Model: l.Model, Effort: l.Effort}
	out := []Field{{"model", route.String()}}
	if n.Role == spec.RoleReview {
		out = appendField(out, "review", l.Review)
	} else {
		out = appendField(out, "plan", l.Plan)
	}
	out = appendField(out, "work_log", l.WorkLog)
	out = appendField(out, "locator", locatorPath(n))
	if !l.DispatcherSourceMatchesLoaded && l.CurrentSourceSHA256 != "" {
		out = append(out, Field{"dispatcher_source_matches_loaded", "false"})
	}
	return out
}

// failureFields are the facts of a failed attempt, as its locator has them
// (seed 003, failure contract).
func failureFields(n reconcile.Notice) []Field {
	l := n.Locator
	if l == nil {
		return nil
	}
	var out []Field
	if l.FailureClass != "" { // else the CLI succeeded and its work was refused
		out = []Field{
			{"failure_class", string(l.FailureClass)},
			{"failure_source", string(l.FailureSource)},
			{"provider_transport_failure_confirmed", strconv.FormatBool(l.ProviderTransportFailureConfirmed)},
		}
	}
	out = appendField(out, "termination_initiator", l.TerminationInitiator)
	if l.TimeoutPhase != "" {
		out = append(out, Field{"timeout_phase", l.TimeoutPhase}, Field{"timeout_seconds", strconv.Itoa(l.TimeoutSeconds)})
	}
	out = append(out, Field{"dispatcher_pid", strconv.Itoa(l.DispatcherPID)}, Field{"agent_pid", strconv.Itoa(l.AgentPID)})
	out = appendField(out, "dispatcher_source_sha256", l.DispatcherSourceSHA256)
	out = append(out, Field{"dispatcher_source_matches_loaded", strconv.FormatBool(l.DispatcherSourceMatchesLoaded)})
	out = appendField(out, "locator", locatorPath(n))
	return appendField(out, "next", n.Next)
}

func blockFields(r spec.Reason) []Field {
	out := []Field{{"reason", reasonText(r)}}
	out = appendField(out, "file", place(r))
	out = appendField(out, "locator", r.Locator)
	return appendField(out, "resume", r.Resume)
}

func waitFields(r spec.Reason) []Field {
	out := []Field{{"reason", reasonText(r)}}
	return appendField(out, "waits_for", strings.Join(r.WaitsFor, " "))
}

func appendField(fields []Field, key, value string) []Field {
	if value == "" {
		return fields
	}
	return append(fields, Field{key, value})
}

func locatorPath(n reconcile.Notice) string {
	if n.Dir == "" {
		return ""
	}
	return path.Join(n.Dir, "locator.json")
}

// reasonText is "code: detail".
func reasonText(r spec.Reason) string {
	if r.Detail == "" {
		return string(r.Code)
	}
	return string(r.Code) + ": " + r.Detail
}

// place is where a reason points: "file:line", "file" or "".
func place(r spec.Reason) string {
	if r.Line > 0 {
		return fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	return r.File
}
