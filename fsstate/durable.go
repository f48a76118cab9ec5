package fsstate

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"drover/spec"
)

// Disk makes changes that survive a kill at any instruction and a power cut.
// Every effect passes Seam first.
//
// Durable means: the bytes into a temporary file of the same folder, fsync,
// rename, fsync of the folder. A crash leaves the old content or the new one
// whole, and at most one temporary file, a dot file named after it.
type Disk struct{ Seam spec.Seam }

// WriteFile makes a file's content what data says, durably.
func (d Disk) WriteFile(path string, data []byte, perm fs.FileMode) error {
	f, err := d.open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer f.close()
	return f.write(filepath.Base(path), data, perm)
}

// CreateFile makes a new file, durably. An existing one is left alone: the
// error is then fs.ErrExist. The file is never seen half written.
func (d Disk) CreateFile(path string, data []byte, perm fs.FileMode) error {
	f, err := d.open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer f.close()
	name := filepath.Base(path)
	// Another process may be making the same file, so the temporary name is
	// our own.
	return f.create(name, fmt.Sprintf("%s-%08x", tempName(name), rand.Uint32()), data, perm)
}

// Append adds data to the end of a file by one write, durably; the file is
// made when it is missing. A last line that a crash left without its end is
// ended first. A crash leaves a beginning of data, or none of it.
func (d Disk) Append(path string, data []byte, perm fs.FileMode) error {
	f, err := d.open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer f.close()
	return f.append(filepath.Base(path), data, perm)
}

// MakeFolder makes a folder and its missing parents, durably.
func (d Disk) MakeFolder(path string) error {
	path = filepath.Clean(path)
	top := path
	for {
		if _, err := os.Stat(top); !errors.Is(err, fs.ErrNotExist) || top == filepath.Dir(top) {
			break
		}
		top = filepath.Dir(top)
	}
	rel, err := filepath.Rel(top, path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := d.make(root, filepath.ToSlash(rel))
	if err != nil {
		return err
	}
	return f.close()
}

// folder is an open folder, whose names lead nowhere outside of the root that
// it was opened from.
type folder struct {
	disk Disk
	root *os.Root
	dir  *os.File // for fsync and the renames that os.Root lacks
	path string   // for messages and the seam
}

func (d Disk) open(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return d.folder(root)
}

// folder takes over root.
func (d Disk) folder(root *os.Root) (*folder, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{disk: d, root: root, dir: dir, path: root.Name()}, nil
}

// within opens a folder below root.
func (d Disk) within(root *os.Root, path string) (*folder, error) {
	sub, err := root.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return d.folder(sub)
}

// make opens a folder below root and makes what is missing on the way.
func (d Disk) make(root *os.Root, path string) (*folder, error) {
	f, err := d.within(root, ".")
	if err != nil || path == "." {
		return f, err
	}
	for name := range strings.SplitSeq(path, "/") {
		sub, err := f.child(name)
		if err = errors.Join(err, f.close()); err != nil {
			return nil, err
		}
		f = sub
	}
	return f, nil
}

// child opens a folder's folder and makes it when it is missing.
func (f *folder) child(name string) (*folder, error) {
	sub, err := f.disk.within(f.root, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return sub, err
	}
	if err := f.pass(spec.OpMkdir, name); err != nil {
		return nil, err
	}
	if err := f.root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := f.sync(); err != nil {
		return nil, err
	}
	return f.disk.within(f.root, name)
}

func (f *folder) close() error { return errors.Join(f.dir.Close(), f.root.Close()) }

func (f *folder) pass(op spec.Op, name string) error {
	return f.disk.Seam.Pass(op, filepath.Join(f.path, name))
}

// sync makes the folder's names durable.
func (f *folder) sync() error {
	if err := f.pass(spec.OpSync, ""); err != nil {
		return err
	}
	return f.dir.Sync()
}

func (f *folder) remove(name string) error {
	if err := f.pass(spec.OpRemove, name); err != nil {
		return err
	}
	return f.root.Remove(name)
}

func (f *folder) write(name string, data []byte, perm fs.FileMode) error {
	temp, err := f.temp(tempName(name), data, perm, nil)
	if err != nil {
		return err
	}
	if err := f.pass(spec.OpRename, name); err != nil {
		return f.discard(temp, err)
	}
	if err := f.root.Rename(temp, name); err != nil {
		return f.discard(temp, err)
	}
	return f.sync()
}

func (f *folder) create(name, temp string, data []byte, perm fs.FileMode) error {
	if _, err := f.root.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: filepath.Join(f.path, name), Err: fs.ErrExist}
	}
	temp, err := f.temp(temp, data, perm, nil)
	if err != nil {
		return err
	}
	if err := f.move(temp, f, name); err != nil {
		return f.discard(temp, err)
	}
	return f.sync()
}

