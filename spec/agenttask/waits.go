package agenttask

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"drover/spec"
)

// need is how one predecessor stands.
type need struct {
	index  string
	done   int      // completions found
	active []string // full names of unfinished tasks with the index
	looked []string // where it was looked for
}

func (n *need) open(name, where string) {
	n.active = append(n.active, name)
	n.looked = append(n.looked, where)
}

// predecessor looks for the one complete.log of an index: in active siblings,
// then in the archive. An active folder beats an archive of its name (seed
// 003, dependencies), and keeps waiting what an older archive of the same
// number would let go: a start cannot be taken back.
func (d *Dialect) predecessor(t spec.Tree, x *taskFacts, index string, w spec.World) need {
	n := need{index: index}
	group := path.Join(d.Root, x.group)
	var active []string
	for base := range siblings(t.Dir(group), index) {
		dir, name := path.Join(group, base), x.group+"/"+base
		entries := t.Dir(dir)
		switch {
		case !isTask(entries):
			continue
		case activePair(entries):
			n.open(name, "in "+dir+"/: still active")
		case !passed(t, dir, name):
			n.open(name, "in "+dir+"/: no complete.log")
		default:
			n.complete(dir, name, w)
		}
		active = append(active, base)
	}
	found := d.archived(t, x, index, func(entry string) bool {
		name, ok := parseName(entry)
		return ok && name.index == index &&
			!slices.ContainsFunc(active, func(a string) bool { return archiveOf(entry, a) })
	})
	for _, dir := range found {
		if name := passedAs(t, dir, x.group); name != "" {
			n.complete(dir, name, w)
		} else {
			n.looked = append(n.looked, "in "+dir+"/: no complete.log")
		}
	}
	if len(active) == 0 {
		n.looked = append(n.looked, fmt.Sprintf("in %s/%s…: not there", group, index))
	}
	if len(found) == 0 {
		n.looked = append(n.looked, fmt.Sprintf("in the archive, %s/%s…: not there", x.group, index))
	}
	return n
}

// complete counts a completion, if it may count by now: a task is judged when
// its attempt has ended, and one that reviewed itself is not complete
// (DIALECTS 1.4).
func (n *need) complete(dir, name string, w spec.World) {
	rec := w.Record(spec.TaskID{Dialect: Name, Name: name})
	switch {
	case rec != nil && rec.Active != "":
		n.open(name, "in "+dir+"/: complete, but its attempt has not ended")
	case !reviewed(rec):
		n.open(name, "in "+dir+"/: complete, but never reviewed")
	default:
		n.done++
	}
}

// waits says which predecessor keeps a task back; a zero reason means none.
func (d *Dialect) waits(t spec.Tree, x *taskFacts, w spec.World) (spec.State, spec.Reason) {
	if x.name.needs == "" {
		return spec.StateReady, spec.Reason{}
	}
	if cycle := d.cycle(t, x); cycle != nil {
		return spec.StateBlocked, ringReason(x, cycle)
	}
	var reason spec.Reason
	for _, index := range slices.Compact(slices.Sorted(x.name.after())) {
		n := d.predecessor(t, x, index, w)
		if n.done > 1 {
			return spec.StateBlocked, spec.Reason{
				Code: spec.PredecessorAmbiguous, Detail: fmt.Sprintf("%s has %d complete.log, not one", index, n.done),
				Looked: n.looked, Resume: "leave one of them",
			}
		}
		if n.done == 0 || len(n.active) > 0 {
			d.addTo(&reason, t, x, n, w)
		}
	}
	return spec.StateWaiting, reason
}

// ringReason names a ring once, at its first member; the others point there.
func ringReason(x *taskFacts, cycle []string) spec.Reason {
	r := spec.Reason{
		Code: spec.Cycle, Detail: strings.Join(cycle, " → "), File: x.dir,
		Resume: "take one of the numbers after + out of a folder's name",
	}
	if first := x.group + "/" + cycle[0]; first != x.fullName() {
		r.Detail, r.WaitsFor = "in the ring that "+first+" names", []string{first}
	}
	return r
}

// addTo adds an unfinished predecessor to what a task waits for. One that is
// blocked, or nowhere, is named as such: it needs a person first.
func (d *Dialect) addTo(r *spec.Reason, t spec.Tree, x *taskFacts, n need, w spec.World) {
	names := n.active
	if len(names) == 0 {
		names = remembered(x.group, n.index, w)
	}
	code, text := spec.PredecessorIncomplete, n.index+" has no complete.log"
	root := ""
	for _, name := range names {
		if !anyBlocked(x.group, w) {
			break
		}
		if root = d.stuck(t, x.group, name, w, map[string]bool{}); root != "" {
			break
		}
	}
	switch {
	case root != "" && slices.Contains(names, root):
		code, text = spec.PredecessorBlocked, n.index+" is blocked"
	case root != "":
		code, text = spec.PredecessorBlocked, fmt.Sprintf("%s waits for %s, which is blocked", n.index, root)
	case len(names) == 0:
		names = []string{x.group + "/" + n.index}
		code, text = spec.UnknownPredecessor, n.index+" has no complete.log, and the group has no such task"
	case n.done > 0:
		text = n.index + " is active again beside its archive"
	}
	if r.Code == "" || weight(code) > weight(r.Code) {
		r.Code = code
	}
	if r.Detail != "" {
		r.Detail += "; "
	}
	r.Detail += text
	r.WaitsFor = append(r.WaitsFor, names...)
	r.Looked = append(r.Looked, n.looked...)
}

// weight orders the reasons of several predecessors: what needs a person most
// is the task's own.
func weight(c spec.Code) int {
	switch c {
	case spec.PredecessorBlocked:
		return 2
	case spec.UnknownPredecessor:
		return 1
	}
	return 0
}

// remembered are blocked tasks of the memory with an index whose folders are
// gone: the predecessor has vanished.
func remembered(group, index string, w spec.World) []string {
	if w.Memory == nil || w.Memory.Groups[group] == nil {
		return nil
	}
	var out []string
	for name, state := range w.Memory.Groups[group].Tasks {
		if n, ok := parseName(path.Base(name)); ok && n.index == index && state == string(spec.StateBlocked) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// anyBlocked reports whether a task of the group is blocked: without one
// nobody needs to look further along the chain.
func anyBlocked(group string, w spec.World) bool {
	if w.Memory == nil || w.Memory.Groups[group] == nil {
		return false
	}
	for _, state := range w.Memory.Groups[group].Tasks {
		if state == string(spec.StateBlocked) {
			return true
		}
	}
	return false
}

// stuck is the blocked task that a task is or waits for, at whatever distance;
// "" for none.
func (d *Dialect) stuck(t spec.Tree, group, name string, w spec.World, seen map[string]bool) string {
	if seen[name] || w.Memory == nil {
		return ""
	}
	seen[name] = true
	if g := w.Memory.Groups[group]; g != nil && g.Tasks[name] == string(spec.StateBlocked) {
		return name
	}
	n, _ := parseName(path.Base(name))
	for index := range n.after() {
		for base := range siblings(t.Dir(path.Join(d.Root, group)), index) {
			if root := d.stuck(t, group, group+"/"+base, w, seen); root != "" {
				return root
			}
		}
	}
	return ""
}
