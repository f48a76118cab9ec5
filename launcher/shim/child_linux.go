package shim

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	waitAll = unix.WALL // children made by clone with another signal too
	rssUnit = 1024      // ru_maxrss is in KiB
)

func agentAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
