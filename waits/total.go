package waits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/callpath"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// total is the waits of all locations at one place.
type total struct {
	place
	amount
	worst  uint64 // most ticks of one location
	worstP uint32 // the lowest location that has them
}

// Totals adds up the waits of all locations in two rounds, because what a location
// has at a place decides who is worst, and paths may have to be cut first:
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
	end   uint32 // paths of deeper levels are cut
	at    map[place]*total
	list  []total // of rank 0 in the end
}

// NewTotals prepares the sums over all ranks; paths are those of the run.
func NewTotals(c mpi.Comm, paths *callpath.Tree) *Totals {
	return &Totals{comm: c, paths: paths, most: xtf.MostWaitTotals, end: callpath.MaxLevel, at: map[place]*total{}}
}

// Note takes the WAITSUM rows of a location to see which places there are.
func (t *Totals) Note(rows *xtf.Cursor) error {
	err := t.each(rows, func(at place, _ amount) {
		if _, ok := t.at[at]; !ok {
			t.at[at] = &total{place: at}
		}
	})
	for err == nil && len(t.at) > t.most && t.end > 0 {
		list := t.sorted()
		t.end = t.cut(&list, t.end)
		clear(t.at)
		for i := range list {
			t.at[list[i].place] = &list[i]
		}
	}
	return err
}

// each calls f for the rows of a location, on the paths that are left. An error is
// of the rows.
func (t *Totals) each(rows *xtf.Cursor, f func(place, amount)) error {
	for rows.Next() {
		var r xtf.WaitSum
		r.Load(rows.Row())
		if uint64(uint32(r.Key)) >= uint64(t.paths.Len()) {
			return fmt.Errorf("waits: call path %d of %d", uint32(r.Key), t.paths.Len())
		}
		f(t.folded(place{r.Key, r.Pattern}, t.end), amount{r.Count, r.Ticks})
	}
	return rows.Err()
}

// folded moves a place up to level end of the call paths.
func (t *Totals) folded(at place, end uint32) place {
	path := uint32(at.key)
	for t.paths.Path(path).Level > end {
		path = t.paths.Path(path).Parent
	}
	return place{at.key>>32<<32 | uint64(path), at.pattern}
}

// cut folds list from level end to the deepest one that leaves at most t.most
// places, and returns it.
func (t *Totals) cut(list *[]total, end uint32) uint32 {
	for len(*list) > t.most && end > 0 {
		deepest := uint32(0)
		for i := range *list {
			deepest = max(deepest, t.paths.Path(uint32((*list)[i].key)).Level)
		}
		end = max(min(end, deepest), 1) - 1
		t.fold(list, end)
	}
	return end
}

// fold moves all places up to level end; what meets is one place then. Only the
// places are right afterwards.
func (t *Totals) fold(list *[]total, end uint32) {
	l := *list
	for i := range l {
		l[i].place = t.folded(l[i].place, end)
	}
	slices.SortFunc(l, func(a, b total) int { return a.place.compare(b.place) })
	*list = slices.CompactFunc(l, func(a, b total) bool { return a.place == b.place })
}

func (t *Totals) sorted() []total {
	list := make([]total, 0, len(t.at))
	for _, x := range t.at {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b total) int { return a.place.compare(b.place) })
	return list
}

// noted is which places some ranks have, cut at a level.
type noted struct {
	end  uint32
	list []total
}

// Agree decides which call paths are cut. Collective.
func (t *Totals) Agree() error {
	all, err := mpi.TreeReduce(t.comm, noted{t.end, t.sorted()}, encodeNoted, t.decodeNoted, t.mergeNoted)
	if err != nil {
		return err
	}
	b, err := t.comm.Bcast(binary.AppendUvarint(nil, uint64(all.end)), 0)
	if err != nil {
		return err
	}
	r := varint.Read(b)
	t.end = uint32(r.AtMost(callpath.MaxLevel))
	if r.Failed() {
		return errTotals
	}
	clear(t.at)
	return nil
}

