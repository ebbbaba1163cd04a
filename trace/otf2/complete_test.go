package otf2

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// memory is a Source that holds its events, one batch a chunk.
type memory struct {
	defs   *trace.Definitions
	chunks [][]trace.Batch // by location
}

func (m *memory) Definitions() *trace.Definitions       { return m.defs }
func (m *memory) Format() string                        { return "memory" }
func (m *memory) Identity() [32]byte                    { return [32]byte{} }
func (m *memory) Measure(trace.P) (trace.Extent, error) { return trace.Extent{}, nil }
func (m *memory) Close() error                          { return nil }
func (m *memory) Stream(p trace.P) (trace.Stream, error) {
	return trace.NewStream(len(m.chunks[p]), func(i int) (trace.ChunkReader, error) {
		done, of := false, m.chunks[p][i]
		return trace.Fill(func(b *trace.Batch) error {
			if !done {
				b.First, b.Events, b.Args, done = of.First, append(b.Events, of.Events...), append(b.Args, of.Args...), true
			}
			return nil
		}), nil
	}), nil
}

// add appends the record r of kind k.
func add[R any](d *trace.Definitions, k trace.DefKind, r R) {
	*any(d.Add(k)).(*R) = r
}

// completeDefinitions has every kind of definition, consistent, with dense
// references, so that other tools accept it.
func completeDefinitions() *trace.Definitions {
	d := &trace.Definitions{}
	for i, s := range []string{"", "main", "foo", "MPI_COMM_WORLD", "x", "node", "rank", "MPI", "OpenMP", "thread", "file.c", "POSIX I/O", "version", "MPI_Send", "counter", "#", "a file", "umlaut ü \"quoted\""} {
		add(d, trace.DefString, trace.String{Ref: uint32(i), Value: s})
	}
	add(d, trace.DefClockProperties, trace.ClockProperties{TimerResolution: 1e9, GlobalOffset: 1000, TraceLength: 1 << 20, RealtimeTimestamp: 1700000000000000000})
	add(d, trace.DefParadigm, trace.Paradigm{Paradigm: trace.ParadigmMPI, Name: 7})
	add(d, trace.DefParadigm, trace.Paradigm{Paradigm: trace.ParadigmOpenMP, Name: 8, Class: 1})
	add(d, trace.DefParadigmProperty, trace.ParadigmProperty{Paradigm: trace.ParadigmMPI, Property: 0, Value: trace.Value{Type: trace.TypeString, Bits: 3}})
	add(d, trace.DefIoParadigm, trace.IoParadigm{Ref: 0, Identification: 11, Name: 11, Class: 0, Flags: 1, Properties: []trace.IoProperty{{Property: 0, Value: trace.Value{Type: trace.TypeString, Bits: 12}}}})
	for t := range trace.TypeLocationGroup + 1 {
		add(d, trace.DefAttribute, trace.Attribute{Ref: uint32(t), Name: 4, Type: t, Description: 0})
	}
	add(d, trace.DefSystemTreeNode, trace.SystemTreeNode{Ref: 0, Name: 5, Class: 5, Parent: trace.Undefined})
	add(d, trace.DefLocationGroup, trace.LocationGroup{Ref: 0, Name: 6, Type: trace.ProcessGroup, Parent: 0, Creator: trace.Undefined})
	add(d, trace.DefLocationGroup, trace.LocationGroup{Ref: 1, Name: 6, Type: trace.ProcessGroup, Parent: 0, Creator: trace.Undefined})
	add(d, trace.DefLocationGroup, trace.LocationGroup{Ref: 2, Name: 6, Type: trace.AcceleratorGroup, Parent: 0, Creator: 1})
	add(d, trace.DefLocation, trace.Location{Ref: 0, Name: 9, Type: trace.CPUThread, Group: 0})
	add(d, trace.DefLocation, trace.Location{Ref: 1, Name: 9, Type: trace.CPUThread, Group: 1})
	add(d, trace.DefLocation, trace.Location{Ref: 1 << 32, Name: 9, Type: trace.CPUThread, Group: 0})
	add(d, trace.DefLocation, trace.Location{Ref: 1<<32 + 1, Name: 9, Type: trace.AcceleratorStream, Group: 2})
	for i := range uint32(300) {
		add(d, trace.DefRegion, trace.Region{Ref: i, Name: 1 + i%2, CanonicalName: 13, Description: 0, SourceFile: 10, BeginLine: i, EndLine: i + 1, Role: trace.RegionRole(i % 39), Paradigm: trace.ParadigmMPI, Flags: i % 4})
	}
	add(d, trace.DefCallsite, trace.Callsite{Ref: 0, SourceFile: 10, LineNumber: 3, EnteredRegion: 1, LeftRegion: 2})
	add(d, trace.DefCallpath, trace.Callpath{Ref: 0, Parent: trace.Undefined, Region: 1})
	completeGroups(d)
	add(d, trace.DefParameter, trace.Parameter{Ref: 0, Name: 4, Type: 0})
	add(d, trace.DefParameter, trace.Parameter{Ref: 1, Name: 4, Type: 1})
	add(d, trace.DefParameter, trace.Parameter{Ref: 2, Name: 4, Type: 2})
	completeRest(d)
	d.Seal()
	return d
}

