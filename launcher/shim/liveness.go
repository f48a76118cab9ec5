package shim

import (
	"time"

	"drover/launcher/agent"
	"drover/spec"
)

// pauseDefault is how long a stream rests before its tail is read.
const pauseDefault = 2 * time.Second

// liveness decides from what was seen of an agent whether it is alive
// (seed 003). It is pure: every method is told the time.
//
// Progress is the newest change of stdout, stderr or the native session file,
// except that lines which are only the program's own retry notices are none,
// and that for Pi the session file counts within a tool window only.
type liveness struct {
	limits spec.ShimLimits
	pi     bool

	progress time.Time // newest sign of life
	changed  time.Time // newest change of stdout, progress or not
	unread   bool      // stdout has bytes that no reader saw
	inTool   bool
	tool     time.Time // when the present tool window was first seen
	terminal time.Time // when the terminal event was written, zero for none
	violated string    // the collaboration tool that was called
	looked   bool      // this silence was inspected
}

// verdict is what liveness asks for.
type verdict uint8

const (
	goOn        verdict = iota
	inspect             // record the silence, end nothing
	stallTool           // the tool window is too long
	stallModel          // no progress outside a tool
	answered            // the terminal event came, the process stays
	controlFail         // a review called a collaboration tool
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (l *liveness) pause() time.Duration {
	if l.limits.PauseMS > 0 {
		return ms(l.limits.PauseMS)
	}
	return pauseDefault
}

// stream notes that stdout changed.
func (l *liveness) stream(now time.Time) { l.changed, l.unread = now, true }

// stderr notes that stderr changed.
func (l *liveness) stderr(now time.Time) { l.alive(now) }

// native notes that the session file changed.
func (l *liveness) native(now time.Time) {
	if !l.pi || l.inTool {
		l.alive(now)
	}
}

func (l *liveness) alive(at time.Time) {
	if at.After(l.progress) {
		l.progress, l.looked = at, false
	}
}

// wantsRead reports whether the unread tail should be read now: after a pause,
// or when a stream that never pauses has not been understood for so long that
// it may be all retry notices.
func (l *liveness) wantsRead(now time.Time) bool {
	if !l.unread {
		return false
	}
	if l.limits.ReviewControl || now.Sub(l.changed) >= l.pause() {
		return true
	}
	return l.limits.InspectMS > 0 && now.Sub(l.progress) > ms(l.limits.InspectMS)/2
}

// read takes what the reader knows after one piece of stdout.
func (l *liveness) read(st agent.Status) {
	if !st.Noise {
		l.alive(l.changed)
	}
	if st.InTool && !l.inTool {
		l.tool = l.changed
	}
	l.inTool = st.InTool
	switch {
	case !st.Terminal:
		l.terminal = time.Time{}
	case l.terminal.IsZero():
		l.terminal = l.changed
	}
	l.violated = st.ControlViolation
}

// judge says what is due.
func (l *liveness) judge(now time.Time) verdict {
	over := func(since time.Time, limit int64) bool {
		return limit > 0 && !since.IsZero() && now.Sub(since) >= ms(limit)
	}
	switch {
	case l.limits.ReviewControl && l.violated != "":
		return controlFail
	case over(l.terminal, l.limits.AnswerGraceMS):
		return answered
	case l.inTool:
		if over(l.tool, l.limits.ToolMS) {
			return stallTool
		}
	case l.unread && now.Sub(l.changed) < l.pause():
		// Something came that is not understood yet: no verdict on silence.
	case over(l.progress, l.limits.EndMS):
		return stallModel
	case !l.looked && over(l.progress, l.limits.InspectMS):
		l.looked = true
		return inspect
	}
	return goOn
}

// due is when judge may have something new to say without anything happening.
func (l *liveness) due(now time.Time) time.Duration {
	wait := time.Hour
	sooner := func(since time.Time, limit int64) {
		if limit > 0 && !since.IsZero() {
			wait = min(wait, max(since.Add(ms(limit)).Sub(now), 0))
		}
	}
	if l.unread {
		wait = min(wait, max(l.changed.Add(l.pause()).Sub(now), 0))
	}
	sooner(l.terminal, l.limits.AnswerGraceMS)
	if l.inTool {
		sooner(l.tool, l.limits.ToolMS)
		return wait
	}
	sooner(l.progress, l.limits.EndMS)
	if !l.looked {
		sooner(l.progress, l.limits.InspectMS)
	}
	return wait
}
