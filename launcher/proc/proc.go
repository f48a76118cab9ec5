// Package proc tells processes apart and finds those of an attempt.
//
// A process number alone names nobody: numbers are used again. A process is
// named by number, start time, boot and pid namespace, and signals go through
// a handle that was compared with that name first. What the kernel offers for
// this differs; proc_linux.go is what the guarantees are stated for,
// proc_darwin.go does what that system can.
package proc

import (
	"errors"
	"os"
	"strconv"
)

// ErrGone: the process that was meant is not there. Whoever has its number now
// was left alone.
var ErrGone = errors.New("no such process")

// The environment variables that mark every process of an attempt.
const (
	EnvTask    = "DROVER_TASK"
	EnvRole    = "DROVER_ROLE"
	EnvAttempt = "DROVER_ATTEMPT"
	EnvRunDir  = "DROVER_RUN_DIR"
	EnvDoc     = "DROVER_DOC"
	EnvOut     = "DROVER_OUT"
)

// Marks are the names of all marker variables. A shim's own environment holds
// none, even when drover itself was started by an agent.
func Marks() []string {
	return []string{EnvTask, EnvRole, EnvAttempt, EnvRunDir, EnvDoc, EnvOut}
}

// ID names one process for ever.
type ID struct {
	PID          int    `json:"pid"`
	Start        string `json:"start"` // in the kernel's own unit
	BootID       string `json:"boot_id"`
	PIDNamespace string `json:"pid_ns"`
}

// Info is one process as a listing shows it.
type Info struct {
	PID, Parent int
	Start       string
	Terminal    bool // it has a controlling terminal: a person's
	Zombie      bool
}

// Target is what the processes of an attempt are known by.
type Target struct {
	// RunDir is the value of the marker, and where its fds 0 to 2 lead.
	RunDir string
	// Worktree is where its processes stand; "" when the attempt ran in a
	// folder that is not its own.
	Worktree string
	// Since is the start time of its shim, "" when unknown. What is older is a
	// stranger, whatever it has open.
	Since string
}

// older reports whether start time a lies before b.
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}

// Descendants lists the children of root, their children, and so on, as of
// one listing. Zombies are left out but what they had is not lost: orphans
// belong to the nearest subreaper.
func Descendants(root int) ([]Info, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	children := make(map[int][]Info)
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Info
	queue := []int{root}
	for len(queue) > 0 {
		next := children[queue[0]]
		queue = queue[1:]
		for _, p := range next {
			queue = append(queue, p.PID)
			if !p.Zombie {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// settled lists processes and asks for each which attempt it belongs to. A
// process may fork and die between the listing and the question, so a listing is
// believed only when it shows no newcomer. On a machine that never rests the
// last of a few is.
func settled(owner func(Info) (runDir string, ok bool)) (map[string][]Info, error) {
	const most = 5
	self := os.Getpid()
	var before map[Info]bool
	for n := 0; ; n++ {
		all, err := List()
		if err != nil {
			return nil, err
		}
		found := map[string][]Info{}
		seen, newcomer := make(map[Info]bool, len(all)), false
		for _, p := range all {
			key := Info{PID: p.PID, Start: p.Start}
			seen[key] = true
			newcomer = newcomer || !before[key]
			if p.Zombie || p.PID == self {
				continue
			}
			if dir, ok := owner(p); ok {
				found[dir] = append(found[dir], p)
			}
		}
		if !newcomer || n == most {
			return found, nil
		}
		before = seen
	}
}
