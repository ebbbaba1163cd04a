package causes

import (
	"github.com/coppice-hpc/coppice/dataflow"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// The readers of all locations of a rank, which are at work at once, take about
// readersBytes, but leastReader each.
const (
	readersBytes = 4 << 20
	leastReader  = 1 << 10
)

// passBack passes on what waits have received, the last wait of the run first: a
// wait that no later one adds to any more gives its sum to the location that
// caused it, which deals it out as it did with the wait itself. Collective.
func (d *delays) passBack() (*dataflow.Deadlock, error) {
	var walkers []dataflow.Walker
	first, buffer := int64(0), min(max(readersBytes/max(d.own.Len(), 1), leastReader), journalBuffer)
	for p := d.own.First; p < d.own.End; p++ {
		i := p - d.own.First
		n := uint64(d.spans.size / spanBytes)
		if int(i)+1 < len(d.spanFirst) {
			n = d.spanFirst[i+1]
		}
		walkers = append(walkers, &passer{d: d, p: p, left: n - d.spanFirst[i], blames: backwards{src: d.blames.scratch, first: first, end: d.ends[i], most: int64(buffer)}})
		first = d.ends[i]
	}
	rep, err := dataflow.Run(dataflow.Options{
		Comm: d.run.Comm, Defs: d.run.Defs, Ranges: d.run.Ranges, Walkers: walkers,
		Span: d.latest, Rows: d.report.Waits, Budget: d.run.Budget,
	})
	if err != nil {
		return nil, err
	}
	d.report.Flow = *rep
	return rep.Deadlock, nil
}

// passer is one location going back in time. Memory: its reader's buffer.
type passer struct {
	d      *delays
	p      trace.P
	left   uint64 // own waits that have not passed on what they got
	end    uint64 // of the last of them, once it is known
	known  bool
	blames backwards
	begun  bool
	record []byte // the blame in hand, nil at the first
	head   blame  // its head
}

// Walk implements dataflow.Walker.
func (w *passer) Walk(x *dataflow.Port) (bool, error) {
	if !w.begun {
		w.begun = true
		if err := w.next(); err != nil {
			return false, err
		}
	}
	for {
		if all, err := w.send(x); !all || err != nil {
			return false, err
		}
		if w.record == nil {
			return true, nil
		}
		if !x.Reach(w.d.position(w.head.end)) {
			return false, nil
		}
		passed, ok := x.Receive(waitKey(w.head.waiter, w.head.index), w.head.waiter)
		if !ok {
			return false, nil
		}
		if passed > 0 {
			b := &w.d.dealer.passing
			b.p = w.p
			if err := b.parse(w.record); err != nil {
				return false, err
			}
			if err := w.d.deal(b, passed, true); err != nil {
				return false, err
			}
		}
		if err := w.next(); err != nil {
			return false, err
		}
	}
}

// waitKey names a wait among all of the run; see mostWaits.
func waitKey(p trace.P, index uint64) uint64 { return uint64(p)<<32 | index }

// next takes the blame before the one in hand.
func (w *passer) next() error {
	var err error
	if w.record, err = w.blames.next(); err != nil || w.record == nil {
		return err
	}
	r := varint.Read(w.record)
	w.head.parseHead(&r)
	return failure(&r)
}

// send sends what the last waits have to pass on, as far as no blame is left that
// adds to them.
func (w *passer) send(x *dataflow.Port) (bool, error) {
	for w.left > 0 {
		if !w.known {
			end, _, _, err := w.d.span(w.p, w.left-1)
			if err != nil {
				return false, err
			}
			w.end, w.known = end, true
		}
		if w.record != nil && (w.head.end > w.end || w.head.end == w.end && !w.d.strict) {
			return true, nil
		}
		if !x.Reach(w.d.position(w.end)) {
			return false, nil
		}
		_, passed, cause, err := w.d.span(w.p, w.left-1)
		if err != nil {
			return false, err
		}
		w.left--
		w.known = false
		x.Send(cause, waitKey(w.p, w.left), passed)
	}
	return true, nil
}
