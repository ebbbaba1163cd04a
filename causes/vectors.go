package causes

import (
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// walker goes along the time line of a location with its waits laid over it and
// takes the steps of plan.
type walker struct {
	d       *delays
	p       trace.P
	line    *timeline
	waits   *causeRows
	past    uint64 // the end of all waits so far
	inside  bool   // the wait in hand has begun
	done    uint64 // waits that are over
	ended   uint64 // the instant at which the newest of them was over
	begun   uint64 // the begin of that wait
	newest  uint64 // its number
	latest  state  // of the newest piece
	history *history
	waiting int32 // slots of history: ticks in waits, waits that are over
	over    int32
	recent  [recentSlots]recentSlot
	terms   []term
}

// recentSlots are the slots of the states that came last, by path.
const recentSlots = 64

type recentSlot struct {
	state
	slot int32
	set  bool
}

// keyOver is the key of the number of waits that are over: no activity has it.
const keyOver = 7

func (d *delays) newWalker(p trace.P, h *history) (*walker, error) {
	l, err := d.run.Open(p)
	if err != nil {
		return nil, err
	}
	c, err := d.run.Waits(p)
	if err != nil {
		return nil, err
	}
	h.reset()
	w := &walker{d: d, p: p, line: newTimeline(l, d.run.Derived), waits: newCauseRows(c, p, d.locations()), history: h}
	w.waiting, w.over = h.slot(termKey(0, xtf.ActivityWait), 0), h.slot(keyOver, 0)
	return w, w.settle()
}

// begin is the instant at which the wait in hand begins: waits do not overlap.
func (w *walker) begin() uint64 { return max(w.waits.row.T, w.past) }

// end is the instant at which it is over, which is its begin if it lies inside
// another one.
func (w *walker) end() uint64 { return max(w.waits.row.End, w.past) }

// settle begins and ends waits at the instant of the walk.
func (w *walker) settle() error {
	for w.waits.more && w.begin() <= w.line.at {
		w.inside = true
		if w.end() > w.line.at {
			return nil
		}
		begin, end := w.begin(), w.end()
		if err := w.d.addSpan(begin, end, w.waits.row.CauseP); err != nil {
			return err
		}
		if begin < end {
			w.begun, w.ended, w.newest = begin, end, w.done
		}
		w.past, w.inside = end, false
		w.done++
		w.history.add(w.over, 1, w.line.at)
		w.waits.next()
	}
	return nil
}

// advance walks to an instant.
func (w *walker) advance(to uint64) error {
	for w.line.at < to {
		limit := to
		if w.waits.more {
			if w.inside {
				limit = min(limit, w.end())
			} else {
				limit = min(limit, w.begin())
			}
		}
		s, from, end := w.line.next(limit)
		if w.d.trail != nil {
			if err := w.d.trail.add(w.p, &s, from, end); err != nil {
				return err
			}
		}
		w.latest = s
		i := w.waiting
		if !w.inside {
			i = w.slot(s)
		}
		w.history.add(i, end-from, end)
		if err := w.settle(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) slot(s state) int32 {
	r := &w.recent[(s.path*5+s.activity)%recentSlots]
	if s.region = 0; !r.set || r.state != s { // slots know the path alone
		*r = recentSlot{s, w.history.slot(termKey(s.path, s.activity), s.node), true}
	}
	return r.slot
}

// vector is what the location did from an instant up to that of the walk, where
// it is not waiting: a wait that is not over counts as time in MPI. With strict
// so does one that is over just now. It also returns how many waits count as
// over, and how many of them ended since.
func (w *walker) vector(since uint64, strict bool) (terms []term, over, ended uint64) {
	w.terms = w.history.since(w.terms[:0], since)
	over, ended = w.done, w.history.of(w.over, since)
	now := w.line.at
	open := uint64(0)
	switch {
	case strict && w.ended == now && ended > 0:
		open = now - max(w.begun, since)
		ended -= over - w.newest
		over = w.newest
	case w.inside:
		open = now - max(w.begin(), since)
	}
	w.asMPI(open)
	return w.terms, over, ended
}

// asMPI drops the number of waits from the vector and moves ticks from waits to
// MPI.
func (w *walker) asMPI(ticks uint64) {
	kept := w.terms[:0]
	moved := term{termKey(w.latest.path, xtf.ActivityMPI), w.latest.node, ticks}
	for _, t := range w.terms {
		switch {
		case t.key == keyOver:
			continue
		case t.activity() == xtf.ActivityWait:
			if t.ticks -= ticks; t.ticks == 0 {
				continue
			}
		case compareTerms(t, moved) == 0:
			t.ticks += moved.ticks
			moved.ticks = 0
		}
		kept = append(kept, t)
	}
	w.terms = kept
	if moved.ticks > 0 {
		w.terms = append(w.terms, moved)
		slices.SortFunc(w.terms, compareTerms)
	}
}

// appendTerms appends a vector, of paths and activities alone or with nodes.
func appendTerms(b []byte, terms []term, nodes bool) []byte {
	for i := 0; i < len(terms); i++ {
		t := terms[i]
		b = binary.AppendUvarint(b, t.key)
		if nodes {
			b = binary.AppendUvarint(b, uint64(t.node))
		} else {
			for ; i+1 < len(terms) && terms[i+1].key == t.key; i++ {
				t.ticks += terms[i+1].ticks
			}
		}
		b = binary.AppendUvarint(b, t.ticks)
	}
	return b
}

// parseTerms reads what appendTerms wrote.
func parseTerms(dst []term, b []byte, nodes bool) ([]term, error) {
	r := varint.Read(b)
	for r.Len() > 0 {
		t := term{key: r.Next()}
		if nodes {
			t.node = uint32(r.Next())
		}
		if t.ticks = r.Next(); t.activity() >= xtf.NumActivities {
			return nil, errDamaged
		}
		dst = append(dst, t)
	}
	return dst, failure(&r)
}
