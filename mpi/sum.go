package mpi

import "math"

// Sums are exact. Every value is split as v = hi*2^32 + lo with 0 <= lo < 2^32. The sums of either half cannot overflow on fewer than 2^31
// ranks, and combined they show whether the sum fits 64 bits.

func splitSum(v []int64) []int64 {
	w := make([]int64, 2*len(v))
	for i, x := range v {
		w[2*i], w[2*i+1] = x>>32, x&math.MaxUint32
	}
	return w
}

// joinSum combines the halves. ok is false if a sum does not fit; v is then unchanged.
func joinSum(v, w []int64) (ok bool) {
	for i := range v {
		if hi := w[2*i] + w[2*i+1]>>32; hi < math.MinInt32 || hi > math.MaxInt32 {
			return false
		}
	}
	for i := range v {
		hi := w[2*i] + w[2*i+1]>>32
		v[i] = hi<<32 | w[2*i+1]&math.MaxUint32
	}
	return true
}

// combine reduces src into dst.
func combine(dst, src []int64, op Op) {
	switch op {
	case Sum:
		for i, x := range src {
			dst[i] += x
		}
	case Min:
		for i, x := range src {
			dst[i] = min(dst[i], x)
		}
	case Max:
		for i, x := range src {
			dst[i] = max(dst[i], x)
		}
	case BitOr:
		for i, x := range src {
			dst[i] |= x
		}
	}
}

// storeReduced stores the result in v.
func storeReduced(v, out []int64, op Op) error {
	if op == Sum {
		sums := make([]int64, len(v))
		if !joinSum(sums, out) {
			return errf("allreduce", ErrOverflow, "a sum does not fit 64 bits")
		}
		out = sums
	}
	copy(v, out)
	return nil
}
