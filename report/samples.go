package report

import (
	"fmt"
	"math"
	"strings"
)

// sampling is how much of a table comes from calling contexts.
type sampling struct{ samples, estimated uint64 }

func (s *sampling) add(samples, estimated uint64) {
	s.samples += samples
	s.estimated += estimated
}

// text says what the times of estimated calls are made of.
func (s *sampling) text(r *Run) string {
	if s.samples == 0 {
		return "estimated from the calling contexts of recorded calls"
	}
	var timers []string
	for i := range r.Defs.InterruptGenerators {
		g := &r.Defs.InterruptGenerators[i]
		every := "every " + count(g.Period)
		if g.Exponent != 0 {
			every += fmt.Sprintf(" x %d^%d", 2+8*int(min(g.Base, 1)), g.Exponent)
		}
		if ticks, ok := r.Defs.PeriodTicks(g); ok {
			every = "every " + unit{resolution: r.Defs.Clock().TimerResolution}.span(ticks)
		}
		timers = append(timers, clean(r.Defs.Text(g.Name), 40)+" "+every)
	}
	by := ""
	if len(timers) > 0 {
		by = " (" + strings.Join(timers[:min(len(timers), namedKinds)], ", ") + ")"
	}
	return fmt.Sprintf("estimated from %s%s", plural(int(min(s.samples, math.MaxInt64)), "sample"), by)
}

// note says what estimates are made of, where there are some.
func (s *sampling) note(c *chapter, r *Run) {
	if s.estimated > 0 {
		c.say("times of calls without a number: %s", s.text(r))
	}
}

// columns are those that cells fills.
func (s *sampling) columns() []Column {
	return []Column{ints("samples", "samples"), reals("error", "error")}
}

// cells are the samples of a region or path, and the error of its exclusive time where calls are estimated: one standard
// deviation of a count of n samples is the square root of n.
func (s *sampling) cells(samples, estimated uint64) []Cell {
	switch {
	case samples == 0:
		return nil
	case estimated == 0:
		return []Cell{number(samples)}
	}
	return []Cell{number(samples), share(Ratio{1 / math.Sqrt(float64(samples)), true})}
}
