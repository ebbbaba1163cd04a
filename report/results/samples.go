package results

import (
	"fmt"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// Sampling is how much of a table comes from calling contexts.
type Sampling struct{ samples, Estimated uint64 }

// Add adds the rows of p.
func (s *Sampling) Add(samples, estimated uint64) {
	s.samples += samples
	s.Estimated += estimated
}

// Text says what the times of estimated calls are made of.
func (s *Sampling) Text(r *Run) string {
	if s.samples == 0 {
		return "estimated from the calling contexts of recorded calls"
	}
	var timers []string
	for i := range r.Defs.InterruptGenerators {
		g := &r.Defs.InterruptGenerators[i]
		every := "every " + numbers.Count(g.Period)
		if g.Exponent != 0 {
			every += fmt.Sprintf(" x %d^%d", 2+8*int(min(g.Base, 1)), g.Exponent)
		}
		if ticks, ok := r.Defs.PeriodTicks(g); ok {
			every = "every " + numbers.Units{Resolution: r.Defs.Clock().TimerResolution}.Span(ticks)
		}
		timers = append(timers, numbers.Clean(r.Defs.Text(g.Name), 40)+" "+every)
	}
	by := ""
	if len(timers) > 0 {
		by = " (" + strings.Join(timers[:min(len(timers), NamedKinds)], ", ") + ")"
	}
	return fmt.Sprintf("estimated from %s%s", numbers.Plural(int(min(s.samples, math.MaxInt64)), "sample"), by)
}

// Note says what estimates are made of, where there are some.
func (s *Sampling) Note(c *table.Chapter, r *Run) {
	if s.Estimated > 0 {
		c.Say("times of calls without a number: %s", s.Text(r))
	}
}

// Columns are those that cells fills.
func (s *Sampling) Columns() []table.Column {
	return []table.Column{table.Ints("samples", "samples"), table.Reals("error", "error")}
}

// Cells are the samples of a region or path, and the error of its exclusive time where calls are estimated: one standard
// deviation of a count of n samples is the square root of n.
func (s *Sampling) Cells(samples, estimated uint64) []table.Cell {
	switch {
	case samples == 0:
		return nil
	case estimated == 0:
		return []table.Cell{table.Number(samples)}
	}
	return []table.Cell{table.Number(samples), table.Share(numbers.Ratio{Value: 1 / math.Sqrt(float64(samples)), Defined: true})}
}

// NamedKinds is how many kinds a line names, untoldLines how many lines the summary has.
const (
	UntoldLines = 6
	NamedKinds  = 3
)
