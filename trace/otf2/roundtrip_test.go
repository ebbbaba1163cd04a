package otf2

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/google/go-cmp/cmp"
)

// record is one event with all that belongs to it, comparable between batches.
type record struct {
	Time  trace.Time
	Kind  trace.Kind
	Flags uint8
	Ref   uint32
	Words []uint64
}

func appendRecords(all []record, b *trace.Batch) []record {
	for i := range b.Events {
		e := &b.Events[i]
		all = append(all, record{e.Time, e.Kind, e.Flags, e.Ref, slices.Clone(b.Words(e))})
	}
	return all
}

// allRecords reads all events of a location.
func allRecords(t testing.TB, src trace.Source, p trace.P) []record {
	t.Helper()
	var all []record
	drain(t, src, p, func(b *trace.Batch) { all = appendRecords(all, b) })
	return all
}

// encoded returns the definitions in one comparable piece, without the event
// counts, which a writer sets.
func encoded(t testing.TB, d *trace.Definitions) string {
	t.Helper()
	for i := range d.Locations {
		d.Locations[i].Events = 0
	}
	b, err := d.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// equalSources compares definitions and events of two sources.
func equalSources(t testing.TB, want, got trace.Source) {
	t.Helper()
	if encoded(t, want.Definitions()) != encoded(t, got.Definitions()) {
		t.Error("definitions differ")
	}
	for p := range trace.P(want.Definitions().NumLocations()) {
		sameEvents(t, allRecords(t, want, p), allRecords(t, got, p))
	}
}

// sameEvents compares quickly and explains slowly.
func sameEvents(t testing.TB, want, got []record) {
	t.Helper()
	if !sameRecords(want, got) {
		t.Fatal(cmp.Diff(want, got))
	}
}

// copies writes src in a variant and opens it.
func copies(t testing.TB, src trace.Source, o Options) *Archive {
	t.Helper()
	dir := t.TempDir()
	if _, err := Copy(dir, "traces", src, o); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, dir)
}

// TestRoundTrip writes every kind of event and definition in every variant and
// reads it back, in chunks so small that every location has several.
func TestRoundTrip(t *testing.T) {
	for name, o := range variants() {
		for _, chunk := range []int{4096, 1 << 20} {
			t.Run(fmt.Sprintf("%s %d", name, chunk), func(t *testing.T) {
				o := o
				o.EventChunk = chunk
				src := completeSource(11, true)
				a := copies(t, src, o)
				equalSources(t, src, a)
				x, err := a.Measure(0)
				if err != nil || (x.Chunks < 2) != (chunk > 4096) {
					t.Errorf("%d chunks of %d bytes, %v", x.Chunks, chunk, err)
				}
			})
		}
	}
}

func TestRoundTripRealArchives(t *testing.T) {
	for _, name := range []string{"pingpong-papi-scorep71", "stencil4d-32", "synthetic-all-events", "npb-ft.S-16"} {
		for _, o := range []Options{{}, {BigEndian: true, EventChunk: 4096}} {
			t.Run(name, func(t *testing.T) {
				src := mustOpen(t, filepath.Join(traces(t), name))
				equalSources(t, src, copies(t, src, o))
			})
		}
	}
}

