package modelstub

import (
	"strconv"
	"time"
)

// resetIn is when a subscription's limit is over.
const resetIn = 3 * time.Hour

// openAI is a fault as OpenAI reports it.
func openAI(f Fault, model string) reply {
	because := func(status int, kind, message string, code any) reply {
		return reply{status: status, body: object{"error": object{
			"message": message, "type": kind, "param": nil, "code": code,
		}}}
	}
	switch f {
	case Quota:
		return because(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota")
	case UsageLimit:
		return reply{status: 429, body: object{"error": object{
			"type": "usage_limit_reached", "message": "The usage limit has been reached", "code": nil, "plan_type": "plus",
			"resets_at": time.Now().Add(resetIn).Unix(), "resets_in_seconds": int(resetIn.Seconds()),
		}}}
	case Rate:
		r := because(429, "tokens", "Rate limit reached for "+model+" on tokens per min (TPM): Limit 30000, Used 29500, Requested 2000. Please try again in 1.5s.", "rate_limit_exceeded")
		r.header = map[string]string{"retry-after": "1"}
		return r
	case Context:
		return because(400, "invalid_request_error", "Your input exceeds the context window of this model. Please adjust your input and try again.", "context_length_exceeded")
	case Model:
		return because(404, "invalid_request_error", "The model `"+model+"` does not exist or you do not have access to it.", "model_not_found")
	case Auth:
		return because(401, "invalid_request_error", "Incorrect API key provided: stub-key.", "invalid_api_key")
	case Overloaded:
		return because(503, "service_unavailable_error", "Our servers are currently overloaded. Please try again later.", "server_is_overloaded")
	}
	return because(500, "server_error", "The server had an error while processing your request.", nil)
}

// anthropic is a fault as Anthropic reports it.
func anthropic(f Fault, model string, id func(string) string) reply {
	because := func(status int, kind, message string) reply {
		return reply{status: status, body: object{
			"type": "error", "error": object{"type": kind, "message": message}, "request_id": id("req"),
		}}
	}
	switch f {
	case Quota, UsageLimit:
		r := because(429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
		r.header = exhausted()
		return r
	case Rate:
		r := because(429, "rate_limit_error", "This request would exceed the rate limit for your organization of 40,000 input tokens per minute.")
		r.header = map[string]string{"retry-after": "1"}
		return r
	case Context:
		return because(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")
	case Model:
		return because(404, "not_found_error", "model: "+model)
	case Auth:
		return because(401, "authentication_error", "invalid x-api-key")
	case Overloaded:
		return because(529, "overloaded_error", "Overloaded")
	}
	return because(500, "api_error", "Internal server error")
}

// exhausted are the headers that tell a subscription's used up limit from a
// rate limit.
func exhausted() map[string]string {
	at := strconv.FormatInt(time.Now().Add(resetIn).Unix(), 10)
	const unified = "anthropic-ratelimit-unified-"
	return map[string]string{
		unified + "status":                  "rejected",
		unified + "reset":                   at,
		unified + "representative-claim":    "five_hour",
		unified + "5h-status":               "rejected",
		unified + "5h-reset":                at,
		unified + "5h-utilization":          "1.0",
		unified + "overage-status":          "rejected",
		unified + "overage-disabled-reason": "org_level_disabled",
		"retry-after":                       strconv.Itoa(int(resetIn.Seconds())),
	}
}

// google is a fault as Google reports it.
func google(f Fault) reply {
	because := func(status int, kind, message string, details ...any) reply {
		why := object{"code": status, "message": message, "status": kind}
		if len(details) > 0 {
			why["details"] = details
		}
		return reply{status: status, body: object{"error": why}}
	}
	quota := func(id string) object {
		return object{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{object{
			"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
			"quotaId":     id, "quotaValue": "50",
		}}}
	}
	switch f {
	case Quota, UsageLimit:
		return because(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"))
	case Rate:
		return because(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota). Please retry in 1s.",
			quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
			object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"})
	case Context:
		return because(400, "INVALID_ARGUMENT", "The input token count (1203417) exceeds the maximum number of tokens allowed (1048576).")
	case Model:
		return because(404, "NOT_FOUND", "models/stub-model is not found for API version v1beta, or is not supported for generateContent.")
	case Auth:
		return because(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", object{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
		})
	case Overloaded:
		return because(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
	}
	return because(500, "INTERNAL", "An internal error has occurred.")
}
