package build

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// frame is an open call.
type frame struct {
	ref     uint32 // region, or calling context
	region  uint32 // gaps count as exclusive time of this region
	kind    trace.Kind
	flags   uint8
	list    uint32 // 1 + tuple of the Groups and Repeats in this frame; 0: not yet known
	first   int32  // index of its first entry; entries before base are already in carried Groups
	base    int32  // index of its first entry that is not in a carried Group
	carried int32  // index of its first Group in Builder.carried
	words   int32  // index of the words of its enter in Builder.enters
	levels  int32  // 1 + index of its counts in Builder.levels; 0: it has no carried Groups
}

// levelCounts has the number of carried Groups of a frame by level, level 1 first.
type levelCounts [32]uint8

// Builder builds the graphs of locations, one after another. The package comment gives its memory.
type Builder struct {
	defs *trace.Definitions
	opt  graph.Options
	p    trace.P

	store  *graph.Store
	tuples *graph.Tuples
	list   entryStack
	frames []frame

	carried []uint32 // carried Groups of open frames: highest level first, oldest first
	levels  []levelCounts
	enters  []uint64 // tuple words of enters that have attributes, and unwind distances

	first, last trace.Time
	events      uint64
	gaps        []byte // a varint for each event

	split  splitter
	words  []uint64 // scratch: a tuple
	ids    []uint32 // scratch: children
	packed []uint32 // scratch of pack
	known  known
	err    error
}

// known caches tuples and nodes, so that they are found without the index.
type known struct {
	calls  []uint32 // by region: 1 + tuple of the plain call
	lists  []uint32 // by region: 1 + tuple of its Groups and Repeats
	leaves []uint32 // by tuple: the node without children
	callOf []uint32 // by node: the last call that has this node as its only child
	recent recentRecords
}

// NewBuilder returns a builder for location p.
func NewBuilder(defs *trace.Definitions, p trace.P, o graph.Options) *Builder {
	b := &Builder{
		defs: defs, opt: o.Normal(), store: graph.NewStore(), tuples: graph.NewTuples(),
		split: splitter{places: graph.NewPlaces(defs), history: graph.History{Counters: graph.NewCounters(defs)}},
	}
	b.Reset(p)
	return b
}

// Reset begins another location and keeps the memory.
func (b *Builder) Reset(p trace.P) {
	b.p, b.err = p, nil
	b.store.Reset()
	b.tuples.Reset()
	b.list.reset(b.opt)
	b.split.reset(p)
	k := &b.known
	k.calls, k.lists, k.leaves, k.callOf = k.calls[:0], k.lists[:0], k.leaves[:0], k.callOf[:0]
	clear(k.recent[:])
	b.carried, b.enters, b.levels = b.carried[:0], b.enters[:0], b.levels[:0]
	b.gaps = b.gaps[:0]
	b.first, b.last, b.events = 0, 0, 0
	b.frames = append(b.frames[:0], frame{ref: trace.Undefined, region: trace.Undefined})
}

// Add appends the events of a batch in the order of the stream. After an error only Reset may be called.
func (b *Builder) Add(batch *trace.Batch) error {
	if b.err != nil {
		return b.err
	}
	if !fits(len(b.list.entries)+len(b.carried), len(batch.Events)) || !fits(len(b.enters), len(batch.Args)) {
		return b.stop(graph.ErrLimit)
	}
	if err := b.addGaps(batch.Events); err != nil {
		return b.stop(err)
	}
	if err := b.addEvents(batch); err != nil {
		return b.stop(err)
	}
	return nil
}

// fits returns whether a frame can store indices into a stack of n elements to which more are added.
func fits(n, more int) bool { return n <= math.MaxInt32-min(more, math.MaxInt32) }

// stop keeps the first error and returns it.
func (b *Builder) stop(err error) error {
	b.err = fmt.Errorf("call graph: location %d, event %d: %w", b.p, b.events, err)
	return b.err
}

