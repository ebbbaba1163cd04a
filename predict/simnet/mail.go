package simnet

// Workers send each other streams of records of 64-bit words. The first word has a process or communicator (32 bits), the index of a port
// (24 bits) and the kind of the record (8 bits). Records between two workers arrive in the order in which they were sent.
const (
	farArrival    = iota // to the destination of a channel: arrival of a message of a narrow channel
	farMessage           // the same for a wide channel: arrival, data, cost
	farPosted            // to the source: when the receive was posted
	farCredit            // to the source: number of receives that are complete
	farPair              // of a collective operation, to the destination: communicator and source, arrival, data, bytes
	farPairCredit        // to the source: the message was received; of a rendezvous the start of its data
	farEntered           // to the owner of a meeting: number, members, latest entry, longest closed form
	farKnown             // to the others: number, latest entry, longest closed form
	farReleased          // to the owner: number; the worker does not need the meeting any more
	farEnded             // to the others: number
	farKinds
)

// farWords is the length of each record in words, including the first.
var farWords = [farKinds]int{2, 4, 2, 2, 5, 2, 5, 4, 2, 2}

// maxPorts is the most ports of a process that a record can address.
const maxPorts = 1 << 24

// address returns the first word of a record.
func address(at, index uint32, kind uint64) uint64 { return uint64(at)<<32 | uint64(index)<<8 | kind }

// mailbox has what a worker writes to others in this round, and what it wrote in the last one.
type mailbox struct {
	run     *run
	self    int        // number among the workers of all ranks
	writing [][]uint64 // records for each worker
	written []int      // workers with records in writing
	sent    [][]uint64 // records of the last round, which others read now
	to      []int
	far     [][]uint64 // records from workers of other ranks
}

// put adds a record for a worker.
func (b *mailbox) put(to int, record ...uint64) {
	if len(b.writing[to]) == 0 {
		b.written = append(b.written, to)
	}
	b.writing[to] = append(b.writing[to], record...)
}

// turn ends a round. It returns the workers that records were written to.
func (b *mailbox) turn() []int {
	for _, to := range b.to {
		b.sent[to] = b.sent[to][:0]
	}
	b.writing, b.sent = b.sent, b.writing
	b.written, b.to = b.to[:0], b.written
	return b.to
}

func (b *mailbox) stamps(c *channel, arrival, data, cost int64) {
	to := b.run.workerOf(c.dst)
	if c.flags&wide == 0 {
		b.put(to, address(c.dst, c.far, farArrival), uint64(arrival))
		return
	}
	b.put(to, address(c.dst, c.far, farMessage), uint64(arrival), uint64(data), uint64(cost))
}

// answer sends the source of a channel when a receive was posted.
func (b *mailbox) answer(c *channel, posted int64) {
	b.put(b.run.workerOf(c.src), address(c.src, c.far, farPosted), uint64(posted))
}

// credit sends the source of a channel how many receives are complete, if these are enough for a record. This half does not need doneS, so
// it has the number that was sent last.
func (b *mailbox) credit(c *channel, limLog uint8) {
	if 2*(c.doneR-c.doneS) >= 1<<limLog {
		c.doneS = c.doneR
		b.put(b.run.workerOf(c.src), address(c.src, c.far, farCredit), uint64(c.doneR))
	}
}

// step sends a message of a collective operation. stepCredit reports that it was received.
func (b *mailbox) step(k pairKey, m pairMessage) {
	b.put(b.run.workerOf(k.dst), address(k.dst, 0, farPair), uint64(k.comm)<<32|uint64(k.src), uint64(m.arrival), uint64(m.data), m.bytes)
}

func (b *mailbox) stepCredit(src uint32, start int64) {
	b.put(b.run.workerOf(src), address(src, 0, farPairCredit), uint64(start))
}

// read processes what other workers wrote in the last round.
func (w *worker) read() {
	for _, other := range w.mail.run.workers {
		w.readAll(other.mail.sent[w.mail.self])
	}
	for _, list := range w.mail.far {
		w.readAll(list)
	}
}

func (w *worker) readAll(b []uint64) {
	for w.err == nil && len(b) > 0 {
		kind := b[0] & 0xff
		if kind >= farKinds || len(b) < farWords[kind] {
			w.fail(errRecord)
			return
		}
		w.takeRecord(kind, uint32(b[0]>>32), uint32(b[0]>>8)&(maxPorts-1), b[1:farWords[kind]])
		b = b[farWords[kind]:]
	}
}

func (w *worker) takeRecord(kind uint64, at, index uint32, b []uint64) {
	switch kind {
	case farArrival, farMessage:
		c := &w.chans[w.recvEnd[w.procs[at-w.lo].recvBase+index]]
		stamps := [3]int64{}
		for i, x := range b {
			stamps[i] = int64(x)
		}
		w.put(c, stamps[0], stamps[1], stamps[2])
		c.sent++
		w.wakeReceiver(c)
	case farPosted:
		c := &w.chans[w.procs[at-w.lo].sendBase+index]
		if int32(c.posted-c.doneS) >= 0 { // else it was eager, and is complete
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
		w.steps.put(pairKey{uint32(b[0] >> 32), uint32(b[0]), at}, pairMessage{int64(b[1]), int64(b[2]), b[3]})
	case farPairCredit:
		w.steps.received(at, int64(b[0]))
	default:
		w.coll.takeRecord(kind, at, b)
	}
}
