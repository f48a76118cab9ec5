package fsstate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"drover/spec"
)

// incomplete is the code of a dialect's problem with a document that may be
// half written: its head is not closed.
const incomplete = "incomplete"

// lookMost and lookLeast bound the time between two looks at a document that
// is being written.
const (
	lookLeast = 5 * time.Millisecond
	lookMost  = time.Second
)

// unsettled is a document that was being written when last looked at.
type unsettled struct {
	key   statKey
	since time.Time // it has shown key since then
	look  time.Time // when to look again
}

// writer says whether somebody has a file open for writing.
type writer uint8

const (
	writerUnknown writer = iota
	writerNone
	writerSome
)

var errBeingWritten = errors.New("being written")

// readDoc answers Doc by the rules of DESIGN 7, "Taking a document".
func (w *Workspace) readDoc(f *finding, now time.Time) {
	dialect := w.dialect(f.n.path)
	if f.kind == kindAbsent || f.kind == kindFolder || dialect == nil {
		return
	}
	if p := w.untakable(f.sight); p != nil {
		f.bad(p)
		return
	}
	age := w.rested(f, now)
	text, err := w.whole(f, age, now)
	switch {
	case errors.Is(err, errBeingWritten):
		f.writing()
		return
	case err != nil:
		f.key = statKey{}
		f.bad(&spec.Problem{Code: "unreadable", Message: unreadable(err)})
		return
	case len(text) == 0 && age < tooYoung:
		f.writing()
		return
	}
	if p := notText(text); p != nil {
		f.bad(p)
		return
	}
	facts, p := dialect.Read(f.n.path, text)
	switch {
	case p != nil && p.Code == incomplete && age < tooYoung:
		f.writing()
	case p != nil:
		f.bad(p)
	default:
		f.doc = document{state: spec.DocWhole, facts: facts}
	}
}

func (f *finding) bad(p *spec.Problem) {
	if p.File == "" {
		p.File = f.n.path
	}
	f.doc = document{state: spec.DocBad, problem: p}
}

// writing answers that the document cannot be taken yet.
func (f *finding) writing() {
	f.key = statKey{}
	f.doc = document{state: spec.DocUnstable}
}

// untakable is the problem of what cannot be a document at all.
func (w *Workspace) untakable(s sight) *spec.Problem {
	switch {
	case s.kind == kindOutside:
		return &spec.Problem{Code: "symlink-outside", Message: "this symlink leaves the workspace; put the file itself here"}
	case s.kind == kindDangling:
		return &spec.Problem{Code: "symlink-broken", Message: "this symlink leads nowhere; put the file itself here"}
	case s.kind == kindSpecial:
		return &spec.Problem{Code: "not-a-file", Message: "this is a device, socket or pipe; a document must be a file"}
	case s.kind == kindRefused:
		return &spec.Problem{Code: "unreadable", Message: unreadable(unix.EACCES)}
	case s.key.size > w.opts.MaxDoc:
		return &spec.Problem{
			Code: "document-too-large",
			Message: fmt.Sprintf("this document has %d bytes, the limit is %d; move what is not the task's text to other files",
				s.key.size, w.opts.MaxDoc),
		}
	}
	return nil
}

func unreadable(err error) string {
	return fmt.Sprintf("this file cannot be read (%v); give drover's user the right to read it", err)
}

// rested is how long a document has not changed: by its times or, where they
// lie in the future, by our own observation.
func (w *Workspace) rested(f *finding, now time.Time) time.Duration {
	age := now.Sub(f.seen.newest())
	if u, ok := w.unsettled[f.n]; ok && u.key == f.seen {
		age = max(age, now.Sub(u.since))
	}
	return age
}

// whole reads a document that nobody is writing: errBeingWritten where
// somebody is or might be, or where it changed since f's look. A file that
// changed just now is probed again after it was read, because a second change
// in the same tick of the clock leaves no trace in its times.
func (w *Workspace) whole(f *finding, age time.Duration, now time.Time) ([]byte, error) {
	fd, err := w.open(f.n.path, f.sight, 0)
	if err != nil {
		return nil, passing(err)
	}
	defer unix.Close(fd)
	before, err := fstat(fd)
	if err != nil || before != f.seen {
		return nil, passing(err)
	}
	probe := probeWriter(fd)
	if probe == writerSome || probe == writerUnknown && age < w.opts.Settle {
		return nil, errBeingWritten
	}
	text := make([]byte, before.size)
	if _, err := io.ReadFull(descriptor(fd), text); err != nil {
		return nil, passing(err)
	}
	if f.seen.young(now) && probeWriter(fd) == writerSome {
		return nil, errBeingWritten
	}
	if after, err := fstat(fd); err != nil || after != before {
		return nil, passing(err)
	}
	return text, nil
}

// passing turns what another look may cure into errBeingWritten. No error
// means that the file changed.
func passing(err error) error {
	switch err {
	case nil, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ESTALE, unix.ENXIO,
		unix.EMFILE, unix.ENFILE, unix.ENOMEM, io.EOF, io.ErrUnexpectedEOF:
		return errBeingWritten
	}
	return err
}

// notText is the problem of a text with a NUL byte or that is not UTF-8.
func notText(text []byte) *spec.Problem {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return &spec.Problem{
			Line: lineOf(text, i), Code: "not-text",
			Message: "there is a NUL byte in this line; save the document as UTF-8 text",
		}
	}
	if utf8.Valid(text) {
		return nil
	}
	i := 0
	for r, size := utf8.DecodeRune(text[i:]); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(text[i:]) {
		i += size
	}
	return &spec.Problem{
		Line: lineOf(text, i), Code: "not-text",
		Message: "there are bytes in this line that are not UTF-8; save the document as UTF-8 text",
	}
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte{'\n'}) }

// note remembers what a finding says of later looks.
func (w *Workspace) note(f *finding, q asks, now time.Time) {
	if q&askDir != 0 {
		if delete(w.broken, f.n); f.err != nil {
			w.broken[f.n] = f.err
		}
	}
	if q&askDoc == 0 {
		return
	}
	u, ok := w.unsettled[f.n]
	if delete(w.unsettled, f.n); f.doc.state != spec.DocUnstable {
		return
	}
	if !ok || u.key != f.seen {
		u = unsettled{key: f.seen, since: now}
	}
	wait := min(max(now.Sub(u.since)/2, w.opts.Settle, lookLeast), lookMost)
	u.look = now.Add(wait)
	w.unsettled[f.n] = u
}
