package xtf

import "fmt"

// FirstOwnType is the first id that version 1 leaves to others.
const FirstOwnType TypeID = 0x8000

// With returns a table that also holds t, a row type of the caller's own, in the
// page form of the others. Its id is FirstOwnType or above; geometry, page size
// and codec are filled in. Files carry their types, so every reader reads such
// rows.
func (tt *TypeTable) With(t Type) (*TypeTable, error) {
	last := tt.types[len(tt.types)-1].ID
	switch {
	case t.ID < FirstOwnType || t.ID <= last:
		return nil, fmt.Errorf("xtf: type %d: own types have ids from %d on, in ascending order", t.ID, FirstOwnType)
	case t.RowBytes <= 0 || t.RowBytes > maxRowBytes || len(t.Name) > 255 || len(tt.types) == maxTypes ||
		len(t.Columns) == 0 || len(t.Columns) > maxColumns || len(t.Sums) > maxSums:
		return nil, fmt.Errorf("xtf: type %d: %d bytes a row, %d columns, %d sums are beyond the format's limits",
			t.ID, t.RowBytes, len(t.Columns), len(t.Sums))
	}
	t.PageSize = 0
	if tt.align != smallAlign {
		t.PageSize = int(tt.align)
	}
	setGeometry(&t)
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("xtf: %w", err)
	}
	types := append(append([]Type(nil), tt.types...), t)
	return &TypeTable{types: types, align: tt.align}, nil
}
