package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// slabWait is a wait that ends in the slab in hand. Memory: 48 bytes.
type slabWait struct {
	p, cause   trace.P
	pattern    uint32
	index      uint64 // among those of p that have a cause
	begin, end uint64
	since      uint64 // when the pair met last; as it is read, only in collective operations
}

// pair is two locations, the lower one first.
type pair struct{ a, b trace.P }

func (w *slabWait) pair() pair { return pair{min(w.p, w.cause), max(w.p, w.cause)} }

// openWaits reads the waits of a slab, by location and in order.
func (d *delays) openWaits(k int) error {
	clear(d.waits)
	d.list = d.list[:0]
	return d.ended.each(k, func(p uint32, b []byte) error {
		if int(p) >= len(d.waits) {
			return errDamaged
		}
		own := &d.waits[p]
		r := varint.Read(b)
		for r.Len() > 0 {
			w := slabWait{p: trace.P(p), index: r.Next(), begin: r.Next()}
			w.end = w.begin + r.Next()
			w.since, w.cause, w.pattern = r.Next(), trace.P(r.Uint32()), r.Uint32()
			if len(own.list) == 0 {
				own.first = w.index
			}
			if w.index != own.first+uint64(len(own.list)) || int(w.cause) >= len(d.waits) {
				return errDamaged
			}
			own.list = append(own.list, ownWait{begin: w.begin, end: w.end})
			d.list = append(d.list, w)
		}
		return failure(&r)
	})
}

// meet finds when the pair of each wait of a slab met last before its end, given when pairs did in the slabs before, which it
// brings up to date.
func (d *delays) meet(last map[pair]uint64) {
	order := make([]int, len(d.list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &d.list[a], &d.list[b]
		p, q := x.pair(), y.pair()
		return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b), cmp.Compare(x.end, y.end))
	})
	for i := 0; i < len(order); {
		p := d.list[order[i]].pair()
		before := last[p]
		for i < len(order) && d.list[order[i]].pair() == p {
			end := d.list[order[i]].end
			for ; i < len(order) && d.list[order[i]].pair() == p && d.list[order[i]].end == end; i++ {
				w := &d.list[order[i]]
				w.since = max(w.since, before)
				if w.begin < w.since {
					d.report.Reversed++
				}
			}
			before = end
		}
		last[p] = before
	}
}

// met finds when pairs met last before this rank's slabs. Pairs are at home on a rank each, which hears of the last time in
// the slabs of each rank, and tells the ranks behind. Collective.
func (d *delays) met() (map[pair]uint64, error) {
	c := d.run.Comm
	last := map[pair]uint64{}
	if c.Size() == 1 {
		return last, nil
	}
	home := func(p pair) int {
		return int((uint64(p.a)<<32 | uint64(p.b)) * 0x9E3779B97F4A7C15 >> 33 % uint64(c.Size()))
	}
	type told struct {
		rank uint32
		end  uint64
	}
	heard := map[pair][]told{}
	box := newOutbox(c, &d.run.Storage, func(b []byte) error {
		r := varint.Read(b)
		p := pair{trace.P(r.Uint32()), trace.P(r.Uint32())}
		heard[p] = append(heard[p], told{r.Uint32(), r.Next()})
		return failure(&r)
	})
	var err error
	for k := range d.ended.list {
		if err = d.openWaits(d.ended.own + k); err != nil {
			break
		}
		for i := range d.list {
			w := &d.list[i]
			last[w.pair()] = max(last[w.pair()], w.end)
		}
	}
	var b []byte
	for p, end := range last {
		b = varint.Append(b[:0], uint64(p.a), uint64(p.b), uint64(c.Rank()), end)
		if perr := box.put(home(p), b); err == nil {
			err = perr
		}
	}
	if err := box.deliver(err); err != nil {
		return nil, err
	}
	d.report.Bytes += box.sent
	clear(last)
	box = newOutbox(c, &d.run.Storage, func(b []byte) error {
		r := varint.Read(b)
		last[pair{trace.P(r.Uint32()), trace.P(r.Uint32())}] = r.Next()
		return failure(&r)
	})
	for p, list := range heard {
		slices.SortFunc(list, func(a, b told) int { return cmp.Compare(a.rank, b.rank) })
		for i := 1; i < len(list) && err == nil; i++ {
			b = varint.Append(b[:0], uint64(p.a), uint64(p.b), list[i-1].end)
			err = box.put(int(list[i].rank), b)
		}
	}
	if err := box.deliver(err); err != nil {
		return nil, err
	}
	d.report.Bytes += box.sent
	return last, nil
}

// Which totals of a wait lie in a slab before its own.
const (
	lateSince uint64 = iota // of the one that is late, when the pair met
	waitSince               // of the one that waits, then
	waitBegin               // of the one that waits, when it begins to
	askKinds
)

