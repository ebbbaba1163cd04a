package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// A replay runs slab after slab. A slab begins with the crossing, the state of the replay that the slab before ended with. All ranks run
// their slabs at the same time: first as if nobody had waited before, then again from the crossing of the rank below. In an ideal network
// times depend on each other only by maximum and addition. So if a crossing is later by a constant, all times after it are later by that
// constant, and the slab need not run again; after a while this is the case for most programs (rank convergence: S. Maleki, M.
// Musuvathi, T. Mytkowicz, Parallelizing dynamic programming through rank convergence, 2014). A last pass, one rank after another, adds
// the constants and runs again what is not right yet. So the result is that of a single slab.

// collectiveKind says which value a collective operation computes of those with which its members enter, and who gets it.
type collectiveKind uint8

// The root is a member like the others.
const (
	maxToAll  collectiveKind = iota // the greatest value of all members, to all
	rootToAll                       // the root's value, to all others; their own values do not count
	maxToRoot                       // the greatest value of all members, to the root alone
	prefixMax                       // the greatest value of the members up to the own communicator rank, to each
	onPath                          // not a collective, see replayKind
)

func (k collectiveKind) rooted() bool { return k == rootToAll || k == maxToRoot }

// valueKey names a value that location p gets: of a message row, or the result of a collective.
type valueKey struct {
	p    uint32
	comm uint32 // 1 + communicator; 0: a message
	key  uint64 // row or ordinal
}

func compareKeys(a, b valueKey) int {
	return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.comm, b.comm), cmp.Compare(a.key, b.key))
}

type value struct {
	valueKey
	instant
}

// instant is an instant in the replay, v, and in the trace, m; in ticks.
type instant struct{ v, m uint64 }

// later returns the later one of v and of m.
func (a instant) later(b instant) instant { return instant{max(a.v, b.v), max(a.m, b.m)} }

// position is where a location is in the replay. Times are in ticks.
type position struct {
	enter, leave uint64     // the last MPI call, in the trace
	before       uint64     // how much later it began in the trace than in the replay, modulo 2^64; not of Clocks
	wait         uint64     // its length in the replay; not of Clocks
	need         uint64     // Levers: how long it waited in the trace; Clocks: the latest enter that it depends on
	late         uint64     // Levers: how long it waits in the replay
	path         uint32     // Levers: its path
	last         correction // Clocks
	rest         []replayOp // steps of earlier slabs not done yet
}

// instance is a collective in progress.
type instance struct {
	coll    replayOp // comm, ordinal, kind, root
	entered uint32   // members
	known   bool     // value is known; of prefix operations for the members below next
	gone    bool     // nobody waits for it, as a member is removed or goes on without it
	value   instant
	next    uint32        // of prefix operations: all known members below have entered
	waiting []uint32      // locations that get the value
	prefix  []memberValue // of prefix operations: members that have entered from next on, the last one first
}

type memberValue struct {
	member, p uint32
	instant
}

// crossing is the state of the replay between two slabs. It does not change once it is made.
type crossing struct {
	places    []position // by location
	values    []value    // not taken yet, by key
	instances []instance
}

// flow runs a replay on one rank.
type flow struct {
	r     *Replay
	defs  *trace.Definitions
	steps *parcels
	runs  []slabRun         // of own slabs
	comms map[uint32]uint32 // known members by communicator; 0: its operations are ignored

	// the current slab
	read   *slabSteps
	places []walker // by location
	run    *slabRun
	guess  bool                   // the slab begins as if nobody had waited: missing values do not count
	queue  []uint32               // locations that can go on
	open   map[valueKey]*instance // p is 0
	waited []waited               // with a lever, by path
	moved  []uint32               // paths with an entry in waited
	knots  []knots                // by location; nil unless Times asks for them
	report *ReplayReport
}

// slabRun is the result of the last run of a slab.
type slabRun struct {
	from, to *crossing // at its begin, nil if values were missing, and at its end
	active   []bool    // by location: it has steps
	nodes    map[uint64]nodeTicks
	fixed    []placed // corrections of clocks, in order by location
	waited   []waited // with a lever
	ignored  uint64   // dependencies that the trace contradicts
	late     uint64   // ticks by which delay shifted nodes and to since the run, modulo 2^64
}

