package tracetest

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
