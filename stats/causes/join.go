package causes

import (
	"encoding/binary"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// blame is what a wait is blamed on: the activities, paths and nodes in which the late location was longer than the one that waits.
type blame struct {
	slabWait
	over   uint64                    // waits of the late location that were over at the end of the wait
	ended  uint64                    // how many of these ended since the pair met
	waited uint64                    // ticks in these since the pair met
	excess [xtf.NumActivities]uint64 // ticks that the late location did more, by activity: δ(x)
	places []place                   // the same by path and activity
	spots  []spot                    // of all places, one after another
}

// append encodes a wait, which ends after start.
func (w *slabWait) append(dst []byte, start uint64) []byte {
	return varint.Append(dst, uint64(w.p), uint64(w.cause), uint64(w.pattern), w.index, w.end-start, w.end-w.begin, w.end-w.since)
}

// parseWait reads what append wrote.
func parseWait(r *varint.Reader, start uint64) (w slabWait) {
	w.p, w.cause, w.pattern, w.index = trace.P(r.Uint32()), trace.P(r.Uint32()), r.Uint32(), r.Next()
	w.end = start + r.Next()
	w.begin, w.since = w.end-r.Next(), w.end-r.Next()
	return w
}

// append encodes the blame, with the places of activities that have an excess.
func (b *blame) append(dst []byte) []byte {
	some := uint64(0)
	for x, ticks := range b.excess {
		if ticks > 0 {
			some |= 1 << x
		}
	}
	dst = varint.Append(dst, b.over, b.ended, b.waited, some)
	for ; some != 0; some &= some - 1 {
		dst = binary.AppendUvarint(dst, b.excess[bits.TrailingZeros64(some)])
	}
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

// parse reads what append wrote; the places only on request.
func (b *blame) parse(rest []byte, places bool) error {
	r := varint.Read(rest)
	b.over, b.ended, b.waited = r.Next(), r.Next(), r.Next()
	b.excess = [xtf.NumActivities]uint64{}
	for some := r.AtMost(1<<xtf.NumActivities - 1); some != 0; some &= some - 1 {
		b.excess[bits.TrailingZeros64(some)] = r.Next()
	}
	b.places, b.spots = b.places[:0], b.spots[:0]
	for places && r.Len() > 0 {
		x := place{r.Next(), r.Next(), r.Count(2)}
		for range x.spots {
			b.spots = append(b.spots, spot{r.Uint32(), r.Next()})
		}
		b.places = append(b.places, x)
	}
	return failure(&r)
}

// place is a call path in an activity, and how much longer the late location was there.
type place struct {
	key    uint64 // as in term
	weight uint64 // ticks
	spots  int    // number of nodes
}

// spot is the ticks of the late location on the path of a place in one node.
type spot struct {
	node  uint32
	ticks uint64
}

// compare sets the blame from the vectors of the late location, with nodes, and of the waiting one, without; both are sorted by key.
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
