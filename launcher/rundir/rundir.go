// Package rundir is the run directory of an attempt: its files, how they are
// written so that a crash leaves the old or the new, and the lock that says
// whether somebody owns the attempt.
//
//	locator.json   where everything is; drover until the shim starts, then the shim
//	prompt.txt     what the agent is told; drover, with the claim
//	alive          the lock: drover from before the claim, then the shim, never free between
//	shim.json      which process the shim is
//	stream.log     the agent's stdout, written by the agent itself
//	stderr.log     the agent's stderr, likewise
//	heartbeat.log  the shim's pulse and complaints; never a sign of progress
//	stop           who wants it ended; any drover or command
//	result.json    what the agent said at its end; the shim
//	exit.json      how it ended; the shim, last of all
package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"drover/launcher/proc"
	"drover/spec"
)

// The files of a run directory.
const (
	Locator   = "locator.json"
	Prompt    = "prompt.txt"
	Alive     = "alive"
	Shim      = "shim.json"
	Stream    = "stream.log"
	Stderr    = "stderr.log"
	Heartbeat = "heartbeat.log"
	Stop      = "stop"
	Result    = "result.json"
	Exit      = "exit.json"
)

// Unclaimed begins the names of folders that are no attempt, or not any more.
// The owner of the workspace deletes what it finds of them.
const Unclaimed = ".new-"

// The descriptors that a shim inherits beside its standard ones.
const (
	LockFD = 3 // of alive, locked
	BellFD = 4 // the write end of a pipe: a byte tells drover to look
)

// ShimID is shim.json.
type ShimID struct {
	Version int `json:"version"`
	proc.ID
}

// ErrDamaged: a file that was written whole is not JSON of its kind any more.
var ErrDamaged = errors.New("damaged")

// Read decodes a file of the directory. A missing one is fs.ErrNotExist; one
// that is empty, cut or of another shape is ErrDamaged.
func Read(dir, name string, v any) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w: %w", name, ErrDamaged, err)
	}
	return nil
}

// Write makes a file of the directory hold v, durably: after nil a power cut
// leaves it whole, after an error the old one stands.
func Write(seam spec.Seam, dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := replace(seam, dir, name, append(b, '\n'), true); err != nil {
		return err
	}
	return SyncDir(seam, dir)
}

// Publish makes a file of the directory hold data at once, whole for every
// reader, but not durable: for what means nothing after the next boot.
func Publish(seam spec.Seam, dir, name string, data []byte) error {
	return replace(seam, dir, name, data, false)
}

func replace(seam spec.Seam, dir, name string, data []byte, durable bool) (err error) {
	path := filepath.Join(dir, name)
	temp := path + ".tmp"
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	f, err := create(seam, temp, data, os.O_TRUNC)
	if err != nil {
		return err
	}
	if durable {
		err = Sync(seam, f)
	} else {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	if err := seam.Pass(spec.OpRename, path); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return nil
}

// Create makes a new file with data, which is durable after Sync and a SyncDir.
func Create(seam spec.Seam, path string, data []byte) (*os.File, error) {
	return create(seam, path, data, os.O_EXCL)
}

func create(seam spec.Seam, path string, data []byte, flag int) (*os.File, error) {
	name := filepath.Base(path)
	if err := seam.Pass(spec.OpWrite, path); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return f, nil
}

// Sync fsyncs a file and closes it, whatever becomes of that.
func Sync(seam spec.Seam, f *os.File) error {
	err := seam.Pass(spec.OpSync, f.Name())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", filepath.Base(f.Name()), err)
	}
	return nil
}

// SyncDir makes a folder's names durable.
func SyncDir(seam spec.Seam, dir string) error {
	if err := seam.Pass(spec.OpSync, dir); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// TakeLock makes dir's alive file and returns it locked for writing. The lock
// belongs to the open file, not to the process: whoever inherits the
// descriptor holds it, and it is free when the last copy is closed.
func TakeLock(seam spec.Seam, dir string) (*os.File, error) {
	path := filepath.Join(dir, Alive)
	if err := seam.Pass(spec.OpLock, path); err != nil {
		return nil, fmt.Errorf("lock %s: %w", Alive, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", Alive, err)
	}
	return f, nil
}

// Held asks whether somebody holds dir's lock. It only asks: it never makes
// the file nor takes the lock. A missing file is a free lock.
func Held(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, Alive))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the lock: %w", err)
	}
	defer f.Close()
	held, err := held(f)
	if err != nil {
		return false, fmt.Errorf("ask for the lock: %w", err)
	}
	return held, nil
}