func completeGroups(d *trace.Definitions) {
	for i, g := range []trace.Group{
		{Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: []uint64{0, 1}},
		{Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: []uint64{1, 0}},
		{Type: trace.GroupCommSelf, Paradigm: trace.ParadigmMPI},
		{Type: trace.GroupCommLocations, Paradigm: trace.ParadigmOpenMP, Members: []uint64{0, 1 << 32}},
		{Type: trace.GroupCommGroup, Paradigm: trace.ParadigmOpenMP, Members: []uint64{0, 1}},
		{Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: []uint64{0}},
		{Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: []uint64{1}},
		{Type: trace.GroupRegions, Members: []uint64{0, 1, 2}},
		{Type: trace.GroupMetric, Members: []uint64{0}},
		{Type: trace.GroupLocations, Members: []uint64{0, 1 << 32}},
		{Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Flags: trace.GlobalMembers, Members: []uint64{0, 1}},
	} {
		g.Ref, g.Name = uint32(i), 4
		add(d, trace.DefGroup, g)
	}
	for i, m := range []trace.ValueType{trace.TypeUint64, trace.TypeInt64, trace.TypeDouble} {
		add(d, trace.DefMetricMember, trace.MetricMember{Ref: uint32(i), Name: 14, Description: 0, Type: 3, Mode: 0x10, ValueType: m, Base: 1, Exponent: -3, Unit: 15})
	}
	add(d, trace.DefMetricClass, trace.MetricClass{Ref: 0, Members: []uint32{0, 1, 2}, Occurrence: 2, RecorderKind: 2})
	add(d, trace.DefMetricInstance, trace.MetricInstance{Ref: 1, Class: 0, Recorder: 1, ScopeType: 0, Scope: 0})
	add(d, trace.DefMetricClass, trace.MetricClass{Ref: 2, Members: []uint32{1}, Occurrence: 1, RecorderKind: 1})
	add(d, trace.DefComm, trace.Comm{Ref: 0, Name: 3, Group: 1, Parent: trace.Undefined})
	add(d, trace.DefComm, trace.Comm{Ref: 1, Name: 3, Group: 2, Parent: 0, Flags: 1})
	add(d, trace.DefComm, trace.Comm{Ref: 2, Name: 8, Group: 4, Parent: trace.Undefined})
	add(d, trace.DefComm, trace.Comm{Ref: 3, Name: 3, Group: 10, Parent: 0})
	add(d, trace.DefInterComm, trace.InterComm{Ref: 4, Name: 3, GroupA: 5, GroupB: 6, CommonComm: 0, Flags: 1})
}

