package predict

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/xtf"
)

// ClassTypes are the arrays that hold classes, in the region of the whole run.
var ClassTypes = []xtf.TypeID{xtf.TypeClass, xtf.TypeMember, xtf.TypeMerge, xtf.TypeGroup, xtf.TypeClassSum}

// Write appends the classes to arrays, as rank 0 has them.
func (k *Classes) Write(row func(t xtf.TypeID) []byte) {
	for i := range k.Groups {
		g := &k.Groups[i]
		x := xtf.Group{
			Key: uint64(i), First: g.First, Processes: g.Processes, Classes: g.Classes, Fraction: uint32(g.Fraction), Entries: g.Entries,
			Threshold: g.Threshold, Rounded: g.Approximation.Rounded, Radius: g.Approximation.Radius, Leaders: g.Approximation.Leaders, Led: g.Approximation.Led,
		}
		x.Put(row(xtf.TypeGroup))
	}
	for i := range k.Classes {
		c := &k.Classes[i]
		x := xtf.ClassRow{Key: uint64(i), Representative: c.Representative, Members: c.Size, Group: c.Group, Diameter: c.Height}
		x.Put(row(xtf.TypeClass))
		y := xtf.ClassSum{Key: uint64(i), First: c.First, Least: c.Least, Most: c.Most, Mean: c.Mean}
		y.Put(row(xtf.TypeClassSum))
	}
	for p, c := range k.Of {
		x := xtf.Member{Key: uint64(p), Class: c, Group: k.Classes[c].Group}
		x.Put(row(xtf.TypeMember))
	}
	n := uint64(0)
	for i := range k.Merges {
		m := &k.Merges[i]
		if i == 0 || m.Group != k.Merges[i-1].Group {
			n = 0
		}
		x := xtf.Merge{Key: uint64(m.Group)<<32 | n, First: m.A, Second: m.B, Height: Ticks(m.Height, k.Groups[m.Group].Fraction)}
		x.Put(row(xtf.TypeMerge))
		n++
	}
}

// ReadClasses reads the classes of a file; false if it has none. Heights are ticks, rounded down. What does not fit together is
// an error.
func ReadClasses(f *xtf.File) (*Classes, bool, error) {
	r := &classReader{set: &Classes{}}
	k := r.set
	var bad error
	for _, x := range []struct {
		t    xtf.TypeID
		load func(n uint64, b []byte) bool
	}{
		{xtf.TypeGroup, r.loadGroup},
		{xtf.TypeClass, r.loadClass},
		{xtf.TypeClassSum, r.loadSum},
		{xtf.TypeMember, r.loadMember},
		{xtf.TypeMerge, r.loadMerge},
	} {
		a, err := f.Array(xtf.WholeRun, x.t)
		if err != nil {
			return nil, false, err
		}
		rows := a.Rows(0, a.Len())
		for bad == nil && rows.Next() {
			if !x.load(rows.N(), rows.Row()) {
				bad = fmt.Errorf("classes: row %d of array %d does not fit the others: %w", rows.N(), x.t, xtf.ErrCorrupt)
			}
		}
		if err := rows.Err(); err != nil {
			return nil, false, err
		}
	}
	if bad == nil {
		bad = r.check()
	}
	return k, len(k.Groups) > 0, bad
}

// classReader is a reading of classes under way.
type classReader struct {
	set    *Classes
	sums   uint64 // rows so far
	merges uint64 // of the last group
}

func (r *classReader) loadGroup(n uint64, b []byte) bool {
	k := r.set
	var x xtf.Group
	x.Load(b)
	k.Groups = append(k.Groups, Group{
		First: x.First, Processes: x.Processes, Classes: x.Classes, Entries: x.Entries, Threshold: x.Threshold, Fraction: uint8(x.Fraction),
		Approximation: cluster.Approximation{Rounded: x.Rounded, Leaders: x.Leaders, Led: x.Led, Radius: x.Radius},
	})
	return x.Key == n && x.Fraction < 64 && x.Classes > 0 && x.Processes > 0
}

func (r *classReader) loadClass(n uint64, b []byte) bool {
	k := r.set
	var x xtf.ClassRow
	x.Load(b)
	k.Classes = append(k.Classes, Class{Group: x.Group, Representative: x.Representative, Size: x.Members, Height: x.Diameter})
	return x.Key == n && uint64(x.Group) < uint64(len(k.Groups)) && x.Members > 0 && n < math.MaxUint32
}

func (r *classReader) loadSum(n uint64, b []byte) bool {
	k := r.set
	var x xtf.ClassSum
	x.Load(b)
	if x.Key != n || n >= uint64(len(k.Classes)) || x.Least > x.Mean || x.Mean > x.Most {
		return false
	}
	c := &k.Classes[n]
	c.First, c.Least, c.Most, c.Mean = x.First, x.Least, x.Most, x.Mean
	r.sums++
	return true
}

func (r *classReader) loadMember(n uint64, b []byte) bool {
	k := r.set
	var x xtf.Member
	x.Load(b)
	if x.Key != n || uint64(x.Class) >= uint64(len(k.Classes)) || k.Classes[x.Class].Group != x.Group {
		return false
	}
	k.Of = append(k.Of, x.Class)
	return true
}

func (r *classReader) loadMerge(_ uint64, b []byte) bool {
	k := r.set
	var x xtf.Merge
	x.Load(b)
	g := x.Key >> 32
	if g >= uint64(len(k.Groups)) || x.First >= x.Second || uint64(x.Second) >= uint64(len(k.Of)) {
		return false
	}
	// the fraction is in the height already
	m := Merge{Group: uint32(g), Merge: cluster.Merge{A: x.First, B: x.Second, Height: cluster.Height{Lo: x.Height, Pairs: 1}}}
	if last := len(k.Merges) - 1; last < 0 || k.Merges[last].Group != m.Group {
		if last >= 0 && k.Merges[last].Group > m.Group {
			return false
		}
		r.merges = 0
	}
	if x.Key&math.MaxUint32 != r.merges {
		return false
	}
	r.merges++
	k.Merges = append(k.Merges, m)
	return true
}

// check compares members with classes and groups.
func (r *classReader) check() error {
	k := r.set
	if r.sums != uint64(len(k.Classes)) {
		return fmt.Errorf("classes: %d classes, sums of %d: %w", len(k.Classes), r.sums, xtf.ErrCorrupt)
	}
	classes, processes := make([]uint32, len(k.Groups)), make([]uint32, len(k.Groups))
	sizes := make([]uint32, len(k.Classes))
	first := make([]int64, len(k.Classes))
	for p, c := range k.Of {
		if sizes[c]++; sizes[c] == 1 {
			first[c] = int64(p)
		}
		processes[k.Classes[c].Group]++
	}
	for i := range k.Classes {
		c := &k.Classes[i]
		classes[c.Group]++
		if sizes[i] != c.Size || first[i] != int64(c.First) || uint64(c.Representative) >= uint64(len(k.Of)) || k.Of[c.Representative] != uint32(i) {
			return fmt.Errorf("classes: class %d has not the members that it says: %w", i, xtf.ErrCorrupt)
		}
	}
	for i := range k.Groups {
		if g := &k.Groups[i]; g.Classes != classes[i] || g.Processes != processes[i] {
			return fmt.Errorf("classes: group %d has %d classes and %d processes, not %d and %d: %w", i, classes[i], processes[i], g.Classes, g.Processes, xtf.ErrCorrupt)
		}
	}
	return nil
}
