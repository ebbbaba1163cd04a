package export

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// eventTables are the tables of events, by the arrays of a file. Their columns are described in docs/export.md.
var eventTables = []eventTable{
	{"calls", xtf.TypeCall, true, []Column{
		{Name: "exclusive", Type: Uint64},
		{Name: "parent", Type: Uint64, Nullable: true},
		{Name: "depth", Type: Uint32},
		{Name: "class", Type: Text},
		{Name: "region", Type: Text, Nullable: true},
		{Name: "region_ref", Type: Uint32, Nullable: true},
		{Name: "flags", Type: Uint32},
	}, bindCalls},
	{"messages", xtf.TypeP2P, true, []Column{
		{Name: "direction", Type: Text},
		{Name: "peer", Type: Uint32, Nullable: true},
		{Name: "bytes", Type: Uint64},
		{Name: "tag", Type: Uint32},
		{Name: "comm", Type: Text},
		{Name: "call", Type: Uint64, Nullable: true},
		{Name: "region", Type: Text, Nullable: true},
		{Name: "post", Type: Uint64},
		{Name: "done", Type: Uint64, Nullable: true},
		{Name: "partner_rank", Type: Uint32, Nullable: true},
		{Name: "partner_thread", Type: Uint32, Nullable: true},
		{Name: "partner_n", Type: Uint64, Nullable: true},
		{Name: "partner_begin", Type: Uint64, Nullable: true},
		{Name: "flags", Type: Uint32},
	}, bindMessages},
	{"collectives", xtf.TypeColl, true, []Column{
		{Name: "operation", Type: Text},
		{Name: "comm", Type: Text},
		{Name: "instance", Type: Uint64, Nullable: true},
		{Name: "root", Type: Uint32, Nullable: true},
		{Name: "sent", Type: Uint64},
		{Name: "received", Type: Uint64},
		{Name: "call", Type: Uint64, Nullable: true},
		{Name: "region", Type: Text, Nullable: true},
		{Name: "post", Type: Uint64},
		{Name: "last_enter", Type: Uint64, Nullable: true},
		{Name: "first_leave", Type: Uint64, Nullable: true},
		{Name: "last_leave", Type: Uint64, Nullable: true},
		{Name: "flags", Type: Uint32},
	}, bindCollectives},
	{"waits", xtf.TypeWait, true, []Column{
		{Name: "pattern", Type: Text},
		{Name: "record", Type: Uint64, Nullable: true},
		{Name: "cause_rank", Type: Uint32, Nullable: true},
		{Name: "cause_thread", Type: Uint32, Nullable: true},
		{Name: "interval", Type: Uint32, Nullable: true},
		{Name: "path", Type: Uint32, Nullable: true},
	}, bindWaits},
	{"intervals", xtf.TypeIval, true, []Column{
		{Name: "node", Type: Uint32},
		{Name: "name", Type: Text, Nullable: true},
		{Name: "execution", Type: Uint64},
		{Name: "flags", Type: Uint32},
	}, bindIntervals},
	{"metrics", xtf.TypeMetric, false, []Column{
		{Name: "metric", Type: Text, Nullable: true},
		{Name: "unit", Type: Text, Nullable: true},
		{Name: "value", Type: Float64},
		{Name: "bits", Type: Uint64},
		{Name: "type", Type: Text},
	}, bindMetrics},
	{"io", xtf.TypeIO, true, []Column{
		{Name: "operation", Type: Text},
		{Name: "handle", Type: Text, Nullable: true},
		{Name: "asked", Type: Uint64, Nullable: true},
		{Name: "done", Type: Uint64, Nullable: true},
		{Name: "call", Type: Uint64, Nullable: true},
	}, bindIO},
	{"rma", xtf.TypeRMA, true, []Column{
		{Name: "operation", Type: Text},
		{Name: "window", Type: Uint32},
		{Name: "target", Type: Uint32},
		{Name: "bytes", Type: Uint64},
		{Name: "call", Type: Uint64, Nullable: true},
	}, bindRMA},
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
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.Call
		x.Load(row)
		return append(dst, Number(x.Exclusive), known(x.Parent), Number(uint64(x.Depth)), cells[states.of(&x)], regions.cell(x.Region), known32(x.Region),
			Number(uint64(x.Flags)))
	}
}

// comms are the texts of a column of communicators.
type comms struct {
	dict Dictionary
	by   map[uint32]Cell
	none Cell
}

func (s *Source) comms() *comms {
	c := &comms{by: map[uint32]Cell{}}
	names := s.commNames()
	for i := range s.Defs.Comms {
		ref := s.Defs.Comms[i].Ref
		c.by[ref] = c.dict.Cell(names[ref])
	}
	for i := range s.Defs.InterComms {
		ref := s.Defs.InterComms[i].Ref
		c.by[ref] = c.dict.Cell(names[ref])
	}
	c.none = c.dict.Cell("(undefined)")
	return c
}

