package fsstate

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// inode is a folder whatever its name.
type inode struct{ dev, ino uint64 }

// matters reports whether a path lies in a root or on the way to one.
func (x *Watch) matters(rel string) bool {
	for _, r := range x.roots {
		if below(rel, r) || below(r, rel) {
			return true
		}
	}
	return false
}

// below reports whether p is dir or lies in it.
func below(p, dir string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// arrived watches what appeared at rel, if it is a folder. It is called after
// departures too: what is there now may be another folder.
func (x *Watch) arrived(rel string) {
	for _, r := range x.roots {
		switch {
		case below(r, rel):
			x.arm(r, true)
		case below(rel, r):
			if x.ignore == nil || !x.ignore(rel) {
				x.enter(rel, true)
			}
			return
		}
	}
}

// arm watches the folders on the way to a root and then, if it is there, the
// root with all below it. Those above are watched because nothing else tells
// that one of them is renamed.
func (x *Watch) arm(root string, hint bool) {
	if hint {
		x.hint(root)
	}
	if root == "." {
		x.enter(".", hint)
		return
	}
	for i := 0; i <= len(root); i++ {
		if i == 0 {
			x.follow(".")
		} else if i == len(root) {
			x.enter(root, hint)
		} else if root[i] == '/' && !x.follow(root[:i]) {
			return
		}
	}
}

// enter watches a folder, then reads it, then does the same with the folders
// found in it: reading first would miss what comes between. With hint, all
// that is found is hinted at, because nobody saw it arrive.
func (x *Watch) enter(rel string, hint bool) {
	if !x.follow(rel) {
		return
	}
	entries, err := os.ReadDir(filepath.Join(x.root, rel))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		x.refused(rel, err)
	}
	for _, e := range entries {
		p := path.Join(rel, e.Name())
		if hint {
			x.hint(p)
		}
		if e.IsDir() && (x.ignore == nil || !x.ignore(p)) {
			x.enter(p, hint)
		}
	}
}

// follow watches one folder and reports whether it is there. A folder that is
// still watched under the name it had before is first let go with all below
// it, because the system keeps one watch for each and would go on telling the
// old name.
func (x *Watch) follow(rel string) bool {
	if x.notify == nil {
		return false
	}
	abs := filepath.Join(x.root, rel)
	var st unix.Stat_t
	if err := unix.Lstat(abs, &st); err != nil || kindOf(&st) != kindFolder {
		return false
	}
	id := inode{uint64(st.Dev), st.Ino}
	if old, ok := x.paths[id]; ok && old != rel {
		x.drop(old)
	}
	if was, ok := x.watched[rel]; ok && was != id {
		x.drop(rel)
	}
	if err := x.add(x.notify, abs); err != nil {
		x.refused(rel, err)
		return !errors.Is(err, unix.ENOENT)
	}
	x.watched[rel], x.paths[id] = id, rel
	return true
}

// drop lets go of a folder that is gone and of all below it.
func (x *Watch) drop(rel string) {
	if _, ok := x.watched[rel]; !ok {
		return
	}
	for p, id := range x.watched {
		if !below(p, rel) {
			continue
		}
		_ = x.notify.Remove(filepath.Join(x.root, p)) // the system may have let go of it already
		delete(x.watched, p)
		if x.paths[id] == p {
			delete(x.paths, id)
		}
	}
}
