package shim

import (
	"testing"
	"time"

	"drover/launcher/agent"
	"drover/spec"
)

// A step of a life: at a time something happens, and then judge says something.
type moment struct {
	at   time.Duration
	what string // stream, stderr, native, read, "" for nothing
	st   agent.Status
	want verdict
}

func TestLiveness(t *testing.T) {
	limits := spec.ShimLimits{InspectMS: 180_000, ToolMS: 1_800_000, EndMS: 3_600_000, AnswerGraceMS: 30_000}
	review := limits
	review.ReviewControl = true
	const min = time.Minute
	tool, noise, done := agent.Status{InTool: true}, agent.Status{Noise: true}, agent.Status{Terminal: true, Success: true}
	for _, tt := range []struct {
		name   string
		limits spec.ShimLimits
		pi     bool
		life   []moment
	}{
		{"silence is inspected once and ends after an hour", limits, false, []moment{
			{at: 2 * min}, {at: 3 * min, want: inspect}, {at: 4 * min}, {at: 59 * min}, {at: 60 * min, want: stallModel},
		}},
		{"stderr is a sign of life", limits, false, []moment{
			{at: 3 * min, want: inspect},
			{at: 4 * min, what: "stderr"},
			{at: 6 * min},
			{at: 7 * min, want: inspect},
			{at: 61 * min},
			{at: 64 * min, want: stallModel},
		}},
		{"a native event is one", limits, false, []moment{
			{at: 59 * min, what: "native"}, {at: 60 * min}, {at: 118 * min, want: inspect}, {at: 119 * min, want: stallModel},
		}},
		{"but not for pi outside a tool", limits, true, []moment{
			{at: 3 * min, want: inspect}, {at: 59 * min, what: "native"}, {at: 60 * min, want: stallModel},
		}},
		{"retry notices are none", limits, false, []moment{
			{at: 3 * min, want: inspect},
			{at: 50 * min, what: "stream"},
			{at: 50*min + 3*time.Second, what: "read", st: noise},
			{at: 60 * min, want: stallModel},
		}},
		{"nothing is judged while something is unread", limits, false, []moment{
			{at: 60*min - time.Second, what: "stream"}, {at: 60 * min}, {at: 61 * min, what: "read"},
		}},
		{"a tool may be silent for long, but not for ever", limits, false, []moment{
			{at: 1 * min, what: "stream"},
			{at: 1*min + 2*time.Second, what: "read", st: tool},
			{at: 20 * min},
			{at: 30 * min},
			{at: 31 * min, want: stallTool},
		}},
		{"its output does not lengthen it", limits, false, []moment{
			{at: 1 * min, what: "stream"},
			{at: 2 * min, what: "read", st: tool},
			{at: 20 * min, what: "stream"},
			{at: 21 * min, what: "read", st: tool},
			{at: 31 * min, want: stallTool},
		}},
		{"the next tool has a time of its own", limits, false, []moment{
			{at: 1 * min, what: "stream"},
			{at: 2 * min, what: "read", st: tool},
			{at: 20 * min, what: "stream"},
			{at: 20 * min, what: "read"},
			{at: 20 * min, what: "read", st: tool},
			{at: 31 * min},
			{at: 49 * min},
			{at: 50 * min, want: stallTool},
		}},
		{"after the last word it has half a minute", limits, false, []moment{
			{at: 1 * min, what: "stream"},
			{at: 1*min + 2*time.Second, what: "read", st: done},
			{at: 1*min + 29*time.Second},
			{at: 1*min + 30*time.Second, want: answered},
		}},
		{"unless it goes on", limits, false, []moment{
			{at: 1 * min, what: "stream"},
			{at: 1 * min, what: "read", st: done},
			{at: 1*min + 10*time.Second, what: "stream"},
			{at: 1*min + 10*time.Second, what: "read"},
			{at: 2 * min},
		}},
		{"a review must not delegate", review, false, []moment{
			{at: 1 * min, what: "stream"}, {at: 1 * min, what: "read", st: agent.Status{ControlViolation: "collab"}, want: controlFail},
		}},
		{"a worker may", limits, false, []moment{
			{at: 1 * min, what: "stream"}, {at: 1 * min, what: "read", st: agent.Status{ControlViolation: "collab"}},
		}},
		{"no limits, no verdicts", spec.ShimLimits{}, false, []moment{
			{at: 1 * min, what: "stream"}, {at: 1 * min, what: "read", st: tool}, {at: 1000 * time.Hour},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Unix(1_000_000_000, 0)
			l := liveness{limits: tt.limits, pi: tt.pi, progress: begin, changed: begin}
			for _, m := range tt.life {
				now := begin.Add(m.at)
				switch m.what {
				case "stream":
					l.stream(now)
				case "stderr":
					l.stderr(now)
				case "native":
					l.native(now)
				case "read":
					l.read(m.st)
					l.unread = false
				}
				if got := l.judge(now); got != m.want {
					t.Fatalf("at %v: verdict %d, want %d", m.at, got, m.want)
				}
				if due := l.due(now); due < 0 {
					t.Fatalf("at %v: due in %v", m.at, due)
				}
			}
		})
	}
}

func TestWantsRead(t *testing.T) {
	begin := time.Unix(1_000_000_000, 0)
	life := func(control bool) *liveness {
		return &liveness{limits: spec.ShimLimits{InspectMS: 180_000, ReviewControl: control}, progress: begin, changed: begin}
	}
	l := life(false)
	if l.wantsRead(begin.Add(time.Hour)) {
		t.Error("nothing new was to be read")
	}
	l.stream(begin.Add(time.Second))
	if l.wantsRead(begin.Add(2 * time.Second)) {
		t.Error("read without a pause")
	}
	if !l.wantsRead(begin.Add(3 * time.Second)) {
		t.Error("not read after a pause")
	}
	l.stream(begin.Add(91 * time.Second))
	if !l.wantsRead(begin.Add(91 * time.Second)) {
		t.Error("a stream without a pause was never understood")
	}
	r := life(true)
	r.stream(begin.Add(time.Second))
	if !r.wantsRead(begin.Add(time.Second)) {
		t.Error("a review is followed as it writes")
	}
}
