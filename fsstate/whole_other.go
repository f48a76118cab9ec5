//go:build !linux

package fsstate

// probeWriter cannot tell here: documents must rest for the settle time.
func probeWriter(int) writer { return writerUnknown }
