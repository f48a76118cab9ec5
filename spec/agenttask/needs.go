package agenttask

import (
	"iter"
	"path"
	"slices"
	"sort"
	"strings"

	"drover/spec"
)

// siblings are the task folders of a group with an index. The listing is
// sorted, so they stand together.
func siblings(dir []spec.Entry, index string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range prefixed(dir, index) {
			if e.Kind != spec.KindDir {
				continue
			}
			if n, ok := parseName(e.Name); ok && n.index == index && !yield(e.Name) {
				return
			}
		}
	}
}

// prefixed are the entries of a listing whose names begin alike.
func prefixed(dir []spec.Entry, prefix string) []spec.Entry {
	i := sort.Search(len(dir), func(i int) bool { return dir[i].Name >= prefix })
	n := sort.Search(len(dir)-i, func(n int) bool { return !strings.HasPrefix(dir[i+n].Name, prefix) })
	return dir[i : i+n]
}

// archived are the folders of a group's archives whose names begin with a
// prefix and that want accepts: agent-task/archive/<YYYY>/<MM>/<group>/<task>.
// Nothing else of the archive is looked at (seed 003: narrow look-up).
func (d *Dialect) archived(t spec.Tree, x *taskFacts, prefix string, want func(entry string) bool) []string {
	var out []string
	root := path.Join(d.Root, "archive")
	for _, year := range t.Dir(root) {
		if len(year.Name) != 4 || !digits(year.Name) {
			continue
		}
		for _, month := range t.Dir(root + "/" + year.Name) {
			if !twoDigits(month.Name) {
				continue
			}
			dir := root + "/" + year.Name + "/" + month.Name
			entries := t.Dir(dir)
			if !x.flat {
				if !spec.HasEntry(entries, x.group) {
					continue
				}
				dir += "/" + x.group
				entries = t.Dir(dir)
			}
			for _, e := range prefixed(entries, prefix) {
				if e.Kind == spec.KindDir && want(e.Name) {
					out = append(out, dir+"/"+e.Name)
				}
			}
		}
	}
	return out
}

// passed reports whether a folder holds a verified complete.log of a task: its
// header names the task, and it says PASS once.
func passed(t spec.Tree, dir, task string) bool {
	f, ok := t.Doc(path.Join(dir, "complete.log")).Facts.(*facts)
	return ok && f.HasHead && f.Task == task && len(f.Verdicts) == 1 && f.Verdicts[0] == "PASS"
}

// passedAs is the name of the task that an archived folder completes: its own,
// or the one before "_<n>" (DIALECTS 1.4); "" for none.
func passedAs(t spec.Tree, dir, group string) string {
	base := path.Base(dir)
	if passed(t, dir, group+"/"+base) {
		return group + "/" + base
	}
	if i := strings.LastIndexByte(base, '_'); i > 0 && digits(base[i+1:]) && passed(t, dir, group+"/"+base[:i]) {
		return group + "/" + base[:i]
	}
	return ""
}

// activePair reports whether a PLAN or CODE_REVIEW stands in a folder.
func activePair(dir []spec.Entry) bool {
	for _, e := range dir {
		switch parseFile(e.Name).kind {
		case planFile, reviewFile:
			return true
		}
	}
	return false
}

// dependsOn are the names of the tasks that must be complete first.
func (d *Dialect) dependsOn(t spec.Tree, x *taskFacts) []string {
	var out []string
	for index := range x.name.after() {
		known := false
		for n := range siblings(t.Dir(path.Join(d.Root, x.group)), index) {
			out, known = append(out, x.group+"/"+n), true
		}
		if !known {
			out = append(out, x.group+"/"+index)
		}
	}
	return out
}

// cycle is the path of a dependency cycle that goes through the task, nil for
// none. It begins and ends with the first of its names, so that all members
// tell the same path. Only active folders can form one.
func (d *Dialect) cycle(t spec.Tree, x *taskFacts) []string {
	dir := path.Join(d.Root, x.group)
	if x.name.needs == "" || !ascends(t.Dir(dir)) {
		return nil
	}
	done := map[string]bool{}
	for {
		trail := loop(t.Dir(dir), x.base, done)
		i := slices.IndexFunc(trail, func(name string) bool {
			return !done[name] && d.standsComplete(t, path.Join(dir, name), x.group+"/"+name)
		})
		if i < 0 {
			return fromFirst(trail)
		}
		done[trail[i]] = true
	}
}

// ascends reports whether any task of a group comes after its own number or a
// higher one: without such a step there is no way round. It allocates nothing,
// since every waiting task of a large group asks.
func ascends(dir []spec.Entry) bool {
	for _, e := range dir {
		number, _, _ := strings.Cut(e.Name, "_")
		if len(number) < 2 {
			continue
		}
		for rest := number[2:]; len(rest) >= 3; rest = rest[3:] {
			if rest[1:3] >= number[:2] {
				return true
			}
		}
	}
	return false
}

// standsComplete reports whether an active folder is one that needs nothing
// more: complete, or without any file of a task.
func (d *Dialect) standsComplete(t spec.Tree, dir, name string) bool {
	entries := t.Dir(dir)
	return !isTask(entries) || !activePair(entries) && passed(t, dir, name)
}

// loop walks from a task over what it needs until it comes back, leaving out
// what is done; nil when it never does.
func loop(dir []spec.Entry, from string, done map[string]bool) []string {
	seen := map[string]bool{}
	trail := []string{from}
	var walk func(name string) bool
	walk = func(name string) bool {
		n, _ := parseName(name)
		for index := range n.after() {
			for next := range siblings(dir, index) {
				if next == from && !done[next] {
					return true
				}
				if seen[next] || done[next] {
					continue
				}
				seen[next] = true
				trail = append(trail, next)
				if walk(next) {
					return true
				}
				trail = trail[:len(trail)-1]
			}
		}
		return false
	}
	if !walk(from) {
		return nil
	}
	return trail
}

// fromFirst turns a loop so that its first name begins and ends it.
func fromFirst(trail []string) []string {
	if len(trail) == 0 {
		return nil
	}
	i := slices.Index(trail, slices.Min(trail))
	return slices.Concat(trail[i:], trail[:i+1])
}
