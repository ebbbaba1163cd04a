package xtf

import "crypto/sha256"

// Digest is SHA-256 over the decoded rows of all arrays in (P, type, N) order,
// the whole run last: equal for files with the same rows, whatever their codec
// and layout. Each array contributes P, type, row size and number of rows before
// its rows; blobs and sections are left out.
func (f *File) Digest() ([32]byte, error) {
	h := sha256.New()
	for n := range f.dir.desc.rows {
		p := Proc(n)
		if n+1 == f.dir.desc.rows {
			p = WholeRun
		}
		ids, err := f.Arrays(p)
		if err != nil {
			return [32]byte{}, err
		}
		for _, id := range ids {
			a, err := f.Array(p, id)
			if err != nil {
				return [32]byte{}, err
			}
			head := le.AppendUint32(nil, uint32(p))
			head = le.AppendUint32(head, uint32(id))
			head = le.AppendUint64(head, uint64(a.typ.RowBytes))
			head = le.AppendUint64(head, a.Len())
			h.Write(head)
			c := a.Rows(0, a.Len())
			for rows, _, ok := c.NextPage(); ok; rows, _, ok = c.NextPage() {
				h.Write(rows)
			}
			if c.Err() != nil {
				return [32]byte{}, c.Err()
			}
		}
	}
	return [32]byte(h.Sum(nil)), nil
}
