package ccg

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// columnSums caches decoded blocks of a location's columns as running sums, up to cacheBytes.
type columnSums struct {
	loc     *Location
	columns []*runningSums // of each column; nil if not used yet
	bytes   int
}

// runningSums are sums of prefixes of a column.
type runningSums struct {
	before []uint64   // of all values before each block, and of all values
	prefix [][]uint64 // of each block: of its first 1, 2, ... values; nil if not decoded
}

// cacheBytes is the most bytes of decoded blocks; then all are dropped: 2*10^6 values.
const cacheBytes = 16 << 20

// before returns the sum of the first i values of column c, from the heads and, for a part of a block, from that block. It fails if the sum
// of a column exceeds 64 bits.
func (x *columnSums) before(c int32, i uint64) (uint64, error) {
	if i == 0 {
		return 0, nil
	}
	if i > x.loc.cols[c].Len() {
		return 0, x.loc.damaged("position after the end of a column")
	}
	k, err := x.open(c)
	if err != nil {
		return 0, err
	}
	b, r := i/column.BlockSize, i%column.BlockSize
	if r == 0 {
		return k.before[b], nil
	}
	p, err := x.block(c, k, b)
	if err != nil {
		return 0, err
	}
	return k.before[b] + p[r-1], nil
}

func (x *columnSums) value(c int32, i uint64) (uint64, error) {
	if i >= x.loc.cols[c].Len() {
		return 0, x.loc.damaged("position after the end of a column")
	}
	k, err := x.open(c)
	if err != nil {
		return 0, err
	}
	p, err := x.block(c, k, i/column.BlockSize)
	if err != nil {
		return 0, err
	}
	r := i % column.BlockSize
	if r == 0 {
		return p[0], nil
	}
	return p[r] - p[r-1], nil
}

func (x *columnSums) block(c int32, k *runningSums, b uint64) ([]uint64, error) {
	if p := k.prefix[b]; p != nil {
		return p, nil
	}
	return x.decode(c, k, int(b))
}

// open adds up the heads of a column, once.
func (x *columnSums) open(c int32) (*runningSums, error) {
	if x.columns == nil {
		x.columns = make([]*runningSums, len(x.loc.cols))
	}
	if k := x.columns[c]; k != nil {
		return k, nil
	}
	col := &x.loc.cols[c]
	k := &runningSums{before: make([]uint64, 1, len(col.Heads())+1), prefix: make([][]uint64, col.Blocks())}
	sum := uint64(0)
	for _, h := range col.Heads() {
		if !addTimes(&sum, h.SumLo, 1) || h.SumHi != 0 {
			return nil, x.tooLarge(c)
		}
		k.before = append(k.before, sum)
	}
	x.columns[c] = k
	return k, nil
}

func (x *columnSums) tooLarge(c int32) error {
	return fmt.Errorf("call graph: location %d, column %d: a sum of more than 64 bits: %w", x.loc.p, c, graph.ErrLimit)
}

// decode decodes a block and compares it with its head, from which the sums of whole blocks come.
func (x *columnSums) decode(c int32, k *runningSums, b int) ([]uint64, error) {
	if x.bytes > cacheBytes {
		for _, o := range x.columns {
			if o != nil {
				clear(o.prefix)
			}
		}
		x.bytes = 0
	}
	col := &x.loc.cols[c]
	v := make([]uint64, min(col.Len()-uint64(b)*column.BlockSize, column.BlockSize))
	if _, err := col.Decode(b, v); err != nil {
		return nil, x.loc.columnError(int(c), err)
	}
	sum := uint64(0)
	for i, w := range v {
		var carry uint64
		if sum, carry = bits.Add64(sum, w, 0); carry != 0 {
			return nil, x.tooLarge(c)
		}
		v[i] = sum
	}
	if h := col.Heads(); h != nil && h[b].SumLo != sum {
		return nil, x.loc.damaged("a block's head does not fit its values")
	}
	k.prefix[b] = v
	x.bytes += 8 * len(v)
	return v, nil
}
