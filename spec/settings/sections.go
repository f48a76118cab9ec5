package settings

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"drover/spec/markdown"
)

// knownAgents are the programs that drover knows how to drive.
func knownAgents() []string {
	return []string{"agy", "claude", "codex", "gemini", "opencode", "pi", "script"}
}

// hint names the nearest of the known words, or all of them.
func hint(word string, known []string) string {
	if near := markdown.Nearest(word, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return "; known are " + strings.Join(known, ", ")
}

func (f *file) version(n *yaml.Node) {
	if s, ok := f.scalar(n, "version", "1"); ok && s != "1" {
		f.bad(n, "version wants 1, not %q: this drover knows no other", s)
	}
}

func (f *file) language(n *yaml.Node) {
	l := &f.s.Language
	if n.Kind == yaml.ScalarNode {
		var word string
		f.oneOf(&word, "language", "ko", "en")(n)
		if word != "" {
			l.Screen, l.Answers = word, word
		}
		return
	}
	f.object(n, "language",
		key{"screen", f.oneOf(&l.Screen, "language.screen", "ko", "en")},
		key{"answers", f.oneOf(&l.Answers, "language.answers", "ko", "en")})
}

func (f *file) zone(n *yaml.Node) {
	f.text(&f.s.Zone, "zone")(n)
	f.s.ZoneLine = n.Line
}

func (f *file) agents(n *yaml.Node) {
	f.entries(n, "agents", func(k, v *yaml.Node) {
		a, where := f.s.Agents[k.Value], "agents."+k.Value
		f.object(v, where,
			key{"path", f.text(&a.Path, where+".path")},
			key{"at_once", f.count(&a.AtOnce, where+".at_once", 0)},
			key{"args", f.texts(&a.Args, where+".args")},
			key{"env", func(n *yaml.Node) { a.Env = f.env(n, where+".env") }},
			key{"sandbox", f.text(&a.Sandbox, where+".sandbox")},
			key{"command", f.texts(&a.Command, where+".command")},
			key{"success", f.success(&a.Success, where+".success")})
		f.checkAgent(k, where, a)
		f.s.Agents[k.Value] = a
	})
}

func (f *file) checkAgent(k *yaml.Node, where string, a Agent) {
	known := slices.Contains(knownAgents(), k.Value)
	switch {
	case known && a.Command != nil:
		f.bad(k, "%s is an agent that drover drives itself; give a command another name", where)
	case !known && a.Command == nil:
		f.bad(k, "drover knows no agent %s%s; one of your own needs a command", k.Value, hint(k.Value, knownAgents()))
	case !known && len(a.Command) == 0:
		f.bad(k, "%s.command is empty", where)
	}
	if a.Path != "" {
		f.trusted = append(f.trusted, where+".path "+a.Path)
	}
	if len(a.Command) > 0 {
		f.trusted = append(f.trusted, where+".command "+strings.Join(a.Command, " "))
	}
}

// env reads names and values of an agent's environment.
func (f *file) env(n *yaml.Node, where string) map[string]string {
	out := map[string]string{}
	f.entries(n, where, func(k, v *yaml.Node) {
		if k.Value == "" || strings.ContainsAny(k.Value, "=\x00") || strings.HasPrefix(k.Value, "DROVER_") {
			f.bad(k, "%s: %q cannot be set here", where, k.Value)
			return
		}
		var value string
		f.text(&value, where+"."+k.Value)(v)
		out[k.Value] = value
	})
	return out
}

func (f *file) success(to *Success, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		f.object(n, where,
			key{"exit", f.count(&to.Exit, where+".exit", 0)},
			key{"json_path", f.text(&to.JSONPath, where+".json_path")},
			key{"equals", f.text(&to.Equals, where+".equals")})
		if to.JSONPath != "" && !strings.HasPrefix(to.JSONPath, "$") {
			f.bad(n, "%s.json_path wants a path such as $.status, not %q", where, to.JSONPath)
		}
	}
}

func (f *file) routes(n *yaml.Node) {
	f.entries(n, "routes", func(k, v *yaml.Node) {
		where := "routes." + k.Value
		var route Route
		selfcheck, said := false, false
		f.object(v, where,
			key{"agent", f.text(&route.Agent, where+".agent")},
			key{"model", f.text(&route.Model, where+".model")},
			key{"effort", f.text(&route.Effort, where+".effort")},
			key{"at_once", f.count(&route.AtOnce, where+".at_once", 0)},
			key{"selfcheck", func(n *yaml.Node) {
				said = true
				f.boolean(&selfcheck, where+".selfcheck")(n)
			}})
		route.Selfcheck = selfcheck || !said && route.Agent == "pi"
		f.named = append(f.named, k)
		f.s.Routes[k.Value] = route
	})
}

func (f *file) checkRoute(k *yaml.Node) {
	where, route := "routes."+k.Value, f.s.Routes[k.Value]
	if route.Agent == "" {
		f.bad(k, "%s names no agent", where)
		return
	}
	agents := knownAgents()
	for name, a := range f.s.Agents {
		if len(a.Command) > 0 {
			agents = append(agents, name)
		}
	}
	slices.Sort(agents)
	if !slices.Contains(agents, route.Agent) {
		f.bad(k, "%s: drover knows no agent %s%s", where, route.Agent, hint(route.Agent, agents))
	}
}

// ref reads the name of a route; it is looked up when all routes are known.
func (f *file) ref(to *string, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if s, ok := f.scalar(n, where, "the name of a route"); ok {
			*to = s
			f.refs = append(f.refs, ref{n, s, where})
		}
	}
}

