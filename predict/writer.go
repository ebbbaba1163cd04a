package predict

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// writer is the second walk: it makes the calls of a part of the graph.
type writer struct {
	t        *tracer
	walk     walker
	q        numbering
	parts    []part // resolutions: of the whole, then of closed parts that are walked nevertheless
	open     map[uint64]openPost
	channels map[uint32][]uint64 // tokens of open posts, oldest first
	mask     [64]uint32          // open posts by bit of their channel (channelBit)
	token    uint64

	values  [unitValues]uint64
	lists   []runs           // children so far of all open nodes
	marks   []int            // where the children of each open node begin
	early   []program.Action // of the current call: blocking receives, which are posted first
	posts   []program.Action
	waits   []wait
	actions []program.Action
	list    uint64 // in synchronised.lists, of the call in progress

	broken bool // the part lacks some of its requests

	left Left
}

// part is a resolution, and the length of the walk's stack below its node.
type part struct {
	resolution
	depth int
}

// openPost is a request in progress.
type openPost struct {
	channel uint32
	token   uint64
	action  program.Action // its completion
	drop    bool           // it is not in the program
}

// wait is a completion of the current call.
type wait struct {
	openPost
	own bool // posted in the same call, by the same record
}

func newWriter(t *tracer) *writer {
	return &writer{t: t, open: map[uint64]openPost{}, channels: map[uint32][]uint64{}}
}

// syncOf is the number of the list of a call.
func (t *tracer) syncOf(n uint32) value {
	at := t.info[n].sync
	if at == 0 {
		return value{column: -1}
	}
	if v := &t.sync.values[at-1]; v.same {
		return value{-1, v.list[0]}
	}
	return value{column: syncColumn + int32(at-1)}
}

// numbering returns a numbering of requests, which first reads the values of replay.
func (t *tracer) numbering(replay []uint64) numbering {
	q := numbering{read: &cursors{s: t.s, sync: t.sync, replay: replay}}
	if t.ids {
		q.ids = map[uint64]uint64{}
	}
	return q
}

// convert makes the node of an instance of graph node n, which has all of its requests. values are the byte counts of the instance; nil: it
// is the only or the first instance.
func (w *writer) convert(n uint32, values []uint64) (program.NodeID, error) {
	t := w.t
	w.walk.plain = values != nil
	w.parts, w.broken = append(w.parts[:0], part{}), false
	if values != nil || t.info[n].flags&nodeLoose != 0 {
		q := t.numbering(values)
		w.parts[0].resolution = t.resolve(n, q, w.walk.plain)
		if err := q.read.err(); err != nil {
			return 0, err
		}
		if w.broken = w.parts[0].broken; w.broken && n != t.s.Len() {
			return 0, nil
		}
	}
	w.q = t.numbering(values)
	clear(w.open)
	clear(w.channels)
	w.mask = [64]uint32{}
	w.lists, w.marks = w.lists[:0], append(w.marks[:0], 0)
	for st, id := w.walk.begin(t, n); st != walkEnd; st, id = w.walk.next() {
		if err := w.step(st, id); err != nil {
			return 0, err
		}
	}
	if err := w.q.read.err(); err != nil {
		return 0, err
	}
	node, some, err := w.t.b.fold(w.lists)
	if err == nil && !some {
		node, err = w.t.b.sequence(nil)
	}
	return node, err
}

// part adds a closed part or a unit, or walks through it if its channels have open requests.
func (w *writer) part(n uint32) error {
	t := w.t
	columns := t.columns(n)
	values := w.values[:len(columns)]
	for i, c := range columns {
		values[i] = w.q.read.next(c)
	}
	if w.conflicts(n) {
		again := slices.Clone(values)
		w.parts = append(w.parts, part{t.resolve(n, numbering{n: w.q.n, read: &cursors{s: t.s, sync: t.sync, replay: again}}, false), len(w.walk.stack)})
		w.q.read.replay = append(again, w.q.read.replay...)
		return w.step(w.walk.descend())
	}
	id := t.info[n].node
	if t.info[n].flags&nodeUnit != 0 {
		var err error
		if id, err = t.unit(n).node(t, n, values); err != nil {
			return err
		}
	}
	w.add(id, w.walk.times)
	w.q.n += exact.MulSat(t.info[n].posts, w.walk.times)
	w.walk.take()
	return nil
}

// conflicts reports whether a part uses channels with open requests: then it differs from other instances.
func (w *writer) conflicts(n uint32) bool {
	bloom := w.t.info[n].bloom
	if bloom == 0 || len(w.open) == 0 {
		return false
	}
	for b, count := range w.mask {
		if count > 0 && bloom>>b&1 != 0 {
			return true
		}
	}
	return false
}

