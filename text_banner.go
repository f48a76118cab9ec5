package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Field is one key=value line of a banner. Keys are never translated.
type Field struct{ Key, Value string }

// Banner is one event as seed 003 prints it.
type Banner struct {
	// Event is the event's key, such as "task-started". One without a word in
	// the seed's table, such as "attempt-failed", prints no head.
	Event  string
	Task   string // with its group
	Fields []Field
	Line   string // the last line: "[task][role][aNN] …"
	// Warning marks what a person should look at, for journals.
	Warning bool
}

const bannerRule = "------------------------------------------"

// eventWord is the word of a banner's event (COMMANDS 5), "" for one that has
// none.
func eventWord(key, language string) string {
	for _, e := range [...]struct{ key, ko, en string }{
		{"task-started", "작업시작", "task started"},
		{"selfcheck-started", "자가검증시작", "selfcheck started"},
		{"review-started", "리뷰시작", "review started"},
		{"review-retried", "리뷰재시도", "review retried"},
		{"pi-recovery-retried", "Pi복구재시도", "pi recovery retried"},
		{"pi-session-resumed", "Pi세션연속재시작", "pi session resumed"},
		{"stalled-session-retried", "세션응답복구재시도", "stalled session retried"},
		{"session-connection-retried", "세션연결재시도", "session connection retried"},
		{"task-complete", "작업완료", "task complete"},
		{"wave-started", "웨이브시작", "wave started"},
		{"merged", "병합완료", "merged"},
		{"quota-wait", "쿼터대기", "quota wait"},
		{"model-promoted", "모델승격", "model promoted"},
		{"silence-inspected", "모델응답점검", "silence inspected"},
		{"record-completion-retried", "로그보완재시도", "record completion retried"},
		{"review-result", "리뷰결과", "review result"},
		{"no-progress-warning", "루프정체경고", "no-progress warning"},
		{"task-waiting", "작업대기", "task waiting"},
		{"task-blocked", "작업차단", "task blocked"},
		{"following-another-drover", "디스패치추적대기", "following another drover"},
		{"gate-opened", "승인대기", "gate opened"},
		{"wave-finished", "웨이브완료", "wave finished"},
		{"merge-conflict", "병합충돌", "merge conflict"},
		{"stopped-by-person", "작업중지", "stopped by a person"},
	} {
		if e.key == key {
			if language == "en" {
				return e.en
			}
			return e.ko
		}
	}
	return ""
}

// Text is the banner as blocks of lines, with a blank line after it.
func (b Banner) Text(language string) string {
	var out strings.Builder
	if word := eventWord(b.Event, language); word != "" {
		fmt.Fprintf(&out, "%s\n%s: %s\n%s\n", bannerRule, word, clean(b.Task), bannerRule)
	}
	for _, f := range b.Fields {
		fmt.Fprintf(&out, "%s=%s\n", f.Key, clean(f.Value))
	}
	if b.Line != "" {
		out.WriteString(clean(b.Line) + "\n")
	}
	out.WriteString("\n")
	return out.String()
}

// OneLine is the banner as one line. For the journal it begins with the
// priority that systemd reads and then removes.
func (b Banner) OneLine(language string, journal bool) string {
	var out strings.Builder
	if journal {
		if b.Warning {
			out.WriteString("<4>")
		} else {
			out.WriteString("<6>")
		}
	}
	word := eventWord(b.Event, language)
	if word == "" {
		word = b.Event
	}
	out.WriteString(word + ": " + clean(b.Task))
	for _, f := range b.Fields {
		value := clean(f.Value)
		if value == "" || strings.ContainsAny(value, " \"") {
			value = strconv.Quote(value)
		}
		out.WriteString(" " + f.Key + "=" + value)
	}
	if b.Line != "" {
		out.WriteString(" " + clean(b.Line))
	}
	return out.String() + "\n"
}

// bannerDoc is the banner as a line of JSON.
func bannerDoc(b Banner, at time.Time) any {
	fields := map[string]string{}
	for _, f := range b.Fields {
		fields[f.Key] = f.Value
	}
	return struct {
		Version int               `json:"version"`
		At      time.Time         `json:"at"`
		Event   string            `json:"event"`
		Task    string            `json:"task"`
		Fields  map[string]string `json:"fields"`
		Message string            `json:"message"`
	}{1, at, b.Event, b.Task, fields, b.Line}
}
