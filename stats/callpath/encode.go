package callpath

import (
	"errors"

	"github.com/coppice-hpc/coppice/internal/varint"
)

var errDamaged = errors.New("callpath: a damaged tree of call paths")

// AppendBinary appends t as variable-length integers: the level from which on it is cut off, the number of paths, then for each path
// except path 0 the distance to its parent, and its region.
func (t *Tree) AppendBinary(b []byte) []byte {
	b = varint.Append(b, uint64(t.end), uint64(len(t.paths)))
	for n := 1; n < len(t.paths); n++ {
		b = varint.Append(b, uint64(uint32(n)-t.paths[n].Parent), uint64(t.paths[n].Region))
	}
	return b
}

// Parse decodes a tree of at most MaxUnion paths that takes all of b.
func Parse(b []byte) (*Tree, error) {
	r := varint.Read(b)
	end, count := r.AtMost(MaxLevel+1), r.AtMost(MaxUnion)
	if end == 0 || count == 0 || count-1 > uint64(r.Len())/2 {
		return nil, errDamaged
	}
	t := &Tree{paths: make([]Path, 1, count), end: uint32(end)}
	t.paths[0] = Path{Parent: None, Region: None}
	seen := make(map[uint64]uint32, count)
	for n := uint64(1); n < count; n++ {
		back, region := r.AtMost(n), r.Uint32()
		if r.Failed() || back == 0 {
			return nil, errDamaged
		}
		parent := uint32(n - back)
		key := childKey(parent, region)
		if _, twice := seen[key]; twice || uint64(t.paths[parent].Level)+1 >= end {
			return nil, errDamaged
		}
		seen[key] = uint32(n)
		t.paths = append(t.paths, Path{Parent: parent, Region: region, Level: t.paths[parent].Level + 1})
	}
	if !r.Done() {
		return nil, errDamaged
	}
	t.children = seen
	return t, nil
}
