package build

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// sealed appends the check sum that a damaged body would have to have, so that
// damage reaches the code after it.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, graph.Castagnoli))
}

// sealedLocal gives the two parts of a location's segment their check sums.
func sealedLocal(body []byte) []byte {
	b := slices.Clone(body)
	if n := StructureSize(b); n >= LocalHead+4 && n <= len(b) {
		binary.LittleEndian.PutUint32(b[n-4:], crc32.Checksum(b[:n-4], graph.Castagnoli))
		if streams := b[n:]; len(streams) >= 4 {
			binary.LittleEndian.PutUint32(streams[len(streams)-4:], crc32.Checksum(streams[:len(streams)-4], graph.Castagnoli))
		}
	}
	return b
}

// acceptable fails unless an error is one of the announced ones.
func acceptable(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, graph.ErrCorrupt) && !errors.Is(err, graph.ErrVersion) && !errors.Is(err, graph.ErrLimit) {
		t.Fatalf("unannounced error: %v", err)
	}
}

func FuzzLocal(f *testing.F) {
	m := makeGraph(f, 3, 200, true, graph.Options{})
	for _, l := range m.locals {
		b, err := l.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, d := range []graph.Deviation{{Abs: 2, Num: 1, Den: 10}, {Abs: 9, TimeStamps: true}} {
		locals, book := lossy(f, m.defs, []*trace.Batch{ccgtest.Player("ab.c.b.c.!?d.d")}, graph.Options{Deviation: d})
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
		if !l.opt.Deviation.Lossless() && !l.quantised {
			l, err = h.Choose().Quantise(l)
			acceptable(t, err)
			if err != nil {
				return
			}
		}
		_, err = NewDistributor(s).Distribute(l)
		acceptable(t, err)
	})
}

func FuzzPartners(f *testing.F) {
	m := makeGraph(f, 3, 300, false, graph.Options{})
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
		e, err := graph.OpenEncodings(data)
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
	defs := ccgtest.Definitions(3)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := ccgtest.NewScript(3, 1, 3, true)
		for len(data) >= 2 {
			k, x := trace.Kind(data[0]), data[1]
			data = data[2:]
			switch k {
			case trace.Enter, trace.Leave:
				s.Event(k, uint32(x%6))
			case trace.CallingContextEnter:
				s.Event(k, 0, uint64(x%6), uint64(x>>6))
			case trace.CallingContextLeave:
				s.Event(k, 0, uint64(x%6))
			default:
				s.Record(k, int(x%3))
			}
			if e := &s.B.Events[len(s.B.Events)-1]; x > 240 && e.Flags == 0 {
				s.Attributes(s.R)
			}
		}
		o := graph.Options{Fold: 8, Fan: 3}
		l := built(t, defs, 1, &s.B, o, 7)
		g := join(t, defs, []*Local{l}, o)
		blob, err := NewDistributor(g).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := ccg.OpenLocation(g, blob)
		if err != nil {
			t.Fatal(err)
		}
		if i, ok := ccgtest.SameEvents(&s.B, expand(t, loc)); !ok {
			t.Fatalf("event %d differs", i)
		}
	})
}

// exercise reads a location, if it is short.
func exercise(t *testing.T, l *ccg.Location) {
	t.Helper()
	if l.Events() > 1<<16 {
		return
	}
	var p ccg.Profile
	acceptable(t, p.Add(l, true))
	_, err := l.Traffic()
	acceptable(t, err)
	_, err = l.Index().CallDurations(1)
	acceptable(t, err)
	var b trace.Batch
	for x := l.Expand(); err == nil; {
		err = x.Next(&b)
	}
	if err != io.EOF {
		acceptable(t, err)
	}
}
