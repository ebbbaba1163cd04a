package view

import (
	"context"
	"math"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits of the readings that an answer reads: all of a window up to the first limit, else so many of each bin.
const (
	mostReadings  = 1 << 20
	readingsOfBin = 1024
)

func getCounter(ctx context.Context, p *params) (any, error) {
	loc := p.loc()
	begin, end := p.span()
	bins := p.number("bins", 512, 1, counterBins)
	if len(p.run.meta.Counters) == 0 {
		p.wrong(missing("metric"))
	}
	metric := p.number("metric", 0, 0, uint64(max(len(p.run.meta.Counters), 1)-1))
	if p.needRows(); p.err != nil {
		return nil, p.err
	}
	var err error
	r := &readings{metric: int(metric), begin: begin, end: max(end, after(begin)), of: counters.NewMembers(p.run.Defs)}
	r.to = CounterBins{Metric: int(metric), Location: int(loc), Begin: begin, BinTicks: float64(r.end-r.begin) / float64(bins)}
	r.to.Min, r.to.Max, r.to.Mean, r.to.Last = make([]*float64, bins), make([]*float64, bins), make([]*float64, bins), make([]*float64, bins)
	r.count = make([]uint64, bins)
	if r.a, err = p.run.array(loc, xtf.TypeMetric); err != nil {
		return nil, err
	}
	return &r.to, r.read(ctx)
}

// readings adds up the values of a metric by bins.
type readings struct {
	a          *xtf.Array
	metric     int
	begin, end uint64
	of         *counters.Members
	count      []uint64
	to         CounterBins
}

// read reads the window, or a part of each bin.
func (r *readings) read(ctx context.Context) error {
	n1, err := r.a.Rank(r.begin)
	if err != nil {
		return err
	}
	n2, err := r.a.Rank(r.end)
	if err != nil {
		return err
	}
	err = r.a.Each(n1-min(n1, mostLooked), n1, func(_ uint64, row []byte) bool {
		if v, ok := r.value(row); ok {
			r.to.Before = &v
		}
		return true
	})
	if err != nil {
		return err
	}
	r.to.Rows = n2 - n1
	if r.to.Sampled = n2-n1 > mostReadings; !r.to.Sampled {
		err = r.rows(n1, n2)
	}
	for b := 0; err == nil && r.to.Sampled && b < len(r.count); b++ {
		if err = ctx.Err(); err != nil {
			return err
		}
		var first, last uint64
		if first, err = r.a.Rank(r.begin + numbers.MulDiv(r.end-r.begin, uint64(b), uint64(len(r.count)))); err == nil {
			last, err = r.a.Rank(r.begin + numbers.MulDiv(r.end-r.begin, uint64(b+1), uint64(len(r.count))))
		}
		if err == nil {
			err = r.rows(first, min(last, first+readingsOfBin))
		}
	}
	for b, n := range r.count {
		if n > 0 {
			*r.to.Mean[b] /= float64(n)
		}
	}
	return err
}

// value returns the value of a row of the metric. ok is false for other rows and for NaN and infinity.
func (r *readings) value(row []byte) (float64, bool) {
	var m xtf.Metric
	m.Load(row)
	if i, ok := r.of.Of(&m); !ok || i != r.metric {
		return 0, false
	}
	v, _ := counters.Value(&m)
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

func (r *readings) rows(n1, n2 uint64) error {
	return r.a.Each(n1, n2, func(_ uint64, row []byte) bool {
		v, ok := r.value(row)
		if !ok {
			return true
		}
		b := min(numbers.MulDiv(xtf.U64(row, 0)-r.begin, uint64(len(r.count)), r.end-r.begin), uint64(len(r.count)-1))
		if r.count[b]++; r.count[b] == 1 {
			low, high, mean := v, v, 0.0
			r.to.Min[b], r.to.Max[b], r.to.Mean[b] = &low, &high, &mean
		}
		last := v
		*r.to.Min[b], *r.to.Max[b], r.to.Last[b] = min(*r.to.Min[b], v), max(*r.to.Max[b], v), &last
		*r.to.Mean[b] += v
		return true
	})
}