func (w *writer) step(st walkStep, n uint32) error {
	switch st {
	case walkPart:
		return w.part(n)
	case walkOpen:
		w.marks = append(w.marks, len(w.lists))
	case walkClose:
		at := w.marks[len(w.marks)-1]
		w.marks = w.marks[:len(w.marks)-1]
		id, some, err := w.t.b.fold(w.lists[at:])
		if err != nil {
			return err
		}
		w.lists = w.lists[:at]
		if some {
			w.add(id, 1)
		}
		w.leave()
	case walkCall:
		w.list = w.t.syncOf(n).read(w.q.read)
		if w.t.info[n].flags&nodeProbes != 0 {
			w.probe()
		}
	case walkCallEnd:
		err := w.finish(n)
		w.leave()
		return err
	case walkRecord:
		rec := &w.t.records[w.t.info[n].record-1]
		w.record(rec)
		if w.walk.call == 0 && rec.kind != recSkip {
			err := w.finish(0)
			w.leave()
			return err
		}
	}
	return nil
}

// leave removes the resolution of a closed part that was walked through.
func (w *writer) leave() {
	if last := len(w.parts) - 1; last > 0 && w.parts[last].depth == len(w.walk.stack) {
		w.parts = w.parts[:last]
	}
}

// add appends a child to the open node.
func (w *writer) add(id program.NodeID, count uint64) {
	if at := w.marks[len(w.marks)-1]; len(w.lists) > at && w.lists[len(w.lists)-1].id == id {
		w.lists[len(w.lists)-1].count += count
		return
	}
	w.lists = append(w.lists, runs{id, count})
}

// posting returns the fate of a post; nil if it is not known.
func (w *writer) posting(number uint64) *posting {
	for i := len(w.parts) - 1; i >= 0; i-- {
		if p := &w.parts[i]; number >= p.from {
			return p.at(number)
		}
	}
	return nil
}

// probe waits for the message that a later receive gets.
func (w *writer) probe() {
	p := &w.parts[len(w.parts)-1]
	f := p.probes[p.probe]
	p.probe++
	rec := f.record
	if f.request {
		if x := w.posting(f.posting); x != nil && x.outcome == outcomeDone {
			rec = x.record
		}
	}
	if rec == nil || rec.drop {
		w.left[LeftProbes]++
		return
	}
	a := rec.action
	a.Kind = program.ProbeRecv
	w.posts = append(w.posts, a)
}

// record adds the actions of a record to the current call.
func (w *writer) record(rec *record) {
	bytes, recv := rec.bytes.read(w.q.read), rec.recv.read(w.q.read)
	switch rec.kind {
	case recSkip:
	case recSend, recRecv, recColl:
		w.block(rec, bytes, recv)
	case recFile:
		a := rec.action
		a.Bytes = bytes
		w.posts = append(w.posts, a)
	case recIsend:
		n := w.q.post(rec)
		if p := w.posting(n); rec.drop || p == nil || p.outcome == outcomeCancelled {
			w.open[n] = openPost{drop: true}
		} else {
			w.post(n, rec, bytes, recv, p.outcome == outcomeNone)
		}
	case recIrecv, recIcoll:
		w.request(rec)
	default:
		w.complete(rec, bytes, recv)
	}
}

// request posts a receive or a collective, with the data of its completion.
func (w *writer) request(rec *record) {
	n := w.q.post(rec)
	p := w.posting(n)
	if p == nil || p.outcome == outcomeNone {
		w.left[LeftNeverDone]++
		return
	}
	wanted := recIrecvDone
	if rec.kind == recIcoll {
		wanted = recIcollDone
	}
	if p.outcome == outcomeCancelled || p.record.drop || p.record.kind != wanted {
		w.open[n] = openPost{drop: true}
		return
	}
	w.post(n, p.record, p.bytes, p.recv, false)
}

// complete ends a request. It first posts one that was never posted, or has ended already.
func (w *writer) complete(rec *record, bytes, recv uint64) {
	n, ok := w.q.find(rec)
	p, posted := w.open[n]
	switch {
	case ok && posted:
		delete(w.open, n)
		if !p.drop {
			w.waits = append(w.waits, wait{openPost: p})
		}
	case rec.kind == recCancel:
	case rec.kind == recSendDone:
		w.left[LeftUnknown]++
	default:
		w.left[LeftUnknown]++
		w.block(rec, bytes, recv)
	}
}

// block posts an operation that the current call completes.
func (w *writer) block(rec *record, bytes, recv uint64) {
	if rec.drop {
		return
	}
	a, p := w.start(rec, bytes, recv)
	if a.Kind == program.PostRecv {
		w.early = append(w.early, a)
	} else {
		w.posts = append(w.posts, a)
	}
	w.waits = append(w.waits, wait{p, true})
}

func (w *writer) post(n uint64, rec *record, bytes, recv uint64, detached bool) {
	if detached {
		a := w.action(rec, bytes, recv)
		a.Flags |= program.Detached
		w.posts = append(w.posts, a)
		w.left[LeftDetached]++
		return
	}
	a, p := w.start(rec, bytes, recv)
	w.posts = append(w.posts, a)
	w.open[n] = p
}

// action returns the post of an operation.
func (w *writer) action(rec *record, bytes, recv uint64) program.Action {
	a := rec.action
	a.Bytes, a.Recv = bytes, recv
	if a.Kind == program.PostColl {
		a.Bytes, a.Recv = collBytes(a.Coll, w.t.b.tables.comms[a.Comm].Size, bytes, recv)
	}
	return a
}

