package stats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// transfers makes the rows of file operations, one-sided operations and metrics.
type transfers struct {
	at  *location
	io  map[operation]begun // open file operations
	rma map[operation]begun // open one-sided operations

	half [2]uint64 // one-sided operations that completed only here so far, and only at their target
}

// operation names an operation in progress; a one-sided operation has handle 0.
type operation struct {
	handle uint32
	id     uint64 // among those of the handle
}

// begun is an operation in progress.
type begun struct {
	n, t, event uint64 // row; time and number of the event that began it
	moves       bool   // it reads or writes a file
}

func (f *transfers) metric(w []uint64) {
	if ref := uint32(w[0]); !f.at.t.metrics[ref] {
		f.at.diag(trace.DiagBadReference, fmt.Sprintf("metric %d", ref))
	}
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
	f.openRow(&f.io, f.at.out.IO, operation{handle, id}, begun{n, f.at.now, f.at.event, op != xtf.IOOther})
}

func (f *transfers) oneSided(k trace.Kind, win, remote, bytes, id uint64) {
	row, n := f.at.openRowOf(f.at.out.RMA)
	if f.at.rows {
		r := xtf.RMA{T: f.at.now, End: xtf.Never, CallN: f.at.innermost(), Bytes: bytes, Window: uint32(win), Target: uint32(remote), Op: uint32(k)}
		r.Put(row)
	}
	f.openRow(&f.rma, f.at.out.RMA, operation{0, id}, begun{n: n, t: f.at.now, event: f.at.event})
}

// openRow adds an operation in progress, whose row is b.n.
func (f *transfers) openRow(open *map[operation]begun, a *xtf.ArrayBuilder, o operation, b begun) {
	f.at.mpi.recorded = true
	if old, ok := (*open)[o]; ok {
		if f.at.rows {
			a.Close(old.n)
		}
		f.at.diag(trace.DiagOpenRequest, fmt.Sprintf("operation %d begun again before it completed", o.id))
	}
	if *open == nil {
		*open = map[operation]begun{}
	}
	(*open)[o] = b
}

// closeFile ends a file operation that moved so many bytes, trace.Undefined64 for unknown.
func (f *transfers) closeFile(handle, id, bytes uint64) {
	o := operation{uint32(handle), id}
	b, ok := f.io[o]
	delete(f.io, o)
	if !ok {
		f.at.diag(trace.DiagUnknownRequest, fmt.Sprintf("operation %d of file handle %d ends", id, handle))
		return
	}
	if bytes == trace.Undefined64 {
		if bytes = 0; b.moves {
			f.at.diag(trace.DiagNoBytes, fmt.Sprintf("operation %d of file handle %d", id, handle))
		}
	}
	if f.at.rows {
		xtf.SetU64(f.at.out.IO.Row(b.n), xtf.IODone, bytes)
		f.closeRow(f.at.out.IO, b.n)
	}
}

// complete takes a completion of a one-sided operation, which completes here and at its target, in any order. Its row ends with the first.
func (f *transfers) complete(k trace.Kind, id uint64) {
	here, there := &f.half[0], &f.half[1]
	if k == trace.RmaOpCompleteRemote {
		here, there = there, here
	}
	o := operation{0, id}
	b, ok := f.rma[o]
	delete(f.rma, o)
	switch {
	case ok:
		*here++
		if f.at.rows {
			f.closeRow(f.at.out.RMA, b.n)
		}
	case *there > 0:
		*there--
	default:
		f.at.diag(trace.DiagUnknownRequest, fmt.Sprintf("one-sided operation %d completes", id))
	}
}

// closeRow ends the row of an operation.
func (f *transfers) closeRow(a *xtf.ArrayBuilder, n uint64) {
	xtf.SetU64(a.Row(n), xtf.IOEnd, f.at.now) // End has the same place in IO and RMA rows
	a.Close(n)
}

// endOperations closes the rows of operations that never completed.
func (f *transfers) endOperations() {
	end := func(open map[operation]begun, a *xtf.ArrayBuilder, what string) {
		for _, b := range slices.SortedFunc(maps.Values(open), func(x, y begun) int { return cmp.Compare(x.event, y.event) }) {
			f.at.diags.Add(trace.Diagnostic{Code: trace.DiagOpenRequest, Time: trace.Time(b.t), Event: b.event, Detail: what + " that never completes"})
			if f.at.rows {
				a.Close(b.n)
			}
		}
	}
	end(f.io, f.at.out.IO, "a file operation")
	end(f.rma, f.at.out.RMA, "a one-sided operation")
}
