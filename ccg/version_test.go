package ccg

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"
)

// TestVersion: parts of another version or mode are refused by name, docs/format/README.md.
func TestVersion(t *testing.T) {
	m := makeGraph(t, 2, 20, true, Options{})
	section := m.shared.Encode()
	for _, at := range []int{len(sharedMagic), len(sharedMagic) + 1} {
		for _, x := range []struct {
			part string
			b    []byte
			open func(b []byte) error
		}{
			{"shared", section, func(b []byte) error { _, err := OpenShared(m.defs, b); return err }},
			{"location", m.blobs[0], func(b []byte) error { _, err := OpenLocation(m.shared, b); return err }},
		} {
			b := slices.Clone(x.b)
			b[at] += 7
			if body := b[:len(b)-4]; x.part == "location" {
				b = binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
			}
			if err := x.open(b); !errors.Is(err, ErrVersion) {
				t.Errorf("%s part, byte %d: %v", x.part, at, err)
			}
		}
	}
}
