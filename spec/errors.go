package spec

import "errors"

// Errors that the loop tells apart, whoever meets them.
var (
	// ErrCLIMissing: an agent's program is not there; nothing was claimed.
	ErrCLIMissing = errors.New("agent program is missing")
	// ErrWorkLogSetup: a work log cannot be made or opened (work-log-setup).
	ErrWorkLogSetup = errors.New("the work log cannot be set up")
)