// addGaps appends the gaps of a batch.
func (b *Builder) addGaps(events []trace.Event) error {
	if len(events) == 0 {
		return nil
	}
	if b.events == 0 {
		b.first, b.last = events[0].Time, events[0].Time
	}
	if need := len(events) * binary.MaxVarintLen64; cap(b.gaps)-len(b.gaps) < need {
		b.gaps = slices.Grow(b.gaps, max(need, cap(b.gaps))) // double it: append grows in small steps, each of which touches new memory
	}
	gaps, last := b.gaps, b.last
	for i := range events {
		t := events[i].Time
		if t < last {
			b.events += uint64(i)
			return fmt.Errorf("%d after %d: %w", t, last, ErrTime)
		}
		gaps = appendVarint(gaps, uint64(t-last))
		last = t
	}
	b.gaps, b.last = gaps, last
	return nil
}

// addEvents appends the events of a batch without their gaps.
func (b *Builder) addEvents(batch *trace.Batch) (err error) {
	for events, n := batch.Events, 0; len(events) > 0; events = events[n:] {
		n = 1
		switch e := &events[0]; e.Kind {
		case trace.Enter:
			switch {
			case e.Len != 0 || e.Flags != 0:
				err = b.enter(batch, e)
			case len(events) > 1 && endsPlain(&events[1], e.Ref):
				n, err = 2, b.short(batch, nil, e.Ref)
			case len(events) > 2 && endsPlain(&events[2], e.Ref) && isRecord(events[1].Kind):
				b.events++
				n, err = 2, b.short(batch, &events[1], e.Ref)
				events = events[1:]
			default:
				b.open(e.Ref, e.Ref, trace.Enter, 0)
			}
		case trace.Leave:
			switch top := &b.frames[len(b.frames)-1]; {
			case top.ref != e.Ref || top.kind != trace.Enter:
				err = b.appendRecord(batch, e, top.region)
			case e.Len == 0 && e.Flags == 0 && top.flags == 0:
				var t uint32
				if t, err = b.plainCall(top.ref); err == nil {
					err = b.close(top, t)
				}
			default:
				err = b.leave(batch, e)
			}
		case trace.CallingContextEnter:
			err = b.enter(batch, e)
		case trace.CallingContextLeave:
			top := &b.frames[len(b.frames)-1]
			if e.Len > 0 && uint64(e.Arg) < uint64(len(batch.Args)) && top.kind == trace.CallingContextEnter && ends(b.defs, top, batch.Args[e.Arg]) {
				err = b.leave(batch, e)
			} else {
				err = b.appendRecord(batch, e, top.region)
			}
		default:
			err = b.appendRecord(batch, e, b.frames[len(b.frames)-1].region)
		}
		if err != nil {
			return err
		}
		b.events += uint64(n)
	}
	return nil
}

// endsPlain returns whether an event is the leave of the region without attributes and flags.
func endsPlain(e *trace.Event, region uint32) bool {
	return e.Kind == trace.Leave && e.Ref == region && e.Len == 0 && e.Flags == 0
}

// isRecord returns whether an event neither begins nor ends a call.
func isRecord(k trace.Kind) bool {
	return k != trace.Enter && k != trace.Leave && k != trace.CallingContextEnter && k != trace.CallingContextLeave
}

// short appends a call of a region that has one record in it, or nothing.
func (b *Builder) short(batch *trace.Batch, record *trace.Event, region uint32) error {
	child, id := uint32(0), uint32(0)
	var err error
	if record != nil {
		if child, err = b.record(batch, record, region); err != nil {
			return err
		}
	}
	t, err := b.plainCall(region)
	switch {
	case err != nil:
	case child == 0:
		id, err = b.leaf(graph.KindCall, t)
	default:
		id, err = b.single(t, child)
	}
	if err != nil {
		return err
	}
	return b.appendNode(id)
}

// appendVarint is binary.AppendUvarint, with the short cases first.
func appendVarint(dst []byte, v uint64) []byte {
	if v < 1<<7 {
		return append(dst, byte(v))
	}
	if v < 1<<14 {
		return append(dst, byte(v)|0x80, byte(v>>7))
	}
	if v < 1<<21 {
		return append(dst, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14))
	}
	for v >= 1<<7 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// open begins a call. It sets the fields one by one, see push.
func (b *Builder) open(ref, region uint32, k trace.Kind, flags uint8) {
	n := int32(len(b.list.entries))
	b.frames = graph.GrowOne(b.frames)
	f := &b.frames[len(b.frames)-1]
	f.ref, f.region, f.kind, f.flags, f.list = ref, region, k, flags, 0
	f.first, f.base, f.levels = n, n, 0
	f.carried, f.words = int32(len(b.carried)), int32(len(b.enters))
}