func completeRest(d *trace.Definitions) {
	add(d, trace.DefRmaWin, trace.RmaWin{Ref: 0, Name: 4, Comm: 0, Flags: 1})
	add(d, trace.DefRmaWin, trace.RmaWin{Ref: 1, Name: 4, Comm: 1})
	add(d, trace.DefMetricClassRecorder, trace.MetricClassRecorder{Metric: 0, Recorder: 1})
	str := trace.Value{Type: trace.TypeString, Bits: 4}
	add(d, trace.DefSystemTreeNodeProperty, trace.SystemTreeNodeProperty{Node: 0, Name: 4, StringValue: 4, Value: str})
	add(d, trace.DefSystemTreeNodeDomain, trace.SystemTreeNodeDomain{Node: 0, Domain: 1})
	add(d, trace.DefLocationGroupProperty, trace.LocationGroupProperty{LocationGroup: 0, Name: 4, StringValue: trace.Undefined, Value: trace.Value{Type: trace.TypeDouble, Bits: 0x3FF8000000000000}})
	add(d, trace.DefLocationProperty, trace.LocationProperty{Location: 1 << 32, Name: 4, StringValue: 4, Value: str})
	add(d, trace.DefCartDimension, trace.CartDimension{Ref: 0, Name: 4, Size: 2, Periodicity: 1})
	add(d, trace.DefCartTopology, trace.CartTopology{Ref: 0, Name: 4, Comm: 0, Dimensions: []uint32{0}})
	add(d, trace.DefCartCoordinate, trace.CartCoordinate{Topology: 0, Rank: 0, Coordinates: []uint32{1}})
	add(d, trace.DefSourceCodeLocation, trace.SourceCodeLocation{Ref: 0, File: 10, LineNumber: 99})
	add(d, trace.DefCallingContext, trace.CallingContext{Ref: 0, Region: 1, SourceCodeLocation: 0, Parent: trace.Undefined})
	add(d, trace.DefCallingContext, trace.CallingContext{Ref: 1, Region: 2, SourceCodeLocation: trace.Undefined, Parent: 0})
	add(d, trace.DefCallingContextProperty, trace.CallingContextProperty{Context: 0, Name: 4, Value: trace.Value{Type: trace.TypeInt8, Bits: 0xFE}})
	add(d, trace.DefInterruptGenerator, trace.InterruptGenerator{Ref: 0, Name: 4, Mode: 1, Base: 1, Exponent: -6, Period: 100})
	add(d, trace.DefIoRegularFile, trace.IoRegularFile{Ref: 0, Name: 16, Scope: 0})
	add(d, trace.DefIoDirectory, trace.IoDirectory{Ref: 1, Name: 16, Scope: trace.Undefined})
	add(d, trace.DefIoFileProperty, trace.IoFileProperty{File: 0, Name: 4, Value: trace.Value{Type: trace.TypeUint16, Bits: 513}})
	add(d, trace.DefIoHandle, trace.IoHandle{Ref: 0, Name: 16, File: 0, Paradigm: 0, Flags: 1, Comm: 0, Parent: trace.Undefined})
	add(d, trace.DefIoHandle, trace.IoHandle{Ref: 1, Name: 16, File: 1, Paradigm: 0, Flags: 0, Comm: trace.Undefined, Parent: 0})
	add(d, trace.DefIoPreCreatedHandleState, trace.IoPreCreatedHandleState{Handle: 0, Mode: 2, StatusFlags: 2})
	add(d, trace.DefCallpathParameter, trace.CallpathParameter{Callpath: 0, Parameter: 0, Value: str})
}

// limits are the numbers of definitions by reference kind in completeDefinitions.
var limits = map[trace.RefKind]uint64{
	trace.RefString: 18, trace.RefAttribute: 26, trace.RefLocation: 2, trace.RefRegion: 300, trace.RefGroup: 11, trace.RefMetric: 3,
	trace.RefComm: 5, trace.RefParameter: 3, trace.RefRmaWin: 2, trace.RefSourceCodeLocation: 1, trace.RefCallingContext: 2,
	trace.RefInterruptGenerator: 1, trace.RefIoFile: 2, trace.RefIoHandle: 2, trace.RefLocationGroup: 3,
}

// mix makes random events.
type mix struct {
	*rand.Rand
	wild bool // references and enumerations that are undefined or unknown, too
}

func (m mix) ref(k trace.RefKind) uint64 {
	if m.wild && m.IntN(4) == 0 {
		return []uint64{trace.Undefined, 1 << 20, limits[k], 0xFFFFFFFE}[m.IntN(4)]
	}
	v := m.Uint64N(limits[k])
	if k == trace.RefLocation {
		v |= m.Uint64N(2) << 32
	}
	return v
}

func (m mix) number(bits int) uint64 {
	v := m.Uint64() >> (64 - bits)
	return v >> m.IntN(bits)
}

func (m mix) value(t trace.ValueType) uint64 {
	if r := t.Ref(); r != trace.RefNone {
		return m.ref(r)
	}
	switch t {
	case trace.TypeUint8, trace.TypeInt8:
		return m.number(8)
	case trace.TypeUint16, trace.TypeInt16:
		return m.number(16)
	case trace.TypeUint32, trace.TypeInt32, trace.TypeFloat:
		return m.number(32)
	}
	return m.number(64)
}

func (m mix) field(k trace.Kind, f *trace.Field, t trace.Time) uint64 {
	switch {
	case f.Width == trace.Stamp: // libotf2 takes later intervals for all events after such a time
		return uint64(t)
	case f.Ref != trace.RefNone:
		return m.ref(f.Ref)
	case f.Place == trace.Rank:
		return []uint64{0, 1, 2, trace.Undefined, 0xFFFFFFFE, 0xFFFFFFFD}[m.IntN(6)]
	case tracetest.EnumOf(k, f) != nil && !m.wild:
		names := tracetest.EnumOf(k, f).Names
		return uint64(names[m.IntN(len(names))].Value)
	}
	switch f.Width {
	case trace.U8:
		return m.number(8)
	case trace.U32:
		return m.number(32)
	}
	return m.number(64)
}

