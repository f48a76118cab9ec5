package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// log is a sink that writes down what it is told.
type log struct{ strings.Builder }

func (l *log) set(path, value string) { fmt.Fprintf(l, "%s=%q ", path, value) }
func (l *log) leave(path string)      { fmt.Fprintf(l, "/%s ", path) }
func (l *log) line()                  { l.WriteString("ok\n") }
func (l *log) drop()                  { l.WriteString("drop\n") }

func sifted(text string, limits map[string]int, chunk func(left int) int) string {
	l := &log{}
	s := newSift(l, limits)
	b := []byte(text)
	for len(b) > 0 {
		n := chunk(len(b))
		s.write(b[:n])
		b = b[n:]
	}
	s.close()
	return l.String()
}

func whole(left int) int { return left }

func TestSift(t *testing.T) {
	limits := map[string]int{"a": 5, "b.c": 100, "d.*.e": 10, "f.*": 10}
	for _, c := range []struct{ in, want string }{
		{`{"a":"x"}`, "a=\"x\" ok\n"},
		{`{"a":12,"b":{"c":true,"z":1}}` + "\r\n", "a=\"12\" b.c=\"true\" /b ok\n"},
		{`{"a":null,"b":null}`, "ok\n"},
		{`{"a":"123456789"}`, "a=\"12345\" ok\n"},
		{`{"a":"1234\u00e9"}`, "a=\"1234\" ok\n"},
		{`{"b":{"c":"q\"\\\n\ud83d\ude00"}}`, "b.c=\"q\\\"\\\\\\n😀\" /b ok\n"},
		{`{"d":[{"e":"1"},{"x":[{"e":"no"}]},{"e":2}]}`, "d.*.e=\"1\" /d.* /d.* d.*.e=\"2\" /d.* /d ok\n"},
		{`{"f":["x","y",3,[]],"a":1}`, "f.*=\"x\" f.*=\"y\" f.*=\"3\" /f.* /f a=\"1\" ok\n"},
		{`{"f":[],"b":{}}`, "/f /b ok\n"},
		{`{"skip":{"a":"no","s":"}\"{","t":[1,{}]},"a":"yes"}`, "a=\"yes\" ok\n"},
		{`{"b.c":"no"}`, "ok\n"},
		{`warning: {"a":"x"}` + "\n" + `{"a":"y"}`, "drop\na=\"y\" ok\n"},
		{`{"a":"x"` + "\n" + `{"a":"y"}`, "a=\"x\" drop\na=\"y\" ok\n"},
		{`{"a":"x` + "\n" + `{"a":"y"}`, "drop\na=\"y\" ok\n"},
		{`{"a":"x"} trailing` + "\n\n" + `{"a":"y"}`, "a=\"x\" drop\na=\"y\" ok\n"},
		{`{"a":"x"]` + "\n[1]\n42\n\"s\"\n", "a=\"x\" drop\ndrop\ndrop\ndrop\n"},
		{strings.Repeat(`{"b":`, 40) + "1" + strings.Repeat("}", 40), "/b ok\n"},
	} {
		for name, chunk := range map[string]func(int) int{"whole": whole, "bytes": func(int) int { return 1 }} {
			if got := sifted(c.in, limits, chunk); got != c.want {
				t.Errorf("%s, %s:\n got %q\nwant %q", c.in, name, got, c.want)
			}
		}
	}
}

// Whatever the bytes and however they are cut, the answer is the same, and a
// line that encoding/json takes is one that sift takes.
func FuzzSift(f *testing.F) {
	f.Add([]byte("{\"a\":\"x\\u00e9\"}\nx{\"b\":{\"c\":[1]}}\n{\"d\":[{\"e\":1}]}"), uint64(1))
	f.Add([]byte("{\"a\":{\"a\":{\"a\":[[[[{}]]]]}}}\n\"\n\\\n"), uint64(2))
	limits := map[string]int{"a": 5, "a.a": 9, "b.c": 100, "d.*.e": 10, "f.*": 10}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		want := sifted(string(text), limits, whole)
		random := rand.New(rand.NewPCG(seed, 1))
		got := sifted(string(text), limits, func(left int) int { return 1 + random.IntN(left) })
		if got != want {
			t.Fatalf("chunks make a difference:\n got %q\nwant %q", got, want)
		}
		var object map[string]any
		if json.Unmarshal(text, &object) == nil && !bytes.ContainsRune(text, '\n') && object != nil {
			if !strings.HasSuffix(want, "ok\n") {
				t.Fatalf("%q is JSON, but %q", text, want)
			}
		}
	})
}

