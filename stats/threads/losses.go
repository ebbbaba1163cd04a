package threads

import (
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/xtf"
)

// Work is the working times of the threads of a process in its parallel regions: by region their sum and the largest one, in ticks.
type Work struct {
	Sum, Max []uint64
}

// NewWork prepares the sums of n regions.
func NewWork(n int) *Work { return &Work{make([]uint64, n), make([]uint64, n)} }

// Add takes the working times of one thread.
func (w *Work) Add(spent []uint64) { w.add(spent, spent) }

// Merge takes the working times of other threads.
func (w *Work) Merge(o *Work) { w.add(o.Sum, o.Max) }

func (w *Work) add(sum, most []uint64) {
	for i := range w.Sum {
		w.Sum[i] += sum[i]
		w.Max[i] = max(w.Max[i], most[i])
	}
}

// Items are the items that Account adds to.
var Items = []xtf.Item{xtf.ItemThreadTime, xtf.ItemThreadSerial, xtf.ItemThreadImbalance, xtf.ItemThreadScheduling}

// Account adds the thread time and the losses of a process to c, the components of its first location. calls and executions, which Account
// calls twice, have the rows of that location. Thread time and serial time belong to the execution that they are in, the losses of a
// region to the executions in which it ends.
func (r *Roles) Account(threads uint32, calls Calls, executions func() (interval.Executions, error), regions []Span, w *Work, c *interval.Components) error {
	rows, err := executions()
	if err != nil {
		return err
	}
	var alone interval.Components
	spans := interval.NewSums(rows, &alone, xtf.ItemThreadTime, xtf.ItemThreadSerial)
	err = r.Outline(
		calls,
		func(s Span) { spans.Span(s.Begin, s.End, xtf.ItemThreadTime) },
		func(s Span) {
			spans.Span(s.Begin, s.End, xtf.ItemThreadTime)
			spans.Span(s.Begin, s.End, xtf.ItemThreadSerial)
		},
	)
	if err != nil {
		return err
	}
	if err := spans.Flush(); err != nil {
		return err
	}
	alone.Each(func(node uint32, item xtf.Item, v uint64) {
		n := uint64(threads)
		if item == xtf.ItemThreadSerial {
			n--
		}
		c.Add(node, item, n*v)
	})
	if rows, err = executions(); err != nil {
		return err
	}
	losses := interval.NewSums(rows, c, xtf.ItemThreadImbalance, xtf.ItemThreadScheduling)
	for i, s := range regions {
		all := uint64(threads) * w.Max[i]
		losses.Completion(s.End, xtf.ItemThreadImbalance, all-min(w.Sum[i], all))
		losses.Completion(s.End, xtf.ItemThreadScheduling, uint64(threads)*(s.End-s.Begin-min(w.Max[i], s.End-s.Begin)))
	}
	return losses.Flush()
}
