package main

import (
	"fmt"
	"strings"
	"time"

	"drover/spec"
)

// RunEnd is what a run leaves: its last status and what it took.
type RunEnd struct {
	Status   spec.StatusDoc
	Took     time.Duration
	Attempts int
	Usage    spec.Usage
	// Elsewhere are tasks that another drover runs.
	Elsewhere []string
}

// runEndText is the end of a drain: the seed's lists, so that a blocker is
// never taken for a success.
func runEndText(e RunEnd, language string) string {
	w := wordsIn(language)
	var b strings.Builder
	lists := []struct {
		state spec.State
		name  string
		write func(*strings.Builder, spec.Row, words)
	}{
		{spec.StateComplete, string(spec.StateComplete), func(*strings.Builder, spec.Row, words) {}},
		{spec.StateBlocked, w.Blocked, writeBlocked},
		{spec.StateWaiting, w.Waiting, writeWaiting},
		{spec.StateHeld, w.Held, writeWaiting},
		{spec.StateReady, string(spec.StateReady), writeWaiting},
		{spec.StateRunning, w.Running, writeRunning},
	}
	for i, l := range lists {
		var rows []spec.Row
		for _, r := range e.Status.Tasks {
			if r.State == l.state {
				rows = append(rows, r)
			}
		}
		if len(rows) == 0 && i > 2 {
			continue
		}
		fmt.Fprintf(&b, "%s %d\n", l.name, len(rows))
		for _, r := range rows {
			b.WriteString("  " + clean(r.Task))
			l.write(&b, r, w)
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "%s %d\n", w.Elsewhere, len(e.Elsewhere))
	for _, t := range e.Elsewhere {
		b.WriteString("  " + clean(t) + "\n")
	}
	for _, p := range e.Status.Problems {
		b.WriteString("PROBLEM  " + problemCells(p) + "\n")
	}
	b.WriteString(spent(e, w) + "\n")
	return b.String()
}

func spent(e RunEnd, w words) string {
	parts := []string{fmt.Sprintf(w.Drained, took(e.Took)), fmt.Sprintf(w.Attempts, e.Attempts)}
	if n := e.Usage.InputTokens + e.Usage.OutputTokens; n > 0 {
		parts = append(parts, fmt.Sprintf(w.Tokens, count(n)), money(e.Usage))
	}
	return strings.Join(parts, " · ")
}

func writeBlocked(b *strings.Builder, r spec.Row, w words) {
	if r.Reason == nil {
		return
	}
	b.WriteString("  " + clean(reasonText(*r.Reason)))
	if p := place(*r.Reason); p != "" {
		b.WriteString(", " + p)
	}
	if locator := firstOf(r.Reason.Locator, r.Locator); locator != "" {
		b.WriteString("\n    locator " + locator)
	}
	if resume := resumeOf(r); resume != "" {
		b.WriteString("\n    " + w.Resume + " " + clean(resume))
	}
}

// resumeOf is how a blocked task goes on: the reason's own words, else the
// first command that changes something.
func resumeOf(r spec.Row) string {
	if r.Reason != nil && r.Reason.Resume != "" {
		return r.Reason.Resume
	}
	for _, d := range r.Do {
		if len(d.Argv) > 1 && d.Argv[1] != "logs" && d.Argv[1] != "explain" {
			return commandLine(d.Argv)
		}
	}
	return ""
}

func writeWaiting(b *strings.Builder, r spec.Row, w words) {
	if r.Reason == nil || r.Reason.Zero() {
		return
	}
	b.WriteString("  " + clean(reasonText(*r.Reason)))
	if len(r.WaitsFor) > 0 {
		b.WriteString(" (" + w.WaitsFor + " " + strings.Join(r.WaitsFor, ", ") + ")")
	}
}

func writeRunning(b *strings.Builder, r spec.Row, _ words) {
	b.WriteString("  " + string(r.Stage) + " " + spec.ShortAttempt(r.Attempt))
	if r.Locator != "" {
		b.WriteString("\n    locator " + r.Locator)
	}
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
