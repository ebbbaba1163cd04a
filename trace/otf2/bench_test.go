package otf2

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// ring is a Source of n processes that pass messages around: per step a
// computation, a send and a receive, 8 events, each with its own time.
type ring struct {
	defs  *trace.Definitions
	steps int
}

func newRing(n, steps int) *ring {
	d := &trace.Definitions{}
	text := func(s string) uint32 {
		add(d, trace.DefString, trace.String{Ref: uint32(len(d.Strings)), Value: s})
		return uint32(len(d.Strings) - 1)
	}
	text("")
	node, world := text("node"), text("MPI_COMM_WORLD")
	add(d, trace.DefClockProperties, trace.ClockProperties{TimerResolution: 1e9, GlobalOffset: 1e6, TraceLength: uint64(steps) * 20000, RealtimeTimestamp: trace.Undefined64})
	add(d, trace.DefSystemTreeNode, trace.SystemTreeNode{Name: node, Class: node, Parent: trace.Undefined})
	for i := range uint32(302) {
		r := trace.Region{Ref: i, Name: text("compute"), Role: trace.RoleFunction, Paradigm: trace.ParadigmCompiler}
		if i >= 300 {
			r.Name, r.Role, r.Paradigm = text([]string{"MPI_Send", "MPI_Recv"}[i-300]), trace.RolePointToPoint, trace.ParadigmMPI
		}
		r.CanonicalName = r.Name
		add(d, trace.DefRegion, r)
	}
	members := make([]uint64, n)
	for i := range n {
		members[i] = uint64(i)
		add(d, trace.DefLocationGroup, trace.LocationGroup{Ref: uint32(i), Name: node, Type: trace.ProcessGroup, Creator: trace.Undefined})
		add(d, trace.DefLocation, trace.Location{Ref: uint64(i), Name: node, Type: trace.CPUThread, Group: uint32(i), Events: uint64(8 * steps)})
	}
	add(d, trace.DefGroup, trace.Group{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: members})
	add(d, trace.DefGroup, trace.Group{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members})
	add(d, trace.DefComm, trace.Comm{Name: world, Group: 1, Parent: trace.Undefined})
	d.Seal()
	return &ring{d, steps}
}

func (r *ring) Definitions() *trace.Definitions       { return r.defs }
func (r *ring) Format() string                        { return "ring" }
func (r *ring) Identity() [32]byte                    { return [32]byte{} }
func (r *ring) Measure(trace.P) (trace.Extent, error) { return trace.Extent{}, nil }
func (r *ring) Close() error                          { return nil }
func (r *ring) Stream(p trace.P) (trace.Stream, error) {
	return trace.NewStream(1, func(int) (trace.ChunkReader, error) {
		return trace.Fill((&ringChunk{r: r, p: uint32(p), x: 88172645463325252 + uint64(p)}).fill), nil
	}), nil
}

type ringChunk struct {
	r    *ring
	p    uint32
	step int
	x    uint64
}

func (c *ringChunk) jitter() trace.Time {
	c.x ^= c.x << 13
	c.x ^= c.x >> 7
	c.x ^= c.x << 17
	return trace.Time(c.x & 1023)
}

func (c *ringChunk) fill(b *trace.Batch) error {
	b.First = uint64(8 * c.step)
	n := uint32(c.r.defs.NumLocations())
	for ; c.step < c.r.steps && len(b.Events) < 2048; c.step++ {
		s := uint64(c.step)
		t := trace.Time(1e6+s*20000) + c.jitter()
		bytes := uint64(8) << (s % 12)
		b.Append(t, trace.Enter, uint32(s%30))
		b.Append(t+4000+c.jitter(), trace.Leave, uint32(s%30))
		b.Append(t+6000, trace.Enter, 300)
		b.Append(t+6100, trace.MpiSend, 0, uint64((c.p+1)%n), 0, s&255, bytes)
		b.Append(t+6900, trace.Leave, 300)
		b.Append(t+7000, trace.Enter, 301)
		b.Append(t+9000+c.jitter(), trace.MpiRecv, 0, uint64((c.p+n-1)%n), 0, s&255, bytes)
		b.Append(t+11000, trace.Leave, 301)
	}
	return nil
}

