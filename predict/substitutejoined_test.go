package predict

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// inputOf makes a run of processes that are lists of calls: call 0 counts for nothing, the others do. Vectors are in ps.
func inputOf(t *testing.T, calls [][]program.NodeID, vectors [][]int64) *Input {
	t.Helper()
	p := &program.Program{Nodes: make([]program.Node, 4)} // call 0 to 3, then a sequence for each process
	in := &Input{Program: p, keys: []uint64{0, 1, 2, 3}, Vectors: &Vectors{tick: platform.One, list: make([]vector, len(calls))}, End: uint32(len(calls))}
	for i, list := range calls {
		p.Roots = append(p.Roots, program.NodeID(len(p.Nodes)))
		p.Nodes = append(p.Nodes, program.Node{Kind: program.Seq, First: uint32(len(p.Children)), Len: uint32(len(list))})
		p.Children = append(p.Children, list...)
		in.keys = append(in.keys, 0)
		v := &in.Vectors.list[i]
		for _, t := range vectors[i] {
			v.bytes = binary.AppendUvarint(v.bytes, uint64(t)<<1)
		}
		v.entries = uint64(len(vectors[i]))
	}
	in.sequences = sequences(p, in.keys)
	return in
}

// slowJoin adds up entries between calls that count.
func slowJoin(calls []program.NodeID, v []int64) (joined []int64) {
	joined = []int64{0}
	for i, t := range v {
		joined[len(joined)-1] += t
		if i < len(calls) && calls[i] != 0 {
			joined = append(joined, 0)
		}
	}
	return joined
}

// TestJoinedSubstitution gives processes whose tests fail more or less often the vector of one that has none.
func TestJoinedSubstitution(t *testing.T) {
	t.Parallel()
	const us = 1_000_000
	r := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		counted := make([]program.NodeID, 1+r.IntN(20))
		for i := range counted {
			counted[i] = program.NodeID(1 + r.IntN(3))
		}
		var calls [][]program.NodeID
		var vectors [][]int64
		for p := range 4 {
			var list []program.NodeID
			for _, c := range counted {
				for p > 0 && r.IntN(3) == 0 {
					list = append(list, 0)
				}
				list = append(list, c)
			}
			for p > 0 && r.IntN(3) == 0 {
				list = append(list, 0)
			}
			v := make([]int64, len(list)+1)
			for i := range v {
				v[i] = r.Int64N(5 * us)
			}
			calls, vectors = append(calls, list), append(vectors, v)
		}
		in := inputOf(t, calls, vectors)
		target := make([]int64, len(vectors[0]))
		for i, h := range vectors[0] {
			target[i] = h / 2
		}
		d, err := NewDonor(0, vectors[0], target, make([]uint32, len(target)))
		if err != nil {
			t.Fatal(err)
		}
		for p := range calls {
			if got, err := Join(calls[p], slices.Clone(vectors[p]), in.Counts); err != nil || !slices.Equal(got, slowJoin(calls[p], vectors[p])) {
				t.Fatalf("process %d joined: %v, %v, want %v", p, got, err, slowJoin(calls[p], vectors[p]))
			}
			for _, rule := range []Rule{CopyRule, ScaleRule} {
				s := in.Substitute(rule, platform.One, func(uint32) *Donor { return d })
				got := slowJoin(calls[p], fill(t, s, uint32(p), len(vectors[p])))
				want := slices.Clone(target)
				if rule == ScaleRule && p > 0 {
					for i, h := range slowJoin(calls[p], vectors[p]) {
						want[i], _ = d.scaled(i, h)
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("process %d, rule %d: %v, want %v", p, rule, got, want)
				}
			}
		}
	}
}

// TestJoinNotMeasured keeps what lacks a part as not measured.
func TestJoinNotMeasured(t *testing.T) {
	t.Parallel()
	in := inputOf(t, [][]program.NodeID{{0, 1, 0, 2}}, [][]int64{{1, 1, 1, 1, 1}})
	got, err := Join([]program.NodeID{0, 1, 0, 2}, []int64{notMeasured, 5, 3, 4, notMeasured}, in.Counts)
	if err != nil || !slices.Equal(got, []int64{notMeasured, 7, notMeasured}) {
		t.Errorf("%v, %v", got, err)
	}
	if got := Counted([]program.NodeID{0, 1, 0, 2}, in.Counts); !slices.Equal(got, []program.NodeID{1, 2}) {
		t.Errorf("counted %v", got)
	}
}
