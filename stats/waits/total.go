package waits

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Totals adds up the waits of all locations by (node, path, pattern). There are at most xtf.MostWaitTotals of these places: if there would
// be more, the deepest levels of call paths are cut, and count for their callers. It takes two rounds, because the worst location of a
// place is known only when paths are cut:
//
//	for each location { t.Note(rows) }
//	t.Agree()
//	for each location { t.Add(p, rows) }   // ascending
//	t.Reduce()
//
// Only rank 0 has the result.
type Totals struct {
	comm  mpi.Comm
	paths *callpath.Tree
	most  int
	end   uint32       // the deepest level that is left
	sums  totals.Sums  // count and ticks
	list  []totals.Row // the result, on rank 0
}

// NewTotals prepares the sums over all ranks. paths are those of the run.
func NewTotals(c mpi.Comm, paths *callpath.Tree) *Totals {
	return &Totals{comm: c, paths: paths, most: xtf.MostWaitTotals, end: callpath.MaxLevel}
}

// Note takes the WAITSUM rows of a location to see which places it has.
func (t *Totals) Note(rows *xtf.Cursor) error {
	err := t.each(rows, func(at place, _ amount) { t.sums.Add(&totals.Row{Name: at.name()}) })
	for err == nil && t.sums.Len() > t.most && t.end > 0 {
		list := t.sums.Rows()
		t.end = t.cut(&list, t.end)
		t.sums = totals.Sums{}
		for i := range list {
			t.sums.Add(&list[i])
		}
	}
	return err
}

// each calls f for the rows of a location, on the paths that are left.
func (t *Totals) each(rows *xtf.Cursor, f func(place, amount)) error {
	for rows.Next() {
		var r xtf.WaitSum
		r.Load(rows.Row())
		if uint64(uint32(r.Key)) >= uint64(t.paths.Len()) {
			return fmt.Errorf("waits: call path %d of %d", uint32(r.Key), t.paths.Len())
		}
		f(place{t.folded(r.Key, t.end), r.Pattern}, amount{r.Count, r.Ticks})
	}
	return rows.Err()
}

// folded returns the key with its path cut at level end.
func (t *Totals) folded(key uint64, end uint32) uint64 {
	path := uint32(key)
	for t.paths.Path(path).Level > end {
		path = t.paths.Path(path).Parent
	}
	return key>>32<<32 | uint64(path)
}

// cut folds list, which is cut at level end, at the deepest level that leaves at most t.most places. It returns that level.
func (t *Totals) cut(list *[]totals.Row, end uint32) uint32 {
	for len(*list) > t.most && end > 0 {
		deepest := uint32(0)
		for i := range *list {
			deepest = max(deepest, t.paths.Path(uint32((*list)[i].Key)).Level)
		}
		end = max(min(end, deepest), 1) - 1
		t.fold(list, end)
	}
	return end
}

// fold cuts the paths of all places at level end, and joins places that are then equal. Only names of rows are right afterwards.
func (t *Totals) fold(list *[]totals.Row, end uint32) {
	l := *list
	for i := range l {
		l[i].Key = t.folded(l[i].Key, end)
	}
	slices.SortFunc(l, func(a, b totals.Row) int { return a.Compare(b.Name) })
	*list = slices.CompactFunc(l, func(a, b totals.Row) bool { return a.Name == b.Name })
}

// noted is the places of some ranks, cut at level end.
type noted struct {
	end  uint32
	list []totals.Row
}

// Agree decides, after Note of all locations, at which level paths are cut. Collective.
func (t *Totals) Agree() error {
	b, err := mpi.TreeShare(t.comm, noted{t.end, t.sums.Rows()}, nil, encodeNoted, t.decodeNoted, t.mergeNoted, func(all noted) ([]byte, error) {
		return binary.AppendUvarint(nil, uint64(all.end)), nil
	})
	if err != nil {
		return err
	}
	r := varint.Read(b)
	t.end = uint32(r.AtMost(callpath.MaxLevel))
	if r.Failed() {
		return totals.ErrDamaged
	}
	t.sums = totals.Sums{}
	return nil
}

func (t *Totals) mergeNoted(a, b noted) (noted, error) {
	end := min(a.end, b.end)
	for _, x := range []*noted{&a, &b} {
		if x.end > end {
			t.fold(&x.list, end)
		}
	}
	list := totals.Merge(a.list, b.list)
	return noted{t.cut(&list, end), list}, nil
}

// Add takes the WAITSUM rows of location p; locations come in ascending order.
func (t *Totals) Add(p trace.P, rows *xtf.Cursor) error {
	own := summing{at: map[place]*amount{}}
	err := t.each(rows, func(at place, x amount) { own.add(at, x.count, x.ticks) })
	for at, x := range own.at {
		t.sums.Add(&totals.Row{Name: at.name(), Sum: [2]uint64{x.count, x.ticks}, Worst: x.ticks, WorstP: uint32(p)})
	}
	return err
}

// Reduce joins the sums of all ranks on rank 0. failed is an error of Add on this rank: all ranks then return an error. Collective.
func (t *Totals) Reduce(failed error) (err error) {
	t.list, err = t.sums.Reduce(t.comm, failed)
	t.sums = totals.Sums{}
	return err
}

// Write writes the WAITTOTAL rows, on rank 0.
func (t *Totals) Write(out *xtf.ArrayBuilder) {
	for i := range t.list {
		x := &t.list[i]
		row, _ := out.Append()
		r := xtf.WaitTotal{Key: x.Key, Pattern: x.Pattern, WorstP: x.WorstP, Count: x.Sum[0], Ticks: x.Sum[1], Worst: x.Worst}
		r.Put(row)
	}
}

func encodeNoted(n noted) ([]byte, error) {
	return totals.Append(binary.AppendUvarint(nil, uint64(n.end)), n.list), nil
}

func (t *Totals) decodeNoted(b []byte) (noted, error) {
	r := varint.Read(b)
	end := r.AtMost(callpath.MaxLevel)
	list, err := totals.Parse(r.Rest())
	for i := range list {
		if uint64(uint32(list[i].Key)) >= uint64(t.paths.Len()) {
			r.Fail()
		}
	}
	if r.Failed() {
		err = totals.ErrDamaged
	}
	return noted{uint32(end), list}, err
}

// place is what waits are added up by.
type place struct {
	key     uint64 // node<<32 | path
	pattern uint32 // with its order
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.pattern, b.pattern))
}

func (a place) name() totals.Name { return totals.Name{Key: a.key, Pattern: a.pattern} }

// amount is the waits of one place.
type amount struct{ count, ticks uint64 }

// summing adds up the waits of one location by place.
type summing struct {
	at      map[place]*amount
	last    place // added to last
	lastSum *amount
}

func (s *summing) add(at place, count, ticks uint64) {
	if s.lastSum == nil || at != s.last {
		if s.at[at] == nil {
			s.at[at] = &amount{}
		}
		s.last, s.lastSum = at, s.at[at]
	}
	s.lastSum.count += count
	s.lastSum.ticks += ticks
}

// write writes the WAITSUM rows, in order.
func (s *summing) write(out *xtf.ArrayBuilder) {
	for _, at := range slices.SortedFunc(maps.Keys(s.at), place.compare) {
		row, _ := out.Append()
		x := s.at[at]
		r := xtf.WaitSum{Key: at.key, Pattern: at.pattern, Count: x.count, Ticks: x.ticks}
		r.Put(row)
	}
}
