package xtfwriter

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"os"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// List is what a checkpoint of one rank says: which units are done and where
// their segments lie in the rank's file.
type List struct {
	Identity string
	Epoch    uint64
	Rank     int
	Units    []Unit
	Pieces   []Piece
}

// Piece is part of a segment; pieces of one key follow each other in order.
type Piece struct {
	Key
	Offset int64 // in the segment file
	Length int64
	CRC    uint32 // CRC-32C of the whole segment
}

const listHead = "coppice-list 1"

// Encode returns the list as text: a head, a line per unit and per piece, and a
// last line with the CRC-32C of all lines before it.
func (l *List) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %d %d\n", listHead, l.Identity, l.Epoch, l.Rank)
	for _, u := range l.Units {
		fmt.Fprintf(&b, "unit %d %d %d\n", u.P, u.Group, u.Stage)
	}
	for _, p := range l.Pieces {
		fmt.Fprintf(&b, "seg %d %d %d %d %d %d %08x\n", p.P, p.Group, p.Stage, p.Kind, p.Offset, p.Length, p.CRC)
	}
	fmt.Fprintf(&b, "end %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

// ParseList reads what Encode wrote.
func ParseList(b []byte) (*List, error) {
	bad := func(what string) error {
		return fmt.Errorf("xtfwriter: list of finished units: %w: %s", xtf.ErrCorrupt, what)
	}
	cut := bytes.LastIndex(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) + 1
	var crc uint32
	if _, err := fmt.Sscanf(string(b[cut:]), "end %08x\n", &crc); err != nil || crc32.Checksum(b[:cut], castagnoli) != crc {
		return nil, bad("cut or changed")
	}
	l := &List{}
	for i, line := range bytes.Split(bytes.TrimSuffix(b[:cut], []byte("\n")), []byte("\n")) {
		var err error
		switch {
		case i == 0:
			_, err = fmt.Sscanf(string(line), listHead+" %s %d %d", &l.Identity, &l.Epoch, &l.Rank)
		case bytes.HasPrefix(line, []byte("unit ")):
			var u Unit
			_, err = fmt.Sscanf(string(line), "unit %d %d %d", &u.P, &u.Group, &u.Stage)
			l.Units = append(l.Units, u)
		default:
			var p Piece
			_, err = fmt.Sscanf(string(line), "seg %d %d %d %d %d %d %08x", &p.P, &p.Group, &p.Stage, &p.Kind, &p.Offset, &p.Length, &p.CRC)
			if p.Offset < 0 || p.Length < 0 {
				err = xtf.ErrCorrupt
			}
			l.Pieces = append(l.Pieces, p)
		}
		if err != nil {
			return nil, bad(fmt.Sprintf("line %d", i+1))
		}
	}
	return l, nil
}

// WriteList moves the sealed segments of finished units to the file, syncs it and
// replaces the list at path.
func (st *Store) WriteList(path, identity string, epoch uint64, rank int) error {
	l := List{Identity: identity, Epoch: epoch, Rank: rank}
	if err := st.collect(&l); err != nil {
		return err
	}
	if err := replaceFile(path, l.Encode()); err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	return nil
}

func (st *Store) collect(l *List) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	for u := range st.done {
		l.Units = append(l.Units, u)
	}
	slices.SortFunc(l.Units, compareUnits)
	for k, s := range st.segments {
		if !s.sealed || !st.done[k.Unit] {
			continue
		}
		for _, c := range s.chunks {
			if c.mem != nil {
				if err := st.move(c); err != nil {
					return err
				}
				st.dead++
			}
			l.Pieces = append(l.Pieces, Piece{k, c.off, c.n, s.crc})
		}
	}
	slices.SortStableFunc(l.Pieces, func(a, b Piece) int {
		return cmp.Or(compareUnits(a.Unit, b.Unit), cmp.Compare(a.Kind, b.Kind))
	})
	if st.file == nil {
		return nil
	}
	return ioError("segment file "+st.path, st.file.Sync())
}

func compareUnits(a, b Unit) int {
	return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Group, b.Group))
}

// ReadList reads a list file.
func ReadList(path string) (*List, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("xtfwriter: %w", err)
	}
	return ParseList(b)
}
