package markdown

import (
	"strings"
	"testing"
	"time"
)

const sample = "\uFEFF# Title\r\n\r\n## 구현 체크리스트\r\n- [ ] 1. one\r\n- [x] two <!-- - [ ] hidden -->\r\n<!-- a\r\n- [ ] also hidden\r\n-->\r\n```sh run\r\n## not a heading\r\n- [ ] no item\r\n```\r\n* [X] three\r\n\r\n## Changed files\r\n| File | Item |\r\n|---|---|\r\n| `a/b.go` | 1 \\| 2 |\r\n\r\n# Next\r\ntext\r\n"

func TestParse(t *testing.T) {
	d := Parse([]byte(sample))
	if d.Title() != "Title" {
		t.Errorf("title %q", d.Title())
	}
	s := d.Sections(Titles("checklist")...)
	if len(s) != 1 || s[0].Line != 3 {
		t.Fatalf("sections %+v", s)
	}
	items := s[0].Items()
	want := []Item{{4, false, "1. one"}, {5, true, "two"}, {13, true, "three"}}
	if len(items) != len(want) {
		t.Fatalf("items %+v", items)
	}
	for i := range want {
		if items[i] != want[i] {
			t.Errorf("item %d is %+v, want %+v", i, items[i], want[i])
		}
	}
	b := Blocks(s[0].Lines)
	if len(b) != 1 || b[0].Info != "sh run" || b[0].Text != "## not a heading\n- [ ] no item\n" || b[0].Line != 9 {
		t.Errorf("blocks %+v", b)
	}
	rows := d.Sections(Titles("files")...)[0].Rows()
	if len(rows) != 1 || rows[0].Line != 18 || rows[0].Cells[1] != "1 | 2" || Quoted(rows[0].Cells[0]) != "a/b.go" {
		t.Errorf("rows %+v", rows)
	}
}

func TestFences(t *testing.T) {
	for _, c := range []struct{ text, code string }{
		{"````\n```\n````\nx", "1110"},
		{"~~~\n```\n~~~\nx", "1110"},
		{"``` a`b\nx", "00"},
		{"    ```\nx", "00"},
		{"```\nx", "11"},
		{"```\n``` x\n```\ny", "1110"},
	} {
		var got strings.Builder
		for _, l := range Parse([]byte(c.text)).Lines {
			if l.Code {
				got.WriteByte('1')
			} else {
				got.WriteByte('0')
			}
		}
		if got.String() != c.code {
			t.Errorf("%q: code %s, want %s", c.text, got.String(), c.code)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := Parse(text)
		for i, l := range d.Lines {
			if l.No != i+1 || l.Code && l.Level > 0 {
				t.Fatalf("line %+v", l)
			}
		}
		Blocks(d.Lines)
		for _, s := range d.Sections("x", "구현 체크리스트") {
			s.Items()
			s.Rows()
		}
	})
}

func TestComments(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a <!-- b --> c <!-- d -->", "a  c "},
		{"a <!-- b\nc\nd --> e", "a || e"},
		{"the mark `<!--` is text\nseen", "the mark `<!--` is text|seen"},
		{"`` a ` <!-- `` x <!-- y -->", "`` a ` <!-- `` x "},
		{"a ` tick <!-- b --> c", "a ` tick  c"},
		{"```\n<!--\n```\nseen", "```|<!--|```|seen"},
		{"<!--\n```\n--> seen", "|| seen"},
		{"<!-- never closed\nhidden", "|"},
		{"<<!-- a --><", "<<"},
	} {
		var got []string
		for _, l := range Parse([]byte(c.text)).Lines {
			got = append(got, l.Text)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q is %q, want %q", c.text, s, c.want)
		}
	}
}

// TestLinear holds reading to bounded time on hostile texts: five seconds are
// many times what it needs, and far from what a square would take.
func TestLinear(t *testing.T) {
	var runs strings.Builder
	for n := 1; runs.Len() < 1<<20; n++ {
		runs.WriteString(strings.Repeat("`", n) + "<!-")
	}
	for name, text := range map[string]string{
		"backticks": runs.String() + "<!--", "comments": strings.Repeat("<!--x-->", 1<<17),
		"open": strings.Repeat("<!--", 1<<18), "heads": strings.Repeat("#", 1<<20), "bars": strings.Repeat("|", 1<<20),
	} {
		start := time.Now()
		d := Parse([]byte("## Verification\n" + text))
		for _, s := range d.Sections("Verification") {
			s.Rows()
			s.Items()
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %v for a MiB", name, took)
		}
	}
}
