package xtf

// Each calls visit for the rows n1 to n2-1 in ascending order until visit returns false. It decodes each page once and leaves it in the
// cache, unlike a Cursor. visit must not change the row.
func (a *Array) Each(n1, n2 uint64, visit func(n uint64, row []byte) bool) error {
	n2 = min(n2, a.desc.rows)
	var cost Stats
	defer func() { a.count(cost) }()
	z, r := uint64(a.typ.PageRows), a.typ.RowBytes
	for n := n1; n < n2; {
		rows, err := a.pageData(n/z, &cost)
		if err != nil {
			return err
		}
		end := min((n/z+1)*z, n2)
		for at := int(n%z) * r; n < end; n, at = n+1, at+r {
			if !visit(n, rows[at:at+r:at+r]) {
				return nil
			}
		}
	}
	return nil
}

// SumSeries has the sums of an array at ascending instants. The sums at T[i] are Sums[i*K : (i+1)*K].
type SumSeries struct {
	K    int
	T    []uint64
	Sums []uint64
}

// Along returns the sums at the first keys of at most most+1 pages, which are evenly spaced among the pages from t1 to t2. The first
// instant is at or before t1 if there are rows before t1, and the last is at or after t2 if there are rows after t2. Between two instants a
// sum only grows. Cost: two descents, and the index and aux pages of level 1; no rows are read.
func (x Sums) Along(t1, t2 uint64, most int) (*SumSeries, error) {
	a := x.a
	s := &SumSeries{K: len(a.desc.totals)}
	if t1 >= t2 || a.desc.rows == 0 || s.K == 0 {
		return s, nil
	}
	var cost Stats
	defer func() { a.count(cost) }()
	first, err := a.leaf(t1, false, &cost)
	if err != nil {
		return nil, err
	}
	last, err := a.leaf(t2, true, &cost)
	if err != nil {
		return nil, err
	}
	step := (last.ord - first.ord + 1) / uint64(max(most, 1))
	if (last.ord-first.ord+1)%uint64(max(most, 1)) != 0 {
		step++
	}
	for j := first.ord; j <= last.ord; j += step {
		if err := x.addInstant(s, j, &cost); err != nil {
			return nil, err
		}
	}
	return s, x.addInstant(s, last.ord+1, &cost)
}

// addInstant adds the sums at the first key of data page j, or at the end of the
// array.
func (x Sums) addInstant(s *SumSeries, j uint64, cost *Stats) error {
	a := x.a
	at := max(a.desc.maxEnd, a.desc.last)
	switch fanout := uint64(a.typ.Fanout); {
	case j == 0:
		at = a.desc.first
	case j < uint64(a.desc.levels[0].pages):
		pg, err := a.index(1, j/fanout, 0, true, cost)
		if err != nil {
			return err
		}
		at = le.Uint64(pg.bytes[8*(j%fanout):])
	}
	sums, err := a.prefix(j, cost)
	if err == nil {
		s.T, s.Sums = append(s.T, at), append(s.Sums, sums...)
	}
	return err
}
