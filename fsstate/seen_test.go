package fsstate

import (
	"context"
	"os"
	"testing"
	"time"

	"drover/spec"
)

func TestSeenIsAFoldOverEvents(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	at := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	j := OpenJournal(dir, Disk{}, func() time.Time { return at })
	a, b := spec.TaskID{Dialect: "agent-task", Name: "g/01_a"}, spec.TaskID{Dialect: "agent-task", Name: "g/02_b"}
	state := func(id spec.TaskID, s spec.State, r *spec.Reason) spec.Event {
		return spec.Event{At: at, Kind: spec.EventState, Dialect: id.Dialect, Task: id.Name, To: s, Reason: r}
	}
	tell := func(es ...spec.Event) {
		t.Helper()
		if err := j.Append(ctx, es, nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want map[spec.TaskID]spec.State) {
		t.Helper()
		seen, err := j.Seen(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != len(want) {
			t.Fatalf("seen %v, want %v", seen, want)
		}
		for id, s := range want {
			if seen[id].State != s {
				t.Errorf("%s is %s, want %s", id, seen[id].State, s)
			}
		}
	}
	check(nil)
	tell(state(a, spec.StateRunning, nil), state(b, spec.StateWaiting, &spec.Reason{Code: spec.PredecessorIncomplete}))
	check(map[spec.TaskID]spec.State{a: spec.StateRunning, b: spec.StateWaiting})
	seen, _ := j.Seen(ctx)
	if seen[b].Code != spec.PredecessorIncomplete || !seen[b].Since.Equal(at) {
		t.Errorf("the reason or the time is lost: %+v", seen[b])
	}
	if err := j.SaveSeen(ctx, seen); err != nil {
		t.Fatal(err)
	}
	tell(state(a, spec.StateComplete, nil))
	check(map[spec.TaskID]spec.State{a: spec.StateComplete, b: spec.StateWaiting})
	tell(spec.Event{At: at, Kind: spec.EventRequest, Dialect: b.Dialect, Task: b.Name, Cause: "forget"})
	check(map[spec.TaskID]spec.State{a: spec.StateComplete})
	if err := os.WriteFile(j.path(seenName), []byte(seenVersion+"torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(map[spec.TaskID]spec.State{a: spec.StateComplete})
}

func FuzzSeenCache(f *testing.F) {
	f.Add([]byte(seenVersion))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		j := OpenJournal(dir, Disk{}, time.Now)
		if err := os.WriteFile(j.path(seenName), b, 0o644); err != nil {
			t.Fatal(err)
		}
		j.loadSeen()
	})
}
