package paraver

import (
	"cmp"
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// mostNames bounds how many event types, values that have names, counters and
// sets of counters a trace may have. Real ones have some thousands.
const mostNames = 1 << 18

// index is what one pass over the records finds: what definitions are needed,
// and what of the records only all of them tell together. Memory: 32 bytes per
// thread, 40 per named value, 16 per change of roots.
type index struct {
	identity  [32]byte
	states    uint64 // records
	events    uint64
	comms     uint64
	locations []locationIndex
	types     []uint64    // of markers, ascending
	named     []pair      // values of types that have names, ascending
	positions []position  // of regions
	counters  []uint64    // types, ascending
	sets      [][]uint64  // of counters, in the order they appear
	roots     [][]rootRun // by communicator
	foreign   bool        // messages between applications
	stateful  bool        // no calls: states become calls
	problems  trace.Diagnostics
}

// locationIndex is what the records of one thread take.
type locationIndex struct {
	bytes   uint64 // of its lines
	records uint64 // events and messages that its stream will have, about
	first   uint64 // time of the earliest
}

// position tells where a region lies: the value of its file and line.
type position struct {
	region pair
	at     pair
}

// appendBinary appends the index as variable-length integers.
func (x *index) appendBinary(b []byte) []byte {
	put := func(v ...uint64) { b = varint.Append(b, v...) }
	b = append(b, x.identity[:]...)
	put(x.states, x.events, x.comms, uint64(len(x.locations)))
	for _, l := range x.locations {
		put(l.bytes, l.records, l.first)
	}
	list := func(v []uint64) {
		put(uint64(len(v)))
		put(v...)
	}
	list(x.types)
	put(uint64(len(x.named)))
	for _, p := range x.named {
		put(p.t, p.v)
	}
	put(uint64(len(x.positions)))
	for _, p := range x.positions {
		put(p.region.t, p.region.v, p.at.t, p.at.v)
	}
	list(x.counters)
	put(uint64(len(x.sets)))
	for _, s := range x.sets {
		list(s)
	}
	put(uint64(len(x.roots)))
	for _, runs := range x.roots {
		put(uint64(len(runs)))
		for _, r := range runs {
			put(r.first, uint64(r.root))
		}
	}
	flags := uint64(0)
	if x.foreign {
		flags |= 1
	}
	if x.stateful {
		flags |= 2
	}
	put(flags, uint64(len(x.problems.Codes)))
	for i := range x.problems.Codes {
		b = appendProblem(b, &x.problems.Codes[i])
	}
	return b
}

func appendProblem(b []byte, c *trace.CodeDiagnostics) []byte {
	b = varint.Append(b, uint64(c.Code), c.Count, uint64(len(c.First)))
	for _, d := range c.First {
		b = append(varint.Append(b, d.Count, uint64(len(d.Detail))), d.Detail...)
	}
	return b
}

// parseIndex reads what appendBinary wrote.
func parseIndex(b []byte) (*index, error) {
	x := &index{}
	if len(b) < len(x.identity) {
		return nil, errIndex
	}
	copy(x.identity[:], b)
	r := varint.Read(b[len(x.identity):])
	x.states, x.events, x.comms = r.Next(), r.Next(), r.Next()
	x.locations = make([]locationIndex, r.Count(3))
	for i := range x.locations {
		x.locations[i] = locationIndex{r.Next(), r.Next(), r.Next()}
	}
	x.types = takeList(&r)
	x.named = make([]pair, r.Count(2))
	for i := range x.named {
		x.named[i] = pair{r.Next(), r.Next()}
	}
	x.positions = make([]position, r.Count(4))
	for i := range x.positions {
		x.positions[i] = position{pair{r.Next(), r.Next()}, pair{r.Next(), r.Next()}}
	}
	x.counters = takeList(&r)
	x.sets = make([][]uint64, r.Count(1))
	for i := range x.sets {
		x.sets[i] = takeList(&r)
	}
	x.roots = make([][]rootRun, r.Count(1))
	for i := range x.roots {
		x.roots[i] = make([]rootRun, r.Count(2))
		for k := range x.roots[i] {
			x.roots[i][k] = rootRun{r.Next(), uint32(r.Next())}
		}
	}
	flags := r.Next()
	x.foreign, x.stateful = flags&1 != 0, flags&2 != 0
	for range r.Count(3) {
		x.parseProblem(&r)
	}
	if !r.Done() {
		return nil, errIndex
	}
	return x, nil
}

func (x *index) parseProblem(r *varint.Reader) {
	c := trace.CodeDiagnostics{Code: trace.Code(r.Next()), Count: r.Next()}
	for range r.Count(2) {
		d := trace.Diagnostic{Code: c.Code, Count: r.Next()}
		d.Detail = r.Text()
		c.First = append(c.First, d)
	}
	x.problems.Merge(&trace.Diagnostics{Codes: []trace.CodeDiagnostics{c}})
}

var errIndex = errors.New("paraver: the index of the trace is damaged")

// takeList takes a length and so many values.
func takeList(r *varint.Reader) []uint64 {
	l := make([]uint64, r.Count(1))
	for i := range l {
		l[i] = r.Next()
	}
	return l
}

// comparePairs orders by type and value.
func comparePairs(a, b pair) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.v, b.v)) }

// ordered returns the keys of a set in ascending order.
func ordered[K comparable, V any](set map[K]V, order func(a, b K) int) []K {
	list := make([]K, 0, len(set))
	for k := range set {
		list = append(list, k)
	}
	slices.SortFunc(list, order)
	return list
}
