package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"drover/launcher/shim"
)

// TestMain lets this test binary be drover: for the scripts, and for the shims
// and agents that drover starts of itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"drover": main, shim.Name: main,
		"codex": fakeAgent, "claude": fakeAgent, "agy": fakeAgent, "pi": fakeAgent,
	})
}

// TestScript runs the end-to-end scripts, named noun_case.txtar. Each begins in
// an empty folder with a home of its own and without any agent program on PATH;
// the command agents puts fake ones there.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("no condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			bin, path, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			if err := link(bin, filepath.Join(env.WorkDir, ".bin"), "drover"); err != nil {
				return err
			}
			if err := link(bin, filepath.Join(env.WorkDir, ".agents"), "codex", "claude", "agy", "pi"); err != nil {
				return err
			}
			env.Setenv("PATH", filepath.Join(env.WorkDir, ".bin")+string(filepath.ListSeparator)+path)
			env.Setenv("IS_SANDBOX", "1")
			env.Setenv("FAKE", filepath.Join(env.WorkDir, ".fake"))
			if err := os.MkdirAll(env.Getenv("FAKE"), 0o755); err != nil {
				return err
			}
			env.Setenv("GORACE", "atexit_sleep_ms=0") // it sleeps a second at each process's end
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("GIT_AUTHOR_NAME", "test")
			env.Setenv("GIT_AUTHOR_EMAIL", "test@localhost")
			env.Setenv("GIT_COMMITTER_NAME", "test")
			env.Setenv("GIT_COMMITTER_EMAIL", "test@localhost")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agents": fakeAgents, "waitfor": waitFor, "signal": sendSignal, "counts": countLines, "gone": isGone,
			"exits": exitsWith,
		},
	})
}

// link makes a folder that holds some of another's programs.
func link(from, to string, names ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// fakeAgents puts the fake agent programs on PATH, in an empty repository with
// a commit: agents.
func fakeAgents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: agents")
	}
	ts.Setenv("PATH", ts.MkAbs(".agents")+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	ts.Check(ts.Exec("git", "init", "-q"))
	ts.Check(ts.Exec("git", "commit", "-q", "--allow-empty", "-m", "begin"))
}

// waitFor waits until a file has a line that matches: waitfor FILE REGEXP.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE REGEXP")
	}
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	tick, end := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		text, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		if want.Match(text) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			ts.Fatalf("%s never had %s:\n%s", args[0], args[1], text)
		}
	}
}

// sendSignal signals the process whose number follows the expression in the
// newest line of a file that matches: signal NUMBER FILE REGEXP.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: signal NUMBER FILE REGEXP")
	}
	number, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(syscall.Kill(processIn(ts, args[1], args[2]), syscall.Signal(number)))
}

func processIn(ts *testscript.TestScript, file, before string) int {
	found := regexp.MustCompile(before+`(\d+)`).FindAllStringSubmatch(ts.ReadFile(file), -1)
	if len(found) == 0 {
		ts.Fatalf("%s has no %s", file, before)
	}
	last := found[len(found)-1]
	pid, err := strconv.Atoi(last[len(last)-1])
	ts.Check(err)
	return pid
}

// isGone holds that a process that a file names does not run; one that nobody
// has taken leave of yet is gone: gone FILE REGEXP.
func isGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gone FILE REGEXP")
	}
	pid := processIn(ts, args[0], args[1])
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		ts.Fatalf("process %d still runs: %s", pid, stat)
	}
}

// exitsWith holds a program to its exit code: exits CODE PROGRAM [ARGS…].
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS…]")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s ended with %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// countLines holds a file to a number of lines that match: counts N FILE REGEXP.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: counts NUMBER FILE REGEXP")
	}
	text := ts.ReadFile(args[1])
	if n := len(regexp.MustCompile("(?m)"+args[2]).FindAllString(text, -1)); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has %d of %s, want %s:\n%s", args[1], n, args[2], args[0], text)
	}
}
