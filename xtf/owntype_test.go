package xtf

import (
	"slices"
	"testing"
)

func ownType(id TypeID) Type {
	return Type{ID: id, Name: "OWN", RowBytes: 12, Role: RoleT, End: -1, Columns: []Column{
		{"T", 0, 8, TransformNone}, {"value", 8, 4, TransformDelta},
	}}
}

func TestOwnType(t *testing.T) {
	for _, p := range []Profile{Packed, Raw4K} {
		tt, err := StandardTypes(p).With(ownType(FirstOwnType))
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]byte, 12*20000)
		for i := range 20000 {
			le.PutUint64(rows[12*i:], uint64(3*i))
			le.PutUint32(rows[12*i+8:], uint32(i*i))
		}
		f := openMem(t, buildFile(t, tt, []testRegion{{p: 0, arrays: []testArray{{FirstOwnType, rows}}}, {p: WholeRun}}))
		a, err := f.Array(0, FirstOwnType)
		if err != nil {
			t.Fatal(err)
		}
		pos, ok, err := a.Search(3*7001, First)
		if !ok || err != nil || pos.N != 7001 {
			t.Fatal(pos, ok, err)
		}
		row, err := a.Row(pos.N, nil)
		if err != nil || !slices.Equal(row, rows[12*7001:12*7002]) {
			t.Fatalf("row %x, %v", row, err)
		}
	}
}

func TestOwnTypeRefused(t *testing.T) {
	for name, change := range map[string]func(*Type){
		"reserved id":     func(t *Type) { t.ID = FirstOwnType - 1 },
		"no columns":      func(t *Type) { t.Columns = nil },
		"hole":            func(t *Type) { t.RowBytes++ },
		"too wide":        func(t *Type) { t.RowBytes = maxRowBytes + 1 },
		"no width":        func(t *Type) { t.RowBytes = 0 },
		"first column":    func(t *Type) { t.Columns[0].Transform = TransformDelta },
		"End of 4 bytes":  func(t *Type) { t.End = 1 },
		"sum of nothing":  func(t *Type) { t.Sums = []Sum{{"x", 7, -1, RuleAtT, nil}} },
		"filter on none":  func(t *Type) { t.Sums = []Sum{{"x", -1, -1, RuleAtT, []Term{{9, 1, 1}}}} },
		"too many sums":   func(t *Type) { t.Sums = make([]Sum, maxSums+1) },
		"name of 300":     func(t *Type) { t.Name = string(make([]byte, 300)) },
		"column too deep": func(t *Type) { t.Columns[1].Offset = 10 },
	} {
		own := ownType(FirstOwnType)
		change(&own)
		if _, err := StandardTypes(Packed).With(own); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	tt, err := StandardTypes(Packed).With(ownType(FirstOwnType))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tt.With(ownType(FirstOwnType)); err == nil {
		t.Error("the same id twice: accepted")
	}
}
