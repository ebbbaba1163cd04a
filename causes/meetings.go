package causes

import (
	"io"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// meetings knows in which collective operations a location met others, as far as
// time has passed. Memory: 16 bytes for each communicator of the location.
type meetings struct {
	defs   *trace.Definitions
	rows   xtf.Rows[xtf.Coll]
	causes io.ReaderAt
	met    []meeting // the last one on each communicator, the newest first
}

type meeting struct {
	comm uint32
	at   uint64
}

// meetings begins at the first operation of a location.
func (r *Run) meetings(p trace.P) (*meetings, error) {
	c, causes, err := r.Collectives(p)
	if err != nil {
		return nil, err
	}
	m := &meetings{defs: r.Defs, causes: causes, rows: xtf.RowsOf[xtf.Coll](c)}
	m.rows.Next()
	return m, nil
}

// last returns when the location met another one last in an operation that ended by
// the instant t, 0 for never. Instants do not decrease.
func (m *meetings) last(other trace.P, t uint64) (uint64, error) {
	for ; m.rows.More && m.rows.Row.End <= t; m.rows.Next() {
		c := &m.rows.Row
		if !m.synchronises(c) {
			continue
		}
		var cause xtf.CollCause
		var b [xtf.CollCauseBytes]byte
		if err := readFull(m.causes, b[:], int64(m.rows.Cursor.N())*xtf.CollCauseBytes); err != nil {
			return 0, err
		}
		// One that comes behind all who give data is waited for by nobody.
		if cause.Load(b[:]); cause.LastT == c.LastEnter {
			m.add(meeting{c.Comm, min(c.LastEnter, c.End)})
		}
	}
	process, _ := m.defs.Process(other)
	for _, x := range m.met {
		if _, ok := m.defs.RankIn(x.comm, process); ok {
			return x.at, nil
		}
	}
	return 0, nil
}

// synchronises reports whether the location leaves an operation only when all
// others have entered: it blocks, all have recorded it, and where it moves data the
// location gives and gets some.
func (m *meetings) synchronises(c *xtf.Coll) bool {
	op := c.Flags & xtf.CollOpMask
	if c.Ordinal == xtf.Never || c.Flags&(xtf.CollNonBlocking|xtf.CollShort|xtf.CollMixed) != 0 ||
		m.defs.IsInter(c.Comm) || !m.defs.SetsClock(op, c.Region, true) {
		return false
	}
	return !hasData(c) || trace.CollectiveClass(op)&trace.ClassNxN != 0 && c.Sent > 0 && c.Received > 0
}

// add makes a meeting the newest.
func (m *meetings) add(x meeting) {
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
