package fsstate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

func memory() *spec.Memory {
	m := spec.NewMemory()
	m.Groups["ledger"] = &spec.Group{
		Orchestration: "blocked", Tasks: map[string]string{"ledger/01_a": "blocked", "ledger/02+01_b": "waiting"},
		Baseline: map[string][]string{"ledger/01_a": {"agent-task/archive/2026/05/ledger/01_a"}, "ledger/02+01_b": {}},
	}
	m.Records[spec.TaskID{Dialect: "agent-task", Name: "ledger/01_a"}] = &spec.Record{
		Generation: spec.Generation{Plan: 2, Tag: "A|B"}, Unit: "agent-task/ledger/01_a", State: "blocked",
		Stages: map[spec.Role]spec.StageRecord{spec.RoleWorker: {Done: true}, spec.RoleReview: {Transport: 10, FoldedThrough: "a09", Rung: 1}},
		Block:  &spec.Block{Reason: spec.Reason{Code: spec.FailureBudget, Locator: "/x"}, Role: spec.RoleReview, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Rounds: 3, Attempts: 14,
	}
	m.Records[spec.TaskID{Dialect: "issues", Name: "MASTER-001/WORK-001-1"}] = &spec.Record{Unit: "m", Held: &spec.Hold{By: "me", Was: "pending"}}
	m.Records[spec.TaskID{Dialect: "agent-task", Name: "issues:odd|1|x"}] = &spec.Record{Generation: spec.Generation{Plan: 1, Tag: "x"}}
	m.Stopped["claude"] = spec.Reason{Code: spec.RouteStopped, Detail: "not signed in"}
	return m
}

func TestMemoryRoundTrip(t *testing.T) {
	for name, m := range map[string]*spec.Memory{"empty": spec.NewMemory(), "full": memory()} {
		text, err := encodeMemory(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeMemory("state.json", text)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s: got %+v, %v\nfrom %s", name, got, err, text)
		}
	}
	text, _ := encodeMemory(memory())
	for _, part := range []string{
		`"version":1`, `"groups":{"ledger":{"orchestration":"blocked"`, `"baseline_archives":{`, `"tasks":{`,
		`"ledger/01_a|2|A|B":{`, `"issues:MASTER-001/WORK-001-1|0|":{"dialect":"issues"`, `"waves":{}`, `"timers":{}`, `"stopped_routes":{"claude"`,
	} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

// CASES 14: state is refused, named, never reset.
func TestTornState(t *testing.T) {
	whole, err := encodeMemory(memory())
	if err != nil {
		t.Fatal(err)
	}
	half := whole[:len(whole)/2]
	tests := []struct {
		name, text string
		offset     int64
	}{
		{"half", string(half), int64(len(half))},
		{"all but the last brace", string(whole[:len(whole)-2]), int64(len(whole) - 2)},
		{"empty", "", 0},
		{"blank", " \n\n", 0},
		{"nul-filled", strings.Repeat("\x00", 4096), 0},
		{"zeroed behind", string(half) + strings.Repeat("\x00", 100), int64(len(half))},
		{"a list", "[]", 0},
		{"a string", `  "x"`, 2},
		{"null", "null", 0},
		{"a number", "1", 0},
		{"groups of the wrong type", `{"version":1,"groups":[]}`, -1},
		{"a task of the wrong type", `{"version":1,"tasks":{"a|0|":7}}`, -1},
		{"no version", `{"groups":{}}`, 0},
		{"a newer version", `{"version":2}`, 0},
		{"a version of the wrong type", `{"version":"1"}`, -1},
		{"two texts", string(whole) + string(whole), int64(len(whole))},
		{"a task without a record", `{"version":1,"tasks":{"a|0|":null}}`, 0},
		{"a key that is not its generation", `{"version":1,"tasks":{"a|1|":{"generation":{"plan":2,"tag":""}}}}`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.json")
			put(t, path, tt.text)
			j := OpenJournal(dir, Disk{}, time.Now)
			_, err := j.Load(t.Context())
			var torn *TornStateError
			if !errors.As(err, &torn) || torn.Path != path {
				t.Fatalf("got %v", err)
			}
			if tt.offset >= 0 && torn.Offset != tt.offset {
				t.Errorf("byte %d, want %d (%v)", torn.Offset, tt.offset, err)
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "refusing to run; see: drover help files") {
				t.Errorf("says %v", err)
			}
			if err := j.Save(t.Context(), memory()); !errors.As(err, &torn) {
				t.Errorf("saved over it: %v", err)
			}
			if textOf(t, path) != tt.text {
				t.Error("the torn file was changed")
			}
		})
	}
	// A folder, or a file we may not read, is torn too, never empty.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "state.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	var torn *TornStateError
	if _, err := OpenJournal(dir, Disk{}, time.Now).Load(t.Context()); !errors.As(err, &torn) {
		t.Errorf("a folder: %v", err)
	}
}

func TestSave(t *testing.T) {
	everyPrefix(t,
		func(t *testing.T, dir string) {
			if err := OpenJournal(dir, Disk{}, time.Now).Save(t.Context(), spec.NewMemory()); err != nil {
				t.Fatal(err)
			}
		},
		func(dir string, d Disk) error { return OpenJournal(dir, d, time.Now).Save(t.Context(), memory()) },
		func(t *testing.T, dir string, final bool) {
			m, err := OpenJournal(dir, Disk{}, time.Now).Load(t.Context())
			if err != nil || final && len(m.Records) != 3 {
				t.Fatalf("got %+v, %v", m, err)
			}
		})

	dir := t.TempDir()
	writes := 0
	j := OpenJournal(dir, Disk{Seam: func(op spec.Op, _ string) error {
		if op == spec.OpWrite {
			writes++
		}
		return nil
	}}, time.Now)
	if m, err := j.Load(t.Context()); err != nil || len(m.Records) != 0 {
		t.Fatalf("a missing file: %+v, %v", m, err)
	}
	for range 3 {
		if err := j.Save(t.Context(), memory()); err != nil {
			t.Fatal(err)
		}
	}
	if writes != 1 {
		t.Errorf("%d writes of one content", writes)
	}
}

func FuzzDecodeMemory(f *testing.F) {
	whole, err := encodeMemory(memory())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"version":1,"tasks":{"issues:a|0|":{"dialect":"issues"},"a|0|":{}}}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := decodeMemory("state.json", text)
		if err != nil {
			var torn *TornStateError
			if !errors.As(err, &torn) || torn.Offset < 0 || torn.Offset > int64(len(text)) {
				t.Fatalf("got %v", err)
			}
			return
		}
		again, err := encodeMemory(m)
		if err != nil {
			t.Skip() // a time that JSON cannot hold
		}
		if _, err := decodeMemory("state.json", again); err != nil {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
	})
}

// tenThousand is the memory of a workspace in which all tasks wait.
func tenThousand() *spec.Memory {
	m := spec.NewMemory()
	for g := range 100 {
		group := &spec.Group{Orchestration: "active", Dialect: "agent-task", Root: "agent-task", Tasks: map[string]string{}}
		for n := range 100 {
			group.Tasks[fmt.Sprintf("group%02d/%02d_some_task_name", g, n)] = "waiting"
		}
		m.Groups[fmt.Sprintf("group%02d", g)] = group
	}
	return m
}

func BenchmarkLoadMemory(b *testing.B) {
	dir := b.TempDir()
	j := OpenJournal(dir, Disk{}, time.Now)
	if err := j.Save(b.Context(), tenThousand()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if m, err := j.Load(b.Context()); err != nil || len(m.Groups) != 100 {
			b.Fatal(err)
		}
	}
}

func BenchmarkSaveUnchanged(b *testing.B) {
	j := OpenJournal(b.TempDir(), Disk{}, time.Now)
	m := tenThousand()
	for b.Loop() {
		if err := j.Save(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}
