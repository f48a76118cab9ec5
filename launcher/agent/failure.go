package agent

import (
	"encoding/json"
	"strings"

	"drover/spec"
)

// cause is what a program's own error says, as far as it can be told apart.
// Numbers and codes are made for machines and count more than the text.
type cause struct {
	status int    // HTTP status of the provider's answer, 0 for none
	code   string // the provider's or the program's own code
	text   string
}

// phrase tells a class by a part of an error's text, in lower case.
type phrase struct {
	part  string
	class spec.Class
}

// read takes the error object out of a text that quotes one: its status and
// its codes, of which one that says all by itself comes first.
func (c cause) read() cause {
	i := strings.IndexByte(c.text, '{')
	if i < 0 {
		return c
	}
	var outer any
	if json.NewDecoder(strings.NewReader(c.text[i:])).Decode(&outer) != nil {
		return c
	}
	var codes []string
	c.walk(outer, &codes, 0)
	for _, code := range codes {
		if _, ok := classOfCode(code); ok {
			c.code = code
			return c
		}
	}
	for _, code := range codes {
		if c.code == "" && statusOfCode(code) != 0 {
			c.code = code
		}
	}
	return c
}

// walk collects codes and the status of an error object and of those in it.
func (c *cause) walk(v any, codes *[]string, depth int) {
	if list, ok := v.([]any); ok && depth < 4 {
		for _, e := range list {
			c.walk(e, codes, depth+1)
		}
	}
	object, ok := v.(map[string]any)
	if !ok || depth == 4 {
		return
	}
	for _, key := range []string{"code", "reason", "type", "status"} {
		switch value := object[key].(type) {
		case string:
			*codes = append(*codes, value)
		case float64:
			if c.status == 0 && value >= 400 && value < 600 {
				c.status = int(value)
			}
		}
	}
	c.walk(object["error"], codes, depth+1)
	c.walk(object["details"], codes, depth+1)
}

// class of the cause. own are the program's own phrases, tried before those
// of the providers.
func (c cause) class(own []phrase) spec.Class {
	c = c.read()
	if class, ok := classOfCode(c.code); ok {
		return class
	}
	text := plain(c.text)
	said := match(text, own)
	if said == "" {
		said = match(text, providerPhrases())
	}
	status := c.status
	if status == 0 && said == "" {
		status = statusOfCode(c.code)
	}
	return refine(status, said)
}

// refine settles the class where a status is known; said is what the text
// says, or "".
func refine(status int, said spec.Class) spec.Class {
	switch {
	case status == 429:
		if said == spec.ClassQuota {
			return said
		}
		return spec.ClassRateLimit
	case status == 402:
		return spec.ClassQuota
	case status == 401, status == 403 && said != spec.ClassModelUnavailable && said != spec.ClassQuota:
		return spec.ClassAuthConfig
	case status == 404 && said != spec.ClassAuthConfig:
		return spec.ClassModelUnavailable
	case status == 408:
		return spec.ClassProviderConnection
	case status == 413:
		return spec.ClassContextLimit
	case status >= 500:
		return spec.ClassOverloaded
	case status != 0 && transport(said):
		// The provider did answer.
		return spec.ClassGenericError
	case said == "":
		return spec.ClassGenericError
	}
	return said
}

func transport(c spec.Class) bool {
	return c == spec.ClassProviderConnection || c == spec.ClassProviderDisconnect
}

// classOfCode knows the codes that say all by themselves.
func classOfCode(code string) (spec.Class, bool) {
	switch strings.ToLower(code) {
	case "insufficient_quota", "usage_limit_reached", "usage_limit_exceeded", "quota_exceeded",
		"usage_not_included", "billing_error", "billing_hard_limit_reached", "credit_balance_too_low", "terminalquotaerror":
		return spec.ClassQuota, true
	case "rate_limit_exceeded":
		return spec.ClassRateLimit, true
	case "context_length_exceeded", "context_window_exceeded", "contextoverflowerror", "prompt_too_long",
		"messageoutputlengtherror", "max_output_tokens":
		return spec.ClassContextLimit, true
	case "model_not_found", "modelnotfounderror", "providermodelnotfounderror", "model_not_supported":
		return spec.ClassModelUnavailable, true
	case "invalid_api_key", "api_key_invalid", "authentication_error", "authentication_failed",
		"providerautherror", "unauthenticated", "oauth_org_not_allowed", "unauthorized":
		return spec.ClassAuthConfig, true
	case "server_is_overloaded", "overloaded_error", "server_overloaded", "slow_down":
		return spec.ClassOverloaded, true
	}
	return "", false
}

