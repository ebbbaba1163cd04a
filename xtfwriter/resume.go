package xtfwriter

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// Kept is what earlier runs of the same job left in the work folder. It is the same on all ranks.
//
// Memory: about 60 bytes for each unit.
type Kept struct {
	units map[Unit]Owner
	marks []mark
	lists int
	Torn  int // lists that were cut or changed: their units are done again
}

// mark is a rank's part of a stage that was complete.
type mark struct {
	Owner
	ranks int
	stage uint32
	procs span
}

// span says of which locations there are segments: none before first, none from end on but for those of the whole run.
type span struct {
	first, end xtf.Proc
	whole      bool // there are segments of the whole run
}

func spanOf(pieces []Piece) (s span) {
	for i := range pieces {
		switch p := pieces[i].P; {
		case p == xtf.WholeRun:
			s.whole = true
		case s.first == s.end:
			s.first, s.end = p, p+1
		default:
			s.first, s.end = min(s.first, p), max(s.end, p+1)
		}
	}
	return s
}

func (s span) has(p xtf.Proc) bool {
	if p == xtf.WholeRun {
		return s.whole
	}
	return p >= s.first && p < s.end
}

// meets says whether there may be a location that both have.
func (s span) meets(t span) bool {
	return s.whole && t.whole || max(s.first, t.first) < min(s.end, t.end)
}

// Has says whether a unit is listed.
func (k *Kept) Has(u Unit) bool {
	_, ok := k.units[u]
	return ok
}

// Len is the number of units that are listed.
func (k *Kept) Len() int { return len(k.units) }

// Stage is the last stage that is complete on all ranks of a run, 0 for none.
func (k *Kept) Stage() uint32 {
	if len(k.marks) == 0 {
		return 0
	}
	return k.marks[0].stage
}

// Kept returns what can be taken over; nil without Config.Resume.
func (w *Workspace) Kept() *Kept { return w.kept }

// readLists finds out what the lists of older epochs hold: each rank reads some of them and tells the others.
// Collective.
func (w *Workspace) readLists(names []string) error {
	size, rank := w.comm.Size(), w.comm.Rank()
	var own []byte
	var err error
	for i := rank; i < len(names) && err == nil; i += size {
		var l *List
		l, err = ReadList(filepath.Join(w.cfg.WorkDir, names[i]))
		if errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) || err == nil && l.Identity != w.cfg.Identity {
			l, err = nil, nil
		}
		own = appendSummary(own, l)
	}
	if err = agree(w.comm, err); err != nil {
		return err
	}
	parts, err := w.comm.Allgather(own)
	if err != nil {
		return err
	}
	w.kept = &Kept{units: map[Unit]Owner{}}
	var marks []mark
	for _, b := range parts {
		if marks, err = w.kept.add(b, marks); err != nil {
			return agree(w.comm, err)
		}
	}
	w.kept.choose(marks)
	return nil
}

// appendSummary writes what the others need to know of a list; nil is a torn one.
func appendSummary(b []byte, l *List) []byte {
	if l == nil {
		return binary.AppendUvarint(b, 0)
	}
	b = varint.Append(b, 1, l.Epoch, uint64(l.Rank), uint64(l.Ranks), uint64(l.Stage), uint64(len(l.Units)))
	if l.Stage != 0 {
		s := spanOf(l.Pieces)
		whole := uint64(0)
		if s.whole {
			whole = 1
		}
		b = varint.Append(b, uint64(s.first), uint64(s.end), whole)
	}
	for _, u := range l.Units {
		b = varint.Append(b, uint64(u.P), uint64(u.Group), uint64(u.Stage))
	}
	return b
}

var errLists = errors.New("xtfwriter: lists of finished units arrived damaged from another rank")

