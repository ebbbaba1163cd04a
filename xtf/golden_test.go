package xtf

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files; only with a change of the format")

// dump prints what a file says, as text that is compared.
func dump(f *File) (string, error) {
	var b bytes.Buffer
	d, err := f.Digest()
	fmt.Fprintf(&b, "version %d.%d id %x digest %x\n", f.super.Major, f.super.Minor, f.FileID(), d)
	for n := uint32(0); n <= f.Procs() && err == nil; n++ {
		p := Proc(n)
		if n == f.Procs() {
			p = WholeRun
		}
		row, rerr := f.Dir(p)
		ids, ierr := f.Arrays(p)
		if rerr != nil || ierr != nil {
			return "", fmt.Errorf("%w, %w", rerr, ierr)
		}
		fmt.Fprintf(&b, "region %d process %d thread %d T %d..%d events %d\n", p, row.Process, row.Thread, row.First, row.Last, row.Events)
		for _, id := range ids {
			if err = dumpArray(&b, f, p, id); err != nil {
				return "", err
			}
		}
	}
	return b.String(), err
}

func dumpArray(b *bytes.Buffer, f *File, p Proc, id TypeID) error {
	a, err := f.Array(p, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "  %s %d rows, %d levels, sums %d\n", a.typ.Name, a.Len(), a.Height(), a.Sums().Totals())
	c := a.Rows(0, a.Len())
	for c.Next() {
		fmt.Fprintf(b, "    %d:", c.N())
		for _, col := range a.typ.Columns {
			fmt.Fprintf(b, " %d", int64(col.Value(c.Row())))
		}
		fmt.Fprintln(b)
	}
	return c.Err()
}

// Files of every version of the format stay readable, and this version still
// writes the same bytes.
func TestGolden(t *testing.T) {
	for name, p := range map[string]Profile{"v1-packed": Packed, "v1-raw4k": Raw4K} {
		path := filepath.Join("testdata", name+".xtf.bin")
		m := smallFile(t, p)
		if *update {
			text, err := dump(openMem(t, m))
			if err != nil {
				t.Fatal(err)
			}
			for file, b := range map[string][]byte{path: m.b, filepath.Join("testdata", name+".txt"): []byte(text)} {
				if err := os.WriteFile(file, b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		f, err := OpenFile(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := dump(f)
		want, rerr := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil || rerr != nil || got != string(want) {
			t.Errorf("%s: %v %v: dump differs from the golden text", name, err, rerr)
		}
		if res, err := Check(f, nil); err != nil || res.Found > 0 {
			t.Errorf("%s: %+v %v", name, res, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, m.b) {
			t.Errorf("%s: this version writes other bytes: %v", name, err)
		}
	}
}
