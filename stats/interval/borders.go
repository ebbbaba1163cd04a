package interval

import (
	"container/heap"
	"encoding/binary"

	"github.com/coppice-hpc/coppice/xtf"
)

// BorderBytes is the size of a Border.
const BorderBytes = 24

// Border is the begin or end of an execution, as the load of a location leaves it
// until nodes have their final numbers.
//
//	0 T | 8 Row | 16 Node u32, 20 Flags u32     little-endian
type Border struct {
	T     uint64 // ticks since the origin
	Row   uint64 // the execution that ends, counted by begin; xtf.Never at a begin
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

// reading makes borders of rows: the next begin, or the end of what is open.
type reading struct {
	rows Executions
	row  xtf.Ival // the next one; T is Never after the last
	n    uint64
	ends ends
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

// next is the next border. At one instant executions end before others begin,
// but those without length end after their own begin.
func (r *reading) next() border {
	if len(r.ends) > 0 && r.ends[0].end <= r.row.T {
		return border{t: r.ends[0].end, node: r.ends[0].node, end: true, whole: r.ends[0].whole}
	}
	return border{t: r.row.T, node: r.row.Node, whole: r.row.Flags&xtf.IvalWhole != 0}
}

func (r *reading) take() error {
	if b := r.next(); b.end {
		heap.Pop(&r.ends)
		return nil
	}
	heap.Push(&r.ends, end{r.row.End, r.n, r.row.Node, r.row.Flags&xtf.IvalWhole != 0})
	return r.read()
}

func (r *reading) due() uint64 {
	if len(r.ends) > 0 {
		return min(r.ends[0].end, r.row.T)
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

// ends is a heap of open executions: earliest end first, of equal ones the one that
// began last.
type ends []end

func (h ends) Len() int { return len(h) }
func (h ends) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].row > h[j].row
}
func (h ends) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)   { *h = append(*h, x.(end)) }
func (h *ends) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// running is the spans in progress.
type running struct {
	at     uint64   // totals hold what the spans have contributed by here
	active []uint64 // number of them by slot
	list   spans
}

// span is one in progress.
type span struct {
	end  uint64
	slot int
}

// begin adds [x, y) at slot.
func (r *running) begin(totals []uint64, x, y uint64, slot int) {
	r.advance(totals, x)
	r.active[slot]++
	heap.Push(&r.list, span{y, slot})
}

// advance adds to the totals what lies before to.
func (r *running) advance(totals []uint64, to uint64) {
	for len(r.list) > 0 && r.list[0].end <= to {
		first := heap.Pop(&r.list).(span)
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

// spans is a heap by end.
type spans []span

func (h spans) Len() int           { return len(h) }
func (h spans) Less(i, j int) bool { return h[i].end < h[j].end }
func (h spans) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *spans) Push(x any)        { *h = append(*h, x.(span)) }
func (h *spans) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
