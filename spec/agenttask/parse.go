package agenttask

import (
	"fmt"
	"path"
	"strings"

	"drover/spec"
)

// taskFacts are what the documents of one task say.
type taskFacts struct {
	dir    string // workspace-relative
	group  string
	base   string // the task's own name; of a flat group, the group's
	flat   bool   // the pair stands in the group's folder itself
	name   taskName
	gone   bool // no file of it is there
	plan   *document
	review *document
	user   *document
	done   *document // complete.log
	logs   []document
	// wrong is what breaks the contract, nil for nothing.
	wrong *spec.Reason
	// busy: a document is being written at this moment.
	busy bool
}

// document is one file of a task.
type document struct {
	path string
	fileName
	*facts
}

// Parse implements spec.Dialect.
func (d *Dialect) Parse(t spec.Tree, u spec.Unit) spec.Graph {
	g := spec.Graph{Unit: u}
	x, ok := d.place(u.Key)
	if !ok {
		return g
	}
	d.collect(t, x)
	tags := d.generation(x)
	out := spec.Task{
		ID: spec.TaskID{Dialect: Name, Name: x.fullName()}, Group: x.group, Generation: tags,
		Gone: x.gone, DependsOn: d.dependsOn(t, x), Facts: x,
	}
	switch {
	case x.plan != nil:
		out.Doc, out.Title, out.Route = x.plan.path, x.plan.Title, strings.TrimPrefix(x.plan.slot(), "-")
		out.Status = x.plan.Status
	case x.review != nil:
		out.Doc, out.Title = x.review.path, x.review.Title
	case !x.gone:
		out.Doc = x.dir
	}
	g.Tasks = []spec.Task{out}
	return g
}

// place finds what a unit's path means.
func (d *Dialect) place(key string) (*taskFacts, bool) {
	rest, ok := strings.CutPrefix(key, d.Root+"/")
	if !ok {
		return nil, false
	}
	group, base, sub := strings.Cut(rest, "/")
	x := &taskFacts{dir: key, group: group, base: group, flat: !sub}
	if sub {
		x.base = base
		if x.name, ok = parseName(base); !ok {
			return nil, false
		}
	}
	return x, true
}

func (x *taskFacts) fullName() string {
	if x.flat {
		return x.group
	}
	return x.group + "/" + x.base
}

// collect reads the files of the task's folder.
func (d *Dialect) collect(t spec.Tree, x *taskFacts) {
	x.gone = true
	for _, e := range t.Dir(x.dir) {
		name := parseFile(e.Name)
		if name.kind == otherFile || name.kind == ignoreFile || e.Kind == spec.KindDir {
			continue
		}
		x.gone = false
		x.take(t, path.Join(x.dir, e.Name), name)
	}
	if x.wrong == nil {
		x.check()
	}
}

// take reads one file, and notes the first thing that is wrong.
func (x *taskFacts) take(t spec.Tree, p string, name fileName) {
	if name.kind == misnamed {
		x.fault(p, 0, "the file's name is not PLAN-<local|cloud>-G<01..10>.md, and likewise CODE_REVIEW; rename it")
		return
	}
	doc := t.Doc(p)
	switch doc.State {
	case spec.DocUnstable:
		x.busy = true
		return
	case spec.DocBad:
		if name.kind != planLog && name.kind != reviewLog {
			x.fault(doc.Problem.File, doc.Problem.Line, doc.Problem.Message)
		}
		return
	case spec.DocAbsent:
		return
	}
	f, ok := doc.Facts.(*facts)
	if !ok {
		return
	}
	x.sort(&document{p, name, f})
}

func (x *taskFacts) sort(doc *document) {
	twice := func(was **document) {
		if *was != nil {
			x.fault(doc.path, 0, fmt.Sprintf("a second one beside %s; keep one", path.Base((*was).path)))
			return
		}
		*was = doc
	}
	switch doc.kind {
	case planFile:
		twice(&x.plan)
	case reviewFile:
		twice(&x.review)
	case userReviewFile:
		x.user = doc
	case completeFile:
		x.done = doc
	case planLog, reviewLog:
		x.logs = append(x.logs, *doc)
	}
}

func (x *taskFacts) fault(file string, line int, message string) {
	if x.wrong == nil {
		x.wrong = &spec.Reason{Code: spec.ContractError, Detail: message, File: file, Line: line}
	}
}

// check looks at what the files say of each other.
func (x *taskFacts) check() {
	want := x.fullName()
	for _, doc := range []*document{x.plan, x.review} {
		if doc != nil && doc.HasHead && doc.Task != "" && doc.Task != want {
			x.fault(doc.path, 1, fmt.Sprintf("the header's task is %q, but the folder is %q; make them one", doc.Task, want))
		}
	}
	p, r := x.plan, x.review
	if p != nil && r != nil {
		if p.lane != r.lane || p.grade != r.grade {
			x.fault(r.path, 0, fmt.Sprintf("the review's lane and grade are not those of %s", path.Base(p.path)))
		}
		if p.HasHead && r.HasHead && p.Plan != r.Plan {
			x.fault(r.path, 1, fmt.Sprintf("the review is of plan %d, but %s is plan %d", r.Plan, path.Base(p.path), p.Plan))
		}
	}
	x.checkUserReview()
}

// checkUserReview: a stop for a person counts only when it says everything
// that is needed to go on (seed 003).
func (x *taskFacts) checkUserReview() {
	if x.user == nil {
		return
	}
	switch {
	case x.plan != nil || x.review != nil:
		x.fault(x.user.path, 0, "stands beside an active PLAN or CODE_REVIEW; a task waits for a person or runs, not both")
	case len(x.user.Missing) > 0:
		x.fault(x.user.path, 0, "is not whole; wanted, and not 없음 or 미정: "+strings.Join(x.user.Missing, ", "))
	}
}

// generation is what the task currently asks for: of the active pair, else of
// the newest archived one.
func (d *Dialect) generation(x *taskFacts) spec.Generation {
	newest := x.newest()
	doc := x.plan
	switch {
	case doc != nil:
	case x.review != nil && x.review.HasHead, x.review != nil && newest == nil:
		doc = x.review
	case x.done != nil && x.review == nil:
		doc = x.done
	default:
		doc = newest
	}
	g := spec.Generation{Tag: defaultTag(x.base)}
	switch {
	case doc == nil:
	case doc.HasHead:
		g.Plan = doc.Plan
		if doc.Tag != "" {
			g.Tag = doc.Tag
		}
	case doc.kind == planLog:
		g.Plan = doc.k
	case newest != nil: // a dropped-in PLAN follows the rounds in its folder
		g.Plan = newest.k + 1
	}
	return g
}

// newest is the log of the last plan, nil for none.
func (x *taskFacts) newest() *document {
	var doc *document
	for i := range x.logs {
		if l := &x.logs[i]; l.kind == planLog && (doc == nil || l.k > doc.k) {
			doc = l
		}
	}
	return doc
}

// defaultTag is the tag of a task whose PLAN names none.
func defaultTag(base string) string {
	if n, ok := parseName(base); ok {
		base = n.slug
	}
	return strings.ToUpper(base)
}
