package causes

import (
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// blame is how costs of one wait are dealt out on the location that was late.
type blame struct {
	p       trace.P // the late location
	pattern uint32
	end     uint64 // of the wait
	begin   uint64
	earlier
	excess [xtf.NumActivities]uint64
	places []place // what p did more of than the waiter, by path and activity
	spots  []spot  // of all places
}

// earlier is the waits of the late location itself that a wait passes a share on to.
type earlier struct {
	over   uint64 // own waits of p that were over at the end ...
	ended  uint64 // ... and the last ones of them, which ended since the pair met
	waited uint64 // time of p in these waits since then
}

// append encodes what deal reads: places of activities that p had too much of.
func (b *blame) append(dst []byte) []byte {
	dst = varint.Append(dst, uint64(b.p), uint64(b.pattern))
	dst = varint.Append(dst, b.excess[:]...)
	spots := b.spots
	for i := range b.places {
		x := &b.places[i]
		own := spots[:x.spots]
		spots = spots[x.spots:]
		if b.excess[activityOf(x.key)] == 0 {
			continue
		}
		dst = varint.Append(dst, x.key, x.weight, uint64(x.spots))
		for _, s := range own {
			dst = varint.Append(dst, uint64(s.node), s.ticks)
		}
	}
	return dst
}

// parse reads what append wrote.
func (b *blame) parse(data []byte) error {
	r := varint.Read(data)
	b.p, b.pattern = trace.P(r.Uint32()), r.Uint32()
	for x := range b.excess {
		b.excess[x] = r.Next()
	}
	b.places, b.spots = b.places[:0], b.spots[:0]
	for r.Len() > 0 {
		x := place{r.Next(), r.Next(), r.Count(2)}
		for range x.spots {
			b.spots = append(b.spots, spot{r.Uint32(), r.Next()})
		}
		b.places = append(b.places, x)
	}
	return failure(&r)
}

// place is a call path in an activity, and how much longer p was there.
type place struct {
	key    uint64
	weight uint64
	spots  int // number of intervals
}

// spot is an interval in which p was on a path.
type spot struct {
	node  uint32
	ticks uint64
}

// compare fills what the two vectors decide: late and waiting side since the pair
// met, the late one with nodes, both in the order of their keys.
func (b *blame) compare(late, waiting []term) {
	var did, other [xtf.NumActivities]uint64
	b.places, b.spots = b.places[:0], b.spots[:0]
	for len(late) > 0 || len(waiting) > 0 {
		if len(late) == 0 || len(waiting) > 0 && waiting[0].key < late[0].key {
			other[waiting[0].activity()] += waiting[0].ticks
			waiting = waiting[1:]
			continue
		}
		key, first, sum := late[0].key, len(b.spots), uint64(0)
		for ; len(late) > 0 && late[0].key == key; late = late[1:] {
			sum += late[0].ticks
			b.spots = append(b.spots, spot{late[0].node, late[0].ticks})
		}
		x := activityOf(key)
		did[x] += sum
		if len(waiting) > 0 && waiting[0].key == key {
			other[x] += waiting[0].ticks
			sum -= min(sum, waiting[0].ticks)
			waiting = waiting[1:]
		}
		if sum == 0 || x == xtf.ActivityWait {
			b.spots = b.spots[:first]
			continue
		}
		b.places = append(b.places, place{key, sum, len(b.spots) - first})
	}
	b.waited = did[xtf.ActivityWait]
	for x := range b.excess {
		b.excess[x] = did[x] - min(did[x], other[x])
	}
}
