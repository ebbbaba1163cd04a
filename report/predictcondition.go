package report

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// PredictCondition is a comparison of a metric of a prediction with a number, as [Condition] is of an interval's. Times without
// a unit are seconds.
type PredictCondition struct {
	Condition
	value func(p *Prediction) Fraction
}

// predictMetric is a number of a prediction.
type predictMetric struct {
	name  string
	kind  metricKind
	value func(p *Prediction) Fraction
}

// predictMetrics are the numbers that conditions about a prediction can name.
func predictMetrics() []predictMetric {
	makespan := func(p *Prediction) Fraction {
		if p.Makespan == nil {
			return Fraction{}
		}
		return fraction64(*p.Makespan, 1)
	}
	measured := func(p *Prediction) Fraction { return fraction64(p.Measured, 1) }
	return []predictMetric{
		{"makespan", kindTime, makespan},
		{"measured", kindTime, measured},
		{"ratio", kindShare, func(p *Prediction) Fraction { return makespan(p).Over(measured(p)) }},
		{"speedup", kindShare, func(p *Prediction) Fraction { return measured(p).Over(makespan(p)) }},
		{"error_net", kindShare, func(p *Prediction) Fraction { return p.Errors.Net.fraction() }},
		{"error_class", kindShare, func(p *Prediction) Fraction { return p.Errors.Class.fraction() }},
		{"error_replay", kindShare, func(p *Prediction) Fraction { return p.Errors.Replay.fraction() }},
		{"error_spread", kindShare, func(p *Prediction) Fraction { return p.Errors.Spread.fraction() }},
		{"error_delay", kindShare, func(p *Prediction) Fraction { return p.Errors.Delay.fraction() }},
		{"compute", kindTime, func(p *Prediction) Fraction { return p.mean(func(t *PredictedTimes) uint64 { return t.Compute }) }},
		{"communication", kindTime, func(p *Prediction) Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Finish - min(t.Compute+t.Kept, t.Finish) })
		}},
	}
}

// mean is that of a time over the processes, nil without a prediction.
func (p *Prediction) mean(of func(t *PredictedTimes) uint64) Fraction {
	if p.Makespan == nil {
		return Fraction{}
	}
	var high, low, carry uint64
	for i := range p.Processes {
		low, carry = bits.Add64(low, of(&p.Processes[i].Predicted), 0)
		high += carry
	}
	return exact.Share(high, low, uint64(len(p.Processes)))
}

// PredictMetricNames are the names of the metrics of conditions about a prediction.
func PredictMetricNames() []string {
	var list []string
	for _, m := range predictMetrics() {
		list = append(list, m.name)
	}
	return list
}

// ParsePredictCondition reads METRIC OP NUMBER.
func ParsePredictCondition(text string) (*PredictCondition, error) {
	if len(text) > maxCondition {
		return nil, conditionAt(text, maxCondition, "longer than %d bytes", maxCondition)
	}
	c := &PredictCondition{Condition: Condition{text: text}}
	find := func(name string) (metric, bool) {
		for _, m := range predictMetrics() {
			if m.name == name {
				c.value = m.value
				return metric{name: m.name, kind: m.kind}, true
			}
		}
		return metric{}, false
	}
	if err := c.comparison(text, 0, find, PredictMetricNames); err != nil {
		return nil, err
	}
	return c, nil
}

// Judge decides conditions. One whose metric is not known holds: what was to be watched cannot be seen.
func (p *Prediction) Judge(list []*PredictCondition) []Verdict {
	var verdicts []Verdict
	for _, c := range list {
		verdict, _ := c.verdict(c.value(p), unit{Picoseconds}, "") // the resolution is known
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}
