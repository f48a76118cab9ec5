package agent

import "drover/spec"

// stream is the Reader of every program: a sift that feeds what one program's
// dialect makes of its lines.
type stream struct {
	sift *sift
	dialect
	tally
}

// dialect is one program's way to report. set and leave collect the values of
// a line; line applies them, so that a broken line changes nothing.
type dialect interface {
	set(path, value string)
	leave(path string)
	// line applies the collected values and says whether the line was only the
	// program's own retry notice.
	line() (notice bool)
	// reset forgets the collected values.
	reset()
	status() Status
	// tell weighs what was read against how the process ended. It may look at
	// stderr and the session for the program's own diagnostics, nothing else.
	tell(end End) said
	// result is what the run brought, whatever became of it.
	result() result
}

// result is what an attempt brought besides its verdict.
type result struct {
	message string
	session string
	usage   spec.Usage
}

// tally tells whether a write brought anything but retry notices.
type tally struct{ notices, news, noise bool }

func newStream(d dialect, limits map[string]int) *stream {
	s := &stream{dialect: d}
	s.sift = newSift(s, limits)
	return s
}

// Write implements Reader.
func (s *stream) Write(p []byte) (int, error) {
	s.notices, s.news = false, false
	s.sift.write(p)
	if s.notices || s.news {
		s.noise = !s.news
	}
	return len(p), nil
}

// line implements sink.
func (s *stream) line() {
	if s.dialect.line() {
		s.notices = true
	} else {
		s.news = true
	}
	s.dialect.reset()
}

// drop implements sink.
func (s *stream) drop() {
	s.news = true
	s.dialect.reset()
}

// Status implements Reader.
func (s *stream) Status() Status {
	st := s.dialect.status()
	st.Noise = s.noise
	return st
}

// Finish implements Reader.
func (s *stream) Finish(end End) Outcome {
	s.sift.close()
	o := judge(s.dialect.tell(end), end, s.dialect.status().ControlViolation)
	r := s.dialect.result()
	o.FinalMessage, o.SessionID, o.Usage = r.message, r.session, r.usage
	return o
}

// tools are the tool calls that are open. More at once than any program makes
// are not kept.
type tools struct{ open map[string]struct{} }

const maxOpenTools = 256

func (t *tools) start(id string) {
	if id == "" || len(t.open) >= maxOpenTools {
		return
	}
	if t.open == nil {
		t.open = map[string]struct{}{}
	}
	t.open[id] = struct{}{}
}

func (t *tools) end(id string) { delete(t.open, id) }
func (t *tools) clear()        { clear(t.open) }
func (t *tools) any() bool     { return len(t.open) > 0 }

// Limits of what is kept of one value, in bytes.
const (
	keepWord    = 128      // types, names, ids, numbers
	keepError   = 4 << 10  // an error's text
	keepMessage = 64 << 10 // the final message
)

// joined adds a part of a message up to what is kept.
func joined(message, part string) string {
	if room := keepMessage - len(message); len(part) > room {
		part = part[:max(room, 0)]
	}
	return message + part
}
