package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"drover/launcher/agent"
	"drover/spec"

	"golang.org/x/sys/unix"
)

// headKept is how much of a log's beginning survives the cap: the session id
// stands there.
const headKept = 256 << 10

// tailExcerpt is how much of a log's end an inspection shows.
const tailExcerpt = 2 << 10

// log is one file that the agent writes and the shim looks at.
type log struct {
	file *os.File // open for reading and punching; the agent has its own
	path string
	size int64
	head []byte // its first bytes, to notice that the agent replaced them
	hole int64  // where what was punched out ends
	read int64  // how far the reader came
	// truncated: the agent cut its own log, so bytes are missing.
	truncated bool
}

// logs are the two of an attempt.
type logs struct {
	seam           spec.Seam
	cap            int64
	stream, stderr *log
}

// openLogs opens both for the shim's own use. The agent's descriptors are
// others, opened for appending.
func openLogs(seam spec.Seam, loc spec.Locator) (*logs, error) {
	l := &logs{seam: seam, cap: loc.Limits.LogCap}
	for _, x := range []struct {
		to   **log
		path string
	}{{&l.stream, loc.StreamLog}, {&l.stderr, loc.StderrLog}} {
		f, err := os.OpenFile(x.path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		*x.to = &log{file: f, path: x.path}
	}
	return l, nil
}

// look tells how much a log grew since the last look, and whether it changed.
func (l *log) look() (grown int64, changed bool) {
	info, err := l.file.Stat()
	if err != nil {
		return 0, false
	}
	size := info.Size()
	grown, changed = size-l.size, size != l.size
	if changed && l.replaced(size) {
		l.truncated = true
		l.read, l.hole, l.head = 0, 0, nil
	}
	l.size = size
	if len(l.head) == 0 && size > 0 {
		l.head = l.at(0, 64)
	}
	return grown, changed
}

// replaced reports whether the log is not the old one with more at its end.
func (l *log) replaced(size int64) bool {
	return size < l.size || !bytes.Equal(l.at(0, len(l.head)), l.head)
}

// at reads up to n bytes at an offset.
func (l *log) at(off int64, n int) []byte {
	b := make([]byte, n)
	n, _ = l.file.ReadAt(b, off)
	return b[:n]
}

// tail is the end of the log.
func (l *log) tail(n int) []byte {
	from := max(l.size-int64(n), l.hole, 0)
	return l.at(from, int(l.size-from))
}

// errUnsupported: the file system cannot punch holes, so disk use cannot be bounded.
var errUnsupported = errors.New("the file system cannot free the middle of a file; logs cannot be capped")

// trim frees the middle of a log that takes more disk than the cap: its head
// and the last half of the cap stay.
func (l *logs) trim(g *log) error {
	if l.cap <= 0 || allocated(g.file) <= l.cap {
		return nil
	}
	from, to := max(g.hole, min(headKept, l.cap/4)), g.size-l.cap/2
	if to <= from {
		return nil
	}
	if err := l.seam.Pass(spec.OpWrite, g.path); err != nil {
		return fmt.Errorf("cap %s: %w", g.path, err)
	}
	if err := punch(g.file, from, to-from); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
			err = errUnsupported
		}
		return fmt.Errorf("cap %s: %w", g.path, err)
	}
	g.hole = to
	return nil
}

// feed gives the reader what is new in the log, line by line, and hands each
// status to seen: a tool window may close and open again within one look.
func (l *log) feed(r agent.Reader, seen func(agent.Status)) error {
	if l.read < l.hole {
		// What was punched out before it was read is gone; the line it ended
		// in is closed, the one the hole ends in is skipped.
		if l.read > 0 {
			if _, err := r.Write([]byte("\n")); err != nil {
				return err
			}
		}
		l.read = l.hole + l.toNextLine(l.hole)
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := l.file.ReadAt(buf, l.read)
		for part := buf[:n]; len(part) > 0; {
			line := part
			if i := bytes.IndexByte(part, '\n'); i >= 0 {
				line = part[:i+1]
			}
			part = part[len(line):]
			if _, err := r.Write(line); err != nil {
				return err
			}
			seen(r.Status())
		}
		l.read += int64(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
	}
}

// toNextLine counts the bytes from off to the beginning of the next line.
func (l *log) toNextLine(off int64) int64 {
	var skipped int64
	for off+skipped < l.size {
		b := l.at(off+skipped, 4<<10)
		if len(b) == 0 {
			break
		}
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return skipped + int64(i) + 1
		}
		skipped += int64(len(b))
	}
	return skipped
}
