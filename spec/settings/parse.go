package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"drover/spec"
)

// Parse reads drover.yaml over the seeds' contract. Every problem carries its
// line; with any problem the settings must not be used.
func Parse(path string, text []byte) (Settings, []spec.Problem) {
	return ParseOver(Default(), path, text)
}

// ParseOver reads drover.yaml over other settings, a user's. Where both speak
// of an agent, the repository's file wins value by value.
func ParseOver(below Settings, path string, text []byte) (Settings, []spec.Problem) {
	f := newFile(below, path)
	if root := f.root(text); root != nil {
		f.object(root, path, f.sections()...)
		f.check()
	}
	f.s.NotYet, f.s.Trusted = append(f.s.NotYet, f.notYet...), f.trusted
	return f.s, f.problems
}

// ParseUser reads a user's own config.yaml, which may hold agents, language
// and notify only. What it names needs no trust: it is the user's.
func ParseUser(path string, text []byte) (Settings, []spec.Problem) {
	f := newFile(Default(), path)
	if root := f.root(text); root != nil {
		f.object(root, path,
			key{"agents", f.agents}, key{"language", f.language}, key{"notify", f.notify})
	}
	f.s.NotYet = f.notYet
	return f.s, f.problems
}

// file is one settings file being read.
type file struct {
	reader
	s Settings
	// refs are names of routes that the file uses, to be checked at its end.
	refs []ref
	// named are the routes that the file describes.
	named []*yaml.Node
}

type ref struct {
	node  *yaml.Node
	name  string
	where string
}

func newFile(below Settings, path string) *file {
	below.Agents, below.Routes = maps.Clone(below.Agents), maps.Clone(below.Routes)
	return &file{reader: reader{path: path}, s: below}
}

// root parses the text as one YAML document; nil for an empty one or a
// problem.
func (f *file) root(text []byte) *yaml.Node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if i := badByte(text); i >= 0 {
		f.problems = append(f.problems, spec.Problem{
			File: f.path, Line: 1 + bytes.Count(text[:i], []byte("\n")), Code: "bad-setting",
			Message: "this is not UTF-8 text; save the file as UTF-8",
		})
		return nil
	}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if err = decoder.Decode(&more); err == nil {
			f.bad(&more, "a second document begins here; settings are one document")
			return nil
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		line, message := yamlError(err)
		f.problems = append(f.problems, spec.Problem{File: f.path, Line: line, Code: "bad-setting", Message: message})
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// badByte is the place of the first byte that is no text, -1 for none.
func badByte(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// yamlError takes the line out of "yaml: line 3: found character …".
func yamlError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, why, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				return n, why
			}
		}
	}
	return 0, message
}

// sections are the keys of the file itself.
func (f *file) sections() []key {
	s := &f.s
	return []key{
		{"version", f.version},
		{"language", f.language},
		{"zone", f.zone},
		{"agents", f.agents},
		{"routes", f.routes},
		{"promote", f.promote},
		{"limits", f.section("limits", key{"total", f.count(&s.Limits.Total, "limits.total", 0)})},
		{"agent_task", f.agentTask},
		{"issues", f.issues},
		{"milestones", f.milestones},
		{"plans", f.plans},
		{"failures", f.section(
			"failures",
			key{"budget", f.count(&s.Failures.Budget, "failures.budget", 1)},
			key{"strikes", f.count(&s.Failures.Strikes, "failures.strikes", 1)},
		)},
		{"backoff", f.section(
			"backoff",
			key{"first", f.duration(&s.Backoff.First, "backoff.first", 1)},
			key{"max", f.duration(&s.Backoff.Max, "backoff.max", 1)},
			key{"provider_max", f.duration(&s.Backoff.ProviderMax, "backoff.provider_max", 1)},
		)},
		{"liveness", f.section(
			"liveness",
			key{"inspect", f.duration(&s.Liveness.Inspect, "liveness.inspect", 0)},
			key{"tool", f.duration(&s.Liveness.Tool, "liveness.tool", 0)},
			key{"end_after", f.duration(&s.Liveness.EndAfter, "liveness.end_after", 0)},
		)},
		{"watch", f.section(
			"watch",
			key{"settle", f.duration(&s.Watch.Settle, "watch.settle", 0)},
			key{"resync", f.duration(&s.Watch.Resync, "watch.resync", 1e9)},
		)},
		{"worktrees", f.text(&s.Worktrees, "worktrees")},
		{"log_cap", f.size(&s.LogCap, "log_cap", 1<<20)},
		{"grace", f.section(
			"grace",
			key{"stop", f.duration(&s.Grace.Stop, "grace.stop", 0)},
			key{"after_answer", f.duration(&s.Grace.AfterAnswer, "grace.after_answer", 1e9)},
		)},
		{"reclaim", f.section(
			"reclaim",
			key{"ignore", f.texts(&s.Reclaim.Ignore, "reclaim.ignore")},
			key{"keep", f.duration(&s.Reclaim.Keep, "reclaim.keep", 0)},
		)},
		{"spend", f.spend},
		{"hours", f.hours},
		{"notify", f.notify},
	}
}

// section is an object of these keys.
func (f *file) section(where string, keys ...key) func(*yaml.Node) {
	return func(n *yaml.Node) { f.object(n, where, keys...) }
}

// check looks at what only the whole file tells: that routes and agents that
// are named exist.
func (f *file) check() {
	for _, k := range f.named {
		f.checkRoute(k)
	}
	routes := slices.Sorted(maps.Keys(f.s.Routes))
	for _, ref := range f.refs {
		if _, ok := f.s.Routes[ref.name]; !ok {
			f.bad(ref.node, "there is no route %s%s", ref.name, hint(ref.name, routes))
		}
		if ref.where == "promote" && f.s.Routes[ref.name].Agent == "pi" {
			f.bad(ref.node, "promote names %s, which runs on pi: Pi is never promoted, nor anything to it", ref.name)
		}
	}
	b := f.s.Backoff
	if b.First > b.Max || b.Max > b.ProviderMax {
		f.problems = append(f.problems, spec.Problem{
			File: f.path, Code: "bad-setting",
			Message: fmt.Sprintf("backoff wants first ≤ max ≤ provider_max, not %s, %s, %s", b.First, b.Max, b.ProviderMax),
		})
	}
	slices.SortStableFunc(f.problems, func(a, b spec.Problem) int { return a.Line - b.Line })
}
