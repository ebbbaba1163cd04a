package ccg

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// stencilEvents is an iterative program of four kernels a step; 36 % of its
// events are records of MPI.
func stencilEvents(n int, jitter bool) *trace.Batch { return programEvents(n, 4, jitter) }

// programEvents is an iterative program: in a step kernels, sends and receives
// with their requests, a wait; jittered times.
func programEvents(n, kernels int, jitter bool) *trace.Batch {
	r := rand.New(rand.NewPCG(1, 1))
	b := &trace.Batch{}
	t := trace.Time(0)
	req := uint64(0)
	at := func(d int) trace.Time {
		if jitter {
			d += r.IntN(d/10 + 2)
		}
		t += trace.Time(d)
		return t
	}
	call := func(ref uint32, d int) {
		b.Append(at(20), trace.Enter, ref)
		b.Append(at(d), trace.Leave, ref)
	}
	b.Append(at(1), trace.Enter, 0)
	for len(b.Events) < n {
		b.Append(at(10), trace.Enter, 1)
		for k := range kernels {
			call(uint32(2+k), 1000*(k+1))
		}
		for k := range uint64(4) {
			b.Append(at(5), trace.Enter, 6)
			req++
			b.Append(at(5), trace.MpiIrecvRequest, 0, req)
			b.Append(at(5), trace.Leave, 6)
			b.Append(at(5), trace.Enter, 7)
			req++
			b.Append(at(5), trace.MpiIsend, 0, k, 0, 1, 4096, req)
			b.Append(at(5), trace.Leave, 7)
		}
		b.Append(at(5), trace.Enter, 8)
		for k := range uint64(4) {
			b.Append(at(500), trace.MpiIrecv, 0, k, 0, 1, 4096, req-7+2*k)
			b.Append(at(2), trace.MpiIsendComplete, 0, req-6+2*k)
		}
		b.Append(at(5), trace.Leave, 8)
		b.Append(at(5), trace.Leave, 1)
	}
	b.Append(at(5), trace.Leave, 0)
	return b
}

// callEvents is the stencil without messages: enters and leaves.
func callEvents(n int) *trace.Batch {
	b := &trace.Batch{}
	t := trace.Time(0)
	b.Append(t, trace.Enter, 0)
	for i := 0; len(b.Events) < n; i++ {
		t += 100
		b.Append(t, trace.Enter, 1)
		for k := range uint32(6) {
			t += trace.Time(50 + k)
			b.Append(t, trace.Enter, 2+k)
			t += 1000
			b.Append(t, trace.Leave, 2+k)
		}
		t += 10
		b.Append(t, trace.Leave, 1)
	}
	b.Append(t, trace.Leave, 0)
	return b
}

// irregularEvents is a random call tree: nearly every inner node is new.
func irregularEvents(n int) *trace.Batch {
	r := rand.New(rand.NewPCG(2, 2))
	b := &trace.Batch{}
	t := trace.Time(0)
	var open []uint32
	for len(b.Events) < n {
		t += trace.Time(r.IntN(3000))
		if len(open) > 1 && r.IntN(2) == 0 {
			b.Append(t, trace.Leave, open[len(open)-1])
			open = open[:len(open)-1]
			continue
		}
		ref := uint32(r.IntN(40))
		b.Append(t, trace.Enter, ref)
		open = append(open, ref)
	}
	for ; len(open) > 0; open = open[:len(open)-1] {
		b.Append(t, trace.Leave, open[len(open)-1])
	}
	return b
}

func benchmarkBuild(b *testing.B, all *trace.Batch) {
	defs := testDefs(8)
	builder := NewBuilder(defs, 0, Options{})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		builder.Reset(0)
		for i := 0; i < len(all.Events); i += 4096 {
			part := trace.Batch{Events: all.Events[i:min(i+4096, len(all.Events))], Args: all.Args}
			if err := builder.Add(&part); err != nil {
				b.Fatal(err)
			}
		}
		l, err := builder.Finish()
		if err != nil {
			b.Fatal(err)
		}
		n = l.Nodes()
	}
	b.ReportMetric(float64(len(all.Events))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(n), "nodes")
}

// BenchmarkBuildMessages has two kernels a step: 40 % records of MPI.
func BenchmarkBuildMessages(b *testing.B)  { benchmarkBuild(b, programEvents(1<<20, 2, true)) }
func BenchmarkBuildStencil(b *testing.B)   { benchmarkBuild(b, stencilEvents(1<<20, true)) }
func BenchmarkBuildCalls(b *testing.B)     { benchmarkBuild(b, callEvents(1<<20)) }
func BenchmarkBuildIrregular(b *testing.B) { benchmarkBuild(b, irregularEvents(1<<20)) }

