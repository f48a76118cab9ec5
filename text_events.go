package main

import (
	"fmt"
	"path"
	"strings"
	"time"

	"drover/spec"
)

// eventText is one event of the journal as one line.
func eventText(e spec.Event, now time.Time) string {
	parts := []string{clockSeconds(e.At, now)}
	if e.Task != "" {
		parts = append(parts, e.Task)
	}
	if what := eventWhat(e); what != "" {
		parts = append(parts, what)
	}
	return clean(strings.Join(parts, "  "))
}

// clockSeconds is a time of day, with the date when that is not today.
func clockSeconds(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

func eventWhat(e spec.Event) string {
	step := strings.TrimSpace(string(e.Role) + " " + spec.ShortAttempt(e.Attempt))
	switch e.Kind {
	case spec.EventState:
		return stateWhat(e)
	case spec.EventStart:
		text := step + " started"
		if e.Route != nil {
			text += ": " + e.Route.String()
		}
		if e.Waited >= 1 {
			text += ", after waiting " + span(time.Duration(e.Waited*float64(time.Second))) + " for a slot"
		}
		return text
	case spec.EventFinish:
		return finishWhat(e, step)
	case spec.EventVerdict:
		return "review " + spec.ShortAttempt(e.Attempt) + " says " + e.Verdict
	case spec.EventPromote:
		text := step + " promoted"
		if e.Route != nil {
			text += " to " + e.Route.String()
		}
		return joined(text, e.Cause)
	case spec.EventInspect:
		return joined(step+" is silent; looked at, not ended", e.Message)
	case spec.EventRequest, spec.EventGate:
		return joined(joined(joined(string(e.Kind), e.Cause), byWhom(e.By))+":", e.Message)
	}
	return joined(joined(string(e.Kind), e.Cause), e.Message)
}

func stateWhat(e spec.Event) string {
	text := string(e.To)
	if e.From != "" {
		text = string(e.From) + " → " + text
	}
	if e.Reason != nil && !e.Reason.Zero() {
		text += ": " + reasonText(*e.Reason)
	}
	return joined(text, byWhom(e.By))
}

func finishWhat(e spec.Event, step string) string {
	text := step + " ended"
	if !e.StartedAt.IsZero() && !e.EndedAt.IsZero() {
		text += " after " + took(e.EndedAt.Sub(e.StartedAt))
	}
	text = joined(text+":", e.Result)
	if string(e.Class) != e.Result && e.Class != "" && e.Class != spec.ClassSuccess {
		text += " (" + string(e.Class) + ")"
	}
	if e.Usage != nil && e.Usage.InputTokens+e.Usage.OutputTokens > 0 {
		text += ", " + count(e.Usage.InputTokens+e.Usage.OutputTokens) + " tokens, " + money(*e.Usage)
	}
	if e.Locator != "" && e.Class != spec.ClassSuccess {
		text += ", " + path.Dir(e.Locator)
	}
	return text
}

func byWhom(by string) string {
	if by == "" {
		return ""
	}
	return "(by " + by + ")"
}

func joined(a, b string) string {
	if b == "" {
		return strings.TrimSuffix(a, ":")
	}
	return a + " " + b
}

// parseSince reads how far back to look: a span such as 90m or 7d, a date, or
// a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && fmt.Sprint(n) == days && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		today := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if today.After(now) {
			today = today.AddDate(0, 0, -1)
		}
		return today, nil
	}
	return time.Time{}, usageError("--since wants a span such as 90m or 7d, a time such as 22:00, or a date, not %q", text)
}
