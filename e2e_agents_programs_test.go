package main

import "path/filepath"

// realProgram is how a real agent program is pointed at a model server. {URL}
// stands for the server, {HOME} for the test's home.
type realProgram struct {
	model string
	env   map[string]string
	files map[string]string // below the home
}

// realPrograms are the programs that .ci/agents installs. They are told to try
// once more at most: left alone, some try for minutes.
func realPrograms() map[string]realProgram {
	return map[string]realProgram{
		"codex": {
			model: "stub-model",
			env:   map[string]string{"CODEX_HOME": "{HOME}/codex", "STUB_API_KEY": "stub-key"},
			files: map[string]string{"codex/config.toml": `model = "stub-model"
model_provider = "stub"
check_for_update_on_startup = false
[model_providers.stub]
name = "stub"
base_url = "{URL}/v1"
wire_api = "responses"
env_key = "STUB_API_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false
[analytics]
enabled = false
`},
		},
		"claude": {
			model: "claude-sonnet-4-5",
			env: map[string]string{
				"ANTHROPIC_BASE_URL": "{URL}", "ANTHROPIC_API_KEY": "stub-key", "CLAUDE_CONFIG_DIR": "{HOME}/claude",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
				"CLAUDE_CODE_MAX_RETRIES": "1",
			},
		},
		"pi": {
			model: "stub/stub-model",
			env:   map[string]string{"PI_CODING_AGENT_DIR": "{HOME}/pi", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
			files: map[string]string{
				"pi/models.json": `{"providers":{"stub":{"baseUrl":"{URL}/v1","api":"openai-completions","apiKey":"stub-key",
"compat":{"supportsDeveloperRole":false},"models":[` + piModel("stub-model") + `,` + piModel("laguna-s:2.1") + `]}}}`,
				"pi/settings.json": `{"retry":{"enabled":true,"maxRetries":1,"baseDelayMs":100,"provider":{"maxRetries":0}}}`,
			},
		},
		"gemini": {
			model: "stub-model",
			env:   map[string]string{"GEMINI_API_KEY": "stub-key", "GOOGLE_GEMINI_BASE_URL": "{URL}"},
			files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},
"privacy":{"usageStatisticsEnabled":false},"general":{"maxAttempts":1,"enableAutoUpdate":false}}`},
		},
		"opencode": {
			model: "stub/stub-model",
			env:   map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
			files: map[string]string{"config/opencode/opencode.json": `{"model":"stub/stub-model","small_model":"stub/stub-model",
"permission":{"edit":"allow","bash":"allow"},"provider":{"stub":{"npm":"@ai-sdk/openai-compatible",
"options":{"baseURL":"{URL}/v1","apiKey":"stub-key"},
"models":{"stub-model":{"tool_call":true,"limit":{"context":128000,"output":8000}}}}}}`},
		},
	}
}

// variant is one version of a program.
type variant struct{ name, program, folder string }

// variants are all that .ci/agents installs; folder is where it is not the
// first of its kind.
func variants() []variant {
	return []variant{
		{"codex", "codex", ""},
		{"claude", "claude", ""},
		{"claude newer", "claude", "newer/node_modules/.bin"},
		{"pi", "pi", ""},
		{"pi newer", "pi", "newer/node_modules/.bin"},
		{"gemini", "gemini", ""},
		{"opencode", "opencode", ""},
	}
}

// prefer makes drover find that version first.
func (b *bench) prefer(v variant) {
	if v.folder != "" {
		b.folders = append(b.folders, filepath.Join(b.agents, v.folder))
	}
}

func piModel(id string) string {
	return `{"id":"` + id + `","reasoning":true,"input":["text"],"contextWindow":128000,"maxTokens":8000,` +
		`"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}`
}