// placed is a correction of a location.
type placed struct {
	p uint32
	c correction
}

// walker is a location while its slab runs.
type walker struct {
	position
	rest    int  // index of the next step in position.rest
	steps        // of the slab; op is the current step
	held    bool // op waits for key
	key     valueKey
	queued  bool // it is in flow.queue
	skipped bool // op no longer waits
	work    work // with a lever
	told    bool // the knots have the end of the current call
}

// members returns how many known members a communicator has, 0 if its operations are ignored.
func (f *flow) members(comm uint32) uint32 {
	n, ok := f.comms[comm]
	if ok {
		return n
	}
	switch inter := f.defs.IsInter(comm); {
	case inter && f.r.lever != nil: // of both groups: the script has only operations of all
		for p := range f.defs.Processes() {
			if _, ok := f.defs.RankIn(comm, uint32(p)); ok {
				n++
			}
		}
	case !inter:
		for i, p := range f.defs.CommMembers(comm) {
			if p != trace.UnknownProcess && f.isRank(comm, uint32(i), p) {
				n++
			}
		}
	}
	f.comms[comm] = n
	return n
}

// isRank reports whether this is the lowest rank of a process in a communicator.
func (f *flow) isRank(comm, rank, process uint32) bool {
	r, ok := f.defs.RankIn(comm, process)
	return ok && r == rank
}

// member returns the communicator rank of a location's process. It returns false for a collective whose members are not known.
func (f *flow) member(p uint32, o *replayOp) (uint32, bool) {
	process, _ := f.defs.Process(trace.P(p))
	member, ok := f.defs.RankIn(o.peer, process)
	return member, ok && f.members(o.peer) > 0 && f.hasRoot(o)
}

// hasRoot reports whether the root of a rooted collective is a known process.
func (f *flow) hasRoot(o *replayOp) bool {
	if !o.coll.rooted() {
		return true
	}
	list := f.defs.CommMembers(o.peer)
	return uint64(o.root) < uint64(len(list)) && list[o.root] != trace.UnknownProcess && f.isRank(o.peer, o.root, list[o.root])
}

// gets reports whether a member gets the result.
func (o *replayOp) gets(member uint32) bool {
	return !o.coll.rooted() || (member == o.root) == (o.coll != rootToAll)
}

func (o *replayOp) valueKey(p uint32) valueKey { return valueKey{p, 1 + o.peer, o.key} }

// give gives a location a value, and lets it go on if it waits for that.
func (f *flow) give(k valueKey, v instant) {
	if uint64(k.p) >= uint64(len(f.places)) {
		return
	}
	f.read.values.put(k, v)
	if x := &f.places[k.p]; x.held && x.key == k {
		f.push(k.p)
	}
}

func (f *flow) push(p uint32) {
	if x := &f.places[p]; !x.queued {
		x.queued = true
		f.queue = append(f.queue, p)
	}
}

