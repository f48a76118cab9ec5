package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"drover/launcher/agent"
	"drover/launcher/rundir"
	"drover/spec"
)

// end is how an attempt ended, before its output is judged.
type end struct {
	cause cause
	at    time.Time
	swept bool
}

// endedBy is exit.json's word for a cause.
func (e end) endedBy(c *child) string {
	switch e.cause.kind {
	case causeAgent:
		if c.signal == 0 {
			return "agent"
		}
		return "unknown"
	case causeStop:
		return e.cause.by
	case causeTerm:
		return "unknown"
	}
	return "dispatcher"
}

// startFailure is the cause of an agent that could not be started.
func startFailure(err error) cause {
	kind := causeInfra
	if errors.Is(err, errMissing) {
		kind = causeMissing
	}
	return cause{kind: kind, detail: err.Error()}
}

// read gives the reader what is new on stdout.
func (s *shim) read() {
	if s.reader == nil {
		cli, ok := s.Agents(s.loc.Workspace)(s.loc.CLI)
		if !ok {
			s.life.unread = false
			return
		}
		s.cli, s.reader = cli, cli.Reader()
	}
	var id string
	err := s.logs.stream.feed(s.reader, func(st agent.Status) {
		s.life.read(st)
		id = st.SessionID
	})
	if err != nil {
		s.say(err.Error())
	}
	s.life.unread = false
	s.findSession(id)
}

// findSession notes the native session and its file as soon as the program
// named it, so that an attempt that is lost can still be resumed.
func (s *shim) findSession(id string) {
	if id == "" || id == s.loc.SessionID && s.loc.SessionPath != "" {
		return
	}
	path := s.cli.SessionFile(id, s.loc.Cwd, environ(os.Environ(), s.loc.Env))
	if path == "" && id == s.loc.SessionID {
		return
	}
	s.loc.SessionID, s.loc.SessionPath = id, path
	s.unsaved = true
}

// outcome judges the attempt's output. An attempt whose agent never ran has none.
func (s *shim) outcome(e end) agent.Outcome {
	if s.child == nil {
		return ruled(agent.Outcome{}, e.cause)
	}
	s.lookAtLogs(e.at)
	s.read()
	if s.reader == nil {
		return ruled(agent.Outcome{}, cause{kind: causeInfra, detail: fmt.Sprintf("agent program %q is not known", s.loc.CLI)})
	}
	out := s.reader.Finish(agent.End{
		Code: s.child.code, Signal: s.child.signal, EndedBy: e.endedBy(s.child),
		Stderr: s.logs.stderr.tail(16 << 10), Truncated: s.truncated(),
		Session: s.sessionTail,
		Stalled: e.cause.kind == causeTool || e.cause.kind == causeModel, StalledInTool: e.cause.kind == causeTool,
		Now: e.at,
	})
	if s.loc.Limits.ReviewControl && s.life.violated != "" {
		e.cause = cause{kind: causeControl, detail: s.life.violated}
	}
	return ruled(out, e.cause)
}

// ruled puts the causes that outweigh what the program said in its place.
func ruled(out agent.Outcome, c cause) agent.Outcome {
	rule := func(class spec.Class, source spec.Source, from string) {
		out.Class, out.Source, out.Success, out.ProviderConfirmed = class, source, false, false
		out.Evidence = spec.Evidence{Source: from, Excerpt: excerpt(c.detail)}
	}
	switch {
	case c.kind == causeControl:
		rule(spec.ClassReviewControl, spec.SourceDispatcher, "stdout tool call")
	case out.Success:
	case c.kind == causeStop:
		c.detail = "stopped by " + c.by
		rule(spec.ClassStopped, spec.SourceDispatcher, "request")
	case c.kind == causeInfra:
		rule(spec.ClassInfra, spec.SourceSystem, "shim")
	case c.kind == causeMissing:
		rule(spec.ClassCLIMissing, spec.SourceSystem, "exec")
	}
	return out
}

