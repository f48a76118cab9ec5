package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"drover/spec"

	"golang.org/x/sys/unix"
)

// The lock is held as long as any copy of the open file is, and asking for it
// changes nothing.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	ask := func(want bool) {
		t.Helper()
		if held, err := Held(dir); err != nil || held != want {
			t.Errorf("held %v, %v; want %v", held, err, want)
		}
	}
	ask(false)
	if _, err := os.Stat(filepath.Join(dir, Alive)); err == nil {
		t.Error("asking made the file")
	}
	f, err := TakeLock(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(nil, dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("taken twice: %v", err)
	}
	ask(true)
	ask(true)
	heir, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	ask(true)
	unix.Close(heir)
	ask(false)
}

// An effect that fails leaves the old file and nothing else.
func TestWriteFaults(t *testing.T) {
	for _, op := range []spec.Op{spec.OpWrite, spec.OpSync, spec.OpRename} {
		dir := t.TempDir()
		if err := Write(nil, dir, Exit, map[string]int{"code": 1}); err != nil {
			t.Fatal(err)
		}
		full := func(o spec.Op, object string) error {
			if o == op && object != dir {
				return unix.ENOSPC
			}
			return nil
		}
		if err := Write(full, dir, Exit, map[string]int{"code": 2}); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: error %v", op, err)
		}
		var got map[string]int
		if err := Read(dir, Exit, &got); err != nil || got["code"] != 1 {
			t.Errorf("%s: %v, %v", op, got, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("%s: left %v", op, entries)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	var v struct{ Code int }
	if err := Read(dir, Exit, &v); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for _, text := range []string{"", "{", "\x00\x00", "[]", "null x"} {
		if err := os.WriteFile(filepath.Join(dir, Exit), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Read(dir, Exit, &v); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	for _, d := range []string{a, b} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := RenameNew(a, b); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto an empty folder: %v", err)
	}
	if err := RenameNew(a, c); err != nil {
		t.Error(err)
	}
}
