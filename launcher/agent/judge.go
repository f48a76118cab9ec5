package agent

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"drover/spec"
)

// said is what a program itself told about how its run went.
type said struct {
	// heard: it told something; success or else class is what.
	heard, success bool
	exit           bool // the exit code is what it wants it to be
	class          spec.Class
	// weak: it goes on after such an error, so that an end from outside says more.
	weak    bool
	source  string // where it was read: "stdout turn.failed"
	text    string
	resetAt time.Time
}

// judge weighs what the program said against how its process ended.
func judge(w said, end End, violation string) Outcome {
	switch {
	case w.heard && w.success:
		return success(w, end)
	case w.heard && !(w.weak && killed(end) && end.EndedBy != "dispatcher"):
		return failed(w)
	case end.EndedBy == "person":
		return unheard(spec.ClassStopped, spec.SourceTermination, end)
	case end.Stalled:
		return unheard(spec.ClassSessionStall, spec.SourceTimeout, end)
	case violation != "" && end.EndedBy == "dispatcher":
		o := unheard(spec.ClassReviewControl, spec.SourceDispatcher, end)
		o.Evidence = spec.Evidence{Source: "stdout tool call", Excerpt: violation}
		return o
	case killed(end):
		return unheard(spec.ClassProcessTerminated, spec.SourceTermination, end)
	}
	return unheard(spec.ClassGenericError, spec.SourceAgentExit, end)
}

// success holds when the process ended by itself without complaint, or was
// ended by drover because it would not end after its last word.
func success(w said, end End) Outcome {
	if w.exit || end.Code == 0 && end.Signal == 0 || end.EndedBy == "dispatcher" || end.EndedBy == "person" {
		return Outcome{Class: spec.ClassSuccess, Success: true, Evidence: evidence(w.source, w.text)}
	}
	if killed(end) {
		return unheard(spec.ClassProcessTerminated, spec.SourceTermination, end)
	}
	return unheard(spec.ClassGenericError, spec.SourceAgentExit, end)
}

func failed(w said) Outcome {
	o := Outcome{Class: w.class, Evidence: evidence(w.source, w.text), Source: spec.SourceProvider, ResetAt: w.resetAt}
	switch w.class {
	case spec.ClassGenericError:
		o.Source = spec.SourceAgentExit
	case spec.ClassProcessTerminated:
		o.Source = spec.SourceTermination
	}
	o.ProviderConfirmed = transport(w.class)
	return o
}

// unheard is an end that the program did not explain.
func unheard(class spec.Class, source spec.Source, end End) Outcome {
	how := fmt.Sprintf("exit code %d", end.Code)
	if end.Signal != 0 {
		how = fmt.Sprintf("signal %d", end.Signal)
	}
	if end.Truncated {
		how += ", its log was truncated"
	}
	o := Outcome{Class: class, Source: source, Evidence: spec.Evidence{Source: "exit", Excerpt: how}}
	if class == spec.ClassGenericError {
		if line := lastLine(end.Stderr); line != "" {
			o.Evidence = evidence("stderr", how+": "+line)
		}
	}
	return o
}

// killed reports whether the process was ended from outside, by a signal or
// by the shell's word for one. A crash of its own is not that.
func killed(end End) bool {
	switch syscall.Signal(end.Signal) {
	case syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	switch end.Code - 128 {
	case int(syscall.SIGTERM), int(syscall.SIGKILL), int(syscall.SIGINT), int(syscall.SIGHUP):
		return true
	}
	return false
}

const maxExcerpt = 500

func evidence(source, text string) spec.Evidence {
	return spec.Evidence{Source: source, Excerpt: excerpt(text)}
}

// excerpt is the beginning of text, at most 500 bytes, whole characters.
func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	n := maxExcerpt
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return excerpt(strings.ToValidUTF8(string(text), ""))
}

// diagnostic is the last line of stderr that begins with one of the program's
// own marks, without the mark. Tools print to the same stderr, so no other
// line counts.
func diagnostic(stderr []byte, marks ...string) (mark, text string) {
	for len(stderr) > 0 {
		line := stderr
		if i := bytes.LastIndexByte(stderr, '\n'); i >= 0 {
			stderr, line = stderr[:i], stderr[i+1:]
		} else {
			stderr = nil
		}
		s := strings.TrimSpace(strings.ToValidUTF8(string(line), ""))
		for _, m := range marks {
			if rest, ok := strings.CutPrefix(s, m); ok {
				return m, strings.TrimSpace(rest)
			}
		}
	}
	return "", ""
}
