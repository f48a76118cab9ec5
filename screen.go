package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"drover/reconcile"
	"drover/spec"
)

// screen is where a run tells what happens: banners, lines or JSON Lines.
type screen struct {
	app    *App
	output string // text, line, json
	// missed are the missing programs that were told of.
	missed map[string]bool
}

// notice shows one notice as it happens.
func (s *screen) notice(n reconcile.Notice) {
	if n.Reason.Code == spec.CLIMissing {
		s.missing(n.Reason)
	}
	s.banner(noticeBanner(n), n.At)
}

// missing tells once of a program that is not there, and where it was looked
// for, however many tasks need it (COMMANDS 4).
func (s *screen) missing(why spec.Reason) {
	if s.missed[why.Detail] {
		return
	}
	if s.missed == nil {
		s.missed = map[string]bool{}
	}
	s.missed[why.Detail] = true
	where := ""
	if len(why.Looked) > 0 {
		where = " (looked " + strings.Join(why.Looked, ", ") + ")"
	}
	s.app.Warn("%s%s, but tasks need it; %s", why.Detail, where, why.Resume)
}

func (s *screen) banner(b Banner, at time.Time) {
	language := s.app.BannerLanguage()
	switch {
	case s.app.JSON || s.output == "json":
		_ = writeJSON(s.app.Out, bannerDoc(b, at)) // a closed pipe ends no agents
	case s.output == "line":
		io.WriteString(s.app.Out, b.OneLine(language, s.app.Env("JOURNAL_STREAM") != ""))
	default:
		io.WriteString(s.app.Out, b.Text(language))
	}
}

// beat is the line that shows, at least every 60 s, that something runs
// (seed 003).
func (s *screen) beat(ctx context.Context, e *engine) {
	doc, err := e.doc(ctx, nil)
	if err != nil {
		return // shown by the pass that meets it
	}
	for _, r := range doc.Tasks {
		if r.State != spec.StateRunning {
			continue
		}
		b := Banner{Task: r.Task, Line: fmt.Sprintf("[%s][%s][%s] running", r.Task, r.Stage, spec.ShortAttempt(r.Attempt))}
		b.Fields = append(b.Fields, Field{"locator", r.Locator})
		if log := s.app.workLog(r.Task); log != "" {
			b.Fields = append(b.Fields, Field{"work_log", log})
		}
		s.banner(b, s.app.Now())
	}
}

// workLog is the path of the group's log that a task's attempts are told in.
func (a *App) workLog(task string) string {
	group, _, _ := strings.Cut(task, "/")
	path := a.State.Root + "/" + a.Settings.AgentTask.Root + "/" + group + "/WORK_LOG.md"
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// report is the end of a drain.
func (s *screen) report(doc spec.StatusDoc, e *engine, took time.Duration) {
	end := RunEnd{Status: doc, Took: took}
	end.Attempts, end.Usage = e.Spent()
	if s.app.JSON || s.output == "json" {
		_ = writeJSON(s.app.Out, doc)
		return
	}
	io.WriteString(s.app.Out, runEndText(end, s.app.ScreenLanguage()))
}

// summary is the end of one pass: one line.
func (s *screen) summary(sum spec.Summary, next time.Time) {
	if s.app.Quiet {
		return
	}
	line := fmt.Sprintf("complete %d · running %d · waiting %d · blocked %d · held %d", sum.Complete, sum.Running, sum.Waiting, sum.Blocked, sum.Held)
	if sum.Problems > 0 {
		line += fmt.Sprintf(" · problems %d (see: drover validate)", sum.Problems)
	}
	if !next.IsZero() {
		line += " · next look " + next.Local().Format(time.TimeOnly)
	}
	fmt.Fprintln(s.app.Out, line)
}

func writeStatus(w io.Writer, a *App, doc spec.StatusDoc, all bool) {
	io.WriteString(w, statusText(doc, StatusView{
		All: all, Columns: a.Columns(), Paint: a.Painter(), Language: a.ScreenLanguage(),
	}))
}
