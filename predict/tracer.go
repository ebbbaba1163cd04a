package predict

import (
	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// tracer makes the program of one location from its graph.
//
// A part of the graph is closed if all requests posted in it complete in it and vice versa, and every instance has the same byte counts. It
// becomes one node, however often it occurs. Other parts are walked instance by instance. A unit has all its requests, and at most
// unitValues byte counts that differ: it becomes a node for each combination of these. The rest is walked twice. The first walk (resolver)
// finds which completion belongs to which post, because a receive is only known by its completion. The second walk (writer) makes calls,
// and folds equal iterations again.
//
// Memory: 72 bytes for each node and 120 for each Event of a message; 8 KiB for each column of byte counts that differ; 40 bytes for each
// post outside of closed parts; 16 for each different iteration of a loop that is not closed.
type tracer struct {
	b       *builder
	s       *ccg.Structure
	process uint32
	sync    *synchronised // nil: nothing is known
	nodes   []ccg.Node    // of each node
	info    []nodeInfo    // of each node
	records []record      // Events with a meaning
	ids     bool          // ids are needed as numbers, so nothing is closed

	units map[uint32]*unitNodes // of each node that is a unit
	apart *writer               // makes the nodes of units
}

// nodeInfo describes an instance of a node.
type nodeInfo struct {
	outer  uint64 // instances in the location outside of MPI calls
	calls  uint64 // calls of the program, provided it is outside of MPI calls
	posts  uint64 // requests posted
	ends   uint64 // requests ended
	needs  uint64 // how many posts before the instance it refers back to
	bloom  uint64 // channels whose requests it completes, or whose operations it performs
	values uint32 // number of different byte counts, limited
	record uint32 // 1 + number in records
	sync   uint32 // of a call: 1 + number in synchronised.values
	node   program.NodeID
	flags  nodeFlags
}

type nodeFlags uint16

const (
	nodeCall     nodeFlags = 1 << iota // a call of MPI, or one outside of MPI whose time is known
	nodeActs                           // has records that become actions or requests
	nodeVaries                         // byte counts differ, or ids are numbers
	nodeProbes                         // its last call waits for the message of a later one
	nodeDone                           // is a node of the program
	nodeSeparate                       // as a call: its time does not count as computation
	nodeReads                          // has records to be read, even if they are ignored
	nodeUnit                           // is a unit
	nodeLoose                          // has requests or probes that are not in a closed part or unit
	nodeTalks                          // has MPI calls, or records other than of files
	nodeBetween                        // has blocking collective operations of two groups
)

func newTracer(b *builder, l *ccg.Location, process uint32) *tracer {
	t := &tracer{b: b, s: l.Structure(), process: process}
	t.nodes, t.info = make([]ccg.Node, t.s.Len()+1), make([]nodeInfo, t.s.Len()+1)
	return t
}

// run returns the node of the whole location.
func (t *tracer) run() (program.NodeID, error) {
	if err := t.survey(); err != nil {
		return 0, err
	}
	t.count()
	w := newWriter(t)
	for n := uint32(1); n < t.s.Len(); n++ {
		if err := t.mark(w, n); err != nil {
			return 0, err
		}
	}
	t.look(t.s.Len())
	id, err := w.convert(t.s.Len(), nil)
	t.b.left.add(&w.left)
	return id, err
}

// roles returns the role of each node for the computation around it.
func (t *tracer) roles() []ccg.Role {
	roles := make([]ccg.Role, len(t.info))
	for n := range t.info {
		x := &t.info[n]
		switch {
		case x.calls == 0 || x.flags&nodeCall == 0 && t.nodes[n].Kind != graph.KindEvent:
		case x.flags&nodeSeparate != 0:
			roles[n] = ccg.Separates
		default:
			roles[n] = ccg.Ends
		}
	}
	return roles
}

// whole reports whether a node may have all of its requests: as many end in it as begin, and none began before.
func (t *tracer) whole(n uint32) bool {
	x := &t.info[n]
	return !t.ids && x.needs == 0 && x.posts == x.ends && x.flags&nodeProbes == 0
}

// unitValues is the most byte counts that differ in a unit.
const unitValues = 8

// mark makes the node of a closed part, and finds units.
func (t *tracer) mark(w *writer, n uint32) error {
	x := &t.info[n]
	t.look(n)
	if x.outer == 0 || x.calls == 0 || !t.whole(n) {
		return nil
	}
	if x.flags&nodeVaries == 0 {
		id, err := w.convert(n, nil)
		if x.node = id; !w.broken {
			x.flags |= nodeDone
		}
		return err
	}
	if x.values <= unitValues && !t.resolve(n, t.numbering(make([]uint64, unitValues)), true).broken {
		x.flags |= nodeUnit
	}
	return nil
}

// look marks a node with requests or probes that are not in a closed part or unit.
func (t *tracer) look(n uint32) {
	x := &t.info[n]
	if t.nodes[n].Kind == graph.KindEvent && x.posts+x.ends > 0 || x.flags&(nodeCall|nodeProbes) == nodeCall|nodeProbes {
		x.flags |= nodeLoose
	}
	for _, c := range t.nodes[n].Children {
		if y := &t.info[c]; y.flags&nodeLoose != 0 && y.flags&(nodeUnit|nodeDone) == 0 {
			x.flags |= nodeLoose
		}
	}
}

// survey reads all nodes, children first. A file operation or one-sided call outside of MPI that contains MPI calls is not a call of the
// program; those are.
func (t *tracer) survey() error {
	r := reader{
		tables: t.b.tables, left: &t.b.left, s: t.s, process: t.process,
		own: map[uint32]ownPlace{}, channels: map[channelKey]uint32{}, constant: map[int32]value{},
	}
	for n := uint32(1); n <= t.s.Len(); n++ {
		t.nodes[n] = t.s.Node(n)
		x, info := &t.nodes[n], &t.info[n]
		if x.Kind == graph.KindEvent {
			rec, err := r.record(n, x)
			if err != nil {
				return err
			}
			if rec.between {
				info.flags |= nodeBetween
			}
			if rec.kind != recNone {
				t.event(info, &rec)
			}
			continue
		}
		t.gather(n)
		if x.Kind != graph.KindCall {
			continue
		}
		region := t.b.tables.region(x.Region)
		switch {
		case region.class&trace.ClassMPI != 0:
			between := info.flags&nodeBetween != 0
			info.flags |= nodeTalks
			t.call(info, region)
			t.synchronise(info, x.Region, between)
		case region.apart && info.flags&nodeTalks == 0:
			t.call(info, region)
		}
	}
	return nil
}

func (t *tracer) event(x *nodeInfo, rec *record) {
	k := rec.kind
	if rec.bytes.column >= 0 || rec.recv.column >= 0 { // instances may differ in bytes
		x.flags |= nodeVaries | nodeReads
		x.values = uint32(len(rec.columns(nil)))
	} else if k == recSkip {
		return
	}
	t.records = append(t.records, *rec)
	x.record = uint32(len(t.records))
	if k == recSkip {
		return
	}
	if x.flags |= nodeActs | nodeSeparate; k != recFile {
		x.flags |= nodeTalks
	}
	x.calls = 1 // outside of calls
	if k.posts() {
		x.posts = 1
	}
	if k.completes() {
		x.ends = 1
		x.needs = rec.request.value + 1
		if rec.far {
			t.ids = true
		}
	}
	if rec.action.Kind != program.FileIO && !rec.drop && (!k.posts() || k == recIsend) && k != recSendDone && k != recCancel {
		x.bloom = 1 << channelBit(rec.channel)
	}
}

// gather adds up the children of a node.
func (t *tracer) gather(n uint32) {
	x, info := &t.nodes[n], &t.info[n]
	for _, c := range x.Children {
		y := &t.info[c]
		if y.needs > info.posts {
			info.needs = max(info.needs, y.needs-info.posts)
		}
		info.posts += y.posts
		info.ends += y.ends
		info.calls += y.calls
		info.bloom |= y.bloom
		info.values = min(info.values+y.values, unitValues+1)
		info.flags |= y.flags & (nodeActs | nodeVaries | nodeReads | nodeTalks | nodeBetween)
	}
	info.values = uint32(min(exact.MulSat(uint64(info.values), x.Count), unitValues+1))
	info.posts, info.ends, info.calls = exact.MulSat(info.posts, x.Count), exact.MulSat(info.ends, x.Count), exact.MulSat(info.calls, x.Count)
	for i := len(x.Children) - 1; i >= 0; i-- {
		y := &t.info[x.Children[i]]
		if y.flags&nodeProbes != 0 {
			info.flags |= nodeProbes
		}
		if y.calls > 0 && y.flags&(nodeActs|nodeProbes) != 0 {
			break
		}
	}
}

// call describes an outermost call.
func (t *tracer) call(x *nodeInfo, region *regionInfo) {
	x.flags |= nodeCall
	x.flags &^= nodeProbes | nodeSeparate
	x.calls = 1
	if region.mute() {
		x.flags &^= nodeActs
		return
	}
	if x.flags&nodeActs != 0 {
		x.flags |= nodeSeparate
	} else if region.probe {
		x.flags |= nodeProbes | nodeSeparate
	}
}

// synchronise notes what an outermost call does to others without messages.
func (t *tracer) synchronise(x *nodeInfo, region uint32, between bool) {
	x.flags &^= nodeBetween
	if t.sync == nil {
		return
	}
	if x.sync = t.sync.of[syncCalls{region, between}]; x.sync == 0 {
		return
	}
	if x.flags &^= nodeActs | nodeSeparate; !t.sync.values[x.sync-1].same {
		x.flags |= nodeVaries | nodeReads
		x.values = min(x.values+1, unitValues+1)
	}
}

// count computes how often nodes occur outside of MPI calls, and counts what is left out or changed.
func (t *tracer) count() {
	last := t.s.Len()
	t.info[last].outer = 1
	left := &t.b.left
	for n := last; n > 0; n-- {
		x, info := &t.nodes[n], &t.info[n]
		if info.outer == 0 {
			continue
		}
		if x.Kind == graph.KindEvent && info.calls > 0 {
			left[LeftOutside] += info.outer
		}
		if info.flags&nodeCall == 0 {
			for _, c := range x.Children {
				t.info[c].outer += exact.MulSat(info.outer, x.Count)
			}
			continue
		}
		region := t.b.tables.region(x.Region)
		acts := info.flags&nodeActs != 0
		switch {
		case region.some && acts:
			left[LeftChosen] += info.outer
		case region.test && !acts:
			left[LeftFailedTests] += info.outer
		case region.class&trace.ClassRMA != 0 && !acts, region.apart && region.class == 0:
			left[LeftOneSided] += info.outer
		case region.class&trace.ClassFileIO != 0 && !acts, region.apart:
			left[LeftFiles] += info.outer
		case region.class&trace.ClassFileIO != 0:
			left[LeftFileTimes] += info.outer
		case region.spawn:
			left[LeftSpawns] += info.outer
		case region.operator:
			left[LeftOperators] += info.outer
		}
	}
	for n := uint32(1); n <= last; n++ {
		if r := t.info[n].record; r > 0 && t.records[r-1].kind == recCancel {
			left[LeftCancelled] += t.s.Instances(n)
		}
	}
}

// read returns the value of a field in the current instance.
func (v value) read(c *cursors) uint64 {
	if v.column < 0 {
		return v.value
	}
	return c.next(v.column)
}

// cursors read columns from the begin, in the order of execution.
type cursors struct {
	s      *ccg.Structure
	sync   *synchronised
	passed []int            // of each column of sync
	open   []*column.Cursor // by column
	replay []uint64         // values to return first, because they were read before
}

func (c *cursors) next(col int32) uint64 {
	if len(c.replay) > 0 {
		v := c.replay[0]
		c.replay = c.replay[1:]
		return v
	}
	if col >= syncColumn {
		return c.nextSync(int(col - syncColumn))
	}
	for int(col) >= len(c.open) {
		c.open = append(c.open, nil)
	}
	k := c.open[col]
	if k == nil {
		k = &column.Cursor{}
		k.Init(c.s.Column(col))
		c.open[col] = k
	}
	return k.Next()
}

// nextSync is next for a column that the graph does not have.
func (c *cursors) nextSync(col int) uint64 {
	for col >= len(c.passed) {
		c.passed = append(c.passed, 0)
	}
	i := c.passed[col]
	c.passed[col]++
	if list := c.sync.values[col].list; i < len(list) {
		return list[i]
	}
	return 0
}

func (c *cursors) err() error {
	for _, k := range c.open {
		if k != nil && k.Err() != nil {
			return k.Err()
		}
	}
	return nil
}

// walkStep is what a walk through a location meets next.
type walkStep uint8

const (
	walkEnd     walkStep = iota
	walkOpen             // a part of the graph that is not an MPI call begins
	walkClose            // it ends
	walkCall             // an outermost MPI call begins
	walkCallEnd          // it ends
	walkRecord           // a record, in a call or outside
	walkPart             // a node of the program, or a unit: read its values, then take or descend
)

// walker walks through the instances of a node in the order of execution, with an explicit stack. It skips what has no calls.
type walker struct {
	t     *tracer
	stack []walkFrame
	call  int // length of the stack at the outermost call, 0 outside
	times uint64
	part  uint32
	plain bool // enter units
}

// walkFrame is an open node.
type walkFrame struct {
	node uint32
	next int    // next child
	left uint64 // iterations left, including this one
}

// begin starts before node n, which is entered even if it is a node of the program.
func (w *walker) begin(t *tracer, n uint32) (walkStep, uint32) {
	w.t, w.stack, w.call = t, w.stack[:0], 0
	return w.enter(n)
}

// enter enters a node outside of calls.
func (w *walker) enter(n uint32) (walkStep, uint32) {
	x := &w.t.nodes[n]
	if x.Kind == graph.KindEvent {
		return walkRecord, n
	}
	w.stack = append(w.stack, walkFrame{node: n, left: x.Count})
	if w.t.info[n].flags&nodeCall != 0 {
		w.call = len(w.stack)
		return walkCall, n
	}
	return walkOpen, n
}

// take skips the part that was met, with all its repetitions in a row.
func (w *walker) take() {
	if top := &w.stack[len(w.stack)-1]; top.next == 0 {
		top.left, top.next = 1, 1
	}
}

// descend enters the part that was met.
func (w *walker) descend() (walkStep, uint32) {
	if top := &w.stack[len(w.stack)-1]; top.next == 0 {
		top.next = 1
	}
	return w.enter(w.part)
}

func (w *walker) next() (walkStep, uint32) {
	t := w.t
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		x := &t.nodes[top.node]
		if top.next == len(x.Children) {
			if top.left--; top.left > 0 {
				top.next = 0
				continue
			}
			n := top.node
			w.stack = w.stack[:len(w.stack)-1]
			switch {
			case w.call == len(w.stack)+1:
				w.call = 0
				return walkCallEnd, n
			case w.call == 0:
				return walkClose, n
			}
			continue
		}
		c := x.Children[top.next]
		info := &t.info[c]
		if w.call > 0 {
			top.next++
			switch {
			case info.record > 0:
				return walkRecord, c
			case info.flags&(nodeActs|nodeReads) != 0:
				w.stack = append(w.stack, walkFrame{node: c, left: t.nodes[c].Count})
			}
			continue
		}
		if info.flags&nodeDone != 0 && x.Kind == graph.KindRepeat {
			w.part, w.times = c, top.left
			return walkPart, c
		}
		top.next++
		if info.flags&nodeDone != 0 || info.flags&nodeUnit != 0 && !w.plain {
			w.part, w.times = c, 1
			return walkPart, c
		}
		if info.calls > 0 || info.flags&nodeReads != 0 {
			return w.enter(c)
		}
		if x.Kind == graph.KindRepeat {
			top.left = 1
		}
	}
	return walkEnd, 0
}