// enter opens a call whose enter has attributes, flags or a calling context.
func (b *Builder) enter(batch *trace.Batch, e *trace.Event) error {
	w, err := eventWords(batch, e)
	if err != nil {
		return err
	}
	if e.Kind == trace.Enter {
		b.open(e.Ref, e.Ref, e.Kind, e.Flags)
	} else {
		if len(w) < 2 || w[0] > trace.Undefined || w[1] > trace.Undefined {
			return fmt.Errorf("%s: %w", e.Kind, ErrBatch)
		}
		region, _ := b.defs.ContextRegion(uint32(w[0]))
		b.open(uint32(w[0]), region, e.Kind, e.Flags)
		b.enters = append(b.enters, w[1])
		w = w[2:]
	}
	b.enters, err = b.split.tail(b.enters, w, e.Flags)
	return err
}

// ends returns whether the leave of a calling context ends the open call. Their places in the source may differ.
func ends(defs *trace.Definitions, top *frame, context uint64) bool {
	if context > trace.Undefined {
		return false
	}
	region, ok := defs.ContextRegion(uint32(context))
	return context == uint64(top.ref) || ok && region == top.region
}

// leave closes a call whose enter or leave has attributes, flags or a calling context.
func (b *Builder) leave(batch *trace.Batch, e *trace.Event) error {
	w, err := eventWords(batch, e)
	if err != nil {
		return err
	}
	top := &b.frames[len(b.frames)-1]
	switch {
	case e.Kind == trace.Leave:
		b.beginCall(top, e.Flags, 0)
	case w[0] == uint64(top.ref):
		b.beginCall(top, e.Flags, 0)
		w = w[1:]
	default:
		b.beginCall(top, e.Flags|graph.OtherContext, 0)
		b.words = append(b.words, w[0])
		w = w[1:]
	}
	if b.words, err = b.split.tail(b.words, w, e.Flags); err != nil {
		return err
	}
	return b.closeWords(top)
}

// beginCall sets b.words to the first words of the tuple of an open call.
func (b *Builder) beginCall(top *frame, leaveFlags uint8, cut uint64) {
	b.words = append(b.words[:0],
		graph.ClassCall|uint64(top.kind)<<graph.WordKind|uint64(top.flags)<<graph.WordFlags|uint64(leaveFlags)<<graph.WordLeave|cut, uint64(top.ref))
	b.words = append(b.words, b.enters[top.words:]...)
	b.enters = b.enters[:top.words]
}

// closeWords closes the top frame as a call with the tuple in b.words.
func (b *Builder) closeWords(top *frame) error {
	t, _, err := b.tuples.Intern(b.words)
	if err != nil {
		return err
	}
	return b.close(top, t)
}

// plainCall returns the tuple of a call that has only a region.
func (b *Builder) plainCall(region uint32) (uint32, error) {
	if int64(region) < int64(len(b.known.calls)) && b.known.calls[region] != 0 {
		return b.known.calls[region] - 1, nil
	}
	b.words = append(b.words[:0], graph.ClassCall|uint64(trace.Enter)<<graph.WordKind, uint64(region))
	t, _, err := b.tuples.Intern(b.words)
	if err == nil {
		remember(&b.known.calls, region, t+1)
	}
	return t, err
}

// maxDense is the number of references that have a place in dense tables.
const maxDense = 1 << 16

// remember stores v in a table by reference, unless the reference is too large.
func remember(table *[]uint32, ref, v uint32) {
	if ref >= maxDense {
		return
	}
	for int64(len(*table)) <= int64(ref) {
		*table = append(*table, 0)
	}
	(*table)[ref] = v
}

