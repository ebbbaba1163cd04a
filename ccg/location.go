package ccg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Location is the graph of one location, opened from its blob. It is read-only.
type Location struct {
	shared *graph.Shared
	p      trace.P
	root   uint32 // shared id
	first  trace.Time
	view   *graph.View
	cols   []column.Column
	size   int
	errors graph.ErrorStats
}

// OpenLocation opens the blob of a location and validates it against the structure. Values are read on demand.
func OpenLocation(s *graph.Shared, blob []byte) (_ *Location, err error) {
	defer graph.Wrap(&err, "call graph: blob of a location")
	if len(blob) < 4 || crc32.Checksum(blob[:len(blob)-4], graph.Castagnoli) != binary.LittleEndian.Uint32(blob[len(blob)-4:]) {
		return nil, fmt.Errorf("check sum: %w", graph.ErrCorrupt)
	}
	r := graph.Read(blob[:len(blob)-4])
	lossy, err := r.Magic(graph.LocalMagic)
	if err != nil {
		return nil, err
	}
	if lossy == s.Opt.Deviation.Lossless() {
		return nil, fmt.Errorf("lossy %t, the shared section is not so: %w", lossy, graph.ErrCorrupt)
	}
	l := &Location{shared: s, p: trace.P(r.Uint32()), root: r.Uint32(), first: trace.Time(r.Next()), size: len(blob)}
	events, columns := r.Next(), r.Next()
	row := uint64(0) // 1 + the root's row
	if lossy {
		row = r.Next()
		l.errors = r.ErrorStats(events)
	}
	if r.Failed() || l.root == 0 || int64(l.root) > int64(s.Nodes()) || s.Graph.Nodes.Kind(l.root) != graph.KindRoot {
		return nil, fmt.Errorf("location %d: root %d: %w", l.p, l.root, graph.ErrCorrupt)
	}
	if l.view, err = s.Cut(l.root, len(blob)); err != nil {
		return nil, fmt.Errorf("location %d: %w", l.p, err)
	}
	if l.view.Events != events || uint64(len(l.view.Cols)) != columns {
		return nil, fmt.Errorf("location %d: %d events and %d columns, the structure has %d and %d: %w",
			l.p, events, columns, l.view.Events, len(l.view.Cols), graph.ErrCorrupt)
	}
	if err := l.view.SetRoot(row); err != nil {
		return nil, fmt.Errorf("location %d: %w", l.p, err)
	}
	if err := l.columns(&r); err != nil {
		return nil, fmt.Errorf("location %d: %w", l.p, err)
	}
	return l, nil
}

// columns opens the columns, whose lengths come first.
func (l *Location) columns(r *graph.Reader) error {
	n := len(l.view.Cols)
	if n > r.Len() {
		return fmt.Errorf("%d columns in %d bytes: %w", n, r.Len(), graph.ErrCorrupt)
	}
	sizes := make([]uint64, n)
	for i := range sizes {
		sizes[i] = r.Next()
	}
	l.cols = make([]column.Column, n)
	for i, size := range sizes {
		c, err := column.ParseBare(r.Bytes(size), l.view.Cols[i].Count)
		switch {
		case r.Failed():
			return fmt.Errorf("column %d cut: %w", i, graph.ErrCorrupt)
		case err != nil:
			return fmt.Errorf("column %d: %w: %w", i, graph.ErrCorrupt, err)
		}
		l.cols[i] = c
	}
	if r.Len() != 0 {
		return fmt.Errorf("%d bytes after the columns: %w", r.Len(), graph.ErrCorrupt)
	}
	return nil
}

// cursors returns a cursor at the start of each column.
func (l *Location) cursors() []column.Cursor {
	cursors := make([]column.Cursor, len(l.cols))
	for i := range cursors {
		cursors[i].Init(&l.cols[i])
	}
	return cursors
}

func (l *Location) sum(c int) (graph.Total, error) {
	hi, lo, err := l.cols[c].Sum()
	if err != nil {
		return graph.Total{}, l.columnError(c, err)
	}
	return graph.Total{Hi: hi, Lo: lo}, nil
}

// blocks calls f for each block of values of a column.
func (l *Location) blocks(c int, f func([]uint64) error) error {
	var buf [column.BlockSize]uint64
	for b := range l.cols[c].Blocks() {
		n, err := l.cols[c].Decode(b, buf[:])
		if err != nil {
			return l.columnError(c, err)
		}
		if err := f(buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Location) columnError(column int, err error) error {
	return fmt.Errorf("call graph: location %d, column %d: %w: %w", l.p, column, graph.ErrCorrupt, err)
}

// P returns the location.
func (l *Location) P() trace.P { return l.p }

// Events returns the number of events.
func (l *Location) Events() uint64 { return l.view.Events }

// First returns the time of the first event, 0 if there is none.
func (l *Location) First() trace.Time { return l.first }

// Deviation returns the bounds of the location's gaps.
func (l *Location) Deviation() graph.Deviation { return l.shared.Opt.Deviation }

// ErrorStats returns the errors of the stored times; zero if the graph is lossless.
func (l *Location) ErrorStats() graph.ErrorStats { return l.errors }

// Root returns the id of the location's root. Locations with equal roots have the same structure.
func (l *Location) Root() uint32 { return l.root }

// rowCounts returns the number of instances of each row in the location, by node and row; nil for nodes in column mode. It reads the class
// columns, then all tables once, parents first: O(class column values + rows x children), 8 bytes for each row.
func (l *Location) rowCounts() ([][]uint64, error) {
	v := l.view
	counts := make([][]uint64, len(v.Tables))
	for id, t := range v.Tables {
		if t != nil {
			counts[id] = make([]uint64, t.Rows)
		}
	}
	if v.RootRow >= 0 {
		counts[v.Root][v.RootRow] = 1
	}
	for i, c := range v.Cols {
		if c.Child == 0 {
			continue
		}
		to := counts[c.Child]
		err := l.blocks(i, func(rows []uint64) error {
			for _, row := range rows {
				if row >= uint64(len(to)) {
					return fmt.Errorf("call graph: location %d, column %d: class %d of node %d: %w", l.p, i, row, v.Ids[c.Child], graph.ErrCorrupt)
				}
				to[row]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for id := v.Root; id > 0; id-- {
		if t := v.Tables[id]; t != nil {
			v.Spread(id, t, counts)
		}
	}
	return counts, nil
}

// ErrRange says that an event, call or interval does not exist.
var ErrRange = errors.New("outside the location")

// damaged returns an error about the location's columns.
func (l *Location) damaged(what string) error {
	return fmt.Errorf("call graph: location %d: %s: %w", l.p, what, graph.ErrCorrupt)
}
