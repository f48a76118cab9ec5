package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/launcher/agent/modelstub"
	"drover/spec"
)

// agentsDir is where .ci/agents put the real programs. Without them the test
// is skipped, except where DROVER_REQUIRE_AGENTS says that they must be there.
func agentsDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DROVER_AGENTS_DIR")
	why := ""
	switch _, err := os.Stat(filepath.Join(dir, "node_modules/.bin")); {
	case dir == "":
		why = "DROVER_AGENTS_DIR is not set: run .ci/agents, and set it to its folder, to drive the real agent programs"
	case err != nil:
		why = "the real agent programs are not in " + dir + ": run .ci/agents"
	}
	if why == "" {
		return dir
	}
	if os.Getenv("DROVER_REQUIRE_AGENTS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// pair lets two of the subtests of one test run at the same time: each drives
// a program of a few hundred megabytes.
type pair chan struct{}

func newPair() pair { return make(pair, 2) }

func (p pair) enter(t *testing.T) {
	t.Parallel()
	p <- struct{}{}
	t.Cleanup(func() { <-p })
}

// bench is a workspace with one task, a home of its own, and a model server
// that the programs of the workspace's settings ask.
type bench struct {
	t       *testing.T
	agents  string // folder of the programs
	home    string
	root    string
	models  *modelstub.Server
	address string
	more    []string // environment besides
	// folders come before those of the real programs on PATH.
	folders []string
}

const plan = "# Hello\n\n## Goal\n\nhello.txt greets.\n\n```sh run\necho by script > hello.txt\n```\n\n## Verification\n\n- `test -s hello.txt`\n"

func newBench(t *testing.T, agents string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, agents: agents, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "shop"), models: modelstub.New()}
	b.file(filepath.Join(b.root, "agent-task/shop/01_hello/PLAN.md"), plan)
	if err := os.MkdirAll(b.home, 0o755); err != nil {
		t.Fatal(err)
	}
	b.git("init", "-q")
	b.git("commit", "-q", "--allow-empty", "-m", "begin")
	server := httptest.NewServer(b.models)
	b.address = server.URL
	t.Cleanup(func() {
		b.gone()
		server.CloseClientConnections()
		server.Close()
	})
	return b
}

func (b *bench) file(path, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) git(args ...string) {
	b.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = b.root, b.environ()
	if out, err := c.CombinedOutput(); err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// environ is all that drover and what it starts get to see.
func (b *bench) environ() []string {
	path := append(slices.Clone(b.folders), filepath.Join(b.agents, "node_modules/.bin"), os.Getenv("PATH"))
	env := []string{
		"PATH=" + strings.Join(path, ":"), "HOME=" + b.home, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + filepath.Join(b.home, "config"), "XDG_DATA_HOME=" + filepath.Join(b.home, "data"),
		"XDG_STATE_HOME=" + filepath.Join(b.home, "state"), "XDG_CACHE_HOME=" + filepath.Join(b.home, "cache"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@localhost",
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@localhost",
	}
	return append(env, b.more...)
}

// benchSettings are what a test changes of drover.yaml.
type benchSettings struct {
	programs []string // that are pointed at the model server; each plays its own name
	worker   string   // the route of the task
	routes   string   // "name: {…}" lines besides those of the programs
	promote  string   // "[a, b]"
	review   string   // default: check, the script agent
	budget   string   // default 1: the first failure blocks
	endAfter string   // default 60s
	// subscriber lets claude be signed in, instead of using a key.
	subscriber bool
	more       string
}

// configure writes drover.yaml and the programs' own settings.
func (b *bench) configure(s benchSettings) {
	b.t.Helper()
	var y strings.Builder
	y.WriteString("version: 1\nlanguage: {screen: en, answers: en}\nagents:\n  script: {at_once: 2}\n")
	routes := "  check: {agent: script}\n" + s.routes
	for _, name := range s.programs {
		p := realPrograms()[name]
		if s.subscriber {
			delete(p.env, "ANTHROPIC_API_KEY")
			p.env["CLAUDE_CODE_OAUTH_TOKEN"] = "stub-oauth-token"
		}
		url := b.address + "/" + name
		for file, text := range p.files {
			b.file(filepath.Join(b.home, file), strings.ReplaceAll(text, "{URL}", url))
		}
		y.WriteString("  " + name + ":\n    env:\n")
		for _, k := range slices.Sorted(maps.Keys(p.env)) {
			v := strings.NewReplacer("{URL}", url, "{HOME}", b.home).Replace(p.env[k])
			y.WriteString("      " + k + ": " + `"` + v + "\"\n")
		}
		routes += "  " + name + ": {agent: " + name + ", model: " + p.model + ", selfcheck: false}\n"
	}
	y.WriteString("routes:\n" + routes)
	y.WriteString("promote: " + cmp.Or(s.promote, "[]") + "\n")
	y.WriteString("agent_task:\n  route: {plain: " + s.worker + ", review: " + cmp.Or(s.review, "check") + "}\n")
	y.WriteString("  finalize: drover\n  keep_logs: 1h\n")
	y.WriteString("failures: {budget: " + cmp.Or(s.budget, "1") + "}\nbackoff: {first: 200ms, max: 1s, provider_max: 1s}\n")
	y.WriteString("liveness: {inspect: 2s, tool: 60s, end_after: " + cmp.Or(s.endAfter, "60s") + "}\ngrace: {stop: 3s, after_answer: 5s}\n" + s.more)
	b.file(filepath.Join(b.root, "drover.yaml"), y.String())
}

// command is drover in the workspace.
func (b *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "drover", args...)
	c.Dir, c.Env = b.root, b.environ()
	return c
}

// drover runs drover and wants it to end with code.
func (b *bench) drover(code int, args ...string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Minute)
	defer cancel()
	out, err := b.command(ctx, args...).CombinedOutput()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		b.t.Fatal(err)
	}
	if got != code {
		b.t.Fatalf("drover %v ended with %d, want %d\n%s\n%s", args, got, code, out, b.evidence())
	}
	return string(out)
}

