package shim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drover/launcher/agent"
	"drover/spec"

	"pgregory.net/rapid"
)

// collector is a reader that keeps what it is given.
type collector struct{ bytes.Buffer }

func (c *collector) Status() agent.Status               { return agent.Status{} }
func (c *collector) Finish(agent.End) (o agent.Outcome) { return o }

func newLogs(t interface {
	TempDir() string
	Fatal(...any)
}, logCap int64,
) (*logs, *os.File) {
	dir := t.TempDir()
	loc := spec.Locator{StreamLog: filepath.Join(dir, "s"), StderrLog: filepath.Join(dir, "e"), Limits: spec.ShimLimits{LogCap: logCap}}
	w, err := os.OpenFile(loc.StreamLog, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(loc.StderrLog, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openLogs(nil, loc)
	if err != nil {
		t.Fatal(err)
	}
	return l, w
}

// However the agent writes and whenever the shim reads, the reader gets every
// byte once and in order.
func TestFeedGivesEverything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, w := newLogs(t, 0)
		defer w.Close()
		var want bytes.Buffer
		var got collector
		for range rapid.IntRange(1, 8).Draw(rt, "writes") {
			part := strings.Repeat(rapid.StringMatching(`[a-c\n]{0,40}`).Draw(rt, "part"), rapid.IntRange(0, 1000).Draw(rt, "times"))
			want.WriteString(part)
			if _, err := w.WriteString(part); err != nil {
				rt.Fatal(err)
			}
			l.stream.look()
			if rapid.Bool().Draw(rt, "read") {
				if err := l.stream.feed(&got, func(agent.Status) {}); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := l.stream.feed(&got, func(agent.Status) {}); err != nil {
			rt.Fatal(err)
		}
		if got.String() != want.String() {
			rt.Fatalf("got %d bytes, want %d", got.Len(), want.Len())
		}
		if l.stream.truncated {
			rt.Fatal("growth was taken for a cut")
		}
	})
}

// A hole that comes before the reader leaves whole lines on both sides of it.
func TestFeedAcrossHole(t *testing.T) {
	const logCap = 1 << 20
	l, w := newLogs(t, logCap)
	defer w.Close()
	var got collector
	line := func(n int) string { return fmt.Sprintf("line %08d %s\n", n, strings.Repeat("x", 100)) }
	n := 0
	write := func(lines int) {
		for range lines {
			if _, err := w.WriteString(line(n)); err != nil {
				t.Fatal(err)
			}
			n++
		}
		l.stream.look()
		if err := l.trim(l.stream); err != nil {
			t.Fatal(err)
		}
	}
	write(100)
	if err := l.stream.feed(&got, func(agent.Status) {}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		write(2000)
	}
	if l.stream.hole == 0 || allocated(l.stream.file) > logCap {
		t.Fatalf("hole to %d, %d on disk", l.stream.hole, allocated(l.stream.file))
	}
	if err := l.stream.feed(&got, func(agent.Status) {}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
	for _, text := range lines {
		if text != "" && len(text)+1 != len(line(0)) {
			t.Fatalf("half a line: %q", text)
		}
	}
	if last := lines[len(lines)-1] + "\n"; last != line(n-1) {
		t.Errorf("the last line is %q", last)
	}
	if !slices.Contains(lines, strings.TrimSpace(line(99))) {
		t.Error("what was read before the hole is gone")
	}
}

func TestCutIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(path string) error
		want   bool
	}{
		{"grows", func(p string) error { return appendTo(p, "more\n") }, false},
		{"shrinks", func(p string) error { return os.Truncate(p, 3) }, true},
		{"is written anew, longer", func(p string) error { return os.WriteFile(p, []byte("other beginning and more\n"), 0o600) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, w := newLogs(t, 0)
			defer w.Close()
			if _, err := w.WriteString("the beginning\n"); err != nil {
				t.Fatal(err)
			}
			l.stream.look()
			if err := tt.change(l.stream.path); err != nil {
				t.Fatal(err)
			}
			l.stream.look()
			if l.stream.truncated != tt.want {
				t.Errorf("noticed: %v", l.stream.truncated)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func TestEnviron(t *testing.T) {
	got := environ([]string{"A=1", "B=2", "C=3"}, []string{"B=x", "D=4"})
	if want := []string{"A=1", "C=3", "B=x", "D=4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
