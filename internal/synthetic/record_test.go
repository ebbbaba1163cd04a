package synthetic

import "github.com/coppice-hpc/coppice/trace"

// record is one event with its fields.
type record struct {
	time   trace.Time
	kind   trace.Kind
	ref    uint32
	fields []uint64
}

// Equal compares events in tests.
func (r record) Equal(s record) bool {
	if r.time != s.time || r.kind != s.kind || r.ref != s.ref || len(r.fields) != len(s.fields) {
		return false
	}
	for i := range r.fields {
		if r.fields[i] != s.fields[i] {
			return false
		}
	}
	return true
}
