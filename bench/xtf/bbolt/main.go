// Command bbolt measures bbolt next to the other stores; ../run.sh does. It is a
// module of its own, so that the project does not depend on bbolt.
//
// Its best for this: records in order with full pages, transactions of a million
// records, no free list and no sync until the end; one read transaction and one
// cursor for lookups.
package main

import (
	"encoding/binary"
	"errors"
	"os"

	"github.com/coppice-hpc/coppice/bench/xtf/records"
	"go.etcd.io/bbolt"
)

func main() { records.Main(&store{}) }

var bucket = []byte("r")

type store struct {
	db     *bbolt.DB
	tx     *bbolt.Tx
	c      *bbolt.Cursor
	key    [8]byte
	k, v   []byte // of the record the cursor is at
	faults int64
}

func (s *store) Build(path string, n uint64) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType, InitialMmapSize: int(n)*100 + 64<<20,
	})
	if err != nil {
		return err
	}
	g := records.NewGenerator()
	const batch = 1_000_000
	for done := uint64(0); done < n && err == nil; done += batch {
		err = db.Update(func(tx *bbolt.Tx) error { return fill(tx, g, min(batch, n-done)) })
	}
	if err == nil {
		err = db.Sync()
	}
	return errors.Join(err, db.Close())
}

// fill puts count records; bbolt keeps keys and values until the commit.
func fill(tx *bbolt.Tx, g *records.Generator, count uint64) error {
	b, err := tx.CreateBucketIfNotExists(bucket)
	if err != nil {
		return err
	}
	b.FillPercent = 1
	rows := make([]byte, count*records.Bytes)
	for ; len(rows) > 0; rows = rows[records.Bytes:] {
		row := rows[:records.Bytes:records.Bytes]
		binary.BigEndian.PutUint64(row, g.Next(row[8:]))
		if err := b.Put(row[:8:8], row[8:]); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) Open(path string, _ bool) error {
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	tx, err := db.Begin(false)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.db, s.tx, s.c, s.faults = db, tx, tx.Bucket(bucket).Cursor(), records.MajorFaults()
	return nil
}

func (s *store) Close() error { return errors.Join(s.tx.Rollback(), s.db.Close()) }
func (s *store) Reads() int64 { return records.MajorFaults() - s.faults }

func (s *store) Seek(key uint64) (uint64, error) {
	binary.BigEndian.PutUint64(s.key[:], key)
	s.k, s.v = s.c.Seek(s.key[:])
	if s.k == nil {
		return 0, errors.New("no record at or behind the key")
	}
	return 0, nil
}

func (s *store) Record(uint64) (key, value uint64, err error) {
	return binary.BigEndian.Uint64(s.k), binary.LittleEndian.Uint64(s.v[24:]), nil
}

func (s *store) Count(from, to uint64) (uint64, error) {
	binary.BigEndian.PutUint64(s.key[:], from)
	var n uint64
	for k, _ := s.c.Seek(s.key[:]); k != nil && binary.BigEndian.Uint64(k) < to; k, _ = s.c.Next() {
		n++
	}
	return n, nil
}
