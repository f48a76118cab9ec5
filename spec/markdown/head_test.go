package markdown

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFindHead(t *testing.T) {
	tests := []struct {
		name, text string
		state      HeadState
		yaml, body string
		bodyLine   int
		newline    string
	}{
		{"plain", "---\nid: a\n---\nbody\n", WholeHead, "id: a\n", "body\n", 4, "\n"},
		{"empty head", "---\n---\nbody", WholeHead, "", "body", 3, "\n"},
		{"crlf", "---\r\nid: a\r\n---\r\nbody\r\n", WholeHead, "id: a\r\n", "body\r\n", 4, "\r\n"},
		{"cr only", "---\rid: a\r---\rbody\r", WholeHead, "id: a\r", "body\r", 4, "\r"},
		{"bom", "\ufeff---\nid: a\n---\n", WholeHead, "id: a\n", "", 4, "\n"},
		{"bom crlf", "\ufeff---\r\nid: a\r\n---\r\nx", WholeHead, "id: a\r\n", "x", 4, "\r\n"},
		{"mixed endings", "---\r\nid: a\n---\rx", WholeHead, "id: a\n", "x", 4, "\r\n"},
		{"blanks after fences", "--- \t\nid: a\n---\t \nx", WholeHead, "id: a\n", "x", 4, "\n"},
		{"fence is the last byte", "---\nid: a\n---", WholeHead, "id: a\n", "", 4, "\n"},
		{"indented fence in a block", "---\nnote: |\n  ---\nid: a\n---\nx", WholeHead, "note: |\n  ---\nid: a\n", "x", 6, "\n"},
		{"four dashes inside", "---\nid: a\n----\n---\nx", WholeHead, "id: a\n----\n", "x", 5, "\n"},
		{"no head", "# title\n", NoHead, "", "# title\n", 1, "\n"},
		{"nothing", "", NoHead, "", "", 1, "\n"},
		{"bom alone", "\ufeff", NoHead, "", "", 1, "\n"},
		{"comment first", "<!-- x -->\n---\nid: a\n---\n", NoHead, "", "<!-- x -->\n---\nid: a\n---\n", 1, "\n"},
		{"blank line first", "\n---\nid: a\n---\n", NoHead, "", "\n---\nid: a\n---\n", 1, "\n"},
		{"toml", "+++\nid = 1\n+++\n", NoHead, "", "+++\nid = 1\n+++\n", 1, "\n"},
		{"json", "{\n\"id\": 1\n}\n", NoHead, "", "{\n\"id\": 1\n}\n", 1, "\n"},
		{"never closed", "---\nid: a\n", BrokenHead, "", "", 1, "\n"},
		{"closed by four dashes", "---\nid: a\n----\nbody\n", BrokenHead, "", "", 1, "\n"},
		{"closed by dots", "---\nid: a\n...\nbody\n", BrokenHead, "", "", 1, "\n"},
		{"opened by four dashes", "----\nid: a\n----\n", BrokenHead, "", "", 1, "\n"},
		{"opened by a named fence", "---yaml\nid: a\n---\n", BrokenHead, "", "", 1, "\n"},
		{"fence alone", "---", BrokenHead, "", "", 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := FindHead([]byte(tt.text))
			if h.State != tt.state || (h.Err != nil) != (tt.state == BrokenHead) {
				t.Fatalf("state %v, err %v; want %v", h.State, h.Err, tt.state)
			}
			if got := string(h.YAML([]byte(tt.text))); got != tt.yaml {
				t.Errorf("yaml %q, want %q", got, tt.yaml)
			}
			if tt.state == BrokenHead {
				return
			}
			if got := tt.text[h.Body:]; got != tt.body {
				t.Errorf("body %q, want %q", got, tt.body)
			}
			if h.BodyLine != tt.bodyLine || h.Newline != tt.newline {
				t.Errorf("body line %d, newline %q; want %d, %q", h.BodyLine, h.Newline, tt.bodyLine, tt.newline)
			}
			if h.HasBOM != strings.HasPrefix(tt.text, bom) {
				t.Errorf("HasBOM = %v", h.HasBOM)
			}
		})
	}
}

