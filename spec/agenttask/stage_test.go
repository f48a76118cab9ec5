package agenttask

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"drover/spec"
)

var update = flag.Bool("update", false, "write the wanted listings of testdata/stage anew")

var (
	ornith = spec.Route{Agent: "pi", Model: "iop/ornith-fast", Effort: "high", Selfcheck: true}
	opus   = spec.Route{Agent: "claude", Model: "claude-opus-4-8", Effort: "xhigh"}
	sol    = spec.Route{Agent: "codex", Model: "gpt-5.6-sol", Effort: "xhigh"}
)

// testDialect routes the local lane to pi and the cloud to claude, as the seed.
func testDialect(finalize string) *Dialect {
	return New(Options{
		Worker: func(lane string, grade int) spec.Ladder {
			if lane == "local" && grade < 9 {
				return spec.Ladder{ornith}
			}
			return spec.Ladder{opus, sol}
		},
		Plain: spec.Ladder{opus, sol}, Review: spec.Ladder{sol}, Finalize: finalize, MaxRounds: 3,
	})
}

var testNow = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

// A stage case is a workspace with two files of its own: "memory" tells what
// drover knows, "want" what it says of every task and which files are
// problems. Lines of memory:
//
//	finalize drover
//	ran TASK ROLE…        the roles were started; "worker=done" and are done
//	plan TASK N TAG       the generation of the record (default 0 and the slug)
//	rounds TASK N
//	active TASK ATTEMPT
//	known TASK STATE      the group's memory of the task
//	baseline TASK PATH
//	unit TASK             asked for, though its folder may be gone
func TestStages(t *testing.T) {
	cases, err := filepath.Glob("testdata/stage/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := stageCase(t, a)
			for i, f := range a.Files {
				if f.Name != "want" {
					continue
				}
				if *update {
					a.Files[i].Data = []byte(got)
					if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if string(f.Data) != got {
					t.Errorf("got:\n%s\nwant:\n%s", got, f.Data)
				}
			}
		})
	}
}

// stageFiles are the workspaces of all cases, by name.
func stageFiles(t *testing.T) map[string]map[string]string {
	t.Helper()
	cases, err := filepath.Glob("testdata/stage/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range a.Files {
			if f.Name != "want" && f.Name != "memory" {
				files[f.Name] = string(f.Data)
			}
		}
		out[strings.TrimSuffix(filepath.Base(file), ".txtar")] = files
	}
	return out
}

type scene struct {
	d     *Dialect
	files map[string]string
	w     spec.World
	units []string
}

func (s *scene) tree() spec.MapTree { return spec.MapTree{Files: s.files, Read: s.d.Read} }

func stageCase(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	s := &scene{d: testDialect("reviewer"), files: map[string]string{}, w: spec.World{Now: testNow, Root: "/w", Memory: spec.NewMemory()}}
	for _, f := range a.Files {
		switch f.Name {
		case "want":
		case "memory":
			for line := range strings.Lines(string(f.Data)) {
				s.remember(t, strings.Fields(line))
			}
		default:
			s.files[f.Name] = string(f.Data)
		}
	}
	return s.listing()
}

func (s *scene) remember(t *testing.T, words []string) {
	t.Helper()
	if len(words) < 2 {
		t.Fatalf("memory: %q", words)
	}
	if words[0] == "finalize" {
		s.d.Finalize = words[1]
		return
	}
	name, rest := words[1], words[2:]
	switch words[0] {
	case "ran":
		for _, w := range rest {
			role, done := strings.CutSuffix(w, "=done")
			s.record(name).Stages[spec.Role(role)] = spec.StageRecord{Done: done, FoldedThrough: "a00"}
		}
	case "plan":
		g := spec.Generation{Tag: rest[1]}
		fmt.Sscan(rest[0], &g.Plan)
		s.record(name).Generation = g
	case "rounds":
		fmt.Sscan(rest[0], &s.record(name).Rounds)
	case "active":
		s.record(name).Active = rest[0]
	case "known":
		s.group(name).Tasks[name] = rest[0]
	case "baseline":
		s.group(name).Baseline[name] = rest
	case "unit":
		s.units = append(s.units, "agent-task/"+name)
	default:
		t.Fatalf("memory: %q", words)
	}
}

func (s *scene) record(name string) *spec.Record {
	id := spec.TaskID{Dialect: Name, Name: name}
	if s.w.Memory.Records[id] == nil {
		s.w.Memory.Records[id] = &spec.Record{
			Generation: spec.Generation{Tag: defaultTag(path.Base(name))}, Stages: map[spec.Role]spec.StageRecord{},
		}
	}
	return s.w.Memory.Records[id]
}

func (s *scene) group(task string) *spec.Group {
	name, _, _ := strings.Cut(task, "/")
	if s.w.Memory.Groups[name] == nil {
		s.w.Memory.Groups[name] = &spec.Group{Tasks: map[string]string{}, Baseline: map[string][]string{}}
	}
	return s.w.Memory.Groups[name]
}

// listing is one line a task and one a problem.
func (s *scene) listing() string {
	tree := s.tree()
	var b strings.Builder
	var keys []string
	for _, branch := range s.d.Branches(tree) {
		for _, u := range s.d.Units(tree, branch) {
			keys = append(keys, u.Key)
		}
		for _, p := range s.d.Problems(tree, branch) {
			fmt.Fprintf(&b, "problem %s:%d %s\n", p.File, p.Line, p.Message)
		}
	}
	keys = slices.Compact(slices.Sorted(slices.Values(append(keys, s.units...))))
	for _, key := range keys {
		g := s.d.Parse(tree, spec.Unit{Dialect: Name, Key: key})
		for _, p := range g.Problems {
			fmt.Fprintf(&b, "problem %s:%d %s\n", p.File, p.Line, p.Message)
		}
		for i, task := range g.Tasks {
			st := s.d.Stage(tree, g, i, s.w)
			fmt.Fprintf(&b, "%s p%d %s: %s%s\n", task.ID, task.Generation.Plan, task.Generation.Tag, st.State, said(st))
			for _, c := range st.Before {
				fmt.Fprintf(&b, "\t%s\n", changeWords(c))
			}
		}
	}
	return b.String()
}

func said(st spec.Stage) string {
	var b strings.Builder
	if st.Step.Role != "" {
		fmt.Fprintf(&b, " %s", st.Step.Role)
		if len(st.Step.Ladder) > 0 {
			fmt.Fprintf(&b, " on %s", st.Step.Ladder[0].Agent)
		}
	}
	if r := st.Reason; !r.Zero() {
		fmt.Fprintf(&b, " %s: %s", r.Code, r.Detail)
		if r.File != "" {
			fmt.Fprintf(&b, " (%s:%d)", r.File, r.Line)
		}
		if len(r.WaitsFor) > 0 {
			fmt.Fprintf(&b, " for %s", strings.Join(r.WaitsFor, " "))
		}
	}
	return b.String()
}

func changeWords(c spec.Change) string {
	switch c := c.(type) {
	case spec.CreateFile:
		return "create " + c.Path
	case spec.MoveFile:
		return "move " + c.From + " to " + c.To
	case spec.DeriveFile:
		return "derive " + c.To + " from " + c.From
	case spec.ArchiveFolder:
		return "archive " + c.From + " as " + c.To
	case spec.ManagedBlock:
		return "block in " + c.Path
	}
	return fmt.Sprintf("%+v", c)
}
