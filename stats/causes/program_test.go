package causes

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// program is the rows of all locations.
type program struct {
	locations []rows
	derived   []bool
	last      uint64
	slabs     Slabs
	ends      []Extent // of MPI_Init and MPI_Finalize, if they are not empty
}

type rows struct {
	calls  []xtf.Call
	ivals  []xtf.Ival
	waits  []xtf.Wait
	colls  []xtf.Coll
	causes []xtf.CollCause
	busy   [][2]uint64 // overhead that records tell
	first  uint64
	last   uint64
	mpi    bool
}

// randomProgram makes locations that call, wait and have intervals at random. The
// causes of their waits need not make sense: waits may go round in circles.
func randomProgram(r *rand.Rand, locations int, length uint64) *program {
	p := &program{locations: make([]rows, locations), derived: make([]bool, 6)}
	p.derived[5] = true
	for i := range p.locations {
		l := &p.locations[i]
		randomCalls(r, l, uint32(i), locations, length)
		for t := r.Uint64N(9); t < length; {
			end := t + r.Uint64N(length/2)
			l.ivals = append(l.ivals, xtf.Ival{T: t, End: end, Node: 1 + r.Uint32N(3)})
			if in := (end - t) / 3; in > 1 {
				l.ivals = append(l.ivals, xtf.Ival{T: t + in, End: t + 2*in, Node: 4})
				l.ivals = append(l.ivals, xtf.Ival{T: t + in, End: end + 3, Node: 5})
			}
			t = end + r.Uint64N(20)
		}
		for t := r.Uint64N(60); t < length; t += 1 + r.Uint64N(40) {
			end := t + 1 + r.Uint64N(15)
			l.busy = append(l.busy, [2]uint64{t, end})
			t = end
		}
		l.ivals = slices.Insert(l.ivals, 0, xtf.Ival{T: l.first, End: l.last})
		slices.SortStableFunc(l.ivals, func(a, b xtf.Ival) int { return cmp.Compare(a.T, b.T) })
		p.last = max(p.last, l.last)
	}
	return p
}

// randomCalls fills the time of a location with nested calls.
func randomCalls(r *rand.Rand, l *rows, own uint32, locations int, length uint64) {
	t := r.Uint64N(10)
	var open []int
	l.first = t
	for l.last = t; t < length; t += r.Uint64N(6) {
		switch k := r.IntN(10); {
		case k < 3 && len(open) < 4:
			open = append(open, len(l.calls))
			c := xtf.Call{T: t, End: xtf.Never, Region: r.Uint32N(3), Depth: uint32(len(open) - 1)}
			if r.IntN(8) == 0 {
				c.Flags = xtf.FlagOutermostIO << r.IntN(5)
			} else if r.IntN(8) == 0 && len(open) > 1 && l.calls[open[len(open)-2]].Flags == xtf.FlagOutermostLock {
				c.Flags = xtf.FlagInCritical
			}
			l.calls = append(l.calls, c)
		case k < 5 && len(open) > 0:
			l.calls[open[len(open)-1]].End = t
			open = open[:len(open)-1]
		case k < 9:
			c := xtf.Call{T: t, End: t + r.Uint64N(12), Region: 3 + r.Uint32N(2), Depth: uint32(len(open)), Flags: xtf.FlagOutermostMPI}
			if r.IntN(8) == 0 {
				c.Flags |= xtf.FlagMarker
			}
			l.mpi = true
			l.calls = append(l.calls, c)
			if r.IntN(5) == 0 && c.End > c.T+2 {
				l.calls = append(l.calls, xtf.Call{T: c.T + 1, End: c.End - 1, Region: 7, Depth: c.Depth + 1})
			}
			randomWait(r, l, own, locations, &c)
			t = c.End
		}
		l.last = t
	}
	for _, i := range open {
		l.calls[i].End = l.last
	}
}

