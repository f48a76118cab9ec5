package launcher

import "drover/spec"

// exitFile is what exit.json is found to be.
type exitFile uint8

const (
	exitAbsent exitFile = iota
	exitValid
	exitDamaged // empty, or not JSON
)

// facts are all that decides what a run directory means.
type facts struct {
	sameBoot bool
	held     bool // the lock
	shim     bool // shim.json is there
	exit     exitFile
	left     bool // processes of the attempt were found
}

// meaning is the table of observable states. Every combination has exactly one
// meaning; the rows are those of the design, in an order in which the first
// that fits decides.
func meaning(f facts) spec.RunState {
	switch {
	case f.held && (f.shim || f.exit == exitValid):
		// Also after exit.json: the attempt is over when the lock is free.
		return spec.RunRunning
	case f.held:
		return spec.RunStarting
	case f.sameBoot && f.left:
		return spec.RunOrphaned
	case f.exit == exitDamaged:
		return spec.RunLost
	case f.exit == exitValid:
		return spec.RunEnded
	case f.sameBoot && !f.shim:
		return spec.RunUnstarted
	}
	return spec.RunLost
}
