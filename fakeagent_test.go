package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"drover/spec/markdown"
)

// A fake agent acts out $FAKE/rules, a JSON list; the first rule that matches
// decides what it does. Without one it does what its role asks and succeeds.
// Every start and end is a line of $FAKE/ledger.
type fakeRule struct {
	CLI, Role, Task string // globs; "" matches all
	Nth             int    // only this start of the task's role, from 1
	// What it does, in this order.
	Sh      string // a command, in its folder
	Spawn   string // a command in a session of its own, left behind
	Wait    string // until this file exists, below $FAKE
	Verdict string // of a review, instead of PASS
	Idle    bool   // leave the files as they are
	Error   string // end with this failure: quota, auth, context
	Exit    int    // end with this code, without a terminal event
}

type fake struct {
	cli, dir, role, task, doc string
	rule                      fakeRule
}

// fakeAgent is the program behind codex, claude, agy and pi in the scripts.
func fakeAgent() {
	if len(os.Args) > 1 && (os.Args[1] == "--version" || os.Args[1] == "login") {
		fmt.Println("1.0.0")
		return
	}
	f := fake{
		cli: filepath.Base(os.Args[0]), dir: os.Getenv("FAKE"),
		role: os.Getenv("DROVER_ROLE"), task: os.Getenv("DROVER_TASK"), doc: os.Getenv("DROVER_DOC"),
	}
	f.ledger("start")
	f.choose()
	f.say("begin", "")
	code := f.act()
	f.ledger("end")
	os.Exit(code)
}

func (f *fake) ledger(event string) {
	line := fmt.Sprintf("%s %s %s %s %s pid=%d argv=%q\n", event, f.cli, f.task, f.role,
		shortName(os.Getenv("DROVER_ATTEMPT")), os.Getpid(), os.Args[len(os.Args)-1])
	w, err := os.OpenFile(filepath.Join(f.dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fakeFail(err)
	}
	defer w.Close()
	if _, err := w.WriteString(line); err != nil {
		fakeFail(err)
	}
}

func shortName(attempt string) string { return attempt[strings.LastIndex(attempt, "__")+2:] }

func fakeFail(err error) {
	fmt.Fprintln(os.Stderr, "fake agent:", err)
	os.Exit(70)
}

// choose finds the rule of this start.
func (f *fake) choose() {
	text, err := os.ReadFile(filepath.Join(f.dir, "rules"))
	if os.IsNotExist(err) {
		return
	}
	var rules []fakeRule
	if err == nil {
		err = json.Unmarshal(text, &rules)
	}
	if err != nil {
		fakeFail(err)
	}
	ledger, err := os.ReadFile(filepath.Join(f.dir, "ledger"))
	if err != nil {
		fakeFail(err)
	}
	nth := strings.Count(string(ledger), fmt.Sprintf("start %s %s %s ", f.cli, f.task, f.role))
	for _, r := range rules {
		if globs(r.CLI, f.cli) && globs(r.Role, f.role) && globs(r.Task, f.task) && (r.Nth == 0 || r.Nth == nth) {
			f.rule = r
			return
		}
	}
}

func globs(pattern, s string) bool {
	ok, err := doublestar.Match(pattern, s)
	return pattern == "" || err == nil && ok
}

// act does what the rule and the role ask; the answer is the exit code.
func (f *fake) act() int {
	r := f.rule
	if r.Sh != "" {
		f.shell(r.Sh, false)
	}
	if r.Spawn != "" {
		f.shell(r.Spawn, true)
	}
	if r.Wait != "" {
		await(filepath.Join(f.dir, r.Wait))
	}
	switch {
	case r.Exit != 0:
		return r.Exit
	case r.Error != "":
		f.say("error", r.Error)
		return 1
	case r.Idle:
	case f.role == "review":
		f.review(or(r.Verdict, "PASS"))
	default:
		f.work()
	}
	f.say("end", "done")
	return 0
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func await(path string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

func (f *fake) shell(command string, apart bool) {
	c := exec.Command("sh", "-c", command)
	if !apart {
		if err := c.Run(); err != nil {
			fakeFail(err)
		}
		return
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		fakeFail(err)
	}
}

// say prints an event of the program's own format.
func (f *fake) say(event, text string) {
	const id = "01a22e20-d40b-7cb0-84cc-2e1dc7e62112"
	quota := map[string]string{
		"codex": `{"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan and billing details."}}`,
		"claude": `{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"You've hit your session limit"}]},"error":"rate_limit"}` + "\n" +
			`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit","session_id":"` + id + `"}`,
		"agy": `{"event":"result","result":{"conversation_id":"` + id + `","status":"ERROR","error":"RESOURCE_EXHAUSTED: Individual quota reached."}}`,
		"pi":  `{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429 You exceeded your current quota"}}`,
	}
	auth := map[string]string{
		"codex": `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key provided"}}`,
	}
	lines := map[string][2]string{
		"codex":  {`{"type":"thread.started","thread_id":"` + id + `"}`, `{"type":"turn.completed","usage":{"input_tokens":30,"output_tokens":6}}`},
		"claude": {`{"type":"system","subtype":"init","session_id":"` + id + `"}`, `{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.01,"usage":{"input_tokens":30,"output_tokens":6},"session_id":"` + id + `"}`},
		"pi":     {`{"type":"session","version":3,"id":"` + id + `"}`, `{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop","usage":{"input":30,"output":6}}}`},
		"agy":    {`{"event":"init","conversation_id":"` + id + `"}`, `{"event":"result","result":{"conversation_id":"` + id + `","status":"SUCCESS","response":"done","usage":{"input_tokens":30,"output_tokens":6}}}`},
	}[f.cli]
	switch event {
	case "begin":
		fmt.Println(lines[0])
	case "end":
		fmt.Println(lines[1])
	case "error":
		fmt.Println(map[string]map[string]string{"quota": quota, "auth": auth}[text][f.cli])
	}
}

// files are the task's folder, and its pair's slot and generation.
func (f *fake) pair() (dir, plan, review, slot, head string, k int) {
	dir = filepath.Dir(f.doc)
	reviews, _ := filepath.Glob(filepath.Join(dir, "CODE_REVIEW*.md"))
	if len(reviews) != 1 {
		fakeFail(fmt.Errorf("%d reviews in %s", len(reviews), dir))
	}
	review = reviews[0]
	slot = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(review), "CODE_REVIEW"), ".md")
	text, err := os.ReadFile(review)
	if err != nil {
		fakeFail(err)
	}
	head, _, _ = strings.Cut(string(text), "\n")
	_, rest, _ := strings.Cut(head, "plan=")
	number, _, _ := strings.Cut(rest, " ")
	k, _ = strconv.Atoi(number)
	return dir, filepath.Join(dir, "PLAN"+slot+".md"), review, slot, head, k
}

// work fills in the review file, as a worker or a selfcheck is to.
func (f *fake) work() {
	_, _, review, _, _, _ := f.pair()
	text, err := os.ReadFile(review)
	if err != nil {
		fakeFail(err)
	}
	s := strings.NewReplacer("- [ ]", "- [x]", "| [ ] |  |", "| [x] | done |").Replace(string(text))
	for _, name := range []string{"deviations", "decisions", "results"} {
		for _, title := range markdown.Titles(name) {
			s = strings.Replace(s, "## "+title+"\n\n", "## "+title+"\nfilled in\n\n", 1)
		}
	}
	f.write(review, s)
}

func (f *fake) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		fakeFail(err)
	}
}

