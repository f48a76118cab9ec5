package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"drover/fsstate"
	"drover/spec/agenttask"
)

// newFlags describe a new task.
type newFlags struct {
	lane  string
	grade int
	after []string
}

func newCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "new task", Short: "write a document to fill in",
		RunE: func(*cobra.Command, []string) error { return usageError("new what? see: drover new --help") },
		Args: cobra.NoArgs,
	}
	var f newFlags
	task := &cobra.Command{
		Use: "task GROUP/SLUG", Short: "write a PLAN that is held until you release it", Args: cobra.ExactArgs(1),
		Example: `  drover new task ledger/reader
  drover new task ledger/accounts --after 01,02 --lane cloud --grade 7`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.Open(c.Context()); err != nil {
				return err
			}
			return a.newTask(args[0], f)
		},
	}
	flags := task.Flags()
	flags.StringVar(&f.lane, "lane", "", "local or cloud; none writes a PLAN.md on the route plain")
	flags.IntVar(&f.grade, "grade", 5, "with --lane: how hard it is, 1 to 10")
	flags.StringSliceVar(&f.after, "after", nil, "`numbers` of the group's tasks that must be complete first")
	c.AddCommand(task)
	for _, kind := range []string{"master", "work", "milestone", "plan"} {
		c.AddCommand(later(kind, "write a "+kind, kind+"s"))
	}
	return c
}

// newTask writes a task's folder with a PLAN of placeholders.
func (a *App) newTask(name string, f newFlags) error {
	group, slug, err := splitTaskName(name)
	if err != nil {
		return err
	}
	file := "PLAN.md"
	switch {
	case f.lane == "local" || f.lane == "cloud":
		if f.grade < 1 || f.grade > 10 {
			return usageError("--grade wants 1 to 10, not %d", f.grade)
		}
		file = fmt.Sprintf("PLAN-%s-G%02d.md", f.lane, f.grade)
	case f.lane != "":
		return usageError("--lane wants local or cloud, not %q", f.lane)
	}
	root := a.Settings.AgentTask.Root
	number, err := a.nextNumber(root, group)
	if err != nil {
		return err
	}
	after, err := predecessors(f.after, number)
	if err != nil {
		return err
	}
	task := fmt.Sprintf("%02d%s_%s", number, after, slug)
	doc := path.Join(root, group, task, file)
	full := filepath.Join(a.State.Root, filepath.FromSlash(doc))
	disk := fsstate.Disk{Seam: a.Seam}
	if err := disk.MakeFolder(filepath.Dir(full)); err != nil {
		return fmt.Errorf("new task %s: %w", name, err)
	}
	if err := disk.CreateFile(full, []byte(agenttask.NewTask(group+"/"+task, a.Settings.Language.Answers)), 0o644); err != nil {
		return fmt.Errorf("new task %s: %w", name, err)
	}
	return a.answer(verbDoc("new", map[string]any{"task": group + "/" + task, "files": []string{doc}}), func(w io.Writer) {
		fmt.Fprintf(w, "%s\nfill it in, then: drover release %s/%s\n", doc, group, task)
	})
}

// splitTaskName reads GROUP/SLUG; what a folder's grammar does not allow in a
// slug becomes an underscore.
func splitTaskName(name string) (group, slug string, err error) {
	group, slug, ok := strings.Cut(name, "/")
	if !ok || group == "" || slug == "" || strings.Contains(slug, "/") {
		return "", "", usageError("a task is GROUP/SLUG, not %q", name)
	}
	if group == "archive" || strings.ContainsAny(group[:1], "._") || strings.ContainsFunc(group, func(r rune) bool { return !nameRune(r) }) {
		return "", "", usageError("%q cannot be a group: letters, digits, '-' and '_', not archive, no '.' or '_' first", group)
	}
	slug = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, slug)
	if strings.Trim(slug, "_") == "" {
		return "", "", usageError("%q leaves nothing of a slug, which is made of a-z, 0-9 and _", name)
	}
	return group, slug, nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// predecessors turns "1", "02" into "+01,02"; number is the task's own.
func predecessors(numbers []string, number int) (string, error) {
	var out []string
	for _, n := range numbers {
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 || i > 99 {
			return "", usageError("--after wants numbers of tasks such as 01,02, not %q", n)
		}
		if i >= number {
			return "", usageError("--after %02d: the group has no such task yet; this one becomes %02d", i, number)
		}
		out = append(out, fmt.Sprintf("%02d", i))
	}
	if len(out) == 0 {
		return "", nil
	}
	return "+" + strings.Join(out, ","), nil
}

// nextNumber is one more than the highest of the group, archived tasks
// included: a number that comes back would be a second predecessor.
func (a *App) nextNumber(root, group string) (int, error) {
	base := filepath.Join(a.State.Root, filepath.FromSlash(root))
	folders := []string{filepath.Join(base, group)}
	archived, err := filepath.Glob(filepath.Join(base, "archive", "*", "*", group))
	if err != nil {
		return 0, fmt.Errorf("new task: %w", err)
	}
	highest := 0
	for _, folder := range append(folders, archived...) {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("new task: %w", err)
		}
		for _, e := range entries {
			if len(e.Name()) < 3 || e.Name()[2] != '_' && e.Name()[2] != '+' {
				continue
			}
			if n, err := strconv.Atoi(e.Name()[:2]); err == nil {
				highest = max(highest, n)
			}
		}
	}
	if highest >= 99 {
		return 0, refuse("group %s has used up its numbers; begin another group", group)
	}
	return highest + 1, nil
}
