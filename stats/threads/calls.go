package threads

import "github.com/coppice-hpc/coppice/xtf"

// Calls are the CALL rows of a location, in order; *xtf.Cursor has them.
type Calls interface {
	Next() bool
	Row() []byte
	Err() error
}

// Span is the time [Begin, End) in ticks.
type Span struct {
	Begin, End uint64
	// Locked is what the first thread of the process waits in there for locks and critical sections.
	Locked uint64
}

// Outline passes over the calls of the first thread of a process, which it
// divides without gaps: region gets the parallel regions, serial the time
// between them and MPI calls. The last serial span has no end. Either may be nil.
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
		if parallel && region != nil {
			region(s)
		}
		at = s.End
	}
	if serial != nil {
		serial(Span{Begin: at, End: xtf.Never})
	}
	return calls.Err()
}

// Busy returns how long a thread works in each of the regions, which lie after
// each other. What it waits there for locks counts as work as far as the first thread waits
// for them too: this is time that the process has lost already.
func (r *Roles) Busy(calls Calls, regions []Span) ([]uint64, error) {
	c, err := r.clock(calls, regions)
	for i := range regions {
		c.works[i] += min(c.waits[i], regions[i].Locked)
	}
	return c.works, err
}

// Lock sets what the first thread waits in the regions for locks; calls are its own, not
// asked for where no thread can.
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

// clock passes over the calls of a thread.
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
		c.turn(xtf.U64(row, xtf.CallT), does.state)
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
	alone   bool // it is not that of calls inside
	since   uint64
	regions []Span
	works   []uint64 // by region
	waits   []uint64
	next    int // the first region that does not lie after
}

// unwind ends the innermost calls until depth are open.
func (c *clock) unwind(depth int) {
	for n := len(c.open) - 1; n >= depth; n-- {
		around := role{state: idle}
		if n > 0 {
			around = c.open[n-1].role
		}
		c.turn(c.open[n].end, around.state)
		c.alone = around.alone
		c.open = c.open[:n]
	}
}

// turn says what the thread does from t on.
func (c *clock) turn(t uint64, s state) {
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

// add counts a span in the regions that it meets.
func (c *clock) add(to []uint64, begin, end uint64) {
	for c.next < len(c.regions) && c.regions[c.next].End <= begin {
		c.next++
	}
	for i := c.next; i < len(c.regions) && c.regions[i].Begin < end; i++ {
		x, y := max(begin, c.regions[i].Begin), min(end, c.regions[i].End)
		to[i] += max(y, x) - x
	}
}
