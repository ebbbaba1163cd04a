package report

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// readThreads lists the threads that wait for others.
func (w *Waits) readThreads(r *results.Run, ranks results.Ranks) ([]table.Lost, error) {
	lost, err := findings.EachThread(r, ranks, "waits", func(x *findings.ThreadWait) {
		if x.Lock > 0 || x.Wait > 0 {
			w.Threads = append(w.Threads, *x)
		}
	})
	slices.SortStableFunc(w.Threads, func(a, b findings.ThreadWait) int {
		return cmp.Compare(b.Lock+b.Wait, a.Lock+a.Wait)
	})
	return lost, err
}
