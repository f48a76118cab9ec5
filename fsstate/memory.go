package fsstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"drover/spec"
)

// memoryVersion is of state.json's shape.
const memoryVersion = 1

// TornStateError is a state.json that cannot be used. drover refuses to run
// with it: it is never taken for an empty one and never overwritten (seed 003).
type TornStateError struct {
	Path   string
	Offset int64 // of the byte where it stops making sense
	Why    string
}

func (e *TornStateError) Error() string {
	return fmt.Sprintf("%s %s (byte %d); refusing to run; see: drover help files", e.Path, e.Why, e.Offset)
}

// memoryFile is state.json.
type memoryFile struct {
	Version int                    `json:"version"`
	Groups  map[string]*spec.Group `json:"groups"`
	// Tasks by generation: "<task>|<plan>|<tag>"; a dialect other than
	// agent-task stands before it: "issues:<task>|…".
	Tasks   map[string]*memoryTask `json:"tasks"`
	Waves   struct{}               `json:"waves"`
	Timers  struct{}               `json:"timers"`
	Stopped map[string]spec.Reason `json:"stopped_routes"`
}

// memoryTask carries the dialect apart, because a name may hold a colon.
type memoryTask struct {
	Dialect string `json:"dialect,omitempty"`
	*spec.Record
}

// plainDialect is the dialect whose tasks stand in state.json by their bare
// names, as seed 003 has them.
const plainDialect = "agent-task"

func (t *memoryTask) key(name string) string {
	if t.Dialect != "" {
		name = t.Dialect + ":" + name
	}
	return name + t.suffix()
}

func (t *memoryTask) suffix() string {
	return fmt.Sprintf("|%d|%s", t.Generation.Plan, t.Generation.Tag)
}

// encodeMemory writes a memory as state.json; the same memory gives the same
// bytes.
func encodeMemory(m *spec.Memory) ([]byte, error) {
	file := memoryFile{Version: memoryVersion, Groups: m.Groups, Tasks: map[string]*memoryTask{}, Stopped: m.Stopped}
	for id, record := range m.Records {
		if record == nil {
			continue
		}
		task := &memoryTask{Dialect: id.Dialect, Record: record}
		if id.Dialect == plainDialect {
			task.Dialect = ""
		}
		file.Tasks[task.key(id.Name)] = task
	}
	text, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return append(text, '\n'), nil
}

// decodeMemory is the inverse of encodeMemory. Fields it does not know are
// ignored; a version it does not know is refused. path is for the error, a
// *TornStateError.
func decodeMemory(path string, text []byte) (*spec.Memory, error) {
	torn := func(at int64, why string) (*spec.Memory, error) {
		return nil, &TornStateError{Path: path, Offset: at, Why: why}
	}
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	if start == len(text) {
		return torn(0, "is empty")
	}
	if text[start] != '{' {
		return torn(int64(start), "is not a JSON object")
	}
	var file memoryFile
	if err := json.Unmarshal(text, &file); err != nil {
		return torn(tornAt(err, int64(len(text))))
	}
	switch {
	case file.Version > memoryVersion:
		return torn(int64(start), fmt.Sprintf("has version %d, newer than this drover knows", file.Version))
	case file.Version != memoryVersion:
		return torn(int64(start), "has no version")
	}
	return file.memory(path)
}

func (file *memoryFile) memory(path string) (*spec.Memory, error) {
	m := spec.NewMemory()
	for name, group := range file.Groups {
		if group != nil {
			m.Groups[name] = group
		}
	}
	for key, task := range file.Tasks {
		if task == nil || task.Record == nil {
			return nil, &TornStateError{Path: path, Why: fmt.Sprintf("says nothing of task %q", key)}
		}
		name, ok := strings.CutSuffix(key, task.suffix())
		id := spec.TaskID{Dialect: plainDialect, Name: name}
		if task.Dialect != "" && ok {
			id.Dialect = task.Dialect
			id.Name, ok = strings.CutPrefix(name, task.Dialect+":")
		}
		if _, double := m.Records[id]; !ok || double || id.Name == "" {
			return nil, &TornStateError{Path: path, Why: fmt.Sprintf("names task %q in two ways", key)}
		}
		m.Records[id] = task.Record
	}
	for agent, reason := range file.Stopped {
		m.Stopped[agent] = reason
	}
	return m, nil
}

// tornAt tells where and how a JSON text is broken.
func tornAt(err error, size int64) (int64, string) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return size, "is not JSON, it ends too early"
	case errors.As(err, &syntax):
		return max(syntax.Offset-1, 0), "is not JSON"
	case errors.As(err, &kind):
		return kind.Offset, fmt.Sprintf("has a %s where %s should be", kind.Value, kind.Field)
	}
	return 0, "is not JSON: " + err.Error()
}
