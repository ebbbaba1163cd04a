package predict

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// prime is 2^61 - 1.
const prime = 1<<61 - 1

// base is that of the polynomials that sequences are hashed with: any number below the prime.
const base = 0x1555_5AAA_9E37_79B9 % prime

// mulMod returns a*b modulo the prime, for a and b below it.
func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return addMod(lo&prime, hi<<3|lo>>61)
}

// addMod returns a+b modulo the prime, for a and b up to it.
func addMod(a, b uint64) uint64 {
	s := a + b
	if s >= prime {
		s -= prime
	}
	return s
}

// sequence is what is known of the calls of a node in a row: their number and the value of the polynomial whose coefficients
// they are (Rabin 1981). It depends on the calls alone, not on how loops are written, so processes that do the same in
// different loops have the same.
type sequence struct {
	hash    uint64
	power   uint64 // base to the number of calls that count
	counted uint64 // these
	calls   uint64 // all
}

// then returns the sequence of a and b in a row.
func (a sequence) then(b sequence) sequence {
	return sequence{addMod(mulMod(a.hash, b.power), b.hash), mulMod(a.power, b.power), a.counted + b.counted, a.calls + b.calls}
}

// repeated returns the sequence of n times a in a row.
func (a sequence) repeated(n uint64) sequence {
	r := sequence{power: 1}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r = r.then(a)
		}
		a = a.then(a)
	}
	return r
}

// sequences returns the sequence of each node of a program, given the key of each call; 0 is a call that does not count.
func sequences(p *simnet.Program, keys []uint64) []sequence {
	s := make([]sequence, len(p.Nodes))
	for i, n := range p.Nodes {
		switch n.Kind {
		case simnet.Call:
			s[i] = sequence{power: 1, calls: 1}
			if k := keys[i]; k != 0 {
				s[i].hash, s[i].power, s[i].counted = k%prime, base, 1
			}
		case simnet.Seq:
			r := sequence{power: 1}
			for _, c := range p.Children[n.First : n.First+n.Len] {
				r = r.then(s[c])
			}
			s[i] = r
		case simnet.Loop:
			s[i] = s[p.Children[n.First]].repeated(n.Count)
		}
	}
	return s
}

// rope goes through the calls of a process without writing its loops out: its position is the next node of the program, which
// is passed or entered.
type rope struct {
	p     *simnet.Program
	stack []ropePlace // the last one is next
}

// ropePlace is a node, so many times as it follows itself.
type ropePlace struct {
	node simnet.NodeID
	left uint64
}

func newRope(p *simnet.Program, root simnet.NodeID) *rope {
	return &rope{p, []ropePlace{{root, 1}}}
}

// top returns the next node and how often it comes; false at the end.
func (r *rope) top() (ropePlace, bool) {
	if len(r.stack) == 0 {
		return ropePlace{}, false
	}
	return r.stack[len(r.stack)-1], true
}

// skip passes the next node n times.
func (r *rope) skip(n uint64) {
	top := &r.stack[len(r.stack)-1]
	if top.left -= n; top.left == 0 {
		r.stack = r.stack[:len(r.stack)-1]
	}
}

// enter goes into the next node, which is not a call.
func (r *rope) enter() {
	n := &r.p.Nodes[r.stack[len(r.stack)-1].node]
	r.skip(1)
	if n.Kind == simnet.Loop {
		r.stack = append(r.stack, ropePlace{r.p.Children[n.First], n.Count})
		return
	}
	for i := n.Len; i > 0; i-- {
		r.stack = append(r.stack, ropePlace{r.p.Children[n.First+i-1], 1})
	}
}

// next returns the next call; false at the end.
func (r *rope) next() (simnet.NodeID, bool) {
	for {
		top, ok := r.top()
		if !ok {
			return 0, false
		}
		if r.p.Nodes[top.node].Kind == simnet.Call {
			r.skip(1)
			return top.node, true
		}
		r.enter()
	}
}

// equalSequences compares the calls that count of two processes, one after the other, passing over what both have. It takes
// O(calls) steps at most, and few where loops are alike.
func equalSequences(p *simnet.Program, s []sequence, keys []uint64, a, b simnet.NodeID) bool {
	x, y := newRope(p, a), newRope(p, b)
	for {
		u, more := x.ahead(s)
		v, most := y.ahead(s)
		switch {
		case !more || !most:
			return more == most
		case u.node == v.node:
			n := min(u.left, v.left)
			x.skip(n)
			y.skip(n)
		case s[u.node].counted == 1 && s[v.node].counted == 1 && p.Nodes[u.node].Kind == simnet.Call && p.Nodes[v.node].Kind == simnet.Call:
			if keys[u.node] != keys[v.node] {
				return false
			}
			n := min(u.left, v.left)
			x.skip(n)
			y.skip(n)
		case p.Nodes[u.node].Kind != simnet.Call && (s[u.node].counted >= s[v.node].counted || p.Nodes[v.node].Kind == simnet.Call):
			x.enter()
		default:
			y.enter()
		}
	}
}

// ahead passes nodes without calls that count, and returns the next one that has some.
func (r *rope) ahead(s []sequence) (ropePlace, bool) {
	for {
		top, ok := r.top()
		if !ok || s[top.node].counted > 0 {
			return top, ok
		}
		r.skip(top.left)
	}
}
