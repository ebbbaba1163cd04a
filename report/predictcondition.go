package report

import (
	"fmt"
	"math/big"
)

// PredictCondition is a comparison of a metric of a prediction with a number, as [Condition] is of an interval's. Times without
// a unit are seconds.
type PredictCondition struct {
	Condition
	value func(p *Prediction) *big.Rat
}

// predictMetric is a number of a prediction.
type predictMetric struct {
	name  string
	kind  metricKind
	value func(p *Prediction) *big.Rat // nil: not known
}

// predictMetrics are the numbers that conditions about a prediction can name.
func predictMetrics() []predictMetric {
	ps := func(v *uint64) *big.Int {
		if v == nil {
			return nil
		}
		return integer(*v)
	}
	one := big.NewInt(1)
	share := func(r Ratio) *big.Rat {
		if !r.Defined {
			return nil
		}
		return new(big.Rat).SetFloat64(r.Value)
	}
	return []predictMetric{
		{"makespan", kindTime, func(p *Prediction) *big.Rat { return ratOf(ps(p.Makespan), one) }},
		{"measured", kindTime, func(p *Prediction) *big.Rat { return ratOf(integer(p.Measured), one) }},
		{"ratio", kindShare, func(p *Prediction) *big.Rat { return ratOf(ps(p.Makespan), integer(p.Measured)) }},
		{"speedup", kindShare, func(p *Prediction) *big.Rat { return ratOf(integer(p.Measured), ps(p.Makespan)) }},
		{"error_net", kindShare, func(p *Prediction) *big.Rat { return share(p.Errors.Net) }},
		{"error_class", kindShare, func(p *Prediction) *big.Rat { return share(p.Errors.Class) }},
		{"error_replay", kindShare, func(p *Prediction) *big.Rat { return share(p.Errors.Replay) }},
		{"compute", kindTime, func(p *Prediction) *big.Rat { return p.mean(func(t *PredictedTimes) uint64 { return t.Compute }) }},
		{"communication", kindTime, func(p *Prediction) *big.Rat {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Finish - min(t.Compute+t.Kept, t.Finish) })
		}},
	}
}

// mean is that of a time over the processes, nil without a prediction.
func (p *Prediction) mean(of func(t *PredictedTimes) uint64) *big.Rat {
	if p.Makespan == nil {
		return nil
	}
	sum := new(big.Int)
	for i := range p.Processes {
		sum.Add(sum, integer(of(&p.Processes[i].Predicted)))
	}
	return ratOf(sum, big.NewInt(int64(len(p.Processes))))
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
	u := unit{Picoseconds}
	var verdicts []Verdict
	for _, c := range list {
		v := c.value(p)
		limit, err := c.limit(u.resolution)
		holds := v == nil || err != nil || c.holds(v.Cmp(limit))
		verdicts = append(verdicts, Verdict{Holds: holds, Text: fmt.Sprintf("%s: %s is %s", c.text, c.metric.name, c.metric.text(v, u))})
	}
	return verdicts
}
