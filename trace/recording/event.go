package recording

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// Kinds of events, as the recorder numbers them.
const (
	evEnd = iota
	evEnter
	evLeave
	evSend
	evIsend
	evIsendDone
	evRecv
	evIrecvRequest
	evIrecv
	evCancelled
	evCollBegin
	evCollEnd
	evNBCRequest
	evNBCEnd
	evRegionEnter
	evRegionLeave
	evPcontrol
	evStopped
	evMetric // how many counters, as many values
	evRMA
	evFile
	evSample
	evThread
	evPart
	numEvents
)

// numbers is how many numbers follow the time of an event.
var numbers = [numEvents]int{
	evEnter: 1, evLeave: 1, evSend: 4, evIsend: 5, evIsendDone: 1, evRecv: 4, evIrecvRequest: 1, evIrecv: 5, evCancelled: 1,
	evCollEnd: 5, evMetric: 1, evNBCRequest: 1, evNBCEnd: 6, evRegionEnter: 1, evRegionLeave: 1, evPcontrol: 2, evStopped: 1, evRMA: 6, evFile: 5, evSample: 1, evThread: 3, evPart: 1,
}

// maxCounters is how many counters an event has at most.
const maxCounters = 8

// raw is a decoded event.
type raw struct {
	kind byte
	t    uint64 // of the process's clock
	n    [1 + maxCounters]uint64
}

// decode reads the event at the start of b and returns its length, 0 where there is none or no whole one.
func (e *raw) decode(b []byte, last uint64) int {
	if len(b) == 0 || b[0] == evEnd || b[0] >= numEvents {
		return 0
	}
	e.kind = b[0]
	at := 1
	dt, k := binary.Uvarint(b[at:])
	if k <= 0 {
		return 0
	}
	at += k
	e.t = last + dt
	n := numbers[e.kind]
	for i := 0; i < n; i++ {
		v, k := binary.Uvarint(b[at:])
		if k <= 0 {
			return 0
		}
		e.n[i] = v
		at += k
		if e.kind == evMetric && i == 0 {
			if v == 0 || v > maxCounters {
				return 0
			}
			n += int(v)
		}
	}
	return at
}

// emit appends e to the batch in the form of package trace. Communicators and names have numbers of their process.
func (r *reader) emit(b *trace.Batch, e *raw, t trace.Time) {
	comm := func(n uint64) uint64 { return uint64(r.p.commRef(n)) }
	root := func(n uint64) uint64 {
		if n == 0 {
			return uint64(trace.Undefined)
		}
		return n - 1
	}
	n := &e.n
	switch e.kind {
	case evEnter:
		b.Append(t, trace.Enter, r.p.functionRef(n[0]))
	case evLeave:
		b.Append(t, trace.Leave, r.p.functionRef(n[0]))
	case evRegionEnter:
		b.Append(t, trace.Enter, r.p.nameRef(n[0]))
	case evRegionLeave:
		b.Append(t, trace.Leave, r.p.nameRef(n[0]))
	case evSend:
		b.Append(t, trace.MpiSend, 0, n[0]&mask, comm(n[1]), n[2]&mask, n[3])
	case evRecv:
		b.Append(t, trace.MpiRecv, 0, n[0]&mask, comm(n[1]), n[2]&mask, n[3])
	case evIsend:
		b.Append(t, trace.MpiIsend, 0, n[0]&mask, comm(n[1]), n[2]&mask, n[3], n[4])
	case evIrecv:
		b.Append(t, trace.MpiIrecv, 0, n[0]&mask, comm(n[1]), n[2]&mask, n[3], n[4])
	case evIsendDone:
		b.Append(t, trace.MpiIsendComplete, 0, n[0])
	case evIrecvRequest:
		b.Append(t, trace.MpiIrecvRequest, 0, n[0])
	case evCancelled:
		b.Append(t, trace.MpiRequestCancelled, 0, n[0])
	case evCollBegin:
		b.Append(t, trace.MpiCollectiveBegin, 0)
	case evCollEnd:
		b.Append(t, trace.MpiCollectiveEnd, 0, n[0]&0xff, comm(n[1]), root(n[2]), n[3], n[4])
	case evNBCRequest:
		b.Append(t, trace.NonBlockingCollectiveRequest, 0, n[0])
	case evNBCEnd:
		b.Append(t, trace.NonBlockingCollectiveComplete, 0, n[0]&0xff, comm(n[1]), root(n[2]), n[3], n[4], n[5])
	case evMetric:
		r.count(b, n[1:1+n[0]], t)
	case evRMA:
		r.oneSided(b, n, t)
	case evFile:
		r.file(b, n, t)
	case evSample:
		if x, ok := r.p.contextRefs[n[0]]; ok { // else the process was killed before it defined it
			b.Append(t, trace.CallingContextSample, 0, uint64(x.ref), uint64(x.depth)+2, generator)
		}
	case evPart:
		if n[0] < partState {
			b.Append(t, trace.MeasurementOnOff, 0, 2-n[0]&1)
		}
	case evThread:
		r.thread(b, n, t)
	case evPcontrol:
		b.Append(t, trace.ParameterInt, 0, paramLevel, uint64(int64(n[0]>>1)^-int64(n[0]&1)))
		if n[1] > 0 {
			b.Append(t, trace.ParameterString, 0, paramName, uint64(ref(r.p.textRefs, n[1]-1)))
		}
	}
}

