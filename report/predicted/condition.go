package predicted

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
)

// Condition is a comparison of a metric of a prediction with a number, as [Condition] is of an interval's. Times without
// a unit are seconds.
type Condition = results.ConditionOf[*Prediction]

// Metrics are the numbers that conditions about a prediction can name.
func Metrics() []results.MetricOf[*Prediction] {
	makespan := func(p *Prediction) numbers.Fraction {
		if p.Makespan == nil {
			return numbers.Fraction{}
		}
		return numbers.Divide64(*p.Makespan, 1)
	}
	measured := func(p *Prediction) numbers.Fraction { return numbers.Divide64(p.Measured, 1) }
	return []results.MetricOf[*Prediction]{
		results.NewMetric("makespan", results.KindTime, makespan),
		results.NewMetric("measured", results.KindTime, measured),
		results.NewMetric("ratio", results.KindShare, func(p *Prediction) numbers.Fraction { return makespan(p).Over(measured(p)) }),
		results.NewMetric("speedup", results.KindShare, func(p *Prediction) numbers.Fraction { return measured(p).Over(makespan(p)) }),
		results.NewMetric("error_net", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Net.Fraction() }),
		results.NewMetric("error_class", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Class.Fraction() }),
		results.NewMetric("error_replay", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Replay.Fraction() }),
		results.NewMetric("error_spread", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Spread.Fraction() }),
		results.NewMetric("error_delay", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Delay.Fraction() }),
		results.NewMetric("compute", results.KindTime, func(p *Prediction) numbers.Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Compute })
		}),
		results.NewMetric("communication", results.KindTime, func(p *Prediction) numbers.Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Finish - min(t.Compute+t.Kept, t.Finish) })
		}),
	}
}

// mean is that of a time over the processes, nil without a prediction.
func (p *Prediction) mean(of func(t *PredictedTimes) uint64) numbers.Fraction {
	if p.Makespan == nil {
		return numbers.Fraction{}
	}
	var high, low, carry uint64
	for i := range p.Processes {
		low, carry = bits.Add64(low, of(&p.Processes[i].Predicted), 0)
		high += carry
	}
	return exact.Share(high, low, uint64(len(p.Processes)))
}

// ParseCondition reads METRIC OP NUMBER.
func ParseCondition(text string) (*Condition, error) {
	c, err := results.ParseOf(text, Metrics())
	if err == nil && strings.Contains(text, "interval:") {
		err = fmt.Errorf("%q: %w: a prediction has no intervals", numbers.Clean(text, 120), results.ErrCondition)
	}
	return c, err
}

// Judge decides conditions. One whose metric is not known holds: what was to be watched cannot be seen.
func (p *Prediction) Judge(list []*Condition) []results.Verdict {
	var verdicts []results.Verdict
	for _, c := range list {
		verdict, _ := c.Verdict(c.Metric.Value(p), numbers.Units{Resolution: Picoseconds}, "") // the resolution is known
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}
