package otf2

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// Print writes the events of src in global order, one a line with a second line
// for attributes: kind, location id, time, fields by name, references as
// "name" <reference>, ranks with the location they stand for. It is the form of
// the event listing of OTF2's own tools.
func Print(w io.Writer, src trace.Source) error {
	p := newPrinter(src.Definitions())
	type line struct {
		at       trace.Time
		location uint64
		text     string
	}
	var lines []line
	for q := range trace.P(p.defs.NumLocations()) {
		st, err := src.Stream(q)
		if err != nil {
			return err
		}
		ref := p.defs.Location(q).Ref
		for i := range st.Chunks() {
			r, err := st.Chunk(i)
			if err != nil {
				return err
			}
			var b trace.Batch
			for err = r.Next(&b); err == nil; err = r.Next(&b) {
				for j := range b.Events {
					p.event(&b, &b.Events[j], ref)
					lines = append(lines, line{b.Events[j].Time, ref, string(p.b)})
				}
			}
			if err = errors.Join(err, r.Close()); !errors.Is(err, io.EOF) {
				return err
			}
		}
		if err := st.Close(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.location, b.location)) })
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(listingHead)
	for _, l := range lines {
		out.WriteString(l.text)
	}
	return out.Flush()
}

const listingHead = "=== Events =====================================================================\n" +
	"Event                                   Location            Timestamp  Attributes\n" +
	"--------------------------------------------------------------------------------\n"

// Columns of the listing.
const (
	kindWidth     = 32
	locationWidth = 15
	timeWidth     = 20
	indentWidth   = kindWidth + 1 + locationWidth + 1 + timeWidth + 2 // of the attributes
)

// printer formats events.
type printer struct {
	*namer
	b []byte
}

func newPrinter(d *trace.Definitions) *printer { return &printer{namer: newNamer(d)} }

func (p *printer) text(s string) { p.b = append(p.b, s...) }

func (p *printer) number(v uint64) { p.b = strconv.AppendUint(p.b, v, 10) }

func (p *printer) pad(to int) {
	for len(p.b) < to {
		p.b = append(p.b, ' ')
	}
}

func (p *printer) right(v uint64, width int) {
	var digits [20]byte
	s := strconv.AppendUint(digits[:0], v, 10)
	p.pad(len(p.b) + width - len(s))
	p.b = append(p.b, s...)
}

// event formats e, an event of the given location, into p.b.
func (p *printer) event(b *trace.Batch, e *trace.Event, location uint64) {
	p.b = p.b[:0]
	info := e.Kind.Info()
	p.text(info.Label)
	p.pad(kindWidth)
	p.text(" ")
	p.right(location, locationWidth)
	p.text(" ")
	p.right(uint64(e.Time), timeWidth)
	if e.Kind.Known() {
		p.text("  ")
		p.fields(b, e, info, location)
	}
	p.text("\n")
	if e.Flags&trace.HasAttributes != 0 {
		p.attributes(b.Attributes(nil, e))
	}
}

func (p *printer) fields(b *trace.Batch, e *trace.Event, info *trace.Info, location uint64) {
	fields, list, _, _ := b.Layout(e)
	if e.Kind == trace.Enter || e.Kind == trace.Leave {
		fields = []uint64{uint64(e.Ref)}
	}
	labels := labels[e.Kind]
	for at := range labels {
		i := at
		if e.Kind == trace.RmaCollectiveEnd && (i == 1 || i == 2) {
			i = 3 - i // window before level
		}
		if at > 0 {
			p.text(", ")
		}
		f := &info.Fields[i]
		if info.List != trace.NoList && i == len(info.Fields)-1 {
			p.number(fields[i])
			p.text(" ")
			p.text(labels[i])
			if fields[i] != 1 {
				p.text("s")
			}
			if info.List == trace.StringList {
				p.strings(list)
			} else {
				p.metrics(uint32(fields[0]), list)
			}
			continue
		}
		p.text(labels[i])
		p.text(": ")
		p.field(e.Kind, f, i, fields, location)
	}
}

func (p *printer) field(k trace.Kind, f *trace.Field, i int, fields []uint64, location uint64) {
	v := fields[i]
	switch {
	case f.Place == trace.Rank:
		p.rank(communicator(p.namer, k, fields), uint32(v), location, f.Name == "root")
	case f.Name == "creating_thread":
		p.rank(uint32(fields[0]), uint32(v), location, false)
	case k == trace.IoDeleteFile && i == 0:
		p.b = p.ioParadigm(p.b, v)
	case f.Ref != trace.RefNone:
		p.b = p.reference(p.b, f.Ref, v)
	case f.Name == "model":
		p.b = p.paradigm(p.b, v)
	case tracetest.EnumOf(k, f) != nil:
		p.text(tracetest.EnumOf(k, f).Text(v))
	case f.Name == "exit_status" && v == 1<<63, f.Name == "unwind_distance" && v == trace.Undefined,
		f.Width == trace.Stamp && v == trace.Undefined64:
		p.text("UNDEFINED")
	case f.Width == trace.S64:
		p.b = strconv.AppendInt(p.b, int64(v), 10)
	default:
		p.number(v)
	}
}

