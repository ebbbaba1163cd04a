package export

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// eventTable is a table of events: one array of every location.
type eventTable struct {
	name    string
	typ     xtf.TypeID
	ended   bool // rows have an end
	columns []Column
	// bind returns a function that appends the cells of a row after the common ones. It fills the dictionaries of text columns.
	bind func(s *Source, c []Column) func(dst []Cell, row []byte) []Cell
}

// Tables returns the names of the tables of events.
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

func u64(name string) Column  { return Column{Name: name, Type: Uint64} }
func i64(name string) Column  { return Column{Name: name, Type: Int64} }
func u32(name string) Column  { return Column{Name: name, Type: Uint32} }
func text(name string) Column { return Column{Name: name, Type: Text} }

// maybe makes a column nullable.
func maybe(c Column) Column {
	c.Nullable = true
	return c
}

// leading are the columns that every table begins with: the process, the thread in it, the number of the row in its array.
var leading = []Column{u32("rank"), u32("thread"), u64("n")}

var (
	spanColumns  = []Column{u64("begin"), maybe(u64("end")), maybe(i64("begin_ns")), maybe(i64("end_ns"))}
	pointColumns = []Column{u64("time"), maybe(i64("time_ns"))}
)

// schema returns the columns of a table, and a function that makes the cells of a row.
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

// Events writes a table of events and returns the number of its rows: all that overlap the window, uncut. It calls open once.
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
	err = s.eachWindow(func(p trace.P, begin, end uint64) error {
		process, thread := s.Defs.Process(p)
		return s.overlapping(p, t.typ, begin, end, func(n uint64, row []byte) error {
			begin := xtf.U64(row, 0)
			line = append(line[:0], Number(uint64(process)), Number(uint64(thread)), Number(n), Number(begin))
			if t.ended {
				end := xtf.U64(row, 8) // End has the same place in all rows
				line = append(line, known(end), clock.cell(begin), clock.cell(end))
			} else {
				line = append(line, clock.cell(begin))
			}
			b.Append(cells(line, row)...)
			rows++
			if !b.Full() {
				return nil
			}
			err := w.Write(b)
			b.Reset()
			return err
		})
	})
	if err == nil {
		err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	return rows, err
}

// Rows counts the rows that Events writes; it stops above most. It costs two descents a location, and the rows that are open when
// the window begins.
func (s *Source) Rows(name string, most uint64) (rows uint64, err error) {
	t, err := tableOf(name)
	if err != nil {
		return 0, err
	}
	err = s.eachWindow(func(p trace.P, begin, end uint64) error {
		if rows > most {
			return nil
		}
		a, err := s.array(p, t.typ)
		if err != nil {
			return err
		}
		first, last, err := s.between(a, begin, end)
		rows += last - first
		if err == nil {
			err = a.Overlapping(begin, begin, func(uint64, []byte) bool {
				rows++
				return rows <= most
			})
		}
		if err != nil {
			return s.at(p, err)
		}
		return nil
	})
	return rows, err
}

// cell is a time as ns.
func (c clock) cell(t uint64) Cell {
	if v, ok := c.ns(t); ok && t != xtf.Never {
		return Number(v)
	}
	return Absent
}

// known is a number; absent if all its bits are ones.
func known(v uint64) Cell {
	if v == xtf.Never {
		return Absent
	}
	return Number(v)
}

// known32 is a number of 32 bits; absent if all its bits are ones.
func known32(v uint32) Cell {
	if v == trace.Undefined {
		return Absent
	}
	return Number(uint64(v))
}

// placeOf returns the process and the thread of a location in a row.
func (s *Source) placeOf(p uint32) (rank, thread Cell) {
	if uint64(p) >= uint64(s.Defs.NumLocations()) {
		return Absent, Absent
	}
	r, t := s.Defs.Process(trace.P(p))
	return Number(uint64(r)), Number(uint64(t))
}

