package modelstub

import (
	"fmt"
	"maps"
	"time"
)

// chat is OpenAI's chat completions, which pi and opencode speak.
type chat struct {
	id  func(string) string
	req struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	completion string
}

func (d *chat) request() any    { return &d.req }
func (d *chat) streaming() bool { return d.req.Stream }

func (d *chat) turn() int {
	n := 0
	for _, m := range d.req.Messages {
		switch m.Role {
		case "user":
			n = 0
		case "tool":
			n++
		}
	}
	return n
}

func (d *chat) tools() map[string]bool {
	have := map[string]bool{}
	for _, t := range d.req.Tools {
		have[t.Function.Name] = true
	}
	return have
}

func (d *chat) fault(f Fault) reply {
	r := openAI(f, d.req.Model)
	if f == Context {
		r.body["error"].(object)["message"] = "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages."
	}
	return r
}

func (d *chat) envelope(kind string, more object) object {
	if d.completion == "" {
		d.completion = d.id("chatcmpl")
	}
	v := object{"id": d.completion, "object": kind, "created": time.Now().Unix(), "model": d.req.Model}
	maps.Copy(v, more)
	return v
}

func (d *chat) chunk(e *stream, delta object, finish any) {
	e.event("", d.envelope("chat.completion.chunk", object{"choices": []any{
		object{"index": 0, "delta": delta, "finish_reason": finish},
	}}))
}

func chatUsage() object {
	return object{"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
}

func (d *chat) called(c call) []any {
	return []any{object{
		"index": 0, "id": d.id("call"), "type": "function",
		"function": object{"name": c.name, "arguments": encode(c.args)},
	}}
}

func (d *chat) begin(e *stream)             { d.chunk(e, object{"role": "assistant", "content": ""}, nil) }
func (d *chat) text(e *stream, text string) { d.chunk(e, object{"content": text}, nil) }
func (d *chat) call(e *stream, c call)      { d.chunk(e, object{"tool_calls": d.called(c)}, nil) }

func finishReason(calls bool) string {
	if calls {
		return "tool_calls"
	}
	return "stop"
}

func (d *chat) finish(e *stream, calls bool) {
	d.chunk(e, object{}, finishReason(calls))
	e.event("", d.envelope("chat.completion.chunk", object{"choices": []any{}, "usage": chatUsage()}))
	fmt.Fprint(e.w, "data: [DONE]\n\n")
	e.flush()
}

func (d *chat) fail(e *stream, f Fault) { e.event("", d.fault(f).body) }

func (d *chat) whole(text string, c *call) object {
	message := object{"role": "assistant", "content": text}
	if c != nil {
		message["tool_calls"] = d.called(*c)
	}
	return d.envelope("chat.completion", object{
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finishReason(c != nil)}},
		"usage":   chatUsage(),
	})
}
