// Package totals sums up over all locations what each of them has by name: an interval and a call path, a pattern, an activity.
//
//	var sums totals.Sums
//	for each location { sums.Add(&totals.Row{Name: name, Sum: [2]uint64{count, ticks}, Worst: ticks, WorstP: p}) }   // ascending
//	rows, err := sums.Reduce(comm, nil)   // on rank 0
//
// Memory: 100 bytes for each name.
package totals

import (
	"cmp"
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
)

// Name is what a sum is of. Sums of one kind may be without pattern or activity.
type Name struct {
	Key      uint64 // node<<32 | path
	Pattern  uint32
	Activity uint32
}

// Compare orders names.
func (a Name) Compare(b Name) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Activity, b.Activity))
}

// Row is the sums of a name.
type Row struct {
	Name
	Sum    [2]uint64
	Worst  uint64 // most of one location
	WorstP uint32 // the lowest location that has it
}

// join adds the sums of higher locations.
func (x *Row) join(y *Row) {
	if y.Worst > x.Worst {
		x.Worst, x.WorstP = y.Worst, y.WorstP
	}
	for k := range x.Sum {
		x.Sum[k] += y.Sum[k]
	}
}

// Sums are those of the locations of a rank. The zero value is without any.
type Sums struct{ at map[Name]*Row }

// Add adds the sums of a location, WorstP; locations ascend.
func (s *Sums) Add(x *Row) {
	if y := s.at[x.Name]; y != nil {
		y.join(x)
		return
	}
	if s.at == nil {
		s.at = map[Name]*Row{}
	}
	row := *x
	s.at[x.Name] = &row
}

// Len is the number of names.
func (s *Sums) Len() int { return len(s.at) }

// Rows are all sums, by name.
func (s *Sums) Rows() []Row {
	list := make([]Row, 0, len(s.at))
	for _, x := range s.at {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Row) int { return a.Compare(b.Name) })
	return list
}

// Reduce joins the sums of all ranks, of which higher ones have higher locations; rank 0 gets the result, unless adding up failed on one
// of them. Collective.
func (s *Sums) Reduce(c mpi.Comm, failed error) ([]Row, error) {
	return mpi.TreeReduce(c, s.Rows(), failed, func(l []Row) ([]byte, error) { return Append(nil, l), nil }, Parse,
		func(a, b []Row) ([]Row, error) { return Merge(a, b), nil })
}

// Merge joins b, about higher locations, with a.
func Merge(a, b []Row) []Row {
	return Union(a, b, func(x, y *Row) int { return x.Compare(y.Name) }, (*Row).join)
}

// Union returns the rows of a and b, both in strictly ascending order, in a list of its own; join adds to a row of a the equal one of b.
func Union[R any](a, b []R, compare func(x, y *R) int, join func(x, y *R)) []R {
	out := make([]R, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(&a[0], &b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, a[0])
			join(&out[len(out)-1], &b[0])
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Append appends rows, which are in order, as variable-length integers: the distance of the key, then the rest.
func Append(b []byte, list []Row) []byte {
	last := uint64(0)
	for i := range list {
		x := &list[i]
		b = varint.Append(b, x.Key-last, uint64(x.Pattern), uint64(x.Activity), x.Sum[0], x.Sum[1], x.Worst, uint64(x.WorstP))
		last = x.Key
	}
	return b
}

// ErrDamaged says that Append did not write what Parse reads.
var ErrDamaged = errors.New("damaged totals from another rank")

// Parse reads what Append wrote.
func Parse(b []byte) ([]Row, error) {
	r, last := varint.Read(b), uint64(0)
	var list []Row
	for r.Len() > 0 {
		step := r.Next()
		last += step
		x := Row{Name{last, r.Uint32(), r.Uint32()}, [2]uint64{r.Next(), r.Next()}, r.Next(), r.Uint32()}
		if last < step || len(list) > 0 && list[len(list)-1].Compare(x.Name) >= 0 {
			r.Fail()
		}
		list = append(list, x)
	}
	if r.Failed() {
		return nil, ErrDamaged
	}
	return list, nil
}
