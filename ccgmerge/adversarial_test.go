package ccgmerge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// hostile are streams that are hard to fold or to merge. Process p of n plays the
// one of its number, so that no two neighbours are alike.
var hostile = []func(b *trace.Batch, p, n uint32){
	func(*trace.Batch, uint32, uint32) {}, // nothing at all
	func(b *trace.Batch, p, n uint32) { // request ids that rise for ever, from anywhere
		for i := range uint64(300) {
			id := uint64(p)<<40 + i
			b.Append(trace.Time(3*i), trace.MpiIsend, 0, uint64((p+1)%n), 0, 1, 8, id)
			b.Append(trace.Time(3*i), trace.MpiIsendComplete, 0, id)
		}
	},
	func(b *trace.Batch, p, _ uint32) { // random trips
		r := rand.New(rand.NewPCG(uint64(p), 1))
		for range 200 {
			b.Append(0, trace.Enter, 1)
			for range r.IntN(9) {
				b.Append(0, trace.Enter, 2)
				b.Append(0, trace.Leave, 2)
			}
			b.Append(0, trace.Leave, 1)
		}
	},
	func(b *trace.Batch, p, n uint32) { // a receive first that nobody posted, of a rank that is none
		b.Append(1<<62, trace.MpiIrecv, 0, uint64(n+p), 0, 1, 8, 99)
		b.Append(1<<62, trace.MpiRecv, 0, trace.Undefined, 7, 1, 8)
	},
	func(b *trace.Batch, p, _ uint32) { // deep, never left
		for i := range uint32(3000) {
			b.Append(trace.Time(i), trace.Enter, (i+p)%5)
		}
	},
	func(b *trace.Batch, p, _ uint32) { // leaves of nothing
		for i := range uint32(50) {
			b.Append(trace.Time(i), trace.Leave, i%(p+1))
		}
	},
	func(b *trace.Batch, _, _ uint32) { // many loops, each another one
		for i := range uint32(1100) {
			for range 3 {
				b.Append(9, trace.ParameterString, 0, 1, uint64(i))
				b.Append(9, trace.ParameterString, 0, 2, uint64(i))
			}
		}
	},
	func(b *trace.Batch, p, n uint32) { // every process another partner, one way or the other
		for i := range 40 * uint64(n) {
			b.Append(trace.Time(i), trace.MpiSend, 0, (i*uint64(p)+i)%uint64(n), 0, 1, 8)
		}
	},
}

// TestHostileRanks merges hostile locations on any number of ranks: same bytes,
// and every event comes back.
func TestHostileRanks(t *testing.T) {
	size := uint32(2*len(hostile) + 1)
	d := definitions(int(size))
	var locals []*build.Local
	var streams []*trace.Batch
	for p := range size {
		b := &trace.Batch{}
		hostile[int(p)%len(hostile)](b, p, size)
		streams = append(streams, b)
		builder := build.NewBuilder(d, trace.P(p), graph.Options{})
		if err := builder.Add(b); err != nil {
			t.Fatal(err)
		}
		l, err := builder.Finish()
		if err != nil {
			t.Fatal(err)
		}
		locals = append(locals, l)
	}
	var want []byte
	for _, ranks := range []int{1, 2, 3, 5, 8, 17, 20} {
		sections := make([][]byte, ranks)
		blobs := make([][]byte, size)
		err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
			lo, hi := c.Rank()*int(size)/ranks, (c.Rank()+1)*int(size)/ranks
			shared, _, _, err := Reduce(c, d, slice(locals[lo:hi]), graph.Options{}, Config{Message: 700})
			if err != nil {
				return err
			}
			sections[c.Rank()] = shared.Encode()
			for p := lo; p < hi; p++ {
				if blobs[p], err = build.NewDistributor(shared).Distribute(locals[p]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Join(append(sections[:1:1], blobs...), nil)
		if want == nil {
			want = all
		}
		if !bytes.Equal(all, want) || slices.ContainsFunc(sections, func(s []byte) bool { return !bytes.Equal(s, sections[0]) }) {
			t.Fatalf("%d ranks: other bytes", ranks)
		}
		if ranks != 3 {
			continue
		}
		shared, err := graph.OpenShared(d, sections[2])
		if err != nil {
			t.Fatal(err)
		}
		for p := range streams {
			loc, err := ccg.OpenLocation(shared, blobs[p])
			if err != nil {
				t.Fatal(err)
			}
			if err := same(streams[p], loc); err != nil {
				t.Errorf("location %d: %v", p, err)
			}
		}
		t.Logf("%d locations, %d nodes", size, shared.Nodes())
	}
}

// same compares the expansion of a location with its stream.
func same(want *trace.Batch, l *ccg.Location) error {
	x := l.Expand()
	var got trace.Batch
	n := 0
	for x.Next(&got) == nil {
		for i := range got.Events {
			if n == len(want.Events) {
				return fmt.Errorf("more than %d events", n)
			}
			w, g := want.Events[n], got.Events[i]
			ww, gw := want.Words(&w), got.Words(&g)
			w.Arg, g.Arg = 0, 0
			if w != g || !slices.Equal(ww, gw) {
				return fmt.Errorf("event %d is %+v %x, want %+v %x", n, g, gw, w, ww)
			}
			n++
		}
	}
	if n != len(want.Events) {
		return fmt.Errorf("%d events, want %d", n, len(want.Events))
	}
	return nil
}