func benchmarkWalk(b *testing.B, all *trace.Batch) {
	defs := testDefs(8)
	l := build(b, defs, 0, all, Options{}, 4096)
	d := NewDistributor(join(b, defs, []*Local{l}, Options{}))
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		blob, err := d.Distribute(l)
		if err != nil {
			b.Fatal(err)
		}
		size = len(blob)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(all.Events)), "ns/event")
	b.ReportMetric(float64(size)/float64(len(all.Events)), "B/event")
}

func BenchmarkDistributeStencil(b *testing.B)   { benchmarkWalk(b, stencilEvents(1<<20, true)) }
func BenchmarkDistributeIrregular(b *testing.B) { benchmarkWalk(b, irregularEvents(1<<20)) }

// BenchmarkWalkStencil goes through the events of a location in order and does
// nothing with them.
func BenchmarkWalkStencil(b *testing.B) {
	loc := openOne(b, stencilEvents(1<<20, true))
	var w walker
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		w.init(loc.view)
		for n = 0; ; n++ {
			if st, _, _ := w.next(); st == stepEnd {
				break
			}
		}
	}
	if n != loc.Events() {
		b.Fatalf("%d events, want %d", n, loc.Events())
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n), "ns/event")
}

func BenchmarkExpandStencil(b *testing.B) {
	all := stencilEvents(1<<20, true)
	loc := openOne(b, all)
	var out trace.Batch
	b.ReportAllocs()
	for b.Loop() {
		x := loc.Expand()
		for x.Next(&out) == nil {
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(all.Events)), "ns/event")
}

// openOne makes a graph of one location and opens it.
func openOne(t testing.TB, all *trace.Batch) *Location {
	t.Helper()
	defs := testDefs(8)
	l := build(t, defs, 0, all, Options{}, 4096)
	s := join(t, defs, []*Local{l}, Options{})
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// BenchmarkMerge joins the parts of an irregular graph with one that has most
// of its nodes, and with an empty one.
func BenchmarkMerge(b *testing.B) {
	defs := testDefs(8)
	one := build(b, defs, 0, irregularEvents(1<<20), Options{}, 4096)
	e := NewPartners(defs).Choose()
	from := NewUnion(defs, e, Options{})
	if err := from.Add(one); err != nil {
		b.Fatal(err)
	}
	var parts [][]byte
	for p := range from.Parts(1 << 20) {
		parts = append(parts, p)
	}
	for _, c := range []struct {
		name  string
		known bool
	}{{"new", false}, {"known", true}} {
		b.Run(c.name, func(b *testing.B) {
			into := NewUnion(defs, e, Options{})
			b.ReportAllocs()
			if c.known {
				if err := into.Add(one); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if !c.known {
					into = NewUnion(defs, e, Options{})
				}
				r := into.Receive()
				for _, p := range parts {
					if err := r.Add(p); err != nil {
						b.Fatal(err)
					}
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(from.Nodes()), "ns/node")
			b.ReportMetric(float64(from.Nodes()), "nodes")
		})
	}
}

// BenchmarkUnion joins a location of an irregular program with an empty union, and
// with one that has its nodes.
func BenchmarkUnion(b *testing.B) {
	defs := testDefs(8)
	one := build(b, defs, 0, irregularEvents(1<<20), Options{}, 4096)
	e := NewPartners(defs).Choose()
	for _, known := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "known"}[known], func(b *testing.B) {
			u := NewUnion(defs, e, Options{})
			b.ReportAllocs()
			for b.Loop() {
				if !known {
					u = NewUnion(defs, e, Options{})
				}
				if err := u.Add(one); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(one.Nodes()), "ns/node")
		})
	}
}

// BenchmarkPartners counts the partners of a location that sends to 200 others from
// each of 10 regions, adds such counts, receives them, and chooses.
func BenchmarkPartners(b *testing.B) {
	const size = 200
	defs := testDefs(size)
	all := &trace.Batch{}
	for region := range uint32(10) {
		all.Append(0, trace.Enter, region)
		for i := range uint64(size) {
			all.Append(0, trace.MpiSend, 0, i*7%size, 0, 1, 64)
		}
		all.Append(0, trace.Leave, region)
	}
	l := build(b, defs, size/2, all, Options{}, 4096)
	counts := NewPartners(defs)
	counts.Add(l)
	packed, err := counts.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"add", func() error { NewPartners(defs).Add(l); return nil }},
		{"merge", func() error { NewPartners(defs).Merge(counts); return nil }},
		{"open", func() error { _, err := OpenPartners(defs, packed); return err }},
		{"choose", func() error { counts.Choose(); return nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(l.Nodes()), "ns/node")
		})
	}
}

func BenchmarkProfile(b *testing.B) {
	loc := openOne(b, stencilEvents(1<<20, true))
	for _, inclusive := range []bool{false, true} {
		b.Run(map[bool]string{false: "exclusive", true: "inclusive"}[inclusive], func(b *testing.B) {
			for b.Loop() {
				var p Profile
				if err := p.Add(loc, inclusive); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
