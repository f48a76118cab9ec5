package shim

import "syscall"

const (
	waitAll = 0
	rssUnit = 1 // ru_maxrss is in bytes
)

// agentAttr: the system kills no child at its parent's death.
func agentAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
