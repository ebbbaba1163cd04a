package predict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
)

// memorySegments are segments in memory.
type memorySegments struct {
	mu   sync.Mutex
	data map[uint32][]byte
	bad  uint32 // process that cannot be read, 0 for none
}

func (s *memorySegments) Append(process uint32, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = map[uint32][]byte{}
	}
	s.data[process] = append(s.data[process], b...)
	return nil
}

func (s *memorySegments) Reader(process uint32) (io.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad != 0 && process == s.bad {
		return nil, errors.New("cannot be read")
	}
	return bytes.NewReader(s.data[process]), nil
}

func TestTimes(t *testing.T) {
	t.Parallel()
	var s memorySegments
	x := NewTimes(&s, 3, 2)
	want := map[uint32][]int64{3: {0, 5, 5, math.MaxInt64 - 1, math.MaxInt64 - 1}, 4: {7}}
	for _, err := range []error{
		x.Calls(3, 0, []int64{0, 5}), x.Calls(3, 1, []int64{5, math.MaxInt64 - 1}),
		x.Finish(&simnet.Result{First: 3, Times: []simnet.ProcessTimes{{Finish: math.MaxInt64 - 1}, {Finish: 7}}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for p, list := range want {
		r, err := newTimeReader(&s, p)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for v, err := r.next(); err == nil; v, err = r.next() {
			got = append(got, v)
		}
		if !slices.Equal(got, list) {
			t.Errorf("process %d: %v, want %v", p, got, list)
		}
	}
	for name, err := range map[string]error{
		"backwards": x.Calls(4, 0, []int64{5, 4}), "odd": x.Calls(4, 0, []int64{5}), "a gap": x.Calls(4, 1, []int64{5, 6}), "below": x.Calls(2, 0, []int64{5, 6}), "above": x.Calls(5, 0, []int64{5, 6}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestKnotTimes compares times between knots with fractions, and keeps them in order.
func TestKnotTimes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 9))
	for range 2000 {
		k := &knots{tick: platform.Scale{Num: 1000, Den: 1}, last: r.IntN(2) == 0}
		k.a = knot{recorded: trace.Time(r.Uint64N(1 << 40)), time: r.Int64N(1 << 50)}
		k.b = knot{recorded: k.a.recorded + trace.Time(r.Uint64N(1<<(1+r.IntN(40)))), time: k.a.time + r.Int64N(1<<(1+r.IntN(60)))}
		var last trace.Time
		for _, at := range []trace.Time{0, k.a.recorded, k.a.recorded + (k.b.recorded-k.a.recorded)/3, k.a.recorded + (k.b.recorded-k.a.recorded)/2, k.b.recorded, k.b.recorded + 5} {
			got := k.at(at)
			want := big.NewInt(k.a.time)
			switch {
			case at >= k.b.recorded && k.last:
				want = big.NewInt(k.b.time + 1000*int64(at-k.b.recorded))
			case at <= k.a.recorded:
			case at >= k.b.recorded:
				want = big.NewInt(k.b.time)
			default:
				f := new(big.Int).Mul(big.NewInt(int64(at-k.a.recorded)), big.NewInt(k.b.time-k.a.time))
				want.Add(want, f.Quo(f, big.NewInt(int64(k.b.recorded-k.a.recorded))))
			}
			if !want.IsInt64() || int64(got) != want.Int64() || got < last {
				t.Fatalf("%d between %+v and %+v: %d after %d, want %d", at, k.a, k.b, got, last, want)
			}
			last = got
		}
	}
	k := &knots{tick: platform.Scale{Num: picosecondClock, Den: 1}, last: true}
	k.at(1 << 60)
	if err := k.fits(); !errors.Is(err, ErrTooLong) {
		t.Errorf("a time after all times: %v", err)
	}
}

// manyLocations are definitions of so many processes with as many locations each.
func manyLocations(processes, threads int) *trace.Definitions {
	d := &trace.Definitions{}
	for p := range processes {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(p), Creator: trace.Undefined})
		for k := range threads {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(p*threads + k), Group: uint32(p)})
		}
	}
	d.Seal()
	return d
}

// TestGather deals out locations otherwise than processes: every rank has the times of its locations afterwards.
func TestGather(t *testing.T) {
	t.Parallel()
	const processes, threads = 7, 3
	defs := manyLocations(processes, threads)
	big := bytes.Repeat([]byte("0123456789abcdef"), pieceBytes/16+1) // two pieces
	text := func(p uint32) []byte {
		if p == 5 {
			return big
		}
		return fmt.Appendf(nil, "times of %d", p)
	}
	for ranks := 1; ranks <= 5; ranks++ {
		err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
			me := uint32(c.Rank())
			s := &memorySegments{}
			r := &Run{Retimed: Retimed{Defs: defs}, o: RunOptions{Comm: c, Recorded: &Input{processes: make([]trace.Process, processes)}, Times: s, First: me * processes / uint32(ranks), End: (me + 1) * processes / uint32(ranks)}}
			for p := r.o.First; p < r.o.End; p++ {
				if err := s.Append(p, text(p)); err != nil {
					return err
				}
			}
			// Ranks in reverse order, borders within processes.
			n, other := trace.P(processes*threads), trace.P(ranks-1)-trace.P(me)
			first, end := other*n/trace.P(ranks), (other+1)*n/trace.P(ranks)
			if err := r.Gather(first, end, ""); err != nil {
				return err
			}
			for l := first; l < end; l++ {
				p, _ := defs.Process(l)
				if !bytes.Equal(s.data[p], text(p)) {
					return fmt.Errorf("location %d: %d bytes of process %d", l, len(s.data[p]), p)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// TestGatherFailure loses no rank when the times of a process cannot be read.
func TestGatherFailure(t *testing.T) {
	t.Parallel()
	defs := manyLocations(4, 1)
	failed := make([]error, 2)
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		s := &memorySegments{bad: 2}
		r := &Run{Retimed: Retimed{Defs: defs}, o: RunOptions{Comm: c, Recorded: &Input{processes: make([]trace.Process, 4)}, Times: s, First: 2 * uint32(c.Rank()), End: 2 * uint32(c.Rank()+1)}}
		failed[c.Rank()] = r.Gather(trace.P(2*(1-c.Rank())), trace.P(2*(2-c.Rank())), "")
		return nil
	})
	if err != nil || failed[0] == nil || failed[1] == nil {
		t.Errorf("%v, %v", err, failed)
	}
}
