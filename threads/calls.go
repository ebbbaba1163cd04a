package threads

import "github.com/coppice-hpc/coppice/xtf"

// Calls are the CALL rows of a location, in order; *xtf.Cursor has them.
type Calls interface {
	Next() bool
	Row() []byte
	Err() error
}

// Span is the time [Begin, End) in ticks.
type Span struct{ Begin, End uint64 }

// Outline passes over the calls of the first thread of a process, which it
// divides without gaps: region gets the parallel regions, serial the time
// between them and MPI calls. The last serial span has no end. Either may be nil.
func (r *Roles) Outline(calls Calls, region, serial func(s Span)) error {
	at := uint64(0)
	for calls.Next() {
		row := calls.Row()
		s := Span{xtf.U64(row, xtf.CallT), xtf.U64(row, xtf.CallEnd)}
		_, parallel := r.of(xtf.U32(row, xtf.CallRegion))
		outermost := xtf.U32(row, xtf.CallFlags)&xtf.FlagOutermostMPI != 0
		if s.Begin < at || !parallel && !outermost {
			continue
		}
		if serial != nil && s.Begin > at {
			serial(Span{at, s.Begin})
		}
		if parallel && region != nil {
			region(s)
		}
		at = s.End
	}
	if serial != nil {
		serial(Span{at, xtf.Never})
	}
	return calls.Err()
}

// Busy returns how long a thread works in each of the regions, which lie behind
// each other.
func (r *Roles) Busy(calls Calls, regions []Span) ([]uint64, error) {
	c := clock{regions: regions, spent: make([]uint64, len(regions))}
	for calls.Next() {
		row := calls.Row()
		c.unwind(int(xtf.U32(row, xtf.CallDepth)))
		s, _ := r.of(xtf.U32(row, xtf.CallRegion))
		works := c.busy
		if s != asAround {
			works = s == busy
		}
		c.turn(xtf.U64(row, xtf.CallT), works)
		c.open = append(c.open, level{xtf.U64(row, xtf.CallEnd), works})
	}
	c.unwind(0)
	return c.spent, calls.Err()
}

// level is an open call.
type level struct {
	end  uint64
	busy bool
}

// clock adds up the time in which a thread works.
type clock struct {
	open    []level
	busy    bool
	since   uint64
	regions []Span
	spent   []uint64 // by region
	next    int      // the first region that does not lie behind
}

// unwind ends the innermost calls until depth are open.
func (c *clock) unwind(depth int) {
	for n := len(c.open) - 1; n >= depth; n-- {
		c.turn(c.open[n].end, n > 0 && c.open[n-1].busy)
		c.open = c.open[:n]
	}
}

// turn says what the thread does from t on.
func (c *clock) turn(t uint64, works bool) {
	if works == c.busy {
		return
	}
	if c.busy {
		c.add(Span{c.since, t})
	}
	c.busy, c.since = works, t
}

// add counts a span of work in the regions that it meets.
func (c *clock) add(s Span) {
	for c.next < len(c.regions) && c.regions[c.next].End <= s.Begin {
		c.next++
	}
	for i := c.next; i < len(c.regions) && c.regions[i].Begin < s.End; i++ {
		x, y := max(s.Begin, c.regions[i].Begin), min(s.End, c.regions[i].End)
		c.spent[i] += max(y, x) - x
	}
}