// enter makes a location take part in a collective, with value v. It ignores collectives whose members are not known.
func (f *flow) enter(p uint32, o *replayOp, v instant) {
	member, ok := f.member(p, o)
	if !ok {
		return
	}
	k := o.valueKey(0)
	x := f.open[k]
	if x == nil {
		x = &instance{coll: replayOp{coll: o.coll, peer: o.peer, key: o.key}}
		if o.coll.rooted() {
			x.coll.root = o.root
		}
		x.gone = o.key&atEnd != 0
		f.open[k] = x
	}
	if x.coll.coll != o.coll || o.coll.rooted() && x.coll.root != o.root {
		return // the members disagree on the operation: those that wait for it are stuck
	}
	x.entered++
	x.gone = x.gone && (o.key&atEnd == 0 || o.kind != stepJoin)
	all := x.entered >= f.members(o.peer)
	waits := o.kind == stepJoin || o.kind == stepAttend || o.key&(allOf|atEnd) == 0
	if f.r.lever != nil && f.r.lever.removes(&f.places[p].position, o) {
		x.gone, waits = true, false
	}
	switch o.coll {
	case prefixMax:
		i, _ := slices.BinarySearchFunc(x.prefix, member, func(m memberValue, n uint32) int { return cmp.Compare(n, m.member) })
		x.prefix = slices.Insert(x.prefix, i, memberValue{member, p, v})
		f.prefixes(x)
	case rootToAll:
		if member == o.root {
			x.value, x.known = v, true
		} else if waits {
			x.waiting = append(x.waiting, p)
		}
	default:
		x.value, x.known = x.value.later(v), all
		if o.gets(member) && waits {
			x.waiting = append(x.waiting, p)
		}
	}
	if x.known {
		for _, w := range x.waiting {
			f.give(x.coll.valueKey(w), x.result())
		}
		x.waiting = nil
	}
	if all && o.coll != prefixMax {
		delete(f.open, k)
	}
	if f.r.lever != nil && o.coll != maxToAll {
		f.enter(p, o.ofAll(), v)
	}
}

// allOf marks the ordinal of a second operation that members of an operation in which not all wait for all take part in, with levers: maxToAll, whose result
// members with stepMeet wait for.
const allOf = 1 << 63

// atEnd marks the ordinal of a second operation that members of a nonblocking operation take part in when they complete it. They wait for
// all others if one of them shows that it had to: it stayed in its call until the first one left, longer than anything else explains.
const atEnd = 1 << 61

// ofAll returns the second operation of one in which not all wait for all.
func (o *replayOp) ofAll() *replayOp {
	x := *o
	x.coll, x.key = maxToAll, o.key|allOf
	return &x
}

// result returns the value that members get; zero, for which nobody waits, if the operation is gone.
func (x *instance) result() instant {
	if x.gone {
		return instant{}
	}
	return x.value
}

// prefixes gives members of a prefix operation, once all known members below have entered, the greatest value up to themselves.
func (f *flow) prefixes(x *instance) {
	list := f.defs.CommMembers(x.coll.peer)
	for n := len(x.prefix) - 1; n >= 0; n-- {
		m := x.prefix[n]
		for x.next < min(m.member, uint32(len(list))) {
			if p := list[x.next]; p != trace.UnknownProcess && f.isRank(x.coll.peer, x.next, p) {
				return
			}
			x.next++
		}
		x.value, x.known = x.value.later(m.instant), true
		x.next, x.prefix = max(x.next, m.member+1), x.prefix[:n]
		f.give(x.coll.valueKey(m.p), x.result())
	}
	if x.entered >= f.members(x.coll.peer) {
		delete(f.open, x.coll.valueKey(0))
	}
}

// receive takes a value. If it is not there the location has to wait, and ok is false.
func (f *flow) receive(p uint32, k valueKey) (instant, bool) {
	x := &f.places[p]
	if v, ok := f.read.values.take(k); ok {
		return v, true
	}
	if x.skipped {
		x.skipped = false
		return instant{}, true
	}
	x.held, x.key = true, k
	return instant{}, false
}

// result takes the result of a collective as receive does; zero for a member that gets none.
func (f *flow) result(p uint32, o *replayOp) (instant, bool) {
	if member, ok := f.member(p, o); !ok || !o.gets(member) {
		return instant{}, true
	}
	return f.receive(p, o.valueKey(p))
}