func FuzzReaders(f *testing.F) {
	names := []string{"codex", "claude", "pi", "gemini", "opencode", "agy", "script", "mine"}
	set := NewSet("drover", map[string]Settings{"mine": {Command: []string{"mine"}, Success: Success{JSONPath: "$.status", Equals: "ok"}}})
	for i, line := range []string{
		`{"type":"turn.failed","error":{"message":"429"}}`, `{"type":"result","subtype":"success","is_error":false,"result":"x"}`,
		`{"type":"message_end","message":{"role":"assistant","stopReason":"toolUse","content":[{"type":"toolCall","id":"1"}]}}`,
		`{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":429}}]"}}`,
		`{"type":"error","error":{"name":"APIError","data":{"statusCode":429,"responseBody":"{}"}}}`,
		`{"event":"result","result":{"status":"ERROR","error":"quota resets in 3m"}}`, `{"type":"script.result","success":true}`, `{"status":"ok"}`,
	} {
		f.Add(uint8(i), []byte(line+"\n"), []byte("AGY_ERROR: {}\nError: resets 3pm"), uint8(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, which uint8, stdout, stderr []byte, code uint8, seed uint64) {
		cli, _ := set.Lookup(names[int(which)%len(names)])
		end := End{Code: int(code), Stderr: stderr, Session: func() []byte { return stdout }}
		a, b := cli.Reader(), cli.Reader()
		_, _ = a.Write(stdout)
		random := rand.New(rand.NewPCG(seed, 2))
		for rest := stdout; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			_, _ = b.Write(rest[:n])
			rest = rest[n:]
		}
		x, y := a.Finish(end), b.Finish(end)
		if x != y {
			t.Fatalf("chunks make a difference:\n%+v\n%+v", x, y)
		}
		if x.Class == "" || len(x.Evidence.Excerpt) > maxExcerpt || len(x.FinalMessage) > keepMessage {
			t.Fatalf("%+v", x)
		}
	})
}

// A line of 20 MB is read right and held nowhere.
func TestHugeLine(t *testing.T) {
	cli, _ := NewSet("drover", nil).Lookup("pi")
	reader := cli.Reader()
	huge := strings.Repeat(`word \"quoted\" {[ `, 20<<20/18)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, line := range []string{
		`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","partial":{"content":[{"text":"` + huge + `"}]}}}` + "\n",
		`{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"` + huge + `"}],"stopReason":"stop"}}` + "\n",
		`{"type":"agent_end","messages":[` + strings.Repeat(`{"role":"user"},`, 100000) + `{}]}` + "\n",
	} {
		_, _ = io.Copy(reader, strings.NewReader(line))
	}
	o := reader.Finish(End{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if !o.Success || len(o.FinalMessage) < 50<<10 || len(o.FinalMessage) > keepMessage {
		t.Errorf("%v with %d bytes of message", o.Class, len(o.FinalMessage))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	runtime.KeepAlive(reader)
}

// endless makes n bytes of a pi stream whose messages grow as 0.73.1's do.
type endless struct {
	left int64
	line []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, e.line[e.at:])
	e.at = (e.at + n) % len(e.line)
	e.left -= int64(n)
	return n, nil
}

func BenchmarkClassify100MB(b *testing.B) {
	text := strings.Repeat(`I will create the file. \"quoted\"\n`, 1000)
	line := []byte(`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","partial":{"role":"assistant","content":[{"type":"text","text":` + strconv.Quote(text) + `}]}}}` + "\n")
	const size = 100 << 20
	set := NewSet("drover", nil)
	for _, cli := range []string{"pi", "claude", "codex"} {
		b.Run(cli, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := set.Classify(cli, 0, 0, &endless{left: size, line: line}, nil, nil, clockStart()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
