package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drover/launcher/agent"
	"drover/spec"
)

// classifyFlags name a recorded run.
type classifyFlags struct{ cli, exit, stdout, stderr, session string }

// classification is the document of classify (DESIGN 9).
type classification struct {
	Class           spec.Class `json:"class"`
	Success         bool       `json:"success"`
	EvidenceSource  string     `json:"evidence_source"`
	EvidenceExcerpt string     `json:"evidence_excerpt"`
	ResetAt         *time.Time `json:"reset_at"`
	SessionID       string     `json:"session_id"`
	Usage           spec.Usage `json:"usage"`
}

func classifyCommand(a *App) *cobra.Command {
	var f classifyFlags
	c := &cobra.Command{
		Use: "classify", Short: "say how a recorded run of an agent ended", Args: cobra.NoArgs,
		Example: `  drover classify --cli codex --exit 1 --stdout stream.log --stderr stderr.log
  drover classify --cli claude --exit "signal 15" --stdout stream.log`,
		RunE: func(*cobra.Command, []string) error { return a.classify(f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.cli, "cli", "", "the agent `program`")
	flags.StringVar(&f.exit, "exit", "0", "how it ended: a `code`, or \"signal N\"")
	flags.StringVar(&f.stdout, "stdout", "", "`file` of its standard output")
	flags.StringVar(&f.stderr, "stderr", "", "`file` of its standard error")
	flags.StringVar(&f.session, "session", "", "`file` of its native session")
	return c
}

func (a *App) classify(f classifyFlags) error {
	if f.cli == "" {
		return usageError("classify wants --cli, the agent program")
	}
	code, signal, err := agent.ParseExit(f.exit)
	if err != nil {
		return usageError("classify: %v", err)
	}
	var streams [3]io.Reader
	for i, path := range []string{f.stdout, f.stderr, f.session} {
		if path == "" {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("classify: %w", err)
		}
		defer file.Close()
		streams[i] = file
	}
	if streams[0] == nil {
		streams[0] = strings.NewReader("")
	}
	o, err := agent.NewSet("", nil).Classify(f.cli, code, signal, streams[0], streams[1], streams[2], a.Now())
	if err != nil {
		return usageError("%v", err)
	}
	doc := classification{
		Class: o.Class, Success: o.Success, EvidenceSource: o.Evidence.Source, EvidenceExcerpt: o.Evidence.Excerpt,
		SessionID: o.SessionID, Usage: o.Usage,
	}
	if !o.ResetAt.IsZero() {
		doc.ResetAt = &o.ResetAt
	}
	return a.answer(doc, func(w io.Writer) { doc.write(w) })
}

func (c classification) write(w io.Writer) {
	fmt.Fprintf(w, "%s", c.Class)
	if c.EvidenceSource != "" {
		fmt.Fprintf(w, ", by %s: %s", c.EvidenceSource, clean(c.EvidenceExcerpt))
	}
	fmt.Fprintln(w)
	if c.ResetAt != nil {
		fmt.Fprintf(w, "resets at %s\n", c.ResetAt.Format(time.RFC3339))
	}
	if c.SessionID != "" {
		fmt.Fprintf(w, "session %s\n", c.SessionID)
	}
	if n := c.Usage.InputTokens + c.Usage.OutputTokens; n > 0 {
		fmt.Fprintf(w, "%s tokens, %s\n", count(n), money(c.Usage))
	}
}
