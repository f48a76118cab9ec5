package fsstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"drover/spec"
)

// Errors of a work log; both block the task (seed 003).
var (
	// ErrWorkLogSetup: the log cannot be made or opened (work-log-setup).
	ErrWorkLogSetup = spec.ErrWorkLogSetup
	// ErrWorkLogWrite: a row cannot be added (work-log-runtime-write).
	ErrWorkLogWrite = errors.New("the work log cannot be written")
)

const logHeader = `# WORK_LOG

| time | event | task | role | attempt | model | result | locator |
|---|---|---|---|---|---|---|---|
`

// rowID identifies a row of a log.
type rowID struct {
	event, locator string
	second         int64
}

// logs remembers which rows the logs hold.
type logs struct {
	mu     sync.Mutex
	byPath map[string]*workLog
}

// workLog is one log as it was when last read or written.
type workLog struct {
	mu   sync.Mutex
	info os.FileInfo
	rows map[rowID]bool
}

func (l *logs) at(p string) *workLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byPath == nil {
		l.byPath = map[string]*workLog{}
	}
	if l.byPath[p] == nil {
		l.byPath[p] = &workLog{}
	}
	return l.byPath[p]
}

// AppendLog adds rows to work logs, each at most once: a row is known by its
// event, locator and time. A log gets one write and one fsync for all its
// rows; logs are written side by side. The errors belong to the rows one to
// one and wrap ErrWorkLogSetup or ErrWorkLogWrite.
//
// A crash leaves a beginning of the rows; a row that it tore does not count
// and is written again.
func (e *Edits) AppendLog(ctx context.Context, rows []spec.LogRow) []error {
	errs := make([]error, len(rows))
	byPath := map[string][]int{}
	for i, r := range rows {
		p := path.Clean(r.Path)
		byPath[p] = append(byPath[p], i)
	}
	var wait sync.WaitGroup
	for p, at := range byPath {
		wait.Go(func() {
			mine := make([]spec.LogRow, len(at))
			for k, i := range at {
				mine[k] = rows[i]
			}
			err := ctx.Err()
			if err == nil {
				err = e.appendRows(p, mine)
			}
			for _, i := range at {
				errs[i] = wrap("append to", p, err)
			}
		})
	}
	wait.Wait()
	return errs
}

func (e *Edits) appendRows(p string, rows []spec.LogRow) error {
	log := e.logs.at(p)
	log.mu.Lock()
	defer log.mu.Unlock()
	f, err := e.disk.make(e.root, path.Dir(p))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWorkLogSetup, err)
	}
	defer f.close()
	file, isNew, err := f.openAppend(path.Base(p), 0o666)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWorkLogSetup, err)
	}
	defer file.Close()
	if err := log.read(file); err != nil {
		return fmt.Errorf("%w: %w", ErrWorkLogSetup, err)
	}
	err = e.addRows(f, file, path.Base(p), log, rows)
	if err == nil && isNew {
		err = f.sync()
	}
	if err != nil {
		log.info = nil // read again
		return fmt.Errorf("%w: %w", ErrWorkLogWrite, err)
	}
	return nil
}

func (e *Edits) addRows(f *folder, file *os.File, name string, log *workLog, rows []spec.LogRow) error {
	var text []byte
	if log.info.Size() == 0 {
		text = append(text, logHeader...)
	}
	var added []rowID
	for _, r := range rows {
		line := rowText(r, e.zone)
		id, ok := parseRow(line)
		if !ok {
			return fmt.Errorf("row %q cannot be told from text", line)
		}
		if log.rows[id] {
			continue
		}
		log.rows[id] = true
		added = append(added, id)
		text = append(append(text, line...), '\n')
	}
	if len(added) == 0 {
		return nil
	}
	if err := f.appendTo(file, name, text); err != nil {
		return err
	}
	info, err := file.Stat()
	log.info = info
	return err
}

// read brings the known rows up to date with the file.
func (l *workLog) read(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if l.info != nil && os.SameFile(l.info, info) && l.info.Size() == info.Size() && l.info.ModTime().Equal(info.ModTime()) {
		return nil
	}
	text := make([]byte, info.Size())
	if _, err := file.ReadAt(text, 0); err != nil {
		return err
	}
	l.info, l.rows = info, map[rowID]bool{}
	for line := range bytes.Lines(text) {
		if id, ok := parseRow(string(line)); ok {
			l.rows[id] = true
		}
	}
	return nil
}

// rowText is a row without its line ending (FORMATS 4.2).
func rowText(r spec.LogRow, zone *time.Location) string {
	cells := []string{
		r.Time.In(zone).Format(time.RFC3339), r.Event, r.Task, string(r.Role), r.Attempt, r.Model, r.Result, r.Locator,
	}
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("| " + cell(c) + " ")
	}
	return b.String() + "|"
}

// cell is a value as it can stand in a table.
func cell(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s))
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(s, "|", `\|`)
}

// parseRow reads the identity of a row; false for any other line.
func parseRow(line string) (rowID, bool) {
	cells := splitRow(strings.TrimSpace(line))
	if len(cells) != 8 {
		return rowID{}, false
	}
	t, err := time.Parse(time.RFC3339, cells[0])
	if err != nil {
		return rowID{}, false
	}
	return rowID{event: cells[1], locator: cells[7], second: t.Unix()}, true
}

// splitRow is the cells of a table's row; nil for any other line.
func splitRow(line string) (cells []string) {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i++
		case c == '|':
			cells = append(cells, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	if strings.TrimSpace(b.String()) != "" {
		return nil // torn
	}
	return cells
}