func TestFields(t *testing.T) {
	text := "\ufeff---\r\nid: WORK-001-1\r\nplan: 010\r\nprice: 1.10\r\non: yes\r\nfiles:\r\n  - a\r\n---\r\n"
	h := FindHead([]byte(text))
	fields, err := h.Fields([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		key, value string
		line       int
	}{{"id", "WORK-001-1", 2}, {"plan", "010", 3}, {"price", "1.10", 4}, {"on", "yes", 5}, {"files", "", 6}}
	if len(fields) != len(want) {
		t.Fatalf("%d fields: %v", len(fields), fields)
	}
	for i, w := range want {
		if f := fields[i]; f.Key != w.key || f.Value.Value != w.value || f.Line != w.line {
			t.Errorf("field %d is %q %q line %d, want %v", i, f.Key, f.Value.Value, f.Line, w)
		}
	}
}

// CASES 2 to 5: what makes a head unusable, with its line and rule.
func TestFieldsRefused(t *testing.T) {
	known := []string{"id", "status", "depends_on"}
	tests := []struct {
		name, text string
		line       int
		says       string
	}{
		{"duplicate", "---\nid: a\nstatus: x\nid: b\n---\n", 4, "given twice (first on line 2)"},
		{"unknown", "---\nid: a\ndepend_on: []\n---\n", 3, "did you mean depends_on?"},
		{"no-break space", "---\nid: a\n\u00a0status: x\n---\n", 3, "did you mean status?"},
		{"far from any", "---\nzzzzzzz: a\n---\n", 2, "known are id, status, depends_on"},
		{"tab", "---\nid: a\n\tstatus: x\n---\n", 3, "tab"},
		{"nul", "---\nid: a\nstatus: \x00\n---\n", 3, "NUL"},
		{"latin-1", "---\nid: a\nstatus: caf\xe9\n---\n", 3, "UTF-8"},
		{"second document", "---\nid: a\n...\nstatus: x\n---\n", 1, "second YAML document"},
		{"list", "---\n- a\n- b\n---\n", 2, "key: value"},
		{"scalar", "---\njust words\n---\n", 2, "key: value"},
		{"unclosed flow", "---\nid: [a\n---\n", 0, "not YAML"},
		{"unclosed", "---\nid: a\n", 1, "never closed"},
		{"after line separator", "---\nid: \"a\u2028  b\"\nid: c\n---\n", 3, "given twice (first on line 2)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fields, err := FindHead([]byte(tt.text)).Fields([]byte(tt.text))
			if err == nil {
				err = CheckKeys(fields, known)
			}
			if err == nil {
				t.Fatal("accepted")
			}
			if tt.line != 0 && err.Line != tt.line || !strings.Contains(err.Message, tt.says) {
				t.Errorf("got %v, want line %d: …%s…", err, tt.line, tt.says)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	known := []string{"id", "title", "status", "depends_on", "files"}
	for word, want := range map[string]string{
		"depend_on": "depends_on", "Status": "status", "file": "files", "tilte": "title", "x": "", "priority": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzFindHead(f *testing.F) {
	for _, s := range []string{
		"---\nid: a\n---\nx", "\ufeff---\r\nid: a\r\n---\r\n", "---\r---\r", "----", "---\n...\n---",
		"---\na: |\n  ---\nb: 'x'\n---", "---\n&a x: *a\n---\n", "---\n\x00\n---\n", "---\n\ufeffa: b\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h := FindHead(text)
		if h.Body < 0 || h.Body > len(text) || h.Start > h.End && h.State == WholeHead {
			t.Fatalf("offsets out of order: %+v", h)
		}
		if (h.Err != nil) != (h.State == BrokenHead) {
			t.Fatalf("state %v with error %v", h.State, h.Err)
		}
		if h.State == WholeHead && !isFence(bytes.TrimRight(text[h.End:h.Body], "\r\n")) {
			t.Fatalf("closed by %q", text[h.End:h.Body])
		}
		fields, err := h.Fields(text)
		lines := lineAt(text, len(text))
		if err != nil && (err.Line < 1 || err.Line > lines || !utf8.ValidString(err.Message)) {
			t.Fatalf("error %v in a text of %d lines", err, lines)
		}
		for _, field := range fields {
			if field.Line < 2 || field.Line >= h.BodyLine {
				t.Fatalf("key %q on line %d, body begins on %d", field.Key, field.Line, h.BodyLine)
			}
		}
	})
}
