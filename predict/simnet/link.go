package simnet

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// noChannel is the channel of a port without another end.
const noChannel = 1<<32 - 1

// linker joins ports to channels: all ports of processes [lo, hi) that send, and all ports of other processes that send to them, with the
// ports that receive. It needs only the program. Its time is O(ports of all processes), plus sorting the ports of each process.
type linker struct {
	code         *code
	lo, hi       uint32
	start        []uint32 // of each process: index in list of the first port that sends to it
	list         []portOf
	far          uint64 // ports in list of processes outside of [lo, hi)
	sends, recvs []end
}

// portOf is a port that sends, by its index in its process.
type portOf struct{ process, index uint32 }

// end is one port of a channel: the channel's key without the destination, the port's index, and how often it posts.
type end struct {
	comm, src, tag uint32
	index          uint32
	posts          uint64
}

func (a *end) compare(b *end) int {
	return cmp.Or(cmp.Compare(a.comm, b.comm), cmp.Compare(a.src, b.src), cmp.Compare(a.tag, b.tag))
}

func (l *linker) owns(process uint32) bool { return process-l.lo < l.hi-l.lo }

func (c *code) kind(process uint32) *kind { return &c.kinds[c.kindOf[process]] }

// eachSend calls f for each port that sends from or to the processes of l.
func (l *linker) eachSend(f func(x portOf, dst uint32)) error {
	for q := range l.code.program.Roots {
		src := uint32(q)
		for i, port := range l.code.kind(src).sends {
			at := &l.code.ports[port]
			dst, ok, err := l.code.ranks.Partner(src, at.comm, at.mode, at.peer)
			if err != nil {
				return err
			}
			if ok && (l.owns(src) || l.owns(dst)) {
				f(portOf{src, uint32(i)}, dst)
			}
		}
	}
	return nil
}

// collect lists the ports that send, by destination.
func (l *linker) collect() error {
	l.start = make([]uint32, len(l.code.program.Roots)+1)
	err := l.eachSend(func(x portOf, dst uint32) {
		l.start[dst]++
		if !l.owns(x.process) {
			l.far++
		}
	})
	if err != nil {
		return err
	}
	sum := uint64(0)
	for i, n := range l.start {
		l.start[i] = uint32(sum)
		sum += uint64(n)
	}
	if sum >= noChannel {
		return program.Errorf("more than 2^32 channels")
	}
	l.list = make([]portOf, sum)
	return l.eachSend(func(x portOf, dst uint32) {
		l.list[l.start[dst]] = x
		l.start[dst]++
	})
}

// link calls join for each channel, with the ports that send and those that receive. One of the lists may be empty.
func (l *linker) link(join func(dst uint32, sends, recvs []end) error) error {
	from := uint32(0)
	for dst := range l.code.program.Roots {
		to := l.start[dst] // start[dst] is the end now
		if l.owns(uint32(dst)) || to > from {
			if err := l.match(uint32(dst), l.list[from:to], join); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// match joins the ports that send to dst with those that receive.
func (l *linker) match(dst uint32, list []portOf, join func(dst uint32, sends, recvs []end) error) error {
	c := l.code
	l.sends, l.recvs = l.sends[:0], l.recvs[:0]
	for _, x := range list {
		k := c.kind(x.process)
		at := &c.ports[k.sends[x.index]]
		l.sends = append(l.sends, end{at.comm, x.process, at.tag, x.index, k.out[x.index].posts})
	}
	k := c.kind(dst)
	for i, port := range k.recvs {
		at := &c.ports[port]
		src, ok, err := c.ranks.Partner(dst, at.comm, at.mode, at.peer)
		if err != nil {
			return err
		}
		if ok {
			l.recvs = append(l.recvs, end{at.comm, src, at.tag, uint32(i), k.in[i]})
		}
	}
	slices.SortStableFunc(l.sends, func(a, b end) int { return a.compare(&b) })
	slices.SortStableFunc(l.recvs, func(a, b end) int { return a.compare(&b) })
	for s, r := l.sends, l.recvs; len(s)+len(r) > 0; {
		n, m := same(s), same(r)
		if n > 0 && m > 0 {
			switch order := s[0].compare(&r[0]); {
			case order < 0:
				m = 0
			case order > 0:
				n = 0
			}
		}
		if err := join(dst, s[:n], r[:m]); err != nil {
			return err
		}
		s, r = s[n:], r[m:]
	}
	return nil
}

// same returns how many ends have the same key as the first.
func same(list []end) int {
	n := min(len(list), 1)
	for n > 0 && n < len(list) && list[n].compare(&list[0]) == 0 {
		n++
	}
	return n
}

func posts(list []end) (n uint64) {
	for i := range list {
		n += list[i].posts
	}
	return n
}

// log2 returns the least k with 1<<k >= n.
func log2(n int) uint8 { return uint8(bits.Len(uint(max(n, 1) - 1))) }
