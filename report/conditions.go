package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/fileio"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// judged is an interval with results about the whole run, which only some conditions need.
type judged struct {
	*results.Interval
	*readOnDemand
}

// Condition is a condition about an interval.
type Condition = conditions.Condition[*judged]

type metric = conditions.Metric[*judged]

// ParseCondition reads a condition about an interval.
func ParseCondition(text string) (*Condition, error) {
	var list []metric
	for _, m := range results.Metrics() {
		list = append(list, conditions.NewMetric(m.Name, m.Kind, func(i *judged) numbers.Fraction { return m.Value(i.Interval) }))
	}
	return conditions.Parse(text, slices.Concat(list, deviceMetrics(), fileMetrics(), counterMetrics(text)))
}

// Judge decides conditions. A condition holds if its metric is not defined or not in the file: what was to be watched cannot be
// seen.
func Judge(r *results.Run, list []*Condition, rules results.Rules) ([]conditions.Verdict, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s, err := r.Survey(results.SurveyOptions{Section: "conditions", Deep: true, Rules: rules})
	if err == nil && len(s.Lost) > 0 {
		err = fmt.Errorf("%w: %s", xtf.ErrCorrupt, s.Lost[0].Error)
	}
	if err != nil {
		return nil, err
	}
	more := &readOnDemand{}
	more.counted = demanded(more, func() (*counters.Counted, []table.Lost, error) {
		return counters.NewCounted(r, results.Ranks{}, nil, false)
	})
	more.files = demanded(more, func() (*fileio.Totals, []table.Lost, error) { return fileio.New(r, results.Ranks{}) })
	more.devices = demanded(more, func() (*results.Devices, []table.Lost, error) {
		v, err := r.Devices(nil)
		return v, nil, err
	})
	u := r.Units()
	var verdicts []conditions.Verdict
	for _, c := range list {
		n, err := results.FindNode(s.Nodes, c.Interval)
		if err != nil {
			return nil, err
		}
		i := &judged{s.Interval(n, rules), more}
		verdict, err := c.Verdict(c.Metric.Value(i), u, " of "+i.Text)
		if err = cmp.Or(more.err, err); err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// readOnDemand reads results about the whole run when the first condition asks for them. They are nil where the file has none.
type readOnDemand struct {
	counted func() *counters.Counted
	files   func() *fileio.Totals
	devices func() *results.Devices
	err     error
}

func demanded[T any](x *readOnDemand, read func() (*T, []table.Lost, error)) func() *T {
	return sync.OnceValue(func() *T {
		v, lost, err := read()
		if err == nil && len(lost) > 0 {
			err = fmt.Errorf("%w: %s", xtf.ErrCorrupt, lost[0].Error)
		}
		if err == nil {
			return v
		}
		if !errors.Is(err, results.ErrNoResult) {
			x.err = err
		}
		return nil
	})
}

// counterNumbers are the numbers of a counter that a condition can name after a point.
var counterNumbers = map[string]func(s *counters.Total) numbers.Ratio{
	"sum": func(s *counters.Total) numbers.Ratio { return s.Sum }, "rate": func(s *counters.Total) numbers.Ratio { return s.Rate },
	"per_cycle": func(s *counters.Total) numbers.Ratio { return s.PerCycle }, "mean": func(s *counters.Total) numbers.Ratio { return s.Mean },
	"least": func(s *counters.Total) numbers.Ratio { return s.Least }, "largest": func(s *counters.Total) numbers.Ratio { return s.Largest },
	"joules": func(s *counters.Total) numbers.Ratio { return s.Joules }, "watts": func(s *counters.Total) numbers.Ratio { return s.Watts }, "edp": func(s *counters.Total) numbers.Ratio { return s.EDP },
}

// counterMetrics are instructions per cycle, and the counter that a condition names: one of its numbers, or without one its sum
// or, of a level, its mean.
func counterMetrics(text string) []metric {
	named := func(name string, is func(string) bool, number func(*counters.Total) numbers.Ratio) metric {
		return conditions.NewMetric(name, conditions.Real, func(i *judged) numbers.Fraction {
			if x := i.counted(); x != nil {
				for k := range x.Intervals {
					if p := &x.Intervals[k]; *p.Node == i.Node() && is(p.Counter) {
						return number(&p.Total).Fraction()
					}
				}
			}
			return numbers.Fraction{}
		})
	}
	list := []metric{named("ipc", counters.IsInstructions, counterNumbers["per_cycle"])}
	at := strings.Index(text, conditions.CounterMark)
	if at < 0 {
		return list
	}
	text = text[at:]
	if end := conditions.Operator(text); end >= 0 {
		text = text[:end]
	}
	text = strings.TrimSpace(text)
	name, number := strings.TrimPrefix(text, conditions.CounterMark), func(s *counters.Total) numbers.Ratio {
		if s.Sum.Defined {
			return s.Sum
		}
		return s.Mean
	}
	if k := strings.LastIndexByte(name, '.'); k >= 0 && counterNumbers[name[k+1:]] != nil {
		name, number = name[:k], counterNumbers[name[k+1:]]
	}
	if n := len(name); n > 1 && name[0] == '"' && name[n-1] == '"' {
		name = name[1 : n-1]
	}
	return append(list, named(text, func(is string) bool { return is == name }, number))
}

// fileMetrics are the metrics of the operations on files of the whole program.
func fileMetrics() (list []metric) {
	named := func(name string, kind conditions.Kind, of func(read, write *fileio.Sum) (a, b uint64)) {
		list = append(list, conditions.NewMetric(name, kind, func(i *judged) numbers.Fraction {
			x := i.files()
			if x == nil || i.Index != 0 {
				return numbers.Fraction{}
			}
			var read, write fileio.Sum
			for k := range x.Interfaces {
				read.Add(&x.Interfaces[k].Read)
				write.Add(&x.Interfaces[k].Write)
			}
			return numbers.Divide64(of(&read, &write))
		}))
	}
	named("file_bytes_read", conditions.Count, func(r, _ *fileio.Sum) (a, b uint64) { return r.Bytes, 1 })
	named("file_bytes_written", conditions.Count, func(_, w *fileio.Sum) (a, b uint64) { return w.Bytes, 1 })
	named("file_bytes_read_again", conditions.Count, func(r, _ *fileio.Sum) (a, b uint64) { return r.Again, 1 })
	named("small_reads", conditions.Share, func(r, _ *fileio.Sum) (a, b uint64) { return r.Small, r.Count })
	named("small_writes", conditions.Share, func(_, w *fileio.Sum) (a, b uint64) { return w.Small, w.Count })
	named("random_reads", conditions.Share, func(r, _ *fileio.Sum) (a, b uint64) { return r.Random(), r.Followed })
	named("random_writes", conditions.Share, func(_, w *fileio.Sum) (a, b uint64) { return w.Random(), w.Followed })
	named("unaligned_reads", conditions.Share, func(r, _ *fileio.Sum) (a, b uint64) { return r.Unaligned, r.Placed })
	named("unaligned_writes", conditions.Share, func(_, w *fileio.Sum) (a, b uint64) { return w.Unaligned, w.Placed })
	return list
}

// deviceMetrics are the metrics of the devices of the whole program.
func deviceMetrics() (list []metric) {
	for k, name := range results.DeviceMetrics {
		list = append(list, conditions.NewMetric(name, conditions.Share, func(i *judged) numbers.Fraction {
			x := i.devices()
			if x == nil || len(x.List) == 0 || i.Index != 0 {
				return numbers.Fraction{}
			}
			e := x.Efficiencies(i.POP.Runtime)[k]
			return numbers.Divide(e[0], e[1])
		}))
	}
	return list
}
