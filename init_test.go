package main

import (
	"strings"
	"testing"

	"drover/spec/settings"
)

// TestSettingsText: what init writes is read back, whatever was found.
func TestSettingsText(t *testing.T) {
	claude := Program{Name: "claude", Path: "/opt/a b/claude", Version: "1"}
	for name, tt := range map[string]struct {
		choice agentChoice
		facts  Facts
		worker string
	}{
		"nothing found": {agentChoice{worker: "script", review: "script"}, Facts{}, "script"},
		"one program":   {agentChoice{worker: "claude", review: "claude"}, Facts{Programs: []Program{claude}}, "claude"},
		"the seed's":    {agentChoice{seed: true}, Facts{Skill: ".claude/skills/code-review/SKILL.md"}, "pi"},
	} {
		for _, language := range []string{"ko", "en"} {
			text := settingsText(tt.choice, tt.facts, language)
			s, problems := settings.Parse(settingsFile, []byte(text))
			if problems != nil {
				t.Errorf("%s: %v\n%s", name, problems, text)
				continue
			}
			if got := s.Worker("local", 3)[0].Agent; got != tt.worker {
				t.Errorf("%s: worker %s, want %s", name, got, tt.worker)
			}
			if (s.AgentTask.Finalize == settings.FinalizeReviewer) != (tt.facts.Skill != "") {
				t.Errorf("%s: finalize %s", name, s.AgentTask.Finalize)
			}
			// Uncommented, the agents that were found are settings too.
			bare := strings.NewReplacer("# agents:", "agents:", "#   ", "  ").Replace(text)
			if _, problems := settings.Parse(settingsFile, []byte(bare)); problems != nil {
				t.Errorf("%s, uncommented: %v\n%s", name, problems, bare)
			}
		}
	}
}

func TestLineDiff(t *testing.T) {
	same(t, lineDiff("a\nb\nc\n", "a\nx\nc\nd\n"), `
         -b
         +x
         +d
`)
	if got := lineDiff("a\n", "a\n"); got != "" {
		t.Errorf("no difference gives %q", got)
	}
}

func TestUnitText(t *testing.T) {
	text := unitText(`/opt/my "tools"/drover`, "/src/100% mine", "/usr/bin:/bin")
	for _, want := range []string{
		"KillMode=process\n",
		`ExecStart="/opt/my \"tools\"/drover" run`,
		"WorkingDirectory=/src/100%% mine\n",
		`Environment="PATH=/usr/bin:/bin"`,
		"drover-100__mine.service",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	same(t, cronText("/opt/drover", "/src/100% mine", "/bin"),
		"# drover in /src/100% mine; see: drover help systemd\n"+
			"* * * * * cd '/src/100\\% mine' && PATH=/bin /opt/drover run --once --no-input --quiet\n")
}

func TestSplitTaskName(t *testing.T) {
	for name, want := range map[string]string{
		"ledger/read": "ledger read", "ledger/Read-CSV 2": "ledger read_csv_2", "a.b/x": "a.b x",
		"ledger": "", "/x": "", "x/": "", "a/b/c": "", "archive/x": "", ".hid/x": "", "_x/y": "", "l/---": "", "a b/c": "",
	} {
		group, slug, err := splitTaskName(name)
		got := group + " " + slug
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
