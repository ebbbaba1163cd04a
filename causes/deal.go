package causes

import (
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// dealer holds what deal works with.
type dealer struct {
	activities, paths, nodes splitter
	weights                  []uint64
}

// deal deals out ticks over what the late location did too long: by activity,
// then by call path, then by the intervals in which it was there. What falls to
// its waits is returned.
func (d *Delays) deal(b *blame, amount uint64, kind int) (waits uint64, err error) {
	if amount == 0 {
		return 0, nil
	}
	parts := d.dealer.activities.split(amount, b.excess[:])
	if parts == nil {
		return 0, errDamaged
	}
	for x, cost := range parts {
		if cost == 0 {
			continue
		}
		if uint32(x) == xtf.ActivityWait {
			waits = cost
			continue
		}
		if err := d.dealPaths(b, uint32(x), cost, kind); err != nil {
			return 0, err
		}
	}
	return waits, nil
}

func (d *Delays) dealPaths(b *blame, activity uint32, amount uint64, kind int) error {
	q := &d.dealer
	q.weights = q.weights[:0]
	for i := range b.places {
		if activityOf(b.places[i].key) == activity {
			q.weights = append(q.weights, b.places[i].weight)
		}
	}
	parts := q.paths.split(amount, q.weights)
	if parts == nil {
		return errDamaged
	}
	spots := b.spots
	for i := range b.places {
		own := spots[:b.places[i].spots]
		spots = spots[b.places[i].spots:]
		if activityOf(b.places[i].key) != activity {
			continue
		}
		cost := parts[0]
		parts = parts[1:]
		q.weights = q.weights[:0]
		for _, s := range own {
			q.weights = append(q.weights, s.ticks)
		}
		path := uint32(b.places[i].key >> activityBits)
		nodes := q.nodes.split(cost, q.weights)
		if nodes == nil {
			return errDamaged
		}
		for k, c := range nodes {
			if c == 0 {
				continue
			}
			x := cost1{p: b.p, key: xtf.NodeKey(own[k].node, path), pattern: b.pattern & xtf.WaitPatternMask, activity: activity}
			var sum [costKinds]uint64
			sum[kind] = c
			if err := d.far.add(&x, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// passOn deals ticks out over the waits of the late location since the pair met, by their lengths: the waits
// from the last one on get the differences of floor(ticks * length so far / length of all). So a part depends on what lies
// after it alone, and slabs can deal out one after the other.
func (d *Delays) passOn(p trace.P, to *earlier, amount uint64) error {
	if amount == 0 {
		return nil
	}
	if to.over < to.ended || to.waited == 0 {
		return errDamaged
	}
	c := carried{p: p, next: to.over, low: to.over - to.ended, amount: amount, total: to.waited}
	d.carry(&c)
	if c.next > c.low {
		d.carried = append(d.carried, c)
	}
	return nil
}

// carried is ticks for waits of earlier slabs: those from low up to next, which is not one of them.
type carried struct {
	p             trace.P
	next, low     uint64
	amount, total uint64
	length, given uint64 // of the waits after, so far
}

// carry gives the waits of this slab their part.
func (d *Delays) carry(c *carried) {
	w := &d.waits[c.p]
	for c.next > c.low && c.next > w.first && c.next-w.first <= uint64(len(w.list)) {
		c.next--
		s := &w.list[c.next-w.first]
		c.length = min(c.length+s.end-s.begin, c.total) // of the first one only what lies after the meeting
		part, _ := share(c.amount, c.length, c.total)
		s.passed += part - c.given
		c.given = part
	}
}