// eventTables are the tables of events, by the arrays of a file. Their columns are described in docs/export.md.
var eventTables = []eventTable{
	{"calls", xtf.TypeCall, true, []Column{
		u64("exclusive"), maybe(u64("parent")), u32("depth"), text("class"), maybe(text("region")), maybe(u32("region_ref")),
		u32("flags"),
	}, bindCalls},
	{"messages", xtf.TypeP2P, true, []Column{
		text("direction"), maybe(u32("peer")), u64("bytes"), u32("tag"), text("comm"), maybe(u64("call")), maybe(text("region")),
		u64("post"), maybe(u64("done")), maybe(u32("partner_rank")), maybe(u32("partner_thread")), maybe(u64("partner_n")),
		maybe(u64("partner_begin")), u32("flags"),
	}, bindMessages},
	{"collectives", xtf.TypeColl, true, []Column{
		text("operation"), text("comm"), maybe(u64("instance")), maybe(u32("root")), u64("sent"), u64("received"),
		maybe(u64("call")), maybe(text("region")), u64("post"), maybe(u64("last_enter")), maybe(u64("first_leave")),
		maybe(u64("last_leave")), u32("flags"),
	}, bindCollectives},
	{"waits", xtf.TypeWait, true, []Column{
		text("pattern"), maybe(u64("record")), maybe(u32("cause_rank")), maybe(u32("cause_thread")), maybe(u32("interval")),
		maybe(u32("path")),
	}, bindWaits},
	{"intervals", xtf.TypeIval, true, []Column{
		u32("node"), maybe(text("name")), u64("execution"), u32("flags"),
	}, bindIntervals},
	{"metrics", xtf.TypeMetric, false, []Column{
		maybe(text("metric")), maybe(text("unit")), {Name: "value", Type: Float64}, u64("bits"), text("type"),
	}, bindMetrics},
	{"io", xtf.TypeIO, true, []Column{
		text("operation"), maybe(text("handle")), maybe(u64("asked")), maybe(u64("done")), maybe(u64("call")),
	}, bindIO},
	{"rma", xtf.TypeRMA, true, []Column{
		text("operation"), u32("window"), u32("target"), u64("bytes"), maybe(u64("call")),
	}, bindRMA},
}

// each makes the cells of a row as a value.
func each[T any, R xtf.Form[T]](cells func(dst []Cell, x *T) []Cell) func(dst []Cell, row []byte) []Cell {
	return func(dst []Cell, row []byte) []Cell {
		var x T
		R(&x).Load(row)
		return cells(dst, &x)
	}
}

func bindCalls(s *Source, c []Column) func([]Cell, []byte) []Cell {
	regions := s.regionNames()
	c[4].Dict = regions.dict.Texts()
	var names Dictionary
	var cells [trace.NumStates]Cell
	for state, name := range stateNames() {
		cells[state] = names.Cell(name)
	}
	c[3].Dict = names.Texts()
	states := s.states()
	return each(func(dst []Cell, x *xtf.Call) []Cell {
		return append(dst, Number(x.Exclusive), known(x.Parent), Number(uint64(x.Depth)), cells[states.of(x)], regions.cell(x.Region), known32(x.Region),
			Number(uint64(x.Flags)))
	})
}

func bindMessages(s *Source, c []Column) func([]Cell, []byte) []Cell {
	regions, comms := s.regionNames(), s.comms()
	c[0].Dict, c[4].Dict, c[6].Dict = []string{"send", "receive", "other"}, comms.dict.Texts(), regions.dict.Texts()
	return each(func(dst []Cell, x *xtf.P2P) []Cell {
		rank, thread := Absent, Absent
		if x.MateN != xtf.Never {
			rank, thread = s.placeOf(x.MateP)
		}
		return append(dst, Number(uint64(min(x.Kind&xtf.P2PKindMask, 2))), known32(x.Peer), Number(x.Bytes), Number(uint64(x.Tag)), comms.cell(x.Comm),
			known(x.CallN), regions.cell(x.Region), Number(x.Post), known(x.Done), rank, thread, known(x.MateN), known(x.MateT), Number(uint64(x.Kind>>8)))
	})
}

