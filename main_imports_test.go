package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is one Go file of the module.
type source struct {
	path string // slash-separated, from the module's root
	dir  string // "." for package main
	test bool
	ast  *ast.File
	size int // lines
}

// sources reads all Go files in this process, so that the test's cache sees a
// change of any of them.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(p)
		out = append(out, source{
			path: slash, dir: path.Dir(slash), test: strings.HasSuffix(p, "_test.go"),
			ast: file, size: bytes.Count(text, []byte("\n")),
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d files found: the walk is broken", len(out))
	}
	return out
}

// TestImports holds the arrow: who may import whom (DESIGN 3).
func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imp := range s.ast.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refused(s.dir, name); why != "" {
				t.Errorf("%s imports %s: %s", s.path, name, why)
			}
		}
	}
}

// refused says why a folder's code may not import a package, "" if it may.
func refused(dir, name string) string {
	top, _, _ := strings.Cut(dir, "/")
	ours, isOurs := strings.CutPrefix(name, "drover/")
	within := func(folders ...string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return ours == f || strings.HasPrefix(ours, f+"/") })
	}
	if top == "spec" {
		if slices.Contains([]string{"os", "os/exec", "net", "math/rand", "math/rand/v2", "log", "log/slog"}, name) || strings.HasPrefix(name, "net/") {
			return "spec is pure"
		}
	}
	switch {
	case ours == "launcher/agent/modelstub":
		return "only tests play a model"
	case !isOurs || dir == ".":
		return ""
	case dir == "spec":
		return "spec imports nothing of ours"
	case dir == "spec/markdown":
		if ours != "spec" {
			return "spec/markdown imports spec at most"
		}
	case top == "spec":
		if !within(dir) && ours != "spec" && ours != "spec/markdown" {
			return "a dialect imports spec and spec/markdown, never another dialect"
		}
	case !within(top, "spec"):
		return top + " imports spec and its own folders"
	}
	return ""
}

// TestImportRule shows that the rule above refuses what it should.
func TestImportRule(t *testing.T) {
	for _, tt := range []struct {
		dir, name string
		ok        bool
	}{
		{"spec", "strings", true},
		{"spec", "os", false},
		{"spec", "net/url", false},
		{"spec", "drover/spec/markdown", false},
		{"spec/agenttask", "os/exec", false},
		{"spec/agenttask", "drover/spec/markdown", true},
		{"spec/agenttask", "drover/spec/masterwork", false},
		{"spec/agenttask", "drover/reconcile", false},
		{"spec/settings", "drover/spec/markdown", true},
		{"reconcile", "drover/spec", true},
		{"reconcile", "drover/fsstate", false},
		{"fsstate", "drover/launcher", false},
		{"launcher/shim", "drover/launcher/agent", true},
		{"launcher", "drover/reconcile", false},
		{".", "drover/launcher", true},
		{".", "drover/launcher/agent/modelstub", false},
	} {
		if got := refused(tt.dir, tt.name) == ""; got != tt.ok {
			t.Errorf("%s importing %s: allowed %t, want %t", tt.dir, tt.name, got, tt.ok)
		}
	}
}

// TestFolders holds the top level of DESIGN 3.
func TestFolders(t *testing.T) {
	known := []string{"reconcile", "spec", "fsstate", "launcher", "testdata", "docs"}
	for _, s := range sources(t) {
		if top, _, deeper := strings.Cut(s.path, "/"); deeper && !slices.Contains(known, top) {
			t.Errorf("%s: there is no top-level folder %s in the design", s.path, top)
		}
	}
}

// TestHouseRules holds what a reader relies on everywhere.
func TestHouseRules(t *testing.T) {
	for _, s := range sources(t) {
		if s.size > 450 {
			t.Errorf("%s has %d lines, over 450", s.path, s.size)
		}
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s has an init", s.path)
				}
			case *ast.SelectorExpr:
				if why := forbiddenUse(s, n); why != "" {
					t.Errorf("%s: %s", s.path, why)
				}
			}
			return true
		})
	}
}

// forbiddenUse says why a file may not name pkg.Func, "" if it may.
func forbiddenUse(s source, n *ast.SelectorExpr) string {
	pkg, ok := n.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name := pkg.Name + "." + n.Sel.Name
	top, _, _ := strings.Cut(s.dir, "/")
	decide := top == "reconcile" && strings.HasPrefix(path.Base(s.path), "decide")
	switch {
	case name == "os.Exit" && s.path != "main.go":
		return "only main.go ends the process"
	case pkg.Name == "log" && strings.HasPrefix(n.Sel.Name, "Fatal"):
		return "log.Fatal ends the process"
	case name == "time.Now" && (top == "spec" || decide):
		return "pure code has no clock"
	}
	return ""
}
