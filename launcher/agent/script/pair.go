package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"drover/spec/markdown"
)

// Names of a task's documents begin with these (FORMATS 4.1).
const (
	planName   = "PLAN"
	reviewName = "CODE_REVIEW"
)

// header is the generation that a document names.
type header struct {
	task   string
	number int // of the plan
	tag    string
}

func (h header) String() string {
	return fmt.Sprintf("<!-- task=%s plan=%d tag=%s -->", h.task, h.number, h.tag)
}

// headerOf reads the generation from the comment on the first line or from the
// frontmatter; a document without one is plan 0 of its folder (DIALECTS 1.2).
func headerOf(text []byte, task string) header {
	h := header{task: task, tag: strings.ToUpper(filepath.Base(task))}
	value := func(key string) string {
		v, _ := markdown.Value(text, key)
		return v
	}
	if line, ok := headerLine(text); ok {
		value = func(key string) string {
			for _, word := range strings.Fields(line) {
				if v, ok := strings.CutPrefix(word, key+"="); ok {
					return v
				}
			}
			return ""
		}
	}
	if v := value("task"); v != "" {
		h.task = v
	}
	if v := value("tag"); v != "" {
		h.tag = v
	}
	h.number, _ = strconv.Atoi(value("plan"))
	return h
}

// headerLine is what the comment on the first line says.
func headerLine(text []byte) (string, bool) {
	line, _, _ := strings.Cut(strings.TrimPrefix(string(text), "\uFEFF"), "\n")
	line, ok := strings.CutPrefix(strings.TrimSpace(line), "<!--")
	if !ok || !strings.Contains(line, "task=") {
		return "", false
	}
	return strings.TrimSuffix(line, "-->"), true
}

// hasHeader reports whether a document names its generation.
func hasHeader(text []byte) bool {
	_, comment := headerLine(text)
	_, head := markdown.Value(text, "plan")
	return comment || head
}

// setPlan is a text that names another plan number in the header it has; a
// text without one gets a comment.
func setPlan(text []byte, h header) ([]byte, error) {
	if _, ok := headerLine(text); ok {
		bom := ""
		rest := string(text)
		if s, found := strings.CutPrefix(rest, "\uFEFF"); found {
			bom, rest = "\uFEFF", s
		}
		line, body, _ := strings.Cut(rest, "\n")
		if strings.HasSuffix(line, "\r") {
			return []byte(bom + h.String() + "\r\n" + body), nil
		}
		return []byte(bom + h.String() + "\n" + body), nil
	}
	if markdown.FindHead(text).State == markdown.WholeHead {
		out, err := markdown.SetValue(text, "plan", strconv.Itoa(h.number))
		if err != nil {
			return nil, fmt.Errorf("set the plan number: %w", err)
		}
		return out, nil
	}
	return append([]byte(h.String()+"\n"), text...), nil
}

// suffix is what the names of a pair share: "-cloud-G05", or "".
func suffix(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".md")
	return strings.TrimPrefix(strings.TrimPrefix(name, reviewName), planName)
}

// logName is the name under which a document of plan k is kept:
// plan_cloud_G05_0.log.
func logName(prefix, suffix string, k int) string {
	return strings.ToLower(prefix) + strings.ReplaceAll(suffix, "-", "_") + "_" + strconv.Itoa(k) + ".log"
}

// beside finds the other document of a pair: the one of the same lane and
// grade, else the only one there is. "" means none.
func beside(doc, prefix string) (string, error) {
	dir := filepath.Dir(doc)
	same := filepath.Join(dir, prefix+suffix(doc)+".md")
	if _, err := os.Stat(same); err == nil {
		return same, nil
	}
	found, err := filepath.Glob(filepath.Join(escape(dir), prefix+"*.md"))
	switch {
	case err != nil:
		return "", fmt.Errorf("look for %s beside %s: %w", prefix, doc, err)
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", refuse("there are %d files %s*.md beside %s", len(found), prefix, doc)
	}
	return "", nil
}

// escape takes the meaning of a pattern's signs from a folder's name.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// taskOf is the name of the task that a document belongs to: what drover says,
// else its folder's.
func (a *agent) taskOf(doc string) string {
	if task := a.variable("DROVER_TASK"); task != "" {
		return task
	}
	dir := filepath.Dir(doc)
	return filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
}

func (a *agent) variable(key string) string {
	for i := len(a.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(a.Env[i], key+"="); ok {
			return value
		}
	}
	return ""
}

// replace puts a whole text in the place of a file, or makes it. Its temporary
// name is never taken for a task.
func replace(path string, text []byte) error {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
