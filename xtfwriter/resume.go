package xtfwriter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// Kept is what earlier runs of the same job left in the work folder. It is the same on all ranks.
//
// Memory: about 60 bytes for each unit.
type Kept struct {
	units map[Unit]Owner
	marks []*List // of the last complete stage, without their pieces
	lists int
	Torn  int // lists that are damaged, missing or of another job; their units are computed again
}

// Has returns whether a list contains the unit.
func (k *Kept) Has(u Unit) bool {
	_, ok := k.units[u]
	return ok
}

// Len returns the number of units in the lists.
func (k *Kept) Len() int { return len(k.units) }

// Stage returns the last stage that all ranks of a run completed, 0 if there is none.
func (k *Kept) Stage() uint32 {
	if len(k.marks) == 0 {
		return 0
	}
	return k.marks[0].Stage
}

// Kept returns what can be taken over, or nil without Config.Resume.
func (w *Workspace) Kept() *Kept { return w.kept }

// readLists reads the lists and marks of earlier runs into w.kept. Each rank reads some of them and sends them to the others without their
// pieces. Collective.
func (w *Workspace) readLists(names []string) error {
	var own []*List
	var err error
	for i := w.comm.Rank(); i < len(names) && err == nil; i += w.comm.Size() {
		var l *List
		l, err = ReadList(filepath.Join(w.cfg.WorkDir, names[i]))
		if errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) || err == nil && l.Identity != w.cfg.Identity {
			l, err = nil, nil
		}
		if l != nil {
			l.Identity, l.Pieces = "", nil
		}
		own = append(own, l)
	}
	if err = w.comm.Agree(err); err != nil {
		return err
	}
	b, _ := json.Marshal(own) // numbers
	parts, err := w.comm.Allgather(b)
	if err != nil {
		return err
	}
	w.kept = &Kept{units: map[Unit]Owner{}}
	var marks []*List
	for _, b := range parts {
		var lists []*List
		if err = json.Unmarshal(b, &lists); err != nil {
			return w.comm.Agree(fmt.Errorf("xtfwriter: lists of finished units arrived damaged from another rank: %w", err))
		}
		marks = append(marks, w.kept.add(lists)...)
	}
	w.kept.choose(marks)
	return nil
}

// add counts lists (nil for a torn one), adds their units and returns the marks among them. If several lists contain a unit, the list of
// the youngest run is used.
func (k *Kept) add(lists []*List) (marks []*List) {
	k.lists += len(lists)
	for _, l := range lists {
		if l == nil {
			k.Torn++
			continue
		}
		if l.Stage != 0 {
			marks = append(marks, l)
		}
		for _, u := range l.Units {
			if old, ok := k.units[u]; !ok || old.Epoch < l.Epoch {
				k.units[u] = l.Owner
			}
		}
	}
	return marks
}

// choose keeps the marks of the last stage that all ranks of a run completed. If several runs completed it, the youngest one's are kept.
func (k *Kept) choose(marks []*List) {
	slices.SortFunc(marks, func(a, b *List) int {
		return cmp.Or(cmp.Compare(b.Stage, a.Stage), cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(a.Rank, b.Rank))
	})
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && marks[j].Stage == marks[i].Stage && marks[j].Epoch == marks[i].Epoch && marks[j].Rank == j-i {
			j++
		}
		if j-i == marks[i].Ranks {
			k.marks = marks[i:j]
			return
		}
		i = max(j, i+1)
	}
}

// Adopt takes over the listed units that want accepts: their segments belong to this store from now on, and stay in the files of earlier
// runs. It leaves out units with a damaged segment and returns their number. It calls step with the number of bytes whenever it has
// verified some. It is not collective.
//
// Memory: one list at a time, with 80 bytes for each piece of a segment, and 64 bytes for each piece that is taken over.
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

// AdoptStage takes over the segments of Kept.Stage for the locations from first to before end, and with run those of the whole run. If one
// of them is damaged on any rank, no rank takes any over and ok is false on all. A rank reads only the marks that have some of its
// segments. Collective.
func (w *Workspace) AdoptStage(first, end xtf.Proc, run bool, step func(bytes int64) error) (ok bool, err error) {
	var taken []*Segment
	want, whole := span{first, end, run}, []int64{1}
	for _, m := range w.kept.marks {
		if !m.Procs.meets(want) {
			continue
		}
		a := adoption{w: w, step: step, procs: want}
		torn, aerr := a.take(filepath.Join(w.cfg.WorkDir, markName(m.Owner, m.Stage)))
		taken = append(taken, a.taken...)
		if torn > 0 || aerr != nil {
			whole[0], err = 0, aerr
			break
		}
	}
	if err = w.comm.Agree(err); err == nil {
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

// adoption takes over segments of one list: those of units, or if that is nil those of the locations in procs.
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

// take takes over the segments of the list at path. It returns how many units are torn: of a list that cannot be read, all of units, or 1
// of a mark.
func (a *adoption) take(path string) (torn int, err error) {
	l, err := ReadList(path)
	if errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) { // it was changed after readLists
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

// unit takes over the segments of one unit. It returns false and takes none over if one of them is damaged.
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

// runs cuts a list into runs of neighbours for which of returns the same value.
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

// verify reads a segment and returns whether its checksum is right.
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

// adopt makes a segment of pieces in files of earlier runs, which open has opened.
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
			s.chunks = append(s.chunks, &chunk{pos: s.size, n: p.Length, off: p.Offset, in: st.adopted[p.File]})
			s.size += p.Length
		}
	}
	st.live += s.size
	st.segments[k] = s
	st.tables += segmentBytes + pieceBytes*int64(len(s.chunks))
	return s, nil
}

func (st *Store) adoptUnit(u Unit) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.done[u] = unitListed
}

// open returns the segment file of an earlier run, for reading.
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
