package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// object is one event of an agent's stream.
type object map[string]any

// at is the object under keys; an empty one where there is none.
func (o object) at(keys ...string) object {
	for _, k := range keys {
		next, _ := o[k].(map[string]any)
		o = next
	}
	return o
}

// text is the text under keys, "" where there is none.
func (o object) text(keys ...string) string {
	s, _ := o.at(keys[:len(keys)-1]...)[keys[len(keys)-1]].(string)
	return s
}

// list are the objects under a key.
func (o object) list(key string) []object {
	items, _ := o[key].([]any)
	var out []object
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// streamText is one line of an agent's output for people: what it said, one
// line a tool call, errors. "" is a line of no interest; what is no event is
// shown as it is.
func streamText(cli string, line []byte) string {
	var o object
	if json.Unmarshal(line, &o) != nil || o == nil {
		return string(line)
	}
	switch cli {
	case "codex":
		return codexText(o)
	case "claude":
		return claudeText(o)
	case "pi":
		return piText(o)
	case "agy":
		return agyText(o)
	case "gemini":
		return geminiText(o)
	case "opencode":
		return opencodeText(o)
	case "script":
		return scriptText(o)
	}
	return string(line)
}

func codexText(o object) string {
	item := o.at("item")
	switch o.text("type") {
	case "item.completed":
		switch item.text("type") {
		case "agent_message":
			return item.text("text")
		case "command_execution":
			return "$ " + item.text("command") + exitNote(item["exit_code"])
		case "file_change":
			var paths []string
			for _, c := range item.list("changes") {
				paths = append(paths, c.text("path"))
			}
			return "edit " + strings.Join(paths, " ")
		case "reasoning":
			return ""
		case "error":
			return "notice: " + item.text("message")
		}
		return item.text("type") + " " + firstText(item, "tool", "query", "name")
	case "error":
		return "notice: " + o.text("message")
	case "turn.failed":
		return "failed: " + o.text("error", "message")
	}
	return ""
}

func exitNote(code any) string {
	if n, ok := code.(float64); ok && n != 0 {
		return fmt.Sprintf("  → exit %d", int(n))
	}
	return ""
}

func claudeText(o object) string {
	switch o.text("type") {
	case "assistant":
		var out []string
		for _, c := range o.at("message").list("content") {
			switch c.text("type") {
			case "text":
				out = append(out, c.text("text"))
			case "tool_use":
				out = append(out, toolCall(c.text("name"), c.at("input")))
			}
		}
		return strings.Join(out, "\n")
	case "system":
		if o.text("subtype") == "api_retry" {
			return fmt.Sprintf("notice: api retry %v of %v, %s", o["attempt"], o["max_retries"], o.text("error"))
		}
	case "result":
		if bad, _ := o["is_error"].(bool); bad {
			return "failed: " + o.text("result")
		}
	}
	return ""
}

func piText(o object) string {
	switch o.text("type") {
	case "message_end":
		message := o.at("message")
		if message.text("role") != "assistant" {
			return ""
		}
		var out []string
		for _, c := range message.list("content") {
			switch c.text("type") {
			case "text":
				out = append(out, c.text("text"))
			case "toolCall":
				out = append(out, toolCall(c.text("name"), c.at("arguments")))
			}
		}
		if why := message.text("errorMessage"); why != "" {
			out = append(out, "failed: "+why)
		}
		return strings.Join(out, "\n")
	case "tool_execution_end":
		if bad, _ := o["isError"].(bool); bad {
			return "  → " + o.text("toolName") + " failed"
		}
	case "auto_retry_start":
		return "notice: retry, " + o.text("errorMessage")
	}
	return ""
}

func agyText(o object) string {
	switch o.text("event") {
	case "step_update":
		step := o.at("step_update")
		if name := firstText(step, "tool_name"); name != "" && step.text("state") != "ACTIVE" {
			text := toolCall(name, step.at("tool_info", "parameters"))
			if why := step.text("tool_info", "error"); why != "" {
				text += "  → " + why
			}
			return text
		}
	case "result":
		result := o.at("result")
		if result.text("status") != "SUCCESS" {
			return "failed: " + firstText(result, "error", "response")
		}
		return result.text("response")
	}
	return ""
}

func geminiText(o object) string {
	switch o.text("type") {
	case "message":
		if o.text("role") == "assistant" {
			return o.text("content")
		}
	case "tool_use":
		return toolCall(o.text("tool_name"), o.at("parameters"))
	case "tool_result":
		if o.text("status") != "success" {
			return "  → " + firstText(o, "status", "output")
		}
	case "error":
		return "notice: " + o.text("message")
	case "result":
		if o.text("status") != "success" {
			return "failed: " + o.text("error", "message")
		}
	}
	return ""
}

func opencodeText(o object) string {
	part := o.at("part")
	switch o.text("type") {
	case "text":
		return part.text("text")
	case "tool_use":
		return toolCall(part.text("tool"), part.at("state", "input"))
	case "error":
		return "failed: " + firstText(o.at("error", "data"), "message")
	}
	return ""
}

func scriptText(o object) string {
	switch o.text("type") {
	case "script.block.started":
		return "$ " + o.text("command")
	case "script.output":
		return strings.TrimRight(o.text("text"), "\n")
	case "script.block":
		return strings.TrimLeft(exitNote(o["exit"]), " ")
	case "script.result":
		if ok, _ := o["success"].(bool); !ok {
			return "failed: " + o.text("message")
		}
		return o.text("message")
	}
	return ""
}

// toolCall is a tool with the argument that tells most.
func toolCall(name string, input object) string {
	arg := firstText(input, "command", "cmd", "file_path", "filePath", "path", "absolute_path", "pattern", "query", "url", "description")
	if strings.EqualFold(name, "bash") || strings.Contains(name, "shell") {
		return "$ " + arg
	}
	return strings.TrimSpace(name + " " + arg)
}

// firstText is the first of some keys that holds text.
func firstText(o object, keys ...string) string {
	for _, k := range keys {
		if s := o.text(k); s != "" {
			return s
		}
	}
	return ""
}
