package shim

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allocated is the disk that a file takes, holes not counted.
func allocated(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// punch frees a range of a file, in whole blocks; readers see zeros there.
func punch(f *os.File, off, n int64) error {
	const punchHole, block = 99, 4096 // F_PUNCHHOLE wants aligned ranges
	from := (off + block - 1) / block * block
	to := (off + n) / block * block
	if to <= from {
		return nil
	}
	arg := struct {
		flags, reserved uint32
		offset, length  int64
	}{offset: from, length: to - from}
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, f.Fd(), punchHole, uintptr(unsafe.Pointer(&arg)))
	if errno != 0 {
		return errno
	}
	return nil
}
