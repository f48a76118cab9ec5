package fsstate

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID tells one boot of the machine from another.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// processStart is a process's start time in clock ticks since boot; with the
// pid and the boot id it names one process for ever.
func processStart(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in parentheses, may hold anything; 19 fields follow it before
	// the start time.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}

// flockHolder is the process that holds an exclusive flock on path, 0 when
// the kernel does not say (another pid namespace, some file systems).
func flockHolder(path string) int {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev)), stat.Ino)
	file, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// "1: FLOCK  ADVISORY  WRITE 4242 fe:00:131 0 EOF"
		f := strings.Fields(lines.Text())
		if len(f) >= 6 && f[1] == "FLOCK" && f[3] == "WRITE" && f[5] == inode {
			pid, _ := strconv.Atoi(f[4])
			return max(pid, 0)
		}
	}
	return 0
}
