package shim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"drover/launcher/proc"
	"drover/launcher/rundir"
	"drover/spec"

	"golang.org/x/sys/unix"
)

// causeKind says why an attempt came to its end.
type causeKind uint8

const (
	causeNone     causeKind = iota // it did not
	causeAgent                     // the agent ended by itself
	causeStop                      // somebody asked for it
	causeTerm                      // SIGTERM to the shim, from nobody we know
	causeTool                      // a tool window too long
	causeModel                     // no progress
	causeAnswered                  // a terminal event and no end
	causeControl                   // a review that called a collaboration tool
	causeInfra                     // drover's or the machine's own trouble
	causeMissing                   // the program cannot be executed
)

type cause struct {
	kind   causeKind
	by     string // of causeStop
	detail string
}

// How often the shim looks by itself. Logs that grow fast are looked at often,
// so that the disk takes the cap and a little more; a silent agent costs one
// look a second.
const (
	pollFirst   = 50 * time.Millisecond
	pollLast    = time.Second
	pollFast    = 10 * time.Millisecond
	pollControl = 100 * time.Millisecond // a review is followed as it writes
	pulse       = time.Minute
	settleAfter = 200 * time.Millisecond
)

// watch returns when the agent is over or has to end; s.cause says why.
func (s *shim) watch(ctx context.Context, term, chld <-chan os.Signal) {
	poll := pollFirst
	timer := time.NewTimer(poll)
	defer timer.Stop()
	pulsed, settleAt := s.Now(), s.Now().Add(settleAfter)
	for s.cause.kind == causeNone {
		select {
		case <-chld:
			if s.child.reap(); s.child.reaped {
				s.cause.kind = causeAgent
			}
			continue
		case <-term:
			s.terminated()
			continue
		case <-ctx.Done():
			s.terminated()
			continue
		case <-timer.C:
		}
		now := s.Now()
		if !settleAt.IsZero() && now.After(settleAt) {
			settle()
			settleAt = time.Time{}
		}
		if now.Sub(pulsed) >= pulse {
			pulsed = now
			s.say(fmt.Sprintf("agent %d runs, stream %d bytes", s.child.pid, s.logs.stream.size))
		}
		poll = s.pace(poll, s.look(now))
		timer.Reset(max(min(poll, s.life.due(s.Now())), pollFast))
	}
}

// pace is the next interval after one in which the logs grew so much.
func (s *shim) pace(poll time.Duration, grown int64) time.Duration {
	last := pollLast
	if s.loc.Limits.ReviewControl {
		last = pollControl
	}
	switch {
	case s.loc.Limits.LogCap > 0 && grown > s.loc.Limits.LogCap/8:
		return pollFast
	case grown > 0:
		return min(max(poll, pollFirst), last)
	}
	return min(2*poll, last)
}

// terminated sorts out a SIGTERM: with a stop file somebody asked for it.
func (s *shim) terminated() {
	s.cause.kind = causeTerm
	if by, wanted := s.stopWanted(); wanted {
		s.cause = cause{kind: causeStop, by: by}
	}
}

// look sees what happened since the last look and decides. It returns how much
// the logs grew.
func (s *shim) look(now time.Time) (grown int64) {
	if by, wanted := s.stopWanted(); wanted {
		s.cause = cause{kind: causeStop, by: by}
		return 0
	}
	grown = s.lookAtLogs(now)
	s.lookAtSession(now)
	if s.life.wantsRead(now) {
		s.read()
	}
	if s.unsaved {
		s.save()
	}
	switch s.life.judge(now) {
	case inspect:
		s.inspect(now)
	case stallTool:
		s.cause.kind = causeTool
	case stallModel:
		s.cause.kind = causeModel
	case answered:
		s.cause.kind = causeAnswered
	case controlFail:
		s.cause = cause{kind: causeControl, detail: s.life.violated}
	}
	return grown
}

