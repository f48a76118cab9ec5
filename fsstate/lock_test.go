package fsstate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

// TestHolder is no test: as another process it holds a lock until its
// standard input ends.
func TestHolder(t *testing.T) {
	dir := os.Getenv("TEST_HOLD")
	if dir == "" {
		t.Skip("only as another process")
	}
	s := find(t, dir, os.Environ())
	var release func() error
	var err error
	if os.Getenv("TEST_HOLD_REPO") != "" {
		_, release, err = s.RepoLock(t.Context(), Disk{})
	} else {
		release, err = s.Lock(t.Context(), Disk{}, time.Now())
	}
	if err != nil {
		os.Stdout.WriteString("refused\n")
		return
	}
	os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

// hold starts a process that tries for a lock; said is "held" or "refused".
func hold(t *testing.T, dir string, more ...string) (cmd *exec.Cmd, said string, end func()) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolder$")
	cmd.Env = append(env(t, "TEST_HOLD="+dir), more...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("holder said nothing: %v", err)
	}
	return cmd, strings.TrimSpace(line), func() {
		stdin.Close()
		_ = cmd.Wait() // killed, in some tests
	}
}

func owner(t *testing.T, s StateDir) *spec.Owner {
	t.Helper()
	o, err := s.Owner()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// CASES 11: a second drover names the owner, also when the lock file was
// deleted half way; a killed owner leaves no lock.
func TestOneOwner(t *testing.T) {
	dir := repo(t)
	s := find(t, dir, env(t))
	if o := owner(t, s); o != nil {
		t.Fatalf("owned by %+v", o)
	}
	first, said, end := hold(t, dir)
	if said != "held" {
		t.Fatal("the first was refused")
	}
	for _, deleted := range []bool{false, true} {
		if deleted {
			if err := os.Remove(filepath.Join(s.Path, "lock")); err != nil {
				t.Fatal(err)
			}
		}
		o := owner(t, s)
		if o == nil || o.PID != first.Process.Pid && !(deleted && flockHolder(s.GitDir) == 0) {
			t.Errorf("deleted %v: owner %+v, want pid %d", deleted, o, first.Process.Pid)
		}
		_, err := s.Lock(t.Context(), Disk{}, time.Now())
		var owned *OwnedError
		if !errors.As(err, &owned) || !strings.Contains(err.Error(), s.Root) {
			t.Errorf("deleted %v: got %v", deleted, err)
		}
	}
	if _, said, end := hold(t, dir); said != "refused" {
		t.Error("another process was let in")
	} else {
		end()
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	end()
	if o := owner(t, s); o != nil {
		t.Errorf("a killed one still owns: %+v", o)
	}
	unlock, err := s.Lock(t.Context(), Disk{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if o := owner(t, s); o == nil || o.PID != os.Getpid() || o.Since.IsZero() {
		t.Errorf("owner %+v, want this process", o)
	}
	if _, err := s.Lock(t.Context(), Disk{}, time.Now()); err == nil {
		t.Error("locked twice by one process")
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if owner(t, s) != nil || exists(filepath.Join(s.Path, "lock")) {
		t.Error("unlock left something")
	}
}

// Those who ask who the owner is never keep one from starting.
func TestAskingDoesNotDisturb(t *testing.T) {
	s := find(t, repo(t), env(t))
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 4)
	for range cap(asked) {
		go func() {
			for ctx.Err() == nil {
				if _, err := s.Owner(); err != nil {
					asked <- err
					return
				}
			}
			asked <- nil
		}()
	}
	for range 20 {
		unlock, err := s.Lock(t.Context(), Disk{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range cap(asked) {
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
	}
}

// In an ordinary checkout one process holds both locks, on two inodes.
func TestRepoLock(t *testing.T) {
	dir := repo(t)
	s := find(t, dir, env(t))
	unlock, err := s.Lock(t.Context(), Disk{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	_, said, end := hold(t, dir, "TEST_HOLD_REPO=1")
	if said != "held" {
		t.Fatal("refused beside the owner's lock")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, _, err := s.RepoLock(ctx, Disk{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	end()
	file, release, err := s.RepoLock(t.Context(), Disk{})
	if err != nil {
		t.Fatal(err)
	}

	// A child that inherited it keeps the lock when we let go.
	child := exec.CommandContext(t.Context(), "cat")
	child.ExtraFiles = []*os.File{file}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, _, err := s.RepoLock(ctx, Disk{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a child still works, got %v", err)
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	_, release, err = s.RepoLock(t.Context(), Disk{})
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestLockPassesTheSeam(t *testing.T) {
	s := find(t, repo(t), env(t))
	for n := range 100 {
		unlock, err := s.Lock(t.Context(), Disk{Seam: crashAt(n)}, time.Now())
		if err == nil {
			_ = unlock() // its removal of the file fails, too
			break
		}
		if !errors.Is(err, errCrash) {
			t.Fatalf("after %d effects: %v", n, err)
		}
		if o := owner(t, s); o != nil {
			t.Fatalf("after %d effects: still owned by %+v", n, o)
		}
	}
	unlock, err := s.Lock(t.Context(), Disk{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestOwnedErrorText(t *testing.T) {
	kst := time.FixedZone("KST", 9*3600)
	since := time.Date(2026, 6, 1, 13, 47, 0, 0, time.UTC) // 22:47 in KST
	tests := []struct {
		owner spec.Owner
		at    time.Time
		want  string
	}{
		{spec.Owner{PID: 48213, Since: since, Host: "here"}, since.Add(20 * time.Minute).In(kst), "pid 48213 on this host drives /src/ledger since 22:47; follow it: drover status -w"},
		{spec.Owner{PID: 7, Since: since, Host: "there"}, since.Add(30 * time.Hour).In(kst), "pid 7 on there drives /src/ledger since 2026-06-01 22:47; follow it: drover status -w"},
		{spec.Owner{}, since, "another drover drives /src/ledger; follow it: drover status -w"},
	}
	for _, tt := range tests {
		if got := (&OwnedError{Owner: tt.owner, Root: "/src/ledger", Host: "here", At: tt.at}).Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
