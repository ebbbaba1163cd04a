package interval

import (
	"fmt"

	"github.com/coppice-hpc/coppice/xtf"
)

// RowWriter makes the IVAL rows of a location from its borders. Memory: 16 bytes per node.
type RowWriter struct {
	out    *xtf.ArrayBuilder
	table  []uint32
	counts []uint64 // by node of the location: executions begun
	open   []uint64 // by node of the location: 1 + the row of the open execution, 0 for none
	err    error
}

// NewRowWriter prepares the rows of a location. table has the number in the run of each node of the location. The caller finishes the
// array.
func NewRowWriter(out *xtf.ArrayBuilder, table []uint32) *RowWriter {
	return &RowWriter{out: out, table: table, counts: make([]uint64, len(table)), open: make([]uint64, len(table))}
}

// Add takes the next borders, encoded by Border.Put.
func (w *RowWriter) Add(borders []byte) error {
	for ; len(borders) >= BorderBytes && w.err == nil; borders = borders[BorderBytes:] {
		var b Border
		b.Load(borders)
		switch {
		case b.Row == xtf.Never:
			w.begin(&b)
		default:
			w.end(&b)
		}
	}
	if w.err == nil && len(borders) > 0 {
		w.err = errDamaged
	}
	return w.err
}

func (w *RowWriter) begin(b *Border) {
	if uint64(b.Node) >= uint64(len(w.table)) || w.table[b.Node] == None || w.open[b.Node] != 0 {
		w.err = fmt.Errorf("%w: an execution of node %d begins", errDamaged, b.Node)
		return
	}
	row, n := w.out.Open()
	x := xtf.Ival{T: b.T, End: xtf.Never, Execution: w.counts[b.Node], Node: w.table[b.Node]}
	x.Put(row)
	w.counts[b.Node]++
	w.open[b.Node] = n + 1
}

func (w *RowWriter) end(b *Border) {
	if uint64(b.Node) >= uint64(len(w.open)) || w.open[b.Node] != b.Row+1 {
		w.err = fmt.Errorf("%w: the end of execution %d, which is not open", errDamaged, b.Row)
		return
	}
	w.open[b.Node] = 0
	row := w.out.Row(b.Row)
	xtf.SetU64(row, xtf.IvalEnd, b.T)
	xtf.SetU32(row, xtf.IvalFlags, b.Flags)
	w.out.Close(b.Row)
}

// Finish fails if an execution is still open.
func (w *RowWriter) Finish() error {
	for n, row := range w.open {
		if w.err == nil && row > 0 {
			w.err = fmt.Errorf("%w: an execution of node %d without an end", errDamaged, n)
		}
	}
	return w.err
}
