package predict

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ClassOptions say what makes processes alike.
type ClassOptions struct {
	cluster.Options
	// Strict tells calls of one function apart by partners, tags and bytes too.
	Strict bool
}

// Classes are the processes of a run, parted by what they call and then by what they compute in between. The same on all ranks
// but for Merges.
type Classes struct {
	Groups  []Group  // in the order of their first processes
	Classes []Class  // by group, then in the order of their first processes
	Of      []uint32 // class of each process
	Merges  []Merge  // by group; on rank 0 only
}

// Group is a set of processes whose MPI calls follow each other in the same order.
type Group struct {
	First     uint32 // process
	Processes uint32
	Entries   uint64 // of a vector: 1 + calls, those tests not counted that completed nothing
	Classes   uint32
	// Threshold is the height of the cut, ticks, rounded down.
	Threshold     uint64
	Approximation cluster.Approximation
	Fraction      uint8
}

// Class is a set of processes that compute the same, within the threshold.
type Class struct {
	Group          uint32
	First          uint32 // process
	Representative uint32
	Size           uint32
	Height         uint64 // of its last merge, ticks, rounded down: with L1 and complete linkage the largest distance of two members
	Least, Most    uint64 // least and largest sum of a member's vector, ticks
	Mean           uint64 // of the sums, rounded down
}

// Merge is a step of a group's dendrogram.
type Merge struct {
	Group uint32
	cluster.Merge
}

// Classify finds the classes. The result is the same for any number of ranks. Collective.
//
// Memory next to that of package cluster: 8 bytes a process, 24 a class, on rank 0 32 a merge.
func (in *Input) Classify(ctx context.Context, c mpi.Comm, o ClassOptions) (*Classes, error) {
	keys, seq := in.keys, in.sequences
	if o.Strict {
		keys = in.strictKeys()
		seq = sequences(in.Program, keys)
	}
	groups, err := in.group(c, keys, seq)
	if err != nil {
		return nil, err
	}
	k := &Classes{Of: make([]uint32, in.Processes())}
	for g, list := range groups {
		if err := in.classifyGroup(ctx, c, k, uint32(g), list, seq, keys, o.Options); err != nil {
			return nil, err
		}
	}
	return k, in.measureClasses(c, k)
}

// strictKeys returns a number for each node that is a Call: its own.
func (in *Input) strictKeys() []uint64 {
	keys := slices.Clone(in.keys)
	for i := range keys {
		if keys[i] != 0 {
			keys[i] = uint64(i) + 1
		}
	}
	return keys
}

// group parts the processes by their sequences: ascending lists in the order of their first members. Equal hashes are verified
// by comparing the calls themselves: each rank compares the roots that its processes are the first to have.
func (in *Input) group(c mpi.Comm, keys []uint64, seq []sequence) ([][]uint32, error) {
	lists := in.split(seq, func(a, b simnet.NodeID) bool { return true })
	same := []int64{1}
	checked := map[simnet.NodeID]bool{}
	for _, list := range lists {
		leader := in.Program.Roots[list[0]]
		for _, p := range list {
			root := in.Program.Roots[p]
			if root == leader || checked[root] {
				continue
			}
			checked[root] = true
			if p >= in.First && p < in.End && !equalSequences(in.Program, seq, keys, leader, root) {
				same[0] = 0
			}
		}
	}
	if err := c.AllreduceInt64(same, mpi.Min); err != nil {
		return nil, err
	}
	if same[0] == 0 { // two sequences with one hash
		lists = in.split(seq, func(a, b simnet.NodeID) bool { return equalSequences(in.Program, seq, keys, a, b) })
	}
	return lists, nil
}

// split lists the processes of each sequence.
func (in *Input) split(seq []sequence, equal func(a, b simnet.NodeID) bool) [][]uint32 {
	type key struct{ hash, counted uint64 }
	var lists [][]uint32
	leaders := map[key][]int{}
	of := map[simnet.NodeID]int{}
	for p, root := range in.Program.Roots {
		g, ok := of[root]
		if !ok {
			k := key{seq[root].hash, seq[root].counted}
			i := slices.IndexFunc(leaders[k], func(g int) bool { return equal(in.Program.Roots[lists[g][0]], root) })
			if i < 0 {
				g = len(lists)
				leaders[k] = append(leaders[k], g)
				lists = append(lists, nil)
			} else {
				g = leaders[k][i]
			}
			of[root] = g
		}
		lists[g] = append(lists[g], uint32(p))
	}
	return lists
}