// event appends one event of kind k at time t.
func (m mix) event(b *trace.Batch, t trace.Time, k trace.Kind) {
	info := k.Info()
	if k == trace.Enter || k == trace.Leave {
		b.Append(t, k, uint32(m.ref(trace.RefRegion)))
		return
	}
	var words []uint64
	for i := range info.Fields {
		words = append(words, m.field(k, &info.Fields[i], t))
	}
	switch info.List {
	case trace.MetricList:
		n := 3 // as the classes have
		if words[0] == 2 {
			n = 1
		}
		words[1] = uint64(n)
		for i := range n {
			words = append(words, []uint64{4, 8, 10}[i], m.number(64))
		}
	case trace.StringList:
		n := m.IntN(4)
		words[1] = uint64(n)
		for range n {
			words = append(words, m.ref(trace.RefString))
		}
	case trace.PayloadList:
		n := []int{0, 1, 8, 9, 300}[m.IntN(5)]
		words[0] = uint64(n)
		words = append(words, m.bytes(n)...)
	}
	b.Append(t, k, 0, words...)
}

// bytes returns n random bytes, 8 a word.
func (m mix) bytes(n int) []uint64 {
	var w []uint64
	for ; n > 0; n -= 8 {
		x := m.Uint64()
		if n < 8 {
			x &= 1<<(8*n) - 1
		}
		w = append(w, x)
	}
	return w
}

func (m mix) attributes(b *trace.Batch) {
	var list []trace.EventAttribute
	for _, t := range m.Perm(26)[:m.IntN(4)] { // a list names an attribute once
		t := trace.ValueType(t)
		list = append(list, trace.EventAttribute{Ref: uint32(t), Type: t, Value: m.value(t)})
	}
	if m.wild && m.IntN(8) == 0 { // more than 255 bytes
		for i := range uint32(120) {
			list = append(list, trace.EventAttribute{Ref: 1000 + i, Type: trace.TypeUint64, Value: m.Uint64()})
		}
	}
	b.AppendAttributes(list...)
}

// surplus adds bytes after the fields of the last event.
func (m mix) surplus(b *trace.Batch) {
	e := &b.Events[len(b.Events)-1]
	if e.Kind.Info().Singleton || !e.Kind.Known() {
		return
	}
	n := 1 + m.IntN(20)
	e.Flags |= trace.HasSurplus
	b.Args = append(append(b.Args, uint64(n)), m.bytes(n)...)
	e.Len = uint32(len(b.Args)) - e.Arg
}

// completeSource has every kind of event several times on every location.
func completeSource(seed uint64, wild bool) *memory {
	m := mix{rand.New(rand.NewPCG(seed, 1)), wild}
	src := &memory{defs: completeDefinitions()}
	for range src.defs.NumLocations() {
		var b trace.Batch
		t := trace.Time(1000)
		for range 3 {
			for _, k := range m.Perm(256) {
				k := trace.Kind(k)
				if k < firstRecord || !wild && !k.Known() || k > 200 {
					continue
				}
				t += trace.Time(m.IntN(3))
				m.event(&b, t, k)
				if m.IntN(2) == 0 {
					m.attributes(&b)
				}
				if wild && m.IntN(8) == 0 {
					m.surplus(&b)
				}
			}
		}
		src.chunks = append(src.chunks, []trace.Batch{b})
	}
	return src
}

// TestKnownKinds compares the table of trace.Kind.Info with the decoder: a record of a kind with a line is decoded, one
// without is reported.
func TestKnownKinds(t *testing.T) {
	for _, known := range []bool{true, false} {
		var b trace.Batch
		for i := firstRecord; i < 256; i++ {
			if k := trace.Kind(i); known == k.Known() {
				mix{rand.New(rand.NewPCG(uint64(i), 2)), false}.event(&b, 1000, k)
			}
		}
		want := len(b.Events)
		src := &memory{defs: completeDefinitions()}
		for range src.defs.NumLocations() {
			src.chunks = append(src.chunks, []trace.Batch{b})
		}
		st, err := copies(t, src, Options{EventChunk: 1 << 20}).Stream(0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := st.Chunk(0)
		if err != nil {
			t.Fatal(err)
		}
		got, reported := 0, uint64(0)
		for r.Next(&b) == nil {
			got += len(b.Events)
		}
		for _, d := range r.Diagnostics() {
			reported += d.Count
			if d.Code != trace.DiagUnknownRecord {
				t.Errorf("%v: %s", d.Code, d.Detail)
			}
		}
		if got != want || known && reported != 0 || !known && reported != uint64(want) {
			t.Errorf("in the table %v: %d of %d records decoded, %d of them as unknown", known, got, want, reported)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