// excerpt is at most 500 bytes of a text, cut between characters.
func excerpt(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

func (s *shim) truncated() bool { return s.logs.stream.truncated || s.logs.stderr.truncated }

// sessionTail is the end of the native session file, nil when there is none.
func (s *shim) sessionTail() []byte {
	f, err := os.Open(s.loc.SessionPath)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	n := min(info.Size(), 64<<10)
	b := make([]byte, n)
	got, _ := f.ReadAt(b, info.Size()-n)
	return b[:got]
}

// record writes down how the attempt ended: the locator's failure fields, what
// the agent said, and last of all exit.json.
func (s *shim) record(e end) error {
	out := s.outcome(e)
	exit := spec.Exit{
		Version: 1, StartedAt: s.loc.StartedAt, EndedAt: e.at.UTC(), EndedBy: "dispatcher",
		Class: out.Class, Evidence: out.Evidence, Usage: out.Usage, Swept: e.swept || s.child == nil,
		ResetAt: out.ResetAt, ProviderFailure: out.ProviderConfirmed, Source: out.Source,
	}
	if s.child == nil && e.cause.kind == causeStop {
		exit.EndedBy = e.cause.by
	}
	if s.child != nil {
		exit.Code, exit.Signal = s.child.code, s.child.signal
		exit.EndedBy = e.endedBy(s.child)
		exit.Rusage = s.child.usage
		exit.LogTruncatedByAgent = s.truncated()
	}
	s.recordStall(e, &exit)
	result := spec.Result{
		Version: 1, Success: out.Success, FinalMessage: out.FinalMessage, Usage: out.Usage,
		SessionID:   first(out.SessionID, s.loc.SessionID),
		SessionPath: first(out.SessionPath, s.loc.SessionPath),
	}
	s.fillLocator(exit, result)
	return s.persist(func() error {
		if err := rundir.Write(s.Seam, s.dir, rundir.Locator, s.loc); err != nil {
			return err
		}
		if err := rundir.Write(s.Seam, s.dir, rundir.Result, result); err != nil {
			return err
		}
		return rundir.Write(s.Seam, s.dir, rundir.Exit, exit)
	})
}

// recordStall adds the phase and the limit of an end by the liveness rules.
func (s *shim) recordStall(e end, exit *spec.Exit) {
	if exit.Class != spec.ClassSessionStall {
		return
	}
	exit.TimeoutPhase, exit.TimeoutSeconds = "model", int(ms(s.loc.Limits.EndMS)/time.Second)
	if e.cause.kind == causeTool {
		exit.StalledInTool = true
		exit.TimeoutPhase, exit.TimeoutSeconds = "tool", int(ms(s.loc.Limits.ToolMS)/time.Second)
	}
}

// fillLocator copies into the locator what the seed wants to find there.
func (s *shim) fillLocator(exit spec.Exit, result spec.Result) {
	s.loc.SessionID, s.loc.SessionPath = result.SessionID, result.SessionPath
	s.loc.TerminationInitiator = exit.EndedBy
	s.loc.TimeoutPhase, s.loc.TimeoutSeconds = exit.TimeoutPhase, exit.TimeoutSeconds
	if exit.Class == spec.ClassSuccess {
		return
	}
	s.loc.FailureClass, s.loc.FailureSource = exit.Class, exit.Source
	s.loc.ProviderTransportFailureConfirmed = exit.ProviderFailure
	s.loc.FailureEvidenceSource, s.loc.FailureEvidenceExcerpt = exit.Evidence.Source, exit.Evidence.Excerpt
}

func first(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

// persist writes until it works: a full disk is waited for, since the attempt
// cannot be closed without its record. It gives up after ten minutes, or when
// the run directory is gone; the attempt then counts as lost.
func (s *shim) persist(write func() error) error {
	const tries = 600
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		err := write()
		if err == nil || errors.Is(err, fs.ErrNotExist) || n == tries {
			return err
		}
		s.say(err.Error())
		<-tick.C
	}
}
