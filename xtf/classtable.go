package xtf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// ErrClasses says that the rows of classes contradict each other.
var ErrClasses = errors.New("classes that do not fit together")

var errClasses = fmt.Errorf("%w: %w", ErrClasses, ErrCorrupt)

// ClassTable has the classes of processes of a file.
type ClassTable struct {
	Groups  []Group
	Classes []ClassRow
	Sums    []ClassSum // by class
	Members []Member   // by process
	Merges  []Merge    // by group, as they happened
}

// Classes reads the classes of processes. It returns nil if the file has none. Rows that contradict each other are an error that wraps
// ErrClasses and ErrCorrupt. Memory, in bytes: 104 for each class, 64 for each group, 24 for each merge, 16 for each process.
func (f *File) Classes() (*ClassTable, error) {
	t := &ClassTable{}
	if f.types.Lookup(TypeGroup) == nil { // the file is older than these types
		return nil, nil
	}
	m := mergeReader{t: t}
	err := cmp.Or(
		Each(f, WholeRun, fitting(t.addGroup)), Each(f, WholeRun, fitting(t.addClass)), Each(f, WholeRun, fitting(t.addSum)),
		Each(f, WholeRun, fitting(t.addMember)), Each(f, WholeRun, fitting(m.add)))
	if err != nil {
		return nil, err
	}
	if len(t.Groups) == 0 {
		return nil, nil
	}
	return t, t.check()
}

// fitting returns a visitor of rows that fails if add returns false.
func fitting[T any, P Form[T]](add func(n uint64, x *T) bool) func(n uint64, x *T) error {
	return func(n uint64, x *T) error {
		if id, _ := P(x).form(); !add(n, x) {
			return fmt.Errorf("classes: row %d of %s does not fit the others: %w", n, specOf(id).name, errClasses)
		}
		return nil
	}
}

func (t *ClassTable) addGroup(n uint64, x *Group) bool {
	t.Groups = append(t.Groups, *x)
	return x.Key == n && n < math.MaxUint32 && x.Fraction < 64 && x.Classes > 0 && x.Processes > 0
}

func (t *ClassTable) addClass(n uint64, x *ClassRow) bool {
	t.Classes = append(t.Classes, *x)
	return x.Key == n && n < math.MaxUint32 && uint64(x.Group) < uint64(len(t.Groups)) && x.Members > 0
}

func (t *ClassTable) addSum(n uint64, x *ClassSum) bool {
	t.Sums = append(t.Sums, *x)
	return x.Key == n && n < uint64(len(t.Classes)) && x.Least <= x.Mean && x.Mean <= x.Most
}

func (t *ClassTable) addMember(n uint64, x *Member) bool {
	t.Members = append(t.Members, *x)
	return x.Key == n && n < math.MaxUint32 && uint64(x.Class) < uint64(len(t.Classes)) && t.Classes[x.Class].Group == x.Group
}

// mergeReader reads and checks the merges of all groups.
type mergeReader struct {
	t      *ClassTable
	n      uint64 // merges of the last group that were read
	merged []bool // by process: its cluster was merged into another one
}

func (r *mergeReader) add(_ uint64, x *Merge) bool {
	t := r.t
	if r.merged == nil {
		r.merged = make([]bool, len(t.Members))
	}
	if last := len(t.Merges) - 1; last < 0 || t.Merges[last].Key>>32 != x.Key>>32 {
		r.n = 0
		if last >= 0 && t.Merges[last].Key > x.Key {
			return false
		}
	}
	g := x.Key >> 32
	if g >= uint64(len(t.Groups)) || x.Key&math.MaxUint32 != r.n || x.First >= x.Second || uint64(x.Second) >= uint64(len(t.Members)) {
		return false
	}
	if uint64(t.Members[x.First].Group) != g || uint64(t.Members[x.Second].Group) != g || r.merged[x.First] || r.merged[x.Second] {
		return false
	}
	r.merged[x.Second] = true
	r.n++
	t.Merges = append(t.Merges, *x)
	return true
}

// check compares members with classes and groups.
func (t *ClassTable) check() error {
	if len(t.Sums) != len(t.Classes) {
		return fmt.Errorf("classes: %d classes, sums of %d: %w", len(t.Classes), len(t.Sums), errClasses)
	}
	classes, processes := make([]uint32, len(t.Groups)), make([]uint32, len(t.Groups))
	sizes, first := make([]uint32, len(t.Classes)), make([]uint32, len(t.Classes))
	for p, m := range t.Members {
		if sizes[m.Class]++; sizes[m.Class] == 1 {
			first[m.Class] = uint32(p)
		}
		if processes[m.Group]++; processes[m.Group] == 1 && t.Groups[m.Group].First != uint32(p) {
			return fmt.Errorf("classes: group %d begins with process %d, not %d: %w", m.Group, p, t.Groups[m.Group].First, errClasses)
		}
	}
	for i := range t.Classes {
		c := &t.Classes[i]
		classes[c.Group]++
		if sizes[i] != c.Members || first[i] != t.Sums[i].First || uint64(c.Representative) >= uint64(len(t.Members)) || t.Members[c.Representative].Class != uint32(i) {
			return fmt.Errorf("classes: class %d does not have the members that it says: %w", i, errClasses)
		}
	}
	for i := range t.Groups {
		if g := &t.Groups[i]; g.Classes != classes[i] || g.Processes != processes[i] {
			return fmt.Errorf("classes: group %d has %d classes and %d processes, not %d and %d: %w", i, classes[i], processes[i], g.Classes, g.Processes, errClasses)
		}
	}
	return nil
}