// start opens an operation on its channel.
func (w *writer) start(rec *record, bytes, recv uint64) (program.Action, openPost) {
	a := w.action(rec, bytes, recv)
	done := a
	switch a.Kind {
	case program.PostSend:
		done.Kind = program.WaitSend
	case program.PostRecv:
		done.Kind = program.WaitRecv
	default:
		done = program.Action{Kind: program.WaitColl, Comm: a.Comm}
	}
	done.Bytes, done.Recv = 0, 0
	w.token++
	w.channels[rec.channel] = append(w.channels[rec.channel], w.token)
	w.mask[channelBit(rec.channel)]++
	return a, openPost{channel: rec.channel, token: w.token, action: done}
}

// channelBit returns the bit of a channel in a bloom word.
func channelBit(channel uint32) uint64 { return uint64(channel) * 0x9E3779B97F4A7C15 >> 58 }

// finish makes the current call: posts, then completions with their ages. n is its node, 0 for a record outside of calls.
func (w *writer) finish(n uint32) error {
	region, mode, mute := uint32(trace.Undefined), program.PostSend, false
	if n > 0 {
		region = w.t.nodes[n].Region
		r := w.t.b.tables.region(region)
		mode, mute = r.post, r.mute()
	}
	w.actions = append(append(w.actions[:0], w.early...), w.posts...)
	posts := len(w.actions)
	for i := range w.actions {
		if w.actions[i].Kind == program.PostSend {
			w.actions[i].Kind = mode
		}
	}
	for _, x := range w.waits {
		list := w.channels[x.channel]
		age := slices.Index(list, x.token)
		w.channels[x.channel] = slices.Delete(list, age, age+1)
		w.mask[channelBit(x.channel)]--
		x.action.Age = uint32(age)
		w.actions = append(w.actions, x.action)
	}
	if posts == 1 && len(w.waits) == 1 && w.waits[0].own {
		w.actions[0].Flags |= program.Blocking
	}
	w.early, w.posts, w.waits = w.early[:0], w.posts[:0], w.waits[:0]
	if mute {
		w.actions = w.actions[:0]
	}
	if n > 0 && w.t.info[n].sync > 0 {
		w.actions = append(w.actions[:0], w.t.sync.lists[w.list]...)
	}
	id, err := w.t.b.call(region, w.actions)
	if err == nil {
		w.add(id, 1)
	}
	return err
}

// numbering numbers the requests of a location by their posts.
type numbering struct {
	n    uint64            // posts so far
	last uint64            // id posted last
	ids  map[uint64]uint64 // id -> number of the post; nil if ids are not needed
	read *cursors
}

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

// find returns the post that a record ends; false if it was not posted in this location.
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

// outcome is the fate of a post.
type outcome uint8

const (
	outcomeNone outcome = iota // it never completed
	outcomeDone
	outcomeCancelled
)

// posting is a post and its end.
type posting struct {
	number      uint64
	record      *record // of its completion
	bytes, recv uint64  // of its completion
	outcome     outcome
}

// found is what a probe waits for.
type found struct {
	record  *record // the receive
	posting uint64  // post of the receive, if it is a request
	request bool
}

// resolution is the result of the first walk through a part of the graph.
type resolution struct {
	from   uint64 // first post
	posts  []posting
	probes []found
	probe  int  // next one to use
	broken bool // requests end twice or never, or began elsewhere
}

// at returns a post of the part, nil if it is in a closed part of it.
func (r *resolution) at(number uint64) *posting {
	i, ok := slices.BinarySearchFunc(r.posts, number, func(p posting, n uint64) int { return cmp.Compare(p.number, n) })
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
	pending int  // first probe without a receive
	acts    bool // the current call has records
}

// resolve walks through an instance of node n; q.n posts precede it. plain: enter units.
func (t *tracer) resolve(n uint32, q numbering, plain bool) resolution {
	r := resolver{t: t, q: q, res: resolution{from: q.n}}
	r.walk.plain = plain
	for st, id := r.walk.begin(t, n); st != walkEnd; st, id = r.walk.next() {
		switch st {
		case walkCall:
			r.acts = false
			t.syncOf(id).read(r.q.read)
			if f := t.info[id].flags; f&nodeProbes != 0 {
				r.res.probes = append(r.res.probes, found{})
			}
		case walkCallEnd:
			if r.acts && t.info[id].flags&nodeActs != 0 {
				r.pending = len(r.res.probes)
			}
		case walkPart:
			if t.info[id].flags&nodeActs != 0 && r.pending < len(r.res.probes) {
				r.settle(found{record: t.firstReceive(id)})
			}
			r.q.n += exact.MulSat(t.info[id].posts, r.walk.times)
			for _, c := range t.columns(id) {
				r.q.read.next(c)
			}
			r.walk.take()
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

// settle sets the receive that pending probes wait for.
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

// firstReceive returns the first receive, or the completion of the first receive request, in the first call with records of a part with all
// its requests; nil if that call has none.
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
