package ccg

import (
	"errors"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
)

// exerciseQueries asks a location everything, from events in its middle.
func exerciseQueries(t *testing.T, l *Location) {
	t.Helper()
	x := l.Index()
	c := x.Cursor()
	half := l.Events() / 2
	check := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrRange) {
			acceptable(t, err)
		}
	}
	check(c.SeekEvent(half))
	_, err := c.Open(nil)
	check(err)
	middle := c.Time()
	for range 50 {
		c.Prev()
	}
	for range 100 {
		c.Next()
	}
	check(c.Err())
	_, err = x.Interval(l.First(), middle)
	check(err)
	_, err = x.Timeline(l.First(), 2*middle, 20)
	check(err)
	_, err = x.Call(1, half)
	check(err)
	_, err = x.CallDurations(1)
	check(err)
	_, err = l.GapDurations(1)
	check(err)
	var p PathProfile
	check(p.Add(l))
	_, err = p.Paths()
	check(err)
}

// FuzzQueries asks damaged blobs of lossless and lossy graphs.
func FuzzQueries(f *testing.F) {
	defs := ccgtest.Definitions(2)
	var graphs []*graph.Shared
	for _, o := range []graph.Options{{Fan: 4}, {Fan: 4, Deviation: graph.Deviation{Abs: 1 << 40}}} {
		m := &made{defs: defs}
		for p := range uint32(2) {
			m.streams = append(m.streams, boundLengths(ccgtest.NewScript(5, p, 2, true).Stream(1200)))
		}
		m.finish(f, o)
		for _, b := range m.blobs {
			f.Add(b[:len(b)-4], len(graphs) > 0)
		}
		graphs = append(graphs, m.shared)
	}
	f.Fuzz(func(t *testing.T, body []byte, lossy bool) {
		s := graphs[0]
		if lossy {
			s = graphs[1]
		}
		l, err := OpenLocation(s, sealed(body))
		acceptable(t, err)
		if err == nil && l.Events() <= 1<<16 {
			exerciseQueries(t, l)
		}
	})
}
