package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSetValue(t *testing.T) {
	tests := []struct{ name, before, key, value, after string }{
		{"plain", "---\nid: a\nstatus: ready\n---\nb", "status", "done", "---\nid: a\nstatus: done\n---\nb"},
		{"bom and crlf", "\ufeff---\r\nstatus: pending\r\nid: a\r\n---\r\nb\r\n", "status", "in-progress", "\ufeff---\r\nstatus: in-progress\r\nid: a\r\n---\r\nb\r\n"},
		{"cr only", "---\rstatus: a\r---\r", "status", "b", "---\rstatus: b\r---\r"},
		{"comment and blanks kept", "---\nstatus:   ready   # why  \n---\n", "status", "done", "---\nstatus:   done   # why  \n---\n"},
		{"double quotes kept", "---\nstatus: \"ready\" # \"x\"\n---\n", "status", "done", "---\nstatus: \"done\" # \"x\"\n---\n"},
		{"single quotes kept", "---\nstatus: 'it''s'\n---\n", "status", "it's done", "---\nstatus: 'it''s done'\n---\n"},
		{"escaped quote within", "---\nstatus: \"a\\\"b\"\nx: 1\n---\n", "status", "c", "---\nstatus: \"c\"\nx: 1\n---\n"},
		{"runes before the value", "---\n\"상태 é\": ready\n---\n", "상태 é", "완료", "---\n\"상태 é\": 완료\n---\n"},
		{"line separator above", "---\nt: \"a\u2028  b\"\nstatus: ready\n---\n", "status", "done", "---\nt: \"a\u2028  b\"\nstatus: done\n---\n"},
		{"next line above", "---\nt: \"a\u0085  b\"\nstatus: ready\n---\n", "status", "done", "---\nt: \"a\u0085  b\"\nstatus: done\n---\n"},
		{"bom inside the fence", "---\n\ufeffstatus: ready\n---\n", "status", "done", "---\n\ufeffstatus: done\n---\n"},
		{"empty value", "---\nstatus:\nid: a\n---\n", "status", "done", "---\nstatus: done\nid: a\n---\n"},
		{"empty value, comment", "---\nstatus:  # none\n---\n", "status", "done", "---\nstatus: done  # none\n---\n"},
		{"empty quotes", "---\nworktree: \"\"\n---\n", "worktree", ".drover/x", "---\nworktree: \".drover/x\"\n---\n"},
		{"null", "---\nstatus: ~\n---\n", "status", "done", "---\nstatus: done\n---\n"},
		{"quoted when needed", "---\nstatus: ready\n---\n", "status", "true", "---\nstatus: \"true\"\n---\n"},
		{"quoted for a colon", "---\nstatus: ready\n---\n", "status", "a: b", "---\nstatus: 'a: b'\n---\n"},
		{"quoted for a comment", "---\nstatus: ready\n---\n", "status", "a # b", "---\nstatus: 'a # b'\n---\n"},
		{"newline escaped", "---\nstatus: ready\n---\n", "status", "a\nb", "---\nstatus: \"a\\nb\"\n---\n"},
		{"to nothing", "---\nstatus: ready\n---\n", "status", "", "---\nstatus: \"\"\n---\n"},
		{"number stays a number", "---\nwave: 2\n---\n", "wave", "3", "---\nwave: 3\n---\n"},
		{"text stays text", "---\nname: a\n---\n", "name", "010", "---\nname: \"010\"\n---\n"},
		{"missing", "---\nid: a\n---\nb", "status", "done", "---\nid: a\nstatus: done\n---\nb"},
		{"missing, crlf", "---\r\nid: a\r\n---\r\n", "status", "done", "---\r\nid: a\r\nstatus: done\r\n---\r\n"},
		{"missing, indented head", "---\n  id: a\n---\n", "status", "done", "---\n  id: a\n  status: done\n---\n"},
		{"missing, empty head", "---\n---\n", "status", "done", "---\nstatus: done\n---\n"},
		{"missing, comments only", "---\n# none yet\n---\n", "status", "done", "---\n# none yet\nstatus: done\n---\n"},
		{"missing, after a block", "---\nnote: |+\n  ---\n  text\n\n---\n", "status", "done", "---\nnote: |+\n  ---\n  text\n\nstatus: done\n---\n"},
		{"nested key of the same name", "---\na:\n  status: x\nstatus: y\n---\n", "status", "z", "---\na:\n  status: x\nstatus: z\n---\n"},
		{"anchors elsewhere", "---\na: &x 1\nb: *x\nstatus: y\n---\n", "status", "z", "---\na: &x 1\nb: *x\nstatus: z\n---\n"},
		{"unchanged", "---\nstatus: done\n---\n", "status", "done", "---\nstatus: done\n---\n"},
		{"url", "---\nsource: http://a/b#c\n---\n", "source", "x", "---\nsource: x\n---\n"},
		{"quoted key", "---\n'status': a\n---\n", "status", "b", "---\n'status': b\n---\n"},
		{"tabs around", "---\nstatus:\tready\t# x\n---\n", "status", "done", "---\nstatus:\tdone\t# x\n---\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SetValue([]byte(tt.before), tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.after {
				t.Errorf("got  %q\nwant %q", got, tt.after)
			}
			if v, ok := Value(got, tt.key); !ok || v != tt.value {
				t.Errorf("reads back as %q, %v", v, ok)
			}
		})
	}
}

