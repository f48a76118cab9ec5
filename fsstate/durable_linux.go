package fsstate

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames and fails with EEXIST when the new name is taken.
func renameNoReplace(from *os.File, name string, to *os.File, as string) error {
	return unix.Renameat2(int(from.Fd()), name, int(to.Fd()), as, unix.RENAME_NOREPLACE)
}

// renameExchange swaps what two names stand for at one instant.
func renameExchange(dirA *os.File, a string, dirB *os.File, b string) error {
	return unix.Renameat2(int(dirA.Fd()), a, int(dirB.Fd()), b, unix.RENAME_EXCHANGE)
}

// datasync makes a file's bytes and size durable, its times perhaps not.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
