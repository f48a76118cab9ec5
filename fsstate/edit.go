package fsstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drover/spec"
	"drover/spec/markdown"
)

// ErrChanged says that a document is not (any more) what an edit takes it to
// be, or is being written: the person's edit stands, look again.
var ErrChanged = errors.New("the document was changed meanwhile")

// Edits changes the documents of a workspace. Its paths are
// workspace-relative and never lead out of the workspace.
type Edits struct {
	root  *os.Root
	disk  Disk
	notes string // folder of the notes on exchanges under way
	zone  *time.Location

	stripes [64]sync.Mutex // by path: one edit of a file at a time
	logs    logs
}

// NewEdits edits the documents of a workspace and writes the times of its work
// logs in zone.
func NewEdits(s StateDir, d Disk, zone *time.Location) (*Edits, error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return &Edits{root: root, disk: d, notes: filepath.Join(s.Path, "edits"), zone: zone}, nil
}

// Close lets go of the workspace's folder.
func (e *Edits) Close() error { return e.root.Close() }

func (e *Edits) stripe(p string) *sync.Mutex {
	h := fnv.New32a()
	h.Write([]byte(p))
	return &e.stripes[h.Sum32()%uint32(len(e.stripes))]
}

const (
	// editPatience is how long an edit waits for somebody who is writing.
	editPatience = 300 * time.Millisecond
	editPause    = 2 * time.Millisecond
	// editRest is how long a document must be left alone where the kernel
	// cannot tell whether somebody has it open for writing.
	editRest = 20 * time.Millisecond
	// exchangesMost bounds the rounds in which edits come out of an exchange.
	exchangesMost = 32
)

// rewrite replaces a document's text by what change makes of it. A person's
// edit made at the same time wins: the document is then read again.
//
// The new text takes the document's place by an exchange of the two names, and
// only then is looked at what came out. If that is not what was read, or has a
// writer, it goes back in. A crash after an exchange leaves what came out
// beside the document, and a note in the state folder; Recover puts it right.
func (e *Edits) rewrite(ctx context.Context, p string, change func(old []byte) ([]byte, error)) error {
	lock := e.stripe(p)
	lock.Lock()
	defer lock.Unlock()
	f, err := e.disk.within(e.root, path.Dir(p))
	if err != nil {
		return err
	}
	defer f.close()
	if _, err := e.recover(f, p); err != nil {
		return err
	}
	deadline := time.NewTimer(editPatience)
	defer deadline.Stop()
	pause := time.NewTicker(editPause)
	defer pause.Stop()
	for {
		done, err := e.tryRewrite(f, p, change)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return ErrChanged
		case <-pause.C:
		}
	}
}

