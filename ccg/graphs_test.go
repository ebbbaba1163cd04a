package ccg

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// openOne makes a graph of one location and opens it.
func openOne(t testing.TB, all *trace.Batch) *Location {
	t.Helper()
	defs := ccgtest.Definitions(8)
	l := built(t, defs, 0, all, graph.Options{}, 4096)
	s := join(t, defs, []*build.Local{l}, graph.Options{})
	blob, err := build.NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// made is a graph with its locations and the streams it was made from.
type made struct {
	defs    *trace.Definitions
	streams []*trace.Batch
	locals  []*build.Local
	shared  *graph.Shared
	blobs   [][]byte
	locs    []*Location
}

func (m *made) each() iter.Seq2[*Location, error] {
	return func(yield func(*Location, error) bool) {
		for _, l := range m.locs {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// boundLengths makes the messages of a stream small enough to add up.
func boundLengths(all *trace.Batch) *trace.Batch {
	for i := range all.Events {
		if e := &all.Events[i]; isMessage(e.Kind) {
			all.Words(e)[3] &= 1<<40 - 1
		}
	}
	return all
}

// built makes the graph of one location, feeding batches of step events.
func built(t testing.TB, defs *trace.Definitions, p trace.P, all *trace.Batch, o graph.Options, step int) *build.Local {
	t.Helper()
	b := build.NewBuilder(defs, p, o)
	for i := 0; i < len(all.Events); i += step {
		part := trace.Batch{First: uint64(i), Events: all.Events[i:min(i+step, len(all.Events))], Args: all.Args}
		if err := b.Add(&part); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// join makes the shared graph of locations without ranks.
func join(t testing.TB, defs *trace.Definitions, locals []*build.Local, o graph.Options) *graph.Shared {
	t.Helper()
	partners := build.NewPartners(defs)
	for _, l := range locals {
		partners.Add(l)
	}
	u := build.NewUnion(defs, partners.Choose(), o)
	for _, l := range locals {
		if err := u.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return u.Shared()
}

// expand returns all events of a location.
func expand(t testing.TB, l *Location) *trace.Batch {
	t.Helper()
	x := l.Expand()
	all := &trace.Batch{}
	var b trace.Batch
	for {
		err := x.Next(&b)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			e.Arg += uint32(len(all.Args))
			all.Events = append(all.Events, e)
		}
		all.Args = append(all.Args, b.Args...)
	}
}

// makeGraph makes the graph of random streams.
func makeGraph(t testing.TB, size uint32, n int, odd bool, o graph.Options) *made {
	t.Helper()
	m := &made{defs: ccgtest.Definitions(int(size))}
	for p := range size {
		m.streams = append(m.streams, ccgtest.NewScript(77, p, size, odd).Stream(n))
	}
	m.finish(t, o)
	return m
}

// lossyGraph makes a graph of random streams with class tables.
func lossyGraph(t testing.TB, n int, bound uint64) *made {
	t.Helper()
	m := &made{defs: ccgtest.Definitions(3)}
	for p := range uint32(3) {
		m.streams = append(m.streams, ccgtest.NewScript(6, p, 3, true).Stream(n))
	}
	m.finish(t, graph.Options{Fan: 4, Deviation: graph.Deviation{Abs: bound}})
	return m
}

// finish makes the graph of m's streams; if o is lossy, they get its times.
func (m *made) finish(t testing.TB, o graph.Options) {
	t.Helper()
	for p, all := range m.streams {
		m.locals = append(m.locals, built(t, m.defs, trace.P(p), all, o, 1000))
	}
	lossy := !o.Deviation.Lossless()
	if lossy {
		quantise(t, m.defs, m.locals, o)
	}
	m.shared = join(t, m.defs, m.locals, o)
	if lossy {
		m.shared = classed(t, m.shared, m.locals)
	}
	for p, l := range m.locals {
		blob, err := build.NewDistributor(m.shared).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := OpenLocation(m.shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		m.blobs, m.locs = append(m.blobs, blob), append(m.locs, loc)
		if lossy {
			m.streams[p] = expand(t, loc)
		}
	}
}

// quantise gives locations their stored gaps.
func quantise(t testing.TB, defs *trace.Definitions, locals []*build.Local, o graph.Options) {
	t.Helper()
	gaps := build.NewGapHistogram(defs, o.Deviation)
	for _, l := range locals {
		if err := gaps.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	book := gaps.Choose()
	for i, l := range locals {
		var err error
		if locals[i], err = book.Quantise(l); err != nil {
			t.Fatal(err)
		}
	}
}

// classed gives a graph class tables, as one rank does.
func classed(t testing.TB, s *graph.Shared, locals []*build.Local) *graph.Shared {
	t.Helper()
	counts := build.NewGapCounts(s)
	for _, l := range locals {
		if err := counts.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	b := build.NewClassBuilder(s, counts.Choose())
	for _, l := range locals {
		if err := b.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.Shared()
}

// sealed appends the check sum that a damaged body would have to have, so that
// damage reaches the code after it.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, graph.Castagnoli))
}

// acceptable fails unless an error is one of the announced ones.
func acceptable(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, graph.ErrCorrupt) && !errors.Is(err, graph.ErrVersion) && !errors.Is(err, graph.ErrLimit) {
		t.Fatalf("unannounced error: %v", err)
	}
}
