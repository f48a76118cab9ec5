package main

import (
	"testing"
	"time"

	"drover/spec"
)

func TestEventText(t *testing.T) {
	now := at("23:12:05")
	route := spec.Route{Agent: "pi", Model: "iop/ornith-fast"}
	for _, tt := range []struct {
		event spec.Event
		want  string
	}{
		{
			spec.Event{At: at("23:10:00"), Kind: spec.EventStart, Task: "l/01_a", Role: "worker", Attempt: "l.01_a__p0__worker__a00", Route: &route, Waited: 61},
			"23:10:00  l/01_a  worker a00 started: pi/iop/ornith-fast, after waiting 1m for a slot",
		},
		{
			spec.Event{
				At: at("23:11:00"), Kind: spec.EventFinish, Task: "l/01_a", Role: "worker", Attempt: "x__a03", StartedAt: at("23:10:00"), EndedAt: at("23:11:00"),
				Class: spec.ClassQuota, Result: "quota", Usage: &spec.Usage{InputTokens: 20000}, Locator: "/r/x__a03/locator.json",
			},
			"23:11:00  l/01_a  worker a03 ended after 1m0s: quota, 20k tokens, ?, /r/x__a03",
		},
		{
			spec.Event{At: now.AddDate(0, 0, -1), Kind: spec.EventState, Task: "l/01_a", From: "running", To: "blocked", Reason: &spec.Reason{Code: "failure-budget", Detail: "worker"}},
			"2026-11-29 23:12:05  l/01_a  running → blocked: failure-budget: worker",
		},
		{spec.Event{At: now, Kind: spec.EventVerdict, Task: "l/01_a", Attempt: "x__a00", Verdict: "PASS"}, "23:12:05  l/01_a  review a00 says PASS"},
		{spec.Event{At: now, Kind: spec.EventRequest, Task: "l/01_a", Cause: "hold", By: "ada"}, "23:12:05  l/01_a  request hold (by ada)"},
		{spec.Event{At: now, Kind: spec.EventDrover, Cause: "began"}, "23:12:05  drover began"},
	} {
		if got := eventText(tt.event, now); got != tt.want {
			t.Errorf("\n got %q\nwant %q", got, tt.want)
		}
	}
}

func TestParseSince(t *testing.T) {
	now := at("09:30:00")
	for text, want := range map[string]time.Time{
		"90m":                  at("08:00:00"),
		"7d":                   now.AddDate(0, 0, -7),
		"08:15":                at("08:15:00"),
		"22:00":                at("22:00:00").AddDate(0, 0, -1),
		"2026-11-01":           time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026-11-01T03:04":     time.Date(2026, 11, 1, 3, 4, 0, 0, time.UTC),
		"2026-11-01T03:04:05Z": time.Date(2026, 11, 1, 3, 4, 5, 0, time.UTC),
	} {
		got, err := parseSince(text, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "-3h", "1.5d", "-1d"} {
		if _, err := parseSince(text, now); err == nil {
			t.Errorf("%q was understood", text)
		}
	}
}
