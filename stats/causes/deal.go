package causes

import (
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// dealer is the memory of deal.
type dealer struct {
	activities, paths, nodes [costKinds]splitter
	weights                  []uint64
}

// split divides an amount of each kind of costs.
func split(s *[costKinds]splitter, amounts [costKinds]uint64, weights []uint64) (parts [costKinds][]uint64, err error) {
	for kind, amount := range amounts {
		if parts[kind] = s[kind].split(amount, weights); parts[kind] == nil {
			return parts, ErrDamaged
		}
	}
	return parts, nil
}

// deal distributes the n-th wait of the current slab, and what later waits passed to it, over the activities of the late location. pass
// and rest say what it does with the parts: pass on that of waits to the late location's waits, and distribute the rest over call paths
// and nodes.
func (d *Delays) deal(n int, pass, rest bool) error {
	b := &d.blame
	b.slabWait = d.list[n]
	amounts := [costKinds]uint64{shortTerm: b.end - b.begin, longTerm: *d.passedBy(n)}
	if amounts == [costKinds]uint64{} {
		return nil
	}
	if d.direct() {
		d.blameWait(n)
	} else if err := b.parse(d.blames[n], rest); err != nil || !rest && b.excess[xtf.ActivityWait] == 0 {
		return err
	}
	parts, err := split(&d.dealer.activities, amounts, b.excess[:])
	for kind := 0; pass && kind < costKinds && err == nil; kind++ {
		err = d.passOn(parts[kind][xtf.ActivityWait])
	}
	if !rest || err != nil {
		return err
	}
	for i := range b.excess {
		costs := [costKinds]uint64{parts[shortTerm][i], parts[longTerm][i]}
		if uint32(i) != xtf.ActivityWait && costs != [costKinds]uint64{} && err == nil {
			err = d.dealPaths(b, uint32(i), costs)
		}
	}
	return err
}

func (d *Delays) dealPaths(b *blame, activity uint32, amounts [costKinds]uint64) error {
	q := &d.dealer
	q.weights = q.weights[:0]
	for i := range b.places {
		if activityOf(b.places[i].key) == activity {
			q.weights = append(q.weights, b.places[i].weight)
		}
	}
	parts, err := split(&q.paths, amounts, q.weights)
	spots, n := b.spots, 0
	for i := range b.places {
		own := spots[:b.places[i].spots]
		spots = spots[b.places[i].spots:]
		if activityOf(b.places[i].key) != activity {
			continue
		}
		if err != nil {
			return err
		}
		path := uint32(b.places[i].key >> activityBits)
		nodes := [costKinds][]uint64{parts[shortTerm][n : n+1], parts[longTerm][n : n+1]}
		if n++; len(own) > 1 {
			q.weights = q.weights[:0]
			for _, s := range own {
				q.weights = append(q.weights, s.ticks)
			}
			nodes, err = split(&q.nodes, [costKinds]uint64{nodes[shortTerm][0], nodes[longTerm][0]}, q.weights)
		}
		for k := 0; k < len(own) && err == nil; k++ {
			x := costName{p: b.cause, key: xtf.NodeKey(own[k].node, path), pattern: b.pattern & xtf.WaitPatternMask, activity: activity}
			if sum := [costKinds]uint64{nodes[shortTerm][k], nodes[longTerm][k]}; sum != [costKinds]uint64{} {
				err = d.far.add(&x, sum)
			}
		}
	}
	return err
}

// passOn distributes ticks over the waits of the late location since the pair met, in proportion to their lengths. From the last wait on,
// a part is the growth of floor(ticks * length so far / length of all). So a part depends only on later waits, and slabs can follow
// each other.
func (d *Delays) passOn(amount uint64) error {
	b := &d.blame
	if amount == 0 {
		return nil
	}
	if b.over < b.ended || b.waited == 0 {
		return ErrDamaged
	}
	c := carried{p: b.cause, next: b.over, low: b.over - b.ended, amount: amount, total: b.waited}
	d.carry(&c)
	if c.next > c.low {
		d.carried = append(d.carried, c)
	}
	return nil
}

// carried is ticks for waits low to next-1 of location p, which end in earlier slabs.
type carried struct {
	p             trace.P
	next, low     uint64
	amount, total uint64 // ticks to distribute, and length of all waits that share them
	length, given uint64 // length of the waits so far, and ticks that they got
}

// carry gives the waits of this slab their parts.
func (d *Delays) carry(c *carried) {
	w := &d.waits[c.p]
	for c.next > c.low && c.next > w.first && c.next-w.first <= uint64(len(w.list)) {
		c.next--
		s := &w.list[c.next-w.first]
		c.length = min(c.length+s.end-s.begin, c.total) // of the first wait only the time after the meeting counts
		part, _ := share(c.amount, c.length, c.total)
		s.passed += part - c.given
		c.given = part
	}
}
