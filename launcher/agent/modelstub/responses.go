package modelstub

import (
	"encoding/json"
	"strings"
	"time"
)

// responses is OpenAI's Responses API, which codex speaks.
type responses struct {
	id  func(string) string
	req struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Tools  []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	response, message string
	output            []any
}

func (d *responses) request() any    { return &d.req }
func (d *responses) streaming() bool { return d.req.Stream }

func (d *responses) turn() int {
	var items []struct{ Type, Role string }
	_ = json.Unmarshal(d.req.Input, &items) // a plain text is a first message
	n := 0
	for _, item := range items {
		if (item.Type == "message" || item.Type == "") && item.Role == "user" {
			n = 0
		}
		if strings.HasSuffix(item.Type, "_call_output") {
			n++
		}
	}
	return n
}

func (d *responses) tools() map[string]bool {
	have := map[string]bool{}
	for _, t := range d.req.Tools {
		if t.Name == "" {
			t.Name = t.Type
		}
		have[t.Name] = true
	}
	return have
}

func (d *responses) fault(f Fault) reply { return openAI(f, d.req.Model) }

func (d *responses) send(e *stream, kind string, v object) {
	v["type"], v["sequence_number"] = kind, e.sequence
	e.sequence++
	e.event(kind, v)
}

func (d *responses) envelope(status string) object {
	if d.response == "" {
		d.response = d.id("resp")
	}
	return object{
		"id": d.response, "object": "response", "created_at": time.Now().Unix(), "status": status,
		"model": d.req.Model, "output": append([]any{}, d.output...), "error": nil,
	}
}

func (d *responses) begin(e *stream) {
	d.send(e, "response.created", object{"response": d.envelope("in_progress")})
}

func (d *responses) text(e *stream, text string) {
	at := len(d.output)
	if !e.opening {
		e.opening, d.message = true, d.id("msg")
		d.send(e, "response.output_item.added", object{"output_index": at, "item": object{
			"id": d.message, "type": "message", "role": "assistant", "status": "in_progress", "content": []any{},
		}})
		d.send(e, "response.content_part.added", object{
			"item_id": d.message, "output_index": at, "content_index": 0, "part": outputText(""),
		})
	}
	e.open.WriteString(text)
	d.send(e, "response.output_text.delta", object{
		"item_id": d.message, "output_index": at, "content_index": 0, "delta": text,
	})
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}}
}

func (d *responses) said(text string) object {
	return object{
		"id": d.message, "type": "message", "role": "assistant", "status": "completed",
		"content": []any{outputText(text)},
	}
}

func (d *responses) called(c call) object {
	return object{
		"id": d.id("fc"), "type": "function_call", "status": "completed", "call_id": d.id("call"),
		"name": c.name, "arguments": encode(c.args),
	}
}

func (d *responses) closeText(e *stream) {
	if !e.opening {
		return
	}
	e.opening = false
	d.done(e, d.said(e.open.String()))
	e.open.Reset()
}

func (d *responses) done(e *stream, item object) {
	d.send(e, "response.output_item.done", object{"output_index": len(d.output), "item": item})
	d.output = append(d.output, item)
}

func (d *responses) call(e *stream, c call) {
	d.closeText(e)
	item := d.called(c)
	d.send(e, "response.output_item.added", object{"output_index": len(d.output), "item": item})
	d.done(e, item)
}

func (d *responses) completed() object {
	r := d.envelope("completed")
	r["usage"] = object{
		"input_tokens": 1000, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 1020,
	}
	return r
}

func (d *responses) finish(e *stream, _ bool) {
	d.closeText(e)
	d.send(e, "response.completed", object{"response": d.completed()})
}

func (d *responses) fail(e *stream, f Fault) {
	why := d.fault(f).body["error"].(object)
	r := d.envelope("failed")
	r["error"] = object{"code": why["code"], "message": why["message"]}
	d.send(e, "response.failed", object{"response": r})
}

func (d *responses) whole(text string, c *call) object {
	if text != "" {
		d.message = d.id("msg")
		d.output = append(d.output, d.said(text))
	}
	if c != nil {
		d.output = append(d.output, d.called(*c))
	}
	return d.completed()
}
