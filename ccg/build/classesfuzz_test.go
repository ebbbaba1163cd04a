package build

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// framed returns a part's bytes, uncompressed.
func framed(unit []byte) []byte {
	b := column.AppendPlain(nil, unit)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, graph.Castagnoli))
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
	o := m.shared.Opt
	var units [][]byte
	graph.NewClassEncoder(&m.shared.Graph, m.shared.Classes, o.Fan, false).Each(func(part []byte) bool {
		units = append(units, slices.Clone(unframed(part)))
		return true
	})
	for _, b := range m.blobs {
		f.Add(units[0], units[1], b[:len(b)-4])
	}
	known := ClassModes{make([]bool, m.shared.Nodes()+1)}
	for id, table := range m.shared.Classes.Tables {
		known.table[id] = table != nil
	}
	f.Fuzz(func(t *testing.T, modes, rows, body []byte) {
		src := append(framed(modes), framed(rows)...)
		in := NewClassBuilder(m.shared, known).Receive()
		acceptable(t, in.Add(src))
		acceptable(t, in.Close())
		c, _, err := graph.ReadClasses(src, &m.shared.Graph, o.Fan, 1<<26)
		acceptable(t, err)
		if err != nil {
			return
		}
		s := &graph.Shared{Defs: m.defs, Opt: o, Encoding: m.shared.Encoding, Graph: m.shared.Graph, Classes: c}
		s.Encode()
		l, err := ccg.OpenLocation(s, sealed(body))
		acceptable(t, err)
		if err == nil {
			exercise(t, l)
			acceptable(t, ccg.Check(s, func(yield func(*ccg.Location, error) bool) { yield(l, nil) }))
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