func randomWait(r *rand.Rand, l *rows, own uint32, locations int, c *xtf.Call) {
	if c.Flags&xtf.FlagMarker != 0 || c.End-c.T < 2 {
		return
	}
	w := xtf.Wait{T: c.T, End: c.T + 1 + r.Uint64N(c.End-c.T), CauseP: r.Uint32N(uint32(locations)), Pattern: r.Uint32N(9)}
	if w.CauseP == own || r.IntN(10) == 0 {
		w.CauseP = trace.Undefined
	}
	switch r.IntN(8) {
	case 0: // none
	case 6, 7: // a meeting, or what is none: not all members, not blocking, on another communicator, no data, a late member without
		x := xtf.Coll{
			T: c.T, End: c.End, LastEnter: c.T + r.Uint64N(c.End-c.T+4), Comm: r.Uint32N(2), Flags: []uint32{opBarrier, 11, opAlltoallv, opScan}[r.IntN(4)],
			Sent: uint64(r.IntN(4)), Received: uint64(r.IntN(4)),
		}
		if r.IntN(8) == 0 {
			x.Flags |= []uint32{xtf.CollNonBlocking, xtf.CollShort, xtf.CollMixed}[r.IntN(3)]
		}
		cause := xtf.NoCollCause()
		if n := r.Uint64N(8); n > 0 {
			cause.LastT = x.LastEnter - min(x.LastEnter, n/7)
		}
		l.colls, l.causes = append(l.colls, x), append(l.causes, cause)
	case 1: // a root of a reduction
		x := xtf.Coll{T: c.T, End: c.End, Ordinal: 1, Flags: 12}
		last := w
		last.End = min(c.End, w.End+r.Uint64N(3))
		if w.CauseP == trace.Undefined {
			l.causes = append(l.causes, xtf.NoCollCause())
		} else {
			l.causes = append(l.causes, xtf.CollCause{CauseT: w.End, CauseP: w.CauseP, LastT: last.End, LastP: r.Uint32N(uint32(locations))})
		}
		l.colls = append(l.colls, x)
		w.Pattern = xtf.WaitEarlyReduce
		l.waits = append(l.waits, w)
	default:
		if w.Pattern == xtf.WaitEarlyReduce {
			w.Pattern = xtf.WaitLateSender
		}
		l.waits = append(l.waits, w)
	}
}

// paths are the call paths of all locations, as they are numbered in the run.
func (p *program) paths() (*callpath.Tree, []*callpath.Tree) {
	union := callpath.New()
	var own []*callpath.Tree
	for i := range p.locations {
		t := callpath.New()
		var stack []uint32
		for _, c := range p.locations[i].calls {
			stack = stack[:c.Depth]
			parent := uint32(0)
			if len(stack) > 0 {
				parent = stack[len(stack)-1]
			}
			stack = append(stack, t.Child(parent, c.Region))
		}
		own = append(own, t)
		union.Merge(t)
	}
	union.Number()
	return union, own
}

// definitions has the locations of the program.
func (p *program) definitions() *trace.Definitions {
	all := make([]uint64, len(p.locations))
	for i := range all {
		all[i] = uint64(i)
	}
	return planDefs(len(all), all, all[:len(all)/2+1]) // communicator 1 has half of them
}

// packed is a finished array of rows.
func packed[R any, P interface {
	*R
	Put([]byte)
}](tb testing.TB, id xtf.TypeID, list []R) *xtf.Cursor {
	tb.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	seg, encoder := &heapSegment{}, encoders.Get().(*xtf.Encoder)
	defer encoders.Put(encoder)
	b := xtf.NewArrayBuilder(encoder, types.Lookup(id), 0, seg)
	for i := range list {
		row, _ := b.Append()
		P(&list[i]).Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	if sum.Len() == 0 {
		return nil
	}
	return xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: seg}, 0)
}

// encoders are reused: to make one takes longer than to encode a few rows.
var encoders = sync.Pool{New: func() any { return xtf.NewEncoder() }}

type heapSegment struct{ heapScratch }

