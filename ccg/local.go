package ccg

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

const segmentMagic = "CCGb"

// Local is the graph of one location by itself, with its streams: the result of
// a Builder, immutable, an entry of a segment store.
type Local struct {
	p           trace.P
	opt         Options
	first, last trace.Time
	events      uint64
	graph       graph
	gaps        []byte
	values      []byte
	payload     []byte

	quantised bool // gaps are stored ones, within opt.Deviation
	errors    ErrorStats
}

// P returns the location.
func (l *Local) P() trace.P { return l.p }

// Nodes returns the number of nodes.
func (l *Local) Nodes() int { return l.graph.nodes.len() }

// AppendBinary appends the location as a segment: head, structure, streams, and
// the CRC-32C of all.
func (l *Local) AppendBinary(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = append(append(dst, segmentMagic...), formatVersion, l.opt.Deviation.mode())
	dst = l.opt.append(dst)
	dst = varint.Append(dst,
		uint64(l.p), uint64(l.first), uint64(l.last-l.first), l.events,
		uint64(l.graph.tuples.len()), uint64(l.graph.nodes.len()),
	)
	dst = l.appendQuantised(dst)
	dst = appendParts(dst, &l.graph, false)
	dst = slices.Grow(dst, len(l.gaps)+len(l.values)+len(l.payload)+3*binary.MaxVarintLen64+crc32.Size)
	for _, b := range [][]byte{l.gaps, l.values, l.payload} {
		dst = binary.AppendUvarint(dst, uint64(len(b)))
		dst = append(dst, b...)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// OpenLocal reads what AppendBinary wrote. The streams stay in src, which must
// not change while the Local is in use.
func OpenLocal(src []byte) (*Local, error) {
	l, err := openLocal(src)
	if err != nil {
		return nil, fmt.Errorf("call graph: segment of a location: %w", err)
	}
	return l, nil
}

func openLocal(src []byte) (*Local, error) {
	if len(src) < 4 || crc32.Checksum(src[:len(src)-4], castagnoli) != binary.LittleEndian.Uint32(src[len(src)-4:]) {
		return nil, fmt.Errorf("check sum: %w", ErrCorrupt)
	}
	r := reader{varint.Read(src[:len(src)-4])}
	lossy, err := r.magic(segmentMagic)
	if err != nil {
		return nil, err
	}
	l := &Local{opt: r.options(lossy), p: trace.P(r.Uint32()), first: trace.Time(r.Next())}
	l.last = l.first + trace.Time(r.Next())
	l.events = r.Next()
	nTuples, nNodes := r.Next(), r.Next()
	r.quantised(l)
	if r.Failed() || l.last < l.first {
		return nil, fmt.Errorf("header: %w", ErrCorrupt)
	}
	var rest []byte
	if l.graph, rest, err = readParts(r.Rest(), nTuples, nNodes, l.opt.Fan, memoryLimit(len(src))); err != nil {
		return nil, err
	}
	r = reader{varint.Read(rest)}
	l.gaps, l.values, l.payload = r.Block(), r.Block(), r.Block()
	if !r.Done() || l.Nodes() == 0 || l.graph.nodes.kind(uint32(l.Nodes())) != kindRoot {
		return nil, fmt.Errorf("streams: %w", ErrCorrupt)
	}
	return l, nil
}
