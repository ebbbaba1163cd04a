package xtf

// Stack calls visit for the calls that are open at t (T <= t < End), the innermost first, until visit returns false. It searches the last
// call entered at or before t and then goes from parent to parent. So it costs one descent and at most two pages for each call. visit must
// not keep the row. Arrays other than of calls have no such rows.
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
		if parent >= n { // so that the loop ends for any bytes
			return a.where(corrupt("row %d has row %d as parent", n, parent), "page", n/uint64(a.typ.PageRows))
		}
		n = parent
	}
}
