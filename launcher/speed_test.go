package launcher

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"drover/spec"
)

// From the decision to the agent's process, the durable claim included. The
// target is 15 ms. With a spare is how a drover that stays works.
func BenchmarkClaimToExec(b *testing.B) {
	for name, spare := range map[string]bool{"cold": false, "spare": true} {
		b.Run(name, func(b *testing.B) {
			w := newBench(b, func(o *Options) { o.Spare = spare })
			if err := w.Warm(); err != nil {
				b.Fatal(err)
			}
			var times []time.Duration
			for b.Loop() {
				name := attemptName(len(times))
				b.StopTimer()
				w.see(name)
				rest := time.NewTimer(50 * time.Millisecond) // saves do not come back to back
				<-rest.C
				b.StartTimer()
				begin := time.Now()
				w.start(name, "echo RESULT ok")
				b.StopTimer()
				r := w.over(name)
				b.StartTimer()
				times = append(times, r.Locator.StartedAt.Sub(begin))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(times[len(times)*9/10].Microseconds())/1000, "p90-ms")
		})
	}
}

// A hundred claims in one pass, per claim.
func BenchmarkClaimHundred(b *testing.B) {
	w := newBench(b)
	n := 0
	for b.Loop() {
		var starts []*spec.Start
		for range 100 {
			starts = append(starts, newStart(attemptName(n), ""))
			n++
		}
		for _, err := range w.Claim(w.ctx, starts) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(n), "ms/claim")
}

// What a shim takes in memory when a hundred run. The target is 5 MiB, in the
// end 2.
func BenchmarkShimPSS(b *testing.B) {
	const many = 100
	w := newBench(b)
	for b.Loop() {
		var starts []*spec.Start
		for i := range many {
			starts = append(starts, newStart(attemptName(i), "echo one line; exec sleep 300"))
		}
		for i, err := range w.Claim(w.ctx, starts) {
			if err != nil {
				b.Fatal(err)
			}
			if err := w.Launch(w.ctx, attemptName(i)); err != nil {
				b.Fatal(err)
			}
		}
		total, most := 0, 0
		pids := make([]int, many)
		for i := range many {
			pids[i] = w.running(attemptName(i)).Locator.ShimPID
		}
		// The first tail is read a while after the start; count that too.
		wait := time.NewTimer(500 * time.Millisecond)
		<-wait.C
		for _, pid := range pids {
			kib := pss(b, pid)
			total, most = total+kib, max(most, kib)
		}
		b.ReportMetric(float64(total)/many/1024, "MiB/shim")
		b.ReportMetric(float64(most)/1024, "max-MiB")
		for i := range many {
			if err := w.Stop(w.ctx, attemptName(i), "dispatcher"); err != nil {
				b.Fatal(err)
			}
		}
		var names []string
		for i := range many {
			w.over(attemptName(i))
			names = append(names, attemptName(i))
		}
		if err := w.Remove(w.ctx, names); err != nil {
			b.Fatal(err)
		}
	}
}

// What a pass pays for a thousand attempts that are over.
func BenchmarkObserveThousandEnded(b *testing.B) {
	w := newBench(b)
	w.start(attemptName(0), "echo RESULT ok")
	w.over(attemptName(0))
	for i := 1; i < 1000; i++ {
		if err := os.CopyFS(w.dir(attemptName(i)), os.DirFS(w.dir(attemptName(0)))); err != nil {
			b.Fatal(err)
		}
	}
	w.see(attemptName(999))
	for b.Loop() {
		if _, err := w.Observe(w.ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// pss is a process's proportional set size in KiB.
func pss(b *testing.B, pid int) int {
	b.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip("no smaps_rollup:", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no Pss line")
	return 0
}