// communicator returns the communicator that the ranks of a record refer to.
func communicator(n *namer, k trace.Kind, fields []uint64) uint32 {
	for i, f := range k.Info().Fields {
		switch f.Ref {
		case trace.RefComm:
			return uint32(fields[i])
		case trace.RefRmaWin:
			if w, ok := n.windows[uint32(fields[i])]; ok {
				return w.Comm
			}
		}
	}
	return trace.Undefined
}

func (p *printer) rank(comm, rank uint32, location uint64, root bool) {
	if name, ok := specialRanks[rank]; ok && (root || rank == trace.Undefined) {
		if !root {
			name = "UNDEFINED"
		}
		p.text(name)
		return
	}
	p.number(uint64(rank))
	p.text(" (")
	if l, ok := p.peer(comm, rank, location); ok {
		p.b = p.reference(p.b, trace.RefLocation, l)
	} else {
		p.text("INVALID")
	}
	p.text(")")
}

var specialRanks = map[uint32]string{trace.Undefined: "NONE", trace.RootSelf: "SELF", 0xFFFFFFFD: "THIS_GROUP"}

func (p *printer) strings(list []uint64) {
	for i, v := range list {
		if i == 0 {
			p.text(": ")
		} else {
			p.text(", ")
		}
		p.b = p.reference(p.b, trace.RefString, v)
	}
}

func (p *printer) metrics(metric uint32, list []uint64) {
	members := p.metricMembers(metric)
	for i := 0; i+1 < len(list); i += 2 {
		if i == 0 {
			p.text(": (")
		} else {
			p.text(", (")
		}
		if i/2 < len(members) {
			p.b = p.member(p.b, members[i/2])
		} else {
			p.text("INVALID")
		}
		p.text("; ")
		t := trace.ValueType(list[i])
		p.text(typeName(t))
		p.text("; ")
		switch t {
		case trace.TypeInt64:
			p.b = strconv.AppendInt(p.b, int64(list[i+1]), 10)
		case trace.TypeDouble:
			p.b = appendFloat(p.b, math.Float64frombits(list[i+1]))
		default:
			p.number(list[i+1])
		}
		p.text(")")
	}
}

func (p *printer) attributes(list []trace.EventAttribute) {
	p.pad(len(p.b) + indentWidth)
	p.text("ADDITIONAL ATTRIBUTES: ")
	for i, a := range list {
		if i > 0 {
			p.text(", ")
		}
		p.text("(")
		p.b = p.reference(p.b, trace.RefAttribute, uint64(a.Ref))
		p.text("; ")
		p.text(typeName(a.Type))
		p.text("; ")
		p.value(a.Type, a.Value)
		p.text(")")
	}
	p.text("\n")
}

func (p *printer) value(t trace.ValueType, v uint64) {
	if r := t.Ref(); r != trace.RefNone {
		p.b = p.reference(p.b, r, v)
		return
	}
	switch t {
	case trace.TypeInt8:
		p.b = strconv.AppendInt(p.b, int64(int8(v)), 10)
	case trace.TypeInt16:
		p.b = strconv.AppendInt(p.b, int64(int16(v)), 10)
	case trace.TypeInt32:
		p.b = strconv.AppendInt(p.b, int64(int32(v)), 10)
	case trace.TypeInt64:
		p.b = strconv.AppendInt(p.b, int64(v), 10)
	case trace.TypeFloat:
		p.b = appendFloat(p.b, float64(math.Float32frombits(uint32(v))))
	case trace.TypeDouble:
		p.b = appendFloat(p.b, math.Float64frombits(v))
	default:
		p.number(v)
	}
}

// appendFloat formats like C's %g.
func appendFloat(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		if math.Signbit(x) {
			b = append(b, '-')
		}
		return append(b, "nan"...)
	case math.IsInf(x, 1):
		return append(b, "inf"...)
	case math.IsInf(x, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, x, 'g', 6, 64)
}

func typeName(t trace.ValueType) string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "INVALID <" + strconv.Itoa(int(t)) + ">"
}

var typeNames = [...]string{
	"NONE", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "STRING",
	"ATTRIBUTE", "LOCATION", "REGION", "GROUP", "METRIC", "COMM", "PARAMETER", "RMA_WIN", "SOURCE_CODE_LOCATION",
	"CALLING_CONTEXT", "INTERRUPT_GENERATOR", "IO_FILE", "IO_HANDLE", "LOCATION_GROUP",
}
