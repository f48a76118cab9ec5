package fsstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// StateDir is where drover keeps what it must remember of one workspace
// (DESIGN 5). Finding it changes nothing on disk.
type StateDir struct {
	Root      string // the work tree's top folder
	GitDir    string // of this work tree; the owner's lock is on it
	CommonDir string // of the repository; the lock of worktrees and refs is in it
	Path      string // the state folder; it need not exist yet
	// Notice is one sentence for people when the state is not in the
	// repository, "" otherwise.
	Notice string
	// GitVersion is that of the git program, "2.39.5".
	GitVersion string
}

// WorkspaceError is a workspace that drover cannot work in: one sentence, with
// what to do.
type WorkspaceError struct{ Message string }

func (e *WorkspaceError) Error() string { return e.Message }

const stateName = "agent-task-dispatcher"

// The oldest git with merge-tree --write-tree.
const gitMajor, gitMinor = 2, 38

// FindStateDir looks from dir, an absolute path, for the workspace and its
// state folder. env is the process's environment. It fails with a
// *WorkspaceError where there is no repository, where it belongs to another
// user, where git is missing or too old, and where two state folders exist.
func FindStateDir(ctx context.Context, dir string, env []string) (StateDir, error) {
	s, err := askGit(ctx, dir, env)
	if err != nil {
		return StateDir{}, err
	}
	for _, path := range []string{s.Root, s.GitDir} {
		if err := checkOwner(path); err != nil {
			return StateDir{}, err
		}
	}
	return s.place(env)
}

// place chooses the state folder: the one that exists, else the git folder
// where it can be written, else the user's state folder.
func (s StateDir) place(env []string) (StateDir, error) {
	inGit := filepath.Join(s.GitDir, stateName)
	outside := filepath.Join(stateHome(env), stateName, workspaceID(s.GitDir))
	gitHas, outsideHas := exists(inGit), exists(outside)
	switch {
	case gitHas && outsideHas:
		return StateDir{}, &WorkspaceError{fmt.Sprintf("there are two state folders, %s and %s; keep the one that is newer and move the other away", inGit, outside)}
	case gitHas, !outsideHas && writable(s.GitDir):
		s.Path = inGit
	default:
		s.Path = outside
		s.Notice = fmt.Sprintf("%s cannot be written, so the state is kept in %s", s.GitDir, outside)
	}
	return s, nil
}

// askGit runs git twice, side by side, because a start must not wait for it
// longer than needed.
func askGit(ctx context.Context, dir string, env []string) (StateDir, error) {
	version := make(chan string, 1)
	go func() {
		out, _ := git(ctx, dir, env, "version").Output()
		version <- strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	}()
	cmd := git(ctx, dir, env, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	s := StateDir{GitVersion: <-version}
	if errors.Is(err, exec.ErrNotFound) {
		return s, &WorkspaceError{fmt.Sprintf("git is not on PATH (%s); install git 2.38 or newer", lookup(env, "PATH"))}
	}
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if s.GitVersion != "" && !recent(s.GitVersion) {
		return s, &WorkspaceError{fmt.Sprintf("git is %s; drover needs 2.38 or newer", s.GitVersion)}
	}
	if err != nil {
		return s, gitRefusal(dir, stderr.String(), err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 {
		return s, &WorkspaceError{fmt.Sprintf("%s has a line break in its path", dir)}
	}
	s.Root, s.GitDir, s.CommonDir = lines[0], lines[1], lines[2]
	if !filepath.IsAbs(s.CommonDir) {
		s.CommonDir = filepath.Join(dir, s.CommonDir)
	}
	return s, nil
}

// git is a git command in dir that finds the repository by the folder alone:
// the variables that git sets for its hooks would lead it elsewhere.
func git(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "LC_ALL":
			return true
		}
		return false
	}), "LC_ALL=C")
	return cmd
}

// gitRefusal says in one sentence why git knows no work tree here.
func gitRefusal(dir, stderr string, err error) error {
	switch {
	case strings.Contains(stderr, "dubious ownership"):
		return foreignOwner(dir)
	case strings.Contains(stderr, "must be run in a work tree"):
		return &WorkspaceError{fmt.Sprintf("%s is a repository without a work tree; run drover in a checkout", dir)}
	case strings.Contains(stderr, "not a git repository"):
		return &WorkspaceError{fmt.Sprintf("%s is not in a git repository; run: git init", dir)}
	case !exists(dir):
		return &WorkspaceError{fmt.Sprintf("there is no folder %s", dir)}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return fmt.Errorf("find the git folder of %s: %w: %s", dir, err, first)
}

// recent reports whether a git version is new enough: "2.39.5",
// "2.39.5 (Apple Git-154)".
func recent(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err1 := strconv.Atoi(major)
	n, err2 := strconv.Atoi(minor)
	return err1 != nil || err2 != nil || m > gitMajor || m == gitMajor && n >= gitMinor
}

// checkOwner refuses what belongs to another user: its hooks and settings
// would run as us.
func checkOwner(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("find the owner of the workspace: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return foreignOwner(path)
	}
	return nil
}

func foreignOwner(path string) error {
	return &WorkspaceError{fmt.Sprintf("%s belongs to another user than the one who runs drover (uid %d); run drover as its owner", path, os.Geteuid())}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func writable(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// stateHome is ${XDG_STATE_HOME:-~/.local/state}; a relative value counts as none.
func stateHome(env []string) string {
	if dir := lookup(env, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(lookup(env, "HOME"), ".local", "state")
}

// workspaceID tells workspaces apart whose state lies side by side.
func workspaceID(gitDir string) string {
	sum := sha256.Sum256([]byte(gitDir))
	name := filepath.Base(gitDir)
	if name == ".git" {
		name = filepath.Base(filepath.Dir(gitDir))
	}
	return name + "-" + hex.EncodeToString(sum[:6])
}

// lookup is the value of a variable; the last one wins, as in exec.
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
