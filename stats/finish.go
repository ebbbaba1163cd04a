package stats

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// FinishOutputs is where Finisher writes the rows of a location; nil Tiles and TimeBins for no rows. The caller finishes the arrays.
type FinishOutputs struct {
	Tiles, TimeBins, Diagnostics *xtf.ArrayBuilder
}

// Finished is the diagnostics of a finished location.
type Finished struct {
	Diagnostics trace.Diagnostics
	Details     []byte // texts of the diagnostics: DIAG.detail is 1 + an offset in it
}

// Finisher writes the TILE, TIMEBIN and DIAG rows of locations, one after another.
type Finisher struct {
	t      *Tables
	levels Levels
	tiles  tileWriter
	place  []int32 // for coarsened
}

// NewFinisher prepares the finish of the locations of one rank.
func NewFinisher(t *Tables, levels Levels) *Finisher {
	return &Finisher{t: t, levels: levels, place: make([]int32, len(t.class))}
}

// Finish writes the rows of a location. diags are all its diagnostics. It makes the location's bins at least as coarse as Levels.Finest.
func (f *Finisher) Finish(l *Loaded, diags *trace.Diagnostics, out FinishOutputs) *Finished {
	levels := f.levels
	if out.Tiles != nil {
		f.tiles = tileWriter{t: f.t, locations: 1, out: out.Tiles, buf: f.tiles.buf, place: f.place}
		f.tiles.write(&l.Bins, l.Long, levels.Tile, levels.Top)
	}
	for level := l.Bins.Level; level < levels.Finest; level++ {
		l.Long = widened(l.Long)
	}
	l.Bins.raise(levels.Finest, f.place)
	if out.TimeBins != nil {
		writePyramid(f.t, &l.Bins, l.Profile, levels.Top, f.place, out.TimeBins)
	}
	rows, details := diagRows(diags, l.Totals.Last)
	for i := range rows {
		row, _ := out.Diagnostics.Append()
		rows[i].Put(row)
	}
	return &Finished{Diagnostics: *diags, Details: details}
}

// diagRows returns the DIAG rows, and their texts: the first ones of each code by time, then for each code a total at the location's last
// event, with event Never.
func diagRows(ds *trace.Diagnostics, last uint64) ([]xtf.Diag, []byte) {
	var rows []xtf.Diag
	var details []byte
	for i := range ds.Codes {
		c := &ds.Codes[i]
		for _, d := range c.First {
			r := xtf.Diag{T: min(uint64(d.Time), last), Event: d.Event, Count: d.Count, Worst: d.Worst, Code: uint32(d.Code), Severity: uint32(d.Code.Severity())}
			if d.Detail != "" {
				r.Detail = uint32(len(details)) + 1
				details = binary.AppendUvarint(details, uint64(len(d.Detail)))
				details = append(details, d.Detail...)
			}
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b xtf.Diag) int { return cmp.Compare(a.T, b.T) })
	for i := range ds.Codes {
		c := &ds.Codes[i]
		rows = append(rows, xtf.Diag{T: last, Event: xtf.Never, Count: c.Count, Worst: c.Worst, Code: uint32(c.Code), Severity: uint32(c.Code.Severity()), Detail: xtf.DiagTotal})
	}
	return rows, details
}
