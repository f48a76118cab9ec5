package main

import (
	"strings"
	"testing"
	"time"

	"drover/reconcile"
	"drover/spec"
)

func same(t *testing.T, got, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "<end>", "<end>"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d\n got %q\nwant %q\nall of it:\n%s", i+1, a, b, got)
		}
	}
}

func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-11-30 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

func ago(now time.Time, d time.Duration) *time.Time {
	t := now.Add(-d)
	return &t
}

func ledger() spec.StatusDoc {
	now := at("23:12:05")
	row := func(task string, state spec.State, stage spec.Role, route spec.Route, attempt string, since time.Duration) spec.Row {
		return spec.Row{Task: task, State: state, Stage: stage, Route: &route, Attempt: attempt, Since: ago(now, since)}
	}
	agy := spec.Route{Agent: "agy", Model: "Gemini 3.5 Flash (Low)"}
	rounding := row("ledger/10_rounding", spec.StateBlocked, "review", spec.Route{Agent: "codex", Model: "gpt-5.6-sol", Effort: "xhigh"}, "ledger.10_rounding__p0__review__a02", 14*time.Minute)
	rounding.NeedsPerson = true
	rounding.Reason = &spec.Reason{Code: spec.UserReview, Detail: "2 open decisions", File: "USER_REVIEW.md", Line: 12}
	accounts := row("ledger/05+01_accounts", spec.StateRunning, "worker", spec.Route{Agent: "claude", Model: "claude-opus-4-8"}, "ledger.05+01_accounts__p0__worker__a01", 40*time.Second)
	accounts.Failures, accounts.FailureLimit = 1, 10
	completion := row("ledger/11+06_완료", spec.StateWaiting, "worker", agy, "", 6*time.Minute)
	completion.Reason = &spec.Reason{Code: spec.LimitFull, Detail: "agy 1 of 1", WaitsFor: []string{"ledger/03_docs"}}
	return spec.StatusDoc{
		Version: 1, GeneratedAt: now, Workspace: "/src/ledger",
		Owner: &spec.Owner{PID: 48213, Since: at("22:47:00")},
		Tasks: []spec.Row{
			row("ledger/02+01_reader", spec.StateRunning, "worker", spec.Route{Agent: "pi", Model: "iop/ornith-fast"}, "ledger.02+01_reader__p0__worker__a00", time.Minute),
			row("ledger/01_schema", spec.StateComplete, "", spec.Route{}, "", time.Hour),
			completion, rounding, accounts,
		},
		Problems: []spec.Problem{{File: "agent-task/ledger/reader/PLAN-cloud-G07.md", Message: "folder name is not NN_slug"}},
		Summary:  spec.Summary{Complete: 2, Running: 2, Ready: 0, Waiting: 7, Blocked: 1, NeedsPerson: 1, Problems: 1},
	}
}

func TestStatusText(t *testing.T) {
	same(t, statusText(ledger(), StatusView{Columns: 80, Language: "en", Zone: time.UTC}), `
ledger · drover watches (pid 48213, since 22:47) · 2 of 12 complete · 23:12:05

STATE     TASK                   STAGE   AGENT              TRY  FOR
blocked   ledger/10_rounding     review  codex gpt-5.6-sol  a02  14m
          needs you: user-review: 2 open decisions, USER_REVIEW.md:12
running   ledger/02+01_reader    worker  pi ornith-fast     a00  1m
running   ledger/05+01_accounts  worker  claude opus-4-8    a01  40s
          1 of 10 failed
waiting   ledger/11+06_완료      worker  agy flash low      -    6m
          limit-full: agy 1 of 1, held by ledger/03_docs
PROBLEM   agent-task/ledger/reader/PLAN-cloud-G07.md  folder name is not NN_slug  (see: validate)
`)
}

func TestStatusTextPiped(t *testing.T) {
	doc := ledger()
	doc.Owner = nil
	same(t, statusText(doc, StatusView{Language: "en", Zone: time.UTC, NeedsYou: true}), `
ledger · no drover runs · 2 of 12 complete · 23:12:05

STATE     TASK                STAGE   AGENT              TRY  FOR  REASON
blocked   ledger/10_rounding  review  codex gpt-5.6-sol  a02  14m  needs you: user-review: 2 open decisions, USER_REVIEW.md:12
PROBLEM   agent-task/ledger/reader/PLAN-cloud-G07.md  folder name is not NN_slug  (see: validate)
`)
}

