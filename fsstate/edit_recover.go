package fsstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// note remembers, before the first exchange, that a document may have a swap
// file beside it.
func (e *Edits) note(p string) error {
	if err := e.disk.MakeFolder(e.notes); err != nil {
		return err
	}
	return e.disk.WriteFile(e.notePath(p), []byte(p), 0o600)
}

func (e *Edits) unnote(p string) error { return e.disk.removeGone(e.notePath(p)) }

func (e *Edits) notePath(p string) string { return filepath.Join(e.notes, sum([]byte(p))) }

// Recover ends the edits that a crash interrupted; the owner calls it before
// its first pass. A person's edit that an exchange had brought out goes back
// into its document. saved names the rare ones whose document was changed
// again since: they are kept beside it, under the names returned.
func (e *Edits) Recover(ctx context.Context) (saved []string, err error) {
	notes, err := os.ReadDir(e.notes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("recover edits: %w", err)
	}
	for _, n := range notes {
		if err := ctx.Err(); err != nil {
			return saved, err
		}
		kept, err := e.recoverNote(filepath.Join(e.notes, n.Name()))
		saved = append(saved, kept...)
		if err != nil {
			return saved, fmt.Errorf("recover edits: %w", err)
		}
	}
	return saved, nil
}

func (e *Edits) recoverNote(note string) ([]string, error) {
	text, err := os.ReadFile(note)
	if err != nil {
		return nil, err
	}
	p := path.Clean(string(text))
	if e.notePath(p) != note { // a torn note: its exchange never began
		return nil, e.disk.removeGone(note)
	}
	lock := e.stripe(p)
	lock.Lock()
	defer lock.Unlock()
	f, err := e.disk.within(e.root, path.Dir(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, e.disk.removeGone(note)
	}
	if err != nil {
		return nil, err
	}
	defer f.close()
	return e.recover(f, p)
}

// recover ends the exchange of a document that has a note.
func (e *Edits) recover(f *folder, p string) (saved []string, err error) {
	if !exists(e.notePath(p)) {
		return nil, nil
	}
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		sums, ok := strings.CutPrefix(entry.Name(), swapPrefix(path.Base(p)))
		if !ok {
			continue
		}
		read, made, _ := strings.Cut(sums, "-")
		kept, err := f.settle(entry.Name(), path.Base(p), read, made)
		if err != nil {
			return saved, err
		}
		if kept != "" {
			saved = append(saved, path.Join(path.Dir(p), kept))
		}
	}
	if err := f.clear(path.Base(p)); err != nil {
		return saved, err
	}
	return saved, e.unnote(p)
}

// settle ends one exchange. A swap file that holds what was read or what was
// made has served; anything else is somebody's edit that came out.
func (f *folder) settle(swap, name, read, made string) (saved string, err error) {
	out, err := f.root.ReadFile(swap)
	if err != nil {
		return "", err
	}
	if s := sum(out); s == read || s == made {
		return "", f.remove(swap)
	}
	if doc, err := f.root.ReadFile(name); err == nil && sum(doc) == made {
		if err := f.exchange(swap, name); err != nil && !unsupported(err) {
			return "", err
		}
		if back, err := f.root.ReadFile(swap); err == nil && sum(back) == made {
			if err := f.remove(swap); err != nil {
				return "", err
			}
			return "", f.sync()
		}
	}
	saved = "." + name + ".drover-saved-" + sum(out)
	if err := f.move(swap, f, saved); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return saved, f.sync()
}
