package fsstate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drover/spec"
)

// tooYoung is the age under which a file's times do not prove that it did not
// change after it was read: a later change could have left the same times.
// Two seconds is the coarsest clock of a file system in use (FAT; ext4's is a
// tick of 4 to 10 ms). What was read so young is read once more at the next
// verification; what stays unchanged after that is trusted.
const tooYoung = 2 * time.Second

// bigFile is the size in bytes over which Sum does not read a file.
const bigFile = 64 << 20

// statKey tells one content of a path from another.
type statKey struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds
}

// newest is the later of the key's times.
func (k statKey) newest() time.Time { return time.Unix(0, max(k.mtime, k.ctime)) }

// young reports whether a change after now could leave the same key.
func (k statKey) young(now time.Time) bool {
	return k != statKey{} && now.Sub(k.newest()) < tooYoung
}

func keyOf(st *unix.Stat_t) statKey {
	return statKey{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

func kindOf(st *unix.Stat_t) kind {
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindFolder
	}
	return kindSpecial
}

// sightOf looks at the path of n.
func (w *Workspace) sightOf(n *node) sight {
	if n.underLink() {
		s := w.resolve(n.path)
		if s.kind == kindDangling {
			s.kind = kindAbsent
		}
		return s
	}
	return w.look(n.path)
}

// look looks at a path that has no symlink above it.
func (w *Workspace) look(p string) sight {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(w.fd, p, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ENAMETOOLONG:
		return sight{}
	case err != nil:
		return sight{kind: kindRefused}
	case uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK:
		s := w.resolve(p)
		s.link = true
		return s
	}
	return sight{kind: kindOf(&st), key: keyOf(&st)}
}

// resolve looks at a path with symlinks in it. Only what lies in the
// workspace is looked at.
func (w *Workspace) resolve(p string) sight {
	real, err := filepath.EvalSymlinks(filepath.Join(w.root, p))
	if errors.Is(err, fs.ErrPermission) {
		return sight{kind: kindRefused}
	}
	if err != nil {
		return sight{kind: kindDangling}
	}
	if real != w.root && !strings.HasPrefix(real, w.root+"/") {
		return sight{kind: kindOutside}
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(real, &st) }); err != nil {
		return sight{kind: kindDangling}
	}
	return sight{kind: kindOf(&st), key: keyOf(&st), real: real}
}

// open opens what s shows at path p, for reading.
func (w *Workspace) open(p string, s sight, flags int) (fd int, err error) {
	flags |= unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY
	err = retry(func() error {
		if s.real != "" {
			fd, err = unix.Open(s.real, flags, 0)
		} else {
			fd, err = unix.Openat(w.fd, p, flags, 0)
		}
		return err
	})
	return fd, err
}

func fstat(fd int) (statKey, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(fd, &st) })
	return keyOf(&st), err
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// descriptor reads an open file without Go's poller, which regular files do
// not need.
type descriptor int

func (d descriptor) Read(b []byte) (n int, err error) {
	err = retry(func() error { n, err = unix.Read(int(d), b); return err })
	if err != nil {
		return 0, err
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// readFolder answers Dir. A folder that changes meanwhile is listed as it was
// met and listed again next time.
func (w *Workspace) readFolder(f *finding) {
	if f.kind == kindRefused {
		f.err = fs.ErrPermission
	}
	if f.kind != kindFolder {
		return
	}
	names, unchanged, err := w.list(f)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP:
		f.key = statKey{} // it went away under our eyes
		return
	case err != nil:
		f.key, f.err = statKey{}, err
		return
	case !unchanged:
		f.key = statKey{}
	}
	f.list = make([]spec.Entry, len(names))
	for i, e := range names {
		f.list[i] = spec.Entry{Name: e.Name(), Kind: w.entryKind(f.n.path, e)}
		f.links = f.links || e.Type()&fs.ModeSymlink != 0
	}
	slices.SortFunc(f.list, func(a, b spec.Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// list reads a folder's entries; unchanged says that it is still as f's look
// showed it.
func (w *Workspace) list(f *finding) (names []fs.DirEntry, unchanged bool, err error) {
	fd, err := w.open(f.n.path, f.sight, unix.O_DIRECTORY)
	if err != nil {
		return nil, false, err
	}
	dir := os.NewFile(uintptr(fd), filepath.Join(w.root, f.n.path))
	defer dir.Close()
	before, err := fstat(fd)
	if err != nil {
		return nil, false, err
	}
	if names, err = dir.ReadDir(-1); err != nil {
		return nil, false, err
	}
	after, err := fstat(fd)
	return names, before == f.key && after == before, err
}

// entryKind is the kind of one entry of the folder at dir.
func (w *Workspace) entryKind(dir string, e fs.DirEntry) spec.EntryKind {
	switch e.Type() {
	case 0:
		return spec.KindFile
	case fs.ModeDir:
		return spec.KindDir
	case fs.ModeSymlink:
		return w.resolve(filepath.Join(dir, e.Name())).kind.entry()
	}
	return spec.KindOther
}

// readSum answers Sum.
func (w *Workspace) readSum(f *finding) {
	if f.kind != kindFile {
		return
	}
	fd, err := w.open(f.n.path, f.sight, 0)
	if err != nil {
		f.key = statKey{}
		return
	}
	defer unix.Close(fd)
	before, err := fstat(fd)
	if err == nil && before.size > bigFile {
		f.sum = fmt.Sprintf("%x.%x.%x", before.size, before.mtime, before.ino)
		return
	}
	h := sha256.New()
	if _, copyErr := io.Copy(h, descriptor(fd)); err == nil {
		err = copyErr
	}
	after, statErr := fstat(fd)
	if err != nil || statErr != nil || before != f.seen || after != before {
		f.key = statKey{}
	}
	if err == nil {
		f.sum = hex.EncodeToString(h.Sum(nil)[:16])
	}
}
