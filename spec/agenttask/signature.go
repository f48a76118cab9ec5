package agenttask

import (
	"fmt"
	"hash"
	"hash/fnv"
	"path"
	"strconv"
	"strings"

	"drover/spec"
)

// signature is of everything that counts as progress of a review: the write
// set's files and the review's artefacts; never WORK_LOG.md (seed 003,
// convergence).
func (d *Dialect) signature(t spec.Tree, x *taskFacts) string {
	h := fnv.New64a()
	if x.plan != nil {
		for _, p := range x.plan.Writes {
			addPath(h, t, p)
		}
	}
	for _, e := range t.Dir(x.dir) {
		if k := parseFile(e.Name).kind; e.Kind == spec.KindFile && k != otherFile {
			addFile(h, t, path.Join(x.dir, e.Name))
		}
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// addPath adds a file of the write set. A folder counts with the files in it,
// a pattern with its folder's.
func addPath(h hash.Hash, t spec.Tree, p string) {
	if i := strings.IndexAny(p, "*?["); i >= 0 {
		p = path.Dir(p[:i] + "x")
	}
	if sum := t.Sum(p); sum != "" || t.Dir(p) == nil {
		addFile(h, t, p)
		return
	}
	left := mostFiles
	addFolder(h, t, p, &left)
}

// mostFiles bounds how many files of one folder are looked at: a write set
// that names the whole workspace must not cost a walk of it.
const mostFiles = 1000

func addFolder(h hash.Hash, t spec.Tree, dir string, left *int) {
	for _, e := range t.Dir(dir) {
		p := path.Join(dir, e.Name)
		if *left--; *left < 0 {
			return
		}
		switch {
		case strings.HasPrefix(e.Name, "."):
		case e.Kind == spec.KindDir:
			addFolder(h, t, p, left)
		case e.Kind == spec.KindFile:
			addFile(h, t, p)
		}
	}
}

func addFile(h hash.Hash, t spec.Tree, p string) {
	fmt.Fprintf(h, "%s\x00%s\x00", p, t.Sum(p))
}
