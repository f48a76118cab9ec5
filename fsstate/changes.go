package fsstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"drover/spec"
	"drover/spec/markdown"
)

// Apply makes one change. It is idempotent: a change that stands already, also
// by an earlier run that was killed, is no error. ErrChanged says that a
// person's edit won; a *markdown.NotEditableError or *markdown.HeadError that
// only a person can go on.
func (e *Edits) Apply(ctx context.Context, c spec.Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch c := c.(type) {
	case spec.CreateFile:
		return wrap("create", c.Path, e.createFile(c.Path, c.Text))
	case spec.MoveFile:
		return wrap("move", c.From, e.moveFile(c))
	case spec.DeriveFile:
		return wrap("create", c.To, e.deriveFile(c))
	case spec.ArchiveFolder:
		return wrap("archive", c.From, e.archiveFolder(c))
	case spec.SetField:
		return wrap("set "+c.Key+" of", c.Path, e.setField(ctx, c))
	case spec.ManagedBlock:
		return wrap("update the managed lines of", c.Path, e.managedBlock(ctx, c))
	}
	return fmt.Errorf("apply %T: no such change", c)
}

func wrap(verb, object string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, object, err)
}

// createFile makes a file that must not exist; one that does is left alone.
func (e *Edits) createFile(p, text string) error {
	lock := e.stripe(p)
	lock.Lock()
	defer lock.Unlock()
	f, err := e.disk.make(e.root, path.Dir(p))
	if err != nil {
		return err
	}
	defer f.close()
	name := path.Base(p)
	err = f.create(name, tempName(name), []byte(text), 0o666)
	if errors.Is(err, fs.ErrExist) {
		// An earlier run may have been killed before it had made this durable.
		return errors.Join(f.clear(name), f.sync())
	}
	return err
}

func (e *Edits) moveFile(c spec.MoveFile) error {
	to, err := e.disk.make(e.root, path.Dir(c.To))
	if err != nil {
		return err
	}
	defer to.close()
	from, err := e.disk.within(e.root, path.Dir(c.From))
	if err != nil {
		if _, there := to.root.Lstat(path.Base(c.To)); errors.Is(err, fs.ErrNotExist) && there == nil {
			return to.sync()
		}
		return err
	}
	defer from.close()
	err = from.move(path.Base(c.From), to, path.Base(c.To))
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := to.root.Lstat(path.Base(c.To)); there == nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(to.sync(), from.sync())
}

// deriveFile makes a file out of another one. Killed in between, it is made
// again from the same source.
func (e *Edits) deriveFile(c spec.DeriveFile) error {
	old, err := e.root.ReadFile(c.From)
	if err != nil {
		return err
	}
	return e.createFile(c.To, string(c.Make(old)))
}

// archiveFolder moves a folder as a whole. A crash leaves it at its old place
// or at its new one; when it is gone from the old one it is archived.
func (e *Edits) archiveFolder(c spec.ArchiveFolder) error {
	from, err := e.disk.within(e.root, path.Dir(c.From))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.close()
	name, as := path.Base(c.From), path.Base(c.To)
	info, err := from.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return from.sync()
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no folder")
	}
	to, err := e.disk.make(e.root, path.Dir(c.To))
	if err != nil {
		return err
	}
	defer to.close()
	for n := 1; ; n++ {
		err := from.move(name, to, as)
		switch {
		case err == nil:
			return errors.Join(to.sync(), from.sync())
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		as = fmt.Sprintf("%s_%d", path.Base(c.To), n)
	}
}

func (e *Edits) setField(ctx context.Context, c spec.SetField) error {
	return e.rewrite(ctx, c.Path, func(old []byte) ([]byte, error) {
		now, ok := markdown.Value(old, c.Key)
		switch {
		case ok && now == c.Value:
			return old, nil
		case now != c.Was:
			return nil, fmt.Errorf("%w: %s is %q, not %q", ErrChanged, c.Key, now, c.Was)
		}
		return markdown.SetValue(old, c.Key, c.Value)
	})
}

func (e *Edits) managedBlock(ctx context.Context, c spec.ManagedBlock) error {
	set := func(old []byte) ([]byte, error) { return setBlock(old, c.Begin, c.End, c.Lines) }
	err := e.rewrite(ctx, c.Path, set)
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrChanged) {
		return err
	}
	text, err := set(nil)
	if err != nil {
		return err
	}
	if err := e.createFile(c.Path, string(text)); err != nil {
		return err
	}
	return e.rewrite(ctx, c.Path, set) // somebody else may have made it just now
}

// setBlock makes the lines between two marker lines what lines says, in the
// ending of the text's own lines; markers that are missing come last.
func setBlock(text []byte, begin, end string, lines []string) ([]byte, error) {
	first, from := findLine(text, begin, 0)
	newline := "\n"
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		newline = "\r\n"
	}
	var block strings.Builder
	for _, line := range lines {
		block.WriteString(line + newline)
	}
	if first < 0 {
		gap := ""
		if len(text) > 0 && text[len(text)-1] != '\n' {
			gap = newline
		}
		return slices.Concat(text, []byte(gap+begin+newline+block.String()+end+newline)), nil
	}
	to, _ := findLine(text, end, from)
	if to < 0 {
		return nil, &markdown.NotEditableError{
			Key: begin, Line: 1 + bytes.Count(text[:first], []byte("\n")),
			Why: "there is no line " + end + " after it; add that line",
		}
	}
	return slices.Concat(text[:from], []byte(block.String()), text[to:]), nil
}

// findLine finds a line from an offset on, blanks at its end aside: where it
// begins and where the next one does; -1 when there is none.
func findLine(text []byte, line string, from int) (start, next int) {
	for start = from; start < len(text); start = next {
		next = len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			next = start + i + 1
		}
		if string(bytes.TrimRight(text[start:next], " \t\r\n")) == line {
			return start, next
		}
	}
	return -1, -1
}
