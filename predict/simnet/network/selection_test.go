package network

import (
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	var s Selection
	for _, c := range []struct {
		action program.Action
		size   uint32
		want   Scheme
	}{
		{program.Action{Coll: program.Barrier}, 3, BarrierDissemination},
		{program.Action{Coll: program.Bcast, Bytes: 12<<10 - 1}, 8, BcastBinomial},
		{program.Action{Coll: program.Bcast, Recv: 12 << 10}, 8, bcastScatterRing},
		{program.Action{Coll: program.Bcast, Bytes: 12 << 10}, 7, BcastBinomial},
		{program.Action{Coll: program.Reduce, Bytes: 2048}, 8, ReduceBinomial},
		{program.Action{Coll: program.Reduce, Bytes: 2049}, 8, ReduceScatterGather},
		{program.Action{Coll: program.Allreduce, Bytes: 2048}, 8, allreduceDoubling},
		{program.Action{Coll: program.Allreduce, Bytes: 2049}, 8, AllreduceRabenseifner},
		{program.Action{Coll: program.Gather, Bytes: 1 << 40}, 8, GatherBinomial},
		{program.Action{Coll: program.Gather, Flags: program.Varying}, 8, GatherLinear},
		{program.Action{Coll: program.Scatter, Flags: program.Varying}, 8, ScatterLinear},
		{program.Action{Coll: program.Alltoall, Flags: program.Varying}, 8, AlltoallPairwise},
		{program.Action{Coll: program.Alltoall, Bytes: 256}, 8, AlltoallBruck},
		{program.Action{Coll: program.Alltoall, Bytes: 257}, 8, AlltoallPairwise},
		{program.Action{Coll: program.Allgather, Recv: 1}, 8, AllgatherDoubling},
		{program.Action{Coll: program.Allgather, Recv: 1}, 9, AllgatherBruck},
		{program.Action{Coll: program.Allgather, Recv: 1 << 16}, 8, AllgatherRing},
		{program.Action{Coll: program.Allgather, Bytes: 1 << 62}, 8, AllgatherRing},
		{program.Action{Coll: program.ReduceScatter, Bytes: 1 << 16}, 8, ReduceScatterPairwise},
		{program.Action{Coll: program.ReduceScatter, Bytes: 1 << 15}, 8, ReduceScatterHalving},
	} {
		if got := s.Pick(&c.action, c.size); got != c.want {
			t.Errorf("%+v on %d: %s, want %s", c.action, c.size, got.String(), c.want.String())
		}
	}
}

func TestSelectionOfNetwork(t *testing.T) {
	t.Parallel()
	var n Network
	s := &n.Collectives
	s[program.Allreduce] = []Algorithm{{100, AllreduceRing}, {200, AllreduceRabenseifner}}
	for b, want := range map[uint64]Scheme{100: AllreduceRing, 101: AllreduceRabenseifner, 201: AllreduceRabenseifner} {
		if got := s.Pick(&program.Action{Coll: program.Allreduce, Bytes: b}, 4); got != want {
			t.Errorf("%d bytes: %s", b, got.String())
		}
	}
	if s.Pick(&program.Action{Coll: program.Reduce}, 4) != ReduceBinomial {
		t.Error("another kind has lost its defaults")
	}
	if err := n.Check(1); err != nil {
		t.Error(err)
	}
	s[program.Scan] = []Algorithm{{1, AllreduceRing}}
	if n.Check(1) == nil {
		t.Error("an algorithm of another kind is taken")
	}
	for k := range program.NumCollKinds {
		if len(Schemes(k)) == 0 {
			t.Errorf("kind %d has no algorithm", k)
		}
	}
}

// TestScheduleHostile: roots and sizes out of range do no harm.
func TestScheduleHostile(t *testing.T) {
	t.Parallel()
	for alg := range NumSchemes {
		for _, size := range []uint32{1, 2, 5, 1<<31 - 1} {
			s := NewSchedule(alg.Fit(size), size, size-1, 1<<32-1, 1<<64-1, 1<<64-1)
			p := Progress{}
			for i := 0; p.Next < s.Steps && i < 100; i++ {
				st := s.At(&p)
				if st.To < Nobody || int64(st.To) >= int64(size) || st.From < Nobody || int64(st.From) >= int64(size) {
					t.Fatalf("%s of %d: %+v", alg.String(), size, st)
				}
				p.Received(1<<64 - 1)
				p.Next++
			}
			if got := closedForm(alg, size, 1<<64-1, &closedLink{link: &Link{PerByte: 6000 << 32}}); got < 0 {
				t.Errorf("%s of %d: closed form %d", alg.String(), size, got)
			}
		}
	}
}
