package predict

import (
	"errors"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// twin makes calls and computation from the events, one at a time, with everything in maps.
type twin struct {
	in      *Input
	tables  *tables
	process uint32
	calls   []plainCall
	entries []uint64
	kept    []uint64

	depth    int
	region   uint32
	enter    trace.Time
	acts     bool
	now, end trace.Time           // time in progress; where the entry began
	probes   []int                // calls that probe for a message
	requests map[uint64]*twinPost // open, by id
	ops      [][]*twinPost        // of each call, in order
	lists    [][]*twinPost        // completions of each call
}

// twinPost is an operation.
type twinPost struct {
	action  plainAction
	call    int
	request bool
	known   bool
	done    bool
	cancel  bool
	block   bool
	probed  []int // calls that probe for it
}

// follow goes through the events of a location.
func (w *twin) follow(l *ccg.Location) error {
	x := l.Expand()
	w.end, w.now = l.First(), l.First()
	var b trace.Batch
	for {
		err := x.Next(&b)
		for i := range b.Events {
			w.event(&b, &b.Events[i])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if w.depth == 0 {
		w.entries = append(w.entries, uint64(w.now-w.end))
	} else { // the last call never ended
		w.leave(true)
		w.entries = append(w.entries, 0)
	}
	w.kept = append(w.kept, 0)
	return nil
}

func (w *twin) event(b *trace.Batch, e *trace.Event) {
	w.now = e.Time
	words := b.Words(e)
	switch e.Kind {
	case trace.Enter, trace.CallingContextEnter:
		region := e.Ref
		if e.Kind == trace.CallingContextEnter {
			region, _ = w.in.Defs.ContextRegion(uint32(words[0]))
		}
		switch {
		case w.depth > 0:
			w.depth++
		case w.tables.region(region).class&trace.ClassMPI != 0 || w.tables.region(region).apart:
			w.depth, w.region, w.enter, w.acts = 1, region, e.Time, false
			w.open()
		}
	case trace.Leave, trace.CallingContextLeave:
		if w.depth > 0 {
			if w.depth--; w.depth == 0 {
				w.leave(false)
			}
		}
	default:
		known := recordKinds[e.Kind].kind
		if known == recNone {
			return
		}
		outside := w.depth == 0
		if outside {
			w.region, w.enter, w.acts = trace.Undefined, e.Time, false
			w.open()
		}
		if !w.record(known, words) && outside { // says nothing
			w.calls, w.ops, w.lists = w.calls[:len(w.calls)-1], w.ops[:len(w.ops)-1], w.lists[:len(w.lists)-1]
			return
		}
		if outside {
			w.leave(false)
		}
	}
}

func (w *twin) open() {
	w.calls = append(w.calls, plainCall{Region: w.region})
	w.ops, w.lists = append(w.ops, nil), append(w.lists, nil)
}

func (w *twin) leave(cut bool) {
	r := w.tables.region(w.region)
	separate := w.acts && !r.mute() || r.probe && !w.acts
	w.entries, w.kept = append(w.entries, uint64(w.enter-w.end)), append(w.kept, 0)
	if !separate {
		w.kept[len(w.kept)-1] = uint64(w.now - w.enter)
	}
	w.end = w.now
	call := len(w.calls) - 1
	if r.probe && !w.acts {
		w.probes = append(w.probes, call)
	} else if w.acts && !r.mute() {
		w.probes = nil
	}
}

// post begins an operation in the call in progress.
func (w *twin) post(a plainAction, known bool) *twinPost {
	call := len(w.calls) - 1
	p := &twinPost{action: a, call: call, known: known}
	w.ops[call] = append(w.ops[call], p)
	return p
}

// block begins an operation that the call in progress ends.
func (w *twin) block(a plainAction) *twinPost {
	p := w.post(a, true)
	p.done, p.block = true, true
	w.lists[p.call] = append(w.lists[p.call], p)
	return p
}

// probed is what the probes before wait for.
func (w *twin) probed(p *twinPost) {
	for _, call := range w.probes {
		p.probed = append(p.probed, call)
		w.ops[call] = append(w.ops[call], p)
	}
	w.probes = nil
}

// record reports whether the record counts.
func (w *twin) record(k recordKind, words []uint64) bool {
	switch k {
	case recSend, recRecv:
		a, ok := w.message(k == recRecv, words)
		if !ok {
			return false
		}
		if p := w.block(a); k == recRecv {
			w.probed(p)
		}
	case recColl:
		a, ok := w.collective(words)
		if !ok {
			return false
		}
		w.block(a)
	case recFile:
		w.post(plainAction{Kind: program.FileIO, Bytes: words[3]}, true)
	default:
		w.request(k, words)
	}
	w.acts = true
	return true
}

// request follows requests.
func (w *twin) request(k recordKind, words []uint64) {
	switch k {
	case recIsend:
		a, ok := w.message(false, words)
		w.begin(words[4], a, ok)
	case recIrecv, recIcoll:
		p := w.begin(words[0], plainAction{}, false)
		if k == recIrecv {
			w.probed(p)
		}
	case recSendDone:
		w.complete(words[0])
	case recIrecvDone:
		a, ok := w.message(true, words)
		w.ended(words[4], a, ok)
	case recIcollDone:
		a, ok := w.collective(words)
		w.ended(words[5], a, ok)
	case recCancel:
		if p := w.requests[words[0]]; p != nil {
			p.cancel = true
			delete(w.requests, words[0])
		}
	}
}

func (w *twin) begin(id uint64, a plainAction, known bool) *twinPost {
	p := w.post(a, known)
	p.request = true
	w.requests[id] = p
	return p
}

// ended completes a request, and says what it was.
func (w *twin) ended(id uint64, a plainAction, known bool) {
	if p := w.complete(id); p != nil {
		p.action, p.known = a, known
	} else if known {
		w.block(a)
	}
}

func (w *twin) complete(id uint64) *twinPost {
	p := w.requests[id]
	if p == nil {
		return nil
	}
	delete(w.requests, id)
	p.done = true
	w.lists[len(w.calls)-1] = append(w.lists[len(w.calls)-1], p)
	return p
}

func (w *twin) message(receive bool, words []uint64) (plainAction, bool) {
	d := w.in.Defs
	comm := uint32(words[1])
	number, ok := w.tables.number[comm]
	peer := d.Peer(comm, uint32(words[0]), w.process)
	if !ok || peer == trace.UnknownProcess {
		return plainAction{}, false
	}
	a := plainAction{Kind: program.PostSend, Comm: number, Partner: int64(peer), Tag: uint32(words[2]), Bytes: words[3]}
	if receive {
		a.Kind = program.PostRecv
	}
	return a, true
}

func (w *twin) collective(words []uint64) (plainAction, bool) {
	number, ok := w.tables.number[uint32(words[1])]
	kind, varying, known := collKind(words[0])
	if _, member := w.in.Defs.RankIn(uint32(words[1]), w.process); !ok || !known || !member || w.tables.kinds[number] != commPlain {
		return plainAction{}, false
	}
	a := plainAction{Kind: program.PostColl, Coll: kind, Comm: number}
	if varying {
		a.Flags = program.Varying
	}
	size := w.tables.comms[number].Size
	if kind.Rooted() && words[2] < uint64(size) {
		a.Partner = int64(words[2])
	}
	a.Bytes, a.Recv = collBytes(kind, size, words[3], words[4])
	return a, true
}

// finish puts the actions of the calls together.
func (w *twin) finish() {
	var open []*twinPost
	for c := range w.calls {
		call := &w.calls[c]
		r := w.tables.region(call.Region)
		var early, posts, waits []plainAction
		for _, p := range w.ops[c] {
			a, ok := w.posted(p, c)
			if !ok {
				continue
			}
			if a.Flags&program.Detached == 0 && a.Kind != program.FileIO && a.Kind != program.ProbeRecv {
				open = append(open, p)
			}
			if a.Kind == program.PostSend {
				a.Kind = r.post
			}
			if p.block && a.Kind == program.PostRecv {
				early = append(early, a)
			} else {
				posts = append(posts, a)
			}
		}
		for _, p := range w.lists[c] {
			if p.known {
				waits = append(waits, p.wait(open))
				open = slices.DeleteFunc(open, func(q *twinPost) bool { return q == p })
			}
		}
		call.Actions = slices.Concat(early, posts, waits)
		if len(early)+len(posts) == 1 && len(waits) == 1 && w.lists[c][0].block {
			call.Actions[0].Flags |= program.Blocking
		}
		if r.mute() {
			call.Actions = nil
		}
	}
}

// posted returns what call c posts of an operation, or probes for; false for nothing.
func (w *twin) posted(p *twinPost, c int) (plainAction, bool) {
	a := p.action
	switch {
	case slices.Contains(p.probed, c):
		a.Kind, a.Bytes = program.ProbeRecv, 0
		return a, p.known && p.done
	case !p.known || p.cancel || a.Kind == program.PostRecv && !p.done:
		return a, false
	case p.request && !p.done:
		a.Flags |= program.Detached
	}
	return a, true
}

// wait returns the completion of an operation, one of those that are open.
func (p *twinPost) wait(open []*twinPost) plainAction {
	a := p.action
	a.Bytes, a.Recv, a.Flags = 0, 0, 0
	switch a.Kind {
	case program.PostSend:
		a.Kind = program.WaitSend
	case program.PostRecv:
		a.Kind = program.WaitRecv
	default:
		a = plainAction{Kind: program.WaitColl, Comm: a.Comm}
	}
	for _, q := range open {
		if q == p {
			break
		}
		x, y := q.action, p.action
		if x.Kind == y.Kind && x.Comm == y.Comm && (x.Kind == program.PostColl || x.Partner == y.Partner && x.Tag == y.Tag) {
			a.Age++
		}
	}
	return a
}