func (c *comms) cell(ref uint32) Cell {
	if x, ok := c.by[ref]; ok {
		return x
	}
	return c.none
}

func bindMessages(s *Source, c []Column) func([]Cell, []byte) []Cell {
	regions, comms := s.regionNames(), s.comms()
	c[0].Dict, c[4].Dict, c[6].Dict = []string{"send", "receive", "other"}, comms.dict.Texts(), regions.dict.Texts()
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.P2P
		x.Load(row)
		rank, thread := Absent, Absent
		if x.MateN != xtf.Never {
			rank, thread = s.rankOf(x.MateP), s.threadOf(x.MateP)
		}
		return append(dst, Number(uint64(min(x.Kind&xtf.P2PKindMask, 2))), known32(x.Peer), Number(x.Bytes), Number(uint64(x.Tag)), comms.cell(x.Comm),
			known(x.CallN), regions.cell(x.Region), Number(x.Post), known(x.Done), rank, thread, known(x.MateN), known(x.MateT), Number(uint64(x.Kind>>8)))
	}
}

// collectiveNames are the texts of operations, in lower case, by their number.
func collectiveNames() []string {
	var list []string
	for op := range uint64(256) {
		list = append(list, strings.ToLower(trace.EnumCollectiveOp.Text(op)))
	}
	return list
}

func bindCollectives(s *Source, c []Column) func([]Cell, []byte) []Cell {
	regions, comms := s.regionNames(), s.comms()
	c[0].Dict, c[1].Dict, c[7].Dict = collectiveNames(), comms.dict.Texts(), regions.dict.Texts()
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.Coll
		x.Load(row)
		return append(dst, Number(uint64(x.Flags&xtf.CollOpMask)), comms.cell(x.Comm), known(x.Ordinal), known32(x.Root), Number(x.Sent), Number(x.Received),
			known(x.CallN), regions.cell(x.Region), Number(x.Post), known(x.LastEnter), known(x.FirstLeave), known(x.LastLeave), Number(uint64(x.Flags>>8)))
	}
}

func bindWaits(s *Source, c []Column) func([]Cell, []byte) []Cell {
	for k := range xtf.WaitPatternMask + 1 {
		c[0].Dict = append(c[0].Dict, waitName(k))
	}
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.Wait
		x.Load(row)
		return append(dst, Number(uint64(x.Pattern&xtf.WaitPatternMask)), known(x.RecN), s.rankOf(x.CauseP), s.threadOf(x.CauseP), known32(x.Node), known32(x.Path))
	}
}

func bindIntervals(s *Source, c []Column) func([]Cell, []byte) []Cell {
	var dict Dictionary
	cells := make([]Cell, len(s.Nodes))
	for i, n := range s.Nodes {
		cells[i] = dict.Cell(n)
	}
	c[1].Dict = dict.Texts()
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.Ival
		x.Load(row)
		name := Absent
		if uint64(x.Node) < uint64(len(cells)) {
			name = cells[x.Node]
		}
		return append(dst, Number(uint64(x.Node)), name, Number(x.Execution), Number(uint64(x.Flags)))
	}
}

func bindMetrics(s *Source, c []Column) func([]Cell, []byte) []Cell {
	of := s.metrics()
	var names, units Dictionary
	name, unit := make([]Cell, len(s.Defs.MetricMembers)), make([]Cell, len(s.Defs.MetricMembers))
	for i := range name {
		name[i], unit[i] = names.Cell(of.name(i)), units.Cell(of.unit(i))
	}
	c[0].Dict, c[1].Dict, c[4].Dict = names.Texts(), units.Texts(), metricTypes
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.Metric
		x.Load(row)
		n, u := Absent, Absent
		if i, ok := of.of(&x); ok {
			n, u = name[i], unit[i]
		}
		value, kind := metricValue(&x)
		return append(dst, n, u, Real(value), Number(x.Value), Number(uint64(kind)))
	}
}

func bindIO(s *Source, c []Column) func([]Cell, []byte) []Cell {
	var dict Dictionary
	handles := map[uint32]Cell{}
	for i := range s.Defs.IoHandles {
		h := &s.Defs.IoHandles[i]
		name := s.Defs.Text(h.Name)
		if name == "" {
			name = fmt.Sprintf("handle %d", h.Ref)
		}
		handles[h.Ref] = dict.Cell(name)
	}
	c[0].Dict, c[1].Dict = []string{"read", "write", "other"}, dict.Texts()
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.IO
		x.Load(row)
		h, ok := handles[x.Handle]
		if !ok {
			h = Absent
		}
		return append(dst, Number(uint64(min(x.Op&xtf.IOOpMask, 2))), h, known(x.Asked), known(x.Done), known(x.CallN))
	}
}

func bindRMA(_ *Source, c []Column) func([]Cell, []byte) []Cell {
	c[0].Dict = []string{"put", "get", "atomic", "other"}
	return func(dst []Cell, row []byte) []Cell {
		var x xtf.RMA
		x.Load(row)
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
	}
}
