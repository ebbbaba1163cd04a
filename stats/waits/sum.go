package waits

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/xtf"
)

// place is where waits add up.
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

// summing is the waits of one location by place.
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

// write makes the WAITSUM rows, in order.
func (s *summing) write(out *xtf.ArrayBuilder) {
	for _, at := range slices.SortedFunc(maps.Keys(s.at), place.compare) {
		row, _ := out.Append()
		x := s.at[at]
		r := xtf.WaitSum{Key: at.key, Pattern: at.pattern, Count: x.count, Ticks: x.ticks}
		r.Put(row)
	}
}
