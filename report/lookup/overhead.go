package lookup

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// OverheadAsCPU is the measurement overhead of the whole run that records tell, and not calls: when it was is not known of a span of time, which
// has it as CPU time. NoteOverhead says so.
func OverheadAsCPU(r *results.Run) (numbers.Sum, error) {
	s, err := r.Survey(results.SurveyOptions{})
	if err != nil || s.Measured[0].Sum(xtf.ItemOverhead) <= 0 {
		return 0, err
	}
	p, _, err := results.NewProfile(r, results.Ranks{}, results.SourceAuto)
	if err != nil {
		return 0, err
	}
	left := s.Measured[0].Sum(xtf.ItemOverhead)
	for i := range p.Regions {
		if p.Regions[i].Class == trace.StateOverhead.String() {
			left = numbers.Sub(left, numbers.Integer(p.Regions[i].Exclusive))
		}
	}
	return max(left, 0), nil
}

// NoteOverhead is what text says of that of a span, "" where there is none.
func NoteOverhead(ticks numbers.Sum, u numbers.Units) string {
	if ticks <= 0 {
		return ""
	}
	return fmt.Sprintf("CPU time has measurement overhead as well, flushes and while the measurement was off: of the whole run %s %s, all processes together", u.Big(ticks), u.Name())
}
