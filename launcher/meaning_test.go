package launcher

import (
	"testing"

	"drover/spec"
)

// Every row of the table, and every combination of facts it leaves open.
func TestMeaning(t *testing.T) {
	any := []bool{false, true}
	exits := []exitFile{exitAbsent, exitValid, exitDamaged}
	rows := []struct {
		name string
		fits func(f facts) bool
		want spec.RunState
	}{
		{"held, exit.json valid: wait for the lock", func(f facts) bool { return f.held && f.exit == exitValid }, spec.RunRunning},
		{"held, no shim.json", func(f facts) bool { return f.held && !f.shim && f.exit != exitValid }, spec.RunStarting},
		{"held, shim.json", func(f facts) bool { return f.held && f.shim && f.exit != exitValid }, spec.RunRunning},
		{"same boot, free, processes left", func(f facts) bool { return f.sameBoot && !f.held && f.left }, spec.RunOrphaned},
		{"free, exit.json valid, nothing left", func(f facts) bool {
			return !f.held && f.exit == exitValid && !(f.sameBoot && f.left)
		}, spec.RunEnded},
		{"same boot, free, no shim.json, no exit.json", func(f facts) bool {
			return f.sameBoot && !f.held && !f.shim && f.exit == exitAbsent && !f.left
		}, spec.RunUnstarted},
		{"same boot, free, shim.json, no exit.json", func(f facts) bool {
			return f.sameBoot && !f.held && f.shim && f.exit == exitAbsent && !f.left
		}, spec.RunLost},
		{"other boot, free, no exit.json", func(f facts) bool { return !f.sameBoot && !f.held && f.exit == exitAbsent }, spec.RunLost},
		{"free, exit.json empty or not JSON", func(f facts) bool {
			return !f.held && f.exit == exitDamaged && !(f.sameBoot && f.left)
		}, spec.RunLost},
	}
	seen := make([]int, len(rows))
	for _, boot := range any {
		for _, held := range any {
			for _, shim := range any {
				for _, left := range any {
					for _, exit := range exits {
						f := facts{sameBoot: boot, held: held, shim: shim, exit: exit, left: left}
						fit := 0
						for i, row := range rows {
							if !row.fits(f) {
								continue
							}
							fit++
							seen[i]++
							if got := meaning(f); got != row.want {
								t.Errorf("%s: %+v means %v, want %v", row.name, f, got, row.want)
							}
						}
						if fit != 1 {
							t.Errorf("%+v fits %d rows, want one", f, fit)
						}
					}
				}
			}
		}
	}
	for i, n := range seen {
		if n == 0 {
			t.Errorf("row %q was never met", rows[i].name)
		}
	}
}
