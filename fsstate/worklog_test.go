package fsstate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

func row(n int) spec.LogRow {
	return spec.LogRow{
		Path: "agent-task/ledger/WORK_LOG.md", Time: time.Date(2026, 6, 1, 1, 0, n, 5, time.UTC), Event: "START",
		Task: "02+01_csv_reader", Role: spec.RoleWorker, Attempt: "a00", Model: "pi/iop/ornith-fast", Locator: fmt.Sprintf("/runs/%d/locator.json", n),
	}
}

func TestAppendLogRow(t *testing.T) {
	dir := t.TempDir()
	if errs := edits(t, dir, Disk{}).AppendLog(t.Context(), []spec.LogRow{row(0)}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	got := textOf(t, filepath.Join(dir, "work/agent-task/ledger/WORK_LOG.md"))
	want := logHeader + "| 2026-06-01T10:00:00+09:00 | START | 02+01_csv_reader | worker | a00 | pi/iop/ornith-fast | - | /runs/0/locator.json |\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func rowsOf(text string) (n int) {
	for line := range strings.Lines(text) {
		if _, ok := parseRow(line); ok {
			n++
		}
	}
	return n
}

func TestAppendLogConvergesFromEveryCrash(t *testing.T) {
	everyPrefix(t,
		func(*testing.T, string) {},
		func(dir string, d Disk) error {
			return errors.Join(edits(t, dir, d).AppendLog(t.Context(), []spec.LogRow{row(0), row(1), row(0)})...)
		},
		func(t *testing.T, dir string, final bool) {
			if !final {
				return
			}
			text := textOf(t, filepath.Join(dir, "work/agent-task/ledger/WORK_LOG.md"))
			if rowsOf(text) != 2 || strings.Count(text, "\n") != 6 {
				t.Fatalf("holds %q", text)
			}
		})
}

// Wherever a power cut tears the log, each row is there once in the end.
func TestAppendLogMendsATornLog(t *testing.T) {
	dir := t.TempDir()
	rows := []spec.LogRow{row(0), row(1)}
	path := filepath.Join(dir, "work/agent-task/ledger/WORK_LOG.md")
	if err := errors.Join(edits(t, dir, Disk{}).AppendLog(t.Context(), rows)...); err != nil {
		t.Fatal(err)
	}
	whole := textOf(t, path)
	for size := range len(whole) {
		put(t, path, whole[:size])
		if err := errors.Join(edits(t, dir, Disk{}).AppendLog(t.Context(), rows)...); err != nil {
			t.Fatal(err)
		}
		if got := textOf(t, path); rowsOf(got) != 2 {
			t.Fatalf("cut to %d bytes: %q", size, got)
		}
	}
}

// The rows that stand are known again by another process, in another zone,
// and after a person's edit.
func TestAppendLogIsIdempotent(t *testing.T) {
	dir := t.TempDir()
	e := edits(t, dir, Disk{})
	odd := row(7)
	odd.Locator, odd.Result, odd.Task = "/a|b\nc\\|", "", "x | y"
	rows := []spec.LogRow{row(1), row(2), odd}
	for range 2 {
		if err := errors.Join(e.AppendLog(t.Context(), rows)...); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "work", rows[0].Path)
	if n := rowsOf(textOf(t, path)); n != 3 {
		t.Fatalf("%d rows", n)
	}
	text := textOf(t, path)
	put(t, path, strings.Replace(text, "# WORK_LOG", "# WORK_LOG of the ledger", 1)+"a note without an end")
	other := edits(t, dir, Disk{})
	other.zone = time.UTC
	for _, e := range []*Edits{e, other} {
		if err := errors.Join(e.AppendLog(t.Context(), append(rows, row(3)))...); err != nil {
			t.Fatal(err)
		}
	}
	if text := textOf(t, path); rowsOf(text) != 4 || !strings.Contains(text, "without an end\n|") {
		t.Fatalf("holds %q", text)
	}
	// A log that was taken away begins anew.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.AppendLog(t.Context(), rows)...); err != nil {
		t.Fatal(err)
	}
	if n := rowsOf(textOf(t, path)); n != 3 {
		t.Fatalf("%d rows", n)
	}
}

func TestAppendLogErrors(t *testing.T) {
	dir := t.TempDir()
	e := edits(t, dir, Disk{})
	put(t, filepath.Join(dir, "work/target"), "")
	put(t, filepath.Join(dir, "work/file"), "")
	if err := os.MkdirAll(filepath.Join(dir, "work/folder/WORK_LOG.md"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", filepath.Join(dir, "work/WORK_LOG.md")); err != nil {
		t.Fatal(err)
	}
	rows := []spec.LogRow{{Path: "WORK_LOG.md"}, {Path: "folder/WORK_LOG.md"}, {Path: "file/WORK_LOG.md"}, row(0)}
	for i, err := range e.AppendLog(t.Context(), rows) {
		if ok := i == 3; ok != (err == nil) || !ok && !errors.Is(err, ErrWorkLogSetup) {
			t.Errorf("row %d: %v", i, err)
		}
	}
	full := edits(t, dir, Disk{Seam: func(op spec.Op, object string) error {
		if op == spec.OpSync && strings.HasSuffix(object, "WORK_LOG.md") {
			return errCrash
		}
		return nil
	}})
	if err := full.AppendLog(t.Context(), []spec.LogRow{row(1)})[0]; !errors.Is(err, ErrWorkLogWrite) || !errors.Is(err, errCrash) {
		t.Errorf("full disk: %v", err)
	}
}

func FuzzParseRow(f *testing.F) {
	f.Add("START", "/runs/x/locator.json", "a|b")
	f.Add(`a\`, `\|`, "\n")
	f.Add("", " ", "-")
	f.Fuzz(func(t *testing.T, event, locator, task string) {
		if len(event)+len(locator)+len(task) > 2000 {
			t.Skip() // every tear of the row is tried
		}
		r := row(3)
		r.Event, r.Locator, r.Task = event, locator, task
		line := rowText(r, time.UTC)
		if strings.ContainsAny(line, "\n\r") {
			t.Fatalf("%q is not one line", line)
		}
		id, ok := parseRow(line)
		if !ok || id.second != r.Time.Unix() {
			t.Fatalf("%q reads as %+v, %v", line, id, ok)
		}
		for size := range len(line) {
			if _, ok := parseRow(line[:size]); ok {
				t.Fatalf("%q torn to %q still counts", line, line[:size])
			}
		}
		r.Event, r.Locator = id.event, id.locator
		if again, _ := parseRow(rowText(r, time.UTC)); again != id {
			t.Fatalf("%+v reads back as %+v", id, again)
		}
	})
}