// unitNodes are the nodes of a unit. Memory: 80 bytes for each combination of byte counts.
type unitNodes struct {
	columns []int32 // of the byte counts, in the order of execution
	known   map[[unitValues]uint64]program.NodeID
	last    [unitValues]uint64
	id      program.NodeID // node of last
	any     bool           // last is set
}

// columns returns the columns of a unit's byte counts; nil for a closed part.
func (t *tracer) columns(n uint32) []int32 {
	if t.info[n].flags&nodeUnit == 0 {
		return nil
	}
	return t.unit(n).columns
}

func (t *tracer) unit(n uint32) *unitNodes {
	u := t.units[n]
	if u != nil {
		return u
	}
	u = &unitNodes{known: map[[unitValues]uint64]program.NodeID{}}
	w := walker{plain: true}
	for st, id := w.begin(t, n); st != walkEnd; st, id = w.next() {
		switch st {
		case walkCall:
			if s := t.syncOf(id); s.column >= 0 {
				u.columns = append(u.columns, s.column)
			}
		case walkRecord:
			u.columns = t.records[t.info[id].record-1].columns(u.columns)
		case walkPart:
			w.take()
		}
	}
	if t.units == nil {
		t.units = map[uint32]*unitNodes{}
	}
	t.units[n] = u
	return u
}

// node returns the node of an instance with these byte counts.
func (u *unitNodes) node(t *tracer, n uint32, values []uint64) (program.NodeID, error) {
	var key [unitValues]uint64
	copy(key[:], values)
	if u.any && u.last == key {
		return u.id, nil
	}
	id, ok := u.known[key]
	if !ok {
		if t.apart == nil {
			t.apart = newWriter(t)
		}
		var err error
		if id, err = t.apart.convert(n, key[:len(values)]); err != nil {
			return 0, err
		}
		u.known[key] = id
	}
	u.last, u.id, u.any = key, id, true
	return id, nil
}