// slab runs slab k from a crossing.
func (f *flow) slab(k int, from *crossing) error {
	run := &f.runs[k-f.steps.own]
	*run = slabRun{from: from, active: make([]bool, len(from.places)), nodes: map[uint64]nodeTicks{}}
	f.run = run
	f.places = slices.Grow(f.places[:0], len(from.places))[:len(from.places)]
	f.queue = f.queue[:0]
	clear(f.read.values.slots)
	f.read.values.n = 0
	f.open = map[valueKey]*instance{}
	for i := range from.places {
		x := &f.places[i]
		*x = walker{position: from.places[i]}
		x.ops, x.soon, x.src = f.read.ops[i], f.read.early[i], varint.Read(f.read.raw[i])
		if len(x.position.rest) > 0 || x.left() {
			run.active[i] = true
			f.push(uint32(i))
		}
	}
	for _, v := range from.values {
		f.read.values.put(v.valueKey, v.instant)
	}
	for i := range from.instances {
		x := from.instances[i]
		x.waiting, x.prefix = slices.Clone(x.waiting), slices.Clone(x.prefix)
		f.open[x.coll.valueKey(0)] = &x
	}
	if f.r.lever != nil {
		f.beginWork()
	}
	for f.drain(); f.guess && f.release() || f.r.lever != nil && f.goOn(); f.drain() {
		if f.guess {
			run.from = nil // the result is not that from this crossing
		}
	}
	f.report.Slabs++
	return f.leave()
}

// drain runs all locations until none can go on.
func (f *flow) drain() {
	for len(f.queue) > 0 {
		n := len(f.queue) - 1
		p := f.queue[n]
		f.queue = f.queue[:n]
		f.places[p].queued = false
		f.walk(p)
	}
}

// release lets all locations that wait go on without their values. It reports whether there are any.
func (f *flow) release() bool {
	for p := range f.places {
		if x := &f.places[p]; x.held {
			x.skipped = true
			f.push(uint32(p))
		}
	}
	return len(f.queue) > 0
}

// walk runs a location until the end of the slab, or until it has to wait for a value.
func (f *flow) walk(p uint32) {
	x := &f.places[p]
	for {
		switch {
		case x.held:
			x.held = false
		case x.rest < len(x.position.rest):
			x.op = &x.position.rest[x.rest]
			x.rest++
		case !x.next():
			return
		}
		f.report.Steps++
		if !f.step(p, x) {
			return
		}
	}
}

// step does the current step. It returns false if the location has to wait.
func (f *flow) step(p uint32, x *walker) bool {
	switch {
	case f.r.clocks:
		return f.clockStep(p, x)
	case f.r.lever != nil:
		return f.leverStep(p, x)
	}
	return f.idealStep(p, x)
}

// leave makes the crossing at the end of the slab.
func (f *flow) leave() error {
	to := &crossing{places: make([]position, len(f.places))}
	for p := range f.places {
		x := &f.places[p]
		if f.r.lever != nil {
			x.workTo(x.work.line.last())
		}
		to.places[p] = x.position
		rest := slices.Clone(x.position.rest[min(x.rest, len(x.position.rest)):])
		if x.held {
			rest = slices.Insert(rest, 0, *x.op)
		}
		for x.next() {
			rest = append(rest, *x.op)
		}
		if x.src.Failed() {
			return ErrDamaged
		}
		to.places[p].rest = rest
	}
	to.values = f.read.values.sorted()
	for _, x := range f.open {
		to.instances = append(to.instances, *x)
	}
	slices.SortFunc(to.instances, func(a, b instance) int { return compareKeys(a.coll.valueKey(0), b.coll.valueKey(0)) })
	for _, path := range f.moved {
		f.run.waited = append(f.run.waited, f.waited[path])
		f.waited[path] = waited{}
	}
	f.moved = f.moved[:0]
	f.run.to = to
	f.open = nil
	return nil
}

