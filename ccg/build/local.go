package build

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

const segmentMagic = "CCGb"

// Local is the graph of one location with its streams. A Builder makes it, and a segment store keeps it. It does not change.
type Local struct {
	p           trace.P
	opt         graph.Options
	first, last trace.Time
	events      uint64
	graph       graph.Graph
	gaps        []byte
	values      []byte
	payload     []byte

	quantised bool // gaps are stored values, within opt.Deviation
	errors    graph.ErrorStats
}

// P returns the location.
func (l *Local) P() trace.P { return l.p }

// Nodes returns the number of nodes.
func (l *Local) Nodes() int { return l.graph.Nodes.Len() }

// LocalHead is the number of bytes of a segment that StructureSize needs.
const LocalHead = sizeAt + 8

const sizeAt = len(segmentMagic) + 2

// AppendBinary appends the location as a segment: head and structure, then the streams, each part with its CRC-32C.
func (l *Local) AppendBinary(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = append(append(dst, segmentMagic...), graph.FormatVersion, l.opt.Deviation.Mode(), 0, 0, 0, 0, 0, 0, 0, 0)
	dst = l.opt.Append(dst)
	dst = varint.Append(dst,
		uint64(l.p), uint64(l.first), uint64(l.last-l.first), l.events,
		uint64(l.graph.Tuples.Len()), uint64(l.graph.Nodes.Len()),
	)
	dst = l.appendQuantised(dst)
	dst = graph.AppendParts(dst, &l.graph, false)
	binary.LittleEndian.PutUint64(dst[start+sizeAt:], uint64(len(dst)-start+crc32.Size))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], graph.Castagnoli))
	start = len(dst)
	dst = slices.Grow(dst, len(l.gaps)+len(l.values)+len(l.payload)+3*binary.MaxVarintLen64+crc32.Size)
	for _, b := range [][]byte{l.gaps, l.values, l.payload} {
		dst = binary.AppendUvarint(dst, uint64(len(b)))
		dst = append(dst, b...)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], graph.Castagnoli)), nil
}

// StructureSize returns the number of bytes at the start of a segment that OpenLocal needs for the structure without the streams. head is
// the first LocalHead bytes.
func StructureSize(head []byte) int {
	if len(head) < LocalHead {
		return 0
	}
	return int(min(binary.LittleEndian.Uint64(head[sizeAt:]), math.MaxInt))
}

// OpenLocal parses what AppendBinary returned. If src has only the bytes up to StructureSize, the streams are empty. The streams stay in
// src, which must not change while the Local is used.
func OpenLocal(src []byte) (_ *Local, err error) {
	defer graph.Wrap(&err, "call graph: segment of a location")
	r := graph.Read(src)
	lossy, err := r.Magic(segmentMagic)
	if err != nil {
		return nil, err
	}
	size := StructureSize(src)
	if size < LocalHead+crc32.Size || size > len(src) {
		return nil, fmt.Errorf("structure of %d bytes: %w", size, graph.ErrCorrupt)
	}
	structure, err := checked(src[:size])
	if err != nil {
		return nil, err
	}
	r = graph.Read(structure[LocalHead:])
	l := &Local{opt: r.Options(lossy), p: trace.P(r.Uint32()), first: trace.Time(r.Next())}
	l.last = l.first + trace.Time(r.Next())
	l.events = r.Next()
	nTuples, nNodes := r.Next(), r.Next()
	l.takeQuantised(&r)
	if r.Failed() || l.last < l.first {
		return nil, fmt.Errorf("header: %w", graph.ErrCorrupt)
	}
	var rest []byte
	if l.graph, rest, err = graph.ReadParts(r.Rest(), nTuples, nNodes, l.opt.Fan, graph.MemoryLimit(len(src))); err != nil {
		return nil, err
	}
	if len(rest) > 0 || l.Nodes() == 0 || l.graph.Nodes.Kind(uint32(l.Nodes())) != graph.KindRoot {
		return nil, fmt.Errorf("structure: %w", graph.ErrCorrupt)
	}
	if src = src[size:]; len(src) == 0 {
		return l, nil
	}
	if src, err = checked(src); err != nil {
		return nil, err
	}
	r = graph.Read(src)
	if l.gaps, l.values, l.payload = r.Block(), r.Block(), r.Block(); !r.Done() {
		return nil, fmt.Errorf("streams: %w", graph.ErrCorrupt)
	}
	return l, nil
}

// checked returns b without the checksum at its end, after comparing it.
func checked(b []byte) ([]byte, error) {
	n := len(b) - crc32.Size
	if n < 0 || crc32.Checksum(b[:n], graph.Castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, fmt.Errorf("check sum: %w", graph.ErrCorrupt)
	}
	return b[:n], nil
}
