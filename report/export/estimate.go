package export

import (
	"errors"
	"io"
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// What a location's part of a timeline is made of.
const (
	kindCalls = iota
	kindIntervals
	kindCounters
	numKinds
)

var kindTypes = [numKinds]xtf.TypeID{xtf.TypeCall, xtf.TypeIval, xtf.TypeMetric}

// Sizes of a sample: how many locations, and rows of each of their arrays.
const (
	sampleLocations = 8
	sampleRows      = 2048
)

// sample bounds what of a timeline is drawn, to learn how large its parts are.
type sample struct {
	locations map[trace.P]bool
	rows      uint64           // of an array of a location at most
	taken     [numKinds]uint64 // rows
	bytes     [numKinds]int64
}

// errSampled ends an array of a sample.
var errSampled = errors.New("enough of the array")

// Estimate is about how large a timeline gets.
type Estimate struct {
	Bytes  int64  `json:"bytes"`
	Slices uint64 `json:"slices"`
}

// Estimate tells how large the timeline of the source gets in a form. The rows are counted, with two descents for each
// array; the bytes of a row are those of a sample of at most 8 locations and 2 048 rows of each of their arrays.
func (s *Source) Estimate(form string) (*Estimate, error) {
	t := &timeline{s: s}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	var rows [numKinds]uint64
	var chosen []trace.P
	for p, w := range t.windows {
		if w.begin >= w.end {
			continue
		}
		chosen = append(chosen, trace.P(p))
		for k, typ := range kindTypes {
			a, err := s.array(trace.P(p), typ)
			if err != nil {
				return nil, err
			}
			first, last, err := s.between(a, w.begin, w.end)
			if err != nil {
				return nil, s.at(trace.P(p), err)
			}
			rows[k] += last - first
		}
	}
	t.part = &sample{locations: map[trace.P]bool{}, rows: sampleRows}
	n := min(len(chosen), sampleLocations)
	for i := range n {
		t.part.locations[chosen[i*len(chosen)/n]] = true
	}
	if err := t.write(io.Discard, form, math.MaxInt64); err != nil {
		return nil, err
	}
	e := &Estimate{Slices: rows[kindCalls] + rows[kindIntervals], Bytes: t.drawn.Bytes}
	for k := range rows {
		e.Bytes = addBytes(e.Bytes-t.part.bytes[k], scaled(t.part.bytes[k], rows[k], t.part.taken[k]))
	}
	return e, nil
}

// scaled is bytes * rows / taken.
func scaled(bytes int64, rows, taken uint64) int64 {
	if taken == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(bytes), rows)
	if hi >= taken {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, taken)
	return int64(min(q, math.MaxInt64))
}

func addBytes(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
