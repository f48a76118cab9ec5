package markdown

import (
	"fmt"
	"slices"
	"strings"
)

// CheckKeys refuses the first field whose key is not among the known ones and
// names the nearest of them (DIALECTS 0).
func CheckKeys(fields []Field, known []string) *HeadError {
	for _, f := range fields {
		if slices.Contains(known, f.Key) {
			continue
		}
		message := fmt.Sprintf("unknown key %q", f.Key)
		if near := Nearest(f.Key, known); near != "" {
			message += ", did you mean " + near + "?"
		} else {
			message += "; known are " + strings.Join(known, ", ")
		}
		return &HeadError{f.Line, message}
	}
	return nil
}

// Nearest is the known word that differs least from word, "" when none is
// within half its length.
func Nearest(word string, known []string) string {
	best, distance := "", 1<<30
	for _, k := range known {
		if d := edits([]rune(strings.ToLower(strings.TrimSpace(word))), []rune(k)); d < distance {
			best, distance = k, d
		}
	}
	if 2*distance > len([]rune(best)) {
		return ""
	}
	return best
}

// edits counts the insertions, deletions and replacements between two words.
func edits(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replace := diagonal
			if x != y {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