// run returns what the passes get of the program on a rank.
func (p *program) run(tb testing.TB, c mpi.Comm, defs *trace.Definitions, union *callpath.Tree, own []*callpath.Tree) *Run {
	weights := make([]uint64, len(p.locations))
	for i := range weights {
		weights[i] = uint64(len(p.locations[i].calls))
	}
	r := &Run{
		Comm: c, Defs: defs, Ranges: partition.Ranges(weights, c.Size()), Storage: heapStorage(),
		Derived: p.derived, Slabs: p.slabs, Last: p.last,
	}
	for path := range union.Len() {
		region := union.Path(uint32(path)).Region
		if path%3 == 2 { // some calls have the path of a caller, as beyond the limits of call paths
			region = 99
		}
		r.Regions = append(r.Regions, region)
	}
	pass, segments := NewPass(r), map[trace.P]*heapScratch{}
	pass.most = len(p.locations) % 3
	for i := r.Ranges[c.Rank()].First; i < r.Ranges[c.Rank()].End; i++ {
		l := &p.locations[i]
		var busy []byte
		for _, b := range l.busy {
			busy = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(busy, b[0]), b[1])
		}
		segments[i] = &heapScratch{}
		pass.Begin(i, &Location{
			First: l.first, Last: l.last, Overhead: bytes.NewReader(busy),
			Calls: packed(tb, xtf.TypeCall, l.calls), Intervals: packed(tb, xtf.TypeIval, l.ivals),
			Paths: own[i], Global: union.Locate(own[i]),
		}, segments[i])
		l.pass(tb, pass)
		if err := pass.End(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := r.Deal(func(i trace.P) (Segment, error) { return segments[i], nil }); err != nil {
		tb.Fatal(err)
	}
	return r
}

// pass gives what is known of a location to a pass, some of it at a time.
func (l *rows) pass(tb testing.TB, pass *Pass) {
	colls, waits := 0, 0
	for _, c := range l.calls {
		for ; colls < len(l.colls) && l.colls[colls].T < c.T; colls++ {
			pass.Collective(&xtf.Collective{Coll: l.colls[colls], Cause: l.causes[colls]})
		}
		for ; waits < len(l.waits) && l.waits[waits].T < c.T; waits++ {
			pass.Wait(&l.waits[waits])
		}
		if c.T%3 > 0 {
			continue
		}
		if err := pass.To(c.T); err != nil {
			tb.Fatal(err)
		}
	}
	for ; colls < len(l.colls); colls++ {
		pass.Collective(&xtf.Collective{Coll: l.colls[colls], Cause: l.causes[colls]})
	}
	for ; waits < len(l.waits); waits++ {
		pass.Wait(&l.waits[waits])
	}
}

// extent says where the critical path can begin on a location.
func (p *program) extent(i trace.P) (Extent, error) {
	l := &p.locations[i]
	x := Extent{}
	if len(p.ends) > 0 {
		x = p.ends[i]
	}
	x.Events, x.Last, x.MPI = true, l.last, l.mpi
	return x, nil
}

// randomEnds has locations begin MPI and end it, some of them before others came.
func (p *program) randomEnds(r *rand.Rand) {
	for i := range p.locations {
		l := &p.locations[i]
		x := Extent{Initialized: r.IntN(12) > 0, Began: r.Uint64N(12), Finalized: r.IntN(12) > 0, Enter: max(l.last, 12) - r.Uint64N(12)}
		x.Started, x.Leave = x.Began+r.Uint64N(30), x.Enter+r.Uint64N(30)
		p.ends = append(p.ends, x)
	}
}

// endsMet is when the last location came to MPI_Init, 0 unless each has the call and none left it before; and the same for MPI_Finalize,
// with the location.
func (p *program) endsMet() (begin, end uint64, last int) {
	left, gone := xtf.Never, xtf.Never
	for i, x := range p.ends {
		if !x.Initialized {
			left = 0
		}
		if !x.Finalized {
			gone = 0
		}
		if x.Enter > end {
			end, last = x.Enter, i
		}
		begin, left, gone = max(begin, x.Began), min(left, x.Started), min(gone, x.Leave)
	}
	if left < begin {
		begin = 0
	}
	if gone < end {
		end = 0
	}
	return begin, end, last
}
