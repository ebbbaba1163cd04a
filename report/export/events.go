package export

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// eventTable is a table of events: one array of every location.
type eventTable struct {
	name    string
	typ     xtf.TypeID
	ended   bool // rows have an end
	columns []Column
	// bind makes the function that appends the cells of a row after the common ones; it enters the dictionaries of the
	// columns of text.
	bind func(s *Source, c []Column) func(dst []Cell, row []byte) []Cell
}

// Tables are the names of the tables of events.
func Tables() []string {
	var names []string
	for i := range eventTables {
		names = append(names, eventTables[i].name)
	}
	return names
}

func tableOf(name string) (*eventTable, error) {
	i := slices.IndexFunc(eventTables, func(t eventTable) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("table %q: %w: choose from %v", name, ErrRun, Tables())
	}
	return &eventTables[i], nil
}

// leading are the columns that every table begins with: the process, the thread in it, the number of the row in its array.
var leading = []Column{{Name: "rank", Type: Uint32}, {Name: "thread", Type: Uint32}, {Name: "n", Type: Uint64}}

var spanColumns = []Column{
	{Name: "begin", Type: Uint64},
	{Name: "end", Type: Uint64, Nullable: true},
	{Name: "begin_ns", Type: Int64, Nullable: true},
	{Name: "end_ns", Type: Int64, Nullable: true},
}

var pointColumns = []Column{{Name: "time", Type: Uint64}, {Name: "time_ns", Type: Int64, Nullable: true}}

// schema returns the columns of a table, and the function that makes its cells.
func (t *eventTable) schema(s *Source) (*Schema, func(dst []Cell, row []byte) []Cell) {
	own := slices.Clone(t.columns)
	cells := t.bind(s, own)
	x := &Schema{Columns: slices.Clone(leading)}
	if t.ended {
		x.Columns = append(x.Columns, spanColumns...)
	} else {
		x.Columns = append(x.Columns, pointColumns...)
	}
	x.Columns = append(x.Columns, own...)
	c := s.clock()
	id := s.File.FileID()
	x.Meta = []Meta{
		{"coppice.table", t.name},
		{"coppice.file", fmt.Sprintf("%x", id[:])},
		{"coppice.ticks_per_second", strconv.FormatUint(c.resolution, 10)},
	}
	return x, cells
}

// Events writes a table of events and returns the number of its rows: what overlaps the window, whole, and not cut at its
// borders. open is called once.
func (s *Source) Events(name string, open func(*Schema) (TableWriter, error)) (rows uint64, err error) {
	t, err := tableOf(name)
	if err != nil {
		return 0, err
	}
	schema, cells := t.schema(s)
	w, err := open(schema)
	if err != nil {
		return 0, err
	}
	b := NewBatch(schema)
	line := make([]Cell, 0, len(schema.Columns))
	clock := s.clock()
	for p := range trace.P(s.Defs.NumLocations()) {
		if !s.selected(p) {
			continue
		}
		process, thread := s.Defs.Process(p)
		begin, end, ok, err := s.window(p)
		if err != nil {
			return rows, err
		}
		if !ok {
			continue
		}
		err = s.overlapping(p, t.typ, begin, end, func(n uint64, row []byte) error {
			line = append(line[:0], Number(uint64(process)), Number(uint64(thread)), Number(n))
			line = t.times(line, row, clock)
			b.Append(cells(line, row)...)
			rows++
			if !b.Full() {
				return nil
			}
			err := w.Write(b)
			b.Reset()
			return err
		})
		if err != nil {
			return rows, err
		}
	}
	if err := w.Write(b); err != nil {
		return rows, err
	}
	return rows, w.Close()
}

// Rows counts the rows that Events writes; it stops after most. It costs two descents a location, and the rows that are
// open when the window begins.
func (s *Source) Rows(name string, most uint64) (rows uint64, err error) {
	t, err := tableOf(name)
	if err != nil {
		return 0, err
	}
	for p := range trace.P(s.Defs.NumLocations()) {
		if rows > most {
			break
		}
		if !s.selected(p) {
			continue
		}
		begin, end, ok, err := s.window(p)
		if err != nil {
			return rows, err
		}
		if !ok {
			continue
		}
		a, err := s.array(p, t.typ)
		if err != nil {
			return rows, err
		}
		first, last, err := s.between(a, begin, end)
		if err != nil {
			return rows, s.at(p, err)
		}
		rows += last - first
		err = a.Overlapping(begin, begin, func(uint64, []byte) bool {
			rows++
			return rows <= most
		})
		if err != nil {
			return rows, s.at(p, err)
		}
	}
	return rows, nil
}

// times appends the times of a row.
func (t *eventTable) times(dst []Cell, row []byte, c clock) []Cell {
	begin := xtf.U64(row, 0)
	if !t.ended {
		return append(dst, Number(begin), c.cell(begin))
	}
	end := xtf.U64(row, 8) // End has the same place in all rows
	return append(dst, Number(begin), known(end), c.cell(begin), c.cell(end))
}

// cell is a time in ns.
func (c clock) cell(t uint64) Cell {
	if v, ok := c.ns(t); ok && t != xtf.Never {
		return Number(v)
	}
	return Absent
}

// known is a number that is absent where all its bits are ones.
func known(v uint64) Cell {
	if v == xtf.Never {
		return Absent
	}
	return Number(v)
}

// known32 is the same for numbers of 32 bits.
func known32(v uint32) Cell {
	if v == trace.Undefined {
		return Absent
	}
	return Number(uint64(v))
}

// rankOf is the process of a location that a row names.
func (s *Source) rankOf(p uint32) Cell {
	if uint64(p) >= uint64(s.Defs.NumLocations()) {
		return Absent
	}
	process, _ := s.Defs.Process(trace.P(p))
	return Number(uint64(process))
}

// threadOf is the thread of a location that a row names.
func (s *Source) threadOf(p uint32) Cell {
	if uint64(p) >= uint64(s.Defs.NumLocations()) {
		return Absent
	}
	_, thread := s.Defs.Process(trace.P(p))
	return Number(uint64(thread))
}