func TestSetValueRefused(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		says       string
	}{
		{"anchor", "---\nstatus: &s ready\n---\n", 2, "anchor"},
		{"tag", "---\nid: a\nstatus: !!str ready\n---\n", 3, "tag"},
		{"bare tag", "---\nstatus: ! ready\n---\n", 2, "tag"},
		{"alias", "---\na: &s x\nstatus: *s\n---\n", 3, "alias"},
		{"literal block", "---\nstatus: |\n  ready\n---\n", 2, "block"},
		{"folded block", "---\nstatus: >-\n  ready\n---\n", 2, "block"},
		{"list", "---\nstatus: [a]\n---\n", 2, "list"},
		{"mapping", "---\nstatus:\n  a: b\n---\n", 2, "mapping"},
		{"plain over two lines", "---\nstatus: ready\n  or not\n---\n", 2, "more than one line"},
		{"quoted over two lines", "---\nstatus: \"ready\n  or not\"\n---\n", 2, "more than one line"},
		{"merge key", "---\nb: &b {x: 1}\n<<: *b\nstatus: a\n---\n", 3, "merge key"},
		{"duplicate", "---\nstatus: a\nid: x\nstatus: b\n---\n", 4, "twice"},
		{"flow mapping", "---\n{status: a}\n---\n", 2, "flow mapping"},
		{"not a mapping", "---\n- status\n---\n", 2, "key: value"},
		{"complex key", "---\n? [a]\n: b\nstatus: c\n---\n", 2, "plain word"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := SetValue([]byte(tt.text), "status", "done")
			var refused *NotEditableError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if refused.Line != tt.line || !strings.Contains(refused.Why, tt.says) {
				t.Errorf("got %v, want line %d: …%s…", err, tt.line, tt.says)
			}
		})
	}
	for _, text := range []string{"no head\n", "---\nstatus: a\n", "---\nstatus: [\n---\n", ""} {
		_, err := SetValue([]byte(text), "status", "done")
		var broken *HeadError
		if !errors.As(err, &broken) {
			t.Errorf("%q: got %v, want a head error", text, err)
		}
	}
}

func TestValue(t *testing.T) {
	text := []byte("---\na: &s x\nb: *s\nc: [x]\nd:\n---\n")
	for key, want := range map[string]string{"a": "x", "b": "x", "c": "", "d": "", "e": ""} {
		got, ok := Value(text, key)
		if got != want || ok != (key != "c" && key != "e") {
			t.Errorf("%s is %q, %v", key, got, ok)
		}
	}
}

