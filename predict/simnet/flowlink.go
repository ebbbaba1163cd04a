package simnet

import (
	"cmp"
	"math/bits"
	"slices"
)

// noChannel is where a port to receive leads from which nobody sends.
const noChannel = 1<<32 - 1

// link finds the channels of the processes of a worker: every port to send of theirs, and of all processes every one that
// leads to them, is joined with the port that receives. Each worker does so for itself, from the program alone. It costs
// O(ports of all processes), and sorting those of a process.
func (w *worker) link() error {
	all := len(w.code.program.Roots)
	l := linker{w: w, start: make([]uint32, all+1)}
	total := uint64(0)
	for p := range w.procs {
		total += uint64(len(w.code.kinds[w.procs[p].kind].sends))
	}
	if err := w.eachSend(func(_, _, _, dst uint32, own bool) {
		l.start[dst]++
		if !own {
			total++
		}
	}); err != nil {
		return err
	}
	if total >= noChannel {
		return programError("more than 2^32 channels")
	}
	w.chans = make([]channel, 0, total)
	for p := range w.procs {
		n := len(w.chans) + len(w.code.kinds[w.procs[p].kind].sends)
		for i := len(w.chans); i < n; i++ {
			w.chans = append(w.chans, channel{flags: null})
		}
	}
	sum := uint32(0)
	for i, n := range l.start {
		l.start[i] = sum
		sum += n
	}
	l.ids = make([]uint32, sum)
	if err := l.collect(); err != nil {
		return err
	}
	from := uint32(0)
	for dst := range all {
		to := l.start[dst] // which now is the end
		if err := l.match(uint32(dst), l.ids[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// eachSend calls f for each port to send of a process of the worker, and each other that leads to one.
func (w *worker) eachSend(f func(src, index, port, dst uint32, own bool)) error {
	c := w.code
	for q, root := range c.program.Roots {
		src := uint32(q)
		own := w.owns(src)
		for i, port := range c.kinds[c.kindOf[root]].sends {
			dst, ok, err := c.partner(&c.ports[port], src)
			if err != nil {
				return err
			}
			if ok && (own || w.owns(dst)) {
				f(src, uint32(i), port, dst, own)
			}
		}
	}
	return nil
}

// linker holds the channels by destination while they are joined.
type linker struct {
	w            *worker
	start        []uint32 // of each process: where the channels that lead to it begin in ids
	ids          []uint32
	sends, recvs []end
}

// end is one port of a process.
type end struct {
	comm, src, tag uint32
	id             uint32 // channel; of a port to receive, its index
	posts          uint64
}

func (a *end) compare(b *end) int {
	return cmp.Or(cmp.Compare(a.comm, b.comm), cmp.Compare(a.src, b.src), cmp.Compare(a.tag, b.tag))
}

// collect makes the channels and lists them by destination. Until they are joined, ring is the port.
func (l *linker) collect() error {
	w, c := l.w, l.w.code
	var failed error
	err := w.eachSend(func(src, index, port, dst uint32, own bool) {
		id := uint32(len(w.chans))
		if own {
			id = w.procs[src-w.lo].sendBase + index
		} else {
			w.chans = append(w.chans, channel{})
		}
		l.ids[l.start[dst]] = id
		l.start[dst]++
		class := uint32(c.network.Class(src, dst))
		use := &c.kinds[c.kindOf[c.program.Roots[src]]].out[index]
		ch := channel{
			ring: port, src: src, dst: dst, cost: use.size + class, far: index, flags: chanFlags(class),
			lat: c.network.Latency(src, dst), limLog: w.limLog,
		}
		if ch.lat < 0 || ch.lat > largest {
			failed = programError("the latency from process %d to %d is longer than 13 days", src, dst)
		}
		switch {
		case use.sync, use.usesStandard && !c.costs[use.standard+class].eager:
			ch.flags |= rendezvous | wide
		case use.mixed:
			ch.flags |= wide
		}
		if !use.waited {
			ch.flags |= unwaited
		}
		if !own {
			ch.flags |= fromFar
		} else if !w.owns(dst) {
			ch.flags |= toFar
		}
		w.chans[id] = ch
	})
	return cmp.Or(err, failed)
}

// match joins the channels that lead to dst with its ports to receive. The first of those with equal names stands for all.
func (l *linker) match(dst uint32, ids []uint32) error {
	w, c := l.w, l.w.code
	own := w.owns(dst)
	if !own && len(ids) == 0 {
		return nil
	}
	l.sends, l.recvs = l.sends[:0], l.recvs[:0]
	for _, id := range ids {
		ch := &w.chans[id]
		at := &c.ports[ch.ring]
		use := &c.kinds[c.kindOf[c.program.Roots[ch.src]]].out[ch.far]
		l.sends = append(l.sends, end{at.comm, ch.src, at.tag, id, use.posts})
	}
	k := &c.kinds[c.kindOf[c.program.Roots[dst]]]
	for i, port := range k.recvs {
		at := &c.ports[port]
		src, ok, err := c.partner(at, dst)
		if err != nil {
			return err
		}
		if ok {
			l.recvs = append(l.recvs, end{at.comm, src, at.tag, uint32(i), k.in[i]})
		}
	}
	slices.SortStableFunc(l.sends, func(a, b end) int { return a.compare(&b) })
	slices.SortStableFunc(l.recvs, func(a, b end) int { return a.compare(&b) })
	r := l.recvs
	for s := l.sends; len(s) > 0; {
		for len(r) > 0 && r[0].compare(&s[0]) < 0 {
			n := same(r)
			l.unmatched(own, r[:n])
			r = r[n:]
		}
		n, m := same(s), 0
		if len(r) > 0 && r[0].compare(&s[0]) == 0 {
			m = same(r)
		}
		l.join(dst, s[:n], r[:m])
		s, r = s[n:], r[m:]
	}
	l.unmatched(own, r)
	return nil
}

// same returns how many ends have the name of the first.
func same(list []end) int {
	n := 1
	for n < len(list) && list[n].compare(&list[0]) == 0 {
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

func (l *linker) unmatched(own bool, list []end) {
	if own {
		l.w.unpaired += posts(list)
	}
}

// join makes one channel of ends with one name; there may be none that receives.
func (l *linker) join(dst uint32, sends, recvs []end) {
	w := l.w
	id := sends[0].id
	ch := &w.chans[id]
	for _, s := range sends[1:] {
		other := &w.chans[s.id]
		if other.cost != ch.cost {
			ch.flags |= wide
		}
		ch.flags |= other.flags & (wide | rendezvous)
		ch.flags &= other.flags | ^unwaited
		other.flags, other.ring = alias, id
		if w.owns(ch.src) {
			w.procs[ch.src-w.lo].aliases = true
		}
	}
	ch.ring = 0
	if ch.flags&wide == 0 {
		ch.capLog = 1
	}
	if len(recvs) == 0 {
		ch.flags |= null
		l.unmatched(w.owns(dst), sends)
		return
	}
	if ns, nr := posts(sends), posts(recvs); ns != nr {
		ch.flags |= tailed
		w.tails[id] = &tail{limit: min(ns, nr)}
		if w.owns(dst) {
			w.unpaired += max(ns, nr) - min(ns, nr)
		}
	}
	if ch.flags&toFar != 0 {
		ch.far = recvs[0].id
	}
	if w.owns(dst) {
		p := &w.procs[dst-w.lo]
		p.aliases = p.aliases || len(recvs) > 1
		for _, r := range recvs {
			w.recvEnd[p.recvBase+r.id] = id
		}
	}
}

// log2 returns the least k with 1<<k >= n.
func log2(n int) uint8 { return uint8(bits.Len(uint(max(n, 1) - 1))) }
