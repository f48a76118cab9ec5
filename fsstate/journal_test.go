package fsstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

var day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func told(n int) spec.Event {
	return spec.Event{At: day.Add(time.Duration(n) * time.Minute), Kind: spec.EventState, Dialect: "agent-task", Task: fmt.Sprintf("g/%02d_t", n%10), Cause: fmt.Sprint(n)}
}

func causes(t *testing.T, j *Journal, since time.Time) string {
	t.Helper()
	var out []string
	for e, err := range j.Events(t.Context(), since) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Cause)
	}
	return strings.Join(out, " ")
}

func tell(t *testing.T, j *Journal, from, to int) {
	t.Helper()
	var events []spec.Event
	for n := from; n < to; n++ {
		events = append(events, told(n))
	}
	if err := j.Append(t.Context(), events, nil); err != nil {
		t.Fatal(err)
	}
}

func TestEvents(t *testing.T) {
	j := OpenJournal(t.TempDir(), Disk{}, time.Now)
	if got := causes(t, j, time.Time{}); got != "" {
		t.Errorf("nothing yet, got %s", got)
	}
	tell(t, j, 0, 3)
	tell(t, j, 3, 5)
	if got := causes(t, j, time.Time{}); got != "0 1 2 3 4" {
		t.Errorf("got %s", got)
	}
	if got := causes(t, j, day.Add(3*time.Minute)); got != "3 4" {
		t.Errorf("since: got %s", got)
	}
	for e := range j.Events(t.Context(), time.Time{}) {
		if e.Version != 1 || !e.At.Equal(day) {
			t.Errorf("got %+v", e)
		}
		break
	}
}

// Wherever a power cut tears the file, what was whole is read and what comes
// later is too.
func TestEventsAfterATornLine(t *testing.T) {
	dir := t.TempDir()
	j := OpenJournal(dir, Disk{}, time.Now)
	tell(t, j, 0, 2)
	path := filepath.Join(dir, "events.jsonl")
	whole := textOf(t, path)
	first := strings.Index(whole, "\n") + 1
	for size := first; size < len(whole)-1; size++ {
		put(t, path, whole[:size])
		if got := causes(t, j, time.Time{}); got != "0" {
			t.Fatalf("cut to %d bytes: %s", size, got)
		}
		tell(t, j, 7, 8)
		if got := causes(t, j, time.Time{}); got != "0 7" {
			t.Fatalf("cut to %d bytes, then told: %s", size, got)
		}
		last, err := j.Last(t.Context(), 5, nil, nil)
		if err != nil || len(last) != 2 || last[1].Cause != "7" {
			t.Fatalf("cut to %d bytes: last %+v, %v", size, last, err)
		}
	}
	put(t, path, whole+strings.Repeat("\x00", 5000)) // a block that was never written
	tell(t, j, 8, 9)
	if got := causes(t, j, time.Time{}); got != "0 1 8" {
		t.Errorf("after zeroes: %s", got)
	}
}

