package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drover/launcher/rundir"
	"drover/spec"
)

// logsFlags say which attempt's log is shown, and how.
type logsFlags struct {
	follow, raw bool
	role        string
	attempt     int // -1 is the newest
	tail        int // lines; 0 is all
}

func logsCommand(a *App) *cobra.Command {
	f := logsFlags{}
	c := &cobra.Command{
		Use: "logs TASK", Short: "what an attempt said and did", Args: cobra.ExactArgs(1),
		Example: `  drover logs 02 -f
  drover logs ledger/10_rounding --role review --attempt 2`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.Open(c.Context()); err != nil {
				return err
			}
			id, err := a.pastTask(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.logs(c.Context(), id, f)
		},
	}
	flags := c.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on until the attempt ends")
	flags.BoolVar(&f.raw, "raw", false, "the stream as the agent wrote it")
	flags.StringVar(&f.role, "role", "", "only attempts of this `role`: worker, selfcheck, review")
	flags.IntVar(&f.attempt, "attempt", -1, "the attempt's `number`; without it the newest")
	flags.IntVar(&f.tail, "tail", 0, "only the last `lines`")
	return c
}

// attemptLog is a run directory whose log can be shown.
type attemptLog struct {
	dir string
	loc spec.Locator
}

func (a *App) logs(ctx context.Context, id spec.TaskID, f logsFlags) error {
	all, err := a.attemptLogs(id)
	if err != nil {
		return err
	}
	log, err := chooseLog(all, id, f)
	if err != nil {
		return err
	}
	if !a.JSON && !f.raw {
		fmt.Fprintf(a.Out, "%s · %s %s · %s\n", log.loc.Task, log.loc.Role, spec.ShortAttempt(log.loc.Attempt), log.dir)
	}
	p := &logPrinter{app: a, log: log, raw: f.raw}
	if err := p.begin(f.tail); err != nil {
		return err
	}
	if f.follow {
		return p.follow(ctx)
	}
	return nil
}

// attemptLogs are a task's attempts on disk, oldest first.
func (a *App) attemptLogs(id spec.TaskID) ([]attemptLog, error) {
	runs := filepath.Join(a.State.Path, "runs")
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read logs: %w", err)
	}
	var out []attemptLog
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), rundir.Unclaimed) {
			continue
		}
		l := attemptLog{dir: filepath.Join(runs, e.Name())}
		if err := rundir.Read(l.dir, rundir.Locator, &l.loc); err != nil {
			continue // status names damaged attempts
		}
		if l.loc.Task == id.Name && l.loc.Dialect == id.Dialect {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(x, y attemptLog) int { return x.loc.ClaimedAt.Compare(y.loc.ClaimedAt) })
	return out, nil
}

// chooseLog is the newest attempt that the flags allow.
func chooseLog(all []attemptLog, id spec.TaskID, f logsFlags) (attemptLog, error) {
	for _, l := range slices.Backward(all) {
		_, n := spec.SplitAttempt(l.loc.Attempt)
		if f.role != "" && string(l.loc.Role) != f.role || f.attempt >= 0 && n != f.attempt {
			continue
		}
		return l, nil
	}
	e := &exitError{exit: exitFailed, code: "refused", argv: []string{"drover", "history", id.Name}}
	if len(all) == 0 {
		e.message = fmt.Sprintf("%s has no logs here: it never ran, or passed and its logs were deleted (agent_task.keep_logs); see: drover history %s", id.Name, id.Name)
		return attemptLog{}, e
	}
	e.message = fmt.Sprintf("%s has no such attempt; it has:", id.Name)
	for _, l := range all {
		e.near = append(e.near, fmt.Sprintf("%s %s", l.loc.Role, spec.ShortAttempt(l.loc.Attempt)))
	}
	return attemptLog{}, e
}

// logPrinter shows the two logs of an attempt and what is added to them.
type logPrinter struct {
	app     *App
	log     attemptLog
	raw     bool
	offsets map[string]int64
}

// maxLogLine is as much of one line as is kept in memory.
const maxLogLine = 1 << 20

// begin shows what is there: the agent's output, then its complaints.
func (p *logPrinter) begin(tail int) error {
	p.offsets = map[string]int64{}
	for _, name := range logNames() {
		if name == rundir.Stderr && !p.raw && !p.app.JSON && p.size(name) > 0 {
			fmt.Fprintln(p.app.Out, "stderr:")
		}
		if tail == 0 {
			if err := p.read(name, func(text string) error { return p.tell(name, text) }); err != nil {
				return err
			}
			continue
		}
		var last []string
		err := p.read(name, func(text string) error {
			if last = append(last, text); len(last) >= 2*tail {
				last = append(last[:0], last[len(last)-tail:]...)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, text := range last[max(0, len(last)-tail):] {
			if err := p.tell(name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// logNames are the logs of an attempt, in the order in which they are shown.
func logNames() []string { return []string{rundir.Stream, rundir.Stderr} }

func (p *logPrinter) size(name string) int64 {
	info, err := os.Stat(filepath.Join(p.log.dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}

// read hands out what a log has gained since it was read last.
func (p *logPrinter) read(name string, tell func(text string) error) error {
	file, err := os.Open(filepath.Join(p.log.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer file.Close()
	running := p.running()
	r := bufio.NewReaderSize(io.NewSectionReader(file, p.offsets[name], 1<<62), 64<<10)
	for {
		line, n, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read log: %w", err)
		}
		if n == 0 || err != nil && running {
			return nil // a line that is being written is read when it is whole
		}
		p.offsets[name] += n
		if text := p.shown(name, line); text != "" {
			if err := tell(text); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// readLine reads one line of which it keeps at most maxLogLine; n counts all
// of it.
func readLine(r *bufio.Reader) (line []byte, n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if room := maxLogLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, n, err
		}
	}
}

// shown is a line for people; punched out parts of a capped log are zeros.
func (p *logPrinter) shown(name string, line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	if cut := bytes.TrimLeft(line, "\x00"); len(cut) < len(line) {
		line = cut
	}
	if p.raw {
		return string(line)
	}
	text := string(line)
	if name == rundir.Stream {
		text = streamText(p.log.loc.CLI, line)
	}
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(clean(l), " "); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

func (p *logPrinter) tell(name, text string) error {
	if p.app.JSON {
		return writeJSON(p.app.Out, map[string]any{
			"version": 1, "attempt": p.log.loc.Attempt, "log": name, "text": text,
		})
	}
	_, err := fmt.Fprintln(p.app.Out, text)
	return err
}

// running reports whether the attempt may still write: somebody holds it.
func (p *logPrinter) running() bool {
	held, err := rundir.Held(p.log.dir)
	return err == nil && held
}

// follow shows what comes until the attempt has ended.
func (p *logPrinter) follow(ctx context.Context) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		running := p.running()
		for _, name := range logNames() {
			if err := p.read(name, func(text string) error { return p.tell(name, text) }); err != nil {
				return err
			}
		}
		if !running {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
