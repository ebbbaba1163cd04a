package cluster

import "math/bits"

// A tile is the distances of at most edge by edge vectors, and slab the entries of each that are used at once: the
// rows of both sides fit the first-level cache for short vectors, the second for long ones.
const (
	edge = 32
	slab = 1024
)

// rows are vectors of one panel, one after the other, width entries each. sum is what the entries of a row sum up to,
// modulo 2^64.
type rows struct {
	data  []int64
	width int
	sum   []uint64
}

func (r rows) row(i int) []int64 { return r.data[i*r.width : (i+1)*r.width] }

// slice returns the rows [from, to).
func (r rows) slice(from, to int) rows {
	return rows{r.data[from*r.width : to*r.width], r.width, r.sum[from:to]}
}

// every returns a copy of every step-th row, from first on.
func (r rows) every(first, step int) rows {
	x := rows{width: r.width}
	for i := first; i < len(r.sum); i += step {
		x.data, x.sum = append(x.data, r.row(i)...), append(x.sum, r.sum[i])
	}
	return x
}

func newRows(data []int64, width int) rows {
	r := rows{data: data, width: width, sum: make([]uint64, len(data)/width)}
	for i := range r.sum {
		for _, x := range r.row(i) {
			r.sum[i] += uint64(x)
		}
	}
	return r
}

// tile holds sums over the entries of a panel: for L1 of the distances, for L2 of their squares. hi is used for
// squares that do not fit 64 bits. four is room for four rows side by side, so that a loop needs one pointer for them.
type tile struct {
	lo, hi [edge * edge]uint64
	four   [slab][4]int64
}

// fill computes the pairs of rows [a0, a1) of a and [b0, b1) of b, at most edge each.
func (t *tile) fill(m measure, a rows, a0, a1 int, b rows, b0, b1 int) {
	clear(t.lo[:(a1-a0)*edge])
	if m == squaresWide {
		clear(t.hi[:(a1-a0)*edge])
	}
	for from := 0; from < a.width; from += slab {
		to := min(from+slab, a.width)
		i := a0
		for ; m != squaresWide && i+4 <= a1; i += 4 {
			t.lines4(m, a, i, (i-a0)*edge, b, b0, b1, from, to)
		}
		for ; i < a1; i++ {
			t.line(m, a.row(i)[from:to], (i-a0)*edge, b, b0, b1, from)
		}
	}
	if m != absolutes {
		return
	}
	for i := a0; i < a1; i++ { // Σ|x−y| = 2·Σmax(x,y) − Σx − Σy, which holds modulo 2^64 too
		lo, mine, sum := t.lo[(i-a0)*edge:][:b1-b0], a.sum[i], b.sum[b0:b1]
		for j := range lo {
			lo[j] = 2*lo[j] - mine - sum[j]
		}
	}
}

// lines4 is fill for the rows i to i+3, entries [from, to). Their sums start at at.
func (t *tile) lines4(m measure, a rows, i, at int, b rows, b0, b1, from, to int) {
	x := t.four[:to-from]
	for r := range 4 {
		for k, v := range a.row(i + r)[from:to] {
			x[k][r] = v
		}
	}
	sums := largest4
	if m == squares {
		sums = squares4
	}
	for j := b0; j < b1; j++ {
		s0, s1, s2, s3 := sums(x, b.row(j)[from:to])
		t.lo[at] += s0
		t.lo[at+edge] += s1
		t.lo[at+2*edge] += s2
		t.lo[at+3*edge] += s3
		at++
	}
}

// line is fill for one row, entries from on.
func (t *tile) line(m measure, x []int64, at int, b rows, b0, b1, from int) {
	for j := b0; j < b1; j++ {
		y := b.row(j)[from : from+len(x)]
		switch m {
		case absolutes:
			t.lo[at] += largest(x, y)
		case squares:
			t.lo[at] += squareSum(x, y)
		case squaresWide:
			hi, lo := squareWide(x, y)
			var c uint64
			t.lo[at], c = bits.Add64(t.lo[at], lo, 0)
			t.hi[at] += hi + c
		}
		at++
	}
}

// measure says what a tile sums up.
type measure uint8

const (
	absolutes   measure = iota // |x−y|
	squares                    // (x−y)², below 2^64 in all
	squaresWide                // (x−y)², below 2^128
)

// largest sums up the larger of each pair of entries, modulo 2^64.
func largest(x, y []int64) uint64 {
	var s uint64
	y = y[:len(x)]
	for i, a := range x {
		s += uint64(max(a, y[i]))
	}
	return s
}

// largest4 is largest for four rows with the same y: the processor works on four sums at once.
func largest4(x [][4]int64, y []int64) (s0, s1, s2, s3 uint64) {
	y = y[:len(x)]
	for i := range x {
		b := y[i]
		s0 += uint64(max(x[i][0], b))
		s1 += uint64(max(x[i][1], b))
		s2 += uint64(max(x[i][2], b))
		s3 += uint64(max(x[i][3], b))
	}
	return s0, s1, s2, s3
}

// squareSum sums up squared differences that fit 64 bits in all.
func squareSum(x, y []int64) uint64 {
	var s uint64
	y = y[:len(x)]
	for i, a := range x {
		d := uint64(a - y[i])
		s += d * d
	}
	return s
}

// squares4 is squareSum for four rows with the same y.
func squares4(x [][4]int64, y []int64) (s0, s1, s2, s3 uint64) {
	y = y[:len(x)]
	for i := range x {
		b := y[i]
		d0, d1, d2, d3 := x[i][0]-b, x[i][1]-b, x[i][2]-b, x[i][3]-b
		s0 += uint64(d0 * d0)
		s1 += uint64(d1 * d1)
		s2 += uint64(d2 * d2)
		s3 += uint64(d3 * d3)
	}
	return s0, s1, s2, s3
}

// squareWide sums up squared differences that fit 128 bits in all.
func squareWide(x, y []int64) (hi, lo uint64) {
	y = y[:len(x)]
	for i, a := range x {
		hi, lo = plusSquare(hi, lo, apart(a, y[i]))
	}
	return hi, lo
}
