// Package callview opens files whose rows of calls take their times from the call graph. Package xtf does not know call graphs:
// it opens such a file too, but cannot read its rows of calls.
//
//	f, err := callview.OpenFile(path, xtf.Options{})
//
// # Memory
//
// The graphs of the most recently used locations are kept, in their stored form: up to a quarter of the budget of the page cache,
// and at least one.
package callview

import (
	"errors"
	"fmt"
	"sync"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// OpenFile opens the file at path.
func OpenFile(path string, o xtf.Options) (*xtf.File, error) {
	f, err := xtf.OpenFile(path, o)
	if err != nil {
		return nil, err
	}
	Attach(f, sync.OnceValues(func() (*graph.Shared, error) { return Shared(f) }))
	return f, nil
}

// Shared opens the part of the call graph that all locations share.
func Shared(f *xtf.File) (*graph.Shared, error) {
	d, err := Definitions(f)
	if err != nil {
		return nil, err
	}
	b, err := f.SectionBytes(xtf.KindCCG)
	if err != nil {
		return nil, err
	}
	return graph.OpenShared(d, b)
}

// Definitions reads the definitions of a file.
func Definitions(f interface {
	Definitions() ([]byte, error)
	Procs() uint32
},
) (*trace.Definitions, error) {
	b, err := f.Definitions()
	if err != nil {
		return nil, fmt.Errorf("definitions: %w", err)
	}
	return ParseDefinitions(b, f.Procs())
}

// ParseDefinitions reads the definitions of a file with so many locations.
func ParseDefinitions(b []byte, locations uint32) (*trace.Definitions, error) {
	d := &trace.Definitions{}
	if err := d.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("%w: %w", err, xtf.ErrCorrupt)
	}
	if uint64(d.NumLocations()) != uint64(locations) {
		return nil, fmt.Errorf("definitions: %d regions for %d locations: %w", locations, d.NumLocations(), xtf.ErrCorrupt)
	}
	return d, nil
}

// Attach makes the rows of calls of an open file readable. shared returns the part of the call graph that all locations share; it
// is called for the first such row.
func Attach(f *xtf.File, shared func() (*graph.Shared, error)) {
	f.SetCallTimes(&graphs{file: f, shared: shared, most: f.CacheBytes() / 4})
}

// graphs opens the call graphs of locations.
type graphs struct {
	file   *xtf.File
	shared func() (*graph.Shared, error)

	mu    sync.Mutex
	list  []entry // the most recently used one last
	bytes int64
	most  int64 // most bytes of the blobs
}

type entry struct {
	p        xtf.Proc
	location *ccg.Location
	bytes    int64
}

// Calls returns a reader of a location's calls.
func (g *graphs) Calls(p xtf.Proc) (xtf.CallReader, error) {
	l, err := g.location(p)
	if err != nil {
		return nil, err
	}
	s, err := l.Spans()
	if err != nil {
		return nil, damaged(err)
	}
	return reader{s}, nil
}

func (g *graphs) location(p xtf.Proc) (*ccg.Location, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, e := range g.list {
		if e.p == p {
			copy(g.list[i:], g.list[i+1:])
			g.list[len(g.list)-1] = e
			return e.location, nil
		}
	}
	shared, err := g.shared()
	if err != nil {
		return nil, damaged(err)
	}
	l, size, err := Location(g.file, shared, p)
	if err != nil {
		return nil, damaged(err)
	}
	g.list, g.bytes = append(g.list, entry{p, l, int64(size)}), g.bytes+int64(size)
	for g.bytes > g.most && len(g.list) > 1 {
		g.bytes -= g.list[0].bytes
		g.list = append(g.list[:0], g.list[1:]...)
	}
	return l, nil
}

// Blobs is a store of the call graphs of locations, such as a file.
type Blobs interface {
	BlobBytes(p xtf.Proc, kind uint32) ([]byte, error)
}

// Location opens the call graph of a location, and returns the size of its blob in bytes.
func Location(f Blobs, shared *graph.Shared, p xtf.Proc) (l *ccg.Location, size int, err error) {
	b, err := f.BlobBytes(p, xtf.KindCCGColumns)
	if err == nil {
		l, err = ccg.OpenLocation(shared, b)
	}
	if errors.Is(err, xtf.ErrNoSection) {
		err = fmt.Errorf("%w: %w", graph.ErrCorrupt, err)
	}
	if err == nil && l.P() != trace.P(p) {
		err = fmt.Errorf("it is of location number %d: %w", l.P(), graph.ErrCorrupt)
	}
	return l, len(b), err
}

// Origin returns the time of tick 0 of the rows of a location with events.
func Origin(f *xtf.File, l *ccg.Location) (trace.Time, error) {
	a, err := xtf.ArrayOf[xtf.Comp](f, xtf.Proc(l.P()))
	if err != nil {
		return 0, err
	}
	c, _, err := xtf.Find[xtf.Comp](a, xtf.NodeKey(0, uint32(xtf.ItemFirst))) // 0 has no row
	if err == nil && c.Value > uint64(l.First()) {
		err = fmt.Errorf("first event at tick %d, in the call graph at %d: %w", c.Value, l.First(), xtf.ErrCorrupt)
	}
	return l.First() - trace.Time(c.Value), err
}

// damaged marks an error of a damaged graph as damage of the rows.
func damaged(err error) error {
	for _, e := range []error{graph.ErrCorrupt, graph.ErrLimit, ccg.ErrRange} {
		if errors.Is(err, e) && !errors.Is(err, xtf.ErrCorrupt) {
			return fmt.Errorf("%w: call graph: %w", xtf.ErrCorrupt, err)
		}
	}
	return err
}

// reader reads the calls of one location.
type reader struct{ spans *ccg.Spans }

func (r reader) Read(event, first uint64, begin, end []uint64) error {
	return damaged(r.spans.Read(event, first, begin, end))
}
