package xtfwriter

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/xtf"
)

// List is what a checkpoint of one rank says: which units are done and where their segments lie. A mark is a list of
// all segments of a rank at the end of a stage; a stage is kept if the marks of all ranks are.
type List struct {
	Identity string
	Owner
	Ranks  int    // of the run
	Stage  uint32 // of a mark: the stage that is complete; 0: a list of units
	Units  []Unit
	Pieces []Piece
}

// Piece is part of a segment; pieces of one key follow each other in order. An empty segment is a piece of length 0.
type Piece struct {
	Key
	File   Owner // whose segment file
	Offset int64 // in it
	Length int64
	CRC    uint32 // CRC-32C of the whole segment
}

const (
	listHead = "coppice-list 2"
	mostList = 1 << 30 // bytes of a list: 15 million pieces
)

// Encode returns the list as text: a head, a line per unit and per piece, and a
// last line with the CRC-32C of all lines before it.
func (l *List) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %d %d %d %d\n", listHead, l.Identity, l.Epoch, l.Rank, l.Ranks, l.Stage)
	for _, u := range l.Units {
		fmt.Fprintf(&b, "unit %d %d %d\n", u.P, u.Group, u.Stage)
	}
	for _, p := range l.Pieces {
		fmt.Fprintf(&b, "seg %d %d %d %d %d %d %d %d %d\n", p.P, p.Group, p.Stage, p.Kind, p.File.Epoch, p.File.Rank, p.Offset, p.Length, p.CRC)
	}
	fmt.Fprintf(&b, "end %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

// parseList reads what Encode wrote.
func parseList(b []byte) (*List, error) {
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
		if !l.parse(i, line) {
			return nil, bad(fmt.Sprintf("line %d", i+1))
		}
	}
	return l, nil
}

// parse adds one line.
func (l *List) parse(i int, line []byte) bool {
	if i == 0 {
		_, err := fmt.Sscanf(string(line), listHead+" %s %d %d %d %d", &l.Identity, &l.Epoch, &l.Rank, &l.Ranks, &l.Stage)
		return err == nil && l.Rank >= 0
	}
	word, rest, _ := bytes.Cut(line, []byte(" "))
	f := numbers{rest: rest}
	switch string(word) {
	case "unit":
		l.Units = append(l.Units, f.unit())
	case "seg":
		p := Piece{Key: Key{Unit: f.unit(), Kind: uint32(f.next(32))}}
		p.File = Owner{f.next(64), int(f.next(31))}
		p.Offset, p.Length, p.CRC = int64(f.next(62)), int64(f.next(62)), uint32(f.next(32))
		l.Pieces = append(l.Pieces, p)
	default:
		return false
	}
	return !f.bad && len(f.rest) == 0
}

// numbers reads decimal numbers that blanks part.
type numbers struct {
	rest []byte
	bad  bool
}

func (f *numbers) next(bits int) uint64 {
	word, rest, _ := bytes.Cut(f.rest, []byte(" "))
	n, err := strconv.ParseUint(string(word), 10, bits)
	f.rest, f.bad = rest, f.bad || err != nil
	return n
}

func (f *numbers) unit() Unit {
	return Unit{P: xtf.Proc(f.next(32)), Group: uint32(f.next(32)), Stage: uint32(f.next(32))}
}

// collect moves the segments that choose takes to the file, stores them and adds their pieces to the list. They must
// be sealed.
func (st *Store) collect(l *List, choose func(Key) bool) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	first := len(l.Pieces)
	for k, s := range st.segments {
		if !s.sealed || !choose(k) {
			continue
		}
		if err := st.pieces(l, s); err != nil {
			return err
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

// pieces adds those of one segment.
func (st *Store) pieces(l *List, s *Segment) error {
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
	return nil
}

// unlisted are the finished units that no list has, in order.
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

// appendList adds the units that finished since the last call to the list at path: their segments are moved to the
// file and synced, then the list is replaced. It returns how many units it added.
//
// Memory: the list, 80 bytes for each piece of a segment.
func (st *Store) appendList(path, identity string, ranks int) (int, error) {
	units := st.unlisted()
	if len(units) == 0 {
		return 0, nil
	}
	l := &List{Identity: identity, Owner: st.own, Ranks: ranks}
	if st.listed > 0 {
		var err error
		if l, err = ReadList(path); err != nil {
			return 0, err
		}
		if l.Identity != identity || l.Owner != st.own {
			return 0, fmt.Errorf("xtfwriter: %w: %s is not what this run wrote", ErrOtherJob, path)
		}
	}
	fresh := make(map[Unit]bool, len(units))
	for _, u := range units {
		fresh[u] = true
	}
	if err := st.collect(l, func(k Key) bool { return fresh[k.Unit] }); err != nil {
		return 0, fmt.Errorf("xtfwriter: %w", err)
	}
	l.Units = append(l.Units, units...)
	if err := st.disk.replace(path, l.Encode()); err != nil {
		return 0, fmt.Errorf("xtfwriter: %w", folderError("file ", path, err))
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, u := range units {
		st.done[u] = unitListed
	}
	st.listed += len(units)
	return len(units), nil
}

// writeMark writes a list of all sealed segments with a name, like appendList.
func (st *Store) writeMark(path, identity string, ranks int, stage uint32) error {
	l := &List{Identity: identity, Owner: st.own, Ranks: ranks, Stage: stage}
	err := st.collect(l, func(Key) bool { return true })
	if err == nil {
		err = folderError("file ", path, st.disk.replace(path, l.Encode()))
	}
	if err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	return nil
}

func compareUnits(a, b Unit) int {
	return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Group, b.Group))
}

// ReadList reads a list file.
func ReadList(path string) (*List, error) {
	b, err := readRegular(path, mostList, xtf.ErrCorrupt)
	if err != nil {
		return nil, fmt.Errorf("xtfwriter: %w", err)
	}
	return parseList(b)
}
