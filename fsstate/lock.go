package fsstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"drover/spec"
)

// The owner's lock is a flock on the git folder itself (DESIGN 4.1): it works
// where nothing can be written, cannot be deleted apart from the repository,
// and the kernel lets go of it however its holder ends. The file "lock" in the
// state folder only tells who that is.

// OwnedError says that another drover drives the workspace.
type OwnedError struct {
	Owner spec.Owner // PID 0 when it cannot be told
	Root  string
	Host  string    // ours
	At    time.Time // when it was found
}

func (e *OwnedError) Error() string {
	who := "another drover"
	if e.Owner.PID != 0 {
		who = fmt.Sprintf("pid %d", e.Owner.PID)
		if e.Owner.Host == "" || e.Owner.Host == e.Host {
			who += " on this host"
		} else {
			who += " on " + e.Owner.Host
		}
	}
	since := ""
	if t := e.Owner.Since.In(e.At.Location()); !e.Owner.Since.IsZero() {
		form := "15:04"
		if t.Format(time.DateOnly) != e.At.Format(time.DateOnly) {
			form = "2006-01-02 15:04"
		}
		since = " since " + t.Format(form)
	}
	return fmt.Sprintf("%s drives %s%s; follow it: drover status -w", who, e.Root, since)
}

// ownerFile is the information file.
type ownerFile struct {
	PID    int       `json:"pid"`
	Start  string    `json:"start"` // of the process, as the kernel says
	Since  time.Time `json:"since"`
	Host   string    `json:"host"`
	BootID string    `json:"boot_id"`
}

// Somebody who only asks for the owner holds a shared lock for an instant, so
// an owner asks again for a while.
const (
	lockPatience   = 100 * time.Millisecond
	lockPause      = 5 * time.Millisecond
	askersPatience = 5 * time.Second
)

// Lock makes this process the owner of the workspace until unlock is called or
// it ends. now is told in the information file. The error is an *OwnedError
// when another drover is the owner.
//
// Crash windows: after the flock and before the information file, the owner's
// name is missing or stale; OwnedError then says what the kernel knows.
func (s StateDir) Lock(ctx context.Context, d Disk, now time.Time) (unlock func() error, err error) {
	if err := d.Seam.Pass(spec.OpLock, s.GitDir); err != nil {
		return nil, err
	}
	lock := flock.New(s.GitDir, flock.SetFlag(os.O_RDONLY))
	held, err := tryFor(ctx, lock)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", s.GitDir, err)
	}
	if !held {
		host, _ := os.Hostname()
		return nil, &OwnedError{Owner: s.owner(), Root: s.Root, Host: host, At: now}
	}
	if err := s.announce(d, now); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() error {
		path := filepath.Join(s.Path, "lock")
		gone := d.Seam.Pass(spec.OpRemove, path)
		if gone == nil {
			gone = os.Remove(path)
		}
		if errors.Is(gone, fs.ErrNotExist) {
			gone = nil
		}
		return errors.Join(gone, lock.Unlock())
	}, nil
}

// tryFor asks for the lock until it is had, or an owner has it. Askers, who
// share it for an instant, are waited for longer: they are no owners.
func tryFor(ctx context.Context, lock *flock.Flock) (bool, error) {
	for begin := time.Now(); ; {
		patience, cancel := context.WithTimeout(ctx, lockPatience)
		held, err := lock.TryLockContext(patience, lockPause)
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return held, err
		}
		if owned, err := ownedNow(lock.Path()); owned || err != nil || time.Since(begin) > askersPatience {
			return false, err
		}
	}
}

// ownedNow reports whether somebody holds the lock alone.
func ownedNow(path string) (bool, error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	shared, err := lock.TryRLock()
	if err != nil || !shared {
		return !shared, err
	}
	return false, lock.Unlock()
}

// announce makes the state folder and says in it who the owner is.
func (s StateDir) announce(d Disk, now time.Time) error {
	for _, sub := range []string{"", "runs", "requests"} {
		if err := d.MakeFolder(filepath.Join(s.Path, sub)); err != nil {
			return fmt.Errorf("make the state folder: %w", err)
		}
	}
	host, _ := os.Hostname()
	pid := os.Getpid()
	text, err := json.Marshal(ownerFile{PID: pid, Start: processStart(pid), Since: now, Host: host, BootID: bootID()})
	if err != nil {
		return err
	}
	if err := d.WriteFile(filepath.Join(s.Path, "lock"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("say who the owner is: %w", err)
	}
	return nil
}

// Owner is the drover that drives the workspace now; nil for none. PID is 0
// when there is one that cannot be named.
func (s StateDir) Owner() (*spec.Owner, error) {
	owned, err := ownedNow(s.GitDir)
	if err != nil {
		return nil, fmt.Errorf("look for the owner: %w", err)
	}
	if !owned {
		return nil, nil
	}
	owner := s.owner()
	return &owner, nil
}

// owner names the holder of the lock. The kernel's word beats the information
// file, which a crash may have left behind or a person deleted.
func (s StateDir) owner() spec.Owner {
	var told ownerFile
	if text, err := os.ReadFile(filepath.Join(s.Path, "lock")); err == nil {
		if json.Unmarshal(text, &told) != nil {
			told = ownerFile{}
		}
	}
	if holder := flockHolder(s.GitDir); holder != 0 && holder != told.PID {
		return spec.Owner{PID: holder}
	}
	return spec.Owner{PID: told.PID, Since: told.Since, Host: told.Host}
}

// RepoLock waits until no other process works on the repository's worktrees
// and refs, and then keeps them out: a flock on <git-common-dir>/objects,
// another inode than the owner's lock. file is to be inherited by git
// processes that change something: the lock lasts until the last of them has
// ended, so a new owner waits for what an old one started. release closes it.
func (s StateDir) RepoLock(ctx context.Context, d Disk) (file *os.File, release func() error, err error) {
	path := filepath.Join(s.CommonDir, "objects")
	if err := d.Seam.Pass(spec.OpLock, path); err != nil {
		return nil, nil, err
	}
	file, err = os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("lock the repository: %w", err)
	}
	pause := time.NewTicker(lockPause)
	defer pause.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			// No LOCK_UN: it would take the lock from the children too.
			return file, file.Close, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, nil, errors.Join(fmt.Errorf("lock the repository: %w", err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, nil, errors.Join(fmt.Errorf("lock the repository: %w", ctx.Err()), file.Close())
		case <-pause.C:
		}
	}
}