// later reports whether crossings a and b, at the begin of a slab, differ only by a constant c: in b, the replay is earlier by c than in a.
// c is modulo 2^64, and 0 in the repair of clocks. Only locations that are active in the slab count.
func later(a, b *crossing, active []bool, clocks bool) (c uint64, ok bool) {
	if a == nil || b == nil || len(a.values) != len(b.values) || len(a.instances) != len(b.instances) {
		return 0, false
	}
	if !clocks {
		for p := range a.places {
			if active == nil || active[p] {
				c = b.places[p].before - a.places[p].before
				break
			}
		}
	}
	for p := range a.places {
		if active != nil && !active[p] && len(b.places[p].rest) == 0 {
			continue
		}
		x, y := &a.places[p], &b.places[p]
		if y.before-x.before != c || x.enter != y.enter || x.leave != y.leave || x.wait != y.wait ||
			x.need != y.need || x.late != y.late || x.path != y.path || x.last != y.last || !slices.Equal(x.rest, y.rest) {
			return 0, false
		}
	}
	for i := range a.values {
		if x, y := &a.values[i], &b.values[i]; x.valueKey != y.valueKey || x.m != y.m || x.v-y.v != c {
			return 0, false
		}
	}
	for i := range a.instances {
		x, y := &a.instances[i], &b.instances[i]
		if x.coll != y.coll || x.entered != y.entered || x.known != y.known || x.gone != y.gone || x.next != y.next || len(x.prefix) != len(y.prefix) || !slices.Equal(x.waiting, y.waiting) ||
			(x.known || x.coll.coll == maxToAll || x.coll.coll == maxToRoot) && (x.value.v-y.value.v != c || x.value.m != y.value.m) {
			return 0, false
		}
		for k := range x.prefix {
			if m, n := &x.prefix[k], &y.prefix[k]; m.member != n.member || m.p != n.p || m.m != n.m || m.v-n.v != c {
				return 0, false
			}
		}
	}
	return c, true
}

// delay shifts the result of a slab to another crossing at its begin, which differs by the constant c (later). Locations without steps keep
// their position.
func (r *slabRun) delay(from *crossing, c uint64) {
	r.from = from
	if c == 0 && slices.Index(r.active, false) < 0 {
		return
	}
	r.late += c
	to := &crossing{places: slices.Clone(r.to.places), values: slices.Clone(r.to.values), instances: slices.Clone(r.to.instances)}
	for p := range to.places {
		if x := &to.places[p]; !r.active[p] {
			*x = from.places[p]
		} else {
			x.before += c
		}
	}
	for i := range to.values {
		to.values[i].v -= c
	}
	for i := range to.instances {
		x := &to.instances[i]
		if x.known || x.coll.coll == maxToAll || x.coll.coll == maxToRoot {
			x.value.v -= c
		}
		x.prefix = slices.Clone(x.prefix)
		for k := range x.prefix {
			x.prefix[k].v -= c
		}
	}
	r.to = to
}

// tagCrossing is the tag of crossings on their way to the next rank.
const tagCrossing = 14

// phases is how many times the slabs of all ranks run at the same time, before settle.
const phases = 3

// flows are replays of one run, each with a lever, or a single replay. They run through the slabs together, so that each is read once.
type flows []*flow

// runSlabs runs all slabs of the run. On the rank with the last slab it returns the crossings at its end, on the others nil. Collective.
func (fs flows) runSlabs(locations int) ([]*crossing, error) {
	c := fs[0].r.Comm
	in := make([]*crossing, len(fs))
	for i := range in {
		in[i] = &crossing{places: make([]position, locations)}
	}
	var failed error // in taking the crossings, for all to agree on after the next pass
	for phase := range phases {
		if failed == nil {
			failed = fs.pass(in, phase == 0)
		}
		if err := c.Agree(failed); err != nil {
			return nil, err
		}
		for _, f := range fs {
			f.report.Phases++
		}
		if c.Size() == 1 {
			break
		}
		sent, err := fs.send(fs.after(in))
		if err != nil {
			return nil, err
		}
		if in, failed, err = fs.receive(in); err == nil {
			err = c.Wait(sent)
		}
		if err != nil {
			return nil, err
		}
	}
	return fs.settle(in, failed)
}

