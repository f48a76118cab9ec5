package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"drover/launcher/agent"
	"drover/launcher/agent/script"
	"drover/launcher/shim"
	"drover/spec"
)

// hidden runs what only drover starts of itself; false for any other command
// line. Nothing else is built before it: a shim lives as long as its agent.
func hidden(ctx context.Context, argv, environ []string, stdout, stderr io.Writer, seam spec.Seam) (code int, ok bool) {
	if shim.Invoked(argv) {
		return shim.Main(ctx, shim.Options{
			Seam: seam, Now: time.Now,
			Agents: func(workspace string) shim.Lookup { return shimAgents(workspace, environ) },
		}, argv), true
	}
	if len(argv) > 1 && argv[1] == agent.ScriptVerb {
		dir, err := os.Getwd()
		if err != nil {
			fmt.Fprintln(stderr, "drover script agent:", err)
			return exitFailed, true
		}
		return script.Main(ctx, argv[2:], script.Options{
			Env: environ, Dir: dir, Now: time.Now, Stdout: stdout, Stderr: stderr,
		}), true
	}
	return 0, false
}

// shimAgents are the programs that drover knows, and where one is not among
// them, those of the workspace's settings: a shim reads these only then, since
// they are most of what it would hold in memory.
func shimAgents(workspace string, environ []string) shim.Lookup {
	exe, _ := os.Executable() // only the script agent's start needs it
	known := agent.NewSet(filepath.Clean(exe), nil)
	return func(name string) (agent.CLI, bool) {
		if c, ok := known.Lookup(name); ok {
			return c, true
		}
		app := &App{Environ: environ, Now: time.Now}
		app.State.Root = workspace
		if err := app.Load(); err != nil {
			return nil, false
		}
		return app.agents(exe).Lookup(name)
	}
}
