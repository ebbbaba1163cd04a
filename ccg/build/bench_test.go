package build

import (
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

func benchmarkBuild(b *testing.B, all *trace.Batch) {
	defs := ccgtest.Definitions(8)
	builder := NewBuilder(defs, 0, graph.Options{})
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
func BenchmarkBuildMessages(b *testing.B)  { benchmarkBuild(b, ccgtest.ProgramEvents(1<<20, 2, true)) }
func BenchmarkBuildStencil(b *testing.B)   { benchmarkBuild(b, ccgtest.StencilEvents(1<<20, true)) }
func BenchmarkBuildCalls(b *testing.B)     { benchmarkBuild(b, ccgtest.CallEvents(1<<20)) }
func BenchmarkBuildIrregular(b *testing.B) { benchmarkBuild(b, ccgtest.IrregularEvents(1<<20)) }

func benchmarkWalk(b *testing.B, all *trace.Batch) {
	defs := ccgtest.Definitions(8)
	l := built(b, defs, 0, all, graph.Options{}, 4096)
	d := NewDistributor(join(b, defs, []*Local{l}, graph.Options{}))
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

func BenchmarkDistributeStencil(b *testing.B)   { benchmarkWalk(b, ccgtest.StencilEvents(1<<20, true)) }
func BenchmarkDistributeIrregular(b *testing.B) { benchmarkWalk(b, ccgtest.IrregularEvents(1<<20)) }

// BenchmarkMerge joins the parts of an irregular graph with one that has most
// of its nodes, and with an empty one.
func BenchmarkMerge(b *testing.B) {
	defs := ccgtest.Definitions(8)
	one := built(b, defs, 0, ccgtest.IrregularEvents(1<<20), graph.Options{}, 4096)
	e := NewPartners(defs).Choose()
	from := NewUnion(defs, e, graph.Options{})
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
			into := NewUnion(defs, e, graph.Options{})
			b.ReportAllocs()
			if c.known {
				if err := into.Add(one); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if !c.known {
					into = NewUnion(defs, e, graph.Options{})
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
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(from.Len()), "ns/node")
			b.ReportMetric(float64(from.Len()), "nodes")
		})
	}
}

// BenchmarkUnion joins a location of an irregular program with an empty union, and
// with one that has its nodes.
func BenchmarkUnion(b *testing.B) {
	defs := ccgtest.Definitions(8)
	one := built(b, defs, 0, ccgtest.IrregularEvents(1<<20), graph.Options{}, 4096)
	e := NewPartners(defs).Choose()
	for _, known := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "known"}[known], func(b *testing.B) {
			u := NewUnion(defs, e, graph.Options{})
			b.ReportAllocs()
			for b.Loop() {
				if !known {
					u = NewUnion(defs, e, graph.Options{})
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
	defs := ccgtest.Definitions(size)
	all := &trace.Batch{}
	for region := range uint32(10) {
		all.Append(0, trace.Enter, region)
		for i := range uint64(size) {
			all.Append(0, trace.MpiSend, 0, i*7%size, 0, 1, 64)
		}
		all.Append(0, trace.Leave, region)
	}
	l := built(b, defs, size/2, all, graph.Options{}, 4096)
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
