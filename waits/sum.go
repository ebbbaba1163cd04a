package waits

import (
	"cmp"
	"slices"

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

// amount is the waits of one place.
type amount struct{ count, ticks uint64 }

// summing is the waits of one location by place.
type summing map[place]amount

func (s summing) add(key uint64, pattern uint32, ticks uint64) {
	at := place{key, pattern}
	x := s[at]
	s[at] = amount{x.count + 1, x.ticks + ticks}
}

// write makes the WAITSUM rows, in order.
func (s summing) write(out *xtf.ArrayBuilder) {
	places := make([]place, 0, len(s))
	for at := range s {
		places = append(places, at)
	}
	slices.SortFunc(places, place.compare)
	for _, at := range places {
		row, _ := out.Append()
		x := s[at]
		r := xtf.WaitSum{Key: at.key, Pattern: at.pattern, Count: x.count, Ticks: x.ticks}
		r.Put(row)
	}
}
