package launcher

import (
	"fmt"
	"os"

	"drover/launcher/shim"

	"golang.org/x/sys/unix"
)

// spare is a shim without an attempt: a process that is loaded and waits at one
// end of a socket to be told its run directory. It ends when the other end is
// closed, so it never outlives drover.
type spare struct {
	process
	conn int
}

func newSpare(exe string, env []string, bell uintptr) (*spare, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start spare shim: %w", err)
	}
	defer unix.Close(pair[1])
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(pair[0])
		return nil, fmt.Errorf("start spare shim: %w", err)
	}
	defer null.Close()
	p, err := startShim(exe, []string{shim.Name, shim.Spare}, env,
		[]uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(pair[1]), bell})
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	return &spare{p, pair[0]}, nil
}

// take makes the spare the shim of an attempt: one message carries the run
// directory, the lock and the heartbeat log. A message on its way holds the
// lock as a process does. After an error nothing was handed over.
func (s *spare) take(dir string, lock, beat *os.File) error {
	rights := unix.UnixRights(int(lock.Fd()), int(beat.Fd()))
	if err := unix.Sendmsg(s.conn, []byte(dir), rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err != nil {
		return fmt.Errorf("tell spare shim: %w", err)
	}
	unix.Close(s.conn)
	return nil
}

// dismiss ends a spare and reaps it.
func (s *spare) dismiss() {
	unix.Close(s.conn)
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(s.pid, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	unix.Close(s.fd)
}