// promote reads rungs: names, or lists of names that stand side by side.
func (f *file) promote(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		f.bad(n, "promote wants a list of routes, lowest first, not %s", kind(n))
		return
	}
	rungs, seen := [][]string{}, map[string]bool{}
	for _, item := range n.Content {
		members := []*yaml.Node{item}
		if item.Kind == yaml.SequenceNode {
			members = item.Content
		}
		var rung []string
		for _, m := range members {
			var name string
			if f.ref(&name, "promote")(m); name == "" {
				continue
			}
			if seen[name] {
				f.bad(m, "promote names %s twice", name)
			}
			seen[name] = true
			rung = append(rung, name)
		}
		if len(rung) > 0 {
			rungs = append(rungs, rung)
		}
	}
	f.s.Promote = rungs
}

func (f *file) agentTask(n *yaml.Node) {
	t := &f.s.AgentTask
	f.object(n, "agent_task",
		key{"root", f.folder(&t.Root, "agent_task.root")},
		key{"route", func(n *yaml.Node) {
			f.object(n, "agent_task.route",
				key{"local", f.grades(&t.Local, "agent_task.route.local")},
				key{"cloud", f.grades(&t.Cloud, "agent_task.route.cloud")},
				key{"review", f.ref(&t.Review, "agent_task.route.review")},
				key{"plain", f.ref(&t.Plain, "agent_task.route.plain")})
		}},
		key{"finalize", f.oneOf(&t.Finalize, "agent_task.finalize", FinalizeDrover, FinalizeReviewer)},
		key{"keep_logs", f.duration(&t.KeepLogs, "agent_task.keep_logs", 0)},
		key{"max_rounds", f.count(&t.MaxRounds, "agent_task.max_rounds", 1)})
}

// grades reads "1-4: small"; grades that are not named keep their route.
func (f *file) grades(to *Grades, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var named [11]int
		f.entries(n, where, func(k, v *yaml.Node) {
			from, to10, ok := parseGrades(k.Value)
			if !ok {
				f.bad(k, "%s wants grades such as 1-4 or 7, from 1 to 10, not %q", where, k.Value)
				return
			}
			var name string
			f.ref(&name, where+"."+k.Value)(v)
			for g := from; g <= to10; g++ {
				if named[g] != 0 {
					f.bad(k, "%s names grade %d twice, first in line %d", where, g, named[g])
					return
				}
				named[g], to[g] = k.Line, name
			}
		})
	}
}

func parseGrades(s string) (from, to int, ok bool) {
	a, b, ranged := strings.Cut(s, "-")
	if !ranged {
		b = a
	}
	from, errA := strconv.Atoi(a)
	to, errB := strconv.Atoi(b)
	return from, to, errA == nil && errB == nil && 1 <= from && from <= to && to <= 10
}

// folder reads a workspace-relative folder.
func (f *file) folder(to *string, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		s, ok := f.scalar(n, where, "a folder of the workspace")
		if !ok {
			return
		}
		clean := path.Clean(s)
		first, _, _ := strings.Cut(clean, "/")
		if s == "" || path.IsAbs(s) || clean == "." || first == ".." || first == ".git" {
			f.bad(n, "%s wants a folder below the workspace, not %q", where, s)
			return
		}
		*to = clean
	}
}

func (f *file) spend(n *yaml.Node) {
	where := "spend"
	f.object(n, where,
		key{"usd", func(n *yaml.Node) {
			if s, ok := f.scalar(n, "spend.usd", "a number"); ok {
				v, err := strconv.ParseFloat(s, 64)
				if err != nil || !(v > 0 && v < 1e9) {
					f.bad(n, "spend.usd wants a number above 0, not %q", s)
				}
				f.s.Spend.USD = v
			}
		}},
		key{"tokens", func(n *yaml.Node) {
			if s, ok := f.scalar(n, "spend.tokens", "a count such as 20M"); ok {
				v, ok := parseScaled(s, countUnits)
				if !ok || v == 0 {
					f.bad(n, "spend.tokens wants a count such as 20M, not %q", s)
				}
				f.s.Spend.Tokens = v
			}
		}})
	if f.s.Spend != (Spend{}) {
		f.refuse(n, where)
	}
}

func (f *file) hours(n *yaml.Node) {
	s, ok := f.scalar(n, "hours", `a span such as "22:00-07:00"`)
	if !ok {
		return
	}
	if f.s.Hours, ok = parseHours(s); !ok {
		f.bad(n, `hours wants a span such as "22:00-07:00", not %q`, s)
		return
	}
	if f.s.Hours.From != f.s.Hours.To {
		f.refuse(n, "hours")
	}
}

func (f *file) notify(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		f.bad(n, "notify wants a list, not %s", kind(n))
		return
	}
	events := []string{"final", "needs-person"}
	f.s.Notify = nil
	for i, item := range n.Content {
		var one Notify
		where := fmt.Sprintf("notify[%d]", i)
		f.object(item, where, key{"on", f.texts(&one.On, where+".on")}, key{"run", f.texts(&one.Run, where+".run")})
		for _, event := range one.On {
			if !slices.Contains(events, event) {
				f.bad(item, "%s.on: there is no event %s%s", where, event, hint(event, events))
			}
		}
		if len(one.Run) == 0 {
			f.bad(item, "%s names no program to run", where)
		} else {
			f.trusted = append(f.trusted, where+".run "+strings.Join(one.Run, " "))
		}
		f.s.Notify = append(f.s.Notify, one)
	}
	if len(f.s.Notify) > 0 {
		f.later(n, "notify")
	}
}