// add reads the summaries of a rank. Of a unit in several lists the youngest run's counts.
func (k *Kept) add(b []byte, marks []mark) ([]mark, error) {
	r := varint.Read(b)
	for r.Len() > 0 {
		k.lists++
		if r.Next() == 0 {
			k.Torn++
			continue
		}
		o := Owner{r.Next(), int(r.Next())}
		ranks, stage, units := int(r.Next()), uint32(r.Next()), r.Next()
		if stage != 0 {
			marks = append(marks, mark{o, ranks, stage, span{xtf.Proc(r.Next()), xtf.Proc(r.Next()), r.Next() != 0}})
		}
		for ; units > 0 && !r.Failed(); units-- {
			u := Unit{P: xtf.Proc(r.Next()), Group: uint32(r.Next()), Stage: uint32(r.Next())}
			if old, ok := k.units[u]; !ok || old.Epoch < o.Epoch {
				k.units[u] = o
			}
		}
	}
	if r.Failed() {
		return nil, errLists
	}
	return marks, nil
}

// choose keeps the marks of the last stage that all ranks of a run completed; of equal ones the youngest run's.
func (k *Kept) choose(marks []mark) {
	slices.SortFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(b.stage, a.stage), cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(a.Rank, b.Rank))
	})
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && marks[j].stage == marks[i].stage && marks[j].Epoch == marks[i].Epoch && marks[j].Rank == j-i {
			j++
		}
		if j-i == marks[i].ranks {
			k.marks = marks[i:j]
			return
		}
		i = max(j, i+1)
	}
}

// Adopt takes the listed units over that want accepts: their segments are this store's from now on, and stay where they
// are. A unit whose segments are not whole is left out: torn counts those. step is called with the bytes that were
// verified. It is not collective.
//
// Memory: one list at a time, 80 bytes for each piece of a segment; 64 for each piece that is kept.
func (w *Workspace) Adopt(want func(Unit) bool, step func(bytes int64) error) (torn int, err error) {
	from := map[Owner]map[Unit]bool{}
	for u, o := range w.kept.units {
		if want(u) {
			if from[o] == nil {
				from[o] = map[Unit]bool{}
			}
			from[o][u] = true
		}
	}
	for _, o := range sortedOwners(from) {
		a := adoption{w: w, step: step, units: from[o]}
		n, err := a.take(filepath.Join(w.cfg.WorkDir, listName(o)))
		if torn += n; err != nil {
			return torn, err
		}
	}
	return torn, nil
}

// AdoptStage takes over what the marks of Kept.Stage hold of the locations from first to before end, and with run that of
// the whole run. ok is false on all ranks if something of it is torn on any: then nothing is taken over. It reads the marks
// of ranks that had some of it. Collective.
func (w *Workspace) AdoptStage(first, end xtf.Proc, run bool, step func(bytes int64) error) (ok bool, err error) {
	var taken []*Segment
	want, whole := span{first, end, run}, []int64{1}
	for _, m := range w.kept.marks {
		if !m.procs.meets(want) {
			continue
		}
		a := adoption{w: w, step: step, procs: want}
		torn, aerr := a.take(filepath.Join(w.cfg.WorkDir, markName(m.Owner, m.stage)))
		taken = append(taken, a.taken...)
		if torn > 0 || aerr != nil {
			whole[0], err = 0, aerr
			break
		}
	}
	if err = agree(w.comm, err); err == nil {
		err = w.comm.AllreduceInt64(whole, mpi.Min)
	}
	if err != nil || whole[0] == 0 {
		for _, s := range taken {
			s.Drop()
		}
		return false, err
	}
	return true, nil
}

func sortedOwners(m map[Owner]map[Unit]bool) []Owner {
	list := make([]Owner, 0, len(m))
	for o := range m {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Owner) int { return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Rank, b.Rank)) })
	return list
}

// adoption takes over segments of one list: those of some units, or of some locations.
type adoption struct {
	w     *Workspace
	step  func(bytes int64) error
	units map[Unit]bool
	procs span
	taken []*Segment
	buf   []byte
}

