package recording

import "math/bits"

// mulDiv returns x*y/z, rounded down, for z > 0; a result that does not fit 63 bits is the largest there is.
func mulDiv(x, y, z int64) int64 {
	negative := (x < 0) != (y < 0)
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if hi >= uint64(z) {
		if negative {
			return -1<<63 + 1
		}
		return 1<<63 - 1
	}
	q, r := bits.Div64(hi, lo, uint64(z))
	if q > 1<<63-2 {
		q, r = 1<<63-2, 0
	}
	if !negative {
		return int64(q)
	}
	if r > 0 {
		q++
	}
	return -int64(q)
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