// Whatever the head looks like, an edit changes the value and nothing else.
func TestSetValueChangesOnlyTheValue(t *testing.T) {
	words := rapid.SampledFrom([]string{"a", "ready", "é", "상태", "x y", "it's", `say "hi"`, "1.10", "010", "yes", "", "a: b", "- x", "#c", "\U0001f600", "a\u2028b", "a\tb", "*x", "&y", "|", "%d", "@", "`", "null", "2026-01-02", "\\", "a\\b", "!t"})
	rapid.Check(t, func(t *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "newline")
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", bom}).Draw(t, "bom") + "---" + newline)
		n := rapid.IntRange(0, 5).Draw(t, "keys")
		for i := range n {
			key, scalar := fmt.Sprintf("k%d", i), quote(t, words.Draw(t, "word"))
			comment := rapid.SampledFrom([]string{"", " # c: 'd'", "  "}).Draw(t, "comment")
			extra := rapid.SampledFrom([]string{"", "# between" + newline, newline, "l" + key + ": [a, b]" + newline, "m" + key + ":" + newline + "  k1: |" + newline + "    ---" + newline}).Draw(t, "extra")
			b.WriteString(key + ": " + scalar + comment + newline + extra)
		}
		body := rapid.SampledFrom([]string{"", "body", "k0: x" + newline + "---" + newline}).Draw(t, "body")
		b.WriteString("---" + newline + body)
		text := []byte(b.String())
		key, value := fmt.Sprintf("k%d", rapid.IntRange(0, 5).Draw(t, "key")), words.Draw(t, "value")

		before, headErr := FindHead(text).Fields(text)
		out, err := SetValue(text, key, value)
		if headErr != nil || err != nil {
			return // refused: nothing changes
		}
		after, headErr := FindHead(out).Fields(out)
		if headErr != nil {
			t.Fatal(headErr)
		}
		if got, _ := Value(out, key); got != value {
			t.Fatalf("%q: %s is %q, want %q", out, key, got, value)
		}
		for _, f := range before {
			if f.Key == key {
				continue
			}
			for _, g := range after {
				if g.Key == f.Key && !sameTree(f.Value, g.Value) {
					t.Fatalf("%q → %q: %s changed", text, out, f.Key)
				}
			}
		}
		if p := commonPrefix(text, out); len(text)-p > 0 && !bytes.HasSuffix(out, []byte("---"+newline+body)) {
			t.Fatalf("%q → %q: the body changed", text, out)
		}
		again, err := SetValue(out, key, value)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q: a second edit gives %q, %v", out, again, err)
		}
	})
}

// quote writes a word in one of YAML's three one-line styles; it need not be
// valid in the plain one.
func quote(t *rapid.T, word string) string {
	switch rapid.IntRange(0, 2).Draw(t, "style") {
	case 0:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
	case 1:
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	}
	return word
}

func commonPrefix(a, b []byte) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

func FuzzSetValue(f *testing.F) {
	for _, s := range []string{
		"---\nstatus: ready\n---\nx", "\ufeff---\r\nstatus: 'a'\r\n---\r\n", "---\rstatus:\r---\r", "---\n---\n",
		"---\na: \"x\u2028 y\"\nstatus: \"b\" # c\n---", "---\nstatus: &a b\nx: *a\n---\n", "---\n? status\n: x\n---\n",
		"---\n%YAML 1.1\n---\n", "---\nstatus: a\n b\n---\n", "---\n\ufeffstatus: a\n---\n",
	} {
		f.Add([]byte(s), "done")
	}
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		out, err := SetValue(text, "status", value)
		if err != nil {
			return
		}
		if got, ok := Value(out, "status"); !ok || got != value {
			t.Fatalf("%q → %q reads %q, want %q", text, out, got, value)
		}
		head, after := FindHead(text), FindHead(out)
		if !bytes.Equal(text[head.End:], out[after.End:]) {
			t.Fatalf("%q → %q: the body changed", text, out)
		}
	})
}
