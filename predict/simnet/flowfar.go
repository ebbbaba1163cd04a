package simnet

import "slices"

// What goes from one worker to another is a stream of records of 64-bit words. The first word holds a process or
// communicator (32 bits), the index of a port (24 bits) and the kind of the record (8 bits). Records between two workers
// arrive in the order sent.
const (
	farArrival    = iota // to the destination of a channel: arrival of a message of a narrow channel
	farMessage           // likewise, of a wide one: arrival, data, cost
	farPosted            // to the source: when the receive was posted
	farCredit            // to the source: receives that are complete
	farPair              // of a collective operation, to the destination: communicator and source, arrival, bytes
	farPairCredit        // to the source: a message was received
	farEntered           // to the owner of a meeting: number and members, latest entry, longest closed form
	farKnown             // to the others: number, latest entry, longest closed form
	farReleased          // to the owner: number; the worker needs the meeting no more
	farEnded             // to the others: number
	farKinds
)

// farWords is the length of each record, the first word included.
var farWords = [farKinds]int{2, 4, 2, 2, 4, 1, 4, 4, 2, 2}

// maxPorts is the number of ports of a process that a record can name.
const maxPorts = 1 << 24

// batchWords is how much is collected before it is sent: at most one message of package mpi.
const batchWords = 480

// address is the first word of a record.
func address(at, index uint32, kind uint64) uint64 { return uint64(at)<<32 | uint64(index)<<8 | kind }

// workerOf returns the number of the worker, of all ranks, that runs a process.
func (r *run) workerOf(process uint32) int {
	i, found := slices.BinarySearch(r.begins, process)
	if !found {
		return i - 1
	}
	for i+1 < len(r.begins) && r.begins[i+1] == process { // workers without processes
		i++
	}
	return i
}

// far adds a record to what goes to a worker.
func (w *worker) far(to int, record ...uint64) {
	b := w.out[to]
	if len(b)+len(record) > batchWords {
		w.run.send(w, to, b)
		b = nil
	}
	if b == nil {
		b = w.run.buffer()
	}
	if len(b) == 0 {
		w.unsent = append(w.unsent, to)
	}
	w.out[to] = append(b, record...)
}

// flush sends all that was collected.
func (w *worker) flush() {
	for _, to := range w.unsent {
		if b := w.out[to]; len(b) > 0 {
			w.out[to] = nil
			w.run.send(w, to, b)
		}
	}
	w.unsent = w.unsent[:0]
}

// sendFar sends the stamps of a message.
func (w *worker) sendFar(c *channel, arrival, data, cost int64) {
	to := w.run.workerOf(c.dst)
	if c.flags&wide == 0 {
		w.far(to, address(c.dst, c.far, farArrival), uint64(arrival))
		return
	}
	w.far(to, address(c.dst, c.far, farMessage), uint64(arrival), uint64(data), uint64(cost))
}

// answerFar tells the source of a channel when a receive was posted.
func (w *worker) answerFar(c *channel, posted int64) {
	w.far(w.run.workerOf(c.src), address(c.src, c.far, farPosted), uint64(posted))
}

// creditFar tells the source of a channel how many messages are received, when that is worth a record. What it told is
// doneS, which this half does not need.
func (w *worker) creditFar(c *channel) {
	if 2*(c.doneR-c.doneS) >= 1<<c.limLog {
		c.doneS = c.doneR
		w.far(w.run.workerOf(c.src), address(c.src, c.far, farCredit), uint64(c.doneR))
	}
}

func (w *worker) pairFar(k pairKey, m pairMessage) {
	w.far(w.run.workerOf(k.dst), address(k.dst, 0, farPair), uint64(k.comm)<<32|uint64(k.src), uint64(m.arrival), m.bytes)
}

func (w *worker) pairCredit(src uint32) {
	w.far(w.run.workerOf(src), address(src, 0, farPairCredit))
}

// take reads a batch of records.
func (w *worker) takeBatch(b []uint64) {
	for len(b) > 0 {
		kind := b[0] & 0xff
		if kind >= farKinds || len(b) < farWords[kind] {
			w.fail(errBatch)
			return
		}
		w.takeRecord(kind, uint32(b[0]>>32), uint32(b[0]>>8)&(maxPorts-1), b[1:farWords[kind]])
		b = b[farWords[kind]:]
	}
}

func (w *worker) takeRecord(kind uint64, at, index uint32, b []uint64) {
	switch kind {
	case farArrival, farMessage:
		w.takeStamps(&w.chans[w.recvEnd[w.procs[at-w.lo].recvBase+index]], b)
	case farPosted:
		c := &w.chans[w.procs[at-w.lo].sendBase+index]
		if int32(c.posted-c.doneS) >= 0 { // else it was sent eagerly, and is complete
			w.room(c, c.posted)
			w.wide(c, c.posted)[slotPosted] = int64(b[0])
		}
		c.posted++
		w.wakeSender(c)
	case farCredit:
		c := &w.chans[w.procs[at-w.lo].sendBase+index]
		c.doneR = uint32(b[0])
		w.wakeSender(c)
	case farPair:
		w.putPair(pairKey{uint32(b[0] >> 32), uint32(b[0]), at}, pairMessage{int64(b[1]), b[2]})
	case farPairCredit:
		w.received(at - w.lo)
	case farEntered:
		w.takeEntered(meetingKey{at, uint32(b[0] >> 32)}, uint32(b[0]), int64(b[1]), int64(b[2]))
	case farKnown:
		m := w.meet(meetingKey{at, uint32(b[0])})
		m.most, m.time = int64(b[1]), int64(b[2])
		w.settle(m)
	case farReleased:
		key := meetingKey{at, uint32(b[0])}
		w.meet(key).released++
		w.endIfDone(key)
	case farEnded:
		w.end(meetingKey{at, uint32(b[0])})
	}
}

// takeStamps notes a message that was sent.
func (w *worker) takeStamps(c *channel, b []uint64) {
	w.room(c, c.sent)
	if c.flags&wide == 0 {
		*w.narrow(c, c.sent) = int64(b[0])
	} else {
		slot := w.wide(c, c.sent)
		slot[slotArrival], slot[slotData], slot[slotCost] = int64(b[0]), int64(b[1]), int64(b[2])
	}
	c.sent++
	w.wakeReceiver(c)
}

func (w *worker) wakeSender(c *channel) {
	if c.flags&sendWaits != 0 {
		c.flags &^= sendWaits
		w.ready = append(w.ready, c.src)
	}
}

func (w *worker) wakeReceiver(c *channel) {
	if c.flags&recvWaits != 0 {
		c.flags &^= recvWaits
		w.ready = append(w.ready, c.dst)
	}
}