// pass runs the slabs of this rank from crossings, except those whose result is known or only shifted. In the first pass the crossings are
// a guess, except on the first rank.
func (fs flows) pass(in []*crossing, first bool) error {
	in = slices.Clone(in)
	for i := range fs[0].runs {
		k, read := fs[0].steps.own+i, false
		for n, f := range fs {
			run := &f.runs[i]
			f.guess = first && i == 0 && k > 0
			if d, ok := later(run.from, in[n], run.active, f.r.clocks); ok && run.to != nil {
				run.delay(in[n], d)
			} else {
				if !read {
					if err := f.read.readSlab(f.r, k); err != nil {
						return err
					}
					read = true
				}
				if err := f.slab(k, in[n]); err != nil {
					return err
				}
			}
			in[n] = run.to
		}
		part := 0.2
		if !first {
			part = 0
		}
		if err := fs[0].r.did(part, len(fs[0].runs)); err != nil {
			return err
		}
	}
	return nil
}

// after returns the crossings at the end of this rank's slabs, which began with in.
func (fs flows) after(in []*crossing) []*crossing {
	if len(fs[0].runs) == 0 {
		return in
	}
	list := make([]*crossing, len(fs))
	for i, f := range fs {
		list[i] = f.runs[len(f.runs)-1].to
	}
	return list
}

// send sends crossings to the next rank, if there is one.
func (fs flows) send(list []*crossing) (*mpi.Request, error) {
	c := fs[0].r.Comm
	if c.Rank()+1 == c.Size() {
		return nil, nil
	}
	var b []byte
	for _, x := range list {
		one := x.append(nil)
		b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
	}
	fs[0].report.Messages++
	fs[0].report.Bytes += uint64(len(b))
	return c.Isend(b, c.Rank()+1, tagCrossing)
}

// receive receives the crossings of the rank below, if there is one. failed is the error of damaged ones, on which all have yet to agree.
func (fs flows) receive(in []*crossing) (list []*crossing, failed, err error) {
	c := fs[0].r.Comm
	if c.Rank() == 0 {
		return in, nil, nil
	}
	b, _, err := c.Recv(c.Rank()-1, tagCrossing)
	if err != nil {
		return nil, nil, err
	}
	r := varint.Read(b)
	for _, old := range in {
		x, err := parseCrossing(r.Block(), len(old.places))
		if err != nil {
			x, failed = old, err
		}
		list = append(list, x)
	}
	return list, cmp.Or(failed, failure(&r)), nil
}

// settle runs pass once more, one rank after another, each from the crossings of the rank below.
func (fs flows) settle(in []*crossing, failed error) ([]*crossing, error) {
	c := fs[0].r.Comm
	in, damaged, err := fs.receive(in)
	if err != nil {
		return nil, err
	}
	if failed = cmp.Or(failed, damaged); failed == nil {
		failed = fs.pass(in, false)
	}
	if failed == nil {
		in = fs.after(in)
	}
	sent, err := fs.send(in)
	if err == nil {
		err = c.Wait(sent)
	}
	if err != nil {
		return nil, err
	}
	if c.Rank()+1 < c.Size() {
		in = nil
	}
	return in, c.Agree(failed)
}

// append encodes a crossing.
func (x *crossing) append(b []byte) []byte {
	for i := range x.places {
		p := &x.places[i]
		b = varint.Append(b, p.enter, p.leave-p.enter, zigzag(p.before), p.wait, p.need, p.late, uint64(p.path), p.last.event, p.last.t, p.last.raised, uint64(len(p.rest)))
		var code stepCoder
		for k := range p.rest {
			b = code.put(b, &p.rest[k])
		}
	}
	b = binary.AppendUvarint(b, uint64(len(x.values)))
	for i := range x.values {
		v := &x.values[i]
		b = varint.Append(b, uint64(v.p), uint64(v.comm), v.key, v.v, v.m)
	}
	b = binary.AppendUvarint(b, uint64(len(x.instances)))
	for i := range x.instances {
		y := &x.instances[i]
		known := uint64(0)
		if y.known {
			known = 1
		}
		if y.gone {
			known |= 2
		}
		b = varint.Append(b, uint64(y.coll.coll), uint64(y.coll.peer), uint64(y.coll.root), y.coll.key, uint64(y.entered), known, y.value.v, y.value.m, uint64(y.next), uint64(len(y.waiting)))
		for _, p := range y.waiting {
			b = binary.AppendUvarint(b, uint64(p))
		}
		b = binary.AppendUvarint(b, uint64(len(y.prefix)))
		for k := range y.prefix {
			m := &y.prefix[k]
			b = varint.Append(b, uint64(m.member), uint64(m.p), m.v, m.m)
		}
	}
	return b
}