// TestFirstFormat writes as the first writers did: long integers, records that
// end before the fields of later versions.
func TestFirstFormat(t *testing.T) {
	src := completeSource(5, true)
	for i := range src.defs.Regions {
		src.defs.Regions[i].LegacyType = uint8(i % 36)
	}
	for i := range src.defs.Groups {
		src.defs.Groups[i].LegacyType = 4
	}
	for _, big := range []bool{false, true} {
		a := copies(t, src, Options{TraceFormat: 1, BigEndian: big})
		if got := a.Anchor(); got.AnchorFormat != 1 || got.TraceFormat != 1 || got.BigEndian != big || a.Format() != "OTF2 1.0.0" {
			t.Errorf("%+v %s", got, a.Format())
		}
		d := a.Definitions()
		for i, r := range d.Regions {
			if r.CanonicalName != r.Name || r.BeginLine != uint32(i) {
				t.Fatalf("region %+v", r)
			}
		}
		if r := d.Regions[25]; r.Role != trace.RoleCollAllToAll || r.Paradigm != trace.ParadigmMPI {
			t.Errorf("region type 25 became %+v", r)
		}
		if g := d.Groups[0]; g.Type != trace.GroupCommGroup || g.Paradigm != trace.ParadigmMPI || g.Flags != 0 || !slices.Equal(g.Members, []uint64{0, 1}) {
			t.Errorf("group %+v", g)
		}
		if w := d.RmaWins[1]; w.Flags != 1 {
			t.Errorf("window %+v", w)
		}
		if c := d.Clock(); c.RealtimeTimestamp != trace.Undefined64 || c.TimerResolution != 1e9 {
			t.Errorf("clock %+v", c)
		}
		if p := d.SystemTreeNodeProperties[0]; p.Value != (trace.Value{Type: trace.TypeString, Bits: 4}) {
			t.Errorf("property %+v", p)
		}
		if l := d.LocationGroups[2]; l.Creator != trace.Undefined {
			t.Errorf("location group %+v", l)
		}
		if d.Attributes[3].Description != trace.Undefined || d.MetricClasses[0].RecorderKind != 0 || d.Comms[1].Flags != 0 {
			t.Error("defaults of attribute, metric class or communicator")
		}
		for p := range trace.P(d.NumLocations()) {
			sameEvents(t, allRecords(t, src, p), allRecords(t, a, p))
		}
	}
}

// TestFastPath compares the fast path with the careful one, which is all that a
// sparse table leaves.
func TestFastPath(t *testing.T) {
	sources := map[string]trace.Source{"ring": newRing(2, 3000), "complete": completeSource(4, true), "metrics": longLists()}
	names := slices.Sorted(maps.Keys(sources))
	for _, name := range names {
		for i, offsets := range [][]ClockOffset{nil, {{Time: 1000, Offset: 500}, {Time: 2000000, Offset: -900}}, {{Time: 1000, Offset: 500}, {Time: 1300, Offset: 500}, {Time: 3000000, Offset: 10}}} {
			for _, big := range []bool{false, true} {
				a := copies(t, sources[name], Options{BigEndian: big, EventChunk: 32 << 10, Local: func(trace.P) *Local {
					l := &Local{Offsets: offsets, Mappings: []Mapping{{trace.RefComm, [][2]uint64{{0, 1}, {1, 0}}}}}
					if i > 0 {
						l.Mappings = append(l.Mappings, Mapping{trace.RefMetric, [][2]uint64{{0, 2}, {1, 0}, {2, 1}}})
					}
					return l
				}})
				for p := range trace.P(a.Definitions().NumLocations()) {
					sameEvents(t, carefulRecords(t, a, p), allRecords(t, a, p))
				}
			}
		}
	}
}

// TestQuickWriting compares what the writer stores directly with what it builds
// field by field, which is all that clock offsets of zero leave.
func TestQuickWriting(t *testing.T) {
	none := func(trace.P) *Local { return &Local{Offsets: []ClockOffset{{Time: 1}, {Time: 2}}} }
	for _, big := range []bool{false, true} {
		for _, chunk := range []int{4096, 70_000, 1 << 20} {
			for name, src := range map[string]*memory{"complete": completeSource(8, true), "ring": inMemory(t, newRing(4, 2000)), "long": longLists()} {
				var files [2]string
				for i, o := range []Options{{BigEndian: big, EventChunk: chunk}, {BigEndian: big, EventChunk: chunk, Local: none}} {
					a := copies(t, src, o)
					for p := range trace.P(a.Definitions().NumLocations()) {
						b, err := os.ReadFile(a.file(p, ".evt"))
						if err != nil {
							t.Fatal(err)
						}
						files[i] += string(b)
					}
				}
				if files[0] != files[1] {
					t.Errorf("%s, big-endian %v, chunks of %d: %d bytes differ from %d", name, big, chunk, len(files[0]), len(files[1]))
				}
			}
		}
	}
}

