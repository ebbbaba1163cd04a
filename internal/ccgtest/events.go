package ccgtest

import (
	"math/rand/v2"

	"github.com/coppice-hpc/coppice/trace"
)

// StencilEvents is an iterative program of four kernels a step; 36 % of its
// events are records of MPI.
func StencilEvents(n int, jitter bool) *trace.Batch { return ProgramEvents(n, 4, jitter) }

// ProgramEvents is an iterative program: in a step kernels, sends and receives
// with their requests, a wait; jittered times.
func ProgramEvents(n, kernels int, jitter bool) *trace.Batch {
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

// CallEvents is the stencil without messages: enters and leaves.
func CallEvents(n int) *trace.Batch {
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

// IrregularEvents is a random call tree: nearly every inner node is new.
func IrregularEvents(n int) *trace.Batch {
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

// Player plays a string: letters are enters, '.' the leave of the innermost
// call, '!' a record, '?' a stray leave.
func Player(s string) *trace.Batch {
	b := &trace.Batch{}
	var open []uint32
	for i, c := range s {
		t := trace.Time(10 * i)
		switch c {
		case '.':
			b.Append(t, trace.Leave, open[len(open)-1])
			open = open[:len(open)-1]
		case '!':
			b.Append(t, trace.MeasurementOnOff, 0, 1)
		case '?':
			b.Append(t, trace.Leave, 99)
		default:
			open = append(open, uint32(c-'a'))
			b.Append(t, trace.Enter, uint32(c-'a'))
		}
	}
	return b
}