// ask asks the slabs before for totals. Collective.
func (d *delays) ask() error {
	last, err := d.met()
	if err != nil {
		return err
	}
	asks := newParcels(d.run.Comm, &d.run.Storage, d.run.Slabs)
	defer asks.drop()
	out := parcelWriter{to: asks}
	asked := []int64{0}
	for i := 0; i < len(d.ended.list) && err == nil; i++ {
		k := d.ended.own + i
		if err = d.openWaits(k); err != nil {
			break
		}
		d.meet(last)
		start := d.run.Slabs.start(k)
		since := make([]uint64, len(d.list))
		for n := range d.list {
			w := &d.list[n]
			since[n] = w.since
			put := func(p trace.P, t, what uint64) {
				if t == 0 || t > start {
					return
				}
				out.at(uint32(p), d.run.Slabs.at(t))
				out.buf = varint.Append(out.buf, t, uint64(k), uint64(n)*askKinds+what)
				asked[0]++
			}
			put(w.cause, w.since, lateSince)
			if w.since < w.begin {
				put(w.p, w.since, waitSince)
				put(w.p, w.begin, waitBegin)
			}
		}
		d.since = append(d.since, since)
	}
	out.flush()
	if err == nil {
		err = out.err
	}
	if err := asks.deliver(err); err != nil {
		return err
	}
	if err := d.run.Comm.AllreduceInt64(asked, mpi.Sum); err != nil || asked[0] == 0 {
		return err
	}
	return d.answers.deliver(d.answer(asks))
}

