package agenttask

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// taskName is a task folder's name: "02+01_csv_reader" is number 02, after 01
// (seed 003: NN_slug or NN+PP[,QQ…]_slug). The order of numbers alone means
// nothing.
type taskName struct {
	index string
	needs string // "01,02"
	slug  string
}

// parseName reads a folder's name. It allocates nothing: every task of a group
// asks it of its neighbours.
func parseName(s string) (taskName, bool) {
	number, slug, ok := strings.Cut(s, "_")
	index, needs, plus := strings.Cut(number, "+")
	if !ok || !twoDigits(index) || !isSlug(slug) || plus && needs == "" {
		return taskName{}, false
	}
	for rest := needs; rest != ""; rest = rest[3:] {
		if len(rest) < 2 || !twoDigits(rest[:2]) {
			return taskName{}, false
		}
		if len(rest) == 2 {
			break
		}
		if rest[2] != ',' || len(rest) == 3 {
			return taskName{}, false
		}
	}
	return taskName{index, needs, slug}, true
}

// after are the numbers of the tasks that must be complete first.
func (n taskName) after() iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := n.needs; len(rest) >= 2 && yield(rest[:2]); {
			rest = rest[min(3, len(rest)):]
		}
	}
}

// isGroup reports whether a folder's name can be a group's: headers hold it as
// one word of a comment, WORK_LOG.md as a cell of a table.
func isGroup(s string) bool {
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("|<>`", r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func isSlug(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func twoDigits(s string) bool { return len(s) == 2 && digits(s) }

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// junk reports names that are never a task's: drafts and what editors leave
// (COMMANDS 1, CASES 9).
func junk(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") ||
		strings.HasSuffix(name, ".draft.md") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp") ||
		digits(name)
}

// fileKind is what a file in a task folder is.
type fileKind uint8

const (
	otherFile fileKind = iota
	planFile
	reviewFile
	userReviewFile
	completeFile
	planLog
	reviewLog
	ignoreFile
	misnamed // begins like a PLAN or CODE_REVIEW, but breaks the grammar
)

// fileName is a file's name taken apart. Lane is "" for the plain names
// PLAN.md and CODE_REVIEW.md.
type fileName struct {
	kind  fileKind
	lane  string
	grade int
	k     int // of a log: the plan number
}

// slot is the part of a pair's names that both share: "-cloud-G07", or "".
func (f fileName) slot() string {
	if f.lane == "" {
		return ""
	}
	return fmt.Sprintf("-%s-G%02d", f.lane, f.grade)
}

// logSlot is the same in a log's name: "_cloud_G07".
func (f fileName) logSlot() string { return strings.ReplaceAll(f.slot(), "-", "_") }

func parseFile(name string) fileName {
	if junk(name) && name != ".gitignore" {
		return fileName{}
	}
	switch name {
	case "PLAN.md":
		return fileName{kind: planFile}
	case "CODE_REVIEW.md":
		return fileName{kind: reviewFile}
	case "USER_REVIEW.md":
		return fileName{kind: userReviewFile}
	case "complete.log":
		return fileName{kind: completeFile}
	case ".gitignore":
		return fileName{kind: ignoreFile}
	}
	if rest, ok := strings.CutSuffix(name, ".md"); ok {
		for _, p := range [...]struct {
			prefix string
			kind   fileKind
		}{{"PLAN-", planFile}, {"CODE_REVIEW-", reviewFile}} {
			if slot, ok := strings.CutPrefix(rest, p.prefix); ok {
				return slotted(p.kind, slot, "-")
			}
		}
		return fileName{}
	}
	if rest, ok := strings.CutSuffix(name, ".log"); ok {
		return logFile(rest)
	}
	return fileName{}
}

// slotted reads "cloud-G07".
func slotted(kind fileKind, slot, sep string) fileName {
	lane, grade, ok := strings.Cut(slot, sep)
	g, isGrade := strings.CutPrefix(grade, "G")
	n, err := strconv.Atoi(g)
	if !ok || !isGrade || lane != "local" && lane != "cloud" || !twoDigits(g) || err != nil || n < 1 || n > 10 {
		return fileName{kind: misnamed}
	}
	return fileName{kind: kind, lane: lane, grade: n}
}

// logFile reads "plan_cloud_G07_0" and "plan_0".
func logFile(rest string) fileName {
	kind := planLog
	slot, ok := strings.CutPrefix(rest, "plan_")
	if !ok {
		if slot, ok = strings.CutPrefix(rest, "code_review_"); !ok {
			return fileName{}
		}
		kind = reviewLog
	}
	f := fileName{kind: kind}
	number := slot
	if i := strings.LastIndexByte(slot, '_'); i >= 0 {
		if f = slotted(kind, slot[:i], "_"); f.kind == misnamed {
			return fileName{}
		}
		number = slot[i+1:]
	}
	k, err := strconv.Atoi(number)
	if err != nil || !digits(number) {
		return fileName{}
	}
	f.k = k
	return f
}

// archiveOf reports whether an archived folder holds a task of this name: the
// name itself, or with "_<n>" where it was taken (DIALECTS 1.4).
func archiveOf(entry, name string) bool {
	if entry == name {
		return true
	}
	rest, ok := strings.CutPrefix(entry, name+"_")
	return ok && digits(rest)
}
