package causes

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
)

// outboxBytes bounds what an outbox holds in memory.
const outboxBytes = 4 << 20

// Tags of messages. Others are tagPath, tagCrossing and tagCarried.
const (
	tagRecords = 11
	tagPieces  = 13 // how many pieces of records follow
)

// outbox collects records for all ranks and delivers all at once, those for this rank immediately. Memory: outboxBytes, 64 bytes per
// rank that gets records and 16 for each of its pieces in storage, and one piece while delivering.
type outbox struct {
	comm    mpi.Comm
	storage *Storage
	take    func(record []byte) error
	boxes   map[int]*box // by rank, of those that get records
	held    int          // bytes in memory
	most    int          // bytes in memory at most
	sent    uint64       // bytes
}

// box is the records for a rank.
type box struct {
	buffer []byte // records, each with its length before it
	pieces []piece
}

// piece is records in storage, until they are sent.
type piece struct {
	in Scratch
	n  uint32
}

func newOutbox(c mpi.Comm, st *Storage, take func(record []byte) error) *outbox {
	return &outbox{
		comm: c, storage: st, take: take, most: outboxBytes,
		boxes: map[int]*box{},
	}
}

// rankOf returns the rank that holds a location.
func rankOf(ranges []partition.Range, p trace.P) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].End > p })
}

// put adds a record for a rank. The caller may reuse the bytes.
func (o *outbox) put(to int, record []byte) error {
	if to == o.comm.Rank() {
		return o.take(record)
	}
	x := o.boxes[to]
	if x == nil {
		x = &box{}
		o.boxes[to] = x
	}
	if cap(x.buffer)-len(x.buffer) < 4+len(record) {
		x.buffer = slices.Grow(x.buffer, max(4+len(record), cap(x.buffer)))
	}
	x.buffer = binary.LittleEndian.AppendUint32(x.buffer, uint32(len(record)))
	x.buffer = append(x.buffer, record...)
	if o.held += 4 + len(record); o.held < o.most {
		return nil
	}
	return o.spill()
}

// spill moves all buffers to storage.
func (o *outbox) spill() error {
	for _, x := range o.boxes {
		if len(x.buffer) == 0 {
			continue
		}
		p := piece{o.storage.Scratch(), uint32(len(x.buffer))}
		x.pieces = append(x.pieces, p)
		if _, err := p.in.Append(x.buffer); err != nil {
			return err
		}
		x.buffer = x.buffer[:0]
	}
	o.held = 0
	return nil
}

// inlineBytes bounds the records for a rank that travel together with their count, in mpi.SparseAlltoall. So a rank that gets few bytes
// from each of many ranks does not get a message from each.
const inlineBytes = 8 << 10

// deliver exchanges the records of all ranks: few records with their counts, others in steps. In step k a rank sends to the k-th rank
// above and receives from the k-th below, one piece at a time. failed is an earlier error of this rank, which takes part all the same.
// All ranks return an error if one has failed. Collective.
func (o *outbox) deliver(failed error) error {
	rank, size := o.comm.Rank(), o.comm.Size()
	var counts []mpi.Part
	steps := map[int]bool{} // those in which this rank sends or receives
	for to, x := range o.boxes {
		if len(x.pieces) == 0 && len(x.buffer) <= inlineBytes {
			counts = append(counts, mpi.Part{Rank: to, Data: append(make([]byte, 8), x.buffer...)})
			o.sent += uint64(len(x.buffer))
			o.held -= len(x.buffer)
			x.buffer = nil
		}
	}
	if err := o.spill(); failed == nil {
		failed = err
	}
	for to, x := range o.boxes {
		if len(x.pieces) > 0 {
			counts = append(counts, mpi.Part{Rank: to, Data: binary.LittleEndian.AppendUint64(nil, uint64(len(x.pieces)))})
			steps[(to-rank+size)%size] = true
		}
	}
	incoming, err := mpi.SparseAlltoall(o.comm, tagPieces, counts)
	if err != nil {
		return err
	}
	coming := map[int]uint64{}
	for _, x := range incoming {
		if coming[x.Rank] = binary.LittleEndian.Uint64(x.Data); coming[x.Rank] > 0 {
			steps[(rank-x.Rank+size)%size] = true
		} else if err := o.open(x.Data[8:]); failed == nil {
			failed = err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(steps)) {
		to, from := (rank+k)%size, (rank-k+size)%size
		if err := o.step(to, from, coming[from], &failed); err != nil {
			return err
		}
	}
	o.boxes = nil
	return o.comm.Agree(failed)
}

// step sends all pieces for one rank while it receives those of another.
func (o *outbox) step(to, from int, coming uint64, failed *error) error {
	var out []piece
	if x := o.boxes[to]; x != nil {
		out = x.pieces
	}
	for i := 0; i < len(out) || uint64(i) < coming; i++ {
		var sent *mpi.Request
		var err error
		if i < len(out) {
			b := make([]byte, out[i].n)
			if _, err := out[i].in.ReadAt(b, 0); err != nil && *failed == nil {
				*failed = fmt.Errorf("records for rank %d: %w", to, err)
			}
			out[i].in.Drop()
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
