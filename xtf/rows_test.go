package xtf

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
)

// rowForm is the typed form of a row.
type rowForm interface {
	Put(dst []byte)
	Load(src []byte)
}

// TestRowForms compares the typed forms of rows with the columns that files
// describe: the fields are the columns, in their order.
func TestRowForms(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	forms := map[TypeID]func() rowForm{
		TypeCall: func() rowForm { return &Call{} }, TypeP2P: func() rowForm { return &P2P{} }, TypeColl: func() rowForm { return &Coll{} },
		TypeIO: func() rowForm { return &IO{} }, TypeRMA: func() rowForm { return &RMA{} }, TypeMetric: func() rowForm { return &Metric{} },
		TypeWait: func() rowForm { return &Wait{} }, TypeIval: func() rowForm { return &Ival{} }, TypeCPath: func() rowForm { return &CPath{} },
		TypeChannel: func() rowForm { return &Channel{} }, TypeTile: func() rowForm { return &Tile{} }, TypeTimeBin: func() rowForm { return &TimeBin{} },
		TypeComp: func() rowForm { return &Comp{} }, TypeDelay: func() rowForm { return &Delay{} }, TypeDiag: func() rowForm { return &Diag{} },
		TypeWaitSum: func() rowForm { return &WaitSum{} }, TypeInterval: func() rowForm { return &Interval{} }, TypeStat: func() rowForm { return &Stat{} },
		TypeClass: func() rowForm { return &ClassRow{} }, TypeMember: func() rowForm { return &Member{} }, TypeMerge: func() rowForm { return &Merge{} },
		TypePath: func() rowForm { return &Path{} }, TypeWaitTotal: func() rowForm { return &WaitTotal{} },
		TypeDelayTotal: func() rowForm { return &DelayTotal{} }, TypePathTotal: func() rowForm { return &PathTotal{} },
		TypeGroup: func() rowForm { return &Group{} }, TypeClassSum: func() rowForm { return &ClassSum{} },
		TypeChan: func() rowForm { return &Chan{} }, TypeDirectory: func() rowForm { return &DirRow{} },
	}
	for _, typ := range StandardTypes(Packed).types {
		form := forms[typ.ID]
		row := make([]byte, typ.RowBytes)
		for i := range row {
			row[i] = byte(r.Uint32())
		}
		x := form()
		x.Load(row)
		var fields []uint64
		for v, i := reflect.ValueOf(x).Elem(), 0; i < v.NumField(); i++ {
			f := v.Field(i)
			if f.Kind() != reflect.Array {
				fields = append(fields, f.Uint())
				continue
			}
			for j := range f.Len() {
				fields = append(fields, f.Index(j).Uint())
			}
		}
		if len(fields) != len(typ.Columns) {
			t.Errorf("%s: %d fields, %d columns", typ.Name, len(fields), len(typ.Columns))
			continue
		}
		for i, c := range typ.Columns {
			if fields[i] != c.Value(row) {
				t.Errorf("%s: field %d is not column %s", typ.Name, i, c.Name)
			}
		}
		again := make([]byte, typ.RowBytes)
		if x.Put(again); !bytes.Equal(again, row) {
			t.Errorf("%s: %x becomes %x", typ.Name, row, again)
		}
	}
}
