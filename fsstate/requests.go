package fsstate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drover/spec"
)

// ErrNoOwner says that nobody drives the workspace (any more), so that a
// request would not be answered: take the lock and do it.
var ErrNoOwner = errors.New("no drover drives the workspace")

const (
	requestPoll = 20 * time.Millisecond
	// ownerPoll is how often one who waits makes sure that there is an owner.
	ownerPoll = 500 * time.Millisecond
	// requestSize is the most a request may hold; more is no request of ours.
	requestSize = 1 << 20
	// answerKept is how long an answer waits for a command that is gone.
	answerKept = time.Hour
)

// Ask leaves a request for the owner, waits for its answer, and takes both
// away. When ctx ends or the owner does, the request is withdrawn.
//
// Crash windows: an owner that dies after it applied a request and before it
// answered leaves it to the next one, which applies it again; the verbs are
// idempotent. An asker that dies leaves a request that still counts.
func (s StateDir) Ask(ctx context.Context, d Disk, r spec.Request) (spec.Answer, error) {
	dir := filepath.Join(s.Path, "requests")
	owner, err := s.Owner()
	if err != nil {
		return spec.Answer{}, err
	}
	if owner == nil {
		return spec.Answer{}, ErrNoOwner
	}
	id, err := leave(d, dir, r)
	if err != nil {
		return spec.Answer{}, fmt.Errorf("leave a request: %w", err)
	}
	poll := time.NewTicker(requestPoll)
	defer poll.Stop()
	owned := time.NewTicker(ownerPoll)
	defer owned.Stop()
	for {
		if a, ok, err := collect(d, dir, id); ok || err != nil {
			return a, err
		}
		select {
		case <-poll.C:
			continue
		case <-owned.C:
			if owner, err := s.Owner(); err != nil || owner != nil {
				continue
			}
			err = ErrNoOwner
		case <-ctx.Done():
			err = ctx.Err()
		}
		return withdraw(d, dir, id, err)
	}
}

// leave writes a request under a name that sorts by time and is nobody's else:
// a name that was given before may still have its answer lying there, so chance
// makes it, not a search for a free one.
func leave(d Disk, dir string, r spec.Request) (id string, err error) {
	if err := d.MakeFolder(dir); err != nil {
		return "", err
	}
	r.Version = 1
	for {
		id := fmt.Sprintf("%s-%d-%s", r.At.UTC().Format("20060102T150405.000000000"), os.Getpid(), rand.Text()[:12])
		r.ID = id
		text, err := json.Marshal(r)
		if err != nil {
			return "", err
		}
		err = d.CreateFile(filepath.Join(dir, id+".json"), append(text, '\n'), 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return id, err
		}
	}
}

// collect takes the answer to a request, if there is one. The request goes
// first: an answered one that stayed would be obeyed again later.
func collect(d Disk, dir, id string) (spec.Answer, bool, error) {
	var a spec.Answer
	text, err := os.ReadFile(filepath.Join(dir, id+answerEnd))
	if errors.Is(err, fs.ErrNotExist) {
		return a, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return a, false, fmt.Errorf("read the answer: %w", err)
	}
	return a, true, errors.Join(d.removeGone(filepath.Join(dir, id+".json")), d.removeGone(filepath.Join(dir, id+answerEnd)))
}

// withdraw takes a request back for a reason, unless it is answered by now.
func withdraw(d Disk, dir, id string, reason error) (spec.Answer, error) {
	err := d.removeGone(filepath.Join(dir, id+".json"))
	if a, ok, _ := collect(d, dir, id); ok {
		return a, nil
	}
	return spec.Answer{}, errors.Join(reason, err)
}

// removeGone removes a file; one that is gone already is fine.
func (d Disk) removeGone(path string) error {
	if err := d.Seam.Pass(spec.OpRemove, path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const answerEnd = ".answer.json"

// Requests lists what is asked and not answered yet, oldest first. What cannot
// be understood is moved aside as bad-<name> and told as an event; it stops
// nothing.
func (j *Journal) Requests(ctx context.Context) ([]spec.Request, error) {
	dir := j.path("requests")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	answered := map[string]bool{}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), answerEnd); ok {
			answered[id] = true
			j.expire(dir, e)
		}
	}
	var out []spec.Request
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "bad-") || strings.HasSuffix(id, ".answer") {
			continue
		}
		if answered[id] { // its owner died between the answer and the removal
			if err := j.disk.removeGone(filepath.Join(dir, e.Name())); err != nil {
				return nil, fmt.Errorf("remove request %s: %w", id, err)
			}
			continue
		}
		r, err := readRequest(filepath.Join(dir, e.Name()), id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // withdrawn
		case err != nil:
			if err := j.putAside(ctx, dir, e.Name(), err); err != nil {
				return nil, err
			}
		default:
			out = append(out, r)
		}
	}
	return out, nil
}

func readRequest(path, id string) (spec.Request, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return spec.Request{}, err
	}
	if !info.Mode().IsRegular() {
		return spec.Request{}, notRegular(path)
	}
	if info.Size() > requestSize {
		return spec.Request{}, fmt.Errorf("%d bytes are too many", info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return spec.Request{}, err
	}
	return decodeRequest(text, id)
}

func decodeRequest(text []byte, id string) (spec.Request, error) {
	var r spec.Request
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	switch {
	case r.Version != 1:
		return r, fmt.Errorf("version %d is not known", r.Version)
	case r.Verb == "":
		return r, errors.New("it has no verb")
	}
	r.ID = id
	return r, nil
}

func (j *Journal) putAside(ctx context.Context, dir, name string, why error) error {
	f, err := j.disk.open(dir)
	if err != nil {
		return fmt.Errorf("put request %s aside: %w", name, err)
	}
	defer f.close()
	if err := f.pass(spec.OpRename, name); err != nil {
		return fmt.Errorf("put request %s aside: %w", name, err)
	}
	if err := f.root.Rename(name, "bad-"+name); err != nil {
		return fmt.Errorf("put request %s aside: %w", name, err)
	}
	return j.Append(ctx, []spec.Event{{
		At: j.now(), Kind: spec.EventRequest, Result: "refused",
		Cause: fmt.Sprintf("requests/bad-%s is not a request: %v", name, why),
	}}, nil)
}

// expire removes an answer that nobody came for.
func (j *Journal) expire(dir string, e fs.DirEntry) {
	if info, err := e.Info(); err == nil && j.now().Sub(info.ModTime()) > answerKept {
		// What cannot be removed now is tried again at the next look.
		_ = j.disk.removeGone(filepath.Join(dir, e.Name()))
	}
}

// Answer answers a request and removes it. A crash in between leaves both; the
// next look removes the request without applying it again.
func (j *Journal) Answer(ctx context.Context, a spec.Answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.ID == "" || filepath.Base(a.ID) != a.ID {
		return fmt.Errorf("answer request %q: that is no request", a.ID)
	}
	a.Version = 1
	if a.Done == nil {
		a.Done = []spec.TaskAnswer{}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("answer request %s: %w", a.ID, err)
	}
	dir := j.path("requests")
	if _, err := os.Lstat(filepath.Join(dir, a.ID+".json")); errors.Is(err, fs.ErrNotExist) {
		return nil // withdrawn
	}
	if err := j.disk.WriteFile(filepath.Join(dir, a.ID+answerEnd), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("answer request %s: %w", a.ID, err)
	}
	if err := j.disk.removeGone(filepath.Join(dir, a.ID+".json")); err != nil {
		return fmt.Errorf("answer request %s: %w", a.ID, err)
	}
	return nil
}
