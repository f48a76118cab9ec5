package fsstate

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames and fails with EEXIST when the new name is taken.
func renameNoReplace(from *os.File, name string, to *os.File, as string) error {
	return unix.RenameatxNp(int(from.Fd()), name, int(to.Fd()), as, unix.RENAME_EXCL)
}

// renameExchange swaps what two names stand for at one instant.
func renameExchange(dirA *os.File, a string, dirB *os.File, b string) error {
	return unix.RenameatxNp(int(dirA.Fd()), a, int(dirB.Fd()), b, unix.RENAME_SWAP)
}

// datasync makes a file's bytes durable; Sync is F_FULLFSYNC here.
func datasync(f *os.File) error { return f.Sync() }
