package script

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"drover/spec/markdown"
)

// workIssue runs a WORK document's blocks, commits what they changed and
// reports with the self-review table (DESIGN 9).
func (a *agent) workIssue(ctx context.Context, doc string) (string, error) {
	work, err := os.ReadFile(doc)
	if err != nil {
		return "", refuse("read the work: %v", err)
	}
	done, err := a.runBlocks(ctx, work, 0)
	if err != nil {
		return "", err
	}
	id, ok := markdown.Value(work, "id")
	if !ok {
		id = strings.TrimSuffix(filepath.Base(doc), ".md")
	}
	title, _ := markdown.Value(work, "title")
	if err := a.git(ctx, "add", "-A"); err != nil {
		return "", err
	}
	if a.git(ctx, "diff", "--cached", "--quiet") != nil {
		if err := a.git(ctx, "commit", "-q", "-m", fmt.Sprintf("feat(%s): %s", id, cmp.Or(title, "run the script"))); err != nil {
			return "", err
		}
	}
	return report(done), nil
}

// git runs git in the step's folder.
func (a *agent) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = a.Dir, a.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// report is a worker's final message. A script reviews nothing of itself: its
// commands are all the proof there is.
func report(done []command) string {
	return summary(done) + `

| Category | Question | Result |
|---|---|---|
| A | docstrings match the code | N/A |
| B | a test of the real path exists | N/A |
| C | no invariant of another phase is broken | N/A |
| D | resources are cleaned up | N/A |
| E | nothing unused is left | N/A |

DECISION LOG: none
Lessons: none found
`
}
