package rundir

import (
	"os"

	"golang.org/x/sys/unix"
)

func lock(f *os.File) error {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
}

func held(f *os.File) (bool, error) {
	l := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return false, err
	}
	return l.Type != unix.F_UNLCK, nil
}

// RenameNew renames a folder to a name that must be free; fs.ErrExist when it
// is not. The kernel decides between two who try.
func RenameNew(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}
