package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"drover/launcher/shim"
)

// TestMain lets this test binary be drover: for the scripts, and for the shims
// and agents that drover starts of itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"drover": main, shim.Name: main})
}

// TestScript runs the end-to-end scripts, named noun_case.txtar. Each begins in
// an empty folder with a home of its own, without any agent program on PATH.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("GIT_AUTHOR_NAME", "test")
			env.Setenv("GIT_AUTHOR_EMAIL", "test@localhost")
			env.Setenv("GIT_COMMITTER_NAME", "test")
			env.Setenv("GIT_COMMITTER_EMAIL", "test@localhost")
			return nil
		},
	})
}
