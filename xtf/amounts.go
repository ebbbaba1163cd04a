package xtf

import "encoding/binary"

// amounts are the columns that readers add up, over rows and over locations.
var amounts = map[TypeID][]int{
	TypeComp: {8}, TypeStat: {8, 48, 56}, TypeTimeBin: {24, 32, 40}, TypeChannel: {32}, TypeWaitSum: {24}, TypeDelay: {16, 24},
	TypeWaitTotal: {24, 32}, TypeDelayTotal: {16, 24, 32}, TypePathTotal: {16, 24},
}

// checkAmounts refuses rows with more than Most allows, so that readers add up without looking. What stands for several
// locations, a process's or all that one has caused, has the limit of all of them.
func (a *Array) checkAmounts(rows []byte) error {
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
			if v := binary.LittleEndian.Uint64(rows[at+c:]); v > most {
				return corrupt("%s of %d, where sums hold %d", a.typ.columnAt(c), v, most)
			}
		}
	}
	return nil
}

func (t *Type) columnAt(offset int) string {
	for _, c := range t.Columns {
		if c.Offset == offset {
			return c.Name
		}
	}
	return ""
}
