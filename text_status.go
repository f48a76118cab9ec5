package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"drover/spec"
)

// StatusView is how a status document is shown.
type StatusView struct {
	All      bool // completed tasks too
	NeedsYou bool // only what needs a person
	// Columns is the width in cells; 0 is no terminal: one line a task, the
	// reason last.
	Columns  int
	Paint    Painter
	Language string
	Zone     *time.Location // of times of day; nil is the local one
}

// wideEnough is the width from which the reason is a column of its own.
const wideEnough = 120

// statusText is the status table (COMMANDS 6).
func statusText(doc spec.StatusDoc, v StatusView) string {
	w := wordsIn(v.Language)
	now := doc.GeneratedAt.In(zoneOr(v.Zone))
	var b strings.Builder
	b.WriteString(statusHead(doc, w, now) + "\n")
	rows := shownRows(doc.Tasks, v)
	if len(rows) == 0 && len(doc.Problems) == 0 {
		if len(doc.Tasks) == 0 {
			b.WriteString("\n" + w.NoTasks + "\n")
		}
		return b.String()
	}
	b.WriteString("\n")
	t := statusTable(rows, w, now, v)
	t.write(&b, v.Paint)
	for _, p := range doc.Problems {
		b.WriteString(v.Paint.Problem("PROBLEM") + pad("", t.widths[0]-len("PROBLEM")) + "  " + problemCells(p) + "  " + w.See + "\n")
	}
	return b.String()
}

func zoneOr(z *time.Location) *time.Location {
	if z == nil {
		return time.Local
	}
	return z
}

func statusHead(doc spec.StatusDoc, w words, now time.Time) string {
	parts := []string{path.Base(doc.Workspace)}
	if o := doc.Owner; o != nil {
		parts = append(parts, fmt.Sprintf(w.Watches, o.PID, clock(o.Since, now)))
	} else {
		parts = append(parts, w.Idle)
	}
	s := doc.Summary
	total := s.Complete + s.Running + s.Ready + s.Waiting + s.Blocked + s.Held
	parts = append(parts, fmt.Sprintf(w.Complete, s.Complete, total), now.Format(time.TimeOnly))
	return strings.Join(parts, " · ")
}

// shownRows are the rows a view asks for: what needs a person first.
func shownRows(rows []spec.Row, v StatusView) []spec.Row {
	var out []spec.Row
	for _, r := range rows {
		if r.State == spec.StateComplete && !v.All || v.NeedsYou && !r.NeedsPerson {
			continue
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b spec.Row) int { return rank(a) - rank(b) })
	return out
}

func rank(r spec.Row) int {
	if r.NeedsPerson {
		return 0
	}
	order := []spec.State{
		spec.StateRunning, spec.StateReady, spec.StateWaiting,
		spec.StateBlocked, spec.StateHeld, spec.StateComplete,
	}
	return 1 + slices.Index(order, r.State)
}

// table is rows of cells under headings; notes stand below their row, or as a
// last column.
type table struct {
	head   []string
	rows   []tableRow
	widths []int
	wide   bool
}

type tableRow struct {
	state spec.State
	cells []string
	note  string
}

func statusTable(rows []spec.Row, w words, now time.Time, v StatusView) table {
	t := table{
		head: []string{w.State, w.Task, w.Stage, w.Agent, w.Try, w.For},
		wide: v.Columns == 0 || v.Columns >= wideEnough,
	}
	for _, r := range rows {
		t.rows = append(t.rows, tableRow{r.State, rowCells(r, now), rowNote(r, w)})
	}
	if t.wide {
		t.head = append(t.head, w.Reason)
	}
	t.widths = make([]int, len(t.head))
	for i, h := range t.head {
		t.widths[i] = cells(h)
	}
	for _, r := range t.rows {
		for i, c := range r.cells {
			t.widths[i] = max(t.widths[i], cells(c))
		}
	}
	t.widths[0] = max(t.widths[0], len("complete"))
	return t
}

func rowCells(r spec.Row, now time.Time) []string {
	since := "-"
	if r.Since != nil {
		since = span(now.Sub(*r.Since))
	}
	return []string{
		string(r.State), clean(r.Task), dash(string(r.Stage)), dash(shortRoute(r.Route)),
		dash(spec.ShortAttempt(r.Attempt)), since,
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// rowNote is why a task is where it is.
func rowNote(r spec.Row, w words) string {
	var parts []string
	if r.Failures > 0 && r.State != spec.StateBlocked {
		parts = append(parts, fmt.Sprintf(w.Failed, r.Failures, r.FailureLimit))
	}
	if why := r.Reason; why != nil && !why.Zero() {
		text := reasonText(*why)
		if r.NeedsPerson {
			text = w.NeedsYou + ": " + text
		}
		if why.Code == spec.LimitFull && len(why.WaitsFor) > 0 {
			text += ", " + w.HeldBy + " " + strings.Join(why.WaitsFor, ", ")
		}
		if p := place(*why); p != "" {
			text += ", " + p
		}
		parts = append(parts, text)
	}
	return clean(strings.Join(parts, "; "))
}

func (t table) write(b *strings.Builder, paint Painter) {
	line := func(state spec.State, cells []string, note string) {
		var s strings.Builder
		for i, c := range cells {
			padded := pad(c, t.widths[i])
			if i == 0 {
				padded = paint.State(state, c) + padded[len(c):]
			}
			s.WriteString(padded + "  ")
		}
		if t.wide {
			s.WriteString(note)
		}
		b.WriteString(strings.TrimRight(s.String(), " ") + "\n")
		if !t.wide && note != "" {
			b.WriteString(strings.Repeat(" ", t.widths[0]+2) + note + "\n")
		}
	}
	if len(t.rows) == 0 {
		return
	}
	heads := t.head
	last := ""
	if t.wide {
		heads, last = t.head[:len(t.head)-1], t.head[len(t.head)-1]
	}
	line("", heads, last)
	for _, r := range t.rows {
		line(r.state, r.cells, r.note)
	}
}

// problemCells is "file:line  message".
func problemCells(p spec.Problem) string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return clean(where) + "  " + clean(p.Message)
}

// shortRoute is a route as a table has room for it: "claude opus-4-8",
// "pi ornith-fast", "agy flash low".
func shortRoute(r *spec.Route) string {
	if r == nil || r.Agent == "" {
		return ""
	}
	model := r.Model[strings.LastIndex(r.Model, "/")+1:]
	model = strings.TrimPrefix(model, r.Agent+"-")
	if r.Agent == "agy" {
		if rest, ok := strings.CutPrefix(model, "Gemini "); ok {
			_, rest, _ = strings.Cut(rest, " ")
			model = strings.ToLower(strings.NewReplacer("(", "", ")", "").Replace(rest))
		}
	}
	return strings.TrimRight(r.Agent+" "+model, " ")
}
