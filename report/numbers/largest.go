package numbers

import "math"

// Largest finds which location has most of each line, of lines that several places make up: the sums of a place over all locations tell
// who has most of that place alone. Locations come one after another. The zero value is empty.
type Largest[K comparable] struct {
	own  map[K]uint64
	most map[K]OfOne
}

// OfOne is what a location has of a line, in ticks.
type OfOne struct {
	Ticks uint64
	P     uint32
}

// Add adds a part of a line, of the location in hand.
func (l *Largest[K]) Add(line K, ticks uint64) {
	if l.own == nil {
		l.own, l.most = map[K]uint64{}, map[K]OfOne{}
	}
	l.own[line] += min(ticks, math.MaxUint64-l.own[line]) // damaged rows alone make more
}

// End ends location p.
func (l *Largest[K]) End(p uint32) {
	for line, ticks := range l.own { // the order does not matter
		if ticks > l.most[line].Ticks {
			l.most[line] = OfOne{ticks, p}
		}
	}
	clear(l.own)
}

// Own is what the location in hand has of a line so far.
func (l *Largest[K]) Own(line K) uint64 { return l.own[line] }

// Of is the largest part of a line, the first one of equals; of none it is 0.
func (l *Largest[K]) Of(line K) OfOne { return l.most[line] }
