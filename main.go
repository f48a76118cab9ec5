// Drover drives coding agents over task files in a git repository until every
// task is done.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"drover/spec"
)

func main() {
	code := run(context.Background(), os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr, nil)
	if code > exitSignal {
		// Whoever started drover shall see what ended it.
		sig := syscall.Signal(code - exitSignal)
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig)
	}
	os.Exit(code)
}

// run is the program: argv and environ in, exit code out. The one seam that
// every effect passes is given here; nil lets everything through.
//
// What drover starts of itself is served first, before a table or the command
// tree is built: a shim lives as long as its agent and must stay small.
func run(ctx context.Context, argv, environ []string, stdin io.Reader, stdout, stderr io.Writer, seam spec.Seam) int {
	if code, ok := hidden(ctx, argv, environ, stdout, stderr, seam); ok {
		return code
	}
	app := &App{
		Argv: argv, Environ: environ, In: stdin, Out: stdout, Err: stderr,
		Now: time.Now, Seam: seam,
	}
	return app.execute(ctx)
}
