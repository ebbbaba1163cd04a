package ccg

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// sealed appends the check sum that a damaged body would have to have, so that
// damage reaches the code after it.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, castagnoli))
}

// sealedLocal gives the two parts of a location's segment their check sums.
func sealedLocal(body []byte) []byte {
	b := slices.Clone(body)
	if n := StructureSize(b); n >= LocalHead+4 && n <= len(b) {
		binary.LittleEndian.PutUint32(b[n-4:], crc32.Checksum(b[:n-4], castagnoli))
		if streams := b[n:]; len(streams) >= 4 {
			binary.LittleEndian.PutUint32(streams[len(streams)-4:], crc32.Checksum(streams[:len(streams)-4], castagnoli))
		}
	}
	return b
}

// acceptable fails unless an error is one of the announced ones.
func acceptable(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrLimit) {
		t.Fatalf("unannounced error: %v", err)
	}
}

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
	m := makeGraph(f, 3, 300, true, Options{})
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
func plainUnits(g *graph) (tupleUnit, nodeUnit []byte) {
	p := newPartEncoder(false)
	p.tuples(nil, g.tuples, 0)
	tupleUnit = slices.Clone(p.buf)
	p.nodes(nil, g.nodes, 1)
	return tupleUnit, slices.Clone(p.buf)
}

// section puts a shared section together from two parts.
func section(fan byte, nTuples, nNodes uint64, units ...[]byte) []byte {
	s := append([]byte(sharedMagic), formatVersion, modeLossless, fan, 16, 0)
	s = binary.AppendUvarint(s, nTuples)
	s = binary.AppendUvarint(s, nNodes)
	for _, u := range units {
		start := len(s)
		s = column.AppendPlain(s, u)
		s = binary.LittleEndian.AppendUint32(s, crc32.Checksum(s[start:], castagnoli))
	}
	return s
}

func FuzzShared(f *testing.F) {
	m := makeGraph(f, 3, 60, true, Options{})
	tu, nu := plainUnits(&m.shared.graph)
	f.Add(byte(16), uint64(m.shared.graph.tuples.len()), uint64(m.shared.Nodes()), tu, nu, m.blobs[1][:len(m.blobs[1])-4])
	small := build(f, m.defs, 1, player("ab.c.b.c.!?d.d"), Options{}, 9)
	one := join(f, m.defs, []*Local{small}, Options{})
	blob, err := NewDistributor(one).Distribute(small)
	if err != nil {
		f.Fatal(err)
	}
	tu, nu = plainUnits(&one.graph)
	f.Add(byte(16), uint64(one.graph.tuples.len()), uint64(one.Nodes()), tu, nu, blob[:len(blob)-4])
	f.Fuzz(func(t *testing.T, fan byte, nTuples, nNodes uint64, tu, nu, body []byte) {
		s, err := OpenShared(m.defs, section(fan, nTuples, nNodes, tu, nu))
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
		u := NewUnion(m.defs, &Encodings{}, Options{})
		r := u.Receive()
		err = r.Add(section(fan, nTuples, nNodes, tu, nu)[9:])
		acceptable(t, err)
		_ = r.Close()
	})
}

func FuzzLocal(f *testing.F) {
	m := makeGraph(f, 3, 200, true, Options{})
	for _, l := range m.locals {
		b, err := l.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, d := range []Deviation{{Abs: 2, Num: 1, Den: 10}, {Abs: 9, TimeStamps: true}} {
		locals, book := lossy(f, m.defs, []*trace.Batch{player("ab.c.b.c.!?d.d")}, Options{Deviation: d})
		q, err := book.Quantise(locals[0])
		if err != nil {
			f.Fatal(err)
		}
		for _, l := range []*Local{locals[0], q} {
			b, _ := l.AppendBinary(nil)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := OpenLocal(sealedLocal(body))
		acceptable(t, err)
		if err != nil {
			return
		}
		p := NewPartners(m.defs)
		p.Add(l)
		u := NewUnion(m.defs, p.Choose(), l.opt)
		err = u.Add(l)
		acceptable(t, err)
		if err != nil {
			return
		}
		s := u.Shared()
		h := NewGapHistogram(m.defs, l.opt.Deviation)
		if err := h.Add(l); err != nil {
			acceptable(t, err)
			return
		}
		if !l.opt.Deviation.Lossless() {
			if err := s.SetCodebook(h.Choose()); err != nil {
				t.Fatal(err)
			}
		}
		_, err = NewDistributor(s).Distribute(l)
		acceptable(t, err)
	})
}

func FuzzPartners(f *testing.F) {
	m := makeGraph(f, 3, 300, false, Options{})
	p := NewPartners(m.defs)
	for _, l := range m.locals {
		p.Add(l)
	}
	b, _ := p.AppendBinary(nil)
	f.Add(b)
	b, _ = p.Choose().AppendBinary(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := OpenPartners(m.defs, data)
		acceptable(t, err)
		if err == nil {
			p.Choose()
		}
		e, err := OpenEncodings(data)
		acceptable(t, err)
		if err == nil {
			_, _ = e.AppendBinary(nil)
		}
	})
}

// FuzzEvents makes events of bytes: what the builder accepts must come back.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("\x0c\x01\x0e\x02\x0d\x01"))
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(10 + r.IntN(80))
		}
		f.Add(b)
	}
	defs := testDefs(3)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newScript(3, 1, 3, true)
		for len(data) >= 2 {
			k, x := trace.Kind(data[0]), data[1]
			data = data[2:]
			switch k {
			case trace.Enter, trace.Leave:
				s.event(k, uint32(x%6))
			case trace.CallingContextEnter:
				s.event(k, 0, uint64(x%6), uint64(x>>6))
			case trace.CallingContextLeave:
				s.event(k, 0, uint64(x%6))
			default:
				s.record(k, int(x%3))
			}
			if e := &s.b.Events[len(s.b.Events)-1]; x > 240 && e.Flags == 0 {
				s.attributes(s.r)
			}
		}
		o := Options{Fold: 8, Fan: 3}
		l := build(t, defs, 1, &s.b, o, 7)
		g := join(t, defs, []*Local{l}, o)
		blob, err := NewDistributor(g).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := OpenLocation(g, blob)
		if err != nil {
			t.Fatal(err)
		}
		if i, ok := sameEvents(&s.b, expand(t, loc)); !ok {
			t.Fatalf("event %d differs", i)
		}
	})
}
