package predict

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// rambler writes what MPI forbids too: requests that end in any order, late, twice or never, ids that are reused or unknown,
// probes before anything, records outside of calls. It does not matter here that nobody answers.
type rambler struct {
	*scribe
	r           *rand.Rand
	p, n        int
	open, ended []uint64 // ids of requests
	kinds       map[uint64]trace.Kind
	next, step  uint64
}

// randomProcess writes process p of n: loops of the same body again and again, its numbers and its ids too, sometimes another one.
func randomProcess(r *rand.Rand, p, n int) *trace.Batch {
	w := &rambler{
		scribe: &scribe{Batch: &trace.Batch{}, now: trace.Time(r.IntN(50))}, r: r, p: p, n: n, kinds: map[uint64]trace.Kind{},
		next: uint64(r.IntN(3) * 1000), step: []uint64{1, 1, 7, 1000}[r.IntN(4)],
	}
	w.call(inInit)
	for range 1 + r.IntN(4) {
		seed, times := r.Uint64(), 1+r.IntN(6)
		body := 1 + r.IntN(8)
		for range times {
			if w.r = rand.New(rand.NewPCG(seed, 1)); r.IntN(8) == 0 {
				w.r = r
			}
			w.Append(w.now, trace.Enter, inMain)
			for range body {
				if k := w.r.IntN(17); k < 11 {
					w.act(k)
				} else {
					w.request(k)
				}
			}
			w.Append(w.now, trace.Leave, inMain)
		}
	}
	w.call(inFinalize)
	return w.Batch
}

// message returns partner, communicator, tag and bytes.
func (w *rambler) message() []uint64 {
	return []uint64{uint64((w.p + 1 + w.r.IntN(2)) % w.n), 0, uint64(w.r.IntN(2)), 8 * uint64(1+w.r.IntN(w.r.IntN(3)+1))}
}

// act does something that is over with its call.
func (w *rambler) act(k int) {
	switch k {
	case 0:
		w.call(inSend, w.record(trace.MpiSend, w.message()...))
	case 1:
		w.call(inSsend, w.record(trace.MpiSend, w.message()...))
	case 2:
		w.call(inRecv, w.record(trace.MpiRecv, w.message()...))
	case 3:
		w.call(inSendrecv, w.record(trace.MpiSend, w.message()...), w.record(trace.MpiRecv, w.message()...))
	case 4:
		w.call(inAllreduce, w.record(trace.MpiCollectiveEnd, 11, 0, trace.Undefined, 8*uint64(w.n), 8*uint64(w.n)))
	case 5:
		w.call(inBarrier, w.record(trace.MpiCollectiveEnd, 0, uint64(1-w.p%2), trace.Undefined, 0, 0))
	case 6:
		w.call(inTest)
	case 7:
		w.call(inProbe)
	case 8:
		w.call([]uint32{inWork, inPut}[w.r.IntN(2)])
		if w.r.IntN(2) == 0 {
			w.call(inWrite, w.record(trace.IoOperationBegin, 0, 0, 0, uint64(1+w.r.IntN(2)), 0))
		}
	case 9:
		w.work(w.r.IntN(100))
	case 10:
		if w.r.IntN(10) == 0 {
			w.record(trace.MpiSend, w.message()...)()
		}
	}
}

// post begins a request.
func (w *rambler) post(region uint32, k trace.Kind, words ...uint64) {
	id := w.next
	w.next += w.step
	w.kinds[id] = k
	w.open = append(w.open, id)
	w.call(region, w.record(k, append(words, id)...))
}

// done returns what ends a request.
func (w *rambler) done(id uint64) func() {
	switch w.kinds[id] {
	case trace.MpiIsend:
		return w.record(trace.MpiIsendComplete, id)
	case trace.MpiIrecvRequest:
		return w.record(trace.MpiIrecv, append(w.message(), id)...)
	}
	return w.record(trace.NonBlockingCollectiveComplete, 0, 0, trace.Undefined, 0, 0, id)
}

// request begins or ends requests.
func (w *rambler) request(k int) {
	switch k {
	case 11:
		w.post(inIsend, trace.MpiIsend, w.message()...)
	case 12:
		w.post(inIrecv, trace.MpiIrecvRequest)
	case 13:
		w.post(inIbarrier, trace.NonBlockingCollectiveRequest)
	case 14: // some or all requests end, in any order
		var list []func()
		w.r.Shuffle(len(w.open), func(i, j int) {
			if w.r.IntN(3) == 0 {
				w.open[i], w.open[j] = w.open[j], w.open[i]
			}
		})
		for range w.r.IntN(len(w.open) + 1) {
			list = append(list, w.done(w.open[0]))
			w.ended = append(w.ended, w.open[0])
			w.open = w.open[1:]
		}
		w.call(inWait, list...)
	case 15: // once more, or as something else
		if len(w.ended) > 0 && w.r.IntN(8) == 0 {
			id := w.ended[w.r.IntN(len(w.ended))]
			if w.r.IntN(3) == 0 {
				w.kinds[id] = trace.MpiIsend
			}
			w.call(inWait, w.done(id))
		}
		if w.r.IntN(10) == 0 {
			w.call(inWait, w.record(trace.MpiIsendComplete, 1<<40), w.record(trace.MpiIrecv, append(w.message(), 1<<41)...))
		}
	case 16:
		if len(w.open) > 0 && w.r.IntN(6) == 0 {
			w.call(inWait, w.record(trace.MpiRequestCancelled, w.open[0]))
			w.open = w.open[1:]
		}
	}
}

// TestRandomPrograms compares programs of random processes with their events, on one rank and on several.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
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
func checkProgram(p *program.Program) error {
	for i, n := range p.Nodes {
		if n.Kind == program.Call {
			if uint64(n.First)+uint64(n.Len) > uint64(len(p.Actions)) {
				return fmt.Errorf("node %d: actions %d to %d", i, n.First, n.First+n.Len)
			}
			continue
		}
		if n.Kind == program.Loop && (n.Len != 1 || n.Count < 2) {
			return fmt.Errorf("node %d: a loop of %d children, %d times", i, n.Len, n.Count)
		}
		for _, c := range p.Children[n.First : n.First+n.Len] {
			if int(c) >= i {
				return fmt.Errorf("node %d: child %d", i, c)
			}
		}
	}
	for i, a := range p.Actions {
		if a.Kind != program.FileIO && a.Comm >= uint32(len(p.Comms)) {
			return fmt.Errorf("action %d: communicator %d", i, a.Comm)
		}
	}
	return nil
}
