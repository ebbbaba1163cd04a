package interval

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/heap"
	"github.com/coppice-hpc/coppice/xtf"
)

// BorderBytes is the size of a Border.
const BorderBytes = 24

// Border is the begin or end of an execution, as stored by the load of a location until nodes have their final numbers.
//
//	0 T | 8 Row | 16 Node u32, 20 Flags u32     little-endian
type Border struct {
	T     uint64 // ticks since the origin
	Row   uint64 // of an end: number of the execution, by begin; of a begin: xtf.Never
	Node  uint32 // of the location's tree
	Flags uint32 // IVAL.flags of the execution that ends
}

// Put writes b into dst, which has BorderBytes bytes.
func (b *Border) Put(dst []byte) {
	_ = dst[BorderBytes-1]
	binary.LittleEndian.PutUint64(dst, b.T)
	binary.LittleEndian.PutUint64(dst[8:], b.Row)
	binary.LittleEndian.PutUint32(dst[16:], b.Node)
	binary.LittleEndian.PutUint32(dst[20:], b.Flags)
}

// Load reads b from src, which has BorderBytes bytes.
func (b *Border) Load(src []byte) {
	_ = src[BorderBytes-1]
	b.T = binary.LittleEndian.Uint64(src)
	b.Row = binary.LittleEndian.Uint64(src[8:])
	b.Node = binary.LittleEndian.Uint32(src[16:])
	b.Flags = binary.LittleEndian.Uint32(src[20:])
}

// reading reads executions as borders.
type reading struct {
	rows Executions
	row  xtf.Ival // the next one; T is Never after the last
	n    uint64
	ends heap.Heap[end] // of open executions
}

func newReading(rows Executions) reading {
	return reading{rows: rows, ends: heap.Heap[end]{Before: end.before}}
}

func (r *reading) read() error {
	if !r.rows.Next() {
		r.row.T = xtf.Never
		return r.rows.Err()
	}
	before := r.row.T
	r.row.Load(r.rows.Row())
	r.n++
	if r.row.T < before || r.row.End < r.row.T || r.row.T == xtf.Never {
		r.row.T = xtf.Never
		return errDamaged
	}
	return nil
}

// next returns the next border without taking it. At one instant executions end before others begin, except those without length.
func (r *reading) next() border {
	if len(r.ends.List) > 0 && r.ends.List[0].end <= r.row.T {
		return border{t: r.ends.List[0].end, node: r.ends.List[0].node, end: true, whole: r.ends.List[0].whole}
	}
	return border{t: r.row.T, node: r.row.Node, whole: r.row.Flags&xtf.IvalWhole != 0}
}

func (r *reading) take() error {
	if b := r.next(); b.end {
		r.ends.Pop()
		return nil
	}
	r.ends.Push(end{r.row.End, r.n, r.row.Node, r.row.Flags&xtf.IvalWhole != 0})
	return r.read()
}

func (r *reading) due() uint64 {
	if len(r.ends.List) > 0 {
		return min(r.ends.List[0].end, r.row.T)
	}
	return r.row.T
}

// end is the end of an open execution.
type end struct {
	end   uint64
	row   uint64
	node  uint32
	whole bool
}

// before orders ends by time, equal ones from the execution that began last.
func (x end) before(o end) bool { return x.end < o.end || x.end == o.end && x.row > o.row }

// running is the spans in progress.
type running struct {
	at     uint64   // totals have the time of the spans up to here
	active []uint64 // number of spans by slot
	list   heap.Heap[span]
}

type span struct {
	end  uint64
	slot int
}

func (x span) before(o span) bool { return x.end < o.end }

// begin adds [x, y) at slot.
func (r *running) begin(totals []uint64, x, y uint64, slot int) {
	r.advance(totals, x)
	r.active[slot]++
	r.list.Push(span{y, slot})
}

// advance adds the time of the spans up to instant to to the totals.
func (r *running) advance(totals []uint64, to uint64) {
	for len(r.list.List) > 0 && r.list.List[0].end <= to {
		first := r.list.Pop()
		r.count(totals, first.end)
		r.active[first.slot]--
	}
	r.count(totals, to)
}

func (r *running) count(totals []uint64, to uint64) {
	if to <= r.at {
		return
	}
	for i, n := range r.active {
		if n > 0 {
			totals[i] += n * (to - r.at)
		}
	}
	r.at = to
}
