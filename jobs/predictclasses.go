package jobs

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
)

// startTimes is when the processes of a rank began and ended in the recorded run, ps behind the first of all.
type startTimes struct {
	origin trace.Time // first event of all
	first  uint32
	delay  []int64 // first event
	end    []int64 // last event
}

// measureStarts reads when processes began and ended. Collective.
func (x *prediction) measureStarts() error {
	s := &startTimes{}
	x.start = s
	var begin, end []trace.Time
	const none = 1<<63 - 1
	bounds := []int64{none, 0} // least first, largest last
	var err error
	if x.sim != nil {
		s.first = x.sim.First
		for p := x.sim.First; p < x.sim.End && err == nil; p++ {
			var a, b trace.Time
			var ok bool
			if a, b, ok, err = x.sim.Span(p); !ok {
				a, b = none, none
			}
			begin, end = append(begin, a), append(end, b)
			if ok && (uint64(a) > none || uint64(b) > none) {
				err = fmt.Errorf("process %d ends at tick %d: %w", p, b, predict.ErrTooLong)
			}
			if ok {
				bounds[0], bounds[1] = min(bounds[0], int64(a)), max(bounds[1], int64(b))
			}
		}
	}
	if err := agree(x.c, inputError(x.o.Run, err)); err != nil {
		return err
	}
	if err := x.c.AllreduceInt64(bounds[:1], mpi.Min); err != nil {
		return err
	}
	if err := x.c.AllreduceInt64(bounds[1:], mpi.Max); err != nil {
		return err
	}
	s.origin = trace.Time(min(bounds[0], bounds[1]))
	fits := true
	convert := func(t trace.Time) int64 {
		ps, ok := x.in.Picoseconds(t - min(s.origin, t))
		fits = fits && ok
		return ps
	}
	for i := range begin {
		if begin[i] == none {
			begin[i], end[i] = s.origin, s.origin
		}
		s.delay, s.end = append(s.delay, convert(begin[i])), append(s.end, convert(end[i]))
	}
	x.res.Measured = convert(trace.Time(bounds[1]))
	if !fits {
		err = Fail(ExitInput, fmt.Errorf("%s: %w", x.o.Run, predict.ErrTooLong))
	}
	return agree(x.c, err)
}

// from returns computation that begins when the processes began.
func (s *startTimes) from(calc simnet.Calc) simnet.Calc {
	return &predict.Delayed{Calc: calc, First: s.first, Delay: s.delay}
}

// processClasses are the classes of all processes, on every rank that simulates.
type processClasses struct {
	class          []int32 // of each process
	representative []uint32
	size           []uint64
}

// classify finds the classes of the processes. Collective.
func (x *prediction) classify() error {
	k := &processClasses{class: make([]int32, x.in.Processes())}
	number := map[simnet.NodeID]int32{}
	for p, root := range x.in.Program.Roots {
		c, ok := number[root]
		if !ok {
			c = int32(len(k.representative))
			number[root] = c
			k.representative, k.size = append(k.representative, uint32(p)), append(k.size, 0)
		}
		k.class[p] = c
		k.size[c]++
	}
	x.classes = k
	x.res.Classes = k.representative
	return nil
}

// meanOf returns the mean of a number of each process over all ranks, rounded down. Collective.
func (x *prediction) meanOf(list []simnet.ProcessTimes, of func(t *simnet.ProcessTimes) int64) (int64, error) {
	const low = 1<<20 - 1
	parts := []int64{0, 0}
	for i := range list {
		v := of(&list[i])
		parts[0] += v >> 20
		parts[1] += v & low
	}
	if err := x.c.AllreduceInt64(parts, mpi.Sum); err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(parts[0]), 1<<20)
	lo, carry := bits.Add64(lo, uint64(parts[1]), 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(x.in.Processes()))
	return int64(q), nil
}

// appendInts appends numbers of 8 bytes.
func appendInts(dst []byte, list ...int64) []byte {
	for _, v := range list {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// takeInts reads what appendInts wrote.
func takeInts(b []byte) []int64 {
	list := make([]int64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		list = append(list, int64(binary.LittleEndian.Uint64(b)))
	}
	return list
}
