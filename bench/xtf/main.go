//go:build linux

// Command xtf measures the file format of this repository, and a sorted array of
// keys in memory as the limit of any search, next to other stores; run.sh does.
//
//	xtf packed|raw4k|array FILE RECORDS QUERIES COLD
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/coppice-hpc/coppice/bench/xtf/records"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

func main() {
	stores := map[string]records.Store{
		"packed": &file{profile: xtf.Packed},
		"raw4k":  &file{profile: xtf.Raw4K},
		"array":  &array{},
	}
	if len(os.Args) < 2 || stores[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: xtf packed|raw4k|array FILE RECORDS QUERIES COLD")
		os.Exit(2)
	}
	s := stores[os.Args[1]]
	os.Args = os.Args[1:]
	records.Main(s)
}

// record is the row type: the same fields that the generator fills.
var record = xtf.Type{
	ID: xtf.FirstOwnType, Name: "RECORD", RowBytes: records.Bytes, Role: xtf.RoleT, End: 1,
	Columns: []xtf.Column{
		{Name: "T", Offset: 0, Width: 8},
		{Name: "End", Offset: 8, Width: 8, Transform: xtf.TransformMinusT},
		{Name: "callN", Offset: 16, Width: 8, Transform: xtf.TransformDelta},
		{Name: "mateN", Offset: 24, Width: 8, Transform: xtf.TransformDelta},
		{Name: "bytes", Offset: 32, Width: 8},
		{Name: "region", Offset: 40, Width: 4},
		{Name: "peer", Offset: 44, Width: 4},
		{Name: "comm", Offset: 48, Width: 4},
		{Name: "tag", Offset: 52, Width: 4},
		{Name: "kind", Offset: 56, Width: 4},
		{Name: "queue", Offset: 60, Width: 4},
	},
}

// file is an XTF file with one array.
type file struct {
	profile xtf.Profile
	f       *xtf.File
	a       *xtf.Array
	stats   xtf.Stats
	row     []byte
}

func (s *file) Build(path string, n uint64) error {
	types, err := xtf.StandardTypes(s.profile).With(record)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	store := xtfwriter.NewStore(path+".segments", 256<<20)
	err = write(out, types, store, n)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, store.Close(true), out.Close())
}

func write(out *os.File, types *xtf.TypeTable, store *xtfwriter.Store, n uint64) error {
	b, err := store.NewArray(xtf.NewEncoder(), types.Lookup(record.ID), xtfwriter.Unit{})
	if err != nil {
		return err
	}
	g := records.NewGenerator()
	for range n {
		row, _ := b.Append()
		xtf.SetU64(row, 0, g.Next(row[8:]))
	}
	if err := b.Save(); err != nil {
		return err
	}
	finished, _, err := store.LoadArray(xtfwriter.Unit{}, record.ID)
	if err != nil {
		return err
	}
	w := xtftest.NewFileWriter(out, types, [16]byte{1}, &xtftest.MemorySink{})
	for _, p := range []xtf.Proc{0, xtf.WholeRun} {
		var arrays []xtf.FinishedArray
		if p == 0 {
			arrays = []xtf.FinishedArray{finished}
		}
		plan, err := xtf.PlanRegion(types, p, arrays, nil)
		if err != nil {
			return err
		}
		if err := w.Region(plan, 0, 0, 0); err != nil {
			return err
		}
	}
	return w.Commit([]xtf.Blob{xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte("{}"))})
}

func (s *file) Open(path string, cold bool) error {
	o := xtf.Options{CacheBytes: 8 << 30}
	if cold {
		o.CacheBytes = 0
	}
	f, err := xtf.OpenFile(path, o)
	if err != nil {
		return err
	}
	a, err := f.Array(0, record.ID)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.f, s.a, s.stats = f, a, xtf.Stats{}
	if cold {
		s.a = a.Counted(&s.stats)
	}
	return nil
}

func (s *file) Close() error { return s.f.Close() }
func (s *file) Reads() int64 { return int64(s.stats.PageReads) }

func (s *file) Seek(key uint64) (uint64, error) {
	pos, ok, err := s.a.Search(key, xtf.GE)
	if !ok && err == nil {
		err = errors.New("no record at or behind the key")
	}
	return pos.N, err
}

func (s *file) Record(n uint64) (key, value uint64, err error) {
	if s.row, err = s.a.Row(n, s.row); err != nil {
		return 0, 0, err
	}
	return xtf.U64(s.row, 0), xtf.U64(s.row, 32), nil
}

func (s *file) Count(from, to uint64) (uint64, error) { return s.a.Size(from, to) }

// array is all keys in memory.
type array struct{ keys []uint64 }

func (s *array) Build(path string, n uint64) error {
	s.keys = records.Keys(n)
	return os.WriteFile(path, nil, 0o644)
}

func (s *array) Open(string, bool) error { return nil }
func (s *array) Close() error            { return nil }
func (s *array) Reads() int64            { return 0 }

func (s *array) Seek(key uint64) (uint64, error) {
	i, _ := slices.BinarySearch(s.keys, key)
	return uint64(i), nil
}

func (s *array) Record(n uint64) (key, value uint64, err error) {
	return s.keys[n], 4096 << (n % 3), nil
}

func (s *array) Count(from, to uint64) (uint64, error) {
	i, _ := slices.BinarySearch(s.keys, from)
	k, _ := slices.BinarySearch(s.keys, to)
	return uint64(k - i), nil
}