// answer tells totals at instants of this rank's slabs: how many waits are over, then terms.
func (d *delays) answer(asks *parcels) error {
	out := parcelWriter{to: d.answers}
	var terms []term
	for i := range asks.list {
		k := asks.own + i
		if len(asks.list[i]) == 0 {
			continue
		}
		if err := d.openSlab(k); err != nil {
			return err
		}
		err := asks.each(k, func(p uint32, b []byte) error {
			r := varint.Read(b)
			for r.Len() > 0 {
				t, slab, n := r.Next(), r.Next(), r.Next()
				if r.Failed() || int(p) >= len(d.lines) || slab >= uint64(d.run.Slabs.count()) || n > 1<<32-1 {
					return errDamaged
				}
				x := &d.lines[p]
				terms = x.total(&d.tally, t, terms[:0])
				if out.at(uint32(n), int(slab)) {
					out.buf = varint.Append(out.buf, d.over(trace.P(p), t))
				}
				out.buf = appendTerms(out.buf, terms)
				out.flush()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return out.err
}

// total appends what a location did up to an instant of the slab.
func (x *lineSlab) total(t *tally, at uint64, dst []term) []term {
	t.begin(len(x.keys))
	x.before(t)
	x.span(t, x.start, at)
	return x.take(t, dst)
}

// over is how many waits of a location are over at an instant of the slab.
func (d *delays) over(p trace.P, t uint64) uint64 {
	list := d.waits[p].list
	n, _ := slices.BinarySearchFunc(list, t+1, func(w ownWait, t uint64) int { return cmp.Compare(w.end, t) })
	return d.lines[p].done + uint64(n)
}

// openSlab reads the waits and the time lines of a slab.
func (d *delays) openSlab(k int) error {
	if err := d.openWaits(k); err != nil {
		return err
	}
	start := d.run.Slabs.start(k)
	return d.parcels.each(k, func(p uint32, b []byte) error {
		if int(p) >= len(d.lines) {
			return errDamaged
		}
		return d.lines[p].parse(b, start)
	})
}

// reply is what was told of an instant before the slab.
type reply struct {
	over  uint64
	terms []term
}

// replies reads what was told to a slab.
func (d *delays) replies(k int) (map[uint64]reply, error) {
	list := map[uint64]reply{}
	err := d.answers.each(k, func(n uint32, b []byte) error {
		r := varint.Read(b)
		x := reply{over: r.Next()}
		var err error
		x.terms, err = parseTerms(nil, r.Rest())
		list[uint64(n)] = x
		return err
	})
	return list, err
}

// blameSlab finds what the waits of a slab are to be blamed on, as duties.
func (d *delays) blameSlab(k int) ([]duty, error) {
	if err := d.openSlab(k); err != nil {
		return nil, err
	}
	told, err := d.replies(k)
	if err != nil {
		return nil, err
	}
	start, since := d.run.Slabs.start(k), d.since[k-d.ended.own]
	duties := make([]duty, 0, len(d.list))
	for n := range d.list {
		w := &d.list[n]
		w.since = since[n]
		b := &d.blame
		b.p, b.pattern, b.begin, b.end = w.cause, w.pattern, w.begin, w.end
		d.late(w, start, told[uint64(n)*askKinds+lateSince])
		d.other(w, start, told[uint64(n)*askKinds+waitSince], told[uint64(n)*askKinds+waitBegin])
		b.compare(d.terms[0], d.terms[1])
		at := len(d.record)
		d.record = b.append(d.record)
		duties = append(duties, duty{p: w.cause, waiter: w.p, index: w.index, end: w.end, record: d.record[at:len(d.record):len(d.record)]})
	}
	return duties, nil
}

// late makes the vector of the late side of a wait, up to its end: a wait that is not over there counts as time in MPI. With
// strict order so does one that is over just then.
func (d *delays) late(w *slabWait, start uint64, far reply) {
	x, b, s := &d.lines[w.cause], &d.blame, w.end
	d.terms[0] = d.vector(x, d.terms[0][:0], w.since, s, start, far.terms)
	b.over = d.over(w.cause, s)
	was := far.over
	if w.since > start {
		was = d.over(w.cause, w.since)
	}
	b.ended = b.over - min(was, b.over)
	key, open, begun := x.state(s)
	if own := &d.waits[w.cause]; d.strict && !open {
		for i := int(b.over-own.first) - 1; i >= 0 && i < len(own.list) && own.list[i].end == s && b.ended > 0; i-- {
			if v := own.list[i]; v.begin < v.end {
				open, begun = true, v.begin
				newest := own.first + uint64(i)
				b.ended -= min(b.over-newest, b.ended)
				b.over = newest
				break
			}
		}
	}
	if open {
		d.terms[0] = asMPI(d.terms[0], key, s-max(begun, w.since))
	}
}

// other makes the vector of the waiting side, up to the begin of the wait, by path and activity.
func (d *delays) other(w *slabWait, start uint64, since, begin reply) {
	d.terms[1] = d.terms[1][:0]
	if w.since >= w.begin {
		return
	}
	x := &d.lines[w.p]
	if w.begin > start {
		d.terms[1] = d.vector(x, d.terms[1], w.since, w.begin, start, since.terms)
	} else {
		d.terms[1] = less(append(d.terms[1], begin.terms...), since.terms)
	}
	list := d.terms[1][:0]
	for _, t := range d.terms[1] {
		if n := len(list); n > 0 && list[n-1].key == t.key {
			list[n-1].ticks += t.ticks
		} else {
			list = append(list, t)
		}
	}
	d.terms[1] = list
}

// vector appends what a location did in [since, t), of which t is in the slab; before are its totals at since if that is not.
func (d *delays) vector(x *lineSlab, dst []term, since, t, start uint64, before []term) []term {
	d.tally.begin(len(x.keys))
	if since > start {
		x.span(&d.tally, since, t)
		return x.take(&d.tally, dst)
	}
	x.before(&d.tally)
	x.span(&d.tally, x.start, t)
	return less(x.take(&d.tally, dst), before)
}

// less takes totals away from later ones; both are in order.
func less(list, before []term) []term {
	kept := list[:0]
	for _, t := range list {
		for len(before) > 0 && compareTerms(before[0], t) < 0 {
			before = before[1:]
		}
		if len(before) > 0 && compareTerms(before[0], t) == 0 {
			t.ticks -= min(t.ticks, before[0].ticks)
		}
		if t.ticks > 0 {
			kept = append(kept, t)
		}
	}
	return kept
}

// asMPI moves ticks from waits to MPI, on the path and node that the location is on.
func asMPI(terms []term, on slotKey, ticks uint64) []term {
	if ticks == 0 {
		return terms
	}
	kept := terms[:0]
	moved := term{termKey(uint32(on.key>>activityBits), xtf.ActivityMPI), on.node, ticks}
	for _, t := range terms {
		switch {
		case t.activity() == xtf.ActivityWait:
			if t.ticks -= min(ticks, t.ticks); t.ticks == 0 {
				continue
			}
		case compareTerms(t, moved) == 0:
			t.ticks += moved.ticks
			moved.ticks = 0
		}
		kept = append(kept, t)
	}
	if moved.ticks > 0 {
		i, _ := slices.BinarySearchFunc(kept, moved, compareTerms)
		kept = slices.Insert(kept, i, moved)
	}
	return kept
}

// term is time of a location in one activity on one call path of an interval.
type term struct {
	key   uint64 // path<<activityBits | activity
	node  uint32
	ticks uint64
}

// activityBits are those of a key that hold the activity.
const activityBits = 4

func termKey(path, activity uint32) uint64 { return uint64(path)<<activityBits | uint64(activity) }

// activityOf returns the activity of a key.
func activityOf(key uint64) uint32 { return uint32(key & (1<<activityBits - 1)) }

func (t *term) activity() uint32 { return activityOf(t.key) }

func compareTerms(a, b term) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
}

// appendTerms appends a vector.
func appendTerms(b []byte, terms []term) []byte {
	for _, t := range terms {
		b = binary.AppendUvarint(b, t.key)
		b = binary.AppendUvarint(b, uint64(t.node))
		b = binary.AppendUvarint(b, t.ticks)
	}
	return b
}

// parseTerms reads what appendTerms wrote.
func parseTerms(dst []term, b []byte) ([]term, error) {
	r := varint.Read(b)
	for r.Len() > 0 {
		t := term{r.Next(), r.Uint32(), r.Next()}
		if t.activity() >= xtf.NumActivities {
			return nil, errDamaged
		}
		dst = append(dst, t)
	}
	return dst, failure(&r)
}
