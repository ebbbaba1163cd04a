package threads

import (
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/xtf"
)

// Work is what the threads of a process did in its parallel regions together:
// for each region the sum and the largest of their working times, in ticks.
type Work struct {
	Sum, Max []uint64
}

// NewWork prepares the sums of n regions.
func NewWork(n int) *Work { return &Work{make([]uint64, n), make([]uint64, n)} }

// Add takes the working times of one thread.
func (w *Work) Add(spent []uint64) { w.add(spent, spent) }

// Merge takes what other threads did together.
func (w *Work) Merge(o *Work) { w.add(o.Sum, o.Max) }

func (w *Work) add(sum, most []uint64) {
	for i := range w.Sum {
		w.Sum[i] += sum[i]
		w.Max[i] = max(w.Max[i], most[i])
	}
}

// Items are what Account adds to the components of a process's first location.
var Items = []xtf.Item{xtf.ItemThreadTime, xtf.ItemThreadSerial, xtf.ItemThreadImbalance, xtf.ItemThreadScheduling}

// Account adds the time and the losses of a process with so many threads to the
// executions of its first location, of which calls and, once more each time they
// are asked for, executions are the rows. Time and serial time are those within
// an execution, losses of a region go to the executions in which it ends.
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
