package predict

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// Pieces of a process's times in progress between ranks begin with one of these.
const (
	pieceMore   = iota // another one follows
	pieceLast          // the last one
	pieceFailed        // the sender could not read on
)

const (
	pieceBytes = 1 << 20
	tagPiece   = 12
)

// Gather brings the times of the processes that locations first to end-1 belong to onto this rank. The simulation deals out
// processes, the analysis locations: at the borders between ranks, they may differ. Collective; folder dir is not used.
func (r *Run) Gather(first, end trace.P, _ string) error {
	need := [2]uint32{}
	if first < end {
		a, _ := r.defs.Process(first)
		b, _ := r.defs.Process(end - 1)
		need = [2]uint32{min(a, r.o.Processes), min(b+1, r.o.Processes)}
	}
	var own []byte
	for _, v := range [...]uint32{need[0], need[1], r.o.First, r.o.End} {
		own = binary.LittleEndian.AppendUint32(own, v)
	}
	all, err := r.o.Comm.Allgather(own)
	if err != nil {
		return err
	}
	field := func(rank, i int) uint32 { return binary.LittleEndian.Uint32(all[rank][4*i:]) }
	var failed error
	me := r.o.Comm.Rank()
	for from := range all {
		for to := range all {
			if from == to || from != me && to != me {
				continue
			}
			for p := max(field(to, 0), field(from, 2)); p < min(field(to, 1), field(from, 3)); p++ {
				if from == me {
					err = r.send(p, to)
				} else {
					err = r.receive(p, from)
				}
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

// send sends the times of a process. An error of reading reaches the receiver, which waits for them.
func (r *Run) send(process uint32, to int) error {
	from, err := r.o.Times.Reader(process)
	buf := make([]byte, 1+pieceBytes)
	for err == nil {
		var n int
		n, err = io.ReadFull(from, buf[1:])
		kind := byte(pieceMore)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			kind = pieceLast
		} else if err != nil {
			break
		}
		buf[0] = kind
		if e := r.o.Comm.Send(buf[:1+n], to, tagPiece); e != nil || kind == pieceLast {
			return e
		}
	}
	return errors.Join(err, r.o.Comm.Send([]byte{pieceFailed}, to, tagPiece))
}

// receive takes the times of a process, all of them whatever happens.
func (r *Run) receive(process uint32, from int) error {
	var failed error
	for {
		b, _, err := r.o.Comm.Recv(from, tagPiece)
		if err != nil {
			return err
		}
		if len(b) == 0 || b[0] == pieceFailed {
			return fmt.Errorf("process %d: rank %d could not send its times: %w", process, from, mpi.ErrOther)
		}
		if failed == nil {
			failed = r.o.Times.Append(process, b[1:])
		}
		if b[0] == pieceLast {
			return failed
		}
	}
}
