package predict

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
)

// randomProcess writes what MPI forbids too: requests that end in any order, late, twice or never, ids that are reused or unknown,
// probes before anything, records outside of calls. It does not matter here that nobody answers.
func randomProcess(r *rand.Rand, p, n int) *trace.Batch {
	s := &scribe{Batch: &trace.Batch{}, now: trace.Time(r.IntN(50))}
	s.call(inInit)
	var open []uint64 // ids of requests; kinds by id
	kinds := map[uint64]trace.Kind{}
	next := uint64(r.IntN(3) * 1000)
	step := []uint64{1, 1, 7, 1000}[r.IntN(4)]
	message := func() []uint64 {
		return []uint64{uint64((p + 1 + r.IntN(2)) % n), 0, uint64(r.IntN(2)), 8 * uint64(1+r.IntN(r.IntN(3)+1))}
	}
	post := func(region uint32, k trace.Kind, words ...uint64) {
		id := next
		next += step
		kinds[id] = k
		open = append(open, id)
		s.call(region, s.record(k, append(words, id)...))
	}
	done := func(id uint64) func() {
		switch kinds[id] {
		case trace.MpiIsend:
			return s.record(trace.MpiIsendComplete, id)
		case trace.MpiIrecvRequest:
			return s.record(trace.MpiIrecv, append(message(), id)...)
		}
		return s.record(trace.NonBlockingCollectiveComplete, 0, 0, trace.Undefined, 0, 0, id)
	}
	var ended []uint64
	acts := []func(){
		func() { s.call(inSend, s.record(trace.MpiSend, message()...)) },
		func() { s.call(inSsend, s.record(trace.MpiSend, message()...)) },
		func() { s.call(inRecv, s.record(trace.MpiRecv, message()...)) },
		func() {
			s.call(inSendrecv, s.record(trace.MpiSend, message()...), s.record(trace.MpiRecv, message()...))
		},
		func() { post(inIsend, trace.MpiIsend, message()...) },
		func() { post(inIrecv, trace.MpiIrecvRequest) },
		func() { post(inIbarrier, trace.NonBlockingCollectiveRequest) },
		func() {
			s.call(inAllreduce, s.record(trace.MpiCollectiveEnd, 11, 0, trace.Undefined, 8*uint64(n), 8*uint64(n)))
		},
		func() { s.call(inBarrier, s.record(trace.MpiCollectiveEnd, 0, uint64(1-p%2), trace.Undefined, 0, 0)) },
		func() { s.call(inTest) },
		func() { s.call(inProbe) },
		func() { s.call(inWork) },
		func() { s.work(r.IntN(100)) },
		func() { // some or all requests end, in any order
			var list []func()
			r.Shuffle(len(open), func(i, j int) {
				if r.IntN(3) == 0 {
					open[i], open[j] = open[j], open[i]
				}
			})
			for range r.IntN(len(open) + 1) {
				list = append(list, done(open[0]))
				ended = append(ended, open[0])
				open = open[1:]
			}
			s.call(inWait, list...)
		},
		func() { // once more, or as something else
			if len(ended) > 0 && r.IntN(8) == 0 {
				id := ended[r.IntN(len(ended))]
				if r.IntN(3) == 0 {
					kinds[id] = trace.MpiIsend
				}
				s.call(inWait, done(id))
			}
		},
		func() {
			if len(open) > 0 && r.IntN(6) == 0 {
				s.call(inWait, s.record(trace.MpiRequestCancelled, open[0]))
				open = open[1:]
			}
		},
		func() {
			if r.IntN(10) == 0 {
				s.record(trace.MpiSend, message()...)()
			}
		},
		func() {
			if r.IntN(10) == 0 {
				s.call(inWait, s.record(trace.MpiIsendComplete, 1<<40), s.record(trace.MpiIrecv, append(message(), 1<<41)...))
			}
		},
	}
	for range 1 + r.IntN(4) { // a loop: the same body again and again, its numbers and its ids too
		seed, times := r.Uint64(), 1+r.IntN(6)
		body := 1 + r.IntN(8)
		for range times {
			q := rand.New(rand.NewPCG(seed, 1))
			if r.IntN(8) == 0 {
				q = r
			}
			old := r
			r = q
			s.Append(s.now, trace.Enter, inMain)
			for range body {
				acts[q.IntN(len(acts))]()
			}
			s.Append(s.now, trace.Leave, inMain)
			r = old
		}
	}
	s.call(inFinalize)
	return s.Batch
}

// TestRandomPrograms compares programs of random processes with their events, on one rank and on several.
func TestRandomPrograms(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 2 + r.IntN(4)
		d := worldOf(n)
		var list []*trace.Batch
		for p := range n {
			if p > 0 && r.IntN(2) == 0 {
				list = append(list, list[p-1])
				continue
			}
			list = append(list, randomProcess(r, p, n))
		}
		f := graphsOfBatches(t, d, list)
		one := inputs(t, f, 1)[0]
		for p := range one.Processes() {
			if err := checkTwin(one, one.tables, p); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if err := checkProgram(one.Program); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if seed%8 != 0 {
			continue
		}
		for _, in := range inputs(t, f, 3) {
			if !reflect.DeepEqual(in.Program, one.Program) || !slices.Equal(in.Region, one.Region) || in.Left != one.Left {
				t.Fatalf("seed %d: another program on three ranks", seed)
			}
		}
	}
}

// checkProgram checks what the simulator relies on.
func checkProgram(p *simnet.Program) error {
	for i, n := range p.Nodes {
		if n.Kind == simnet.Call {
			if uint64(n.First)+uint64(n.Len) > uint64(len(p.Actions)) {
				return fmt.Errorf("node %d: actions %d to %d", i, n.First, n.First+n.Len)
			}
			continue
		}
		if n.Kind == simnet.Loop && (n.Len != 1 || n.Count < 2) {
			return fmt.Errorf("node %d: a loop of %d children, %d times", i, n.Len, n.Count)
		}
		for _, c := range p.Children[n.First : n.First+n.Len] {
			if int(c) >= i {
				return fmt.Errorf("node %d: child %d", i, c)
			}
		}
	}
	for i, a := range p.Actions {
		if a.Kind != simnet.FileIO && a.Comm >= uint32(len(p.Comms)) {
			return fmt.Errorf("action %d: communicator %d", i, a.Comm)
		}
	}
	return nil
}
