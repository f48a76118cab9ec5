package fsstate

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bootID tells one boot of the machine from another.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}

// processStart is a process's start time.
func processStart(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	start := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", start.Sec, start.Usec)
}

// flockHolder cannot be told here; the information file has the last word.
func flockHolder(string) int { return 0 }
