package settings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

// TestDefault holds seed 003's route table and limits word for word.
func TestDefault(t *testing.T) {
	s, problems := Parse("drover.yaml", nil)
	if problems != nil {
		t.Fatal(problems)
	}
	pi := func(model string, n int) string { return fmt.Sprintf("pi|%s|high|%d|true", model, n) }
	const claude, codex = "claude|claude-opus-4-8|xhigh|0|false", "codex|gpt-5.6-sol|xhigh|0|false"
	agy := func(level string) string { return "agy|Gemini 3.5 Flash (" + level + ")||1|false" }
	tests := []struct {
		lane     string
		from, to int
		want     []string
	}{
		{"local", 1, 6, []string{pi("iop/ornith-fast", 3)}},
		{"local", 7, 8, []string{pi("iop/laguna-s:2.1", 2)}},
		{"local", 9, 10, []string{claude, codex}},
		{"cloud", 1, 2, []string{agy("Low"), claude, codex}},
		{"cloud", 3, 4, []string{agy("Medium"), claude, codex}},
		{"cloud", 5, 6, []string{agy("High"), claude, codex}},
		{"cloud", 7, 8, []string{claude, codex}},
		{"cloud", 9, 10, []string{codex}},
	}
	for _, tt := range tests {
		for g := tt.from; g <= tt.to; g++ {
			check(t, fmt.Sprintf("%s G%02d", tt.lane, g), s.Worker(tt.lane, g), tt.want)
		}
	}
	check(t, "plain", s.Plain(), []string{claude, codex})
	check(t, "review", s.Review(), []string{codex})
	if s.Worker("local", 11) != nil || s.Worker("edge", 1) != nil {
		t.Error("a route for a grade that is not there")
	}
	for _, g := range []int{1, 3, 5} {
		if key := s.Worker("cloud", g)[0].LimitKey; key != "agy" {
			t.Errorf("G%02d: limit %q, want one for all of agy", g, key)
		}
	}
	if !s.Worker("local", 7)[0].SameSession || s.Worker("local", 1)[0].SameSession {
		t.Error("laguna-s alone resumes its session")
	}
	p, want := s.Policy(), spec.DefaultPolicy()
	want.Language = "ko"
	if p != want {
		t.Errorf("policy %+v, want %+v", p, want)
	}
}

func check(t *testing.T, what string, got spec.Ladder, want []string) {
	t.Helper()
	var lines []string
	for _, r := range got {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%d|%t", r.Agent, r.Model, r.Effort, r.AtOnce, r.Selfcheck))
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: %q, want %q", what, lines, want)
	}
}

const everything = `version: 1
language: {screen: en, answers: ko}
zone: Europe/Berlin
agents:
  claude: {path: ~/.local/bin/claude, at_once: 3, args: [--verbose], env: {A: "1"}, sandbox: ""}
  codex: {at_once: 0}
  mine: {command: [mytool, --model, "{model}", "{prompt}"], success: {exit: 0, json_path: "$.status", equals: ok}}
routes:
  small: {agent: claude, model: haiku}
  large: {agent: claude, model: opus, effort: xhigh, at_once: 2, selfcheck: false}
  own: {agent: mine, model: 4.10}
promote: [small, large]
limits: {total: 7}
agent_task:
  root: agent-task
  route: {local: {1-4: small, 5-10: large}, cloud: {1-10: large}, review: large, plain: small}
  finalize: drover
  keep_logs: 7d
  max_rounds: 10
issues: {root: .hxsk/issues, approve: agent-splits, split: large, worker: large, resolve: large, review: large, verify: go test ./...}
milestones: {root: milestones, gates: by-hand, split: large, spec: large, loop: large, iterations: 30, wall_clock: 120m, at_once: 3, wave_timeout: 7200s, done_label: "loop:done"}
plans: {globs: ["docs/features/**/*-implementation-plan.md"], verify: go test ./..., risk: "", implement: small, reorder: large, review: large}
failures: {budget: 10, strikes: 3}
backoff: {first: 1s, max: 60s, provider_max: 10m}
liveness: {inspect: 3m, tool: 30m, end_after: 60m}
watch: {settle: 20ms, resync: 60s}
worktrees: .drover/worktrees
log_cap: 64MiB
grace: {stop: 10s, after_answer: 30s}
reclaim: {ignore: [node_modules/, target/], keep: 14d}
notify: [{on: [needs-person, final], run: [notify-send, drover]}]
`

