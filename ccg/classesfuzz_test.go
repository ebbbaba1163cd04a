package ccg

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// lossyGraph makes a lossy graph of random streams, with its blobs.
func lossyGraph(t testing.TB, n int, step uint64) *made {
	t.Helper()
	o := Options{Fan: 4, Deviation: testBound}
	m := &made{defs: testDefs(3)}
	m.locals = lossyLocals(t, m.defs, 6, n, o, step)
	m.shared = classed(t, m.defs, m.locals, o)
	for _, l := range m.locals {
		blob, err := NewDistributor(m.shared).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := OpenLocation(m.shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		m.blobs, m.locs = append(m.blobs, blob), append(m.locs, loc)
	}
	return m
}

// framed returns a part's bytes, uncompressed.
func framed(unit []byte) []byte {
	b := column.AppendPlain(nil, unit)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// unframed is the inverse of framed.
func unframed(part []byte) []byte {
	for range 2 {
		_, n := binary.Uvarint(part)
		part = part[n:]
	}
	return part[:len(part)-4]
}

// FuzzClasses reads class tables of a good structure, and a location with them.
func FuzzClasses(f *testing.F) {
	m := lossyGraph(f, 800, 64)
	o := m.shared.opt
	var units [][]byte
	newClassEncoder(&m.shared.graph, m.shared.classes, o.Fan, false).each(func(part []byte) bool {
		units = append(units, slices.Clone(unframed(part)))
		return true
	})
	for _, b := range m.blobs {
		f.Add(units[0], units[1], b[:len(b)-4])
	}
	known := ClassModes{make([]bool, m.shared.Nodes()+1)}
	for id, table := range m.shared.classes.tables {
		known.table[id] = table != nil
	}
	f.Fuzz(func(t *testing.T, modes, rows, body []byte) {
		src := append(framed(modes), framed(rows)...)
		in := NewClassBuilder(m.shared, known).Receive()
		acceptable(t, in.Add(src))
		acceptable(t, in.Close())
		c, _, err := readClasses(src, &m.shared.graph, o.Fan, 1<<26)
		acceptable(t, err)
		if err != nil {
			return
		}
		s := &Shared{defs: m.defs, opt: o, encoding: m.shared.encoding, graph: m.shared.graph, classes: c}
		s.Encode()
		l, err := OpenLocation(s, sealed(body))
		acceptable(t, err)
		if err == nil {
			exercise(t, l)
			acceptable(t, Check(s, func(yield func(*Location, error) bool) { yield(l, nil) }))
		}
	})
}

// FuzzGapCounts reads counts and modes.
func FuzzGapCounts(f *testing.F) {
	m := lossyGraph(f, 300, 64)
	c := NewGapCounts(m.shared)
	for _, l := range m.locals {
		if err := c.Add(l); err != nil {
			f.Fatal(err)
		}
	}
	b, _ := c.AppendBinary(nil)
	f.Add(b)
	b, _ = c.Choose().AppendBinary(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := OpenGapCounts(m.shared, data)
		acceptable(t, err)
		if err == nil {
			c.Merge(c)
			modes := c.Choose()
			b, _ := modes.AppendBinary(nil)
			if _, err := OpenClassModes(m.shared, b); err != nil {
				t.Fatal(err)
			}
		}
		modes, err := OpenClassModes(m.shared, data)
		acceptable(t, err)
		if err == nil {
			NewClassBuilder(m.shared, modes).Shared().Encode()
		}
	})
}

// TestCheckFindsBadClasses damages what only Check can see.
func TestCheckFindsBadClasses(t *testing.T) {
	m := lossyGraph(t, 4000, 64)
	big := uint32(0) // a node with several rows
	for id, table := range m.shared.classes.tables {
		if table != nil && table.rows > 2 && table.gapsPerRow > 0 {
			big = uint32(id)
		}
	}
	if big == 0 {
		t.Fatal("no table of several rows")
	}
	for _, c := range []struct {
		name, want string
		damage     func(t *classTable)
	}{
		{"none", "", func(*classTable) {}},
		{"twice", "there twice", func(t *classTable) {
			t.gaps, t.kids = append(t.gaps, t.gaps[:t.gapsPerRow]...), append(t.kids, t.kids[:t.kidsPerRow]...)
			t.rows++
		}},
		{"unused", "are used", func(t *classTable) {
			gaps := slices.Clone(t.gaps[:t.gapsPerRow])
			gaps[t.gapsPerRow-1] += 1 << 50
			t.gaps, t.kids = append(t.gaps, gaps...), append(t.kids, t.kids[:t.kidsPerRow]...)
			t.rows++
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			damaged := *m.shared.classes.tables[big]
			damaged.gaps, damaged.kids = slices.Clone(damaged.gaps), slices.Clone(damaged.kids)
			c.damage(&damaged)
			s := &Shared{defs: m.defs, opt: m.shared.opt, encoding: m.shared.encoding, graph: m.shared.graph}
			s.classes = &classes{tables: slices.Clone(m.shared.classes.tables)}
			s.classes.tables[big] = &damaged
			err := Check(s, func(yield func(*Location, error) bool) {
				for _, b := range m.blobs {
					if l, err := OpenLocation(s, b); !yield(l, err) {
						return
					}
				}
			})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestMarks compares the marks with the times, and lets Check find a bad one.
func TestMarks(t *testing.T) {
	defs := testDefs(1)
	for _, n := range []int{1024, 1025, 2048, 2049, 5000} {
		b := &trace.Batch{}
		for i := range n {
			b.Append(trace.Time(50+i*i), trace.ParameterString, 0, 1, uint64(i%3))
		}
		l := build(t, defs, 0, b, Options{}, 100)
		s := join(t, defs, []*Local{l}, Options{})
		blob, err := NewDistributor(s).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := OpenLocation(s, blob)
		if err != nil {
			t.Fatal(err)
		}
		each := func(yield func(*Location, error) bool) { yield(loc, nil) }
		if err := Check(s, each); err != nil {
			t.Fatal(err)
		}
		marks := (n - 1) / markEvery
		if v := loc.view; (v.marks >= 0) != (marks > 0) || marks > 0 && v.cols[v.marks].count != uint64(marks) {
			t.Fatalf("%d events: marks in column %d", n, v.marks)
		}
		if marks == 0 {
			continue
		}
		var enc column.Encoder
		values := make([]uint64, marks)
		values[marks-1] = 7
		bad, err := column.Parse(enc.Append(nil, values))
		if err != nil {
			t.Fatal(err)
		}
		loc.cols[loc.view.marks] = bad
		if err := Check(s, each); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d events, bad mark: %v", n, err)
		}
	}
}
