package main

import (
	"strings"
	"unicode"
)

// cells is how many display cells a text takes: Hangul, Han, kana and full
// width forms take two, combining marks none.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r == 0x200b || r == 0x200d || r == 0xfeff, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cc):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, // Hangul Jamo, leading consonants
		0x2e80 <= r && r <= 0x303e,
		0x3041 <= r && r <= 0x33ff,
		0x3400 <= r && r <= 0x4dbf,
		0x4e00 <= r && r <= 0x9fff,
		0xa000 <= r && r <= 0xa4cf,
		0xa960 <= r && r <= 0xa97f,
		0xac00 <= r && r <= 0xd7a3, // Hangul syllables
		0xf900 <= r && r <= 0xfaff,
		0xfe30 <= r && r <= 0xfe6f,
		0xff00 <= r && r <= 0xff60,
		0xffe0 <= r && r <= 0xffe6,
		0x1f300 <= r && r <= 0x1faff,
		0x20000 <= r && r <= 0x3fffd:
		return 2
	case 0x1160 <= r && r <= 0x11ff: // Jamo that join the one before
		return 0
	}
	return 1
}

// pad fills a text up to a width with blanks; a longer one is left whole.
func pad(s string, width int) string {
	if n := width - cells(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// clean makes a text that came from outside safe for one line of a terminal:
// control characters become blanks, so that nothing moves a cursor.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
			return -1
		}
		return r
	}, s)
}