// oneSided appends an event of one-sided communication. A type, of OTF2, comes with atomic operations, locks and synchronisations.
func (r *reader) oneSided(b *trace.Batch, n *[1 + maxCounters]uint64, t trace.Time) {
	win, remote, typ := uint64(r.p.winRef(n[1])), (n[2]-1)&mask, n[0]>>8&0xff
	switch n[0] & 0xff {
	case 0:
		b.Append(t, trace.RmaWinCreate, 0, win)
	case 1:
		b.Append(t, trace.RmaWinDestroy, 0, win)
	case 2:
		b.Append(t, trace.RmaPut, 0, win, remote, n[3], n[5])
	case 3:
		b.Append(t, trace.RmaGet, 0, win, remote, n[3], n[5])
	case 4:
		b.Append(t, trace.RmaAtomic, 0, win, remote, typ, n[3], n[4], n[5])
	case 5:
		b.Append(t, trace.RmaOpCompleteNonBlocking, 0, win, n[5])
	case 6:
		const memory = 1 // and no process waits
		b.Append(t, trace.RmaCollectiveBegin, 0)
		b.Append(t, trace.RmaCollectiveEnd, 0, 0, memory, win, uint64(trace.Undefined), 0, 0)
	case 7:
		b.Append(t, trace.RmaAcquireLock, 0, win, remote, 0, typ)
	case 8:
		b.Append(t, trace.RmaReleaseLock, 0, win, remote, 0)
	case 9:
		b.Append(t, trace.RmaSync, 0, win, remote, typ)
	}
}

// file appends an event of a file: of what is opened, closed or deleted, of a position, or of an operation on data.
func (r *reader) file(b *trace.Batch, n *[1 + maxCounters]uint64, t trace.Time) {
	f := r.p.opened(n[1])
	handle, how := uint64(f.handle), n[0]>>8&0xff
	switch n[0] & 0xff {
	case 0:
		b.Append(t, trace.IoCreateHandle, 0, handle, how, n[2]&mask, n[3]&mask)
	case 1:
		b.Append(t, trace.IoDestroyHandle, 0, handle)
	case 2:
		b.Append(t, trace.IoDeleteFile, 0, uint64(f.paradigm), uint64(f.file))
	case 3:
		b.Append(t, trace.IoSeek, 0, handle, n[2]>>1^-(n[2]&1), how, n[3])
	case 4:
		b.Append(t, trace.IoOperationBegin, 0, handle, how, n[0]>>16&mask, n[2], n[4])
		if n[3] > 0 {
			b.AppendAttributes(trace.EventAttribute{Ref: attributeOffset, Type: trace.TypeUint64, Value: n[3] - 1})
		}
	case 5:
		b.Append(t, trace.IoOperationIssued, 0, handle, n[4])
	case 6:
		b.Append(t, trace.IoOperationComplete, 0, handle, n[2], n[4])
	case 7:
		b.Append(t, trace.IoOperationCancelled, 0, handle, n[4])
	case 8:
		b.Append(t, trace.IoDuplicateHandle, 0, handle, uint64(r.p.opened(n[2]).handle), n[3]&mask)
	}
}

// count appends the values of the counters, which are relative to those before in the window.
func (r *reader) count(b *trace.Batch, n []uint64, t trace.Time) {
	if len(n) != len(r.p.counters) {
		r.diags.Add(trace.Diagnostic{Code: trace.DiagCorrupt, Detail: fmt.Sprintf("values of %d counters, of which %d are defined", len(n), len(r.p.counters))})
		return
	}
	words := [2 + 2*maxCounters]uint64{uint64(r.p.metric), uint64(len(n))}
	for i, d := range n {
		r.counted[i] += d
		words[2+2*i], words[3+2*i] = uint64(trace.TypeUint64), r.counted[i]
	}
	b.Append(t, trace.Metric, 0, words[:2+2*len(n)]...)
}

const mask = 0xffffffff

// attributeOffset refers to the attribute of an operation: bytes from the beginning of the file.
const attributeOffset = 0

// Parameters of the definitions.
const (
	paramLevel = iota
	paramName
)
