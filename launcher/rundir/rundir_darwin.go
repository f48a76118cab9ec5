package rundir

import (
	"os"

	"golang.org/x/sys/unix"
)

// The system has no lock of an open file that can be asked for; a BSD lock is
// one that must be tried. A reader holds it shared for an instant.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func held(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return true, nil
	}
	return false, err
}

// RenameNew renames a folder to a name that must be free; fs.ErrExist when it
// is not. The kernel decides between two who try.
func RenameNew(from, to string) error {
	return unix.RenamexNp(from, to, unix.RENAME_EXCL)
}
