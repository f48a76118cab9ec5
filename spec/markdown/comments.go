package markdown

import "strings"

// stripComments leaves out what stands in <!-- … -->; inside says whether the
// line begins within a comment, open whether it ends in one. A mark within a
// code span opens no comment.
func stripComments(s string, inside bool) (text string, open bool) {
	if !inside && !strings.Contains(s, "<!--") {
		return s, false
	}
	var b strings.Builder
	for {
		if inside {
			i := strings.Index(s, "-->")
			if i < 0 {
				return b.String(), true
			}
			s, inside = s[i+3:], false
		}
		i := commentStart(s)
		if i < 0 {
			b.WriteString(s)
			return b.String(), false
		}
		b.WriteString(s[:i])
		s, inside = s[i+4:], true
	}
}

// commentStart is where the first comment of s begins outside code spans, -1
// for none.
func commentStart(s string) int {
	for i := 0; i < len(s); {
		j := strings.IndexAny(s[i:], "`<")
		if j < 0 {
			return -1
		}
		i += j
		switch {
		case s[i] == '`':
			i += spanLength(s[i:])
		case strings.HasPrefix(s[i:], "<!--"):
			return i
		default:
			i++
		}
	}
	return -1
}

// longestTicks bounds the search for a code span's end: longer runs of
// backticks are text, so that reading stays linear.
const longestTicks = 8

// spanLength is the length of the code span that s begins with, or of its
// backticks where they open none.
func spanLength(s string) int {
	n := ticks(s)
	if n > longestTicks {
		return n
	}
	for i := n; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			break
		}
		m := ticks(s[i+j:])
		i += j + m
		if m == n {
			return i
		}
	}
	return n
}

func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }
