package results

import (
	"github.com/coppice-hpc/coppice/report/numbers"
)

// Sample is what a run contributes to a comparison of runs.
type Sample struct {
	Run        *Run
	Survey     *Survey
	Resolution uint64 // ticks a unit of the comparison: a second, or a tick
	Processes  uint64
	Regions    map[string]*RegionTotal
}

// RegionTotal adds up regions of one name.
type RegionTotal struct {
	Kind               string
	Calls, Time, Bytes uint64
}

// NewSample reads one run.
func NewSample(r *Run, section string, rules Rules) (*Sample, error) {
	s, err := r.Survey(SurveyOptions{Section: section, Deep: true, Rules: rules})
	if err != nil {
		return nil, err
	}
	x := &Sample{Run: r, Survey: s, Regions: map[string]*RegionTotal{}, Resolution: max(r.Defs.Clock().TimerResolution, 1), Processes: s.Measured[0].Participants}
	t, err := WholeTable(r)
	if err != nil {
		return nil, err
	}
	for _, l := range t.lines() {
		y := x.Regions[l.Name]
		if y == nil {
			y = &RegionTotal{Kind: l.Class}
			x.Regions[l.Name] = y
		}
		y.Calls, y.Time, y.Bytes = y.Calls+l.Calls, y.Time+l.Exclusive, y.Bytes+l.Bytes
	}
	return x, nil
}

// Time turns ticks into the unit of the comparison.
func (x *Sample) Time(ticks numbers.Sum) numbers.Fraction {
	return numbers.Whole(ticks).Div(x.Resolution)
}
