package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/launcher/agent"
	"drover/spec"
)

// TestAgentsResume: the session of a program that was killed in the middle of
// a tool is found, and the resumed program goes on in it, in the same file.
func TestAgentsResume(t *testing.T) {
	agents, two := agentsDir(t), newPair()
	for _, program := range []string{"claude", "codex", "pi", "gemini"} {
		t.Run(program, func(t *testing.T) {
			two.enter(t)
			b := newBench(t, agents)
			b.configure(benchSettings{programs: []string{program}, worker: program})
			b.models.Play(program, lingerOnce())
			cli, ok := agent.NewSet("drover", nil).Lookup(program)
			if !ok {
				t.Fatal("unknown")
			}
			ask := agent.Spec{
				Role: spec.RoleWorker, Route: spec.Route{Agent: program, Model: realPrograms()[program].model},
				Prompt: "the first prompt", Dir: b.root, RunDir: filepath.Join(b.home, "run"),
				NewSession: "0b52a4f4-21c9-4f43-9d3c-5c8ee7b1a001",
			}
			first := b.direct(cli, ask, true)
			env := b.direction(program, ask.RunDir)
			path := cli.SessionFile(first.SessionID, b.root, env)
			if first.SessionID == "" || path == "" {
				t.Fatalf("session %q, file %q", first.SessionID, path)
			}
			size := fileSize(t, path)
			ask.Prompt, ask.Resume = "the second prompt", &agent.Session{ID: first.SessionID, Path: path}
			second := b.direct(cli, ask, false)
			if !second.Success || second.SessionID != first.SessionID {
				t.Errorf("resumed: %+v, want session %s", second, first.SessionID)
			}
			if now := fileSize(t, path); now <= size {
				t.Errorf("%s grew from %d to %d", path, size, now)
			}
			asked := b.models.Requests(program)
			if last := asked[len(asked)-1].Body; !strings.Contains(last, "the first prompt") || !strings.Contains(last, "the second prompt") {
				t.Errorf("the model did not get both prompts: %.3000s", last)
			}
		})
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// direction is the environment that points a program at the model server.
func (b *bench) direction(program, runDir string) []string {
	env := append(b.environ(), "DROVER_RUN_DIR="+runDir)
	replace := strings.NewReplacer("{URL}", b.address+"/"+program, "{HOME}", b.home)
	for k, v := range realPrograms()[program].env {
		env = append(env, k+"="+replace.Replace(v))
	}
	return env
}

// direct runs a program without drover, and kills it in its tool if asked.
func (b *bench) direct(cli agent.CLI, s agent.Spec, kill bool) agent.Outcome {
	b.t.Helper()
	cmd, err := cli.Command(s)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(s.RunDir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	c := exec.Command(filepath.Join(b.agents, "node_modules/.bin", cmd.Argv[0]), cmd.Argv[1:]...)
	c.Dir, c.Env = s.Dir, append(b.direction(cli.Name(), s.RunDir), cmd.Env...)
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, time.Second
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	if kill {
		b.until("the tool runs", func() bool { return len(b.processes(lingering)) > 0 })
		b.kill()
	}
	_ = c.Wait() // the output tells how it went
	end := agent.End{Code: c.ProcessState.ExitCode(), EndedBy: "agent", Stderr: stderr.Bytes(), Now: time.Now()}
	if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		end.Signal, end.Code = int(ws.Signal()), 128+int(ws.Signal())
	}
	r := cli.Reader()
	_, _ = r.Write(stdout.Bytes())
	out := r.Finish(end)
	if kill != (out.Class == spec.ClassProcessTerminated) {
		b.t.Fatalf("%v: %+v\n%s\n%s", cmd.Argv, out, stdout.Bytes(), stderr.Bytes())
	}
	return out
}

// kill ends everything that was started here.
func (b *bench) kill() {
	b.until("processes outlive SIGKILL", func() bool {
		left := b.processes("")
		for _, pid := range left {
			// It may have gone meanwhile.
			_ = exec.Command("kill", "-9", pid).Run()
		}
		return len(left) == 0
	})
}
