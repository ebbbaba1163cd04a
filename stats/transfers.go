package stats

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// transfers are the file and one-sided operations of the location, and its metrics: their rows need no partner.
type transfers struct {
	at  *location
	io  map[operation]uint64 // open file operations: N in the IO array
	rma map[operation]uint64 // open one-sided operations
}

// operation is one in progress: numbers of file operations tell those of a handle apart.
type operation struct {
	handle uint32
	id     uint64
}

func (f *transfers) metric(w []uint64) {
	if !f.at.rows {
		return
	}
	for i := 0; i < int(w[1]); i++ {
		row, _ := f.at.out.Metrics.Append()
		m := xtf.Metric{T: f.at.now, Value: w[3+2*i], Metric: uint32(w[0]), Flags: uint32(i)<<8 | uint32(w[2+2*i])&0xFF}
		m.Put(row)
	}
}

func (f *transfers) fileOperation(handle uint32, mode, bytes, id uint64) {
	op := xtf.IOOther
	switch mode {
	case 0:
		op = xtf.IORead
	case 1:
		op = xtf.IOWrite
	}
	row, n := f.at.openRowOf(f.at.out.IO)
	if f.at.rows {
		r := xtf.IO{T: f.at.now, End: xtf.Never, CallN: f.at.innermost(), Asked: bytes, Handle: handle, Op: op}
		r.Put(row)
	}
	f.openRow(&f.io, f.at.out.IO, operation{handle, id}, n)
}

func (f *transfers) oneSided(k trace.Kind, win, remote, bytes, id uint64) {
	row, n := f.at.openRowOf(f.at.out.RMA)
	if f.at.rows {
		r := xtf.RMA{T: f.at.now, End: xtf.Never, CallN: f.at.innermost(), Bytes: bytes, Window: uint32(win), Target: uint32(remote), Op: uint32(k)}
		r.Put(row)
	}
	f.openRow(&f.rma, f.at.out.RMA, operation{0, id}, n)
}

func (f *transfers) openRow(open *map[operation]uint64, a *xtf.ArrayBuilder, o operation, n uint64) {
	f.at.mpi.told = true
	if old, ok := (*open)[o]; ok {
		if f.at.rows {
			a.Close(old)
		}
		f.at.diag(trace.DiagOpenRequest, fmt.Sprintf("operation %d begun again before it completed", o.id))
	}
	if *open == nil {
		*open = map[operation]uint64{}
	}
	(*open)[o] = n
}

// closeFile ends a file operation.
func (f *transfers) closeFile(handle, id uint64, column int, v uint64) {
	if o := (operation{uint32(handle), id}); !f.closeRow(f.io, f.at.out.IO, o, column, v) {
		f.at.diag(trace.DiagUnknownRequest, fmt.Sprintf("operation %d of file handle %d ends", id, handle))
	}
}

// closeRow ends an operation and reports whether it was known.
func (f *transfers) closeRow(open map[operation]uint64, a *xtf.ArrayBuilder, o operation, column int, v uint64) bool {
	n, ok := open[o]
	delete(open, o)
	if !ok || !f.at.rows {
		return ok
	}
	row := a.Row(n)
	xtf.SetU64(row, xtf.IOEnd, f.at.now) // End has the same place in IO and RMA rows
	if column >= 0 {
		xtf.SetU64(row, column, v)
	}
	a.Close(n)
	return true
}

// endOperations closes the rows of operations that never ended.
func (f *transfers) endOperations() {
	for _, n := range slices.Sorted(maps.Values(f.io)) {
		f.at.out.IO.Close(n)
	}
	for _, n := range slices.Sorted(maps.Values(f.rma)) {
		f.at.out.RMA.Close(n)
	}
}