// evidence is what a failed test shows of the attempts.
func (b *bench) evidence() string {
	var out bytes.Buffer
	for _, name := range []string{"exit.json", "stream.log", "stderr.log"} {
		paths, _ := filepath.Glob(filepath.Join(b.runs(), "*", name))
		for _, p := range paths {
			text, _ := os.ReadFile(p)
			out.WriteString("\n== " + p + "\n" + string(text[max(0, len(text)-3000):]))
		}
	}
	return out.String()
}

func (b *bench) runs() string { return filepath.Join(b.root, ".git/agent-task-dispatcher/runs") }

// attempt is one run directory, read.
type attempt struct {
	dir     string
	locator spec.Locator
	exit    spec.Exit
	result  spec.Result
}

// attempts are those of a role, in order.
func (b *bench) attempts(role spec.Role) []attempt {
	b.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(b.runs(), "*__"+string(role)+"__a*"))
	if err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(dirs)
	out := make([]attempt, len(dirs))
	for i, dir := range dirs {
		out[i].dir = dir
		b.json(filepath.Join(dir, "locator.json"), &out[i].locator)
		if exists(filepath.Join(dir, "exit.json")) { // else its shim was killed
			b.json(filepath.Join(dir, "exit.json"), &out[i].exit)
			b.json(filepath.Join(dir, "result.json"), &out[i].result)
		}
	}
	return out
}

func (b *bench) json(path string, v any) {
	b.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
}

// only wants exactly n attempts of a role, and returns them.
func (b *bench) only(role spec.Role, n int) []attempt {
	b.t.Helper()
	got := b.attempts(role)
	if len(got) != n {
		b.t.Fatalf("%d attempts of %s, want %d\n%s", len(got), role, n, b.evidence())
	}
	return got
}

// row is the task's row of the status document.
func (b *bench) row() spec.Row {
	b.t.Helper()
	out, err := b.command(b.t.Context(), "status", "-a", "--json").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	var doc spec.StatusDoc
	if err := json.Unmarshal(out, &doc); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	if len(doc.Tasks) != 1 {
		b.t.Fatalf("%d tasks, want 1: %s", len(doc.Tasks), out)
	}
	return doc.Tasks[0]
}

// complete wants the task archived, with a hello.txt that begins so.
func (b *bench) complete(greeting string) {
	b.t.Helper()
	logs, _ := filepath.Glob(filepath.Join(b.root, "agent-task/archive/*/*/shop/01_hello*/complete.log"))
	if len(logs) != 1 {
		b.t.Fatalf("complete.log %v, want one\n%s", logs, b.evidence())
	}
	text, _ := os.ReadFile(filepath.Join(b.root, "hello.txt"))
	if !strings.HasPrefix(string(text), greeting) {
		b.t.Errorf("hello.txt says %q, want %q", text, greeting)
	}
}

// until polls until done; it fails the test after a minute.
func (b *bench) until(what string, done func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			b.t.Fatalf("waited in vain: %s\n%s", what, b.evidence())
		case <-tick.C:
		}
	}
}

// gone wants that nothing which was started here is left: every process has
// the bench's home in its environment, also in a session of its own.
func (b *bench) gone() {
	b.t.Helper()
	b.until("processes are left", func() bool { return len(b.processes("")) == 0 })
}

// processes are the pids of those that were started here and whose command
// line has words.
func (b *bench) processes(words string) []string {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("HOME="+b.home+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), words) {
			out = append(out, filepath.Base(filepath.Dir(path)))
		}
	}
	return out
}