// newMeasured is a ring with a metric record of three values at every call.
func newMeasured(b *testing.B, n, steps int) trace.Source {
	m := inMemory(b, newRing(n, steps))
	for _, chunks := range m.chunks {
		for i := range chunks {
			old := chunks[i]
			chunks[i] = trace.Batch{}
			for k := range old.Events {
				e := &old.Events[k]
				chunks[i].Append(e.Time, e.Kind, e.Ref, old.Words(e)...)
				if e.Kind == trace.Enter || e.Kind == trace.Leave {
					t := uint64(e.Time)
					chunks[i].Append(e.Time, trace.Metric, 0, 0, 3, uint64(trace.TypeUint64), t, uint64(trace.TypeUint64), t*3, uint64(trace.TypeUint64), t>>12)
				}
			}
		}
	}
	return m
}

// benchArchive writes an archive and opens it.
func benchArchive(b *testing.B, src trace.Source, o Options) (*Archive, uint64, uint64) {
	b.Helper()
	dir := b.TempDir()
	if _, err := Copy(dir, "ring", src, o); err != nil {
		b.Fatal(err)
	}
	a := mustOpen(b, dir)
	var bytes, events uint64
	for p := range trace.P(a.Definitions().NumLocations()) {
		x, err := a.Measure(p)
		if err != nil {
			b.Fatal(err)
		}
		bytes, events = bytes+x.Bytes, events+x.Events
	}
	return a, bytes, events
}

func perSecond(b *testing.B, bytes, events uint64) {
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkLocal(b *testing.B) {
	slope := func(trace.P) *Local {
		return &Local{Offsets: []ClockOffset{{Time: 1e6, Offset: 1000}, {Time: 1e9, Offset: -300}}}
	}
	for _, c := range []struct {
		name  string
		touch bool
		src   trace.Source
		o     Options
	}{
		{"decode", false, newRing(16, 12500), Options{}},
		{"touch", true, newRing(16, 12500), Options{}},
		{"clock", false, newRing(16, 12500), Options{Local: slope}},
		{"big-endian", false, newRing(16, 12500), Options{BigEndian: true}},
		{"metrics", false, newMeasured(b, 16, 12500), Options{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			a, bytes, events := benchArchive(b, c.src, c.o)
			var batch trace.Batch
			b.ReportAllocs()
			for b.Loop() {
				var sum uint64
				for p := range trace.P(16) {
					st, err := a.Stream(p)
					if err != nil {
						b.Fatal(err)
					}
					for i := range st.Chunks() {
						r, err := st.Chunk(i)
						if err != nil {
							b.Fatal(err)
						}
						for r.Next(&batch) == nil {
							if c.touch {
								sum += touch(&batch)
							}
						}
						r.Close()
					}
					st.Close()
				}
			}
			perSecond(b, bytes, events)
		})
	}
}

// touch reads every event and every word.
func touch(b *trace.Batch) (sum uint64) {
	for i := range b.Events {
		e := &b.Events[i]
		switch e.Kind {
		case trace.Enter, trace.Leave:
			sum ^= uint64(e.Time) + uint64(e.Ref)
		case trace.MpiSend, trace.MpiRecv:
			w := b.Words(e)
			sum ^= uint64(e.Time) + w[0] + w[2] + w[3]
		}
	}
	return sum
}

func BenchmarkWrite(b *testing.B) {
	ring := &memory{newRing(1, 1).defs, [][]trace.Batch{nil}}
	drain(b, newRing(1, 100_000), 0, func(x *trace.Batch) {
		ring.chunks[0] = append(ring.chunks[0], trace.Batch{First: x.First, Events: slices.Clone(x.Events), Args: slices.Clone(x.Args)})
	})
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"plain", Options{}},
		{"big-endian", Options{BigEndian: true}},
		{"clock", Options{Local: func(trace.P) *Local { return &Local{Offsets: []ClockOffset{{Time: 1}, {Time: 2}}} }}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var bytes, events uint64
			for b.Loop() {
				w, err := Create(b.TempDir(), "x", ring.defs, c.o)
				if err != nil {
					b.Fatal(err)
				}
				var found trace.Diagnostics
				if err := w.copyLocation(ring, 0, &found); err != nil {
					b.Fatal(err)
				}
				st, err := os.Stat(filepath.Join(w.dir, "x", "0.evt"))
				if err != nil {
					b.Fatal(err)
				}
				bytes, events = uint64(st.Size()), w.counts[0]
			}
			perSecond(b, bytes, events)
		})
	}
}
