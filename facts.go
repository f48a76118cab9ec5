package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Program is one agent program as it was found.
type Program struct {
	Name    string `json:"name"`
	Path    string `json:"path"` // absolute
	Version string `json:"version"`
	// SignedIn is "yes" or "no" where the program can tell, else "".
	SignedIn string `json:"signed_in"`
}

// Facts is what can be seen of a repository without asking.
type Facts struct {
	Programs []Program `json:"programs"` // those found, in order of preference
	Test     string    `json:"test_command"`
	Roots    []string  `json:"dialect_roots"` // that exist
	// Skill is the repository's own code-review skill, "" for none.
	Skill string `json:"code_review_skill"`
}

// programTimeout bounds a program's answer about itself; node programs take
// seconds on a cold machine.
const programTimeout = 10 * time.Second

// programNames are the programs looked for, best first.
func programNames() []string { return []string{"claude", "codex", "agy", "pi", "gemini", "opencode"} }

// facts finds out what can be seen of the repository at root.
func (a *App) facts(ctx context.Context, root string) Facts {
	return Facts{
		Programs: a.findPrograms(ctx),
		Test:     findTestCommand(root),
		Roots:    existingFolders(root, a.Settings.AgentTask.Root, a.Settings.Issues.Root, a.Settings.Milestones.Root, "docs/features"),
		Skill:    reviewSkill(root),
	}
}

// findPrograms asks each program on PATH for its version, side by side.
func (a *App) findPrograms(ctx context.Context) []Program {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	names := programNames()
	found := make([]Program, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		path := a.findProgram(name)
		if path == "" {
			continue
		}
		wg.Go(func() {
			found[i] = Program{Name: name, Path: path, Version: a.programVersion(ctx, path), SignedIn: a.signedIn(ctx, name, path)}
		})
	}
	wg.Wait()
	out := []Program{}
	for _, p := range found {
		if p.Path != "" {
			out = append(out, p)
		}
	}
	return out
}

// findProgram is the absolute path of a program: the settings' or that on
// PATH; "" when there is none.
func (a *App) findProgram(name string) string {
	if p := a.Settings.Agents[name].Path; p != "" {
		if p = a.expandHome(p); isProgram(p) {
			return p
		}
		return ""
	}
	for _, dir := range filepath.SplitList(a.Env("PATH")) {
		if p := filepath.Join(dir, name); filepath.IsAbs(p) && isProgram(p) {
			return p
		}
	}
	return ""
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// programVersion is the first word with a digit of what --version prints.
func (a *App) programVersion(ctx context.Context, path string) string {
	out, err := a.output(ctx, path, "--version")
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(out, "\n")
	for _, word := range strings.Fields(line) {
		if strings.ContainsAny(word, "0123456789") {
			return strings.Trim(word, "v(),")
		}
	}
	return ""
}

// signedIn asks the programs that can tell.
func (a *App) signedIn(ctx context.Context, name, path string) string {
	var args []string
	switch name {
	case "codex":
		args = []string{"login", "status"}
	case "agy":
		args = []string{"models"}
	default:
		return ""
	}
	if _, err := a.output(ctx, path, args...); err != nil {
		return "no"
	}
	return "yes"
}

func (a *App) output(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = a.Environ
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

// findTestCommand is how the repository is tested, by the files that say so; ""
// when none does.
func findTestCommand(root string) string {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	switch {
	case has("go.mod"):
		return "go test ./..."
	case has("Cargo.toml"):
		return "cargo test"
	case hasNPMTest(filepath.Join(root, "package.json")):
		return "npm test"
	case has("pytest.ini"), has("pyproject.toml"), has("setup.cfg"):
		return "python3 -m pytest"
	case hasMakeTest(filepath.Join(root, "Makefile")):
		return "make test"
	}
	return ""
}

func hasNPMTest(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	test := ""
	if json.Unmarshal(text, &pkg) == nil {
		test = pkg.Scripts["test"]
	}
	return test != "" && !strings.Contains(test, "no test specified")
}

func hasMakeTest(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && (bytes.HasPrefix(text, []byte("test:")) || bytes.Contains(text, []byte("\ntest:")))
}

func existingFolders(root string, names ...string) []string {
	out := []string{}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err == nil && info.IsDir() {
			out = append(out, name)
		}
	}
	return out
}

// reviewSkill is the file of a code-review skill, which finalizes reviews by
// itself (seed 003).
func reviewSkill(root string) string {
	for _, pattern := range []string{
		"agent-ops/skills/*/code-review/SKILL.md",
		".claude/skills/code-review/SKILL.md",
		".codex/skills/code-review/SKILL.md",
		".agents/skills/code-review/SKILL.md",
		"skills/code-review/SKILL.md",
	} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err == nil && len(found) > 0 {
			if rel, err := filepath.Rel(root, found[0]); err == nil {
				return filepath.ToSlash(rel)
			}
		}
	}
	return ""
}
