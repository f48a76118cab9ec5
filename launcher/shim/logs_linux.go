package shim

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// allocated is the disk that a file takes, holes not counted.
func allocated(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	const block = 512 // st_blocks is in these, whatever the file system uses
	return info.Sys().(*syscall.Stat_t).Blocks * block
}

// punch frees a range of a file; readers see zeros there.
func punch(f *os.File, off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}
