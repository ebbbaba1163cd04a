package causes

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
)

// outboxBytes bounds what an outbox holds in memory. tagRecords is the tag of its
// messages.
const (
	outboxBytes = 4 << 20
	tagRecords  = 11
)

// outbox collects records for locations of all ranks and delivers them all at
// once. Records for this rank are delivered as they come. Memory: outboxBytes, 24
// bytes per rank and 12 for each of its pieces in the scratch, and one piece while
// delivering.
type outbox struct {
	comm    mpi.Comm
	ranges  []partition.Range
	scratch Scratch
	take    func(record []byte) error
	buffers [][]byte // of each rank: records, each with its length before it
	pieces  [][]piece
	held    int
	most    int // bytes held before they go to the scratch
	sent    uint64
}

// piece is records in the scratch.
type piece struct {
	off int64
	n   uint32
}

func newOutbox(r *Run, take func(record []byte) error) *outbox {
	return &outbox{
		comm: r.Comm, ranges: r.Ranges, scratch: r.Storage.Scratch(), take: take, most: outboxBytes,
		buffers: make([][]byte, len(r.Ranges)), pieces: make([][]piece, len(r.Ranges)),
	}
}

// rankOf returns the rank that holds a location.
func rankOf(ranges []partition.Range, p trace.P) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].End > p })
}

// put sends a record to the rank of location p; the bytes may be reused.
func (o *outbox) put(p trace.P, record []byte) error {
	to := rankOf(o.ranges, p)
	if to == o.comm.Rank() {
		return o.take(record)
	}
	b := binary.LittleEndian.AppendUint32(o.buffers[to], uint32(len(record)))
	o.buffers[to] = append(b, record...)
	if o.held += 4 + len(record); o.held < o.most {
		return nil
	}
	return o.spill()
}

// spill moves all buffers to the scratch.
func (o *outbox) spill() error {
	for to, b := range o.buffers {
		if len(b) == 0 {
			continue
		}
		off, err := o.scratch.Append(b)
		if err != nil {
			return err
		}
		o.pieces[to] = append(o.pieces[to], piece{off, uint32(len(b))})
		o.buffers[to] = b[:0]
	}
	o.held = 0
	return nil
}

// deliver exchanges the records of all ranks: in step k a rank sends to the k-th
// above and receives from the k-th below, piece by piece. An error of this rank
// is kept while it goes on taking part. Collective.
func (o *outbox) deliver(failed error) error {
	if err := o.spill(); failed == nil {
		failed = err
	}
	counts := make([][]byte, len(o.pieces))
	for to := range counts {
		counts[to] = binary.LittleEndian.AppendUint64(nil, uint64(len(o.pieces[to])))
	}
	incoming, err := o.comm.Alltoall(counts)
	if err != nil {
		return err
	}
	size := o.comm.Size()
	for k := 1; k < size; k++ {
		to, from := (o.comm.Rank()+k)%size, (o.comm.Rank()-k+size)%size
		if err := o.step(to, from, binary.LittleEndian.Uint64(incoming[from]), &failed); err != nil {
			return err
		}
	}
	o.scratch.Drop()
	o.buffers, o.pieces = nil, nil
	return o.comm.Agree(failed)
}

// step sends all pieces for one rank while it receives those of another.
func (o *outbox) step(to, from int, coming uint64, failed *error) error {
	out := o.pieces[to]
	for i := 0; i < len(out) || uint64(i) < coming; i++ {
		var sent *mpi.Request
		var err error
		if i < len(out) {
			b := make([]byte, out[i].n)
			if _, err := o.scratch.ReadAt(b, out[i].off); err != nil && *failed == nil {
				*failed = fmt.Errorf("records for rank %d: %w", to, err)
			}
			if *failed != nil {
				b = nil // the agreement tells the others
			}
			if sent, err = o.comm.Isend(b, to, tagRecords); err != nil {
				return err
			}
			o.sent += uint64(len(b))
		}
		if uint64(i) < coming {
			b, _, err := o.comm.Recv(from, tagRecords)
			if err != nil {
				return err
			}
			if err := o.open(b); err != nil && *failed == nil {
				*failed = err
			}
		}
		if err := o.comm.Wait(sent); err != nil {
			return err
		}
	}
	return nil
}

// open takes the records of a piece.
func (o *outbox) open(b []byte) error {
	for len(b) > 0 {
		n := uint64(binary.LittleEndian.Uint32(b))
		if err := o.take(b[4 : 4+n]); err != nil {
			return err
		}
		b = b[4+n:]
	}
	return nil
}
