package report

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// KernelWait is the time that hosts wait in a call for the end of a kernel or of a transfer: ticks, all hosts together. Queued
// and Late are parts of it.
type KernelWait struct {
	Kernel string      `json:"kernel"`
	Call   string      `json:"call"`
	Count  uint64      `json:"count"`
	Ticks  numbers.Sum `json:"ticks"`
	Queued numbers.Sum `json:"queued"`        // when it was launched, the kernel had to wait for others of its stream
	Late   numbers.Sum `json:"launched_late"` // another thread launched it after the wait began
	Worst  uint64      `json:"worst"`         // of the longest wait
	Rank   uint32      `json:"worst_rank"`
}

// kernelWaits adds up the waits of the chosen processes for devices, in a span of time if there is one, longest first.
func kernelWaits(c *results.Causes) (out []KernelWait, lost []table.Lost, err error) {
	sums := map[[2]uint32]*KernelWait{}
	if !c.R.HasStreams() {
		return nil, nil, nil
	}
	lost, err = c.R.EachLocation(c.Ranks, "waits", func(p trace.P) error {
		begin, end, _, err := c.R.Borders(p, c.Span)
		if err != nil || !c.R.Defs.Location(p).Type.OnHost() {
			return err
		}
		for _, w := range results.Overlapping[xtf.Wait](c.R, p, begin, end, &err) {
			if xtf.PatternItem(w.Pattern) != xtf.ItemLateKernel {
				continue
			}
			side, err := results.WaitedFor(c.R, p, w)
			if err != nil {
				return err
			}
			at, name := [2]uint32{trace.Undefined, c.Paths.Region(w.Path)}, "(transfer)"
			if side != nil {
				at[0], name = side.Region, c.R.RegionName(side.Region)
			}
			if sums[at] == nil {
				sums[at] = &KernelWait{Kernel: name, Call: results.CallName(c.R, at[1])}
			}
			sums[at].add(w, results.Inside(w.T, w.End, begin, end), c.Rank(uint32(p)))
		}
		return err
	})
	for _, x := range sums {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b KernelWait) int {
		return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Call, b.Call))
	})
	return out, lost, err
}

func (x *KernelWait) add(w *xtf.Wait, ticks uint64, rank uint32) {
	x.Count, x.Ticks = x.Count+1, numbers.Add(x.Ticks, numbers.Integer(ticks))
	switch w.Pattern & xtf.WaitLaunchMask {
	case xtf.WaitLaunchQueued:
		x.Queued = numbers.Add(x.Queued, numbers.Integer(ticks))
	case xtf.WaitLaunchLate:
		x.Late = numbers.Add(x.Late, numbers.Integer(ticks))
	}
	if ticks > x.Worst {
		x.Worst, x.Rank = ticks, rank
	}
}