func TestParse(t *testing.T) {
	s, problems := Parse("drover.yaml", []byte(everything))
	if problems != nil {
		t.Fatal(problems)
	}
	check(t, "G04", s.Worker("local", 4), []string{"claude|haiku||0|false", "claude|opus|xhigh|2|false"})
	check(t, "G05", s.Worker("local", 5), []string{"claude|opus|xhigh|2|false"})
	if l := s.Review()[0]; l.LimitKey != "large" || l.ProgramAtOnce != 3 {
		t.Errorf("limits of large: %+v", l)
	}
	if m := s.Routes["own"].Model; m != "4.10" {
		t.Errorf("model %q: a value is its own bytes", m)
	}
	if s.AgentTask.KeepLogs != 7*24*time.Hour || s.LogCap != 64<<20 || s.Limits.Total != 7 {
		t.Errorf("%+v", s)
	}
	if s.Policy().Language != "en" || s.Language.Answers != "ko" {
		t.Errorf("language %+v", s.Language)
	}
	if len(s.NotYet) != 1 || s.NotYet[0].Line != 31 {
		t.Errorf("not yet: %v", s.NotYet)
	}
	want := "agents.claude.path ~/.local/bin/claude\nagents.mine.command mytool --model {model} {prompt}\nnotify[0].run notify-send drover"
	if got := strings.Join(s.Trusted, "\n"); got != want {
		t.Errorf("trusted %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "version: 1\nagent_tasks: {}\n", "2: unknown key agent_tasks, did you mean agent_task?"},
		{"deep key", "agent_task:\n  rout: {}\n", "2: unknown key rout, did you mean root?"},
		{"key behind a no-break space", "version: 1\n\u00a0zone: x\n", `2: key "\u00a0zone" has an odd blank in it, write zone`},
		{"far key", "x: 1\n", "1: unknown key x; known are version, language"},
		{"twice", "zone: a\nzone: b\n", "2: key zone is there twice, first in line 1"},
		{"twice below", "limits:\n  total: 1\n  total: 2\n", "3: key total is there twice, first in line 2"},
		{"octal", "limits: {total: 010}\n", `1: limits.total wants a whole number from 0, not "010"`},
		{"negative", "limits: {total: -1}\n", "1: limits.total wants a whole number from 0"},
		{"float", "limits: {total: 1.0}\n", "1: limits.total wants a whole number"},
		{"list for text", "zone: [a]\n", "1: zone wants a text, not a list"},
		{"bool for text", "zone: true\n", `1: zone wants a text, not "true"`},
		{"nothing for text", "zone:\n", "1: zone wants a text, not nothing"},
		{"text for object", "limits: 3\n", `1: limits wants keys and values, not "3"`},
		{"list at the top", "- a\n", "1: drover.yaml wants keys and values, not a list"},
		{"duration without unit", "grace: {stop: 10}\n", "1: grace.stop wants a time span"},
		{"duration below", "watch: {resync: 1ms}\n", "1: watch.resync wants at least 1s"},
		{"bad days", "reclaim: {keep: 1.5d}\n", "1: reclaim.keep wants a time span"},
		{"days that overflow", "reclaim: {keep: 99999999d}\n", "1: reclaim.keep wants a time span"},
		{"bad size", "log_cap: 128Mib\n", "1: log_cap wants a size such as 128MiB"},
		{"size that overflows", "log_cap: 99999999999GiB\n", "1: log_cap wants a size"},
		{"small size", "log_cap: 1KiB\n", "1: log_cap wants at least 1048576 bytes"},
		{"backoff order", "backoff: {first: 2m}\n", "0: backoff wants first ≤ max ≤ provider_max"},
		{"grade out of range", "agent_task: {route: {local: {0-3: claude}}}\n", "1: agent_task.route.local wants grades"},
		{"grade upside down", "agent_task: {route: {local: {5-3: claude}}}\n", "1: agent_task.route.local wants grades"},
		{"grade twice", "agent_task:\n  route:\n    local:\n      1-4: claude\n      4: codex\n", "5: agent_task.route.local names grade 4 twice, first in line 4"},
		{"unknown route", "agent_task: {route: {review: cladue}}\n", "1: there is no route cladue, did you mean claude?"},
		{"unknown agent", "routes: {a: {agent: codx}}\n", "1: routes.a: drover knows no agent codx, did you mean codex?"},
		{"route without agent", "routes: {a: {model: x}}\n", "1: routes.a names no agent"},
		{"own agent without command", "agents: {mine: {at_once: 1}}\n", "1: drover knows no agent mine"},
		{"known agent with command", "agents: {pi: {command: [x]}}\n", "1: agents.pi is an agent that drover drives itself"},
		{"our own environment", "agents: {pi: {env: {DROVER_TASK: x}}}\n", `1: agents.pi.env: "DROVER_TASK" cannot be set here`},
		{"promote pi", "routes: {p: {agent: pi}}\npromote: [p, claude]\n", "2: promote names p, which runs on pi"},
		{"promote twice", "promote: [claude, claude]\n", "1: promote names claude twice"},
		{"root outside", "agent_task: {root: ../x}\n", "1: agent_task.root wants a folder below the workspace"},
		{"root is the workspace", "agent_task: {root: .}\n", "1: agent_task.root wants a folder below the workspace"},
		{"finalize", "agent_task: {finalize: nobody}\n", `1: agent_task.finalize wants drover or reviewer, not "nobody"`},
		{"language", "language: fr\n", `1: language wants ko or en, not "fr"`},
		{"version", "version: 2\n", `1: version wants 1, not "2"`},
		{"spend", "spend: {usd: 25}\n", "1: spend is not obeyed yet"},
		{"hours", "hours: \"22:00-07:00\"\n", "1: hours is not obeyed yet"},
		{"bad hours", "hours: 22-7\n", "1: hours wants a span"},
		{"notify without a program", "notify: [{on: [final]}]\n", "1: notify[0] names no program"},
		{"merge key", "limits: &a {total: 1}\nagent_task:\n  <<: *a\n", "1: anchors, aliases and tags are not read here"},
		{"two documents", "version: 1\n---\nzone: x\n", "a second document begins here"},
		{"tab", "limits:\n\ttotal: 1\n", "2: found character that cannot start any token"},
		{"nul", "zone: a\x00\n", "1: this is not UTF-8 text"},
		{"latin-1", "version: 1\nzone: K\xf6ln\n", "2: this is not UTF-8 text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Parse("drover.yaml", []byte(tt.text))
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Message))
			}
			if !strings.Contains(strings.Join(got, "\n"), tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestParseAllProblems(t *testing.T) {
	_, problems := Parse("d", []byte("zone: []\nfoo: 1\nlimits: {total: x}\nagent_task: {route: {plain: nope}}\n"))
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if fmt.Sprint(lines) != "[1 2 3 4]" {
		t.Errorf("lines %v of %v", lines, problems)
	}
}

func TestParseUser(t *testing.T) {
	user, problems := ParseUser("config.yaml", []byte("agents: {pi: {path: /opt/pi, at_once: 2}}\nlanguage: en\n"))
	if problems != nil || user.Trusted != nil {
		t.Fatal(problems, user.Trusted)
	}
	s, problems := ParseOver(user, "drover.yaml", []byte("agents: {pi: {at_once: 1}}\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	if a := s.Agents["pi"]; a.Path != "/opt/pi" || a.AtOnce != 1 || s.Language.Answers != "en" {
		t.Errorf("%+v, %+v", a, s.Language)
	}
	if user.Agents["pi"].AtOnce != 2 {
		t.Error("the user's settings were changed")
	}
	if _, problems := ParseUser("config.yaml", []byte("limits: {total: 1}\n")); len(problems) != 1 {
		t.Errorf("a user's file may not hold limits: %v", problems)
	}
}

func TestWithCPUs(t *testing.T) {
	s, _ := Parse("d", []byte("agent_task: {route: {plain: script}}\n"))
	if got := s.Plain()[0].ProgramAtOnce; got != 0 {
		t.Errorf("at once %d before", got)
	}
	sized := s.WithCPUs(4)
	if got := sized.Plain()[0].ProgramAtOnce; got != 4 {
		t.Errorf("at once %d, want the CPUs", got)
	}
	s, _ = Parse("d", []byte("agents: {script: {at_once: 1}}\nagent_task: {route: {plain: script}}\n"))
	sized = s.WithCPUs(4)
	if got := sized.Plain()[0].ProgramAtOnce; got != 1 {
		t.Errorf("at once %d, want the setting", got)
	}
}

// FuzzParse: no text makes the reader panic, and settings without a problem
// give every grade a route.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("agent_task: {route: {local: {1-4: script}}}\n")
	f.Add("a: &x {b: *x}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := Parse("drover.yaml", []byte(text))
		if problems != nil {
			return
		}
		for g := 1; g <= 10; g++ {
			if s.Worker("local", g)[0].Agent == "" || s.Worker("cloud", g)[0].Agent == "" {
				t.Fatalf("grade %d has no agent", g)
			}
		}
	})
}
