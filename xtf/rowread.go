package xtf

import "fmt"

// At returns the key of row n (the first column, for arrays without order): at
// most two pages, one without compression.
func (a *Array) At(n uint64) (uint64, error) {
	pg, slot, err := a.row(n)
	if err != nil {
		return 0, err
	}
	return pg.key(a.typ, slot), nil
}

// Row copies row n into dst, grown if needed, and returns it. Its page is decoded as a whole, and stays so in the cache.
func (a *Array) Row(n uint64, dst []byte) ([]byte, error) {
	pg, slot, err := a.row(n)
	if err != nil {
		return nil, err
	}
	rows, err := a.decoded(pg)
	if err != nil {
		return nil, a.where(err, "page", n/uint64(a.typ.PageRows))
	}
	r := a.typ.RowBytes
	return append(dst[:0], rows[slot*r:(slot+1)*r]...), nil
}

func (a *pages) row(n uint64) (*page, int, error) {
	if n >= a.desc.rows {
		return nil, 0, fmt.Errorf("xtf: proc %d array %s: row %d of %d does not exist", a.proc, a.typ.Name, n, a.desc.rows)
	}
	z := uint64(a.typ.PageRows)
	ord := n / z
	var t tally
	pg, err := a.data(ord, &t)
	a.count(t)
	return pg, int(n - ord*z), err
}

// decoded returns the rows of a data page, decoding them once.
func (a *pages) decoded(pg *page) ([]byte, error) {
	if pg.codec == CodecRaw {
		return pg.bytes, a.checkAmounts(pg.bytes)
	}
	if rows := pg.rows.Load(); rows != nil {
		return *rows, nil
	}
	pg.once.Lock()
	defer pg.once.Unlock()
	if rows := pg.rows.Load(); rows != nil {
		return *rows, nil
	}
	rows := make([]byte, int(pg.count)*a.typ.RowBytes)
	dec := a.f.decoder()
	err := dec.rows(rows, a.typ, pg.codec, pg.bytes, int(pg.count), pg.firstN)
	a.f.decoders.Put(dec)
	if err == nil {
		err = a.checkAmounts(rows)
	}
	if err != nil {
		return nil, err
	}
	pg.rows.Store(&rows)
	if pg.key0 > 0 {
		a.f.cache.grow(pg.key0, pg, int64(len(rows)))
	}
	return rows, nil
}

// checkAmounts refuses rows with more than Most allows, so that readers add up without looking. What stands for several
// locations, a process's or all that one has caused, has the limit of all of them.
func (a *pages) checkAmounts(rows []byte) error {
	columns := amounts[a.typ.ID]
	if columns == nil {
		return nil
	}
	most := Most(1)
	if a.f.dir != nil && a.proc != WholeRun && a.typ.ID != TypeComp && a.typ.ID != TypeDelay {
		most = Most(int(a.f.Procs()))
	}
	for at := 0; at < len(rows); at += a.typ.RowBytes {
		for _, c := range columns {
			if v := le.Uint64(rows[at+c:]); v > most {
				return corrupt("%s of %d, where sums hold %d", a.typ.Columns[columnAt(a.typ.Columns, c)].Name, v, most)
			}
		}
	}
	return nil
}
