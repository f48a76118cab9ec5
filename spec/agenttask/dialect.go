// Package agenttask is the dialect of seed 003: PLAN and CODE_REVIEW pairs in
// agent-task/<group>/<task>/, driven through a worker, for Pi a selfcheck, and
// a review, until a complete.log stands in the archive.
//
// It is pure. A file's lane and grade choose its route; drover never judges
// them again and never renames a pair on its own account.
package agenttask

import (
	"fmt"
	"path"
	"strings"

	"drover/spec"
)

// Name is the dialect's name.
const Name = "agent-task"

// Options are what the settings say of the dialect.
type Options struct {
	Root string // workspace-relative
	// Worker is the ladder of a lane and grade; Plain of a PLAN.md without
	// them; Review of every CODE_REVIEW.
	Worker        func(lane string, grade int) spec.Ladder
	Plain, Review spec.Ladder
	// Finalize says who archives a passed task and writes the next pair:
	// "reviewer" (the seed's) or "drover".
	Finalize  string
	MaxRounds int    // generations that drover writes itself
	Language  string // of the agents' answers: ko or en
}

// Dialect implements spec.Dialect.
type Dialect struct{ Options }

// New is the dialect with its options.
func New(o Options) *Dialect {
	if o.Root == "" {
		o.Root = "agent-task"
	}
	return &Dialect{o}
}

// Name implements spec.Dialect.
func (d *Dialect) Name() string { return Name }

// Roots implements spec.Dialect.
func (d *Dialect) Roots() []string { return []string{d.Root, ".gitignore"} }

func (d *Dialect) drover() bool { return d.Finalize == "drover" }

// Branches implements spec.Dialect: the task groups.
func (d *Dialect) Branches(t spec.Tree) []string {
	var out []string
	for _, e := range t.Dir(d.Root) {
		if e.Kind == spec.KindDir && e.Name != "archive" && !junk(e.Name) {
			out = append(out, e.Name)
		}
	}
	if len(d.strays(t)) > 0 {
		out = append(out, noGroup)
	}
	return out
}

// noGroup is the branch of what lies beside the groups.
const noGroup = "."

// strays are files beside the groups that somebody meant to be tasks.
func (d *Dialect) strays(t spec.Tree) []spec.Problem {
	var out []spec.Problem
	for _, e := range t.Dir(d.Root) {
		p := spec.Problem{File: path.Join(d.Root, e.Name), Code: string(spec.ContractError)}
		switch kind := parseFile(e.Name).kind; {
		case e.Kind == spec.KindOther && !junk(e.Name):
			p.Message = notAFolder
		case e.Kind == spec.KindFile && (kind == planFile || kind == misnamed):
			p.Message = fmt.Sprintf("a PLAN stands in %s/<group>/<task>/ or %s/<group>/; move it there", d.Root, d.Root)
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

const notAFolder = "is no folder, or a link that leads nowhere or out of the workspace; a task is a folder of its own"

// Units implements spec.Dialect: task folders, or the group itself where the
// pair stands directly in it.
func (d *Dialect) Units(t spec.Tree, group string) []spec.Unit {
	if group == noGroup || !isGroup(group) {
		return nil
	}
	dir := path.Join(d.Root, group)
	var out []spec.Unit
	for _, e := range t.Dir(dir) {
		if e.Kind != spec.KindDir {
			continue
		}
		if _, ok := parseName(e.Name); ok && isTask(t.Dir(path.Join(dir, e.Name))) {
			out = append(out, spec.Unit{Dialect: Name, Key: path.Join(dir, e.Name)})
		}
	}
	if isTask(t.Dir(dir)) {
		out = append(out, spec.Unit{Dialect: Name, Key: dir})
	}
	return out
}

// isTask reports whether a folder holds any file of a task.
func isTask(dir []spec.Entry) bool {
	for _, e := range dir {
		if e.Kind != spec.KindDir && parseFile(e.Name).kind != otherFile && e.Name != ".gitignore" {
			return true
		}
	}
	return false
}

// Problems implements spec.Dialect: folders that hold a PLAN but whose names
// break the grammar.
func (d *Dialect) Problems(t spec.Tree, group string) []spec.Problem {
	if group == noGroup {
		return d.strays(t)
	}
	if !isGroup(group) {
		return d.misnamedGroup(t, group)
	}
	dir := path.Join(d.Root, group)
	var out []spec.Problem
	for _, e := range t.Dir(dir) {
		if e.Kind == spec.KindFile || junk(e.Name) {
			continue
		}
		p := path.Join(dir, e.Name)
		if _, ok := parseName(e.Name); ok && e.Kind == spec.KindDir {
			continue
		}
		if e.Kind == spec.KindOther {
			out = append(out, spec.Problem{
				File: p, Code: string(spec.ContractError),
				Message: notAFolder,
			})
			continue
		}
		if plan := planIn(t.Dir(p)); plan != "" {
			out = append(out, spec.Problem{
				File: path.Join(p, plan), Code: string(spec.ContractError),
				Message: fmt.Sprintf("folder name %q is not NN_slug or NN+PP_slug (two digits, then a-z, 0-9 and _); rename it, such as 01_%s", e.Name, slugOf(e.Name)),
			})
		}
	}
	return out
}

// misnamedGroup tells of a group that holds a PLAN but whose name no header
// can hold.
func (d *Dialect) misnamedGroup(t spec.Tree, group string) []spec.Problem {
	dir := path.Join(d.Root, group)
	has := planIn(t.Dir(dir)) != ""
	for _, e := range t.Dir(dir) {
		has = has || e.Kind == spec.KindDir && planIn(t.Dir(path.Join(dir, e.Name))) != ""
	}
	if !has {
		return nil
	}
	return []spec.Problem{{
		File: dir, Code: string(spec.ContractError),
		Message: fmt.Sprintf("group name %q holds a blank or a sign that headers cannot hold; rename the folder, such as %s", group, slugOf(group)),
	}}
}

func planIn(dir []spec.Entry) string {
	for _, e := range dir {
		if e.Kind == spec.KindFile && parseFile(e.Name).kind == planFile {
			return e.Name
		}
	}
	return ""
}

// slugOf makes a proposal for a task's name out of another one.
func slugOf(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	if out := strings.Trim(b.String(), "_"); out != "" {
		return out
	}
	return "task"
}