func TestStatusTextColour(t *testing.T) {
	text := statusText(ledger(), StatusView{Columns: 80, Language: "en", Zone: time.UTC, Paint: true, All: true})
	for _, want := range []string{"\x1b[31mblocked\x1b[0m   ledger/10", "\x1b[32mcomplete\x1b[0m  ledger/01", "\x1b[31mPROBLEM\x1b[0m   agent"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\x1b["); n != 10 {
		t.Errorf("%d colour codes, want only those of state words", n)
	}
}

func TestStatusTextEmpty(t *testing.T) {
	doc := spec.StatusDoc{GeneratedAt: at("01:02:03"), Workspace: "/src/new"}
	same(t, statusText(doc, StatusView{Language: "en", Zone: time.UTC}), "new · no drover runs · 0 of 0 complete · 01:02:03\n\nno tasks\n")
	same(t, statusText(doc, StatusView{Language: "ko", Zone: time.UTC}), "new · 실행 중인 drover 없음 · 0개 중 0개 완료 · 01:02:03\n\n작업 없음\n")
}

func TestExplainText(t *testing.T) {
	ended := at("03:14:07")
	e := Explanation{
		At: at("09:00:00"),
		Row: spec.Row{
			Task: "ledger/09+07_report", State: spec.StateWaiting, File: "agent-task/ledger/09+07_report/PLAN-cloud-G05.md",
			Reason: &spec.Reason{
				Code: spec.PredecessorIncomplete, Detail: "07 has no complete.log",
				Looked: []string{"in agent-task/ledger/07+05_fx_rates/", "in the archive, ledger/07+05_fx_rates"},
			},
			Do: []spec.Do{
				{Argv: []string{"drover", "logs", "07", "--attempt", "9"}, Changes: "read the last failure"},
				{Argv: []string{"drover", "retry", "07"}, Changes: "ten new attempts, once the cause is mended"},
			},
		},
		On: []Blocker{{
			Row: spec.Row{
				Task: "ledger/07+05_fx_rates", State: spec.StateBlocked,
				Reason: &spec.Reason{Code: spec.FailureBudget, Detail: "worker, 10 of 10"},
			},
			Last: &LastAttempt{Attempt: "a09", Ended: ended, Seconds: 131, Exit: 1, Class: spec.ClassGenericError, Locator: "/r/locator.json"},
		}},
		Next: `nothing, until 07 is complete. Then: worker, agy "Gemini 3.5 Flash (High)"`,
	}
	same(t, explainText(e, "en", time.UTC), `
ledger/09+07_report is waiting · agent-task/ledger/09+07_report/PLAN-cloud-G05.md
because
  predecessor-incomplete: 07 has no complete.log
    in agent-task/ledger/07+05_fx_rates/
    in the archive, ledger/07+05_fx_rates
  and ledger/07+05_fx_rates is blocked: failure-budget: worker, 10 of 10
    last a09, ended 03:14:07 after 2m11s, exit 1, class generic-error
    locator /r/locator.json
next     nothing, until 07 is complete. Then: worker, agy "Gemini 3.5 Flash (High)"
you can  drover logs 07 --attempt 9    read the last failure
         drover retry 07               ten new attempts, once the cause is mended
rule     seed 003, dependencies; drover help reasons
`)
}

func TestRunEndText(t *testing.T) {
	e := RunEnd{
		Status: spec.StatusDoc{Tasks: []spec.Row{
			{Task: "l/01_a", State: spec.StateComplete},
			{
				Task: "l/07_fx", State: spec.StateBlocked, Locator: "/runs/x/locator.json",
				Reason: &spec.Reason{Code: spec.FailureBudget, Detail: "worker, 10 of 10"},
				Do:     []spec.Do{{Argv: []string{"drover", "retry", "l/07_fx"}}},
			},
			{
				Task: "l/09+07_r", State: spec.StateWaiting, WaitsFor: []string{"l/07_fx"},
				Reason: &spec.Reason{Code: spec.PredecessorBlocked, Detail: "07 is blocked"},
			},
		}},
		Took: 12*time.Minute + 4*time.Second, Attempts: 31,
		Usage: spec.Usage{InputTokens: 1_150_000, OutputTokens: 50_000, CostUSD: 4.554},
	}
	same(t, runEndText(e, "en"), `
complete 1
  l/01_a
blocked 1
  l/07_fx  failure-budget: worker, 10 of 10
    locator /runs/x/locator.json
    resume drover retry l/07_fx
waiting 1
  l/09+07_r  predecessor-blocked: 07 is blocked (for l/07_fx)
run by another drover 0
ended after 12m4s · 31 attempts · 1.2M tokens · ≥$4.55
`)
	if strings.Contains(runEndText(e, "en"), "success") {
		t.Error("a drain with blockers must not speak of success")
	}
}

func TestBanner(t *testing.T) {
	loc := &spec.Locator{
		CLI: "pi", Model: "iop/ornith-fast", Effort: "high",
		Plan: "/w/agent-task/g/03+01_x/PLAN-local-G05.md", WorkLog: "/w/agent-task/g/WORK_LOG.md",
	}
	n := reconcile.Notice{
		Key: reconcile.TaskStarted, Task: spec.Task{ID: spec.TaskID{Name: "g/03+01_x"}}, Role: "worker",
		Attempt: "a00", Locator: loc, Dir: "/w/.git/runs/r",
	}
	same(t, noticeBanner(n).Text("ko"), `
------------------------------------------
작업시작: g/03+01_x
------------------------------------------
model=pi/iop/ornith-fast
plan=/w/agent-task/g/03+01_x/PLAN-local-G05.md
work_log=/w/agent-task/g/WORK_LOG.md
locator=/w/.git/runs/r/locator.json
[03+01_x][worker][a00] ...

`)
	same(t, noticeBanner(n).OneLine("en", false),
		"task started: g/03+01_x model=pi/iop/ornith-fast plan=/w/agent-task/g/03+01_x/PLAN-local-G05.md "+
			"work_log=/w/agent-task/g/WORK_LOG.md locator=/w/.git/runs/r/locator.json [03+01_x][worker][a00] ...\n")

	n = reconcile.Notice{
		Key: reconcile.AttemptFailed, Task: n.Task, Role: "worker", Attempt: "a00", Dir: n.Dir, Text: "generic-error; 1 in a row", Next: "a new session",
		Locator: &spec.Locator{FailureClass: spec.ClassGenericError, FailureSource: spec.SourceAgentExit, TerminationInitiator: "agent", DispatcherPID: 10, AgentPID: 12, DispatcherSourceMatchesLoaded: true},
	}
	same(t, noticeBanner(n).Text("ko"), `
failure_class=generic-error
failure_source=agent-exit
provider_transport_failure_confirmed=false
termination_initiator=agent
dispatcher_pid=10
agent_pid=12
dispatcher_source_matches_loaded=true
locator=/w/.git/runs/r/locator.json
next=a new session
[03+01_x][worker][a00] generic-error; 1 in a row

`)
	if line := noticeBanner(n).OneLine("ko", true); !strings.HasPrefix(line, "<4>attempt-failed: g/03+01_x failure_class=generic-error ") {
		t.Errorf("journal line %q", line)
	}
	n = reconcile.Notice{Key: reconcile.TaskBlocked, Task: n.Task, Reason: spec.Reason{Code: spec.FailureBudget, Detail: "worker, 10 of 10", Resume: "drover retry g/03+01_x"}}
	same(t, noticeBanner(n).Text("en"), `
------------------------------------------
task blocked: g/03+01_x
------------------------------------------
reason=failure-budget: worker, 10 of 10
resume=drover retry g/03+01_x

`)
}

func TestEventWords(t *testing.T) {
	// The seed's seventeen and those of the other dialects (COMMANDS 5).
	ko := "작업시작 자가검증시작 리뷰시작 리뷰재시도 Pi복구재시도 Pi세션연속재시작 세션응답복구재시도 세션연결재시도 작업완료 웨이브시작 병합완료 쿼터대기 " +
		"모델승격 모델응답점검 로그보완재시도 리뷰결과 루프정체경고 작업대기 작업차단 디스패치추적대기 승인대기 웨이브완료 병합충돌 작업중지"
	keys := "task-started selfcheck-started review-started review-retried pi-recovery-retried pi-session-resumed stalled-session-retried session-connection-retried task-complete wave-started merged quota-wait " +
		"model-promoted silence-inspected record-completion-retried review-result no-progress-warning task-waiting task-blocked following-another-drover gate-opened wave-finished merge-conflict stopped-by-person"
	words := strings.Fields(ko)
	for i, key := range strings.Fields(keys) {
		if got := eventWord(key, "ko"); got != words[i] {
			t.Errorf("%s: %q, want %q", key, got, words[i])
		}
	}
}

func TestCells(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "완료": 4, "ｆｕ": 4, "e\u0301": 1, "a\tb": 2, "·≥": 2} {
		if got := cells(text); got != want {
			t.Errorf("cells(%q) = %d, want %d", text, got, want)
		}
	}
	if got := clean("a\x1b[31mb\nc\u202ed"); got != "a[31mb cd" {
		t.Errorf("clean: %q", got)
	}
}

