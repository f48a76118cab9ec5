package agenttask

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"drover/spec"
)

// siblings are the task folders of a group with an index. The listing is
// sorted, so they stand together.
func siblings(dir []spec.Entry, index string) []string {
	var out []string
	i := sort.Search(len(dir), func(i int) bool { return dir[i].Name >= index })
	for ; i < len(dir) && strings.HasPrefix(dir[i].Name, index); i++ {
		if dir[i].Kind != spec.KindDir {
			continue
		}
		if n, ok := parseName(dir[i].Name); ok && n.index == index {
			out = append(out, dir[i].Name)
		}
	}
	return out
}

// archived are the folders of a group's archives whose names want accepts:
// agent-task/archive/<YYYY>/<MM>/<group>/<task>. Nothing else of the archive
// is looked at (seed 003: narrow look-up).
func (d *Dialect) archived(t spec.Tree, x *taskFacts, want func(entry string) bool) []string {
	var out []string
	root := path.Join(d.Root, "archive")
	for _, year := range t.Dir(root) {
		if len(year.Name) != 4 || !digits(year.Name) {
			continue
		}
		for _, month := range t.Dir(path.Join(root, year.Name)) {
			if !twoDigits(month.Name) {
				continue
			}
			dir := path.Join(root, year.Name, month.Name)
			groups := t.Dir(dir)
			if x.flat {
				for _, e := range groups {
					if e.Kind == spec.KindDir && want(e.Name) {
						out = append(out, path.Join(dir, e.Name))
					}
				}
				continue
			}
			if !spec.HasEntry(groups, x.group) {
				continue
			}
			for _, e := range t.Dir(path.Join(dir, x.group)) {
				if e.Kind == spec.KindDir && want(e.Name) {
					out = append(out, path.Join(dir, x.group, e.Name))
				}
			}
		}
	}
	return out
}

// passed reports whether a folder holds a verified complete.log of a task, and
// its generation.
func passed(t spec.Tree, dir, task string) (spec.Generation, bool) {
	doc := t.Doc(path.Join(dir, "complete.log"))
	f, ok := doc.Facts.(*facts)
	if !ok || len(f.Verdicts) != 1 || f.Verdicts[0] != "PASS" || f.HasHead && f.Task != task {
		return spec.Generation{}, false
	}
	return spec.Generation{Plan: f.Plan, Tag: f.Tag}, true
}

// need is how one predecessor stands.
type need struct {
	index  string
	done   int      // completions found
	active []string // full names of unfinished siblings with the index
	looked []string
}

// predecessor looks for the one complete.log of an index: in active siblings,
// then in the archive. An active folder beats an archive of its name.
func (d *Dialect) predecessor(t spec.Tree, x *taskFacts, index string) need {
	n := need{index: index}
	group := path.Join(d.Root, x.group)
	active := siblings(t.Dir(group), index)
	for _, name := range active {
		dir := path.Join(group, name)
		if activePair(t.Dir(dir)) {
			n.active = append(n.active, x.group+"/"+name)
			n.looked = append(n.looked, "in "+dir+"/: still active")
			continue
		}
		if _, ok := passed(t, dir, x.group+"/"+name); ok {
			n.done++
			continue
		}
		n.active = append(n.active, x.group+"/"+name)
		n.looked = append(n.looked, "in "+dir+"/: no complete.log")
	}
	found := d.archived(t, x, func(entry string) bool {
		name, ok := parseName(entry)
		if !ok || name.index != index {
			return false
		}
		return !slices.ContainsFunc(active, func(a string) bool { return archiveOf(entry, a) })
	})
	for _, dir := range found {
		if d.passedAny(t, dir, x.group) {
			n.done++
			continue
		}
		n.looked = append(n.looked, "in "+dir+"/: no complete.log")
	}
	if len(active) == 0 {
		n.looked = append(n.looked, fmt.Sprintf("in %s/%s…: not there", group, index))
	}
	if len(found) == 0 {
		n.looked = append(n.looked, fmt.Sprintf("in the archive, %s/%s…: not there", x.group, index))
	}
	return n
}

// passedAny accepts the folder's own name and the one before "_<n>".
func (d *Dialect) passedAny(t spec.Tree, dir, group string) bool {
	base := path.Base(dir)
	if _, ok := passed(t, dir, group+"/"+base); ok {
		return true
	}
	if i := strings.LastIndexByte(base, '_'); i > 0 && digits(base[i+1:]) {
		_, ok := passed(t, dir, group+"/"+base[:i])
		return ok
	}
	return false
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

// waits says which predecessor keeps a task back; a zero reason means none.
func (d *Dialect) waits(t spec.Tree, x *taskFacts) (spec.State, spec.Reason) {
	if cycle := d.cycle(t, x); cycle != nil {
		return spec.StateBlocked, spec.Reason{
			Code: spec.Cycle, Detail: strings.Join(cycle, " → "), File: x.dir,
			Resume: "take one of the numbers after + out of a folder's name",
		}
	}
	var reason spec.Reason
	for _, index := range x.name.after {
		n := d.predecessor(t, x, index)
		switch {
		case n.done == 1:
			continue
		case n.done > 1:
			return spec.StateBlocked, spec.Reason{
				Code: spec.PredecessorAmbiguous, Detail: fmt.Sprintf("%s has %d complete.log, not one", index, n.done),
				Looked: n.looked, Resume: "leave one of them",
			}
		}
		n.addTo(&reason, x.group)
	}
	return spec.StateWaiting, reason
}

// addTo adds an unfinished predecessor to what a task waits for. One that is
// nowhere is named as such: nobody can finish it.
func (n need) addTo(r *spec.Reason, group string) {
	code, text := spec.PredecessorIncomplete, n.index+" has no complete.log"
	names := n.active
	if len(names) == 0 {
		code, text = spec.UnknownPredecessor, n.index+" is in no folder of the group and in no archive"
		names = []string{group + "/" + n.index}
	}
	if r.Code == "" || code == spec.UnknownPredecessor {
		r.Code = code
	}
	if r.Detail != "" {
		r.Detail += "; "
	}
	r.Detail += text
	r.WaitsFor = append(r.WaitsFor, names...)
	r.Looked = append(r.Looked, n.looked...)
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

// cycle is the path of a dependency cycle that goes through the task, nil for
// none. Only active folders can form one.
func (d *Dialect) cycle(t spec.Tree, x *taskFacts) []string {
	dir := t.Dir(path.Join(d.Root, x.group))
	if len(x.name.after) == 0 || !ascends(dir) {
		return nil
	}
	seen := map[string]bool{}
	var walk func(name string, trail []string) []string
	walk = func(name string, trail []string) []string {
		n, _ := parseName(name)
		trail = append(trail, name)
		for _, index := range n.after {
			for _, next := range siblings(dir, index) {
				if next == x.base {
					return append(slices.Clone(trail), next)
				}
				if seen[next] {
					continue
				}
				seen[next] = true
				if found := walk(next, trail); found != nil {
					return found
				}
			}
		}
		return nil
	}
	return walk(x.base, nil)
}
