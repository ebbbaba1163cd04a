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
	hash  uint64
	power uint64 // base to the number of calls that count
	calls uint64 // all of them
}

// then returns the sequence of a and b in a row.
func (a sequence) then(b sequence) sequence {
	return sequence{addMod(mulMod(a.hash, b.power), b.hash), mulMod(a.power, b.power), a.calls + b.calls}
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
				s[i].hash, s[i].power = k%prime, base
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
