package fsstate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"drover/spec"
)

// Journal is the state folder's side of the loop: state.json, events.jsonl
// with its roll-ups, and the requests of commands. One owner writes; anybody
// may read.
type Journal struct {
	dir  string
	disk Disk
	now  func() time.Time

	// RotateAt is the size in bytes from which events.jsonl is put aside.
	RotateAt int64
	// Keep is how long events that were put aside stay.
	Keep time.Duration

	mu     sync.Mutex
	loaded bool
	saved  []byte // what state.json holds
	seenAt int64  // how much of events.jsonl the cache of what was told knows
}

// OpenJournal is the journal in a state folder, which need not exist before
// something is written.
func OpenJournal(dir string, d Disk, now func() time.Time) *Journal {
	return &Journal{dir: dir, disk: d, now: now, RotateAt: 64 << 20, Keep: 90 * 24 * time.Hour}
}

func (j *Journal) path(name string) string { return filepath.Join(j.dir, name) }

// Load reads state.json. A missing file is an empty memory; one that cannot
// be understood is a *TornStateError.
func (j *Journal) Load(ctx context.Context) (*spec.Memory, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.load(ctx)
}

func (j *Journal) load(ctx context.Context) (*spec.Memory, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path := j.path("state.json")
	text, err := os.ReadFile(path)
	m := spec.NewMemory()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, &TornStateError{Path: path, Why: "cannot be read: " + err.Error()}
	default:
		if m, err = decodeMemory(path, text); err != nil {
			return nil, err
		}
	}
	j.loaded, j.saved = true, text
	return m, nil
}

// Save writes state.json durably if it says anything new. It refuses while
// the file on disk cannot be understood.
func (j *Journal) Save(ctx context.Context, m *spec.Memory) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.loaded {
		if _, err := j.load(ctx); err != nil {
			return err
		}
	}
	text, err := encodeMemory(m)
	if err != nil || bytes.Equal(text, j.saved) {
		return err
	}
	if err := j.disk.WriteFile(j.path("state.json"), text, 0o644); err != nil {
		return fmt.Errorf("save state.json: %w", err)
	}
	j.saved = text
	return nil
}

// Append adds events to events.jsonl and roll-ups to rollup/<YYYY-MM>.jsonl,
// one append and fdatasync for each file. A crash may leave a beginning of
// them, and a torn last line, which readers skip.
func (j *Journal) Append(ctx context.Context, events []spec.Event, rollups []spec.Rollup) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.appendEvents(events); err != nil {
		return fmt.Errorf("append to events.jsonl: %w", err)
	}
	if err := j.appendRollups(rollups); err != nil {
		return fmt.Errorf("append to rollup: %w", err)
	}
	return nil
}

func (j *Journal) appendEvents(events []spec.Event) error {
	if len(events) == 0 {
		return nil
	}
	var lines []byte
	for _, e := range events {
		e.Version = 1
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := j.rotate(); err != nil {
		return err
	}
	return j.disk.Append(j.path("events.jsonl"), lines, 0o644)
}

func (j *Journal) appendRollups(rollups []spec.Rollup) error {
	months := map[string][]byte{}
	for _, r := range rollups {
		r.Version = 1
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		month := r.CompletedAt.UTC().Format("2006-01") + ".jsonl"
		months[month] = append(append(months[month], line...), '\n')
	}
	if len(months) == 0 {
		return nil
	}
	if err := j.disk.MakeFolder(j.path("rollup")); err != nil {
		return err
	}
	for month, lines := range months {
		if err := j.disk.Append(filepath.Join(j.dir, "rollup", month), lines, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rotate puts a full events.jsonl aside and deletes what was put aside too
// long ago. A crash leaves the file under its old name or its new one.
func (j *Journal) rotate() error {
	info, err := os.Stat(j.path("events.jsonl"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < j.RotateAt {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := j.disk.open(j.dir)
	if err != nil {
		return err
	}
	defer f.close()
	old, err := rotated(j.dir)
	if err != nil {
		return err
	}
	next := 1
	if len(old) > 0 {
		next = old[len(old)-1] + 1
	}
	if err := f.move("events.jsonl", f, eventsName(next)); err != nil {
		return err
	}
	for _, n := range old {
		info, err := f.root.Lstat(eventsName(n))
		if err != nil || j.now().Sub(info.ModTime()) < j.Keep {
			continue
		}
		if err := f.remove(eventsName(n)); err != nil {
			return err
		}
	}
	return f.sync()
}

func eventsName(n int) string { return fmt.Sprintf("events-%d.jsonl", n) }

// rotated lists the numbers of the files put aside, oldest first.
func rotated(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "events-")
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(digits, ".jsonl")); err == nil && eventsName(n) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