func bindCollectives(s *Source, c []Column) func([]Cell, []byte) []Cell {
	regions, comms := s.regionNames(), s.comms()
	for op := range uint64(256) {
		c[0].Dict = append(c[0].Dict, strings.ToLower(trace.CollectiveName(op)))
	}
	c[1].Dict, c[7].Dict = comms.dict.Texts(), regions.dict.Texts()
	return each(func(dst []Cell, x *xtf.Coll) []Cell {
		return append(dst, Number(uint64(x.Flags&xtf.CollOpMask)), comms.cell(x.Comm), known(x.Ordinal), known32(x.Root), Number(x.Sent), Number(x.Received),
			known(x.CallN), regions.cell(x.Region), Number(x.Post), known(x.LastEnter), known(x.FirstLeave), known(x.LastLeave), Number(uint64(x.Flags>>8)))
	})
}

func bindWaits(s *Source, c []Column) func([]Cell, []byte) []Cell {
	for k := range xtf.WaitPatternMask + 1 {
		c[0].Dict = append(c[0].Dict, results.PatternName(k))
	}
	return each(func(dst []Cell, x *xtf.Wait) []Cell {
		rank, thread := s.placeOf(x.CauseP)
		return append(dst, Number(uint64(x.Pattern&xtf.WaitPatternMask)), known(x.RecN), rank, thread, known32(x.Node), known32(x.Path))
	})
}

func bindIntervals(s *Source, c []Column) func([]Cell, []byte) []Cell {
	var dict Dictionary
	cells := make([]Cell, len(s.Nodes))
	for i, n := range s.Nodes {
		cells[i] = dict.Cell(n)
	}
	c[1].Dict = dict.Texts()
	return each(func(dst []Cell, x *xtf.Ival) []Cell {
		name := Absent
		if uint64(x.Node) < uint64(len(cells)) {
			name = cells[x.Node]
		}
		return append(dst, Number(uint64(x.Node)), name, Number(x.Execution), Number(uint64(x.Flags)))
	})
}

func bindMetrics(s *Source, c []Column) func([]Cell, []byte) []Cell {
	of := counters.NewMembers(s.Defs)
	var names, units Dictionary
	name, unit := make([]Cell, len(s.Defs.MetricMembers)), make([]Cell, len(s.Defs.MetricMembers))
	for i := range name {
		name[i], unit[i] = names.Cell(of.Name(i)), units.Cell(of.Unit(i))
	}
	c[0].Dict, c[1].Dict, c[4].Dict = names.Texts(), units.Texts(), counters.Types
	return each(func(dst []Cell, x *xtf.Metric) []Cell {
		n, u := Absent, Absent
		if i, ok := of.Of(x); ok {
			n, u = name[i], unit[i]
		}
		value, kind := counters.Value(x)
		return append(dst, n, u, Real(value), Number(x.Value), Number(uint64(kind)))
	})
}

func bindIO(s *Source, c []Column) func([]Cell, []byte) []Cell {
	handles := named{by: map[uint32]Cell{}, none: Absent}
	for i := range s.Defs.IoHandles {
		h := &s.Defs.IoHandles[i]
		name := cmp.Or(s.Defs.Text(h.Name), fmt.Sprintf("handle %d", h.Ref))
		handles.by[h.Ref] = handles.dict.Cell(name)
	}
	c[0].Dict, c[1].Dict = []string{"read", "write", "other"}, handles.dict.Texts()
	return each(func(dst []Cell, x *xtf.IO) []Cell {
		return append(dst, Number(uint64(min(x.Op&xtf.IOOpMask, 2))), handles.cell(x.Handle), known(x.Asked), known(x.Done), known(x.CallN))
	})
}

func bindRMA(_ *Source, c []Column) func([]Cell, []byte) []Cell {
	c[0].Dict = []string{"put", "get", "atomic", "other"}
	return each(func(dst []Cell, x *xtf.RMA) []Cell {
		op := uint64(3)
		switch trace.Kind(x.Op) {
		case trace.RmaPut:
			op = 0
		case trace.RmaGet:
			op = 1
		case trace.RmaAtomic:
			op = 2
		}
		return append(dst, Number(op), Number(uint64(x.Window)), Number(uint64(x.Target)), Number(x.Bytes), known(x.CallN))
	})
}
