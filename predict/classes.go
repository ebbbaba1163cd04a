package predict

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/xtf"
)

// ClassOptions say what makes processes alike.
type ClassOptions struct {
	cluster.Options
	// Strict tells calls of one function apart by partners, tags and bytes too.
	Strict bool
}

// Classify parts the processes of a run by what they call, and then by what they compute in between. Groups are in the order of their
// first processes, classes by group likewise; heights and sums are ticks, rounded down. The result is the same for any number of ranks;
// merges are on rank 0 only. Collective.
//
// Memory next to that of package cluster: 20 bytes a process, 64 a class, on rank 0 56 a merge.
func (in *Input) Classify(ctx context.Context, c mpi.Comm, o ClassOptions) (*xtf.ClassTable, error) {
	keys, seq := in.keys, in.sequences
	if o.Strict {
		keys = in.strictKeys()
		seq = sequences(in.Program, keys)
	}
	groups, err := in.group(c, keys, seq)
	if err != nil {
		return nil, err
	}
	k := &xtf.ClassTable{Members: make([]xtf.Member, in.Processes())}
	for _, list := range groups {
		if err := in.classifyGroup(ctx, c, k, list, seq, keys, o.Options); err != nil {
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
func (in *Input) classifyGroup(ctx context.Context, c mpi.Comm, k *xtf.ClassTable, list []uint32, seq []sequence, keys []uint64, o cluster.Options) error {
	g, base := len(k.Groups), uint32(len(k.Classes))
	group := xtf.Group{Key: uint64(g), First: list[0], Processes: uint32(len(list)), Entries: seq[in.Program.Roots[list[0]]].counted + 1}
	own := slices.DeleteFunc(slices.Clone(list), func(p uint32) bool { return p < in.First || p >= in.End })
	res := &cluster.Result{Class: make([]uint32, len(own)), Classes: []cluster.Class{{First: list[0], Representative: list[0], Size: 1}}}
	if len(list) > 1 {
		var err error
		if res, err = cluster.Classify(ctx, c, in.members(own, group.Entries, seq, keys), o); err != nil {
			return fmt.Errorf("processes that call the same as process %d: %w", group.First, err)
		}
	}
	approx := &res.Approximation
	group.Rounded, group.Radius, group.Leaders, group.Led = approx.Rounded, approx.Radius, approx.Leaders, approx.Led
	group.Classes, group.Fraction, group.Threshold = uint32(len(res.Classes)), uint32(res.Fraction), floor(res.Threshold, res.Fraction)
	k.Groups = append(k.Groups, group)
	for i, x := range res.Classes {
		key := uint64(base) + uint64(i)
		k.Classes = append(k.Classes, xtf.ClassRow{Key: key, Group: uint32(g), Representative: x.Representative, Members: x.Size})
		k.Sums = append(k.Sums, xtf.ClassSum{Key: key, First: x.First})
	}
	for i, p := range own {
		k.Members[p].Class = base + res.Class[i]
	}
	for i, m := range res.Merges {
		k.Merges = append(k.Merges, xtf.Merge{Key: uint64(g)<<32 | uint64(i), First: m.A, Second: m.B, Height: floor(m.Height, res.Fraction)})
	}
	return nil
}

// floor returns a height of so many binary places in ticks.
func floor(h cluster.Height, fraction uint8) uint64 {
	if h.Pairs == 0 { // of a group of one process
		return 0
	}
	return h.Floor() >> fraction
}

// measureClasses brings together what ranks know of their processes: classes, sums of vectors, heights of merges.
func (in *Input) measureClasses(c mpi.Comm, k *xtf.ClassTable) error {
	var b []byte
	for p := in.First; p < in.End; p++ {
		sum, err := in.Vectors.Sum(p)
		if err != nil {
			return c.Agree(err)
		}
		b = binary.LittleEndian.AppendUint32(b, k.Members[p].Class)
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
			if p >= len(k.Members) || of >= uint32(len(k.Classes)) {
				return errMessage
			}
			k.Members[p] = xtf.Member{Key: uint64(p), Class: of, Group: k.Classes[of].Group}
			x := &k.Sums[of]
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
		if members[i] != uint64(k.Classes[i].Members) {
			return fmt.Errorf("class %d has %d processes, not %d: %w", i, members[i], k.Classes[i].Members, ccg.ErrCorrupt)
		}
		k.Sums[i].Mean = total[i] / max(members[i], 1)
	}
	return in.shareHeights(c, k)
}

// shareHeights finds the last merge within each class, and tells all ranks.
func (in *Input) shareHeights(c mpi.Comm, k *xtf.ClassTable) error {
	var b []byte
	if c.Rank() == 0 {
		for _, m := range k.Merges {
			if of := k.Members[m.First].Class; of == k.Members[m.Second].Class {
				k.Classes[of].Diameter = max(k.Classes[of].Diameter, m.Height)
			}
		}
		for i := range k.Classes {
			b = binary.LittleEndian.AppendUint64(b, k.Classes[i].Diameter)
		}
	}
	b, err := c.Bcast(b, 0)
	if err != nil {
		return err
	}
	for i := range k.Classes {
		k.Classes[i].Diameter = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

// ClassTypes are the arrays that hold classes, in the region of the whole run.
var ClassTypes = []xtf.TypeID{xtf.TypeClass, xtf.TypeMember, xtf.TypeMerge, xtf.TypeGroup, xtf.TypeClassSum}

// WriteClasses appends classes to arrays, as rank 0 has them.
func WriteClasses(k *xtf.ClassTable, row func(t xtf.TypeID) []byte) {
	putRows(k.Groups, xtf.TypeGroup, row)
	putRows(k.Classes, xtf.TypeClass, row)
	putRows(k.Sums, xtf.TypeClassSum, row)
	putRows(k.Members, xtf.TypeMember, row)
	putRows(k.Merges, xtf.TypeMerge, row)
}

func putRows[T any, P interface {
	*T
	Put(b []byte)
}](list []T, t xtf.TypeID, row func(t xtf.TypeID) []byte) {
	for i := range list {
		P(&list[i]).Put(row(t))
	}
}
