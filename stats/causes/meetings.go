package causes

import (
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// meetings finds when a location met others in collective operations. Memory: 16 bytes for each communicator of the location.
type meetings struct {
	defs *trace.Definitions
	rows queue[ended]
	met  []meeting // the last one on each communicator, the newest first
}

// meeting is when the members of a communicator met, in ticks.
type meeting struct {
	comm uint32
	at   uint64
}

// ended is an operation, which is a meeting if met is true.
type ended struct {
	meeting
	end uint64
	met bool
}

// add takes the next operation of the location. It is not a meeting if its last member gives no data: nobody waits for that one.
func (m *meetings) add(c *xtf.Collective) {
	met := m.synchronises(&c.Coll) && c.Cause.LastT == c.LastEnter
	*m.rows.push() = ended{meeting{c.Comm, min(c.LastEnter, c.End)}, c.End, met}
}

// pass takes the operations that end by an instant, after add has all of them. Instants do not decrease.
func (m *meetings) pass(t uint64) {
	for ; m.rows.more() && m.rows.head().end <= t; m.rows.pop() {
		if x := m.rows.head(); x.met {
			m.newest(x.meeting)
		}
	}
}

// last returns when the location met another one last, in an operation that ended by instant t; 0 for never.
func (m *meetings) last(other trace.P, t uint64) uint64 {
	m.pass(t)
	process, _ := m.defs.Process(other)
	for _, x := range m.met {
		if _, ok := m.defs.RankIn(x.comm, process); ok {
			return x.at
		}
	}
	return 0
}

// synchronises reports whether the location leaves an operation only after all others have entered: it blocks, all have recorded it, and
// if it moves data the location gives and gets some.
func (m *meetings) synchronises(c *xtf.Coll) bool {
	op := c.Flags & xtf.CollOpMask
	if c.Ordinal == xtf.Never || c.Flags&(xtf.CollNonBlocking|xtf.CollShort|xtf.CollMixed) != 0 ||
		m.defs.IsInter(c.Comm) || !m.defs.SetsClock(op, c.Region, true) && !(trace.Unnumbered(op) && c.LastEnter <= c.FirstLeave) {
		return false
	}
	return !hasData(c) || trace.CollectiveClass(op)&trace.ClassNxN != 0 && c.Sent > 0 && c.Received > 0
}

func (m *meetings) newest(x meeting) {
	i := 0
	for i < len(m.met) && m.met[i].comm != x.comm {
		i++
	}
	if i == len(m.met) {
		m.met = append(m.met, x)
	}
	copy(m.met[1:i+1], m.met[:i])
	m.met[0] = x
}
