package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/spec"
)

// Explanation is why a task is where it is, by the loop's own decision.
type Explanation struct {
	Row spec.Row `json:"task"`
	// On are the tasks that it waits for.
	On []Blocker `json:"on"`
	// Last is its own last attempt, if one ended.
	Last *LastAttempt `json:"last_attempt"`
	// Next is what happens next, in a sentence.
	Next string    `json:"next"`
	Rule string    `json:"rule"`
	At   time.Time `json:"at"`
}

// Blocker is a task that another one waits for.
type Blocker struct {
	Row  spec.Row     `json:"task"`
	Last *LastAttempt `json:"last_attempt"`
}

// LastAttempt is how a task's last attempt ended.
type LastAttempt struct {
	Attempt string     `json:"attempt"` // aNN
	Ended   time.Time  `json:"ended_at"`
	Seconds float64    `json:"seconds"`
	Exit    int        `json:"exit"`
	Class   spec.Class `json:"class"`
	Locator string     `json:"locator"`
}

// lastAttempt is the attempt of a list that was over last, nil for none.
func lastAttempt(runs []spec.Run) *LastAttempt {
	var last *spec.Run
	for i := range runs {
		if r := &runs[i]; !r.State.Live() && (last == nil || r.Ended().After(last.Ended())) {
			last = r
		}
	}
	if last == nil {
		return nil
	}
	class := last.Exit.Class
	if last.State == spec.RunLost {
		class = spec.ClassLost
	}
	begin := last.Locator.StartedAt
	if begin.IsZero() {
		begin = last.Locator.ClaimedAt
	}
	return &LastAttempt{
		Attempt: spec.ShortAttempt(last.Locator.Attempt), Ended: last.Ended(), Seconds: last.Ended().Sub(begin).Seconds(),
		Exit: last.Exit.Code, Class: class, Locator: last.Dir + "/locator.json",
	}
}

// explainText tells why, what comes next and what a person can do.
func explainText(e Explanation, language string, zone *time.Location) string {
	w, r := wordsIn(language), e.Row
	var b strings.Builder
	head := fmt.Sprintf(w.Is, r.Task, r.State)
	if r.File != "" {
		head += " · " + r.File
	}
	b.WriteString(clean(head) + "\n")
	writeBecause(&b, e, w, zone)
	if e.Next != "" {
		b.WriteString(pad(w.Next, 9) + clean(e.Next) + "\n")
	}
	do := slices.Clone(r.Do)
	for _, on := range e.On {
		if on.Row.NeedsPerson { // what would free that one frees this one
			do = append(do, on.Row.Do...)
		}
	}
	writeDo(&b, do, w)
	rule := e.Rule
	if rule == "" && r.Reason != nil {
		rule = ruleOf(r.Reason.Code)
	}
	if rule != "" {
		b.WriteString(pad(w.Rule, 9) + rule + "\n")
	}
	return b.String()
}

func writeBecause(b *strings.Builder, e Explanation, w words, zone *time.Location) {
	why := e.Row.Reason
	if (why == nil || why.Zero()) && e.Last == nil && e.Row.Failures == 0 {
		return
	}
	b.WriteString(w.Because + "\n")
	if e.Row.Failures > 0 {
		fmt.Fprintf(b, "  "+w.Failed+"\n", e.Row.Failures, e.Row.FailureLimit)
	}
	if why != nil && !why.Zero() {
		line := reasonText(*why)
		if p := place(*why); p != "" {
			line += ", " + p
		}
		fmt.Fprintf(b, "  %s\n", clean(line))
		for _, l := range why.Looked {
			fmt.Fprintf(b, "    %s\n", clean(l))
		}
	}
	if e.Last != nil {
		e.Last.write(b, w, e.At, zone)
	} else if why != nil && why.Locator != "" {
		fmt.Fprintf(b, "    locator %s\n", why.Locator)
	}
	for _, on := range e.On {
		line := fmt.Sprintf(w.Is, on.Row.Task, on.Row.State)
		if on.Row.Reason != nil && !on.Row.Reason.Zero() {
			line += ": " + reasonText(*on.Row.Reason)
		}
		fmt.Fprintf(b, "  and %s\n", clean(line))
		if on.Last != nil {
			on.Last.write(b, w, e.At, zone)
		}
	}
}

func (l LastAttempt) write(b *strings.Builder, w words, now time.Time, zone *time.Location) {
	now = now.In(zoneOr(zone))
	ended := l.Ended.In(now.Location())
	when := ended.Format(time.TimeOnly)
	if ended.Format(time.DateOnly) != now.Format(time.DateOnly) {
		when = ended.Format(time.DateTime)
	}
	took := took(time.Duration(l.Seconds * float64(time.Second)))
	fmt.Fprintf(b, "    "+w.Last+"\n", l.Attempt, when, took, l.Exit, l.Class)
	fmt.Fprintf(b, "    locator %s\n", l.Locator)
}

// writeDo lists commands, and beside each what it changes.
func writeDo(b *strings.Builder, do []spec.Do, w words) {
	width := 0
	for _, d := range do {
		width = max(width, cells(commandLine(d.Argv)))
	}
	for i, d := range do {
		lead := ""
		if i == 0 {
			lead = w.YouCan
		}
		b.WriteString(pad(lead, 9) + pad(commandLine(d.Argv), width+4) + d.Changes + "\n")
	}
}

// commandLine is a command as a shell would take it.
func commandLine(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}