// tryRewrite is false when somebody was writing.
func (e *Edits) tryRewrite(f *folder, p string, change func([]byte) ([]byte, error)) (bool, error) {
	name := path.Base(p)
	file, err := f.openDocument(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	old, quiet, err := readQuiet(file)
	if err != nil || !quiet {
		return false, err
	}
	text, err := change(old)
	if err != nil || bytes.Equal(text, old) {
		return true, err
	}
	if err := e.note(p); err != nil {
		return false, err
	}
	temp, err := f.temp(tempName(name), text, 0o600, func(temp *os.File) error { return dress(temp, file) })
	if err != nil {
		return false, err
	}
	x := exchange{f: f, name: name, swap: swapName(name, old, text), old: old, text: text}
	if err := x.ready(temp); err != nil {
		return false, f.discard(temp, err)
	}
	done, err := x.run()
	if err != nil {
		return false, err
	}
	return done, e.unnote(p)
}

// openDocument opens a regular file for reading. A symlink is refused: an
// exchange would replace the link.
func (f *folder) openDocument(name string) (*os.File, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &markdown.NotEditableError{Key: name, Line: 1, Why: "it is no regular file; put the file itself here"}
	}
	return f.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// readQuiet reads a whole file; quiet is false when somebody is writing it.
func readQuiet(file *os.File) (text []byte, quiet bool, err error) {
	before, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	probe := probeWriter(int(file.Fd()))
	if probe == writerUnknown {
		// The one place where waiting is the only proof.
		time.Sleep(editRest)
	}
	text, err = io.ReadAll(io.NewSectionReader(file, 0, 1<<62))
	if err != nil {
		return nil, false, err
	}
	after, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	same := before.Size() == after.Size() && before.ModTime().Equal(after.ModTime())
	return text, same && probe != writerSome && probeWriter(int(file.Fd())) != writerSome, nil
}

// dress gives a file the mode, the owner and the extended attributes of
// another; the mode must succeed.
func dress(file, like *os.File) error {
	info, err := like.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == os.Geteuid() || os.Geteuid() == 0 {
		// Best effort: a group that is not ours cannot be given.
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
	copyAttributes(int(file.Fd()), int(like.Fd()))
	return file.Chmod(info.Mode().Perm())
}

// copyAttributes copies what extended attributes it may.
func copyAttributes(to, from int) {
	size, err := unix.Flistxattr(from, nil)
	if err != nil || size == 0 {
		return
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(from, names); err != nil {
		return
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:size]), "\x00"), "\x00") {
		if n, err := unix.Fgetxattr(from, name, nil); err == nil {
			value := make([]byte, n)
			if n, err = unix.Fgetxattr(from, name, value); err == nil {
				_ = unix.Fsetxattr(to, name, value[:n], 0)
			}
		}
	}
}

// exchange is one new text on its way into a document's place.
type exchange struct {
	f          *folder
	name, swap string
	old, text  []byte
}

// swapName tells by itself what an exchange is about: which text was read and
// which one is to take its place.
func swapName(name string, old, text []byte) string {
	return swapPrefix(name) + sum(old) + "-" + sum(text)
}

func swapPrefix(name string) string { return "." + name + ".drover-swap-" }

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:8])
}

// ready gives the whole and durable new text the name that says so.
func (x *exchange) ready(temp string) error {
	if err := x.f.pass(spec.OpRename, x.swap); err != nil {
		return err
	}
	return x.f.root.Rename(temp, x.swap)
}

// run exchanges until what comes out is what was expected to. It is true when
// the new text stands, false when somebody's edit does.
func (x *exchange) run() (bool, error) {
	ours := true
	placed, expected := x.text, x.old
	for range exchangesMost {
		err := x.f.exchange(x.swap, x.name)
		if unsupported(err) && ours {
			return x.byLook()
		}
		if err != nil {
			return false, x.gone(err)
		}
		out, quiet, err := x.cameOut()
		if err != nil {
			return false, err
		}
		if quiet && bytes.Equal(out, expected) {
			if err := x.f.remove(x.swap); err != nil {
				return false, err
			}
			return ours, x.f.sync()
		}
		ours = !ours
		placed, expected = out, placed
	}
	return false, fmt.Errorf("%w: it changed with every look", ErrChanged)
}

// gone handles an exchange whose document was deleted or renamed meanwhile.
func (x *exchange) gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return x.f.discard(x.swap, fmt.Errorf("%w: %w", ErrChanged, err))
	}
	return err
}

func (x *exchange) cameOut() ([]byte, bool, error) {
	file, err := x.f.root.Open(x.swap)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	return readQuiet(file)
}

// byLook is for file systems without exchange: a last look, then a rename,
// which leaves a short race.
func (x *exchange) byLook() (bool, error) {
	file, err := x.f.root.Open(x.name)
	if err != nil {
		return false, x.gone(err)
	}
	defer file.Close()
	now, quiet, err := readQuiet(file)
	if err != nil {
		return false, err
	}
	if !quiet || !bytes.Equal(now, x.old) {
		return false, x.f.remove(x.swap)
	}
	if err := x.f.pass(spec.OpRename, x.name); err != nil {
		return false, err
	}
	if err := x.f.root.Rename(x.swap, x.name); err != nil {
		return false, err
	}
	return true, x.f.sync()
}
