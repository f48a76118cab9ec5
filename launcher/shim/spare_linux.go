package shim

import (
	"errors"
	"fmt"

	"drover/launcher/rundir"

	"golang.org/x/sys/unix"
)

// awaitAttempt waits, at the socket that stands where the lock belongs, for
// one message with the run directory, the locked descriptor and the heartbeat
// log, and puts the descriptors in their places. The lock passes inside the
// message, so it is never free.
func awaitAttempt() (dir string, err error) {
	text := make([]byte, unix.PathMax)
	rights := make([]byte, unix.CmsgSpace(2*4))
	var n, rn int
	for {
		n, rn, _, _, err = unix.Recvmsg(rundir.LockFD, text, rights, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("wait for an attempt: %w", err)
	}
	if n == 0 {
		return "", errors.New("wait for an attempt: nobody is there any more")
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) != 1 {
		return "", fmt.Errorf("wait for an attempt: not what was expected: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 2 {
		return "", fmt.Errorf("wait for an attempt: not what was expected: %w", err)
	}
	lock, beat := fds[0], fds[1]
	err = errors.Join(
		unix.Dup3(lock, rundir.LockFD, unix.O_CLOEXEC),
		unix.Dup2(beat, 1), unix.Dup2(beat, 2),
		unix.Close(lock), unix.Close(beat))
	return string(text[:n]), err
}