func TestAppendConvergesFromEveryCrash(t *testing.T) {
	rollup := spec.Rollup{Dialect: "agent-task", Task: "g/01_t", CompletedAt: day}
	everyPrefix(t,
		func(*testing.T, string) {},
		func(dir string, d Disk) error {
			return OpenJournal(dir, d, time.Now).Append(t.Context(), []spec.Event{told(1)}, []spec.Rollup{rollup})
		},
		func(t *testing.T, dir string, final bool) {
			j := OpenJournal(dir, Disk{}, time.Now)
			got := causes(t, j, time.Time{})
			if strings.Trim(got, "1 ") != "" || final && got == "" {
				t.Fatalf("events %q", got)
			}
			n := 0
			for r, err := range j.Rollups(t.Context(), time.Time{}) {
				if err != nil || r.Task != rollup.Task {
					t.Fatalf("%+v, %v", r, err)
				}
				n++
			}
			if n > 1 || final && n != 1 {
				t.Fatalf("%d roll-ups", n)
			}
		})
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	j := OpenJournal(dir, Disk{}, func() time.Time { return now })
	j.RotateAt = 200
	for n := range 6 {
		tell(t, j, n, n+1)
	}
	if got := causes(t, j, time.Time{}); got != "0 1 2 3 4 5" {
		t.Errorf("got %s", got)
	}
	numbers, err := rotated(dir)
	if err != nil || len(numbers) < 2 {
		t.Fatalf("put aside: %v, %v", numbers, err)
	}
	last, err := j.Last(t.Context(), 4, nil, nil)
	if err != nil || len(last) != 4 || last[0].Cause != "2" {
		t.Errorf("over files: %+v, %v", last, err)
	}

	// What was put aside too long ago goes at the next rotation, and readers
	// skip files by their times.
	old := filepath.Join(dir, eventsName(numbers[0]))
	long := now.Add(-91 * 24 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if files, err := j.eventFiles(now.Add(-time.Hour)); err != nil || len(files) != len(numbers) {
		t.Errorf("files %v, %v", files, err)
	}
	tell(t, j, 6, 7)
	tell(t, j, 7, 8)
	if exists(old) {
		t.Errorf("%s stays", old)
	}
}

func TestRotationConvergesFromEveryCrash(t *testing.T) {
	everyPrefix(t,
		func(t *testing.T, dir string) { tell(t, OpenJournal(dir, Disk{}, time.Now), 0, 2) },
		func(dir string, d Disk) error {
			j := OpenJournal(dir, d, time.Now)
			j.RotateAt = 200
			return j.Append(t.Context(), []spec.Event{told(2)}, nil)
		},
		func(t *testing.T, dir string, final bool) {
			got := causes(t, OpenJournal(dir, Disk{}, time.Now), time.Time{})
			if !strings.HasPrefix(got, "0 1") || final && !strings.HasPrefix(got, "0 1 2") {
				t.Fatalf("events %q", got)
			}
		})
}

func TestLastOfATask(t *testing.T) {
	j := OpenJournal(t.TempDir(), Disk{}, time.Now)
	tell(t, j, 0, 5000) // several blocks of the backward reader
	id := spec.TaskID{Dialect: "agent-task", Name: "g/03_t"}
	got, err := j.Last(t.Context(), 3, &id, nil)
	if err != nil || len(got) != 3 || got[0].Cause != "4973" || got[2].Cause != "4993" {
		t.Errorf("got %+v, %v", got, err)
	}
	all, err := j.Last(t.Context(), 1<<20, nil, nil)
	if err != nil || len(all) != 5000 || all[0].Cause != "0" || all[4999].Cause != "4999" {
		t.Errorf("%d events, %v", len(all), err)
	}
	one, err := j.Last(t.Context(), 1, &id, func(e spec.Event) bool { return e.Cause < "4" })
	if err != nil || len(one) != 1 || one[0].Cause != "3993" {
		t.Errorf("got %+v, %v", one, err)
	}
	// The halving finds the same as reading everything.
	for _, n := range []int{0, 1, 59, 60, 61, 2500, 4999, 5000} {
		count := 0
		for range j.Events(t.Context(), day.Add(time.Duration(n)*time.Minute)) {
			count++
		}
		if count != 5000-n {
			t.Errorf("since %d: %d events", n, count)
		}
	}
}

func TestRollups(t *testing.T) {
	j := OpenJournal(t.TempDir(), Disk{}, time.Now)
	var rollups []spec.Rollup
	for n := range 4 {
		rollups = append(rollups, spec.Rollup{Dialect: "agent-task", Task: fmt.Sprint(n), CompletedAt: day.AddDate(0, 0, n)})
	}
	for range 2 { // a replay after a crash
		if err := j.Append(t.Context(), nil, rollups); err != nil {
			t.Fatal(err)
		}
	}
	for since, want := range map[time.Time]string{{}: "0123", day: "0123", day.AddDate(0, 0, 2): "23", day.AddDate(0, 1, 0): ""} {
		got := ""
		for r, err := range j.Rollups(t.Context(), since) {
			if err != nil {
				t.Fatal(err)
			}
			got += r.Task
		}
		if got != want {
			t.Errorf("since %v: %s, want %s", since, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("{\"version\":1,\"task\":\"a\"}\n{\"ver"))
	f.Add([]byte("\n\n\x00\x00\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "events.jsonl"), string(text))
		j := OpenJournal(dir, Disk{}, time.Now)
		n := 0
		for _, err := range j.Events(t.Context(), time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		last, err := j.Last(t.Context(), 1<<30, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range last { // events before the zero time are in Last alone
			if e.At.Before(time.Time{}) {
				n++
			}
		}
		if len(last) != n {
			t.Fatalf("forward %d events, backward %d", n, len(last))
		}
	})
}

func BenchmarkLastOfATask(b *testing.B) {
	j := OpenJournal(b.TempDir(), Disk{}, time.Now)
	var events []spec.Event
	for n := range 200_000 {
		events = append(events, told(n))
	}
	if err := j.Append(b.Context(), events, nil); err != nil {
		b.Fatal(err)
	}
	id := spec.TaskID{Dialect: "agent-task", Name: "g/03_t"}
	for b.Loop() {
		if got, err := j.Last(b.Context(), 20, &id, nil); err != nil || len(got) != 20 {
			b.Fatal(err)
		}
	}
}
