package spectest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"drover/spec"
)

// errExists is a move onto a name that is taken.
var errExists = errors.New("the name is taken")

// Apply is what a change does to a workspace's files, without a disk: the
// meaning that the real editor must have. files stays as it is.
func Apply(files map[string]string, c spec.Change) (map[string]string, error) {
	out := maps.Clone(files)
	if out == nil {
		out = map[string]string{}
	}
	switch c := c.(type) {
	case spec.CreateFile:
		if _, ok := out[c.Path]; !ok {
			out[c.Path] = c.Text
		}
	case spec.MoveFile:
		return out, move(out, c)
	case spec.DeriveFile:
		return out, derive(out, c)
	case spec.ArchiveFolder:
		archive(out, c)
	case spec.ManagedBlock:
		out[c.Path] = block(out[c.Path], c)
	case spec.SetField:
		return nil, fmt.Errorf("set %s of %s: the head's editor is tested by itself", c.Key, c.Path)
	default:
		return nil, fmt.Errorf("unknown change %T", c)
	}
	return out, nil
}

// ApplyAll applies changes in their order.
func ApplyAll(files map[string]string, changes []spec.Change) (map[string]string, error) {
	out := maps.Clone(files)
	for _, c := range changes {
		next, err := Apply(out, c)
		if err != nil {
			return nil, err
		}
		out = next
	}
	return out, nil
}

func move(files map[string]string, c spec.MoveFile) error {
	text, ok := files[c.From]
	_, taken := files[c.To]
	switch {
	case ok && taken:
		return fmt.Errorf("move %s to %s: %w", c.From, c.To, errExists)
	case !ok && !taken:
		return fmt.Errorf("move %s to %s: neither is there", c.From, c.To)
	case ok:
		delete(files, c.From)
		files[c.To] = text
	}
	return nil
}

func derive(files map[string]string, c spec.DeriveFile) error {
	if _, ok := files[c.To]; ok {
		return nil
	}
	text, ok := files[c.From]
	if !ok {
		return fmt.Errorf("make %s: %s is not there", c.To, c.From)
	}
	files[c.To] = string(c.Make([]byte(text)))
	return nil
}

func archive(files map[string]string, c spec.ArchiveFolder) {
	if !hasFolder(files, c.From) {
		return
	}
	to := c.To
	for n := 1; hasFolder(files, to); n++ {
		to = fmt.Sprintf("%s_%d", c.To, n)
	}
	for _, p := range Paths(files) {
		if rest, ok := strings.CutPrefix(p, c.From+"/"); ok {
			files[path.Join(to, rest)] = files[p]
			delete(files, p)
		}
	}
}

// Paths are the paths of a workspace's files in order.
func Paths(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

func hasFolder(files map[string]string, dir string) bool {
	for p := range files {
		if strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

func block(text string, c spec.ManagedBlock) string {
	lines := c.Begin + "\n" + strings.Join(append(c.Lines[:len(c.Lines):len(c.Lines)], c.End), "\n") + "\n"
	before, rest, found := strings.Cut(text, c.Begin+"\n")
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + lines
	}
	_, after, _ := strings.Cut(rest, c.End+"\n")
	return before + lines + after
}
