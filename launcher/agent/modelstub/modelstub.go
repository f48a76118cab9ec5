// Package modelstub is a scripted model server: it lets tests drive the real
// agent programs without a network, an account or a model.
//
// It speaks the four wire formats that those programs speak:
//
//	POST …/responses                        OpenAI Responses     codex
//	POST …/messages                         Anthropic Messages   claude
//	POST …/chat/completions                 OpenAI chat          pi, opencode
//	POST …/models/M:streamGenerateContent   Gemini               gemini
//
// Only tests may import it: drover itself talks to no model.
//
// Which turn of a scenario answers a request follows from the request alone:
// it is the number of tool results after the last message of a person. So a
// retry gets the same answer, and a resumed session begins at the first turn.
package modelstub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is what a step of the model does.
type Kind string

// The kinds of step.
const (
	KindText   Kind = "text"   // says Text and ends the turn
	KindWrite  Kind = "write"  // writes Text to Path, with the program's own tool for it
	KindShell  Kind = "shell"  // runs Command
	KindTool   Kind = "tool"   // calls the tool Name with Args
	KindFail   Kind = "fail"   // answers with the error Fault
	KindBreak  Kind = "break"  // begins to answer, then sends the error Fault
	KindCut    Kind = "cut"    // begins to answer, then resets the connection
	KindSilent Kind = "silent" // never answers
	KindBegun  Kind = "begun"  // sends the head of an answer and nothing more
)

// Fault is an error as providers report it.
type Fault string

// The faults.
const (
	Quota      Fault = "quota"       // of an account, by the API
	UsageLimit Fault = "usage-limit" // of a subscription, with its reset time
	Rate       Fault = "rate"
	Context    Fault = "context"
	Model      Fault = "model"
	Auth       Fault = "auth"
	Overloaded Fault = "overloaded"
	Broken     Fault = "broken" // an internal error of the provider
)

// Step is one turn of the model.
type Step struct {
	Kind    Kind
	Text    string
	Path    string
	Command string
	Name    string
	Args    map[string]any
	Fault   Fault
	Header  map[string]string // of an error, beside its own
	// Times is how many requests the step answers before Then does; 0 is all.
	Times int
	Then  *Step
}

// Scenario is what the model does, turn by turn; the last turn repeats.
type Scenario []Step

// Request is one request for a turn, as it arrived.
type Request struct {
	Path string
	Body string
	Turn int
}

// Server plays scenarios over HTTP. Each has a name, and the base URL
// URL + "/" + name reaches it. Any number of programs may ask at once.
type Server struct {
	ids   atomic.Int64
	mu    sync.Mutex
	plays map[string]*play
}

// play is one scenario being played.
type play struct {
	scenario Scenario
	answered map[string]int // requests that a step of limited Times has answered
	requests []Request
}

// New is a server without scenarios.
func New() *Server { return &Server{plays: map[string]*play{}} }

// Play sets what the name plays from now on. Requests so far are kept.
func (s *Server) Play(name string, sc Scenario) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &play{scenario: sc, answered: map[string]int{}}
	if old := s.plays[name]; old != nil {
		p.requests = old.requests
	}
	s.plays[name] = p
}

// Requests are those for a turn that the name got so far, in order.
func (s *Server) Requests(name string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.plays[name]; p != nil {
		return append([]Request(nil), p.requests...)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program is gone
	}
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	known := s.plays[name] != nil
	s.mu.Unlock()
	if !known {
		http.Error(w, "modelstub plays no "+name, http.StatusNotFound)
		return
	}
	d := s.dialect(r.Method, path)
	if d == nil {
		aside(w, r.Method, path)
		return
	}
	if err := json.Unmarshal(body, d.request()); err != nil {
		http.Error(w, fmt.Sprintf("modelstub reads %s: %v", path, err), http.StatusBadRequest)
		return
	}
	s.answer(w, r, d, s.take(name, path, d, string(body)))
}

// dialect is the wire format of a path, nil for a request that asks for no turn.
func (s *Server) dialect(method, path string) dialect {
	if method != http.MethodPost {
		return nil
	}
	switch {
	case strings.HasSuffix(path, "/responses"):
		return &responses{id: s.id}
	case strings.HasSuffix(path, "/messages"):
		return &messages{id: s.id}
	case strings.HasSuffix(path, "/chat/completions"):
		return &chat{id: s.id}
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return &gemini{stream: true}
	case strings.HasSuffix(path, ":generateContent"):
		return &gemini{}
	}
	return nil
}

// id makes a name that no other answer has.
func (s *Server) id(prefix string) string { return fmt.Sprintf("%s_stub%d", prefix, s.ids.Add(1)) }

// take finds the step that answers a request, and notes the request. One that
// offers no tools is the program's own (a title, a classifier): it gets a word,
// or the first turn's error.
func (s *Server) take(name, path string, d dialect, body string) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, turn := s.plays[name], d.turn()
	if len(d.tools()) == 0 {
		if len(p.scenario) > 0 && p.scenario[0].Kind == KindFail && p.scenario[0].Times == 0 {
			return p.scenario[0]
		}
		return Step{Kind: KindText, Text: "ok"}
	}
	p.requests = append(p.requests, Request{Path: path, Body: body, Turn: turn})
	if len(p.scenario) == 0 {
		return Step{Kind: KindText, Text: "Done."}
	}
	turn = min(turn, len(p.scenario)-1)
	step, key := p.scenario[turn], fmt.Sprint(turn)
	for step.Times > 0 && step.Then != nil {
		if p.answered[key]++; p.answered[key] <= step.Times {
			break
		}
		step, key = *step.Then, key+"+"
	}
	return step
}

// aside answers what the programs ask besides turns.
func aside(w http.ResponseWriter, method, path string) {
	switch {
	case method == http.MethodPost && strings.HasSuffix(path, "/count_tokens"):
		writeJSON(w, http.StatusOK, object{"input_tokens": 1000})
	case method == http.MethodPost && strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, http.StatusOK, object{"totalTokens": 1000})
	case method == http.MethodGet && strings.HasSuffix(path, "/models"):
		writeJSON(w, http.StatusOK, object{"object": "list", "models": []any{}, "data": []any{
			object{"id": "stub-model", "object": "model", "created": 1, "owned_by": "stub"},
		}})
	default:
		writeJSON(w, http.StatusNotFound, object{"error": object{
			"message": "modelstub knows no " + method + " " + path, "type": "not_found",
		}})
	}
}
