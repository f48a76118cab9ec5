package agent

import (
	"strconv"
	"strings"
	"time"
)

// resetAt finds when a quota or rate limit ends: an epoch, a time of day or a
// span from now. The zero time means that the text does not say.
func resetAt(text string, now time.Time) time.Time {
	text = plain(text)
	if n := numberAfter(text, `resets_at`); n > 1e9 {
		return time.Unix(n, 0).In(now.Location())
	}
	if n := numberAfter(text, `limit reached|`); n > 1e9 {
		return time.Unix(n, 0).In(now.Location())
	}
	if n := numberAfter(text, `resets_in_seconds`); n > 0 {
		return now.Add(time.Duration(n) * time.Second)
	}
	for _, mark := range []string{"resets in ", "reset in ", "reset after ", "resets after ", "again in ", "retry in ", "retry after "} {
		if _, rest, ok := strings.Cut(text, mark); ok {
			if d := span(rest); d > 0 {
				return now.Add(d)
			}
		}
	}
	for _, mark := range []string{"resets at ", "reset at ", "again at ", "resets on ", "resets "} {
		if _, rest, ok := strings.Cut(text, mark); ok {
			if t := timeOfDay(rest, now); !t.IsZero() {
				return t
			}
		}
	}
	return time.Time{}
}

// numberAfter reads the whole number behind a mark and what JSON puts between.
func numberAfter(text, mark string) int64 {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return 0
	}
	rest = strings.TrimLeft(rest, `\": =`)
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(rest[:n], 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// span reads "34m13s", "1.5s", "3 days 4 hours 5 minutes", "2h 3m".
func span(text string) time.Duration {
	var sum time.Duration
	for {
		text = strings.TrimLeft(text, " ,")
		n := 0
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '.' && n > 0) {
			n++
		}
		value, err := strconv.ParseFloat(strings.TrimRight(text[:n], "."), 64)
		if err != nil {
			return sum
		}
		text = strings.TrimLeft(text[n:], " ")
		n = 0
		for n < len(text) && text[n] >= 'a' && text[n] <= 'z' {
			n++
		}
		unit := unitOf(text[:n])
		if unit == 0 || value > 1e6 {
			return sum
		}
		sum += time.Duration(value * float64(unit))
		text = text[n:]
	}
}

func unitOf(word string) time.Duration {
	switch word {
	case "ms":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	}
	return 0
}

// timeOfDay reads "11:29pm (utc)", "3am (america/new_york)", "11:25 pm.",
// "dec 3rd, 2026 11:25 pm", "oct 9, 5pm": the next such moment after now, in
// the zone it names, else in now's.
func timeOfDay(text string, now time.Time) time.Time {
	zone := now.Location()
	if i := strings.IndexByte(text, '('); i >= 0 && i < 40 {
		if name, _, ok := strings.Cut(text[i+1:], ")"); ok {
			if z := zoneNamed(name); z != nil {
				zone = z
			}
		}
		text = text[:i]
	}
	now = now.In(zone)
	year, month, day, dated := 0, time.Month(0), 0, false
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '·' })
	for i := 0; i < len(words) && i < 6; i++ {
		word := strings.TrimRight(words[i], ".!")
		if m := monthNamed(word); m != 0 {
			month, dated = m, true
			continue
		}
		next := ""
		if i+1 < len(words) {
			next = strings.TrimRight(words[i+1], ".!")
		}
		if hour, minute, ok := clock(word, next); ok {
			return moment(year, month, day, hour, minute, dated && day > 0, now)
		}
		n, err := strconv.Atoi(strings.TrimRight(word, "stndrh"))
		switch {
		case err != nil && word != "at" && word != "on":
			return time.Time{}
		case n > 31:
			year = n
		case n > 0:
			day = n
		}
	}
	return time.Time{}
}

func moment(year int, month time.Month, day, hour, minute int, dated bool, now time.Time) time.Time {
	if !dated {
		t := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
		if t.Before(now) {
			t = t.AddDate(0, 0, 1)
		}
		return t
	}
	if year != 0 {
		return time.Date(year, month, day, hour, minute, 0, 0, now.Location())
	}
	t := time.Date(now.Year(), month, day, hour, minute, 0, 0, now.Location())
	if t.Before(now.AddDate(0, -1, 0)) {
		t = t.AddDate(1, 0, 0)
	}
	return t
}

// clock reads "11:29pm", "3am", "23:05", or "11:25" with "pm" as the next word.
func clock(word, next string) (hour, minute int, ok bool) {
	half := ""
	for _, h := range []string{"am", "pm"} {
		if rest, found := strings.CutSuffix(word, h); found {
			word, half = rest, h
		} else if next == h {
			half = h
		}
	}
	hours, minutes, colon := strings.Cut(word, ":")
	if half == "" && !colon {
		return 0, 0, false
	}
	hour, err := strconv.Atoi(hours)
	if err != nil || hour < 0 || hour > 23 {
		return 0, 0, false
	}
	if colon {
		if minute, err = strconv.Atoi(minutes); err != nil || minute < 0 || minute > 59 {
			return 0, 0, false
		}
	}
	switch {
	case half != "" && (hour == 0 || hour > 12):
		return 0, 0, false
	case half == "pm" && hour < 12:
		hour += 12
	case half == "am" && hour == 12:
		hour = 0
	}
	return hour, minute, true
}

func monthNamed(word string) time.Month {
	if len(word) < 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); word == name || word == name[:3] {
			return m
		}
	}
	return 0
}

// zoneNamed finds a zone by its name in lower case; nil where it is unknown.
func zoneNamed(name string) *time.Location {
	if name == "utc" || name == "gmt" {
		return time.UTC
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '_' })
	proper := []byte(name)
	at := 0
	for _, part := range parts {
		at += strings.Index(name[at:], part)
		if c := proper[at]; c >= 'a' && c <= 'z' {
			proper[at] = c - 'a' + 'A'
		}
		at += len(part)
	}
	z, err := time.LoadLocation(string(proper))
	if err != nil || name == "" {
		return nil
	}
	return z
}
