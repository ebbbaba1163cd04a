package ccg

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// exercise runs everything that reads a location, for a bounded time.
func exercise(t *testing.T, l *Location) {
	t.Helper()
	if l.Events() > 1<<16 {
		return
	}
	var p Profile
	acceptable(t, p.Add(l, true))
	_, err := l.Traffic()
	acceptable(t, err)
	exerciseQueries(t, l)
	x := l.Expand()
	var b trace.Batch
	n := uint64(0)
	for {
		err := x.Next(&b)
		if err != nil {
			if err != io.EOF {
				acceptable(t, err)
				return
			}
			break
		}
		n += uint64(len(b.Events))
	}
	if n != l.Events() {
		t.Fatalf("%d events, %d announced", n, l.Events())
	}
}

func FuzzLocation(f *testing.F) {
	m := makeGraph(f, 3, 300, true, graph.Options{})
	for _, b := range m.blobs {
		f.Add(b[:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := OpenLocation(m.shared, sealed(body))
		acceptable(t, err)
		if err == nil {
			exercise(t, l)
		}
	})
}

// plainUnits returns the first tuple part and node part of a graph, without
// frame.
func plainUnits(g *graph.Graph) (tupleUnit, nodeUnit []byte) {
	var units [][]byte
	for part := range graph.EachPart(g, false) {
		units = append(units, slices.Clone(unframed(part)))
	}
	return units[0], units[1]
}

// section puts a shared section together from two parts.
func section(fan byte, nTuples, nNodes uint64, units ...[]byte) []byte {
	s := append([]byte("CCGs"), graph.FormatVersion, 0, fan, 16, 0)
	s = binary.AppendUvarint(s, nTuples)
	s = binary.AppendUvarint(s, nNodes)
	for _, u := range units {
		start := len(s)
		s = column.AppendPlain(s, u)
		s = binary.LittleEndian.AppendUint32(s, crc32.Checksum(s[start:], graph.Castagnoli))
	}
	return s
}

func FuzzShared(f *testing.F) {
	m := makeGraph(f, 3, 60, true, graph.Options{})
	tu, nu := plainUnits(&m.shared.Graph)
	f.Add(byte(16), uint64(m.shared.Graph.Tuples.Len()), uint64(m.shared.Nodes()), tu, nu, m.blobs[1][:len(m.blobs[1])-4])
	small := built(f, m.defs, 1, ccgtest.Player("ab.c.b.c.!?d.d"), graph.Options{}, 9)
	one := join(f, m.defs, []*build.Local{small}, graph.Options{})
	blob, err := build.NewDistributor(one).Distribute(small)
	if err != nil {
		f.Fatal(err)
	}
	tu, nu = plainUnits(&one.Graph)
	f.Add(byte(16), uint64(one.Graph.Tuples.Len()), uint64(one.Nodes()), tu, nu, blob[:len(blob)-4])
	f.Fuzz(func(t *testing.T, fan byte, nTuples, nNodes uint64, tu, nu, body []byte) {
		s, err := graph.OpenShared(m.defs, section(fan, nTuples, nNodes, tu, nu))
		acceptable(t, err)
		if err != nil {
			return
		}
		s.Encode()
		l, err := OpenLocation(s, sealed(body))
		acceptable(t, err)
		if err == nil {
			exercise(t, l)
		}
		u := build.NewUnion(m.defs, &graph.Encodings{}, graph.Options{})
		r := u.Receive()
		err = r.Add(section(fan, nTuples, nNodes, tu, nu)[9:])
		acceptable(t, err)
		_ = r.Close()
	})
}

// unframed returns the bytes of an uncompressed part without its frame.
func unframed(part []byte) []byte {
	for range 2 {
		_, n := binary.Uvarint(part)
		part = part[n:]
	}
	return part[:len(part)-4]
}
