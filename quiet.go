package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"drover/fsstate"
	"drover/reconcile"
	"drover/spec"
)

// quietPass is what one pass found that asked for nothing. A pass is a
// function of the files it asks about, the memory, the attempts and the
// settings: while all of these are as they were, the next one would ask for
// nothing either, and need not be computed. It is a cache and may be deleted
// at any time.
type quietPass struct {
	Of      string       `json:"of"` // settings, selection, binary
	Files   []string     `json:"files"`
	Runs    []string     `json:"runs"`
	Summary spec.Summary `json:"summary"`
	// Next is when the first timer ends, Expiry when the first run directory
	// has been kept long enough; from then on it holds no more.
	Next   time.Time `json:"next"`
	Expiry time.Time `json:"expiry"`
}

func (a *App) quietPath() string { return filepath.Join(a.State.Path, "quiet.cache") }

// quietOf names what a quiet pass is of; "" where passes are not kept.
func (a *App) quietOf(f *runFlags, words []string, mode reconcile.Mode) string {
	if mode != reconcile.Once || f.retryBlocked || a.JSON || f.output == "json" {
		return ""
	}
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	return fingerprint(exe, append([]string{fmt.Sprintf("%+v", a.Settings), f.group}, words...)...)
}

// quiet answers from the last pass if nothing has changed since. It opens the
// workspace and looks at it; o.files is then for the engine, or to be closed.
func (a *App) quiet(ctx context.Context, o *engineOptions, of string) (q quietPass, holds bool, err error) {
	exe, err := os.Executable()
	if err != nil {
		return q, false, fmt.Errorf("find drover's own binary: %w", err)
	}
	if !a.nothingAsked() {
		return q, false, nil
	}
	if o.files, err = fsstate.Open(a.State.Root, a.readOptions(a.dialects(), exe)); err != nil {
		return q, false, err
	}
	if _, _, err := o.files.Snapshot(ctx, nil); err != nil {
		return q, false, errors.Join(err, o.files.Close())
	}
	text, err := os.ReadFile(a.quietPath())
	if err != nil || json.Unmarshal(text, &q) != nil {
		return q, false, nil
	}
	now := a.quietNow(of)
	holds = o.files.Stood() && q.Of == of && slices.Equal(q.Files, now.Files) && slices.Equal(q.Runs, now.Runs) &&
		a.ahead(q.Next) && a.ahead(q.Expiry)
	return q, holds, nil
}

// ahead reports whether a moment has not come yet; zero never comes.
func (a *App) ahead(t time.Time) bool { return t.IsZero() || a.Now().Before(t) }

// quietNow is what a quiet pass rests on beside the workspace's files.
func (a *App) quietNow(of string) quietPass {
	q := quietPass{Of: of, Runs: names(filepath.Join(a.State.Path, "runs"))}
	for _, name := range []string{"state.json", "events.jsonl"} {
		q.Files = append(q.Files, fileKey(filepath.Join(a.State.Path, name)))
	}
	return q
}

// nothingAsked reports whether no command and no interrupted edit waits.
func (a *App) nothingAsked() bool {
	return len(names(a.requestsDir())) == 0 && len(names(filepath.Join(a.State.Path, "edits"))) == 0
}

// keepQuiet notes a pass that asked for nothing.
func (a *App) keepQuiet(e *engine, of string, sum spec.Summary, next time.Time) error {
	if e.Acted() || e.Running() > 0 || len(e.Memory.Stopped) > 0 {
		return nil // a program that is missing now may be there the next time
	}
	q := a.quietNow(of)
	q.Summary, q.Next, q.Expiry = sum, next, e.Expiry()
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(a.quietPath()); err == nil && string(old) == string(text) {
		return nil
	}
	if err := a.Seam.Pass(spec.OpWrite, a.quietPath()); err != nil {
		return err
	}
	return os.WriteFile(a.quietPath(), text, 0o644) // a torn one is no JSON and counts for nothing
}

// fileKey tells one state of a file from another, "" for none.
func fileKey(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	key := fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		key += fmt.Sprint(" ", st.Ino)
	}
	return key
}

func names(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
