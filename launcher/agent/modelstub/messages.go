package modelstub

import (
	"encoding/json"
	"strings"
)

// messages is Anthropic's Messages API, which claude speaks.
type messages struct {
	id  func(string) string
	req struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
}

func (d *messages) request() any    { return &d.req }
func (d *messages) streaming() bool { return d.req.Stream }

// turn: what claude itself adds to a person's message is no message.
func (d *messages) turn() int {
	n := 0
	for _, message := range d.req.Messages {
		if message.Role != "user" {
			continue
		}
		var blocks []struct{ Type, Text string }
		if json.Unmarshal(message.Content, &blocks) != nil {
			n = 0 // a plain text
			continue
		}
		results, person := 0, false
		for _, b := range blocks {
			switch {
			case b.Type == "tool_result":
				results++
			case b.Type == "text" && !strings.HasPrefix(b.Text, "<system-reminder>"):
				person = true
			}
		}
		if results == 0 && person {
			n = 0
		}
		n += results
	}
	return n
}

func (d *messages) tools() map[string]bool {
	have := map[string]bool{}
	for _, t := range d.req.Tools {
		have[t.Name] = true
	}
	return have
}

func (d *messages) fault(f Fault) reply { return anthropic(f, d.req.Model, d.id) }

func (d *messages) send(e *stream, kind string, v object) {
	v["type"] = kind
	e.event(kind, v)
}

func tokens(out int) object {
	return object{
		"input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": out,
	}
}

func (d *messages) begin(e *stream) {
	d.send(e, "message_start", object{"message": object{
		"id": d.id("msg"), "type": "message", "role": "assistant", "model": d.req.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": tokens(1),
	}})
}

func (d *messages) text(e *stream, text string) {
	if !e.opening {
		e.opening = true
		d.send(e, "content_block_start", object{
			"index": e.sequence, "content_block": object{"type": "text", "text": ""},
		})
	}
	d.send(e, "content_block_delta", object{
		"index": e.sequence, "delta": object{"type": "text_delta", "text": text},
	})
}

func (d *messages) closeText(e *stream) {
	if e.opening {
		e.opening = false
		d.stopBlock(e)
	}
}

func (d *messages) stopBlock(e *stream) {
	d.send(e, "content_block_stop", object{"index": e.sequence})
	e.sequence++
}

func (d *messages) call(e *stream, c call) {
	d.closeText(e)
	d.send(e, "content_block_start", object{"index": e.sequence, "content_block": object{
		"type": "tool_use", "id": d.id("toolu"), "name": c.name, "input": object{},
	}})
	d.send(e, "content_block_delta", object{
		"index": e.sequence, "delta": object{"type": "input_json_delta", "partial_json": encode(c.args)},
	})
	d.stopBlock(e)
}

func stopReason(calls bool) string {
	if calls {
		return "tool_use"
	}
	return "end_turn"
}

func (d *messages) finish(e *stream, calls bool) {
	d.closeText(e)
	d.send(e, "message_delta", object{
		"delta": object{"stop_reason": stopReason(calls), "stop_sequence": nil}, "usage": tokens(20),
	})
	d.send(e, "message_stop", object{})
}

func (d *messages) fail(e *stream, f Fault) { e.event("error", d.fault(f).body) }

func (d *messages) whole(text string, c *call) object {
	content := []any{}
	if text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	if c != nil {
		content = append(content, object{"type": "tool_use", "id": d.id("toolu"), "name": c.name, "input": c.args})
	}
	return object{
		"id": d.id("msg"), "type": "message", "role": "assistant", "model": d.req.Model, "content": content,
		"stop_reason": stopReason(c != nil), "stop_sequence": nil, "usage": tokens(20),
	}
}
