package agent

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Classify tells how a recorded run went. session may be nil. Memory is the
// same for any length of the streams.
func (s Set) Classify(cli string, code, signal int, stdout, stderr, session io.Reader, now time.Time) (Outcome, error) {
	c, ok := s.Lookup(cli)
	if !ok {
		return Outcome{}, fmt.Errorf("classify: drover knows no agent %q", cli)
	}
	r := c.Reader()
	if _, err := io.Copy(r, stdout); err != nil {
		return Outcome{}, fmt.Errorf("classify: read stdout: %w", err)
	}
	tail, err := readTail(stderr)
	if err != nil {
		return Outcome{}, fmt.Errorf("classify: read stderr: %w", err)
	}
	end := End{Code: code, Signal: signal, Stderr: tail, Now: now}
	if session != nil {
		file, err := readTail(session)
		if err != nil {
			return Outcome{}, fmt.Errorf("classify: read session: %w", err)
		}
		end.Session = func() []byte { return file }
	}
	return r.Finish(end), nil
}

// TailSize is as much of stderr and of a session file as a verdict looks at.
const TailSize = 64 << 10

func readTail(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	var tail []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		tail = append(tail, buf[:n]...)
		if len(tail) > 2*TailSize {
			tail = append(tail[:0], tail[len(tail)-TailSize:]...)
		}
		if err == io.EOF {
			return tail[max(0, len(tail)-TailSize):], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ParseExit reads how a process ended: "143", or "signal 15" with anything
// behind it ("signal 9 (shell: 137)").
func ParseExit(text string) (code, signal int, err error) {
	text = strings.TrimSpace(text)
	number, isSignal := strings.CutPrefix(text, "signal ")
	number, _, _ = strings.Cut(strings.TrimSpace(number), " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > 255 {
		return 0, 0, fmt.Errorf("exit %q is neither a code from 0 to 255 nor \"signal N\"", text)
	}
	if isSignal {
		return 0, n, nil
	}
	return n, 0, nil
}
