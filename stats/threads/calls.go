package threads

import "github.com/coppice-hpc/coppice/xtf"

// Calls are the CALL rows of a location, in order. *xtf.Cursor implements it.
type Calls interface {
	Next() bool
	Row() []byte
	Err() error
}

// Span is the time [Begin, End) in ticks.
type Span struct {
	Begin, End uint64
	// Locked is how long the first thread of the process waits in the span for locks and critical sections, ticks.
	Locked uint64
}

// Outline divides the time of the first thread of a process by its calls: it calls region for each parallel region, and serial for the
// time between these and MPI calls. The last serial span ends at Never. serial may be nil.
func (r *Roles) Outline(calls Calls, region, serial func(s Span)) error {
	at := uint64(0)
	for calls.Next() {
		row := calls.Row()
		s := Span{Begin: xtf.U64(row, xtf.CallT), End: xtf.U64(row, xtf.CallEnd)}
		parallel := r.of(xtf.U32(row, xtf.CallRegion)).parallel
		outermost := xtf.U32(row, xtf.CallFlags)&xtf.FlagOutermostMPI != 0
		if s.Begin < at || !parallel && !outermost {
			continue
		}
		if serial != nil && s.Begin > at {
			serial(Span{Begin: at, End: s.Begin})
		}
		if parallel {
			region(s)
		}
		at = s.End
	}
	if serial != nil {
		serial(Span{Begin: at, End: xtf.Never})
	}
	return calls.Err()
}

// Busy returns how long a thread works in each of the regions, in ticks. Regions must ascend and not overlap. Waits for locks count as work
// up to those of the first thread (package comment).
func (r *Roles) Busy(calls Calls, regions []Span) ([]uint64, error) {
	c, err := r.clock(calls, regions)
	for i := range regions {
		c.works[i] += min(c.waits[i], regions[i].Locked)
	}
	return c.works, err
}

// Lock sets Locked of the regions. calls returns the calls of the first thread; it is not called if no region waits for locks.
func (r *Roles) Lock(calls func() (Calls, error), regions []Span) error {
	if !r.locks {
		return nil
	}
	own, err := calls()
	if err != nil {
		return err
	}
	c, err := r.clock(own, regions)
	for i := range regions {
		regions[i].Locked = c.waits[i]
	}
	return err
}

// clock measures the calls of a thread.
func (r *Roles) clock(calls Calls, regions []Span) (*clock, error) {
	c := &clock{state: idle, regions: regions, works: make([]uint64, len(regions)), waits: make([]uint64, len(regions))}
	for calls.Next() {
		row := calls.Row()
		c.unwind(int(xtf.U32(row, xtf.CallDepth)))
		does := r.of(xtf.U32(row, xtf.CallRegion))
		if does.state == asAround {
			if does.state = c.state; c.alone {
				does.state = busy
			}
		}
		c.enter(xtf.U64(row, xtf.CallT), does.state)
		c.alone = does.alone
		c.open = append(c.open, level{xtf.U64(row, xtf.CallEnd), does})
	}
	c.unwind(0)
	return c, calls.Err()
}

// level is an open call.
type level struct {
	end uint64
	role
}

// clock adds up the time in which a thread works, and in which it waits for locks.
type clock struct {
	open    []level
	state   state
	alone   bool   // see role
	since   uint64 // begin of state, ticks
	regions []Span
	works   []uint64 // by region, ticks
	waits   []uint64 // by region, ticks
	next    int      // the first region that is not over
}

// unwind ends the innermost calls until depth are open.
func (c *clock) unwind(depth int) {
	for n := len(c.open) - 1; n >= depth; n-- {
		around := role{state: idle}
		if n > 0 {
			around = c.open[n-1].role
		}
		c.enter(c.open[n].end, around.state)
		c.alone = around.alone
		c.open = c.open[:n]
	}
}

// enter changes the state from t on.
func (c *clock) enter(t uint64, s state) {
	if s == c.state {
		return
	}
	switch c.state {
	case busy:
		c.add(c.works, c.since, t)
	case locked:
		c.add(c.waits, c.since, t)
	}
	c.state, c.since = s, t
}

// add adds the common part of a span with each region.
func (c *clock) add(to []uint64, begin, end uint64) {
	for c.next < len(c.regions) && c.regions[c.next].End <= begin {
		c.next++
	}
	for i := c.next; i < len(c.regions) && c.regions[i].Begin < end; i++ {
		x, y := max(begin, c.regions[i].Begin), min(end, c.regions[i].End)
		to[i] += max(y, x) - x
	}
}