func (a *adoption) wants(u Unit) bool {
	if a.units != nil {
		return a.units[u]
	}
	return a.procs.has(u.P)
}

// take returns how many units, or of a mark whether anything, was torn.
func (a *adoption) take(path string) (torn int, err error) {
	l, err := ReadList(path)
	if errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) { // since it was summed up
		return max(len(a.units), 1), nil
	}
	if err != nil {
		return 0, err
	}
	for _, unit := range runs(l.Pieces, func(p Piece) Unit { return p.Unit }) {
		if !a.wants(unit[0].Unit) {
			continue
		}
		ok, err := a.unit(unit)
		if err != nil {
			return torn, err
		}
		if !ok {
			torn++
		} else if l.Stage == 0 {
			a.w.Store.adoptUnit(unit[0].Unit)
		}
	}
	return torn, nil
}

// unit takes over the segments of one unit if all are whole.
func (a *adoption) unit(pieces []Piece) (bool, error) {
	segments := runs(pieces, func(p Piece) Key { return p.Key })
	for _, list := range segments {
		ok, err := a.verify(list)
		if !ok || err != nil {
			return false, err
		}
	}
	for _, list := range segments {
		s, err := a.w.Store.adopt(list)
		if err != nil {
			return false, err
		}
		a.taken = append(a.taken, s)
	}
	return true, nil
}

// runs cuts a list where what is asked of its elements changes.
func runs[T any, K comparable](list []T, of func(T) K) (parts [][]T) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && of(list[n]) == of(list[0]) {
			n++
		}
		parts = append(parts, list[:n])
		list = list[n:]
	}
	return parts
}

// verify reads a segment and compares its checksum.
func (a *adoption) verify(pieces []Piece) (bool, error) {
	if a.buf == nil {
		a.buf = make([]byte, 1<<20)
	}
	var crc uint32
	for _, p := range pieces {
		if p.Length == 0 {
			continue
		}
		f, err := a.w.Store.open(a.w.cfg.WorkDir, p.File)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for at := int64(0); at < p.Length; {
			b := a.buf[:min(int64(len(a.buf)), p.Length-at)]
			n, err := f.ReadAt(b, p.Offset+at)
			if n < len(b) {
				return false, readFault(f.Name(), err)
			}
			crc = crc32.Update(crc, castagnoli, b)
			at += int64(n)
			if err := a.step(int64(n)); err != nil {
				return false, err
			}
		}
	}
	return crc == pieces[0].CRC, nil
}

// adopt makes a segment of pieces of older files, which are open.
func (st *Store) adopt(pieces []Piece) (*Segment, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	k := pieces[0].Key
	if st.segments[k] != nil {
		return nil, fmt.Errorf("xtfwriter: segment %v exists already", k)
	}
	s := &Segment{st: st, key: k, crc: pieces[0].CRC, sealed: true}
	for _, p := range pieces {
		if p.Length > 0 {
			s.chunks = append(s.chunks, &chunk{pos: s.size, n: p.Length, off: p.Offset, in: st.adopted[p.File], seg: s})
			s.size += p.Length
		}
	}
	st.live += s.size
	st.segments[k] = s
	return s, nil
}

func (st *Store) adoptUnit(u Unit) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.done[u] = unitListed
}

// open finds the segment file of an older run, for reading.
func (st *Store) open(dir string, o Owner) (*spillFile, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if f := st.adopted[o]; f != nil {
		return f, nil
	}
	f := &oldFile{path: filepath.Join(dir, segName(o)), all: &st.old}
	f.all.mu.Lock()
	err := f.reopen()
	f.all.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("xtfwriter: %w", err)
	}
	if st.adopted == nil {
		st.adopted = map[Owner]*spillFile{}
	}
	st.adopted[o] = &spillFile{f, o}
	return st.adopted[o], nil
}
