package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// AttemptName is the name of attempt n of a step: two digits at least.
func AttemptName(prefix string, n int) string {
	return fmt.Sprintf("%s__a%02d", prefix, n)
}

// SplitAttempt is the inverse of AttemptName; n is -1 where there is no number.
func SplitAttempt(name string) (prefix string, n int) {
	i := strings.LastIndex(name, "__a")
	if i < 0 {
		return name, -1
	}
	n, err := strconv.Atoi(name[i+3:])
	if err != nil || n < 0 {
		return name, -1
	}
	return name[:i], n
}

// ShortAttempt is the "aNN" of an attempt's name.
func ShortAttempt(name string) string {
	if i := strings.LastIndex(name, "__a"); i >= 0 {
		return name[i+2:]
	}
	return name
}

// EscapeName makes a string fit for a folder's name, one to one: what is not a
// letter, a digit or one of "_ . + , -" becomes %XX (DESIGN 5).
func EscapeName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("_.+,-", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
