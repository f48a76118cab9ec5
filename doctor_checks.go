package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drover/fsstate"
)

// checkPrograms looks for the programs that routes need.
func (a *App) checkPrograms(ctx context.Context, c *checkup) {
	found := a.findPrograms(ctx)
	for _, p := range found {
		c.fact(p.Name, "%s%s", strings.TrimSpace(p.Version+" "+p.Path), signedInText(p))
		if p.SignedIn == "no" {
			c.find("not-signed-in", "sign in with it, as the user who runs drover", "%s is not signed in", p.Name)
		}
	}
	for _, name := range a.Settings.Programs() {
		own := a.Settings.Agents[name]
		switch {
		case name == "script":
			continue
		case slices.ContainsFunc(found, func(p Program) bool { return p.Name == name }):
			if risk := unconfined(name, own.Sandbox); risk != "" {
				c.fact(name, "%s", risk)
			}
			continue
		case len(own.Command) > 0 && a.findProgram(own.Command[0]) != "":
			continue
		}
		where := "PATH (" + a.Env("PATH") + ")"
		if own.Path != "" {
			where = own.Path
		}
		c.find("cli-missing", "set agents."+name+".path in drover.yaml, change the routes, or run: drover init --agents",
			"%s is not on %s but routes need it", name, where)
	}
	if os.Geteuid() == 0 && a.Env("IS_SANDBOX") == "" && slices.Contains(a.Settings.Programs(), "claude") {
		c.find("claude-root", "set IS_SANDBOX=1 if this machine is a sandbox, or run drover as another user",
			"claude refuses to work unattended as root unless IS_SANDBOX=1 is set")
	}
}

// unconfined says plainly what keeps a program in the workspace: by default
// nothing does, for the flags that unattended work needs lift its own limits.
func unconfined(name, sandbox string) string {
	if sandbox != "" {
		return "runs in its own sandbox mode " + sandbox
	}
	switch name {
	case "codex", "claude", "agy", "pi", "gemini", "opencode":
		return "is not confined to the workspace: it can do what this user can"
	}
	return ""
}

// checkMachine looks at what the kernel and the disk have left.
func (a *App) checkMachine(c *checkup) {
	var disk unix.Statfs_t
	if err := unix.Statfs(a.State.GitDir, &disk); err == nil {
		free := int64(disk.Bavail) * int64(disk.Bsize)
		c.fact("disk", "%d MiB free", free>>20)
		if free < 1<<30 {
			c.find("disk", "free some space: a full disk stops all attempts", "only %d MiB are free at %s", free>>20, a.State.GitDir)
		}
	}
	limit, ok := watchLimit()
	if !ok {
		return
	}
	folders := countFolders(filepath.Join(a.State.Root, a.Settings.AgentTask.Root), limit)
	c.fact("watches", "%d folders of %d allowed", folders, limit)
	if folders >= limit*9/10 {
		c.find("watch-limit", "raise it: sysctl fs.inotify.max_user_watches="+strconv.Itoa(4*limit),
			"%d folders want watching and %d watches are allowed; rescans alone find changes then", folders, limit)
	}
}

// watchLimit is how many folders the kernel lets a user watch; false where it
// has no such limit.
func watchLimit() (int, bool) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// countFolders counts folders below root, up to most.
func countFolders(root string, most int) int {
	n := 0
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			n++
		}
		if n >= most {
			return fs.SkipAll
		}
		return nil // a folder that cannot be read is not watched either
	})
	return n
}

// checkRepository looks for what would harm drover's folders or be harmed.
func (a *App) checkRepository(c *checkup) {
	root := a.State.Root
	for _, pattern := range []string{"Makefile", "package.json", "justfile", "*.sh", "scripts/*", ".github/workflows/*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			continue
		}
		for _, f := range files {
			if line := findLine(f, "clean -ff", "clean -dff", "clean -xdff", "clean -ffdx", "clean -ffxd"); line > 0 {
				rel, _ := filepath.Rel(root, f)
				c.find("clean-ff", "leave out the second f, or run it only while no agent works",
					"%s:%d runs git clean with -ff, which deletes drover's worktrees", rel, line)
			}
		}
	}
	if line := findLine(filepath.Join(root, "go.work"), "./...", ".drover"); line > 0 {
		c.find("go-work", "leave .drover out of go.work", "go.work:%d takes in folders below .drover", line)
	}
	for _, name := range unitFiles(a.Env("HOME")) {
		if a.unitKillsAgents(name) {
			c.find("kill-mode", "add KillMode=process, then: systemctl --user daemon-reload; or see: drover init --systemd",
				"%s runs drover without KillMode=process: its stop would kill every agent", name)
		}
	}
}

// findLine is the first line of a text file that holds one of the words, 0
// for none; large files are not read.
func findLine(path string, words ...string) int {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return 0
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for i, line := range strings.Split(string(text), "\n") {
		for _, w := range words {
			if strings.Contains(line, w) {
				return i + 1
			}
		}
	}
	return 0
}

// unitFiles are the services in which drover may be started.
func unitFiles(home string) []string {
	var out []string
	for _, dir := range []string{filepath.Join(home, ".config/systemd/user"), "/etc/systemd/system", "/etc/systemd/user"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.service"))
		if err == nil {
			out = append(out, files...)
		}
	}
	return out
}

func (a *App) unitKillsAgents(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	starts, spared := false, false
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch strings.TrimSpace(key) {
		case "ExecStart":
			word, _, _ := strings.Cut(strings.TrimLeft(value, `-@:+! "`), " ")
			starts = starts || filepath.Base(strings.Trim(word, `"`)) == "drover"
		case "KillMode":
			spared = strings.TrimSpace(value) == "process"
		}
	}
	return starts && !spared
}

// checkState reads the state as the loop would.
func (a *App) checkState(ctx context.Context) error {
	_, err := fsstate.OpenJournal(a.State.Path, fsstate.Disk{Seam: a.Seam}, a.Now).Load(ctx)
	return err
}
