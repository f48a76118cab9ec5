package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"drover/spec"
	"drover/spec/markdown"
)

// selector turns the words of a SELECTOR into one question: a glob over names,
// or a prefix of whole path components (COMMANDS 1). No words accept all.
func selector(words []string, group string) (func(spec.TaskID) bool, error) {
	for _, w := range words {
		if !doublestar.ValidatePattern(w) {
			return nil, usageError("%q is no glob", w)
		}
	}
	if len(words) == 0 && group == "" {
		return nil, nil
	}
	return func(id spec.TaskID) bool {
		if group != "" && id.Name != group && path.Dir(id.Name) != group {
			return false
		}
		return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return selects(w, id.Name) })
	}, nil
}

func selects(word, name string) bool {
	word = strings.TrimSuffix(word, "/")
	if name == word || strings.HasPrefix(name, word+"/") {
		return true
	}
	if ok, _ := doublestar.Match(word, name); ok {
		return true
	}
	ok, _ := doublestar.Match(word+"/**", name)
	return ok && strings.ContainsAny(word, "*?[{")
}

// find resolves a TASK: its full name, a path of one of its files, or a part
// that only one has.
func (a *App) find(rows []spec.Row, word string) (spec.Row, error) {
	var exact, inside, parts []spec.Row
	file := a.workspacePath(word)
	for _, r := range rows {
		dir := taskFolder(r)
		switch {
		case r.Task == word, dir != "" && (file == r.File || file == dir):
			exact = append(exact, r)
		case dir != "" && path.Dir(file) == dir:
			inside = append(inside, r)
		case hasIndex(r.Task, word):
			parts = append(parts, r)
		}
	}
	if len(exact) == 0 {
		exact = inside // of a group that is one task, another's folder is inside
	}
	if len(exact) == 0 && len(parts) == 0 {
		for _, r := range rows {
			if strings.Contains(r.Task, word) {
				parts = append(parts, r)
			}
		}
	}
	found := exact
	if len(found) == 0 {
		found = parts
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return spec.Row{}, unknownTask(rows, word)
	}
	e := &exitError{exit: exitFailed, code: "ambiguous-task", message: fmt.Sprintf("%q could be %d tasks:", word, len(found))}
	for _, r := range found {
		e.near = append(e.near, r.Task)
	}
	return spec.Row{}, e
}

// taskFolder is where a task's documents stand, "" where it has none.
func taskFolder(r spec.Row) string {
	if path.Ext(r.File) == ".md" {
		return path.Dir(r.File)
	}
	return r.File
}

func unknownTask(rows []spec.Row, word string) error {
	var names []string
	for _, r := range rows {
		names = append(names, r.Task)
	}
	e := &exitError{exit: exitFailed, code: "unknown-task", message: fmt.Sprintf("there is no task %q; see: drover list", word)}
	if near := markdown.Nearest(word, names); near != "" {
		e.near = []string{near}
		e.message = fmt.Sprintf("there is no task %q, did you mean %s?", word, near)
	}
	return e
}

// hasIndex reports whether a word is the number or the slug of a task's own
// name: "02" or "reader" of ledger/02+01_reader.
func hasIndex(task, word string) bool {
	base := path.Base(task)
	number, slug, ok := strings.Cut(base, "_")
	if !ok {
		return base == word
	}
	index, _, _ := strings.Cut(number, "+")
	return word == index || word == number || word == slug || word == base
}

// workspacePath is an existing path as the workspace names it, "" for none.
func (a *App) workspacePath(word string) string {
	if !strings.Contains(word, "/") && !strings.HasSuffix(word, ".md") {
		return ""
	}
	abs := word
	if !filepath.IsAbs(abs) {
		base, err := filepath.Abs(a.Dir)
		if err != nil {
			return ""
		}
		abs = filepath.Join(base, word)
	}
	// A document that is a link is meant itself, not what it leads to.
	if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(real, filepath.Base(abs))
	}
	rel, err := filepath.Rel(a.State.Root, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return ""
	}
	return filepath.ToSlash(rel)
}
