package predict

import "slices"

// numbering numbers the requests of a location by posting, as they pass.
type numbering struct {
	n    uint64            // postings so far
	last uint64            // id posted last
	ids  map[uint64]uint64 // id -> posting; nil where ids are not needed
	read *cursors
}

// post numbers a posting.
func (q *numbering) post(rec *record) uint64 {
	if q.ids != nil {
		id := q.last + rec.request.value
		if rec.far {
			id = q.read.next(rec.request.column)
		}
		q.last = id
		q.ids[id] = q.n
	}
	q.n++
	return q.n - 1
}

// find returns the posting that a record ends; false if it was never posted, or not here.
func (q *numbering) find(rec *record) (uint64, bool) {
	if rec.far {
		id := q.read.next(rec.request.column)
		n, ok := q.ids[id]
		delete(q.ids, id)
		return n, ok
	}
	if d := rec.request.value; d < q.n {
		return q.n - 1 - d, true
	}
	return 0, false
}

// outcome is what became of a posting.
type outcome uint8

const (
	outcomeNone outcome = iota // nothing: it never completed
	outcomeDone
	outcomeCancelled
)

// posting is a request and its end.
type posting struct {
	number      uint64
	record      *record // of its completion
	bytes, recv uint64  // likewise
	outcome     outcome
}

// found is what a probe waits for.
type found struct {
	record  *record // receive
	posting uint64  // of the receive, where it is a request
	request bool
}

// resolution is what the first walk found out about a part of the graph.
type resolution struct {
	from   uint64 // first posting
	posts  []posting
	probes []found
	probe  int  // next one to use
	broken bool // requests that end twice or never, or began elsewhere
}

// at returns a posting of the part, nil if it lies in a closed part of it.
func (r *resolution) at(number uint64) *posting {
	i, ok := slices.BinarySearchFunc(r.posts, number, func(p posting, n uint64) int {
		switch {
		case p.number < n:
			return -1
		case p.number > n:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &r.posts[i]
}

// resolver is the first walk.
type resolver struct {
	t       *tracer
	walk    walker
	q       numbering
	res     resolution
	pending int  // first probe that waits for its receive
	acts    bool // the call in progress has records
}

// resolve walks through an instance of node n, before which there are q.n postings; plain goes into units.
func (t *tracer) resolve(n uint32, q numbering, plain bool) resolution {
	r := resolver{t: t, q: q, res: resolution{from: q.n}}
	r.walk.plain = plain
	for st, id := r.walk.begin(t, n); st != walkEnd; st, id = r.walk.next() {
		switch st {
		case walkCall:
			r.acts = false
			if f := t.info[id].flags; f&nodeProbes != 0 {
				r.res.probes = append(r.res.probes, found{})
			}
		case walkCallEnd:
			if r.acts && t.info[id].flags&nodeActs != 0 {
				r.pending = len(r.res.probes)
			}
		case walkPart:
			r.part(id)
			r.q.n += times(t.info[id].posts, r.walk.times)
			r.walk.take()
		case walkUnit:
			r.part(id)
			r.q.n += t.info[id].posts
			for _, c := range t.unit(id).columns {
				r.q.read.next(c)
			}
		case walkRecord:
			rec := &t.records[t.info[id].record-1]
			r.acts = r.acts || rec.kind != recSkip
			r.record(rec)
			if r.walk.call == 0 && rec.kind != recSkip {
				r.pending = len(r.res.probes)
			}
		}
	}
	for i := range r.res.posts {
		r.res.broken = r.res.broken || r.res.posts[i].outcome == outcomeNone
	}
	return r.res
}

// part passes over a part that has all of its requests.
func (r *resolver) part(n uint32) {
	if r.t.info[n].flags&nodeActs == 0 {
		return
	}
	if r.pending < len(r.res.probes) {
		r.settle(found{record: r.t.firstReceive(n)})
	}
}

// settle tells the probes in progress what they wait for.
func (r *resolver) settle(f found) {
	for ; r.pending < len(r.res.probes); r.pending++ {
		r.res.probes[r.pending] = f
	}
}

func (r *resolver) record(rec *record) {
	bytes, recv := rec.bytes.read(r.q.read), rec.recv.read(r.q.read)
	switch {
	case rec.kind.posts():
		n := r.q.post(rec)
		r.res.posts = append(r.res.posts, posting{number: n})
		if rec.kind == recIrecv {
			r.settle(found{posting: n, request: true})
		}
	case rec.kind.completes():
		n, ok := r.q.find(rec)
		p := r.res.at(n)
		if !ok || p == nil || p.outcome != outcomeNone {
			r.res.broken = true
			return
		}
		p.record, p.bytes, p.recv, p.outcome = rec, bytes, recv, outcomeDone
		if rec.kind == recCancel {
			p.outcome = outcomeCancelled
		}
	case rec.kind == recRecv && !rec.drop:
		r.settle(found{record: rec})
	}
}

// firstReceive returns the first receive, or the end of the first request of one, in the first call with records of a part with all
// of its requests; nil if that call has none.
func (t *tracer) firstReceive(n uint32) *record {
	w := walker{plain: true}
	posts := uint64(0)
	for st, id := w.begin(t, n); st != walkEnd; st, id = w.next() {
		if st == walkPart {
			if t.info[id].flags&nodeActs == 0 {
				w.take()
				continue
			}
			n, posts = id, 0
			st, id = w.descend()
		}
		if st == walkCallEnd && t.info[id].flags&nodeActs != 0 {
			return nil
		}
		if st != walkRecord {
			continue
		}
		rec := &t.records[t.info[id].record-1]
		switch {
		case rec.kind == recRecv && !rec.drop:
			return rec
		case rec.kind == recIrecv:
			r := t.resolve(n, t.numbering(make([]uint64, unitValues)), true)
			if p := r.at(posts); p != nil && p.outcome == outcomeDone {
				return p.record
			}
			return nil
		case w.call == 0 && rec.kind != recSkip:
			return nil
		case rec.kind.posts():
			posts++
		}
	}
	return nil
}