func tempName(name string) string { return "." + name + ".drover-tmp" }

// temp writes data into a temporary file and syncs it. dress, if any, gives
// the file more than its permissions.
func (f *folder) temp(temp string, data []byte, perm fs.FileMode, dress func(*os.File) error) (string, error) {
	if err := f.pass(spec.OpWrite, temp); err != nil {
		return "", err
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	file, err := f.root.OpenFile(temp, flags, perm)
	if errors.Is(err, fs.ErrExist) { // left by a crash
		if err := f.remove(temp); err != nil {
			return "", err
		}
		file, err = f.root.OpenFile(temp, flags, perm)
	}
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err == nil && dress != nil {
		err = dress(file)
	}
	if err == nil {
		err = f.pass(spec.OpSync, temp)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", f.discard(temp, err)
	}
	return temp, nil
}

// clear removes the temporary file that a crash left of a write to name.
func (f *folder) clear(name string) error {
	if _, err := f.root.Lstat(tempName(name)); err != nil {
		return nil
	}
	return f.remove(tempName(name))
}

// discard removes a temporary file after err: a full disk shall not fill
// further.
func (f *folder) discard(temp string, err error) error {
	if gone := f.remove(temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("%w (and %s stays: %w)", err, temp, gone)
	}
	return err
}

// move renames into a folder of the same file system. It never replaces: the
// error is fs.ErrExist when the name is taken. Callers sync both folders.
func (f *folder) move(name string, to *folder, as string) error {
	if err := f.pass(spec.OpRename, name); err != nil {
		return err
	}
	err := renameNoReplace(f.dir, name, to.dir, as)
	if unsupported(err) {
		err = f.moveByLook(name, to, as)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: filepath.Join(f.path, name), New: filepath.Join(to.path, as), Err: err}
	}
	return nil
}

// moveByLook is for file systems without an exclusive rename: a file gets a
// second name, which is exclusive too; a folder is looked for first, which
// leaves a short race.
func (f *folder) moveByLook(name string, to *folder, as string) error {
	info, err := f.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := unix.Linkat(int(f.dir.Fd()), name, int(to.dir.Fd()), as, 0); err != nil {
			return err
		}
		return f.root.Remove(name)
	}
	if _, err := to.root.Lstat(as); err == nil {
		return fs.ErrExist
	}
	return unix.Renameat(int(f.dir.Fd()), name, int(to.dir.Fd()), as)
}

// exchange swaps the content of two names at one instant.
func (f *folder) exchange(a, b string) error {
	if err := f.pass(spec.OpRename, b); err != nil {
		return err
	}
	if err := renameExchange(f.dir, a, f.dir, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: filepath.Join(f.path, a), New: filepath.Join(f.path, b), Err: err}
	}
	return nil
}

// unsupported reports whether a file system or kernel lacks a kind of rename.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}

func (f *folder) append(name string, data []byte, perm fs.FileMode) error {
	file, isNew, err := f.openAppend(name, perm)
	if err != nil {
		return err
	}
	err = f.appendTo(file, name, data)
	if err == nil && isNew {
		err = f.sync()
	}
	return errors.Join(err, file.Close())
}

// openAppend opens a regular file for appending; anything else is refused.
func (f *folder) openAppend(name string, perm fs.FileMode) (file *os.File, isNew bool, err error) {
	info, err := f.root.Lstat(name)
	isNew = errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return nil, false, err
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, false, notRegular(filepath.Join(f.path, name))
	}
	if err := f.pass(spec.OpWrite, name); err != nil {
		return nil, false, err
	}
	flags := os.O_RDWR | os.O_APPEND
	if isNew {
		flags |= os.O_CREATE | os.O_EXCL
	}
	file, err = f.root.OpenFile(name, flags, perm)
	return file, isNew, err
}

func (f *folder) appendTo(file *os.File, name string, data []byte) error {
	torn, err := endsTorn(file)
	if err != nil {
		return err
	}
	if torn {
		data = append([]byte("\n"), data...)
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := f.pass(spec.OpSync, name); err != nil {
		return err
	}
	return datasync(file)
}

// endsTorn reports whether a file's last line has no end.
func endsTorn(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

func notRegular(path string) error {
	return fmt.Errorf("%s is not a regular file", path)
}
