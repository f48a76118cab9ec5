package settings

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// duration reads a time span of at least least: "90s", "1h30m", "7d"; a bare
// 0 is none.
func (r *reader) duration(to *time.Duration, where string, least time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, where, "a time span such as 90s, 60m or 7d")
		if !ok {
			return
		}
		d, ok := parseDuration(s)
		switch {
		case !ok:
			r.bad(n, "%s wants a time span such as 90s, 60m or 7d, not %q", where, s)
		case d < least:
			r.bad(n, "%s wants at least %s, not %q", where, least, s)
		default:
			*to = d
		}
	}
}

// parseDuration knows Go's units and, in front of them, days.
func parseDuration(s string) (time.Duration, bool) {
	if s == "0" {
		return 0, true
	}
	var days time.Duration
	if head, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, false
		}
		days = time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return days, true
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > math.MaxInt64-days {
		return 0, false
	}
	return days + d, true
}

// size reads a number of bytes of at least least: "128MiB", "1GB", "65536".
func (r *reader) size(to *int64, where string, least int64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, where, "a size such as 128MiB")
		if !ok {
			return
		}
		v, ok := parseScaled(s, byteUnits)
		switch {
		case !ok:
			r.bad(n, "%s wants a size such as 128MiB, not %q", where, s)
		case v < least:
			r.bad(n, "%s wants at least %d bytes, not %q", where, least, s)
		default:
			*to = v
		}
	}
}

// byteUnits is what a unit of size stands for, 0 for an unknown one.
func byteUnits(unit string) int64 {
	switch unit {
	case "", "B":
		return 1
	case "KiB":
		return 1 << 10
	case "MiB":
		return 1 << 20
	case "GiB":
		return 1 << 30
	case "KB", "kB":
		return 1e3
	case "MB":
		return 1e6
	case "GB":
		return 1e9
	}
	return 0
}

// countUnits is what a unit of a count stands for, 0 for an unknown one.
func countUnits(unit string) int64 {
	switch unit {
	case "":
		return 1
	case "k", "K":
		return 1e3
	case "M":
		return 1e6
	case "G":
		return 1e9
	}
	return 0
}

// parseScaled reads a whole number and its unit.
func parseScaled(s string, scale func(unit string) int64) (int64, bool) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	unit := scale(strings.TrimLeft(s[digits:], " "))
	if err != nil || unit == 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// parseHours reads "22:00-07:00".
func parseHours(s string) (Hours, bool) {
	from, to, ok := strings.Cut(s, "-")
	a, okA := parseClock(from)
	b, okB := parseClock(to)
	return Hours{a, b}, ok && okA && okB
}

func parseClock(s string) (minutes int, ok bool) {
	t, err := time.Parse("15:04", strings.TrimSpace(s))
	return t.Hour()*60 + t.Minute(), err == nil
}