// statusOfCode knows the codes that say no more than a status would; the text
// goes first.
func statusOfCode(code string) int {
	switch strings.ToLower(code) {
	case "rate_limit", "rate_limit_error", "resource_exhausted":
		return 429
	case "permission_error", "permission_denied":
		return 403
	case "not_found_error", "not_found":
		return 404
	case "request_too_large":
		return 413
	case "server_error", "internal_server_error", "api_error", "service_unavailable_error",
		"unavailable", "internal", "timeout_error":
		return 500
	}
	return 0
}

// providerPhrases are how the providers' errors read, whoever passes them on.
// The first that is found decides.
func providerPhrases() []phrase {
	return []phrase{
		{"context window", spec.ClassContextLimit},
		{"context length", spec.ClassContextLimit},
		{"context_length", spec.ClassContextLimit},
		{"maximum context", spec.ClassContextLimit},
		{"prompt is too long", spec.ClassContextLimit},
		{"prompt too long", spec.ClassContextLimit},
		{"input is too long", spec.ClassContextLimit},
		{"input token count", spec.ClassContextLimit},
		{"exceeds the maximum number of tokens", spec.ClassContextLimit},
		{"output token maximum", spec.ClassContextLimit},
		{"maximum output tokens", spec.ClassContextLimit},
		{"exceed context limit", spec.ClassContextLimit},
		{"insufficient_quota", spec.ClassQuota},
		{"exceeded your current quota", spec.ClassQuota},
		{"exceeded your quota", spec.ClassQuota},
		{"quota exceeded", spec.ClassQuota},
		{"quota reached", spec.ClassQuota},
		{"daily quota", spec.ClassQuota},
		{"exhausted your", spec.ClassQuota},
		{"quota will reset", spec.ClassQuota},
		{"usage limit", spec.ClassQuota},
		{"session limit", spec.ClassQuota},
		{"weekly limit", spec.ClassQuota},
		{"monthly limit", spec.ClassQuota},
		{"hour limit", spec.ClassQuota},
		{"spending limit", spec.ClassQuota},
		{"hit your limit", spec.ClassQuota},
		{"credit balance", spec.ClassQuota},
		{"out of credits", spec.ClassQuota},
		{"insufficient credits", spec.ClassQuota},
		{"insufficient balance", spec.ClassQuota},
		{"rate limit", spec.ClassRateLimit},
		{"rate_limit", spec.ClassRateLimit},
		{"ratelimit", spec.ClassRateLimit},
		{"resource_exhausted", spec.ClassRateLimit},
		{"too many requests", spec.ClassRateLimit},
		{"resource has been exhausted", spec.ClassRateLimit},
		{"throttl", spec.ClassRateLimit},
		{"api key not valid", spec.ClassAuthConfig},
		{"invalid api key", spec.ClassAuthConfig},
		{"incorrect api key", spec.ClassAuthConfig},
		{"no api key", spec.ClassAuthConfig},
		{"api key not found", spec.ClassAuthConfig},
		{"missing environment variable", spec.ClassAuthConfig},
		{"not logged in", spec.ClassAuthConfig},
		{"not signed in", spec.ClassAuthConfig},
		{"please run /login", spec.ClassAuthConfig},
		{"please log in", spec.ClassAuthConfig},
		{"please sign in", spec.ClassAuthConfig},
		{"oauth token", spec.ClassAuthConfig},
		{"token has expired", spec.ClassAuthConfig},
		{"unauthorized", spec.ClassAuthConfig},
		{"logged out", spec.ClassAuthConfig},
		{"unauthenticated", spec.ClassAuthConfig},
		{"authentication", spec.ClassAuthConfig},
		{"model_not_found", spec.ClassModelUnavailable},
		{"model not found", spec.ClassModelUnavailable},
		{"does not exist or you do not have access", spec.ClassModelUnavailable},
		{"is not found for api version", spec.ClassModelUnavailable},
		{"issue with the selected model", spec.ClassModelUnavailable},
		{"unknown model", spec.ClassModelUnavailable},
		{"invalid model", spec.ClassModelUnavailable},
		{"no such model", spec.ClassModelUnavailable},
		{"unsupported model", spec.ClassModelUnavailable},
		{"model is not supported", spec.ClassModelUnavailable},
		{"model is not available", spec.ClassModelUnavailable},
		{"overloaded", spec.ClassOverloaded},
		{"at capacity", spec.ClassOverloaded},
		{"high demand", spec.ClassOverloaded},
		{"internal server error", spec.ClassOverloaded},
		{"service unavailable", spec.ClassOverloaded},
		{"temporarily unavailable", spec.ClassOverloaded},
		{"bad gateway", spec.ClassOverloaded},
		{"server had an error", spec.ClassOverloaded},
		{"internal error has occurred", spec.ClassOverloaded},
		{"error sending request", spec.ClassProviderConnection},
		{"connection refused", spec.ClassProviderConnection},
		{"connectionrefused", spec.ClassProviderConnection},
		{"econnrefused", spec.ClassProviderConnection},
		{"fetch failed", spec.ClassProviderConnection},
		{"econnreset", spec.ClassProviderDisconnect},
		{"connection reset", spec.ClassProviderDisconnect},
		{"connection dropped", spec.ClassProviderDisconnect},
		{"connection closed", spec.ClassProviderDisconnect},
		{"connection was closed", spec.ClassProviderDisconnect},
		{"connection lost", spec.ClassProviderDisconnect},
		{"peer closed", spec.ClassProviderDisconnect},
		{"ended prematurely", spec.ClassProviderDisconnect},
		{"incomplete response", spec.ClassProviderDisconnect},
		{"econnaborted", spec.ClassProviderDisconnect},
		{"epipe", spec.ClassProviderDisconnect},
		{"und_err_socket", spec.ClassProviderDisconnect},
		{"socket hang up", spec.ClassProviderDisconnect},
		{"other side closed", spec.ClassProviderDisconnect},
		{"premature close", spec.ClassProviderDisconnect},
		{"broken pipe", spec.ClassProviderDisconnect},
		{"unexpected eof", spec.ClassProviderDisconnect},
		{"error decoding response body", spec.ClassProviderDisconnect},
		{"stream disconnected", spec.ClassProviderDisconnect},
		{"stream closed", spec.ClassProviderDisconnect},
		{"stream idle", spec.ClassProviderDisconnect},
		{"stream ended without", spec.ClassProviderDisconnect},
		{"terminated", spec.ClassProviderDisconnect},
		{"unable to connect", spec.ClassProviderConnection},
		{"failedtoopensocket", spec.ClassProviderConnection},
		{"enotfound", spec.ClassProviderConnection},
		{"eai_again", spec.ClassProviderConnection},
		{"etimedout", spec.ClassProviderConnection},
		{"connection error", spec.ClassProviderConnection},
		{"connection failed", spec.ClassProviderConnection},
		{"network error", spec.ClassProviderConnection},
		{"no route to host", spec.ClassProviderConnection},
		{"request timed out", spec.ClassProviderConnection},
		{"timed out", spec.ClassProviderConnection},
		{"certificate", spec.ClassProviderConnection},
	}
}

// match is the class of the first phrase that text holds, or "".
func match(text string, phrases []phrase) spec.Class {
	for _, p := range phrases {
		if strings.Contains(text, p.part) {
			return p.class
		}
	}
	return ""
}

// plain is lower case with typewriter quotes.
func plain(text string) string {
	return strings.ToLower(strings.ReplaceAll(text, "’", "'"))
}

// statusAfter reads an HTTP status that follows one of marks in text, or 0.
func statusAfter(text string, marks ...string) int {
	for _, mark := range marks {
		_, rest, ok := strings.Cut(text, mark)
		if !ok {
			continue
		}
		if n := leadingStatus(rest); n != 0 {
			return n
		}
	}
	return 0
}

// leadingStatus is the three-digit HTTP error that text begins with, or 0.
func leadingStatus(text string) int {
	text = strings.TrimLeft(text, " (:")
	n, digits := 0, 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		n = n*10 + int(text[digits]-'0')
		if digits++; digits > 3 {
			return 0
		}
	}
	if digits != 3 || n < 400 || n > 599 {
		return 0
	}
	return n
}