func (s *shim) lookAtLogs(now time.Time) (grown int64) {
	more, changed := s.logs.stream.look()
	if changed {
		s.life.stream(now)
	}
	grown = more
	more, changed = s.logs.stderr.look()
	if changed {
		s.life.stderr(now)
	}
	for _, g := range []*log{s.logs.stream, s.logs.stderr} {
		if err := s.logs.trim(g); err != nil && s.cause.kind == causeNone {
			s.cause = cause{kind: causeInfra, detail: err.Error()}
		}
	}
	return max(grown, more)
}

// lookAtSession notes a change of the native session file.
func (s *shim) lookAtSession(now time.Time) {
	if s.loc.SessionPath == "" {
		return
	}
	info, err := os.Stat(s.loc.SessionPath)
	if err != nil {
		return
	}
	if mark := (sessionMark{info.Size(), info.ModTime().UnixNano()}); mark != s.session {
		s.session = mark
		s.life.native(now)
	}
}

// sessionMark tells one state of the session file from another.
type sessionMark struct{ size, mtime int64 }

// inspect records a silence (seed 003): it ends nothing.
func (s *shim) inspect(now time.Time) {
	seen := &spec.Inspection{
		At:      now.UTC(),
		Silence: int(now.Sub(s.life.progress) / time.Second),
		Tail:    string(s.logs.stream.tail(tailExcerpt)),
	}
	if s.life.pi {
		s.loc.PiSilenceInspection = seen
	} else {
		s.loc.StreamSilenceInspection = seen
	}
	s.save()
	s.ring()
}

// save writes the locator; what a full disk refuses is tried again at the next
// look.
func (s *shim) save() {
	err := rundir.Write(s.Seam, s.dir, rundir.Locator, s.loc)
	s.unsaved = err != nil
	if err != nil {
		s.say(err.Error())
	}
}

// finish makes sure that the attempt is over and nothing of it is left: TERM
// to an agent that lives, its grace, then the sweep.
func (s *shim) finish(chld <-chan os.Signal) end {
	if !s.child.reaped {
		s.signal(proc.Info{PID: s.child.pid, Start: s.loc.AgentStart}, unix.SIGTERM)
		s.await(chld, ms(s.loc.Limits.StopGraceMS))
	}
	swept := s.sweep(chld)
	at := s.child.ended
	if at.IsZero() {
		at = s.Now()
	}
	return end{cause: s.cause, at: at, swept: swept}
}

// await waits until the agent is over, for at most grace. Its logs stay capped
// meanwhile.
func (s *shim) await(chld <-chan os.Signal, grace time.Duration) {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	poll := time.NewTicker(pollControl)
	defer poll.Stop()
	for !s.child.reaped {
		select {
		case <-chld:
			s.child.reap()
		case <-poll.C:
			s.child.reap()
			s.lookAtLogs(s.Now())
		case <-deadline.C:
			return
		}
	}
}

// refusedFor is how long processes that may not be signalled are waited for.
const refusedFor = 5 * time.Second

// sweep kills all descendants, round by round, until the kernel knows of no
// child. It never freezes them first: that fills the pid space. False means
// that some are left which the shim may not signal.
func (s *shim) sweep(chld <-chan os.Signal) bool {
	begin, wait := s.Now(), time.Millisecond
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for s.child.reap() {
		left, err := proc.Descendants(os.Getpid())
		if err != nil {
			s.say(err.Error())
		}
		refused := len(left) > 0
		for _, p := range left {
			if err := s.signal(p, unix.SIGKILL); err == nil || errors.Is(err, proc.ErrGone) {
				refused = false
			}
		}
		if refused && s.Now().Sub(begin) > refusedFor {
			return false
		}
		timer.Reset(wait)
		select {
		case <-chld:
		case <-timer.C:
			wait = min(2*wait, 100*time.Millisecond)
		}
	}
	return true
}

func (s *shim) signal(p proc.Info, sig unix.Signal) error {
	if err := s.Seam.Pass(spec.OpSignal, fmt.Sprint(p.PID)); err != nil {
		return err
	}
	return proc.SignalInfo(p, sig)
}
