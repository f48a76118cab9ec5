package fsstate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

// owned is a workspace that this process owns, with its journal.
func owned(t *testing.T) (StateDir, *Journal) {
	t.Helper()
	s := find(t, repo(t), env(t))
	unlock, err := s.Lock(t.Context(), Disk{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unlock() }) // some tests let go earlier
	return s, OpenJournal(s.Path, Disk{}, time.Now)
}

func wish(verb string, n int) spec.Request {
	return spec.Request{Verb: verb, By: "me", At: day.Add(time.Duration(n) * time.Second), Tasks: []spec.TaskID{{Dialect: "agent-task", Name: "g/t"}}}
}

// serve answers requests until it has answered n.
func serve(ctx context.Context, j *Journal, n int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n > 0 {
		requests, err := j.Requests(ctx)
		if err != nil {
			return err
		}
		for _, r := range requests {
			n--
			a := spec.Answer{ID: r.ID, Done: []spec.TaskAnswer{{Task: r.Tasks[0].Name, Changed: true, Message: r.Verb}}}
			if err := j.Answer(ctx, a); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func TestAskAndAnswer(t *testing.T) {
	s, j := owned(t)
	const askers = 8
	served := make(chan error, 1)
	go func() { served <- serve(t.Context(), j, askers) }()
	asked := make(chan error, askers)
	for range askers {
		go func() {
			a, err := s.Ask(t.Context(), Disk{}, wish("stop", 0)) // all of one time and process
			if err == nil && (len(a.Done) != 1 || a.Done[0].Message != "stop") {
				err = errors.New("a wrong answer")
			}
			asked <- err
		}()
	}
	for range askers {
		if err := <-asked; err != nil {
			t.Error(err)
		}
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if left := filesIn(t, filepath.Join(s.Path, "requests")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestAskWithoutAnOwner(t *testing.T) {
	s := find(t, repo(t), env(t))
	if _, err := s.Ask(t.Context(), Disk{}, wish("stop", 0)); !errors.Is(err, ErrNoOwner) {
		t.Errorf("got %v", err)
	}
}

// A request whose asker gave up, or whose owner went away, is withdrawn.
func TestAskWithdraws(t *testing.T) {
	s, j := owned(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Ask(ctx, Disk{}, wish("stop", 0)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if requests, err := j.Requests(t.Context()); err != nil || len(requests) != 0 {
		t.Errorf("still asked: %v, %v", requests, err)
	}

	s = find(t, repo(t), env(t))
	holder, _, end := hold(t, s.Root)
	asked := make(chan error, 1)
	go func() {
		_, err := s.Ask(t.Context(), Disk{}, wish("stop", 0))
		asked <- err
	}()
	waitForFile(t, filepath.Join(s.Path, "requests"))
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	end()
	if err := <-asked; !errors.Is(err, ErrNoOwner) {
		t.Errorf("got %v", err)
	}
	if left := filesIn(t, filepath.Join(s.Path, "requests")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func waitForFile(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no file came: %v", err)
		case <-tick.C:
		}
	}
}

func TestRequestsInOrderAndBadOnesAside(t *testing.T) {
	s, j := owned(t)
	dir := filepath.Join(s.Path, "requests")
	for _, n := range []int{2, 0, 1} {
		if _, err := leave(Disk{}, dir, wish("hold", n)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "x.json"), "{")
	put(t, filepath.Join(dir, "y.json"), `{"version":9,"verb":"stop"}`)
	put(t, filepath.Join(dir, "z.json"), `{"version":1}`)
	put(t, filepath.Join(dir, "big.json"), strings.Repeat(" ", requestSize+1))
	put(t, filepath.Join(dir, ".half.json.drover-tmp-1"), "{")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		requests, err := j.Requests(t.Context())
		if err != nil || len(requests) != 3 {
			t.Fatalf("got %v, %v", requests, err)
		}
		for n, r := range requests {
			if !r.At.Equal(day.Add(time.Duration(n)*time.Second)) || r.ID == "" {
				t.Errorf("request %d: %+v", n, r)
			}
		}
	}
	for _, name := range []string{"x", "y", "z", "big", "link"} {
		if _, err := os.Lstat(filepath.Join(dir, "bad-"+name+".json")); err != nil {
			t.Error(err)
		}
	}
	told, err := j.Last(t.Context(), 10, nil, nil)
	if err != nil || len(told) != 5 || !strings.Contains(told[0].Cause, "is not a request") {
		t.Errorf("told %+v, %v", told, err)
	}
}

// Whatever effect an owner dies at, the next one answers, and nothing stays.
func TestAnswerConvergesFromEveryCrash(t *testing.T) {
	id := ""
	everyPrefix(t,
		func(t *testing.T, dir string) {
			var err error
			if id, err = leave(Disk{}, filepath.Join(dir, "requests"), wish("retry", 0)); err != nil {
				t.Fatal(err)
			}
		},
		func(dir string, d Disk) error {
			j := OpenJournal(dir, d, time.Now)
			requests, err := j.Requests(t.Context())
			for _, r := range requests {
				err = errors.Join(err, j.Answer(t.Context(), spec.Answer{ID: r.ID}))
			}
			return err
		},
		func(t *testing.T, dir string, final bool) {
			if !final {
				return
			}
			a, ok, err := collect(Disk{}, filepath.Join(dir, "requests"), id)
			if !ok || err != nil || a.ID != id {
				t.Fatalf("answer %+v, %v, %v", a, ok, err)
			}
			if left := filesIn(t, dir); len(left) != 0 {
				t.Fatalf("left over: %v", left)
			}
		})
}

func TestAnswersExpire(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "requests/a.answer.json")
	put(t, path, "{}")
	now := time.Now()
	j := OpenJournal(dir, Disk{}, func() time.Time { return now })
	for _, later := range []time.Duration{0, 2 * answerKept} {
		now = now.Add(later)
		if _, err := j.Requests(t.Context()); err != nil {
			t.Fatal(err)
		}
		if exists(path) != (later == 0) {
			t.Errorf("after %v: there %v", later, exists(path))
		}
	}
	if err := j.Answer(t.Context(), spec.Answer{ID: "../x"}); err == nil {
		t.Error("an id that is a path was taken")
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"version":1,"verb":"stop","id":"../x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decodeRequest(text, "name")
		if err == nil && (r.ID != "name" || r.Verb == "" || r.Version != 1) {
			t.Fatalf("%q was taken as %+v", text, r)
		}
	})
}
