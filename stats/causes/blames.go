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

// slabWait is a wait that ends in the current slab. Memory: 48 bytes.
type slabWait struct {
	p, cause   trace.P // the location that waits, and the one that is late
	pattern    uint32
	index      uint64 // among the waits of p with a cause
	begin, end uint64 // ticks
	since      uint64 // when the pair met last; of collective operations only, until meet adds waits
}

// pair is two locations, the lower one first.
type pair struct{ a, b trace.P }

func (w *slabWait) pair() pair { return pair{min(w.p, w.cause), max(w.p, w.cause)} }

// waitBytes is about the least length of a wait in the records of a slab.
const waitBytes = 12

// slabData is the waits and time lines of a slab. Memory: 40 bytes for each location, 72 for each wait, and that of the lines.
type slabData struct {
	k     int        // number of the slab, -1: none
	lined bool       // lines are read
	start uint64     // the slab begins after this instant
	waits []ownWaits // by location
	list  []slabWait // all, by end
	lines []lineSlab // by location
}

func newSlabData(locations int) *slabData {
	return &slabData{k: -1, waits: make([]ownWaits, locations), lines: make([]lineSlab, locations)}
}

// openWaits reads the waits of slab k from the records of Pass.
func (d *Delays) openWaits(k int) error {
	if d.k == k {
		return nil
	}
	d.begin(&d.run.Slabs, k)
	d.list = slices.Grow(d.list, d.parcels.bytes(waitParcels, k)/waitBytes)
	err := d.parcels.each(waitParcels, k, func(_ uint32, b []byte) error { return d.read(b) })
	if err == nil {
		d.sort()
		d.k = k
	}
	return err
}

// begin empties the data, for slab k.
func (h *slabData) begin(s *Slabs, k int) {
	h.k, h.lined, h.start = -1, false, s.start(k)
	for i := range h.waits {
		h.waits[i] = ownWaits{list: h.waits[i].list[:0]}
	}
	h.list = h.list[:0]
}

func (h *slabData) read(b []byte) error {
	r := varint.Read(b)
	for r.Len() > 0 {
		if w := parseWait(&r, h.start); !h.add(&w) {
			return ErrDamaged
		}
	}
	return failure(&r)
}

// add adds a wait. It reports whether this is the next one of its location.
func (h *slabData) add(w *slabWait) bool {
	if int(w.p) >= len(h.waits) || int(w.cause) >= len(h.waits) {
		return false
	}
	own := &h.waits[w.p]
	if len(own.list) == 0 {
		own.first = w.index
	}
	next := w.index == own.first+uint64(len(own.list))
	own.list, h.list = append(own.list, ownWait{begin: w.begin, end: w.end}), append(h.list, *w)
	return next
}

// waitEnd is the end of a wait, in ticks after the start of the slab, and its index in the list.
type waitEnd struct {
	end uint64
	i   uint32
}

// sort sorts the waits of the slab by their ends: radix sort, 11 bits at a time.
func (d *Delays) sort() {
	most, list := uint64(0), slices.Grow(d.order[0][:0], len(d.list))
	for i := range d.list {
		end := d.list[i].end - d.start
		list, most = append(list, waitEnd{end, uint32(i)}), most|end
	}
	other := slices.Grow(d.order[1][:0], len(list))[:len(list)]
	for shift := 0; most>>shift > 0; shift += 11 {
		var at [1 << 11]uint32
		for _, x := range list {
			at[x.end>>shift%(1<<11)]++
		}
		sum := uint32(0)
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, x := range list {
			k := &at[x.end>>shift%(1<<11)]
			other[*k] = x
			*k++
		}
		list, other = other, list
	}
	d.order = [2][]waitEnd{list, other}
	for i := range list { // in place, one cycle after the other
		first, k := d.list[i], i
		for from := int(list[k].i); from != i; from = int(list[k].i) {
			d.list[k], list[k].i = d.list[from], uint32(k)
			k = from
		}
		d.list[k], list[k].i = first, uint32(k)
	}
}

