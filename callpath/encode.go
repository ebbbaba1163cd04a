package callpath

import (
	"encoding/binary"
	"errors"
)

var errDamaged = errors.New("callpath: a damaged tree of call paths")

// AppendBinary appends t as variable-length integers: the level from which on it
// is cut off, the number of paths, then for each but path 0 the distance to its
// parent and its region.
func (t *Tree) AppendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.end))
	b = binary.AppendUvarint(b, uint64(len(t.paths)))
	for n := 1; n < len(t.paths); n++ {
		b = binary.AppendUvarint(b, uint64(uint32(n)-t.paths[n].Parent))
		b = binary.AppendUvarint(b, uint64(t.paths[n].Region))
	}
	return b
}

// Parse reads a tree of at most MaxUnion paths that takes all of b.
func Parse(b []byte) (*Tree, error) {
	end, w := binary.Uvarint(b)
	if w <= 0 || end == 0 || end > MaxLevel+1 {
		return nil, errDamaged
	}
	b = b[w:]
	count, w := binary.Uvarint(b)
	if w <= 0 || count == 0 || count > MaxUnion || count-1 > uint64(len(b)-w)/2 {
		return nil, errDamaged
	}
	b = b[w:]
	t := &Tree{paths: make([]Path, 1, count), newest: make([]uint32, count), end: uint32(end)}
	t.paths[0] = Path{Parent: None, Region: None}
	seen := make(map[uint64]uint32, count)
	for n := uint64(1); n < count; n++ {
		back, w := binary.Uvarint(b)
		if w <= 0 || back == 0 || back > n {
			return nil, errDamaged
		}
		region, v := binary.Uvarint(b[w:])
		if v <= 0 || region > uint64(None) {
			return nil, errDamaged
		}
		b = b[w+v:]
		parent := uint32(n - back)
		key := childKey(parent, uint32(region))
		if _, twice := seen[key]; twice || uint64(t.paths[parent].Level)+1 >= end {
			return nil, errDamaged
		}
		seen[key] = uint32(n)
		t.paths = append(t.paths, Path{Parent: parent, Region: uint32(region), Level: t.paths[parent].Level + 1})
	}
	if len(b) > 0 {
		return nil, errDamaged
	}
	t.children = seen
	return t, nil
}
