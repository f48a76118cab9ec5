package modelstub

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// dialect is one wire format, and the state of one answer in it.
type dialect interface {
	request() any           // where the request is decoded to
	turn() int              // tool results after the last message of a person
	tools() map[string]bool // that the program offers
	streaming() bool
	fault(f Fault) reply
	begin(e *stream)
	text(e *stream, text string)
	call(e *stream, c call)
	finish(e *stream, calls bool)
	fail(e *stream, f Fault)           // an error within the stream
	whole(text string, c *call) object // an answer in one piece
}

// call is a tool call.
type call struct {
	name string
	args object
}

// reply is an error as an HTTP answer.
type reply struct {
	status int
	body   object
	header map[string]string
}

// answer plays one step.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect, step Step) {
	switch {
	case step.Kind == KindFail:
		s.refuse(w, d.fault(step.Fault), step.Header)
	case step.Kind == KindSilent:
		<-r.Context().Done()
	case step.Kind == KindBegun:
		newStream(w)
		<-r.Context().Done()
	case !d.streaming():
		s.inOnePiece(w, d, step)
	default:
		s.inAStream(w, r, d, step)
	}
}

func (s *Server) refuse(w http.ResponseWriter, rep reply, more map[string]string) {
	header := maps.Clone(rep.header)
	if header == nil {
		header = map[string]string{}
	}
	maps.Copy(header, more)
	header["request-id"], header["x-request-id"] = s.id("req"), s.id("req")
	for key, value := range header {
		w.Header().Set(key, value)
	}
	writeJSON(w, rep.status, rep.body)
}

// inOnePiece answers a program that did not ask for a stream; one that falls
// back to this after a broken stream meets the same fault.
func (s *Server) inOnePiece(w http.ResponseWriter, d dialect, step Step) {
	switch step.Kind {
	case KindCut:
		reset(w)
	case KindBreak:
		s.refuse(w, d.fault(step.Fault), nil)
	case KindWrite, KindShell, KindTool:
		c := toolCall(d.tools(), step)
		writeJSON(w, http.StatusOK, d.whole("", &c))
	default:
		writeJSON(w, http.StatusOK, d.whole(step.Text, nil))
	}
}

// inAStream answers as nearly all programs ask.
func (s *Server) inAStream(w http.ResponseWriter, r *http.Request, d dialect, step Step) {
	e := newStream(w)
	d.begin(e)
	switch step.Kind {
	case KindWrite, KindShell, KindTool:
		d.text(e, "I will use a tool.")
		d.call(e, toolCall(d.tools(), step))
		d.finish(e, true)
	case KindBreak:
		d.fail(e, step.Fault)
	case KindCut:
		d.text(e, "I will now ")
		select { // a reset overtakes what the program has not read
		case <-r.Context().Done():
		case <-time.After(readWithin):
		}
		reset(w)
	default:
		d.text(e, step.Text)
		d.finish(e, false)
	}
}

// readWithin is how long a program gets to read the beginning of an answer.
const readWithin = 200 * time.Millisecond

// reset ends the connection in the middle of an answer: the program sees that
// it was reset by its peer.
func reset(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// toolCall turns a step into a call of a tool that the program offers.
func toolCall(have map[string]bool, step Step) call {
	command := step.Command
	switch {
	case step.Kind == KindTool:
		return call{step.Name, step.Args}
	case step.Kind == KindWrite && have["Write"]: // claude
		return call{"Write", object{"file_path": step.Path, "content": step.Text}}
	case step.Kind == KindWrite && have["write_file"]: // gemini
		return call{"write_file", object{"file_path": step.Path, "content": step.Text}}
	case step.Kind == KindWrite && have["write"]: // pi reads path, opencode filePath
		return call{"write", object{"path": step.Path, "filePath": step.Path, "content": step.Text}}
	case step.Kind == KindWrite: // codex has no tool for files but its shell
		command = fmt.Sprintf("cat > '%s' <<'END_OF_FILE'\n%s\nEND_OF_FILE", step.Path, strings.TrimSuffix(step.Text, "\n"))
	}
	switch {
	case have["Bash"]: // claude
		return call{"Bash", object{"command": command, "description": "scripted command"}}
	case have["run_shell_command"]: // gemini
		return call{"run_shell_command", object{"command": command, "description": "scripted command"}}
	case have["bash"]: // pi, opencode
		return call{"bash", object{"command": command, "description": "scripted command"}}
	case have["exec_command"]: // codex
		return call{"exec_command", object{"cmd": command}}
	}
	return call{"shell_command", object{"command": command}} // codex, before that
}

// stream writes server-sent events.
type stream struct {
	w http.ResponseWriter
	// sequence numbers events or content blocks, as the dialect has it.
	sequence int
	// open is the text of a content block that is being sent.
	open    strings.Builder
	opening bool
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("content-type", "text/event-stream")
	w.Header().Set("cache-control", "no-cache")
	w.WriteHeader(http.StatusOK)
	e := &stream{w: w}
	e.flush()
	return e
}

// event sends one event; a name of "" leaves the name out. A program that is
// gone is no error here.
func (e *stream) event(name string, v any) {
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", encode(v))
	e.flush()
}

func (e *stream) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintln(w, encode(v))
}

// encode is v as JSON; v holds nothing that has no form in it.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
