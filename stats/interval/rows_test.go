package interval

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/xtf"
)

// rowsOf writes the rows of borders and reads them back.
func rowsOf(t *testing.T, borders []Border, table []uint32) ([]xtf.Ival, error) {
	t.Helper()
	tt := xtf.StandardTypes(xtf.Packed)
	sink := &xtftest.MemorySink{}
	out := xtf.NewArrayBuilder(xtf.NewEncoder(), tt.Lookup(xtf.TypeIval), 0, sink)
	w := NewRowWriter(out, table)
	var b [BorderBytes]byte
	for i := range borders {
		borders[i].Put(b[:])
		if err := w.Add(b[:]); err != nil {
			return nil, err
		}
	}
	if err := w.Finish(); err != nil {
		return nil, err
	}
	sum, err := out.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var rows []xtf.Ival
	c := xtf.ScanArray(tt, xtf.FinishedArray{Summary: sum, Data: sink}, 0)
	for c.Next() {
		var x xtf.Ival
		x.Load(c.Row())
		rows = append(rows, x)
	}
	return rows, c.Err()
}

// TestRowWriter makes borders of rows and rows of them.
func TestRowWriter(t *testing.T) {
	for seed := range uint64(200) {
		want := randomRows(rand.New(rand.NewPCG(seed, 9)), 3, 80)
		table := make([]uint32, 200)
		for n := range table {
			table[n] = uint32(199 - n)
		}
		var borders []Border
		number, count := map[uint32]uint64{}, map[uint32]uint64{}
		walk := newReading(&rowList{rows: want})
		if err := walk.read(); err != nil {
			t.Fatal(err)
		}
		for row := uint64(0); walk.due() != xtf.Never; {
			b := walk.next()
			if b.end {
				borders = append(borders, Border{T: b.t, Row: number[b.node], Node: b.node, Flags: b.node})
			} else {
				borders = append(borders, Border{T: b.t, Row: xtf.Never, Node: b.node})
				number[b.node] = row
				row++
			}
			if err := walk.take(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range want {
			x := &want[i]
			x.Execution, x.Flags = count[x.Node], x.Node
			count[x.Node]++
			x.Node = table[x.Node]
		}
		got, err := rowsOf(t, borders, table)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %v\n got %v\nwant %v", seed, err, got, want)
		}
	}
}

func TestRowWriterRefuses(t *testing.T) {
	const begin = xtf.Never
	for name, borders := range map[string][]Border{
		"a node that is not there":  {{T: 1, Row: begin, Node: 3}},
		"a node without number":     {{T: 1, Row: begin, Node: 2}},
		"an end without begin":      {{T: 1, Row: 0}},
		"the end of another row":    {{T: 1, Row: begin}, {T: 2, Row: 1}},
		"the end of a missing node": {{T: 1, Row: begin}, {T: 2, Row: 0, Node: 9}},
		"two ends":                  {{T: 1, Row: begin}, {T: 2, Row: 0}, {T: 3, Row: 0}},
		"open twice":                {{T: 1, Row: begin}, {T: 2, Row: begin}},
		"no end":                    {{T: 1, Row: begin}},
	} {
		if rows, err := rowsOf(t, borders, []uint32{0, 1, None}); err == nil {
			t.Errorf("%s: %v", name, rows)
		}
	}
	if err := NewRowWriter(nil, nil).Add(make([]byte, 1)); err == nil {
		t.Error("a byte of a border is one")
	}
}
