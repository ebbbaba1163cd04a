package xtfwriter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// List is the content of a list file: the units that a rank has finished, and where their segments are stored. A mark is a list of all
// segments of a rank at the end of a stage. A stage can be taken over if the marks of all ranks are there.
type List struct {
	Identity string `json:"job,omitempty"`
	Owner
	Ranks  int     `json:"ranks"`           // of the run
	Stage  uint32  `json:"stage,omitempty"` // of a mark: the stage that is complete; 0: a list of units
	Procs  span    `json:"procs"`
	Units  []Unit  `json:"units,omitempty"`
	Pieces []Piece `json:"pieces,omitempty"`
}

// Piece is a part of a segment. The pieces of a key are listed one after another, in the order of their bytes. An empty segment is one
// piece of length 0.
type Piece struct {
	Key
	File   Owner  `json:"file"` // writer of the segment file
	Offset int64  `json:"at"`   // in File, bytes
	Length int64  `json:"n"`
	CRC    uint32 `json:"crc"` // CRC-32C of the whole segment
}

// span is the range of the locations that have segments: from First to before End, and also the whole run if Whole.
type span struct {
	First, End xtf.Proc
	Whole      bool // the whole run has segments
}

func spanOf(pieces []Piece) (s span) {
	for i := range pieces {
		switch p := pieces[i].P; {
		case p == xtf.WholeRun:
			s.Whole = true
		case s.First == s.End:
			s.First, s.End = p, p+1
		default:
			s.First, s.End = min(s.First, p), max(s.End, p+1)
		}
	}
	return s
}

func (s span) has(p xtf.Proc) bool {
	if p == xtf.WholeRun {
		return s.Whole
	}
	return p >= s.First && p < s.End
}

// meets returns whether s and t may share a location.
func (s span) meets(t span) bool {
	return s.Whole && t.Whole || max(s.First, t.First) < min(s.End, t.End)
}

const mostList = 1 << 30 // bytes of a list: 10 million pieces

// Encode returns the list as one line of JSON and a second line with the CRC-32C of the first.
func (l *List) Encode() []byte {
	b, _ := json.Marshal(l) // numbers and strings
	b = append(b, '\n')
	return fmt.Appendf(b, "end %08x\n", crc32.Checksum(b, castagnoli))
}

// parseList parses what Encode returns. Its error is xtf.ErrCorrupt.
func parseList(b []byte) (*List, error) {
	cut := bytes.LastIndex(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) + 1
	var crc uint32
	if _, err := fmt.Sscanf(string(b[cut:]), "end %08x\n", &crc); err != nil || crc32.Checksum(b[:cut], castagnoli) != crc {
		return nil, fmt.Errorf("xtfwriter: list of finished units: %w: cut or changed", xtf.ErrCorrupt)
	}
	l := &List{}
	err := json.Unmarshal(b[:cut], l)
	for i := range l.Pieces {
		if p := &l.Pieces[i]; p.Offset < 0 || p.Length < 0 || p.File.Rank < 0 || p.Offset > math.MaxInt64-p.Length {
			err = fmt.Errorf("piece %d", i)
		}
	}
	if err != nil || l.Rank < 0 {
		return nil, fmt.Errorf("xtfwriter: list of finished units: %w: %v", xtf.ErrCorrupt, err)
	}
	return l, nil
}

// collect writes the sealed segments that choose accepts to the segment file, syncs it and adds their pieces to the list.
func (st *Store) collect(l *List, choose func(Key) bool) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	first := len(l.Pieces)
	for k, s := range st.segments {
		if !s.sealed || !choose(k) {
			continue
		}
		first := len(l.Pieces)
		for _, c := range s.chunks {
			if c.mem != nil {
				if err := st.move(c); err != nil {
					return err
				}
				st.dead++
			}
			if k := len(l.Pieces); k > first && l.Pieces[k-1].File == c.in.from && l.Pieces[k-1].Offset+l.Pieces[k-1].Length == c.off {
				l.Pieces[k-1].Length += c.n
				continue
			}
			l.Pieces = append(l.Pieces, Piece{s.key, c.in.from, c.off, c.n, s.crc})
		}
		if len(s.chunks) == 0 {
			l.Pieces = append(l.Pieces, Piece{Key: s.key, File: st.own, CRC: s.crc})
		}
	}
	slices.SortStableFunc(l.Pieces[first:], func(a, b Piece) int {
		return cmp.Or(compareUnits(a.Unit, b.Unit), cmp.Compare(a.Kind, b.Kind))
	})
	if st.file == nil {
		return nil
	}
	return OutputError("segment file "+st.path, st.file.Sync())
}

// unlisted returns the finished units that are not yet in a list, sorted.
func (st *Store) unlisted() (list []Unit) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for u, state := range st.done {
		if state == unitDone {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, compareUnits)
	return list
}

// appendList adds the units that have finished since the last call to the list at path, and returns their number. It first writes their
// segments to the segment file and syncs it, and then replaces the list.
func (st *Store) appendList(path, identity string, ranks int) (int, error) {
	units := st.unlisted()
	if len(units) == 0 {
		return 0, nil
	}
	fresh := make(map[Unit]bool, len(units))
	for _, u := range units {
		fresh[u] = true
	}
	l := List{Identity: identity, Owner: st.own, Ranks: ranks, Units: append(st.list.Units, units...), Pieces: st.list.Pieces}
	if err := st.writeList(path, &l, func(k Key) bool { return fresh[k.Unit] }); err != nil {
		return 0, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, u := range units {
		st.done[u] = unitListed
	}
	st.list = l
	return len(units), nil
}

// writeMark writes a list of all sealed segments that have a name, in the same way as appendList.
func (st *Store) writeMark(path, identity string, ranks int, stage uint32) error {
	return st.writeList(path, &List{Identity: identity, Owner: st.own, Ranks: ranks, Stage: stage}, func(Key) bool { return true })
}

// writeList adds the segments that choose accepts to l, and replaces the file at path by l.
//
// Memory: the list has 80 bytes for each piece of a segment, and takes twice that while it is written.
func (st *Store) writeList(path string, l *List, choose func(Key) bool) error {
	err := st.collect(l, choose)
	l.Procs = spanOf(l.Pieces)
	if err == nil {
		err = folderError("file ", path, st.disk.replace(path, l.Encode()))
	}
	if err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	return nil
}

func compareUnits(a, b Unit) int {
	return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Stage, b.Stage))
}

// ReadList reads a list file.
func ReadList(path string) (*List, error) {
	b, err := readRegular(path, mostList, xtf.ErrCorrupt)
	if err != nil {
		return nil, fmt.Errorf("xtfwriter: %w", err)
	}
	return parseList(b)
}
