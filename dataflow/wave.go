package dataflow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/mpi"
)

// counts is what a wave sums over the ranks. Every rank adds its own when all its
// locations wait.
//
//	sent u64 | received u64 | next u64 | peak u64 | failed u64     little-endian
type counts struct {
	sent, received uint64 // messages of values since the begin
	next           uint64 // least position of a location before the window's end, noNext if there is none
	peak           uint64 // bytes by which waiting values grew in this window, of the rank with most
	failed         uint64 // ranks with an error
}

const (
	countsBytes = 40
	noNext      = math.MaxUint64
)

func (c *counts) add(o *counts) {
	c.sent += o.sent
	c.received += o.received
	c.next = min(c.next, o.next)
	c.peak = max(c.peak, o.peak)
	c.failed += o.failed
}

func (c *counts) append(b []byte) []byte {
	for _, v := range [...]uint64{c.sent, c.received, c.next, c.peak, c.failed} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func (c *counts) load(b []byte) error {
	if len(b) != countsBytes {
		return fmt.Errorf("dataflow: counts of %d bytes", len(b))
	}
	for i, v := range [...]*uint64{&c.sent, &c.received, &c.next, &c.peak, &c.failed} {
		*v = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

// Orders of rank 0: a byte, and for orderWindow the window's last position.
const (
	orderAgain  byte = iota // another wave
	orderWindow             // a new window
	orderStop               // nobody can go on any more
)

// wave is the part of a rank in the waves, over a binomial tree of all ranks.
//
// A wave has found the end when it counts as many messages sent as the wave
// before counted received: no message was under way between the two, and no rank
// worked.
type wave struct {
	parent   int // -1: rank 0
	children []int
	sum      counts
	heard    int    // children in sum
	told     bool   // this rank has given its counts
	before   uint64 // on rank 0: received in the wave before
	second   bool   // before is valid
	peak     int64  // of this rank in this window
	over     bool
}

func newWave(rank, size int) wave {
	parent, children := binomial(rank, size)
	return wave{parent: parent, children: children, sum: counts{next: noNext}}
}

// binomial gives parent and children of a node in a binomial tree with root 0:
// the parent lacks the lowest bit. Children come with the largest subtree first.
func binomial(i, n int) (parent int, children []int) {
	low := i & -i
	if parent = i - low; i == 0 {
		parent, low = -1, 1
		for low < n {
			low <<= 1
		}
	}
	for low >>= 1; low > 0; low >>= 1 {
		if i+low < n {
			children = append(children, i+low)
		}
	}
	return parent, children
}

// child takes in the counts of a child.
func (w *wave) child(b []byte) error {
	var c counts
	err := c.load(b)
	w.sum.add(&c)
	w.heard++
	return err
}

// passive is called when no location here can go on: the rank gives its counts
// when its children have, and waits for a message.
func (e *engine) passive() error {
	w := &e.wave
	if !w.told && w.heard == len(w.children) {
		own := e.counts()
		w.sum.add(&own)
		w.told = true
		e.report.Waves++
		if w.parent < 0 {
			return e.decide()
		}
		if err := e.out.send(w.sum.append(nil), w.parent, tagCounts); err != nil {
			return err
		}
	}
	_, err := e.receive(true)
	return err
}

func (e *engine) counts() counts {
	c := counts{sent: e.out.sent, received: e.out.received, next: noNext, peak: uint64(e.wave.peak)}
	if e.err != nil {
		c.failed = 1
		return c
	}
	for i := range e.places {
		if s := &e.places[i]; s.state == throttled {
			c.next = min(c.next, s.at)
		}
	}
	return c
}

// decide is what rank 0 makes of a wave.
func (e *engine) decide() error {
	w := &e.wave
	s := w.sum
	quiet := e.c.Size() == 1 || w.second && w.before == s.sent
	w.before, w.second = s.received, true
	switch {
	case !quiet:
		return e.obey([]byte{orderAgain})
	case s.failed > 0 || s.next == noNext:
		return e.obey([]byte{orderStop})
	}
	w.second = false
	budget := uint64(e.o.Budget)
	switch {
	case e.end < e.opened: // it was cut
		e.window = max(e.end-min(e.end, e.start), 1)
	case s.peak > budget/4:
		e.window = max(e.window/2, 1)
	case s.peak < budget/16 && e.window < 1<<62:
		e.window *= 2
	}
	end := s.next + e.window
	if end < s.next {
		end = math.MaxUint64
	}
	e.start, e.opened = s.next, end
	return e.obey(binary.LittleEndian.AppendUint64([]byte{orderWindow}, end))
}

// obey passes an order on and follows it.
func (e *engine) obey(order []byte) error {
	w := &e.wave
	for _, r := range w.children {
		if err := e.out.send(order, r, tagOrder); err != nil {
			return err
		}
	}
	w.sum, w.heard, w.told = counts{next: noNext}, 0, false
	switch {
	case len(order) == 1 && order[0] == orderStop:
		w.over = true
	case len(order) == 9 && order[0] == orderWindow:
		e.open(binary.LittleEndian.Uint64(order[1:]))
	case len(order) != 1 || order[0] != orderAgain:
		return &mpi.Error{Op: "recv", Class: mpi.ErrInternal, Msg: "dataflow: a damaged order"}
	}
	return nil
}

// open begins the window up to end.
func (e *engine) open(end uint64) {
	e.end = end
	e.wave.peak = 0
	e.base = e.held()
	e.hold = max(e.o.Budget/4, e.base+e.o.Budget/16)
	e.report.Windows++
	for i := range e.places {
		if s := &e.places[i]; s.state == throttled && s.at <= end {
			s.state = runnable
			e.queue = append(e.queue, i)
		}
	}
}
