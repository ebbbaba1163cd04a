package causes

import (
	"github.com/coppice-hpc/coppice/dataflow"
	"github.com/coppice-hpc/coppice/trace"
)

// passBack passes on what waits have received, the last wait of the run first: a
// wait that no later one adds to any more gives its sum to the location that
// caused it, which deals it out as it did with the wait itself. Collective.
func (d *delays) passBack() (*dataflow.Deadlock, error) {
	var walkers []dataflow.Walker
	first := int64(0)
	for p := d.own.First; p < d.own.End; p++ {
		i := p - d.own.First
		n := uint64(d.spans.size / spanBytes)
		if int(i)+1 < len(d.spanFirst) {
			n = d.spanFirst[i+1]
		}
		walkers = append(walkers, &passer{d: d, p: p, left: n - d.spanFirst[i], blames: backwards{src: d.blames.scratch, first: first, end: d.ends[i]}})
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

// passer is one location going back in time. Memory: backwardsBuffer, and its
// record in hand.
type passer struct {
	d      *delays
	p      trace.P
	left   uint64 // own waits that have not passed on what they got
	blames backwards
	begun  bool
	more   bool
	b      blame // in hand
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
		if !w.more {
			return true, nil
		}
		if !x.Reach(w.d.position(w.b.end)) {
			return false, nil
		}
		passed, ok := x.Receive(waitKey(w.b.waiter, w.b.index), w.b.waiter)
		if !ok {
			return false, nil
		}
		if err := w.d.deal(&w.b, passed, true); err != nil {
			return false, err
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
	b, err := w.blames.next()
	if w.more = b != nil; err != nil || !w.more {
		return err
	}
	w.b.p = w.p
	return w.b.parse(b)
}

// send sends what the last waits have to pass on, as far as no blame is left that
// adds to them.
func (w *passer) send(x *dataflow.Port) (bool, error) {
	for w.left > 0 {
		end, passed, cause, err := w.d.span(w.p, w.left-1)
		if err != nil {
			return false, err
		}
		if w.more && (w.b.end > end || w.b.end == end && !w.d.strict) {
			return true, nil
		}
		if !x.Reach(w.d.position(end)) {
			return false, nil
		}
		w.left--
		x.Send(cause, waitKey(w.p, w.left), passed)
	}
	return true, nil
}
