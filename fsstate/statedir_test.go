package fsstate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// repo makes a real repository.
func repo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// env is this process's environment with a home of its own.
func env(t *testing.T, more ...string) []string {
	t.Helper()
	return append(append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="), more...)
}

func find(t *testing.T, dir string, environ []string) StateDir {
	t.Helper()
	s, err := FindStateDir(t.Context(), dir, environ)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindStateDir(t *testing.T) {
	dir := repo(t)
	sub := filepath.Join(dir, "a/b")
	if err := os.MkdirAll(sub, 0o777); err != nil {
		t.Fatal(err)
	}
	s := find(t, sub, env(t, "GIT_DIR=/nowhere"))
	if s.Root != dir || s.GitDir != filepath.Join(dir, ".git") || filepath.Clean(s.CommonDir) != s.GitDir ||
		s.Path != filepath.Join(dir, ".git", stateName) || s.Notice != "" || s.GitVersion == "" {
		t.Errorf("got %+v", s)
	}
	if exists(s.Path) {
		t.Error("looking made the state folder")
	}
}

// A linked work tree has state of its own, and shares the repository's lock.
func TestFindStateDirOfAWorktree(t *testing.T) {
	dir := repo(t)
	tree := filepath.Join(t.TempDir(), "other")
	for _, args := range [][]string{
		{"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q", "--allow-empty", "-m", "x"},
		{"worktree", "add", "-q", tree},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	main, linked := find(t, dir, env(t)), find(t, tree, env(t))
	if main.GitDir == linked.GitDir || main.Path == linked.Path || filepath.Clean(main.CommonDir) != filepath.Clean(linked.CommonDir) {
		t.Errorf("main %+v\nlinked %+v", main, linked)
	}
}

func TestStateOutsideOfTheRepository(t *testing.T) {
	s := StateDir{Root: "/r", GitDir: filepath.Join(t.TempDir(), "missing")} // cannot be written
	home := t.TempDir()
	environ := []string{"XDG_STATE_HOME=" + home}
	got, err := s.place(environ)
	if err != nil || filepath.Dir(got.Path) != filepath.Join(home, stateName) || !strings.Contains(got.Notice, got.Path) {
		t.Fatalf("got %+v, %v", got, err)
	}
	// Once state is there it stays there, even when git's folder can be
	// written again; both at once are refused.
	if err := os.MkdirAll(got.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.GitDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if again, err := s.place(environ); err != nil || again.Path != got.Path || again.Notice == "" {
		t.Errorf("got %+v, %v", again, err)
	}
	inGit := filepath.Join(s.GitDir, stateName)
	if err := os.Mkdir(inGit, 0o777); err != nil {
		t.Fatal(err)
	}
	var refused *WorkspaceError
	if _, err := s.place(environ); !errors.As(err, &refused) || !strings.Contains(refused.Message, inGit) || !strings.Contains(refused.Message, got.Path) {
		t.Errorf("both: %v", err)
	}
	if stateHome([]string{"HOME=/h", "XDG_STATE_HOME=relative"}) != "/h/.local/state" {
		t.Error("a relative XDG_STATE_HOME counts")
	}
}

func TestWorkspaceErrors(t *testing.T) {
	plain, bare, fake := t.TempDir(), t.TempDir(), t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", bare).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	put(t, filepath.Join(fake, "git"), "#!/bin/sh\n[ \"$1\" = version ] && echo git version 2.37.1\nexit 0\n")
	if err := os.Chmod(filepath.Join(fake, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir, path string
		says            string
	}{
		{"no repository", plain, "", "run: git init"},
		{"bare", bare, "", "without a work tree"},
		{"no folder", filepath.Join(plain, "none"), "", "there is no folder"},
		{"old git", plain, fake, "git is 2.37.1; drover needs 2.38"},
		{"no git", plain, plain, "git is not on PATH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path != "" {
				t.Setenv("PATH", tt.path)
			}
			_, err := FindStateDir(t.Context(), tt.dir, env(t, "GIT_CEILING_DIRECTORIES="+filepath.Dir(plain)))
			var refused *WorkspaceError
			if !errors.As(err, &refused) || !strings.Contains(refused.Message, tt.says) || strings.Contains(refused.Message, "\n") {
				t.Errorf("got %v, want …%s…", err, tt.says)
			}
		})
	}
}

func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		// "/" belongs to root, who is another user here.
		var refused *WorkspaceError
		if err := checkOwner("/"); !errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
		return
	}
	dir := repo(t)
	if err := os.Chown(filepath.Join(dir, ".git"), 12345, -1); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
			t.Skip("this root may not give files away")
		}
		t.Fatal(err)
	}
	_, err := FindStateDir(t.Context(), dir, env(t))
	var refused *WorkspaceError
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "belongs to another user") {
		t.Errorf("got %v", err)
	}
}

func TestRecent(t *testing.T) {
	for version, want := range map[string]bool{
		"2.37.9": false, "2.38.0": true, "2.39.5": true, "2.39.5 (Apple Git-154)": true, "3.0": true, "1.9": false, "2.40.GIT": true,
	} {
		if recent(version) != want {
			t.Errorf("recent(%q) = %v", version, !want)
		}
	}
}