// parseCrossing reads what append wrote.
func parseCrossing(b []byte, locations int) (*crossing, error) {
	r := varint.Read(b)
	x := &crossing{places: make([]position, locations)}
	for i := range x.places {
		p := &x.places[i]
		p.enter = r.Next()
		p.leave = p.enter + r.Next()
		p.before, p.wait, p.need, p.late, p.path = unzigzag(r.Next()), r.Next(), r.Next(), r.Next(), r.Uint32()
		p.last = correction{r.Next(), r.Next(), r.Next()}
		var code stepCoder
		for range r.Count(1) {
			var o replayOp
			code.next(&r, &o)
			p.rest = append(p.rest, o)
		}
	}
	for range r.Count(5) {
		x.values = append(x.values, value{valueKey{uint32(r.AtMost(uint64(locations - 1))), r.Uint32(), r.Next()}, instant{r.Next(), r.Next()}})
	}
	for range r.Count(11) {
		y := instance{coll: replayOp{coll: collectiveKind(r.Next()), peer: r.Uint32(), root: r.Uint32(), key: r.Next()}, entered: r.Uint32()}
		known := r.Next()
		y.known, y.gone, y.value, y.next = known&1 != 0, known&2 != 0, instant{r.Next(), r.Next()}, r.Uint32()
		for range r.Count(1) {
			y.waiting = append(y.waiting, r.Uint32())
		}
		for range r.Count(4) {
			y.prefix = append(y.prefix, memberValue{r.Uint32(), r.Uint32(), instant{r.Next(), r.Next()}})
		}
		x.instances = append(x.instances, y)
	}
	return x, failure(&r)
}

// valueTable is a hash table of values, with linear probing.
type valueTable struct {
	slots []value // p is 1 + location; 0: free
	n     int
}

func (t *valueTable) home(k valueKey) int {
	h := (k.key + uint64(k.comm)<<32) * 0x9E3779B97F4A7C15
	h = (h ^ uint64(k.p)) * 0xD6E8FEB86659FD93
	return int(h>>32) & (len(t.slots) - 1)
}

// put sets the value of a key.
func (t *valueTable) put(k valueKey, v instant) {
	if 2*t.n >= len(t.slots) {
		old := t.slots
		t.slots, t.n = make([]value, max(1<<10, 2*len(old))), 0
		for _, x := range old {
			if x.p > 0 {
				x.p--
				t.put(x.valueKey, x.instant)
			}
		}
	}
	i := t.home(k)
	for t.slots[i].p > 0 && !t.at(i, k) {
		i = (i + 1) & (len(t.slots) - 1)
	}
	if t.slots[i].p == 0 {
		t.n++
	}
	t.slots[i] = value{valueKey{k.p + 1, k.comm, k.key}, v}
}

func (t *valueTable) at(i int, k valueKey) bool {
	x := &t.slots[i]
	return x.p == k.p+1 && x.key == k.key && x.comm == k.comm
}

// take removes and returns a value.
func (t *valueTable) take(k valueKey) (v instant, ok bool) {
	if t.n == 0 {
		return v, false
	}
	mask := len(t.slots) - 1
	i := t.home(k)
	for ; !t.at(i, k); i = (i + 1) & mask {
		if t.slots[i].p == 0 {
			return v, false
		}
	}
	v = t.slots[i].instant
	for j := (i + 1) & mask; t.slots[j].p > 0; j = (j + 1) & mask { // values after it move into the hole
		x := t.slots[j].valueKey
		x.p--
		if (j-t.home(x))&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = value{}
	t.n--
	return v, true
}

func (t *valueTable) sorted() []value {
	var list []value
	for _, x := range t.slots {
		if x.p > 0 {
			x.p--
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b value) int { return compareKeys(a.valueKey, b.valueKey) })
	return list
}
