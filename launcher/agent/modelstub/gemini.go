package modelstub

// gemini is Google's generateContent, which gemini speaks.
type gemini struct {
	stream bool
	req    struct {
		Contents []struct {
			Role  string   `json:"role"`
			Parts []object `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		GenerationConfig object `json:"generationConfig"`
	}
}

func (d *gemini) request() any    { return &d.req }
func (d *gemini) streaming() bool { return d.stream }

func (d *gemini) turn() int {
	n := 0
	for _, content := range d.req.Contents {
		if content.Role != "user" {
			continue
		}
		results := 0
		for _, part := range content.Parts {
			if _, ok := part["functionResponse"]; ok {
				results++
			}
		}
		if results == 0 {
			n = 0
		}
		n += results
	}
	return n
}

func (d *gemini) tools() map[string]bool {
	have := map[string]bool{}
	for _, t := range d.req.Tools {
		for _, f := range t.FunctionDeclarations {
			have[f.Name] = true
		}
	}
	return have
}

func (d *gemini) fault(f Fault) reply { return google(f) }

func candidate(finish string, parts ...any) object {
	c := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		c["finishReason"] = finish
	}
	return object{
		"candidates":    []any{c},
		"usageMetadata": object{"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020},
		"modelVersion":  "stub-model",
	}
}

func (d *gemini) begin(*stream) {}

func (d *gemini) text(e *stream, text string) {
	e.event("", candidate("", object{"text": text}))
}

func (d *gemini) call(e *stream, c call) {
	e.event("", candidate("", object{"functionCall": object{"name": c.name, "args": c.args}}))
}

func (d *gemini) finish(e *stream, _ bool) { e.event("", candidate("STOP", object{"text": ""})) }
func (d *gemini) fail(e *stream, f Fault)  { e.event("", d.fault(f).body) }

// whole: its own classifiers ask for JSON and get what they look for.
func (d *gemini) whole(text string, c *call) object {
	if d.req.GenerationConfig["responseMimeType"] == "application/json" {
		text = `{"reasoning":"stub","model_choice":"flash","next_speaker":"user","complexity_reasoning":"stub","complexity_score":10}`
	}
	parts := []any{}
	if text != "" {
		parts = append(parts, object{"text": text})
	}
	if c != nil {
		parts = append(parts, object{"functionCall": object{"name": c.name, "args": c.args}})
	}
	return candidate("STOP", parts...)
}
