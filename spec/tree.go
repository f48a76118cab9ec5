package spec

import (
	"path"
	"slices"
	"sort"
	"strings"
)

// Tree is one snapshot of the workspace's files. Within a snapshot the same
// question always has the same answer, so what a dialect computes from it is
// a function of the snapshot. Answers are found on demand: a dialect that
// never asks for a path costs nothing for it (seed 003: narrow look-ups).
//
// Paths are workspace-relative, slash-separated and clean; "." is the root.
type Tree interface {
	// Dir lists a folder's entries by name; nil when it is not a folder.
	Dir(path string) []Entry
	// Doc is what the dialect's reader made of a file.
	Doc(path string) Doc
	// Sum is a hash of a file's content, "" when there is no such file. It is
	// for telling whether anything changed, never for security.
	Sum(path string) string
}

// Entry is one name in a folder.
type Entry struct {
	Name string
	Kind EntryKind
}

// EntryKind tells files from folders; a symlink that leaves the workspace or
// leads nowhere is KindOther.
type EntryKind uint8

// The kinds of entry.
const (
	KindFile EntryKind = iota
	KindDir
	KindOther
)

// DocState says whether a document can be used.
type DocState uint8

// The states of a document.
const (
	DocAbsent   DocState = iota
	DocWhole             // read and understood as far as Facts say
	DocUnstable          // somebody is writing it: look again, it is no problem
	DocBad               // cannot be used; Problem says why
)

// Doc is one file of a snapshot as its dialect's reader understood it.
type Doc struct {
	State   DocState
	Facts   Facts   // of DocWhole
	Problem Problem // of DocBad
}

// Facts are what a dialect's reader keeps of one file: small, immutable, and
// able to survive the process in the cache.
type Facts interface {
	// AppendBinary appends an encoding that the dialect's Decode understands.
	AppendBinary(b []byte) ([]byte, error)
}

// Problem is a file that cannot be understood. Line is from 1, 0 for the file
// as a whole. It is listed, never retried; the next edit is the retry.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Code string `json:"code"`
	// Message names the rule that is broken and the remedy.
	Message string `json:"message"`
}

func (p Problem) Error() string { return p.Message }

// MapTree is a Tree made of file texts, for tests of pure code.
type MapTree struct {
	Files map[string]string
	// Read is the dialect's reader.
	Read func(path string, text []byte) (Facts, *Problem)
}

// Dir implements Tree.
func (m MapTree) Dir(dir string) []Entry {
	kinds := map[string]EntryKind{}
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	for p := range m.Files {
		rest, ok := strings.CutPrefix(p, prefix)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			kinds[name] = KindDir
		} else if name != "" {
			kinds[name] = KindFile
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	var out []Entry
	for name, kind := range kinds {
		out = append(out, Entry{name, kind})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Doc implements Tree.
func (m MapTree) Doc(p string) Doc {
	text, ok := m.Files[path.Clean(p)]
	if !ok {
		return Doc{}
	}
	facts, problem := m.Read(p, []byte(text))
	if problem != nil {
		return Doc{State: DocBad, Problem: *problem}
	}
	return Doc{State: DocWhole, Facts: facts}
}

// Sum implements Tree.
func (m MapTree) Sum(p string) string { return m.Files[path.Clean(p)] }

// HasEntry reports whether a folder's listing holds name.
func HasEntry(dir []Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(dir, name, func(e Entry, n string) int { return strings.Compare(e.Name, n) })
	return ok
}
