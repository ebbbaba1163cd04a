package paraver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// mostSets is how many sets of counters get a definition of their own; counters
// of other sets are recorded one by one.
const mostSets = 64

// indexer makes the index of a trace in one pass.
type indexer struct {
	*head
	out        index
	records    *records
	names      *names
	record     record
	last       []uint64 // per thread: time of its newest event line
	until      uint64   // the latest end of a state
	types      map[uint64]eventType
	named      map[pair]struct{}
	places     map[pair]pair         // first position of each region
	calls      map[threadComm]uint64 // collectives so far
	behaviours map[pair]behaviour
	halves     map[uint32]half // collectives that wait for arguments, by thread
	ranks      ranks
	used       map[uint64]struct{} // states that are like calls
	began      []locationIndex     // what they would add
	logs       []rootLog           // by communicator
	set        []uint64            // counters of the record in hand
}

type threadComm struct {
	location uint32
	comm     int
}

// half is a collective that has begun and whose arguments have not come yet.
type half struct {
	time  uint64
	pairs []pair
}

// newIndexer reads the head. Size is that of the file, in bytes.
func newIndexer(r io.Reader, size uint64, n *names) (*indexer, error) {
	x := &indexer{
		names: n, types: make(map[uint64]eventType), named: make(map[pair]struct{}), places: make(map[pair]pair),
		calls: make(map[threadComm]uint64), behaviours: make(map[pair]behaviour), halves: make(map[uint32]half), used: make(map[uint64]struct{}),
	}
	var err error
	if x.records, err = newRecords(r, mostHead); err != nil {
		return nil, err
	}
	if x.head, err = parseHead(x.records.head, size); err != nil {
		return nil, err
	}
	x.out.Locations = make([]locationIndex, x.threads)
	for i := range x.out.Locations {
		x.out.Locations[i].First = trace.Undefined64
	}
	x.ranks = ranks{x.head, make(map[int]map[uint32]uint32)}
	x.began = slices.Clone(x.out.Locations)
	x.last = make([]uint64, x.threads)
	x.logs = make([]rootLog, len(x.comms))
	return x, nil
}

// run passes over all records.
func (x *indexer) run() error {
	for {
		line, leftOut, err := x.records.next()
		if err != nil {
			if err := x.ended(err); err != nil {
				return err
			}
			return x.finish()
		}
		switch {
		case leftOut && len(line) > 0:
			x.problem(trace.DiagTruncated, "the file ends within it")
			continue
		case leftOut:
			x.problem(trace.DiagCorrupt, fmt.Sprintf("more than %d bytes", longestRecord))
			continue
		}
		if wrong := x.record.parse(x.header, line); wrong != "" {
			code := trace.DiagCorrupt
			if wrong == badUnknown {
				code = trace.DiagUnknownRecord
			}
			x.problem(code, wrong)
			continue
		}
		x.add(uint64(len(line)) + 1)
		if max(len(x.types), len(x.named), len(x.used)) > mostNames {
			return fmt.Errorf("paraver: more than %d different event types or values: %w", mostNames, trace.ErrUnsupported)
		}
	}
}

// ended notes how the file ends; a fault of the system is an error.
func (x *indexer) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	code := readFault(err)
	if code == 0 {
		return fmt.Errorf("paraver: line %d: %w", x.records.number, err)
	}
	x.problem(code, "the compressed data end here: "+err.Error())
	return nil
}

func (x *indexer) problem(code trace.Code, what string) {
	x.out.Problems.Add(trace.Diagnostic{Code: code, Detail: fmt.Sprintf("line %d: %s", x.records.number, what)})
}

// add counts a record of so many bytes.
func (x *indexer) add(bytes uint64) {
	r := &x.record
	l := &x.out.Locations[r.location]
	l.Bytes += bytes
	switch r.kind {
	case stateRecord:
		x.out.States++
		x.until = max(x.until, r.end)
		l.Program = true
		x.state()
	case eventRecord:
		x.out.Events++
		l.Records += uint64(len(r.pairs))
		l.First = min(l.First, r.time)
		if r.time < x.last[r.location] {
			x.problem(trace.DiagTimeBackwards, "an event before its predecessor; brought in order")
		}
		x.last[r.location] = max(x.last[r.location], r.time)
		x.event()
	case commRecord:
		x.out.Comms++
		m := &r.message
		l.Records += 2
		l.First = min(l.First, r.time)
		to := &x.out.Locations[m.receiver]
		to.Records += 2
		to.First = min(to.First, m.posted)
		l.Program, to.Program = true, true
		if x.tasks[m.from].app != x.tasks[m.to].app {
			x.out.Foreign = true
		}
	}
}

// state notes what a state would become in a trace without calls.
func (x *indexer) state() {
	r := &x.record
	if !isCall(r.state) || r.time == r.end {
		return
	}
	x.used[r.state] = struct{}{}
	if r.state == stateOff {
		l := &x.out.Locations[r.location]
		l.Records += 2
		l.First = min(l.First, r.time)
	}
	l := &x.began[r.location]
	l.Records += 2
	l.First = min(l.First, r.time)
}