func (t *Totals) mergeNoted(a, b noted) (noted, error) {
	end := min(a.end, b.end)
	for _, x := range []*noted{&a, &b} {
		if x.end > end {
			t.fold(&x.list, end)
		}
	}
	list := mergeTotals(a.list, b.list)
	return noted{t.cut(&list, end), list}, nil
}

// Add takes the WAITSUM rows of location p; locations come in ascending order.
func (t *Totals) Add(p trace.P, rows *xtf.Cursor) error {
	own := summing{at: map[place]*amount{}}
	err := t.each(rows, func(at place, x amount) { own.add(at, x.count, x.ticks) })
	for at, x := range own.at {
		y, ok := t.at[at]
		if !ok {
			y = &total{place: at}
			t.at[at] = y
		}
		y.join(&total{amount: *x, worst: x.ticks, worstP: uint32(p)}, !ok)
	}
	return err
}

// join adds what locations above those of x have at the same place; empty says
// that x has none yet.
func (x *total) join(y *total, empty bool) {
	x.count, x.ticks = x.count+y.count, x.ticks+y.ticks
	if empty || y.worst > x.worst {
		x.worst, x.worstP = y.worst, y.worstP
	}
}

// Reduce joins the sums of all ranks on rank 0. Collective.
func (t *Totals) Reduce() error {
	list, err := mpi.TreeReduce(t.comm, t.sorted(), func(l []total) ([]byte, error) { return appendTotals(nil, l), nil },
		t.decodeTotals, func(a, b []total) ([]total, error) { return mergeTotals(a, b), nil })
	t.list = list
	clear(t.at)
	return err
}

// Write makes the WAITTOTAL rows on rank 0.
func (t *Totals) Write(out *xtf.ArrayBuilder) {
	for i := range t.list {
		x := &t.list[i]
		row, _ := out.Append()
		r := xtf.WaitTotal{Key: x.key, Pattern: x.pattern, WorstP: x.worstP, Count: x.count, Ticks: x.ticks, Worst: x.worst}
		r.Put(row)
	}
}

// mergeTotals joins b, about higher locations, with a.
func mergeTotals(a, b []total) []total {
	out := make([]total, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].place.compare(b[0].place); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			x := a[0]
			x.join(&b[0], false)
			out, a, b = append(out, x), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

var errTotals = errors.New("waits: damaged totals from another rank")

func encodeNoted(n noted) ([]byte, error) {
	return appendTotals(binary.AppendUvarint(nil, uint64(n.end)), n.list), nil
}

func (t *Totals) decodeNoted(b []byte) (noted, error) {
	r := varint.Read(b)
	end := r.AtMost(callpath.MaxLevel)
	if r.Failed() {
		return noted{}, errTotals
	}
	list, err := t.decodeTotals(r.Rest())
	return noted{uint32(end), list}, err
}

// appendTotals appends the totals as variable-length integers: their number, then
// of each the distance of its key, pattern, count, ticks, worst, worstP.
func appendTotals(b []byte, list []total) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := uint64(0)
	for i := range list {
		x := &list[i]
		b = varint.Append(b, x.key-last, uint64(x.pattern), x.count, x.ticks, x.worst, uint64(x.worstP))
		last = x.key
	}
	return b
}

// decodeTotals reads totals that take all of b, in order.
func (t *Totals) decodeTotals(b []byte) ([]total, error) {
	r := varint.Read(b)
	list := make([]total, r.Count(6))
	last := uint64(0)
	for i := range list {
		step := r.Next()
		last += step
		list[i] = total{place{last, r.Uint32()}, amount{r.Next(), r.Next()}, r.Next(), r.Uint32()}
		if r.Failed() || last < step || uint64(uint32(last)) >= uint64(t.paths.Len()) ||
			i > 0 && list[i-1].place.compare(list[i].place) >= 0 {
			return nil, errTotals
		}
	}
	if !r.Done() {
		return nil, errTotals
	}
	return list, nil
}
