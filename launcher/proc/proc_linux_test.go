package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func sleeper(t *testing.T, change func(*exec.Cmd)) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	change(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestParseStat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Info
		ok         bool
	}{
		{"plain", "7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 1234 99", Info{PID: 7, Parent: 1, Start: "1234"}, true},
		{"a name like a stat", "7 (a) R 9 (b) Z 2 7 7 34816 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 55 99", Info{PID: 7, Parent: 2, Start: "55", Terminal: true, Zombie: true}, true},
		{"cut", "7 (sh) S 1 7", Info{}, false},
		{"empty", "", Info{}, false},
	} {
		got, ok := parseStat(7, []byte(tt.text))
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %v", tt.name, got, ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	own, _ := os.ReadFile("/proc/self/stat")
	f.Add(own)
	f.Fuzz(func(t *testing.T, b []byte) {
		if info, ok := parseStat(1, b); ok && info.Start == "" {
			t.Errorf("no start time in %q", b)
		}
	})
}

// A number that was used again, another boot, another namespace: each is
// nobody, and nobody is signalled.
func TestSignalComparesIdentity(t *testing.T) {
	cmd := sleeper(t, func(*exec.Cmd) {})
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	info, err := Get(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	right := ID{PID: info.PID, Start: info.Start, BootID: self.BootID, PIDNamespace: self.PIDNamespace}
	for _, wrong := range []func(*ID){
		func(id *ID) { id.Start += "0" },
		func(id *ID) { id.BootID = "another" },
		func(id *ID) { id.PIDNamespace = "pid:[1]" },
		func(id *ID) { id.PID = 0 },
	} {
		id := right
		wrong(&id)
		if err := Signal(id, unix.SIGKILL); !errors.Is(err, ErrGone) {
			t.Errorf("%+v: %v", id, err)
		}
	}
	if err := Signal(right, 0); err != nil {
		t.Errorf("the process itself: %v", err)
	}
}

func TestSearch(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run, tree := filepath.Join(dir, "run"), filepath.Join(dir, "tree")
	for _, d := range []string{run, filepath.Join(tree, "deep"), tree + "-other"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(run, "stream.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	env := func(dir string) []string { return append(os.Environ(), EnvRunDir+"="+dir) }
	want := map[int]string{}
	for name, change := range map[string]func(*exec.Cmd){
		"marker": func(c *exec.Cmd) { c.Env = env(run) },
		"stdout": func(c *exec.Cmd) { c.Stdout = log },
		"stands": func(c *exec.Cmd) { c.Dir = filepath.Join(tree, "deep") },
	} {
		want[sleeper(t, change).Process.Pid] = name
	}
	sleeper(t, func(c *exec.Cmd) { c.Dir = tree; c.Env = env(run + "-other") }) // of another attempt
	sleeper(t, func(c *exec.Cmd) { c.Dir = tree + "-other" })
	sleeper(t, func(*exec.Cmd) {})

	found, err := Search([]Target{{RunDir: run, Worktree: tree}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found[run] {
		if want[p.PID] == "" {
			t.Errorf("a stranger was found: %+v", p)
		}
		delete(want, p.PID)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	// All of them are older than a shim that starts in the far future.
	found, err = Search([]Target{{RunDir: run, Worktree: tree, Since: "99999999999"}})
	if err != nil || len(found) != 0 {
		t.Errorf("older processes were found: %v, %v", found, err)
	}
}
