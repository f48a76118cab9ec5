package shim

import "errors"

// awaitAttempt: there are no spare shims on this system.
func awaitAttempt() (dir string, err error) { return "", errors.ErrUnsupported }
