// Package spectest holds what every dialect must keep, whatever its files look
// like. A dialect's own tests call Run with a few workspaces of its kind.
package spectest

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drover/spec"
)

// Fixture is a small workspace of a dialect.
type Fixture struct {
	Name  string
	Files map[string]string
}

// Run holds a dialect to the contract of spec.Dialect on the fixtures and on
// damaged copies of them.
func Run(t *testing.T, d spec.Dialect, fixtures []Fixture) {
	t.Helper()
	if d.Name() == "" || len(d.Roots()) == 0 {
		t.Error("a dialect has a name and roots")
	}
	for _, f := range fixtures {
		t.Run(f.Name, func(t *testing.T) {
			s := suite{d: d, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
			s.facts(t, f.Files)
			s.deterministic(t, f.Files)
			s.fixedPoint(t, f.Files)
			s.everyPrefix(t, f.Files)
			s.gone(t, f.Files)
			rapid.Check(t, func(r *rapid.T) { s.total(r, damage(r, f.Files)) })
		})
	}
}

type suite struct {
	d   spec.Dialect
	now time.Time
}

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (s suite) tree(files map[string]string) spec.MapTree {
	return spec.MapTree{Files: files, Read: s.d.Read}
}

func (s suite) world() spec.World {
	return spec.World{Now: s.now, Root: "/workspace", Memory: spec.NewMemory()}
}

// units are those of the tree, and those that its paths could be taken for.
func (s suite) units(t spec.Tree) []spec.Unit {
	var out []spec.Unit
	for _, b := range s.d.Branches(t) {
		s.d.Problems(t, b)
		out = append(out, s.d.Units(t, b)...)
	}
	return out
}

// facts: what Read keeps survives the process.
func (s suite) facts(t fataler, files map[string]string) {
	t.Helper()
	for _, p := range Paths(files) {
		f, problem := s.d.Read(p, []byte(files[p]))
		if problem != nil {
			checkProblem(t, *problem)
			continue
		}
		if f == nil {
			t.Fatalf("%s: neither facts nor a problem", p)
		}
		b, err := f.AppendBinary([]byte("prefix"))
		if err != nil || !bytes.HasPrefix(b, []byte("prefix")) {
			t.Fatalf("%s: AppendBinary: %v; it must append", p, err)
		}
		again, err := s.d.Decode(p, b[len("prefix"):])
		if err != nil {
			t.Fatalf("%s: decode: %v", p, err)
		}
		if !reflect.DeepEqual(f, again) {
			t.Fatalf("%s: facts change on their way through the cache:\n%+v\n%+v", p, f, again)
		}
	}
}

// checkProblem: a problem names the file, the rule and the remedy.
func checkProblem(t fataler, p spec.Problem) {
	t.Helper()
	if p.File == "" || p.Code == "" || p.Message == "" || p.Line < 0 {
		t.Fatalf("a problem must have a file, a code and a message: %+v", p)
	}
}

// view is all that a dialect says of a unit.
type view struct {
	Graph  spec.Graph
	Stages []spec.Stage
}

// plain is a view without functions, which cannot be compared: their results
// stand in their place.
func plain(v view) view {
	for i := range v.Stages {
		v.Stages[i].Before = slices.Clone(v.Stages[i].Before)
		for j, c := range v.Stages[i].Before {
			if c, ok := c.(spec.DeriveFile); ok {
				v.Stages[i].Before[j] = spec.CreateFile{Path: c.From + " to " + c.To, Text: string(c.Make([]byte("- [x] a\n")))}
			}
		}
	}
	return v
}

func (s suite) look(t spec.Tree, u spec.Unit) view {
	v := view{Graph: s.d.Parse(t, u)}
	for i := range v.Graph.Tasks {
		v.Stages = append(v.Stages, s.d.Stage(t, v.Graph, i, s.world()))
	}
	return v
}

// deterministic: the same files give the same answers, and asking changes
// nothing.
func (s suite) deterministic(t fataler, files map[string]string) {
	t.Helper()
	before := maps.Clone(files)
	tree := s.tree(files)
	for _, u := range s.units(tree) {
		one, two := s.look(tree, u), s.look(tree, u)
		if a, b := plain(one), plain(two); !reflect.DeepEqual(a, b) {
			t.Fatalf("%s: two answers to one question:\n%+v\n%+v", u.Key, a, b)
		}
		for i, task := range one.Graph.Tasks {
			s.checkStage(t, one.Graph, i, task, one.Stages[i])
		}
	}
	if !maps.Equal(before, files) {
		t.Fatalf("asking has changed the files")
	}
}

// checkStage: a task that does not go on says why; one that does says what.
func (s suite) checkStage(t fataler, g spec.Graph, i int, task spec.Task, st spec.Stage) {
	t.Helper()
	switch st.State {
	case spec.StateWaiting, spec.StateBlocked, spec.StateHeld:
		if st.Reason.Code == "" || st.Reason.Detail == "" {
			t.Fatalf("%s is %s without a reason", task.ID, st.State)
		}
	case spec.StateReady:
		if st.Step.Role == "" && len(st.Before) == 0 {
			t.Fatalf("%s is ready for nothing", task.ID)
		}
	case spec.StateComplete:
	default:
		t.Fatalf("%s: state %q", task.ID, st.State)
	}
	if st.Step.Role != "" && st.State == spec.StateReady {
		s.checkStep(t, g, i, task, st.Step)
	}
}

func (s suite) checkStep(t fataler, g spec.Graph, i int, task spec.Task, step spec.Step) {
	t.Helper()
	if step.Prefix != "" && strings.ContainsAny(step.Prefix, "/ \n") {
		t.Fatalf("%s: %q is no name for a folder", task.ID, step.Prefix)
	}
	for _, p := range []string{step.Dir, step.Doc, step.Out, step.Plan, step.Review, step.WorkLog} {
		if p != "" && (path.IsAbs(p) || path.Clean(p) != p || strings.HasPrefix(p, "../")) {
			t.Fatalf("%s: %q is not within the workspace", task.ID, p)
		}
	}
	if len(step.Ladder) == 0 {
		return
	}
	prompt := s.d.Prompt(g, i, step, spec.Try{Kind: spec.TryFresh, Route: step.Ladder[0]}, "/workspace")
	if prompt == "" || strings.HasPrefix(prompt, "-") {
		t.Fatalf("%s: a prompt must say something and not look like an option: %q", task.ID, prompt)
	}
}

// due are the changes that the stages of all units ask for.
func (s suite) due(files map[string]string) []spec.Change {
	tree := s.tree(files)
	var out []spec.Change
	for _, u := range s.units(tree) {
		for _, st := range s.look(tree, u).Stages {
			out = append(out, st.Before...)
		}
	}
	return out
}

// rounds is how many passes a workspace may take until nothing is due.
const rounds = 8

// settle applies what is due until nothing is.
func (s suite) settle(t fataler, files map[string]string) map[string]string {
	t.Helper()
	for range rounds {
		due := s.due(files)
		if len(due) == 0 {
			return files
		}
		next, err := ApplyAll(files, due)
		if err != nil {
			t.Fatalf("apply: %v", err)
		}
		files = next
	}
	t.Fatalf("changes are still due after %d passes: %+v", rounds, s.due(files))
	return nil
}

// fixedPoint: applied twice is applied once, and then nothing more is due:
// else the watch would wake itself for ever.
func (s suite) fixedPoint(t fataler, files map[string]string) {
	t.Helper()
	for _, c := range s.due(files) {
		once, err := Apply(files, c)
		if err != nil {
			continue // it stands on a change before it
		}
		twice, err := Apply(once, c)
		if err != nil || !maps.Equal(once, twice) {
			t.Fatalf("%+v is not idempotent: %v", c, err)
		}
	}
	s.settle(t, files)
}

// everyPrefix: a crash between any two changes ends in the same files.
func (s suite) everyPrefix(t fataler, files map[string]string) {
	t.Helper()
	want := s.settle(t, files)
	due := s.due(files)
	for n := range due {
		part, err := ApplyAll(files, due[:n])
		if err != nil {
			t.Fatalf("apply: %v", err)
		}
		if got := s.settle(t, part); !maps.Equal(got, want) {
			t.Fatalf("a crash after %d of %d changes ends elsewhere:\n%s", n, len(due), difference(got, want))
		}
	}
}

// gone: a unit whose files are not there is still something to speak of.
func (s suite) gone(t fataler, files map[string]string) {
	t.Helper()
	empty := s.tree(map[string]string{})
	for _, u := range s.units(s.tree(files)) {
		v := s.look(empty, u)
		for i, st := range v.Stages {
			if st.State == spec.StateReady || len(st.Before) > 0 {
				t.Fatalf("%s is %s though nothing of it is there", v.Graph.Tasks[i].ID, st.State)
			}
		}
	}
}

// total: whatever the files hold, every question has an answer.
func (s suite) total(t fataler, files map[string]string) {
	t.Helper()
	s.facts(t, files)
	s.deterministic(t, files)
	tree := s.tree(files)
	for _, b := range s.d.Branches(tree) {
		for _, p := range s.d.Problems(tree, b) {
			checkProblem(t, p)
		}
	}
	for p := range files {
		s.look(tree, spec.Unit{Dialect: s.d.Name(), Key: p})
		s.look(tree, spec.Unit{Dialect: s.d.Name(), Key: path.Dir(p)})
	}
}

// damage is a copy of a workspace with some files cut, filled with noise,
// renamed, doubled or removed.
func damage(r *rapid.T, files map[string]string) map[string]string {
	out := maps.Clone(files)
	names := Paths(files)
	if len(names) == 0 {
		return out
	}
	for range rapid.IntRange(1, 4).Draw(r, "damages") {
		p := rapid.SampledFrom(names).Draw(r, "file")
		q := rapid.SampledFrom(names).Draw(r, "other")
		text := out[p]
		switch rapid.SampledFrom([]string{"cut", "noise", "line", "remove", "swap", "rename", "crlf"}).Draw(r, "damage") {
		case "cut":
			out[p] = text[:rapid.IntRange(0, len(text)).Draw(r, "at")]
		case "noise":
			out[p] = string(rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(r, "bytes"))
		case "line":
			lines := strings.SplitAfter(text, "\n")
			i := rapid.IntRange(0, len(lines)-1).Draw(r, "line")
			lines[i] = rapid.StringN(0, 40, 120).Draw(r, "text") + "\n"
			out[p] = strings.Join(lines, "")
		case "remove":
			delete(out, p)
		case "swap":
			out[p], out[q] = out[q], text
		case "rename":
			delete(out, p)
			out[path.Join(path.Dir(q), path.Base(p))] = text
		case "crlf":
			out[p] = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
		}
	}
	return out
}

func difference(got, want map[string]string) string {
	var b strings.Builder
	for _, p := range Paths(got) {
		if text, ok := want[p]; !ok || text != got[p] {
			fmt.Fprintf(&b, "got  %s: %q\n", p, got[p])
		}
	}
	for _, p := range Paths(want) {
		if text, ok := got[p]; !ok || text != want[p] {
			fmt.Fprintf(&b, "want %s: %q\n", p, want[p])
		}
	}
	return b.String()
}
