package fileio

import (
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

type handleOf struct{ process, handle uint32 }

// places adds what is known of offsets. It comes from the events in the call graph, which have more than the rows of operations:
// the attribute Offset of an operation, and the position of its handle, which opens, seeks and operations without an offset move.
// A handle that several locations of a process use has no position here, because their order is not followed. Offsets of MPI-IO
// count elements of a view.
func (g *fileTable) places(r *results.Run, ranks results.Ranks) ([]table.Lost, error) {
	if len(g.owner) == 0 {
		return nil, nil
	}
	offset := results.ByRef(r.Defs.Attributes, func(x *trace.Attribute) (uint32, bool) { return x.Ref, r.Defs.Text(x.Name) == "Offset" })
	parallel := results.ByRef(r.Defs.IoParadigms, func(x *trace.IoParadigm) (uint8, bool) { return x.Ref, x.Class == parallelIO })
	elements := results.ByRef(r.Defs.IoHandles, func(x *trace.IoHandle) (uint32, bool) { return x.Ref, parallel[x.Paradigm] })
	if _, err := r.Graph(); errors.Is(err, results.ErrNoResult) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	uses := map[trace.P]bool{}
	for _, p := range g.owner {
		uses[p] = true
	}
	return r.EachLocation(ranks, "io", func(p trace.P) error {
		process, _ := g.defs.Process(p)
		if !uses[p] {
			return nil
		}
		x := &placing{table: g, p: p, process: process, offset: offset, elements: elements, positions: map[uint32]*position{}, files: map[[2]string]*placedFile{}, begun: map[[2]uint64]begunAt{}}
		var err error
		for b, e := range r.Events(p, "offsets", &err) {
			x.event(b, e)
		}
		if err != nil {
			return err
		}
		for name, f := range x.files {
			for _, k := range g.keys(process, name) {
				u := g.use(k)
				u.Read.Add(&f.sums[xtf.IORead])
				u.Write.Add(&f.sums[xtf.IOWrite])
			}
		}
		return nil
	})
}

// Values of OTF2.
const (
	parallelIO = 1 // class of a paradigm
	appendTo   = 2 // status flag of a handle
)

// placing follows the positions of a location's handles.
type placing struct {
	table     *fileTable
	p         trace.P
	process   uint32
	offset    map[uint32]bool // attributes
	elements  map[uint32]bool // handles whose offsets are not bytes
	positions map[uint32]*position
	files     map[[2]string]*placedFile
	begun     map[[2]uint64]begunAt // by handle and number
	list      []trace.EventAttribute
}

// position is the offset of the next operation on a handle and its duplicates.
type position struct {
	at    uint64
	known bool
}

// begunAt is an operation in progress.
type begunAt struct {
	handle, op uint32
	position
	moves *position
}

// placedFile is what a location did with a file at known offsets.
type placedFile struct {
	sums [2]Sum
	ends [2]uint64 // of the newest read and write
	has  [2]bool
	read ranges
}

func (x *placing) event(b *trace.Batch, e *trace.Event) {
	w := b.Words(e)
	switch e.Kind {
	case trace.IoCreateHandle:
		x.positions[uint32(w[0])] = &position{known: w[3]&appendTo == 0}
	case trace.IoDestroyHandle:
		delete(x.positions, uint32(w[0]))
	case trace.IoDuplicateHandle:
		x.positions[uint32(w[1])] = results.Made(x.positions, uint32(w[0]))
	case trace.IoSeek:
		*results.Made(x.positions, uint32(w[0])) = position{w[3], w[3] != trace.Undefined64}
	case trace.IoOperationBegin:
		x.begin(b, e, w)
	case trace.IoOperationComplete:
		if o, ok := x.begun[[2]uint64{w[0], w[2]}]; ok {
			delete(x.begun, [2]uint64{w[0], w[2]})
			x.complete(&o, w[1])
		}
	case trace.IoOperationCancelled:
		delete(x.begun, [2]uint64{w[0], w[1]})
	}
}

func (x *placing) begin(b *trace.Batch, e *trace.Event, w []uint64) {
	handle := uint32(w[0])
	if w[1] > uint64(xtf.IOWrite) || x.elements[handle] {
		return
	}
	o := begunAt{handle: handle, op: uint32(w[1])}
	x.list = b.Attributes(x.list[:0], e)
	if i := slices.IndexFunc(x.list, func(a trace.EventAttribute) bool { return x.offset[a.Ref] }); i >= 0 {
		o.position = position{x.list[i].Value, true}
	} else if x.table.owner[handleOf{x.process, handle}] == x.p {
		o.moves = results.Made(x.positions, handle)
		o.position = *o.moves
	}
	x.begun[[2]uint64{w[0], w[4]}] = o
}

// complete ends an operation that moved bytes.
func (x *placing) complete(o *begunAt, bytes uint64) {
	end := o.at + bytes
	if bytes == trace.Undefined64 || end < o.at {
		if o.moves != nil {
			o.moves.known = false
		}
		return
	}
	if o.moves != nil {
		o.moves.at = end
	}
	if !o.known || bytes == 0 {
		return
	}
	f := results.Made(x.files, x.table.name(o.handle))
	s := &f.sums[o.op]
	s.Placed++
	if o.at%Alignment != 0 {
		s.Unaligned++
	}
	if f.has[o.op] {
		s.Followed++
		if o.at >= f.ends[o.op] {
			s.Sequential++
		}
		if o.at == f.ends[o.op] {
			s.Consecutive++
		}
	}
	f.ends[o.op], f.has[o.op] = end, true
	if o.op == xtf.IORead {
		again := f.read.add(o.at, end)
		s.Again, s.once, s.reach = s.Again+again, s.once+bytes-again, max(s.reach, end)
	} else {
		f.read.remove(o.at, end)
	}
}

// ranges are parts of a file, ascending and disjoint. There are at most mostRanges; of more, the shortest are forgotten.
type ranges []results.Span

const mostRanges = 1024

// first is the index of the first range that ends after at, or where it would be.
func (r ranges) first(at uint64) int {
	i, _ := slices.BinarySearchFunc(r, at, func(x results.Span, at uint64) int {
		if x.End <= at {
			return -1
		}
		return 1
	})
	return i
}

// add adds bytes, and returns how many of them were in ranges already.
func (r *ranges) add(from, to uint64) (again uint64) {
	i := r.first(from)
	k := i
	joined := results.Span{Begin: from, End: to}
	for ; k < len(*r) && (*r)[k].Begin < to; k++ {
		x := &(*r)[k]
		again += min(x.End, to) - max(x.Begin, from)
		joined.Begin, joined.End = min(joined.Begin, x.Begin), max(joined.End, x.End)
	}
	if i > 0 && (*r)[i-1].End == joined.Begin {
		i--
		joined.Begin = (*r)[i].Begin
	}
	if k < len(*r) && (*r)[k].Begin == joined.End {
		joined.End = (*r)[k].End
		k++
	}
	*r = slices.Replace(*r, i, k, joined)
	r.bound()
	return again
}

// remove removes bytes.
func (r *ranges) remove(from, to uint64) {
	i := r.first(from)
	k := i
	var left []results.Span
	for ; k < len(*r) && (*r)[k].Begin < to; k++ {
		if x := (*r)[k]; x.Begin < from {
			left = append(left, results.Span{Begin: x.Begin, End: from})
		}
		if x := (*r)[k]; x.End > to {
			left = append(left, results.Span{Begin: to, End: x.End})
		}
	}
	if k > i {
		*r = slices.Replace(*r, i, k, left...)
		r.bound()
	}
}

// bound forgets the shortest range if there are too many.
func (r *ranges) bound() {
	if len(*r) <= mostRanges {
		return
	}
	least := 0
	for i, x := range *r {
		if x.End-x.Begin < (*r)[least].End-(*r)[least].Begin {
			least = i
		}
	}
	*r = slices.Delete(*r, least, least+1)
}
