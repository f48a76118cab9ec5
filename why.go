package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"drover/spec"
)

// explanation gathers what the loop decided of a task and of those it waits
// for, and how their last attempts ended.
func (e *engine) explanation(ctx context.Context, row spec.Row, rows []spec.Row) (Explanation, error) {
	x := Explanation{Row: row, At: e.app.Now(), On: []Blocker{}, Next: next(row)}
	runs, err := e.launcher.Observe(ctx)
	if err != nil {
		return x, err
	}
	last := func(r spec.Row) *LastAttempt {
		var own []spec.Run
		for _, run := range runs {
			if run.Locator.Task == r.Task && run.Locator.Dialect == r.Dialect {
				own = append(own, run)
			}
		}
		return lastAttempt(own)
	}
	x.Last = last(row)
	for _, name := range row.WaitsFor {
		for _, other := range rows {
			if other.Task == name {
				x.On = append(x.On, Blocker{Row: other, Last: last(other)})
			}
		}
	}
	return x, nil
}

// next says what happens to a task if nobody does anything.
func next(r spec.Row) string {
	route := ""
	if r.Route != nil {
		route = ", " + r.Route.String()
	}
	switch r.State {
	case spec.StateComplete:
		return "nothing: it is complete"
	case spec.StateRunning:
		return fmt.Sprintf("the %s ends, and its result is judged", r.Stage)
	case spec.StateReady:
		return fmt.Sprintf("%s%s, at the next pass", r.Stage, route)
	case spec.StateHeld:
		return "nothing, until it is released"
	}
	if r.NextAt != nil {
		return fmt.Sprintf("%s%s, at %s", r.Stage, route, r.NextAt.Local().Format("15:04:05"))
	}
	if len(r.WaitsFor) > 0 {
		return "nothing, until " + strings.Join(r.WaitsFor, ", ") + " is done with" + then(r, route)
	}
	if r.State == spec.StateBlocked {
		return "nothing, until a person does something"
	}
	return "nothing, until the reason is gone" + then(r, route)
}

func then(r spec.Row, route string) string {
	if r.Stage == "" {
		return ""
	}
	return fmt.Sprintf("; then %s%s", r.Stage, route)
}

func writeExplain(w io.Writer, a *App, x Explanation) {
	io.WriteString(w, explainText(x, a.ScreenLanguage(), nil))
}
