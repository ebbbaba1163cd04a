package predict

import (
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
		x := xtf.Merge{Key: uint64(m.Group)<<32 | n, First: m.A, Second: m.B, Height: m.Height.Floor() >> k.Groups[m.Group].Fraction}
		x.Put(row(xtf.TypeMerge))
		n++
	}
}

// ReadClasses reads the classes of a file; nil if it has none. Heights are ticks, rounded down. All ranks that read have the
// merges.
func ReadClasses(f *xtf.File) (*Classes, error) {
	t, err := f.Classes()
	if t == nil || err != nil {
		return nil, err
	}
	k := &Classes{}
	for i := range t.Groups {
		x := &t.Groups[i]
		k.Groups = append(k.Groups, Group{
			First: x.First, Processes: x.Processes, Classes: x.Classes, Entries: x.Entries, Threshold: x.Threshold,
			Approximation: cluster.Approximation{Rounded: x.Rounded, Leaders: x.Leaders, Led: x.Led, Radius: x.Radius},
		})
	}
	for i := range t.Classes {
		x, s := &t.Classes[i], &t.Sums[i]
		k.Classes = append(k.Classes, Class{
			Group: x.Group, First: s.First, Representative: x.Representative, Size: x.Members, Height: x.Diameter, Least: s.Least, Most: s.Most, Mean: s.Mean,
		})
	}
	for _, m := range t.Members {
		k.Of = append(k.Of, m.Class)
	}
	for _, m := range t.Merges {
		k.Merges = append(k.Merges, Merge{uint32(m.Key >> 32), cluster.Merge{A: m.First, B: m.Second, Height: cluster.Height{Units: m.Height, Pairs: 1}}})
	}
	return k, nil
}
