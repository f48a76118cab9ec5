package fsstate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"drover/spec"
)

// Events yields the events since a time, oldest first; the zero time means
// all of them. Files and parts of files that are older are not read. Lines
// that a crash tore are skipped.
func (j *Journal) Events(ctx context.Context, since time.Time) iter.Seq2[spec.Event, error] {
	return func(yield func(spec.Event, error) bool) {
		files, err := j.eventFiles(since)
		if err != nil {
			yield(spec.Event{}, err)
			return
		}
		for _, path := range files {
			for e, err := range eventsOf(ctx, path, since) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// Last is the newest n events (0: all), oldest first, that want accepts; task
// narrows them to one task, nil takes all. It reads from the end and no
// further than it must.
func (j *Journal) Last(ctx context.Context, n int, task *spec.TaskID, want func(spec.Event) bool) ([]spec.Event, error) {
	files, err := j.eventFiles(time.Time{})
	if err != nil {
		return nil, err
	}
	var mark []byte // what a line of the task holds
	if task != nil {
		if mark, err = json.Marshal(task.Name); err != nil {
			return nil, err
		}
	}
	var found []spec.Event
	for _, path := range slices.Backward(files) {
		for line, err := range linesBackward(ctx, path) {
			if err != nil {
				return nil, err
			}
			e, ok := event(line, mark)
			if !ok || task != nil && (e.Task != task.Name || e.Dialect != task.Dialect) || want != nil && !want(e) {
				continue
			}
			if found = append(found, e); len(found) == n {
				slices.Reverse(found)
				return found, nil
			}
		}
	}
	slices.Reverse(found)
	return found, nil
}

// Rollups yields the roll-ups of the tasks that finished since a time, oldest
// month first; one that was written twice comes once.
func (j *Journal) Rollups(ctx context.Context, since time.Time) iter.Seq2[spec.Rollup, error] {
	return func(yield func(spec.Rollup, error) bool) {
		entries, err := os.ReadDir(j.path("rollup"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(spec.Rollup{}, err)
			return
		}
		type identity struct {
			dialect, task string
			at            int64
		}
		seen := map[identity]bool{}
		for _, entry := range entries {
			month, ok := strings.CutSuffix(entry.Name(), ".jsonl")
			if !ok || month < since.UTC().Format("2006-01") {
				continue
			}
			for line, err := range linesFrom(ctx, filepath.Join(j.dir, "rollup", entry.Name()), 0) {
				if err != nil {
					yield(spec.Rollup{}, err)
					return
				}
				var r spec.Rollup
				if json.Unmarshal(line, &r) != nil || r.CompletedAt.Before(since) {
					continue
				}
				id := identity{r.Dialect, r.Task, r.CompletedAt.UnixNano()}
				if seen[id] {
					continue
				}
				seen[id] = true
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// eventFiles lists the files that may hold events since a time, oldest first.
func (j *Journal) eventFiles(since time.Time) ([]string, error) {
	numbers, err := rotated(j.dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, n := range numbers {
		path := j.path(eventsName(n))
		if info, err := os.Stat(path); err == nil && !info.ModTime().Before(since) {
			files = append(files, path)
		}
	}
	return append(files, j.path("events.jsonl")), nil
}

// disorder is how far events may stand out of their order: a pass tells them
// by the times at which things happened.
const disorder = time.Hour

func eventsOf(ctx context.Context, path string, since time.Time) iter.Seq2[spec.Event, error] {
	return func(yield func(spec.Event, error) bool) {
		start := int64(0)
		if !since.IsZero() {
			start = seek(path, since.Add(-disorder))
		}
		for line, err := range linesFrom(ctx, path, start) {
			if err != nil {
				yield(spec.Event{}, err)
				return
			}
			if e, ok := event(line, nil); ok && !e.At.Before(since) && !yield(e, nil) {
				return
			}
		}
	}
}

// event reads one line; false for a torn one and for one without mark.
func event(line, mark []byte) (spec.Event, bool) {
	var e spec.Event
	if mark != nil && !bytes.Contains(line, mark) {
		return e, false
	}
	return e, json.Unmarshal(line, &e) == nil && e.Version == 1
}

// seek is an offset before the first event of a file at or after a time,
// found by halving; 0 whenever in doubt.
func seek(path string, t time.Time) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	const block = 64 << 10
	blocks := int(info.Size() / block)
	n := sort.Search(blocks, func(i int) bool {
		r := bufio.NewReader(io.NewSectionReader(file, int64(i)*block, info.Size()))
		if i > 0 {
			if _, err := r.ReadBytes('\n'); err != nil { // a part of a line
				return true
			}
		}
		for {
			line, err := r.ReadBytes('\n')
			if e, ok := event(line, nil); ok {
				return !e.At.Before(t)
			}
			if err != nil {
				return true
			}
		}
	})
	return int64(max(n-1, 0)) * block
}

// linesFrom yields the lines of a file from an offset on; what stands before
// the first line's beginning is left out. A missing file has none.
func linesFrom(ctx context.Context, path string, start int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		r := bufio.NewReaderSize(io.NewSectionReader(file, start, 1<<62), 64<<10)
		for first := start > 0; ; first = false {
			line, err := r.ReadBytes('\n')
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && !first && !yield(line, nil) {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return // a last line without its end is torn
			}
		}
	}
}

// linesBackward yields the lines of a file from the last to the first. A last
// line without its end is left out.
func linesBackward(ctx context.Context, path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			yield(nil, err)
			return
		}
		const block = 64 << 10
		var rest []byte // the beginning of a line whose end was read before
		whole := false  // rest is ended
		for at := info.Size(); at > 0; {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			n := min(at, block)
			at -= n
			text := make([]byte, n, n+int64(len(rest)))
			if _, err := file.ReadAt(text, at); err != nil {
				yield(nil, err)
				return
			}
			text = append(text, rest...)
			for i := bytes.LastIndexByte(text, '\n'); i >= 0; i = bytes.LastIndexByte(text, '\n') {
				line := text[i+1:]
				text = text[:i]
				if whole && !yield(line, nil) {
					return
				}
				whole = true
			}
			rest = text
		}
		if whole && len(rest) > 0 {
			yield(rest, nil)
		}
	}
}