func TestMoney(t *testing.T) {
	for _, tt := range []struct {
		usage spec.Usage
		want  string
	}{
		{spec.Usage{}, "?"},
		{spec.Usage{CostUSD: 1.5, CostKnown: true}, "$1.50"},
		{spec.Usage{CostKnown: true}, "$0.00"},
		{spec.Usage{CostUSD: 1.5, CostKnown: true}.Add(spec.Usage{InputTokens: 5}), "≥$1.50"},
	} {
		if got := money(tt.usage); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.usage, got, tt.want)
		}
	}
}

func TestLastAttemptIsTheNewest(t *testing.T) {
	run := func(name string, ended time.Time) spec.Run {
		return spec.Run{State: spec.RunEnded, Locator: spec.Locator{Attempt: name}, Exit: spec.Exit{EndedAt: ended}, Dir: "/r/" + name}
	}
	runs := []spec.Run{
		run("g.t__p0__review__a00", at("10:00:02")), run("g.t__p0__review__a01", at("10:00:03")),
		run("g.t__p0__worker__a00", at("10:00:01")),
		{State: spec.RunRunning},
	}
	if got := lastAttempt(runs); got == nil || got.Locator != "/r/g.t__p0__review__a01/locator.json" {
		t.Errorf("last is %+v", got)
	}
	same(t, strings.Join(attemptFlags("/r/g.t__p0__review__a01/locator.json"), " "), "--role review --attempt 1")
}
