package results

import (
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// Metric is a number of an interval.
type Metric = conditions.Metric[*Interval]

// Metrics are the numbers of an interval that conditions can name: efficiencies, characteristics in ticks, and the sum over
// processes of every component.
func Metrics() []Metric {
	share := func(name string, f func(i *Interval) (a, b numbers.Sum)) Metric {
		return conditions.NewMetric(name, conditions.Share, func(i *Interval) numbers.Fraction { return numbers.Divide(f(i)) })
	}
	ticks := func(name string, f func(t *Ticks) numbers.Fraction) Metric {
		return conditions.NewMetric(name, conditions.Time, func(i *Interval) numbers.Fraction { return f(&i.Ticks) })
	}
	all := func(i *Interval, largest uint64) numbers.Sum {
		return numbers.Times(numbers.Integer(largest), i.POP.Participants)
	}
	list := []Metric{
		conditions.NewMetric("efficiency", conditions.Share, func(i *Interval) numbers.Fraction { return i.Ticks.exactEfficiency() }),
		conditions.NewMetric("parallel_efficiency", conditions.Share, func(i *Interval) numbers.Fraction { return i.POP.parallel }),
		share("process_efficiency", func(i *Interval) (a, b numbers.Sum) {
			return i.POP.Useful, numbers.Times(i.POP.Runtime, i.POP.Participants)
		}),
		share("io_efficiency", func(i *Interval) (a, b numbers.Sum) { return i.Ticks.CPU, numbers.Add(i.Ticks.CPU, i.Ticks.IO) }),
		share("io_balance", func(i *Interval) (a, b numbers.Sum) { return i.Ticks.IO, all(i, i.Stats.Item(xtf.ItemIO).Max) }),
		share("load_balance", func(i *Interval) (a, b numbers.Sum) { return i.POP.Useful, all(i, i.POP.Largest) }),
		share("communication_efficiency", func(i *Interval) (a, b numbers.Sum) { return numbers.Integer(i.POP.Largest), i.POP.Runtime }),
		share("serialisation_efficiency", func(i *Interval) (a, b numbers.Sum) { return numbers.Integer(i.POP.Largest), i.POP.Ideal }),
		share("transfer_efficiency", func(i *Interval) (a, b numbers.Sum) { return i.POP.Ideal, i.POP.Runtime }),
		share("device_offload", func(i *Interval) (a, b numbers.Sum) {
			return numbers.Sub(i.POP.Useful, numbers.Add(i.Ticks.DeviceCall, i.Ticks.DeviceWait)), i.POP.Useful
		}),
		share("wait_share", func(i *Interval) (a, b numbers.Sum) { return i.waitTotal(), i.Stats.Item(xtf.ItemTime).Sum }),
		ticks("execution", func(t *Ticks) numbers.Fraction { return numbers.Whole(numbers.Integer(t.Execution)) }),
		conditions.NewMetric("measured_execution", conditions.Time, func(i *Interval) numbers.Fraction { return numbers.Whole(i.POP.Runtime) }),
		conditions.NewMetric("largest_useful", conditions.Time, func(i *Interval) numbers.Fraction { return numbers.Divide64(i.POP.Largest, 1) }),
		ticks("runtime", func(t *Ticks) numbers.Fraction { return numbers.Whole(numbers.Integer(t.Runtime)) }),
		ticks("total", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.Total) }),
		ticks("productive", func(t *Ticks) numbers.Fraction { return t.Productive }),
		ticks("lost", func(t *Ticks) numbers.Fraction { return t.Lost }),
		ticks("lost_mpi", func(t *Ticks) numbers.Fraction { return t.MPILost }),
		ticks("idle", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.Idle) }),
		ticks("load_imbalance", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.LoadImbalance) }),
		ticks("dephasing", func(t *Ticks) numbers.Fraction { return numbers.Whole(Optional(t.Dephasing)) }),
		conditions.NewMetric("wait", conditions.Time, func(i *Interval) numbers.Fraction { return numbers.Whole(i.waitTotal()) }),
		conditions.NewMetric("processors", conditions.Count, func(i *Interval) numbers.Fraction { return numbers.Divide64(i.Processors, 1) }),
	}
	for item := range xtf.NumItems {
		kind := conditions.Time
		if IsCount(item) {
			kind = conditions.Count
		}
		if item == xtf.ItemFirst || item == xtf.ItemLast || item >= xtf.ItemIdeal && item <= xtf.ItemIdealLast {
			continue // these are not summed over processes
		}
		list = append(list, conditions.NewMetric(item.String(), kind, func(i *Interval) numbers.Fraction {
			if item.NeedsPartners() && i.Waits == nil {
				return numbers.Fraction{}
			}
			return numbers.Whole(i.Stats.Item(item).Sum)
		}))
	}
	return list
}

func (i *Interval) waitTotal() numbers.Sum {
	if i.Waits == nil {
		return numbers.NotKnown
	}
	return i.Waits.Total
}
