package results

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// KernelWait is what hosts wait in a call for the end of a kernel, or of a transfer. Ticks of all together; Queued and Late are parts of it.
type KernelWait struct {
	Kernel string      `json:"kernel"`
	Call   string      `json:"call"`
	Count  uint64      `json:"count"`
	Ticks  numbers.Sum `json:"ticks"`
	Queued numbers.Sum `json:"queued"`        // the kernel was behind another one of its stream when it was launched
	Late   numbers.Sum `json:"launched_late"` // another thread launched it after the wait began
	Worst  uint64      `json:"worst"`         // of one wait
	Rank   uint32      `json:"worst_rank"`
}

// mostKernelWaits is how many waits are looked at together, 48 bytes each.
const mostKernelWaits = 1 << 16

// KernelWaits adds up the waits of the chosen processes for devices, in a span of time if there is one, by falling time.
func KernelWaits(c *Causes) ([]KernelWait, error) {
	r, sums, list := c.R, map[[2]uint32]*KernelWait{}, []xtf.Wait{}
	begin, end := uint64(0), uint64(xtf.Never)
	if c.Span != nil {
		begin, end = c.Span.Begin, c.Span.End
	}
	for p := range trace.P(r.Defs.NumLocations()) {
		rank, _ := r.Defs.Process(p)
		if !r.HasStreams() || r.Defs.Location(p).Type != trace.CPUThread || !c.Ranks.Contains(rank) {
			continue
		}
		var err error
		for _, w := range Overlapping[xtf.Wait](r, p, begin, end, &err) {
			if xtf.PatternItem(w.Pattern) != xtf.ItemLateKernel {
				continue
			}
			x := *w
			x.T, x.End = max(x.T, begin), min(x.End, end)
			if list = append(list, x); len(list) == mostKernelWaits {
				if err := c.addKernelWaits(list, rank, sums); err != nil {
					return nil, err
				}
				list = list[:0]
			}
		}
		if err == nil {
			err = c.addKernelWaits(list, rank, sums)
		}
		if list = list[:0]; err != nil {
			return nil, err
		}
	}
	out := make([]KernelWait, 0, len(sums))
	for _, x := range sums {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b KernelWait) int {
		return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Call, b.Call))
	})
	return out, nil
}

// addKernelWaits adds waits of a process, which it sorts by what they are for.
func (c *Causes) addKernelWaits(list []xtf.Wait, rank uint32, sums map[[2]uint32]*KernelWait) error {
	slices.SortFunc(list, func(a, b xtf.Wait) int { return cmp.Or(cmp.Compare(a.CauseP, b.CauseP), cmp.Compare(a.RecN, b.RecN)) })
	for i := range list {
		w := &list[i]
		side, err := WaitedFor(c.R, 0, w)
		if err != nil {
			return err
		}
		at := [2]uint32{trace.Undefined, c.Paths.Region(w.Path)}
		if side != nil {
			at[0] = side.Region
		}
		x := sums[at]
		if x == nil {
			x = &KernelWait{Kernel: "(transfer)", Call: CallName(c.R, at[1])}
			if side != nil {
				x.Kernel = c.R.RegionName(side.Region)
			}
			sums[at] = x
		}
		ticks := w.End - min(w.T, w.End)
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
	return nil
}