func (f *fake) rename(from, to string) {
	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		fakeFail(err)
	}
}

// review gives the verdict and, where the reviewer finalizes, brings the task
// to its next state.
func (f *fake) review(verdict string) {
	dir, plan, review, slot, head, k := f.pair()
	text, err := os.ReadFile(review)
	if err != nil {
		fakeFail(err)
	}
	f.write(review, strings.TrimRight(string(text), "\n")+"\n\n## Code review result\n\n- Verdict: "+verdict+"\n- found by the fake\n")
	if os.Getenv("DROVER_FINALIZE") == "drover" {
		return
	}
	log := strings.ReplaceAll(slot, "-", "_")
	old, err := os.ReadFile(plan)
	if err != nil {
		fakeFail(err)
	}
	f.rename(plan, fmt.Sprintf("%s/plan%s_%d.log", dir, log, k))
	f.rename(review, fmt.Sprintf("%s/code_review%s_%d.log", dir, log, k))
	if verdict == "PASS" {
		f.write(dir+"/complete.log", head+"\nverdict=PASS\ncompleted_at=2026-06-01T10:00:00Z\n")
		f.archive(dir)
		return
	}
	next := strings.Replace(head, fmt.Sprintf("plan=%d", k), fmt.Sprintf("plan=%d", k+1), 1)
	_, body, _ := strings.Cut(string(old), "\n")
	f.write(plan, next+"\n"+body)
}

// archive moves a passed task away; of a group that is one task, all but its
// work log.
func (f *fake) archive(dir string) {
	root := strings.TrimSuffix(dir, "/"+f.task)
	to := filepath.Join(root, "archive/2026/06", f.task)
	if strings.Contains(f.task, "/") {
		f.rename(dir, to)
		return
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		if name := filepath.Base(file); name != "WORK_LOG.md" {
			f.rename(file, filepath.Join(to, name))
		}
	}
}