// inMemory holds a source's events.
func inMemory(t testing.TB, src trace.Source) *memory {
	m := &memory{src.Definitions(), make([][]trace.Batch, src.Definitions().NumLocations())}
	for p := range m.chunks {
		drain(t, src, trace.P(p), func(b *trace.Batch) {
			m.chunks[p] = append(m.chunks[p], trace.Batch{First: b.First, Events: slices.Clone(b.Events), Args: slices.Clone(b.Args)})
		})
	}
	return m
}

// longLists has metric records of every length around the limits of the quick
// path, with values of every width.
func longLists() *memory {
	var b trace.Batch
	for n := range uint64(60) {
		words := []uint64{n % 3, n}
		for i := range n {
			words = append(words, uint64(trace.TypeUint64), 1<<(i+n)-1-i%2)
		}
		b.Append(trace.Time(n/2), trace.Metric, 0, words...)
		b.Append(trace.Time(n/2), trace.BufferFlush, 0, trace.Undefined64-n)
		b.Append(trace.Time(n/2), trace.Enter, trace.Undefined-uint32(n&1))
	}
	return oneLocation(&b)
}

// TestDiscard writes a location again from the start.
func TestDiscard(t *testing.T) {
	src := inMemory(t, newRing(1, 20_000))
	dir := t.TempDir()
	w, err := Create(dir, "traces", src.defs, Options{EventChunk: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Location(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range src.chunks[0] {
		if err := l.Add(&src.chunks[0][i]); err != nil {
			t.Fatal(err)
		}
	}
	src.chunks[0] = src.chunks[0][:1]
	if err := l.Discard(); err != nil || l.Events() != 0 {
		t.Fatal(err, l.Events())
	}
	if err := errors.Join(l.Add(&src.chunks[0][0]), l.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	a := mustOpen(t, dir)
	if n := a.Definitions().Location(0).Events; n != uint64(len(src.chunks[0][0].Events)) {
		t.Errorf("%d events announced", n)
	}
	equalSources(t, src, a)
}

// carefulRecords reads a location without the fast path.
func carefulRecords(t testing.TB, a *Archive, p trace.P) []record {
	t.Helper()
	st, err := a.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var all []record
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		r.(*chunkReader).quick = false
		for r.Next(&b) == nil {
			all = appendRecords(all, &b)
		}
		r.Close()
	}
	return all
}

// TestWindows reads through windows of a few bytes: every record meets the end
// of one, and many are longer.
func TestWindows(t *testing.T) {
	src := completeSource(9, true)
	a := copies(t, src, Options{EventChunk: 16 << 10})
	for _, window := range []int{1, 17, 64, 300, 5000} {
		a := &Archive{path: a.path, dir: a.dir, anchor: a.anchor, defs: a.defs, window: window, open: openRegular}
		equalSources(t, src, a)
	}
}

// TestListAtEnd has lists of metrics, which the fast path decodes up to a length,
// at every place of a window and of the end of a file that was cut.
func TestListAtEnd(t *testing.T) {
	src := longLists()
	dir := t.TempDir()
	for i, big := range []bool{false, true} {
		name := fmt.Sprint(i)
		if _, err := Copy(dir, name, src, Options{BigEndian: big}); err != nil {
			t.Fatal(err)
		}
		files := load(t, dir)
		whole, part := files[name+".otf2"], name+"/7.evt"
		for cut := range 2000 {
			a, err := Open(name+".otf2", whole, files[name+".def"])
			if err != nil {
				t.Fatal(err)
			}
			a.open = files.with(part, files[part][:headerSize+cut]).open
			sameEvents(t, carefulRecords(t, a, 0), allRecords(t, a, 0))
			a.open, a.window = files.open, margin+cut%500
			sameEvents(t, allRecords(t, src, 0), allRecords(t, a, 0))
		}
	}
}

// TestLongRecord has a record longer than the usual window.
func TestLongRecord(t *testing.T) {
	var b trace.Batch
	m := mix{rand.New(rand.NewPCG(1, 2)), false}
	b.Append(1, trace.Enter, 3)
	const size = 300_001
	b.Append(2, 250, 0, append([]uint64{size}, m.bytes(size)...)...)
	b.Append(3, trace.Leave, 3)
	src := completeSource(1, false)
	src.chunks[2] = []trace.Batch{b}
	equalSources(t, src, copies(t, src, Options{}))
}

// TestParallelChunks decodes all chunks of a location at once.
func TestParallelChunks(t *testing.T) {
	src := newRing(2, 5000)
	a := copies(t, src, Options{EventChunk: 8 << 10})
	want := allRecords(t, src, 1)
	st, err := a.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	parts := make([][]record, st.Chunks())
	if len(parts) < 20 {
		t.Fatalf("%d chunks", len(parts))
	}
	var wg sync.WaitGroup
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(len(parts)) {
		wg.Go(func() {
			r, err := st.Chunk(i)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			var b trace.Batch
			for r.Next(&b) == nil {
				parts[i] = appendRecords(parts[i], &b)
			}
			if d := r.Diagnostics(); len(d) > 0 {
				t.Error(d)
			}
		})
	}
	wg.Wait()
	sameEvents(t, want, slices.Concat(parts...))
}

// TestOpenFromBytes makes archives from the bytes that one process read.
func TestOpenFromBytes(t *testing.T) {
	src := completeSource(2, false)
	first := copies(t, src, Options{})
	f, err := Load(first.dir + anchorSuffix)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(f.Path, f.Anchor, f.Defs)
	if err != nil {
		t.Fatal(err)
	}
	equalSources(t, src, a)
	b := copies(t, src, Options{}) // another folder
	if a.Identity() != b.Identity() {
		t.Error("identity depends on the path")
	}
	if c := copies(t, src, Options{Description: "other"}); a.Identity() == c.Identity() {
		t.Error("identity does not depend on the anchor")
	}
	if _, err := a.Stream(99); err == nil {
		t.Error("stream of a location that is not there")
	}
	if _, err := a.Measure(99); err == nil {
		t.Error("measure of a location that is not there")
	}
}

// TestPathsDoNotMatter checks that diagnostics are the same wherever a damaged
// archive lies.
func TestPathsDoNotMatter(t *testing.T) {
	files := smallArchive(t, Options{})
	files["traces/7.evt"] = files["traces/7.evt"][:100]
	files["traces/7.def"] = files["traces/7.def"][:17]
	files["traces.def"] = files["traces.def"][:len(files["traces.def"])-2]
	var all []trace.Diagnostics
	for range 2 {
		dir := t.TempDir()
		files.store(t, dir)
		o := readAll(t, dir)
		all = append(all, o.diags)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" || len(all[0].Codes) != 3 {
		t.Error(all[0], diff)
	}
}

// TestBatchBounds checks that a batch ends at its limits.
func TestBatchBounds(t *testing.T) {
	a := copies(t, completeSource(6, true), Options{})
	r := copies(t, newRing(1, 2000), Options{})
	for _, src := range []*Archive{a, r} {
		drain(t, src, 0, func(b *trace.Batch) {
			if len(b.Events) > batchEvents || len(b.Args) > batchWords+300 || cap(b.Args) > 4*batchWords {
				t.Errorf("batch of %d events and %d words", len(b.Events), len(b.Args))
			}
		})
	}
	if testing.AllocsPerRun(1, func() { drain(t, r, 0, nil) }) > 200 {
		t.Error("allocations per event")
	}
}