// event notes what definitions the pairs of an event need.
func (x *indexer) event() {
	x.set = x.set[:0]
	collective := false
	var opened, lines [places]pair
	for _, p := range x.record.pairs {
		e, known := x.types[p.Type]
		if !known {
			e = x.names.typeOf(p.Type)
			x.types[p.Type] = e
		}
		l := &x.out.Locations[x.record.location]
		l.Device = l.Device || e.onDevice() && p.Value != 0
		l.Program = l.Program || e.isRegion()
		switch {
		case e.use == counter:
			x.set = append(x.set, p.Type)
		case e.use == commArg:
			collective = true
		case e.hasNames() && p.Value != 0:
			x.named[p] = struct{}{}
		}
		switch {
		case p.Value == 0:
		case e.use == sourceLine:
			lines[placeOf(e.of)] = p
		case e.isRegion() && placeOf(p.Type) < places:
			opened[placeOf(p.Type)] = p
		}
	}
	for i, at := range lines {
		if _, known := x.places[opened[i]]; at.Value != 0 && opened[i].Value != 0 && !known {
			x.places[opened[i]] = at
		}
	}
	if len(x.set) > 0 && len(x.out.Sets) < mostSets && len(x.set) <= mostMembers {
		same := func(s []uint64) bool { return slices.Equal(s, x.set) }
		if !slices.ContainsFunc(x.out.Sets, same) {
			x.out.Sets = append(x.out.Sets, slices.Clone(x.set))
		}
	}
	x.collect(collective)
}

// collect counts a collective call when its arguments are there, in this record
// or in the next one. Given says that this one has some.
func (x *indexer) collect(given bool) {
	r := &x.record
	h, waits := x.halves[r.location]
	delete(x.halves, r.location)
	switch {
	case waits && h.time == r.time && given && x.names.addsTo(r.pairs):
		x.collective(append(h.pairs, r.pairs...))
	case given:
		x.collective(r.pairs)
	case slices.ContainsFunc(r.pairs, func(p pair) bool { return p.Type == typeColl && p.Value != 0 }):
		x.halves[r.location] = half{r.time, slices.Clone(r.pairs)}
	}
}

// collective counts a collective call and notes its root.
func (x *indexer) collective(pairs []pair) {
	task := x.taskAt(x.record.location)
	c, ok, unknown := x.collectiveOf(x.tasks[task].app, pairs, x.behaviour)
	if unknown {
		x.problem(trace.DiagUnknownPeer, "a collective on a communicator that no line defines")
	}
	if !ok {
		return
	}
	k := threadComm{x.record.location, c.comm}
	n := x.calls[k]
	x.calls[k] = n + 1
	if !c.rooted || !c.root {
		return
	}
	if r, ok := x.ranks.of(c.comm, task); ok {
		x.logs[c.comm].add(n, r)
	}
}

// behaviour returns that of the call which a value of a type opens.
func (x *indexer) behaviour(p pair) behaviour {
	b, known := x.behaviours[p]
	if !known {
		b = behaviourOf(x.names.region(p.Type, p.Value))
		x.behaviours[p] = b
	}
	return b
}

// finish orders what was collected.
func (x *indexer) finish() error {
	calls := false
	x.out.Last = slices.Max(x.last)
	if max(x.out.Last, x.until) < x.length && x.has("init", "init_thread") && !x.has("finalize") {
		x.problem(trace.DiagTruncated, "the last record ends before the end that the head tells, and no process calls MPI_Finalize")
	}
	for _, t := range slices.SortedFunc(maps.Keys(x.types), cmp.Compare) {
		e := x.types[t]
		calls = calls || e.isRegion()
		switch e.use {
		case counter:
			x.out.Counters = append(x.out.Counters, t)
		case call, nested:
		default:
			x.out.Types = append(x.out.Types, t)
		}
	}
	if !calls && len(x.used) > 0 {
		x.out.Stateful = true
		for v := range x.used {
			x.named[pair{typeState, v}] = struct{}{}
		}
		for i := range x.began {
			l := &x.out.Locations[i]
			l.Records += x.began[i].Records
			l.First = min(l.First, x.began[i].First)
		}
	}
	x.out.Named = slices.SortedFunc(maps.Keys(x.named), comparePairs)
	for _, p := range slices.SortedFunc(maps.Keys(x.places), comparePairs) {
		x.out.Positions = append(x.out.Positions, position{p, x.places[p]})
	}
	for i := range x.logs {
		l := &x.logs[i]
		l.flush(len(l.waiting))
		x.out.Roots = append(x.out.Roots, l.runs)
		if l.late > 0 || len(l.runs) == mostRoots {
			x.out.Problems.Add(trace.Diagnostic{
				Code: trace.DiagMixedCollective, Count: max(l.late, 1),
				Detail: fmt.Sprintf("communicator %d: roots out of order or too many changes of them: some are not known", x.comms[i].id),
			})
		}
	}
	return nil
}

// has reports whether the trace has an MPI call with one of these names, in the form of trace.CallOf.
func (x *indexer) has(names ...string) bool {
	for p := range x.named {
		e := x.types[p.Type]
		if e.paradigm == trace.ParadigmMPI && slices.Contains(names, trace.CallOf(x.names.region(p.Type, p.Value))) {
			return true
		}
	}
	return false
}

// taskAt returns the task of a thread.
func (h *header) taskAt(location uint32) uint32 {
	i, found := slices.BinarySearchFunc(h.tasks, location, func(t task, l uint32) int { return cmp.Compare(t.first, l) })
	if !found {
		i--
	}
	return uint32(i)
}
