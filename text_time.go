package main

import (
	"fmt"
	"time"

	"drover/spec"
)

// span is a time span in its largest unit: 40s, 14m, 3h, 2d.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// took is how long something took: 2m11s, 340ms.
func took(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// clock is a time of day, with its date when that is another day than now's.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) != now.Format(time.DateOnly) {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format("15:04")
}

// money is a sum of prices: "≥" before it where some attempts report none,
// "?" where none does; never 0 for unknown.
func money(u spec.Usage) string {
	switch {
	case u.CostKnown:
		return fmt.Sprintf("$%.2f", u.CostUSD)
	case u.CostUSD > 0:
		return fmt.Sprintf("≥$%.2f", u.CostUSD)
	}
	return "?"
}

// count is a number of tokens as people say it: 1.2M, 35k, 812.
func count(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}
