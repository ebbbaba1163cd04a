package waits

import (
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// journalBlock is the number of records in a block.
const journalBlock = 512

// journal is a list of records of one width. The newest block is in memory, those before in a sink. Memory: two blocks, and 8 bytes for
// each block.
type journal struct {
	to     xtf.Sink
	width  int     // bytes
	blocks []int64 // offsets of full blocks
	newest []byte
	buf    []byte // the block read last
	err    error
}

// again returns an empty journal in the same memory.
func (j *journal) again(to xtf.Sink, width int) journal {
	return journal{to: to, width: width, blocks: j.blocks[:0], newest: j.newest[:0], buf: j.buf[:0]}
}

// add adds a record and returns its bytes, which the caller fills before the next call.
func (j *journal) add() []byte {
	if len(j.newest) == journalBlock*j.width {
		at, err := j.to.Append(j.newest)
		if j.err == nil {
			j.err = err
		}
		j.blocks, j.newest = append(j.blocks, at), j.newest[:0]
	}
	n := len(j.newest)
	j.newest = slices.Grow(j.newest, j.width)[:n+j.width]
	return j.newest[n:]
}

// len returns the number of blocks.
func (j *journal) len() int { return len(j.blocks) + 1 }

// block returns the records of a block, valid until the next call; none after an error, which is in err.
func (j *journal) block(i int) []byte {
	if i == len(j.blocks) {
		return j.newest
	}
	j.buf = slices.Grow(j.buf[:0], journalBlock*j.width)[:journalBlock*j.width]
	if k, err := j.to.ReadAt(j.buf, j.blocks[i]); err != nil && (k != len(j.buf) || err != io.EOF) && j.err == nil {
		j.err = fmt.Errorf("waits: records at %d: %w", j.blocks[i], err)
	}
	if j.err != nil {
		return nil
	}
	return j.buf
}