// classifyGroup adds the classes of one group.
func (in *Input) classifyGroup(ctx context.Context, c mpi.Comm, k *Classes, g uint32, list []uint32, seq []sequence, keys []uint64, o cluster.Options) error {
	root := in.Program.Roots[list[0]]
	group := Group{First: list[0], Processes: uint32(len(list)), Entries: seq[root].counted + 1, Classes: 1}
	base := uint32(len(k.Classes))
	if len(list) == 1 {
		k.Of[list[0]] = base
		k.Classes = append(k.Classes, Class{Group: g, First: list[0], Representative: list[0], Size: 1})
		k.Groups = append(k.Groups, group)
		return nil
	}
	own := slices.Clone(list)
	own = slices.DeleteFunc(own, func(p uint32) bool { return p < in.First || p >= in.End })
	res, err := cluster.Classify(ctx, c, in.members(own, group.Entries, seq, keys), o)
	if err != nil {
		return fmt.Errorf("processes that call the same as process %d: %w", group.First, err)
	}
	group.Classes, group.Fraction, group.Approximation = uint32(len(res.Classes)), res.Fraction, res.Approximation
	group.Threshold = res.Threshold.Floor() >> res.Fraction
	for _, x := range res.Classes {
		k.Classes = append(k.Classes, Class{Group: g, First: x.First, Representative: x.Representative, Size: x.Size})
	}
	for i, p := range own {
		k.Of[p] = base + res.Class[i]
	}
	k.Groups = append(k.Groups, group)
	for _, m := range res.Merges {
		k.Merges = append(k.Merges, Merge{g, m})
	}
	return nil
}

// measureClasses brings together what ranks know of their processes: classes, sums of vectors, heights of merges.
func (in *Input) measureClasses(c mpi.Comm, k *Classes) error {
	var b []byte
	for p := in.First; p < in.End; p++ {
		sum, err := in.Vectors.Sum(p)
		if err != nil {
			return c.Agree(err)
		}
		b = binary.LittleEndian.AppendUint32(b, k.Of[p])
		b = binary.LittleEndian.AppendUint64(b, sum)
	}
	if err := c.Agree(nil); err != nil {
		return err
	}
	all, err := c.Allgather(b)
	if err != nil {
		return err
	}
	total, members := make([]uint64, len(k.Classes)), make([]uint64, len(k.Classes))
	p := 0
	for _, b := range all {
		for ; len(b) >= 12; b = b[12:] {
			of, sum := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
			if p >= len(k.Of) || of >= uint32(len(k.Classes)) {
				return errMessage
			}
			k.Of[p] = of
			x := &k.Classes[of]
			if members[of] == 0 || sum < x.Least {
				x.Least = sum
			}
			x.Most = max(x.Most, sum)
			if members[of]++; sum > math.MaxInt64-total[of] { // it is less than 2^63, like all sums of times of a run
				return fmt.Errorf("class %d: a sum of %d and %d ticks: %w", of, total[of], sum, ccg.ErrCorrupt)
			}
			total[of] += sum
			p++
		}
	}
	for i := range total {
		if members[i] != uint64(k.Classes[i].Size) {
			return fmt.Errorf("class %d has %d processes, not %d: %w", i, members[i], k.Classes[i].Size, ccg.ErrCorrupt)
		}
		k.Classes[i].Mean = total[i] / max(members[i], 1)
	}
	return in.shareHeights(c, k)
}

// shareHeights finds the last merge within each class, and tells all ranks.
func (in *Input) shareHeights(c mpi.Comm, k *Classes) error {
	var b []byte
	if c.Rank() == 0 {
		for _, m := range k.Merges {
			if x := &k.Classes[k.Of[m.A]]; k.Of[m.A] == k.Of[m.B] {
				x.Height = max(x.Height, m.Height.Floor()>>k.Groups[m.Group].Fraction)
			}
		}
		for i := range k.Classes {
			b = binary.LittleEndian.AppendUint64(b, k.Classes[i].Height)
		}
	}
	b, err := c.Bcast(b, 0)
	if err != nil {
		return err
	}
	for i := range k.Classes {
		k.Classes[i].Height = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

// Representatives returns the processes that stand for the others, ascending.
func (k *Classes) Representatives() []uint32 {
	list := make([]uint32, len(k.Classes))
	for i := range k.Classes {
		list[i] = k.Classes[i].Representative
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Compare(a, b) })
	return list
}
