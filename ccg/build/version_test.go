package build

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
)

// TestVersion: parts of another version or mode are refused by name, docs/format/README.md.
func TestVersion(t *testing.T) {
	m := makeGraph(t, 2, 20, true, graph.Options{})
	section := m.shared.Encode()
	for _, at := range []int{4, 5} {
		for _, x := range []struct {
			part string
			b    []byte
			open func(b []byte) error
		}{
			{"shared", section, func(b []byte) error { _, err := graph.OpenShared(m.defs, b); return err }},
			{"location", m.blobs[0], func(b []byte) error { _, err := ccg.OpenLocation(m.shared, b); return err }},
		} {
			b := slices.Clone(x.b)
			b[at] += 7
			if body := b[:len(b)-4]; x.part == "location" {
				b = binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, graph.Castagnoli))
			}
			if err := x.open(b); !errors.Is(err, graph.ErrVersion) {
				t.Errorf("%s part, byte %d: %v", x.part, at, err)
			}
		}
	}
}

// TestVersions refuses other versions and modes by name.
func TestVersions(t *testing.T) {
	m := makeGraph(t, 2, 50, false, graph.Options{})
	segment, err := m.locals[0].AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		b    []byte
		open func([]byte) error
	}{
		"section": {m.shared.Encode(), func(b []byte) error { _, err := graph.OpenShared(m.defs, b); return err }},
		"blob":    {m.blobs[0], func(b []byte) error { _, err := ccg.OpenLocation(m.shared, sealed(b[:len(b)-4])); return err }},
		"segment": {segment, func(b []byte) error { _, err := OpenLocal(sealedLocal(b)); return err }},
	} {
		if err := x.open(slices.Clone(x.b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for at, values := range map[int][]byte{4: {0, 1, 3, 255}, 5: {2, 255}} {
			for _, v := range values {
				b := slices.Clone(x.b)
				b[at] = v
				if err := x.open(b); !errors.Is(err, graph.ErrVersion) {
					t.Errorf("%s: byte %d is %d: %v", name, at, v, err)
				}
			}
		}
	}
}
