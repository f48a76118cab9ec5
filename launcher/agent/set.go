package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"drover/spec"
)

// Settings are what a person says of one program.
type Settings struct {
	Path    string   // instead of the name on PATH
	Args    []string // added before the prompt
	Env     []string // KEY=VALUE
	Sandbox string   // the program's own word for a stricter mode than its default
	// Command makes a program of one's own: an argv in which {model}, {effort},
	// {prompt}, {dir} and {session} are replaced.
	Command []string
	Success Success
}

// Success is how a program of one's own shows it: by its exit code and, if
// JSONPath is given, by a value in the last line of its output that has it.
type Success struct {
	Exit     int
	JSONPath string // "$.status"
	Equals   string
}

// Set are the programs that routes may name.
type Set struct{ programs map[string]CLI }

// NewSet knows the programs of this package and those that settings define.
// exe is drover's own binary, which is the script agent.
func NewSet(exe string, settings map[string]Settings) Set {
	set := Set{map[string]CLI{}}
	at := func(name string) program { return program{name, settings[name]} }
	for _, c := range []CLI{
		codex{at("codex")},
		claude{at("claude")},
		pi{at("pi")},
		agy{at("agy")},
		gemini{at("gemini")},
		opencode{at("opencode")},
		script{at("script"), exe},
	} {
		set.programs[c.Name()] = c
	}
	for name, s := range settings {
		if len(s.Command) > 0 {
			set.programs[name] = custom{at(name)}
		}
	}
	return set
}

// Lookup finds a program by its name.
func (s Set) Lookup(name string) (CLI, bool) {
	c, ok := s.programs[name]
	return c, ok
}

// program is what all programs share.
type program struct {
	name     string
	settings Settings
}

// Name implements CLI.
func (p program) Name() string { return p.name }

// argv begins a command line.
func (p program) argv(name string, args ...string) []string {
	if p.settings.Path != "" {
		name = p.settings.Path
	}
	return append([]string{name}, args...)
}

// maxArg is the length above which a prompt goes through a file: Linux takes
// at most 128 KiB in one argument.
const maxArg = 100 << 10

// onStdin reports whether a prompt cannot be an argument: too long, or it
// would be taken for an option.
func onStdin(prompt string) bool {
	return len(prompt) > maxArg || strings.HasPrefix(prompt, "-")
}

// asArgument is the prompt for programs that do not read standard input: one
// that cannot be an argument becomes the order to read its file.
func asArgument(s Spec) string {
	if onStdin(s.Prompt) {
		return "Read " + s.PromptFile + " and do what it says."
	}
	return s.Prompt
}

// lookup finds a variable in env, else in drover's own environment.
func lookup(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], key+"="); ok {
			return value
		}
	}
	return os.Getenv(key)
}

func home(env []string) string { return lookup(env, "HOME") }

// existing is the first path that exists, or "".
func existing(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// resolved is dir without symlinks, as a process started in it sees it.
func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// number reads a whole number of tokens or a status; 0 where there is none.
func number(text string) int64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f > 1e15 {
		return 0
	}
	return int64(f)
}

// money reads an amount; known is false for none and for 0, which programs
// report when they have no price.
func money(text string) (usd float64, known bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && f > 0 && f < 1e9
}

// local takes a class back that only a provider's answer can prove: a line on
// stderr may stem from a tool (seed 003, failure contract).
func local(class spec.Class) spec.Class {
	if transport(class) {
		return spec.ClassGenericError
	}
	return class
}
