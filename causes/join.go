package causes

import (
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// blame is how costs of one wait are dealt out on the location that was late.
type blame struct {
	p       trace.P // the late location
	pattern uint32
	end     uint64 // of the wait
	begin   uint64
	over    uint64 // own waits of p that were over at the end ...
	ended   uint64 // ... and the last ones of them, which ended since the pair met
	waited  uint64 // time of p in these waits since then
	excess  [xtf.NumActivities]uint64
	places  []place // what p did more of than the waiter, by path and activity
	spots   []spot  // of all places
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