// close makes a Call of the top frame and appends it to the frame below.
func (b *Builder) close(top *frame, tuple uint32) error {
	switch n := len(b.list.entries) - int(top.first); {
	case n == 0 && int(top.carried) == len(b.carried): // no children
		b.frames = b.frames[:len(b.frames)-1]
		id, err := b.leaf(graph.KindCall, tuple)
		if err != nil {
			return err
		}
		return b.appendNode(id)
	case n == 1 && top.levels == 0 && b.list.entries[top.first].count == 1:
		child := b.list.entries[top.first].id
		b.list.pop(1)
		b.frames = b.frames[:len(b.frames)-1]
		id, err := b.single(tuple, child)
		if err != nil {
			return err
		}
		return b.appendNode(id)
	}
	words, err := b.finishFrame(top)
	if err != nil {
		return err
	}
	id, err := b.store.Intern(uint32(graph.KindCall)<<graph.KindShift|tuple, words)
	if err != nil {
		return err
	}
	b.frames = b.frames[:len(b.frames)-1]
	return b.appendNode(id)
}

// single returns the Call with this child only.
func (b *Builder) single(tuple, child uint32) (uint32, error) {
	meta := uint32(graph.KindCall)<<graph.KindShift | tuple
	for int64(len(b.known.callOf)) <= int64(child) {
		b.known.callOf = append(b.known.callOf, 0)
	}
	if id := b.known.callOf[child]; id != 0 && b.store.Meta[id] == meta {
		return id, nil
	}
	b.ids = append(b.ids[:0], child)
	id, err := b.store.Intern(meta, b.ids)
	if err == nil {
		b.known.callOf[child] = id
	}
	return id, err
}

// leaf returns the node with this tuple and no children.
func (b *Builder) leaf(k graph.Kind, tuple uint32) (uint32, error) {
	if int64(tuple) < int64(len(b.known.leaves)) && b.known.leaves[tuple] != 0 {
		return b.known.leaves[tuple], nil
	}
	id, err := b.store.Intern(uint32(k)<<graph.KindShift|tuple, nil)
	if err != nil {
		return 0, err
	}
	for int64(len(b.known.leaves)) <= int64(tuple) {
		b.known.leaves = append(b.known.leaves, 0)
	}
	b.known.leaves[tuple] = id
	return id, nil
}

// listTuple returns the tuple of the Groups and Repeats in a frame.
func (b *Builder) listTuple(f *frame) (uint32, error) {
	if f.list != 0 {
		return f.list - 1, nil
	}
	if int64(f.region) < int64(len(b.known.lists)) && b.known.lists[f.region] != 0 {
		f.list = b.known.lists[f.region]
		return f.list - 1, nil
	}
	b.words = append(b.words[:0], graph.ClassList, uint64(f.region))
	t, _, err := b.tuples.Intern(b.words)
	if err != nil {
		return 0, err
	}
	f.list = t + 1
	remember(&b.known.lists, f.region, t+1)
	return t, nil
}

// Finish closes open calls and returns the graph of the location. Its streams are valid until b is Reset.
func (b *Builder) Finish() (*Local, error) {
	if b.err != nil {
		return nil, b.err
	}
	for len(b.frames) > 1 {
		top := &b.frames[len(b.frames)-1]
		b.beginCall(top, 0, graph.WordCut)
		if err := b.closeWords(top); err != nil {
			return nil, b.fail(err)
		}
	}
	top := &b.frames[0]
	t, err := b.listTuple(top)
	if err != nil {
		return nil, b.fail(err)
	}
	words, err := b.finishFrame(top)
	if err != nil {
		return nil, b.fail(err)
	}
	root, err := b.store.Intern(uint32(graph.KindRoot)<<graph.KindShift|t, words)
	if err != nil {
		return nil, b.fail(err)
	}
	l := &Local{
		p: b.p, opt: b.opt, first: b.first, last: b.last, events: b.events,
		gaps: b.gaps, values: b.split.values, payload: b.split.payload,
	}
	if l.graph, err = graph.Canonical(b.store, b.tuples, root); err != nil {
		return nil, b.fail(err)
	}
	b.err = fmt.Errorf("call graph: location %d is finished: reset the builder", b.p)
	return l, nil
}

func (b *Builder) fail(err error) error {
	b.err = fmt.Errorf("call graph: location %d, at its end: %w", b.p, err)
	return b.err
}

// Errors that callers tell apart.
var (
	ErrTime       = errors.New("time runs backwards")                     // an event before its predecessor
	ErrBatch      = errors.New("malformed event batch")                   // words of an event do not fit its kind
	ErrNoCodebook = errors.New("a lossy call graph without its codebook") // distributing needs the one of the run
)
