package agent

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

// recording is one real run, reduced: see testdata/corpus/README.
type recording struct {
	name, cli               string
	code, signal            int
	stdout, stderr, session []byte
	classes                 []string
}

func recordings(t testing.TB) []recording {
	t.Helper()
	root := filepath.Join("testdata", "corpus")
	var out []recording
	rows := strings.Split(strings.TrimSpace(string(read(t, filepath.Join(root, "labels.tsv")))), "\n")
	for _, row := range rows[1:] {
		cell := strings.Split(row, "\t")
		dir := filepath.Join(root, cell[0], cell[1])
		r := recording{name: cell[0] + "/" + cell[1], classes: strings.Split(cell[3], "|")}
		r.cli, _, _ = strings.Cut(cell[0], "@")
		var err error
		if r.code, r.signal, err = ParseExit(string(read(t, filepath.Join(dir, "exit_code")))); err != nil {
			t.Fatal(err)
		}
		r.stdout = read(t, filepath.Join(dir, "stdout"))
		r.stderr, _ = os.ReadFile(filepath.Join(dir, "stderr"))
		r.session, _ = os.ReadFile(filepath.Join(dir, "session"))
		out = append(out, r)
	}
	return out
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (r recording) classify(t testing.TB, withSession bool) Outcome {
	t.Helper()
	var session io.Reader
	if withSession && r.session != nil {
		session = bytes.NewReader(r.session)
	}
	o, err := NewSet("drover", nil).Classify(r.cli, r.code, r.signal, bytes.NewReader(r.stdout), bytes.NewReader(r.stderr), session, time.Unix(1796070000, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// againstSeed are recordings whose label the seed contradicts: the recorder's
// own SIGTERM ended them and nothing in them tells them from sigterm_midmodel.
// An unexplained SIGTERM is process-terminated (seed 003, failure contract).
func againstSeed(name string) bool {
	switch name {
	case "claude/stall_headers", "claude/stall_headers_bytewatchdog", "claude/stall_headers_watchdog",
		"claude@2.1.332/stall_headers", "claude@2.1.332/stall_headers_watchdog", "claude@2.1.332/defaultretry_stall_headers":
		return true
	}
	return false
}

func TestCorpus(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			if againstSeed(r.name) {
				r.classes = []string{string(spec.ClassProcessTerminated)}
			}
			for _, withSession := range []bool{false, true} {
				o := r.classify(t, withSession)
				if !slices.Contains(r.classes, string(o.Class)) {
					t.Errorf("class %s, want %v (session %v); evidence %+v", o.Class, r.classes, withSession, o.Evidence)
				}
				if o.Success != (o.Class == spec.ClassSuccess) || o.Success == (o.Source != "") {
					t.Errorf("success %v, class %s and source %q do not fit", o.Success, o.Class, o.Source)
				}
				if o.ProviderConfirmed != transport(o.Class) {
					t.Errorf("provider confirmed %v for %s", o.ProviderConfirmed, o.Class)
				}
				if o.Evidence.Source == "" || len(o.Evidence.Excerpt) > 500 {
					t.Errorf("evidence %+v", o.Evidence)
				}
				if o.Success && (o.FinalMessage == "" || o.Usage.InputTokens == 0 || o.Usage.OutputTokens == 0) {
					t.Errorf("a success without message or usage: %q %+v", o.FinalMessage, o.Usage)
				}
				if o.SessionID == "" && len(r.stdout) > 0 {
					t.Error("no session id")
				}
			}
		})
	}
}

// Stalled runs are drover's own doing where the program said nothing.
func TestCorpusStalled(t *testing.T) {
	for _, r := range recordings(t) {
		if !strings.Contains(r.name, "stall") || !killed(End{Code: r.code, Signal: r.signal}) {
			continue
		}
		cli, _ := NewSet("drover", nil).Lookup(r.cli)
		reader := cli.Reader()
		_, _ = reader.Write(r.stdout)
		o := reader.Finish(End{Code: r.code, Signal: r.signal, EndedBy: "dispatcher", Stalled: true})
		if o.Class != spec.ClassSessionStall || o.Source != spec.SourceTimeout || o.ProviderConfirmed {
			t.Errorf("%s: %s from %s", r.name, o.Class, o.Source)
		}
	}
}

// The order and size of writes changes nothing, nor does what is not JSON
// between the lines, nor unknown events.
func TestCorpusChunks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range recordings(t) {
		want := r.classify(t, false)
		cli, _ := NewSet("drover", nil).Lookup(r.cli)
		reader := cli.Reader()
		noisy := bytes.ReplaceAll(r.stdout, []byte("\n"), []byte("\r\nnpm warn {not json: 429 quota\n{\"type\":\"new.event\",\"n\":[1,{}]}\n\n"))
		for len(noisy) > 0 {
			n := 1 + random.IntN(min(len(noisy), 700))
			_, _ = reader.Write(noisy[:n])
			noisy = noisy[n:]
		}
		got := reader.Finish(End{Code: r.code, Signal: r.signal, Stderr: r.stderr, Now: time.Unix(1796070000, 0).UTC()})
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", r.name, got, want)
		}
	}
}

// A success whose last line was lost is no success.
func TestCorpusWithoutLastLine(t *testing.T) {
	for _, r := range recordings(t) {
		if r.cli == "pi" || !slices.Contains(r.classes, "success") {
			continue
		}
		lines := bytes.SplitAfter(bytes.TrimSpace(r.stdout), []byte("\n"))
		r.stdout = bytes.Join(lines[:len(lines)-1], nil)
		cli, _ := NewSet("drover", nil).Lookup(r.cli)
		reader := cli.Reader()
		_, _ = reader.Write(r.stdout)
		if o := reader.Finish(End{Truncated: true}); o.Success || o.Class == spec.ClassSuccess {
			t.Errorf("%s is a success", r.name)
		}
	}
}

// A success with error words in tool output and on stderr stays one.
func TestErrorWordsOfTools(t *testing.T) {
	words := []byte("ERROR: You exceeded your current quota\nError: 401 Unauthorized\nAPI Error: 529 overloaded\nError when talking to Gemini API 429\n")
	for _, r := range recordings(t) {
		if !slices.Contains(r.classes, "success") {
			continue
		}
		r.stderr = append(slices.Clone(r.stderr), words...)
		if o := r.classify(t, true); !o.Success {
			t.Errorf("%s: %s by %+v", r.name, o.Class, o.Evidence)
		}
	}
}

func TestToolWindows(t *testing.T) {
	for _, r := range recordings(t) {
		midTool := strings.Contains(r.name, "midtool") && r.cli != "opencode" // tells of a call when it is over
		if r.name == "claude/sigterm_midtool_late" || r.name == "claude@2.1.332/sigterm_group_midtool" {
			midTool = false // it let the tool end first
		}
		cli, _ := NewSet("drover", nil).Lookup(r.cli)
		reader := cli.Reader()
		_, _ = reader.Write(r.stdout)
		if st := reader.Status(); st.InTool != midTool {
			t.Errorf("%s: in a tool %v, want %v", r.name, st.InTool, midTool)
		}
		if st := reader.Status(); st.ControlViolation != "" {
			t.Errorf("%s: violation %q", r.name, st.ControlViolation)
		}
	}
}
