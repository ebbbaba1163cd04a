package stats_test

import (
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// dropped is a sink, sorter and adder that keeps nothing.
type dropped struct{ n int64 }

func (d *dropped) Append(b []byte) (int64, error) {
	d.n += int64(len(b))
	return d.n - int64(len(b)), nil
}
func (d *dropped) ReadAt([]byte, int64) (int, error) { return 0, nil }

// BenchmarkLoader loads location 0 of a generated trace that lies in memory, with
// rows and without.
func BenchmarkLoader(b *testing.B) {
	for _, spec := range []string{"stencil:procs=4,events=800k,seed=1", "irregular:procs=4,events=800k,seed=1"} {
		o, err := synthetic.ParseOptions(spec)
		if err != nil {
			b.Fatal(err)
		}
		src, err := synthetic.New(o)
		if err != nil {
			b.Fatal(err)
		}
		batches, events := batchesOf(b, src)
		for _, rows := range []bool{false, true} {
			name := "/sums"
			if rows {
				name = "/rows"
			}
			b.Run(spec+name, func(b *testing.B) {
				t := stats.NewTables(src.Definitions(), 0)
				l := stats.NewLoader(t, 0, stats.Outputs{})
				for b.Loop() {
					l.Reset(0, outputs(rows))
					for i := range batches {
						if err := l.Add(&batches[i]); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := l.Finish(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
			})
		}
	}
}

func batchesOf(b testing.TB, src trace.Source) (list []trace.Batch, events int) {
	stream, err := src.Stream(0)
	if err != nil {
		b.Fatal(err)
	}
	for i := range stream.Chunks() {
		r, err := stream.Chunk(i)
		if err != nil {
			b.Fatal(err)
		}
		for {
			var x trace.Batch
			if r.Next(&x) != nil {
				break
			}
			x.First = uint64(events)
			events += len(x.Events)
			list = append(list, x)
		}
	}
	return list, events
}

func outputs(rows bool) stats.Outputs {
	if !rows {
		return stats.Outputs{}
	}
	types, enc := xtf.StandardTypes(xtf.Packed), xtf.NewEncoder()
	array := func(t xtf.TypeID) *xtf.ArrayBuilder {
		return xtf.NewArrayBuilder(enc, types.Lookup(t), 0, &dropped{})
	}
	return stats.Outputs{
		Calls: array(xtf.TypeCall), IO: array(xtf.TypeIO), RMA: array(xtf.TypeRMA), Metrics: array(xtf.TypeMetric),
		Channels: array(xtf.TypeChannel), Chan: array(xtf.TypeChan),
		Sorted: &dropped{}, Late: &dropped{},
	}
}
