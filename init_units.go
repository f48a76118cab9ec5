package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// unitText is a systemd service that watches a workspace. Agents outlive
// drover only with KillMode=process; the default would kill them all.
func unitText(exe, root, path string) string {
	return fmt.Sprintf(`# ~/.config/systemd/user/%s; see: drover help systemd
[Unit]
Description=drover in %s

[Service]
Type=exec
WorkingDirectory=%s
ExecStart=%s run --trust --no-input --output line
# Agents outlive drover. The default mode would kill them at every stop.
KillMode=process
Environment=%s
Restart=on-failure
RestartSec=10
# 1 is an error that a restart does not mend, 3 another drover.
RestartPreventExitStatus=1 3
SuccessExitStatus=2 3

[Install]
WantedBy=default.target
`, unitName(root), escapeUnit(root), escapeUnit(root), quoteUnit(exe), quoteUnit("PATH="+path))
}

func unitName(root string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, filepath.Base(root))
	return "drover-" + name + ".service"
}

// escapeUnit takes systemd's specifiers out of a value.
func escapeUnit(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quoteUnit is one word of a unit's line.
func quoteUnit(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", "$$").Replace(escapeUnit(s))
	return `"` + s + `"`
}

// cronText is a crontab line that makes one pass each minute. drover's own
// lock keeps passes apart.
func cronText(exe, root, path string) string {
	line := fmt.Sprintf("* * * * * cd %s && PATH=%s %s run --once --no-input --quiet",
		shellWord(root), shellWord(path), shellWord(exe))
	return "# drover in " + root + "; see: drover help systemd\n" + strings.ReplaceAll(line, "%", `\%`) + "\n"
}

func shellWord(s string) string { return commandLine([]string{s}) }

func (a *App) printUnit() error {
	exe, err := a.ownPath()
	if err != nil {
		return err
	}
	text := unitText(exe, a.State.Root, a.Env("PATH"))
	doc := verbDoc("init", map[string]string{"name": unitName(a.State.Root), "unit": text})
	return a.answer(doc, func(w io.Writer) { io.WriteString(w, text) })
}

func (a *App) printCron() error {
	exe, err := a.ownPath()
	if err != nil {
		return err
	}
	text := cronText(exe, a.State.Root, a.Env("PATH"))
	return a.answer(verbDoc("init", map[string]string{"cron": text}), func(w io.Writer) { io.WriteString(w, text) })
}

// ownPath is where this binary lies, for units; one in a build's scratch
// folder would be gone when the unit starts.
func (a *App) ownPath() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own binary: %w", err)
	}
	if strings.Contains(exe, string(filepath.Separator)+"go-build") {
		a.Warn("%s is a scratch binary of go run; install drover first: go install .", exe)
	}
	return exe, nil
}

func (a *App) printAgents(ctx context.Context) error {
	programs := a.findPrograms(ctx)
	return a.answer(verbDoc("init", map[string]any{"agents": programs}), func(w io.Writer) {
		if len(programs) == 0 {
			fmt.Fprintf(w, "# none of %s is on PATH (%s)\n", strings.Join(programNames(), ", "), a.Env("PATH"))
			return
		}
		fmt.Fprintln(w, "# for drover.yaml or "+a.userConfig()+"\nagents:")
		for _, p := range programs {
			fmt.Fprintf(w, "  %s: {path: %s}  # %s\n", p.Name, p.Path, strings.TrimSpace(p.Version+signedInText(p)))
		}
	})
}
