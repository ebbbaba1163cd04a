package simnet

import "testing"

func TestSelection(t *testing.T) {
	s, err := newSelection(&Network{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		action Action
		size   uint32
		want   algorithm
	}{
		{Action{Coll: Barrier}, 3, barrierDissemination},
		{Action{Coll: Bcast, Bytes: 12<<10 - 1}, 8, bcastBinomial},
		{Action{Coll: Bcast, Recv: 12 << 10}, 8, bcastScatterRing},
		{Action{Coll: Bcast, Bytes: 12 << 10}, 7, bcastBinomial},
		{Action{Coll: Reduce, Bytes: 2048}, 8, reduceBinomial},
		{Action{Coll: Reduce, Bytes: 2049}, 8, reduceScatterGather},
		{Action{Coll: Allreduce, Bytes: 2048}, 8, allreduceDoubling},
		{Action{Coll: Allreduce, Bytes: 2049}, 8, allreduceRabenseifner},
		{Action{Coll: Gather, Bytes: 1 << 40}, 8, gatherBinomial},
		{Action{Coll: Gather, Flags: Varying}, 8, gatherLinear},
		{Action{Coll: Scatter, Flags: Varying}, 8, scatterLinear},
		{Action{Coll: Alltoall, Flags: Varying}, 8, alltoallPairwise},
		{Action{Coll: Alltoall, Bytes: 256}, 8, alltoallBruck},
		{Action{Coll: Alltoall, Bytes: 257}, 8, alltoallPairwise},
		{Action{Coll: Allgather, Recv: 1}, 8, allgatherDoubling},
		{Action{Coll: Allgather, Recv: 1}, 9, allgatherBruck},
		{Action{Coll: Allgather, Recv: 1 << 16}, 8, allgatherRing},
		{Action{Coll: Allgather, Bytes: 1 << 62}, 8, allgatherRing},
		{Action{Coll: ReduceScatter, Bytes: 1 << 16}, 8, reduceScatterPairwise},
		{Action{Coll: ReduceScatter, Bytes: 1 << 15}, 8, reduceScatterHalving},
	} {
		if got := s.pick(&c.action, c.size); got != c.want {
			t.Errorf("%s %+v on %d: %s, want %s", names[c.action.Coll], c.action, c.size, algorithms[got].name, algorithms[c.want].name)
		}
	}
}

func TestSelectionOfNetwork(t *testing.T) {
	var n Network
	n.Collectives[Allreduce] = []Algorithm{{100, "ring"}, {200, "rabenseifner"}}
	s, err := newSelection(&n)
	if err != nil {
		t.Fatal(err)
	}
	for b, want := range map[uint64]algorithm{100: allreduceRing, 101: allreduceRabenseifner, 201: allreduceRabenseifner} {
		if got := s.pick(&Action{Coll: Allreduce, Bytes: b}, 4); got != want {
			t.Errorf("%d bytes: %s", b, algorithms[got].name)
		}
	}
	if s.pick(&Action{Coll: Reduce}, 4) != reduceBinomial {
		t.Error("another kind has lost its defaults")
	}
	n.Collectives[Scan] = []Algorithm{{1, "ring"}}
	if _, err := newSelection(&n); err == nil {
		t.Error("a name of another kind is taken")
	}
	for k := range NumCollKinds {
		if len(Algorithms(k)) == 0 {
			t.Errorf("%s has no algorithm", names[k])
		}
	}
}

// TestScheduleHostile: roots and sizes out of range do no harm.
func TestScheduleHostile(t *testing.T) {
	for alg := range numAlgorithms {
		for _, size := range []uint32{1, 2, 5, 1<<31 - 1} {
			s := newSchedule(fit(alg, size), size, size-1, 1<<32-1, 1<<64-1, 1<<64-1)
			p := collProgress{}
			for i := 0; p.Next < s.steps && i < 100; i++ {
				st := s.at(&p)
				if st.To < nobody || int64(st.To) >= int64(size) || st.From < nobody || int64(st.From) >= int64(size) {
					t.Fatalf("%s of %d: %+v", algorithms[alg].name, size, st)
				}
				p.received(1<<64 - 1)
				p.Next++
			}
			if got := closedForm(alg, size, 1<<64-1, &closedLink{link: &testLink}); got < 0 {
				t.Errorf("%s of %d: closed form %d", algorithms[alg].name, size, got)
			}
		}
	}
}
