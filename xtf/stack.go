package xtf

// Stack visits the calls that are open at t, that is with T <= t < End,
// innermost first, until visit returns false. It is a search for the call
// entered last at or before t and a climb over parents, so it costs one descent
// and at most two pages for each call above. The row is valid during the call.
// Arrays that are not calls have no such rows.
func (a *Array) Stack(t uint64, visit func(n uint64, row []byte) bool) error {
	if a.typ.ID != TypeCall {
		return nil
	}
	pos, ok, err := a.Search(t, LE)
	if err != nil || !ok {
		return err
	}
	var row []byte
	for n := pos.N; ; {
		if row, err = a.Row(n, row); err != nil {
			return err
		}
		if U64(row, CallEnd) > t && !visit(n, row) {
			return nil
		}
		parent := U64(row, CallParent)
		if parent == Never {
			return nil
		}
		if parent >= n { // the climb ends for any bytes
			return a.where(corrupt("row %d has row %d as parent", n, parent), "page", n/uint64(a.typ.PageRows))
		}
		n = parent
	}
}