// lastMet is the last instant at which a pair met by a wait, and the one before.
type lastMet struct{ at, before uint64 }

// meet sets of each wait of the slab when its pair met last before the end of the wait. last has the meetings by waits of the slabs
// before; meet adds those of this slab.
func (d *Delays) meet(last map[pair]*lastMet) {
	all := d.path.initialized()
	for i := range d.list {
		w := &d.list[i]
		m := last[w.pair()]
		if m == nil {
			m = &lastMet{}
			last[w.pair()] = m
		}
		if m.at < w.end {
			*m = lastMet{w.end, m.at}
		}
		w.since = max(w.since, m.before)
		if all <= w.begin {
			w.since = max(w.since, all)
		}
		if w.begin < w.since {
			d.report.Reversed++
		}
	}
}

// met returns when pairs met last, by waits, before this rank's slabs. Each pair has a home rank. It gets the last meeting in the slabs of
// each rank, and tells each of these ranks the meeting before its slabs. Collective.
func (d *Delays) met() (map[pair]*lastMet, error) {
	c := d.run.Comm
	last := map[pair]*lastMet{}
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
	ends, heard := map[pair]uint64{}, map[pair][]told{}
	box := newOutbox(c, &d.run.Storage, func(b []byte) error {
		r := varint.Read(b)
		p := pair{trace.P(r.Uint32()), trace.P(r.Uint32())}
		heard[p] = append(heard[p], told{r.Uint32(), r.Next()})
		return failure(&r)
	})
	var err error
	for k := d.parcels.end - 1; k >= d.parcels.own; k-- { // ends with the first one, which ask needs next
		if err = d.openWaits(k); err != nil {
			break
		}
		for i := range d.list {
			w := &d.list[i]
			ends[w.pair()] = max(ends[w.pair()], w.end)
		}
	}
	var b []byte
	for p, end := range ends {
		b = varint.Append(b[:0], uint64(p.a), uint64(p.b), uint64(c.Rank()), end)
		if perr := box.put(home(p), b); err == nil {
			err = perr
		}
	}
	if err := box.deliver(err); err != nil {
		return nil, err
	}
	d.report.Bytes += box.sent
	box = newOutbox(c, &d.run.Storage, func(b []byte) error {
		r := varint.Read(b)
		last[pair{trace.P(r.Uint32()), trace.P(r.Uint32())}] = &lastMet{at: r.Next()}
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

// Kinds of questions about a wait: the totals of a location at an instant in a slab before that of the wait.
const (
	lateSince uint64 = iota // of the late location, when the pair met
	waitSince               // of the location that waits, when the pair met
	waitBegin               // of the location that waits, when it begins to wait
	askKinds
)

// ask stores the waits of this rank's slabs, sorted by their ends. It asks the slabs before for totals, except the slab just before if it
// is of this rank: that one is in memory together with the current one. Collective.
func (d *Delays) ask() error {
	last, err := d.met()
	if err != nil {
		return err
	}
	out, circle, near := d.asks.writer(0), []int64{0}, uint64(0)
	put := func(p trace.P, t uint64, k, n int, what uint64) {
		if t == 0 || t > near {
			return
		}
		out.at(uint32(p), d.run.Slabs.at(t))
		out.buf = varint.Append(out.buf, t, uint64(k), uint64(n)*askKinds+what)
	}
	for k := d.parcels.own; k < d.parcels.end && err == nil; k++ {
		if err = d.openWaits(k); err != nil {
			break
		}
		d.meet(last)
		if d.circle() {
			circle[0] = 1
		}
		if near = d.start; k > d.parcels.own {
			near = d.run.Slabs.start(k - 1)
		}
		d.packed = d.packed[:0]
		d.report.Waits += uint64(len(d.list))
		for n := range d.list {
			w := &d.list[n]
			d.packed = w.append(d.packed, d.start)
			d.report.Ticks += w.end - w.begin
			put(w.cause, w.since, k, n, lateSince)
			if w.since < w.begin {
				put(w.p, w.since, k, n, waitSince)
				put(w.p, w.begin, k, n, waitBegin)
			}
		}
		if d.store.slabs[k-d.parcels.own].waits, err = d.store.write(d.packed); err == nil {
			err = d.run.did(0.2, len(d.store.slabs))
		}
	}
	out.flush()
	if err = d.asks.deliver(cmp.Or(err, out.err)); err != nil {
		return err
	}
	if err = d.run.Comm.AllreduceInt64(circle, mpi.Max); err != nil {
		return err
	}
	d.strict = circle[0] > 0
	d.report.Strict = d.strict
	for k := d.asks.own; k < d.asks.end && err == nil; k++ {
		err = d.answer(k)
	}
	return d.answers.deliver(err)
}

// question asks for the totals of a location at instant t. slab is the slab that asks, n the number of its wait and the kind.
type question struct{ t, slab, n uint64 }

// answer answers the questions about slab k of this rank: the number of waits that are over, then terms.
func (d *Delays) answer(k int) error {
	out := d.answers.writer(0)
	err := d.asks.each(0, k, func(p uint32, b []byte) error {
		if int(p) >= len(d.lines) {
			return ErrDamaged
		}
		d.asked = d.asked[:0]
		r := varint.Read(b)
		for r.Len() > 0 {
			d.asked = append(d.asked, question{r.Next(), r.AtMost(uint64(d.run.Slabs.count() - 1)), uint64(r.Uint32())})
		}
		if err := cmp.Or(failure(&r), d.open(d.slabData, k)); err != nil {
			return err
		}
		slices.SortFunc(d.asked, func(a, b question) int { return cmp.Compare(a.t, b.t) })
		for _, q := range d.asked {
			x := d.totals(d.slabData, trace.P(p), q.t, d.terms[0])
			if out.at(uint32(q.n), int(q.slab)) {
				out.buf = varint.Append(out.buf, x.over)
			}
			d.terms[0] = x.terms
			out.buf = appendTerms(out.buf, x.terms)
			out.flush()
		}
		return nil
	})
	return cmp.Or(err, out.err)
}

// reply is the totals of a location up to an instant.
type reply struct {
	over  uint64 // waits that are over
	terms []term
}

// totals returns the totals of a location up to an instant of a slab.
func (d *Delays) totals(h *slabData, p trace.P, t uint64, dst []term) reply {
	x := &h.lines[p]
	d.tally.begin(len(x.keys))
	x.before(&d.tally)
	x.span(&d.tally, x.start, t)
	return reply{x.done + h.waits[p].over(t), x.take(&d.tally, dst[:0])}
}

// open reads the waits and the time lines of a slab, after ask.
func (d *Delays) open(h *slabData, k int) error {
	if h.k != k {
		if err := d.readWaits(h, k); err != nil {
			return err
		}
	}
	if h.lined {
		return nil
	}
	h.lined = true
	return d.parcels.each(lineParcels, k, func(p uint32, b []byte) error {
		if int(p) >= len(h.lines) {
			return ErrDamaged
		}
		return h.lines[p].parse(b, h.start, &d.ordered)
	})
}

func (d *Delays) readWaits(h *slabData, k int) error {
	h.begin(&d.run.Slabs, k)
	b, err := d.store.open(d.store.slabs[k-d.parcels.own].waits)
	if err == nil {
		err = h.read(b)
	}
	if err == nil {
		h.k = k
	}
	return err
}

// openSlab reads a slab and the one before it, with the answers for it. Slabs are opened from the last one on.
func (d *Delays) openSlab(k int) error {
	if d.earlier.k == k {
		d.slabData, d.earlier = d.earlier, d.slabData
	}
	if err := d.open(d.slabData, k); err != nil {
		return err
	}
	if k == d.parcels.own {
		d.earlier.k = -1
	} else if err := d.open(d.earlier, k-1); err != nil {
		return err
	}
	d.heard = map[uint64]reply{}
	err := d.answers.each(0, k, func(n uint32, b []byte) error {
		r := varint.Read(b)
		x := reply{over: r.Next()}
		var err error
		x.terms, err = parseTerms(nil, r.Rest())
		d.heard[uint64(n)] = x
		return err
	})
	return cmp.Or(err, d.path.pieces(k, d.lines))
}

// told returns the totals of location p at instant t before the slab, as asked for the slab's n-th wait.
func (d *Delays) told(n int, what uint64, p trace.P, t uint64) reply {
	if d.earlier.k < 0 || t <= d.earlier.start {
		return d.heard[uint64(n)*askKinds+what]
	}
	x := d.totals(d.earlier, p, t, d.near[what])
	d.near[what] = x.terms
	return x
}

// blameWait sets d.blame for the n-th wait of the current slab.
func (d *Delays) blameWait(n int) {
	w, b := &d.list[n], &d.blame
	b.slabWait = *w
	d.late(n, w)
	d.other(n, w)
	b.compare(d.terms[0], d.terms[1])
}

// late makes the vector of the late location from the last meeting to the end of the wait. A wait of its own that is not over then counts
// as time in MPI; with strict order also one that ends just then.
func (d *Delays) late(n int, w *slabWait) {
	x, b, s := &d.lines[w.cause], &d.blame, w.end
	var far reply
	if w.since <= d.start {
		far = d.told(n, lateSince, w.cause, w.since)
	}
	d.terms[0] = d.vector(x, d.terms[0][:0], w.since, s, far.terms)
	own := &d.waits[w.cause]
	b.over = x.done + own.over(s)
	begun := x.begun
	if own.near < len(own.list) {
		begun = own.list[own.near].begin
	}
	open := begun < s
	was := far.over
	if w.since > d.start {
		was = x.done + own.over(w.since)
	}
	b.ended = b.over - min(was, b.over)
	if d.strict && !open {
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
		d.terms[0] = asMPI(d.terms[0], x.on(s), s-max(begun, w.since))
	}
}

// other makes the vector of the location that waits, from the last meeting to the begin of the wait, by path and activity.
func (d *Delays) other(n int, w *slabWait) {
	d.terms[1] = d.terms[1][:0]
	if w.since >= w.begin {
		return
	}
	x := &d.lines[w.p]
	var since []term
	if w.since <= d.start {
		since = d.told(n, waitSince, w.p, w.since).terms
	}
	if w.begin > d.start {
		d.terms[1] = d.vector(x, d.terms[1], w.since, w.begin, since)
	} else {
		d.terms[1] = less(append(d.terms[1], d.told(n, waitBegin, w.p, w.begin).terms...), since)
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

// vector appends the time of a location in [since, t), where t is in the slab. before is the totals at since, if that is before the slab.
func (d *Delays) vector(x *lineSlab, dst []term, since, t uint64, before []term) []term {
	d.tally.begin(len(x.keys))
	if since > d.start {
		x.span(&d.tally, since, t)
		return x.take(&d.tally, dst)
	}
	x.before(&d.tally)
	x.span(&d.tally, x.start, t)
	return less(x.take(&d.tally, dst), before)
}

// less subtracts totals from later ones; both are sorted.
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

// asMPI moves ticks from waits to MPI, on the given path and node.
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

// term is time of a location in one activity on one call path in one node.
type term struct {
	key   uint64 // path<<activityBits | activity
	node  uint32
	ticks uint64
}

// activityBits is the number of bits of a key that hold the activity.
const activityBits = 4

func termKey(path, activity uint32) uint64 { return uint64(path)<<activityBits | uint64(activity) }

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
			return nil, ErrDamaged
		}
		dst = append(dst, t)
	}
	return dst, failure(&r)
}
