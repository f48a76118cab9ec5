package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Boot identifies this boot of the machine.
func Boot() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Namespace identifies our pid namespace.
func Namespace() (string, error) {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("read pid namespace: %w", err)
	}
	return ns, nil
}

// Self names the calling process.
func Self() (ID, error) {
	boot, err := Boot()
	if err != nil {
		return ID{}, err
	}
	ns, err := Namespace()
	if err != nil {
		return ID{}, err
	}
	info, err := Get(os.Getpid())
	if err != nil {
		return ID{}, err
	}
	return ID{PID: info.PID, Start: info.Start, BootID: boot, PIDNamespace: ns}, nil
}

// Get reads one process, ErrGone when there is none.
func Get(pid int) (Info, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Info{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	info, ok := parseStat(pid, b)
	if !ok {
		return Info{}, fmt.Errorf("process %d: stat cannot be understood", pid)
	}
	return info, nil
}

// parseStat reads proc(5)'s stat. The program's name comes in parentheses and
// may hold some itself, so counting begins after the last one.
func parseStat(pid int, b []byte) (Info, bool) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return Info{}, false
	}
	f := strings.Fields(string(b[end+1:]))
	const state, parent, terminal, start = 0, 1, 4, 19
	if len(f) <= start {
		return Info{}, false
	}
	ppid, err := strconv.Atoi(f[parent])
	if err != nil {
		return Info{}, false
	}
	dead := f[state] == "Z" || f[state] == "X"
	return Info{PID: pid, Parent: ppid, Start: f[start], Terminal: f[terminal] != "0", Zombie: dead}, true
}

// List lists all processes that can be seen.
func List() ([]Info, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []Info
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if info, err := Get(pid); err == nil {
			all = append(all, info)
		}
	}
	return all, nil
}

// Open opens a pidfd of the process that id names, or says ErrGone. The number
// is compared after the handle is open, so what the handle means cannot change.
func Open(id ID) (fd int, err error) {
	boot, err := Boot()
	if err != nil {
		return -1, err
	}
	ns, err := Namespace()
	if err != nil {
		return -1, err
	}
	if id.PID <= 0 || id.BootID != boot || id.PIDNamespace != ns {
		return -1, fmt.Errorf("process %d of another boot or namespace: %w", id.PID, ErrGone)
	}
	return open(id.PID, id.Start)
}

func open(pid int, start string) (fd int, err error) {
	fd, err = unix.PidfdOpen(pid, 0)
	if err != nil {
		if err == unix.ESRCH {
			err = ErrGone
		}
		return -1, fmt.Errorf("open process %d: %w", pid, err)
	}
	if info, err := Get(pid); err != nil || info.Start != start || info.Zombie {
		unix.Close(fd)
		return -1, fmt.Errorf("process %d is not the one meant: %w", pid, ErrGone)
	}
	return fd, nil
}

// Signal sends sig to the process that id names; ErrGone when it is over.
func Signal(id ID, sig unix.Signal) error {
	fd, err := Open(id)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return signalFD(fd, id.PID, sig)
}

// SignalInfo sends sig to a process of a listing made in this boot.
func SignalInfo(p Info, sig unix.Signal) error {
	fd, err := open(p.PID, p.Start)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return signalFD(fd, p.PID, sig)
}

func signalFD(fd, pid int, sig unix.Signal) error {
	err := unix.PidfdSendSignal(fd, sig, nil, 0)
	if err == unix.ESRCH {
		err = ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}

// Search finds the processes of attempts whose shim is gone, by RunDir, with
// one walk over /proc. The marker in the environment decides; without one, a
// process counts whose fds 0 to 2 lead into the run directory or that stands
// in the attempt's own worktree, unless it is older than the shim or has a
// terminal: that is a person looking.
func Search(targets []Target) (map[string][]Info, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	byDir, byTree := map[string]Target{}, map[string]Target{}
	for _, t := range targets {
		byDir[t.RunDir] = t
		if t.Worktree != "" {
			byTree[t.Worktree] = t
		}
	}
	return settled(func(p Info) (string, bool) {
		t, ok := attribute(p, byDir, byTree)
		return t.RunDir, ok
	})
}

// attribute says which attempt a process belongs to, if any.
func attribute(p Info, byDir, byTree map[string]Target) (Target, bool) {
	base := "/proc/" + strconv.Itoa(p.PID)
	if dir, marked := marker(base); marked {
		t, ok := byDir[dir]
		return t, ok && !older(p.Start, t.Since)
	}
	if p.Terminal {
		return Target{}, false
	}
	for _, fd := range []string{"/fd/0", "/fd/1", "/fd/2"} {
		link, err := os.Readlink(base + fd)
		if err != nil {
			continue
		}
		link = strings.TrimSuffix(link, " (deleted)")
		if t, ok := byDir[filepath.Dir(link)]; ok && !older(p.Start, t.Since) {
			return t, true
		}
	}
	cwd, err := os.Readlink(base + "/cwd")
	if err != nil || len(byTree) == 0 {
		return Target{}, false
	}
	for dir := strings.TrimSuffix(cwd, " (deleted)"); len(dir) > 1; dir = filepath.Dir(dir) {
		if t, ok := byTree[dir]; ok {
			return t, !older(p.Start, t.Since)
		}
	}
	return Target{}, false
}

// marker reads the attempt's run directory from a process's environment.
func marker(base string) (dir string, ok bool) {
	env, err := os.ReadFile(base + "/environ")
	if err != nil {
		return "", false
	}
	for len(env) > 0 {
		var item []byte
		item, env, _ = bytes.Cut(env, []byte{0})
		if v, ok := bytes.CutPrefix(item, []byte(EnvRunDir+"=")); ok {
			return string(v), true
		}
	}
	return "", false
}

// Adopt makes the calling process the parent of every orphan below it, so that
// none of its descendants can get out of its sight. To be called before the
// first fork.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}
