package xtfwriter

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// mergeFan is the most runs merged at once; more are merged in several passes.
const mergeFan = 64

// Sorter sorts rows of fixed width by their leading key bytes in bounded memory:
// full buffers are sorted and stored as runs, and Sort merges them as a stream.
// Rows with equal keys keep the order they were added in, so the result does not
// depend on the memory.
//
// Memory: what NewSorter got, for the buffer and 4 bytes a row for its order;
// while merging the same again at most, for reading the runs.
type Sorter struct {
	st    *Store
	width int
	key   int
	limit int      // rows of the buffer
	buf   [][]byte // blocks of blockRows rows, so that growing moves nothing
	n     int      // rows in buf
	order []uint32
	runs  []*Segment
	rows  uint64
	err   error
}

// blockRows is the number of rows of one block of the buffer.
const blockRows = 1 << 12

// row gives row i of the buffer.
func (s *Sorter) row(i int) []byte {
	at := i % blockRows * s.width
	return s.buf[i/blockRows][at : at+s.width]
}

// NewSorter sorts rows of width bytes by their first key bytes, compared as
// bytes, holding about memory bytes of them.
func NewSorter(st *Store, width, key int, memory int64) *Sorter {
	rows := max(16, int(min(memory, 1<<30))/(width+4))
	return &Sorter{st: st, width: width, key: key, limit: rows}
}

// Add adds a copy of row. An error of the store shows in Sort.
func (s *Sorter) Add(row []byte) {
	if s.n >= s.limit {
		s.spill()
	}
	if s.n/blockRows == len(s.buf) {
		s.buf = append(s.buf, make([]byte, min(blockRows, s.limit)*s.width))
	}
	s.n++
	copy(s.row(s.n-1), row)
	s.rows++
}

// sortBuffer fills s.order with the rows in buf in their order.
func (s *Sorter) sortBuffer() {
	s.order = s.order[:0]
	for i := range s.n {
		s.order = append(s.order, uint32(i))
	}
	slices.SortFunc(s.order, func(a, b uint32) int {
		return cmp.Or(bytes.Compare(s.row(int(a))[:s.key], s.row(int(b))[:s.key]), cmp.Compare(a, b))
	})
}

// spill stores the buffer as a run.
func (s *Sorter) spill() {
	if s.err == nil {
		s.sortBuffer()
		s.err = s.store(&bufferRows{s: s})
	}
	s.n = 0
}

// store writes rows as a new run.
func (s *Sorter) store(r rowStream) error {
	seg := s.st.Scratch()
	block := make([]byte, 0, lastChunk/s.width*s.width+s.width)
	for {
		row, err := r.next()
		if err != nil {
			return err
		}
		if row != nil {
			block = append(block, row...)
		}
		if row == nil || len(block)+s.width > cap(block) {
			if _, err := seg.Append(block); err != nil {
				return err
			}
			block = block[:0]
		}
		if row == nil {
			break
		}
	}
	seg.Seal()
	s.runs = append(s.runs, seg)
	return nil
}

// rowStream gives rows one after another, nil at the end.
type rowStream interface {
	next() ([]byte, error)
}

type bufferRows struct {
	s *Sorter
	i int
}

func (b *bufferRows) next() ([]byte, error) {
	if b.i == len(b.s.order) {
		return nil, nil
	}
	row := b.s.row(int(b.s.order[b.i]))
	b.i++
	return row, nil
}

// runRows reads a run back and verifies it.
type runRows struct {
	seg   *Segment
	width int
	off   int64  // read so far
	crc   uint32 // of that
	buf   []byte // rows read and not yet given out
	store []byte
}

func (r *runRows) next() ([]byte, error) {
	if len(r.buf) == 0 {
		size := r.seg.Size()
		r.buf = r.store[:min(int64(len(r.store)), size-r.off)]
		if len(r.buf) == 0 {
			return nil, nil
		}
		if _, err := r.seg.ReadAt(r.buf, r.off); err != nil {
			return nil, err
		}
		r.off, r.crc = r.off+int64(len(r.buf)), updateCRC(r.crc, r.buf)
		if r.off == size && r.crc != r.seg.CRC() {
			return nil, r.seg.changed()
		}
	}
	row := r.buf[:r.width]
	r.buf = r.buf[r.width:]
	return row, nil
}

// Rows is the sorted result: for r.Next() { r.Row() }; r.Err(); r.Close().
type Rows struct {
	s   *Sorter
	src rowStream
	row []byte
	err error
}

// Sort ends the adding of rows and begins the merge.
func (s *Sorter) Sort() (*Rows, error) {
	if len(s.runs) == 0 && s.err == nil {
		s.sortBuffer()
		return &Rows{s: s, src: &bufferRows{s: s}}, nil
	}
	if s.n > 0 {
		s.spill()
	}
	s.buf, s.order = nil, nil
	for s.err == nil && len(s.runs) > mergeFan {
		s.err = s.pass()
	}
	var m *merge
	err := s.err
	if err == nil {
		m, err = newMerge(s, s.runs)
	}
	if err != nil {
		err = fmt.Errorf("xtfwriter: sort of %d rows: %w", s.rows, err)
		s.drop()
		return nil, err
	}
	return &Rows{s: s, src: m}, nil
}

// pass merges neighbouring runs in groups, keeping their order.
func (s *Sorter) pass() error {
	old := s.runs
	s.runs = nil
	for len(old) > 0 {
		k := min(mergeFan, len(old))
		m, err := newMerge(s, old[:k])
		if err == nil {
			err = s.store(m)
		}
		for _, seg := range old[:k] {
			seg.Drop()
		}
		old = old[k:]
		if err != nil {
			s.runs = append(s.runs, old...)
			return err
		}
	}
	return nil
}

// drop empties the sorter; it can be used again.
func (s *Sorter) drop() {
	for _, seg := range s.runs {
		seg.Drop()
	}
	s.runs, s.order = nil, s.order[:0]
	s.n, s.rows, s.err = 0, 0, nil
}

// Next advances to the next row.
func (r *Rows) Next() bool {
	if r.err != nil || r.src == nil {
		return false
	}
	r.row, r.err = r.src.next()
	return r.err == nil && r.row != nil
}

// Row is the current row, valid until the next call of Next.
func (r *Rows) Row() []byte { return r.row }

// Err is the error that ended the merge, if any.
func (r *Rows) Err() error { return r.err }

// Close gives the runs back. The sorter is empty then and can be used again.
func (r *Rows) Close() {
	r.s.drop()
	r.src, r.row = nil, nil
}

// merge is a k-way merge: the runs ordered by their current row, then by age. A
// run whose next row is still the least costs one comparison.
type merge struct {
	key  int
	runs []mergeRun
	took bool // the first run's row was given out
}

type mergeRun struct {
	rows *runRows
	row  []byte
	age  int
}

func (m *merge) before(a, b *mergeRun) bool {
	if c := bytes.Compare(a.row[:m.key], b.row[:m.key]); c != 0 {
		return c < 0
	}
	return a.age < b.age
}

func newMerge(s *Sorter, runs []*Segment) (*merge, error) {
	m := &merge{key: s.key}
	buffer := min(s.limit*s.width/len(runs), lastChunk)
	for i, seg := range runs {
		r := &runRows{seg: seg, width: s.width, store: make([]byte, max(buffer/s.width, 16)*s.width)}
		row, err := r.next()
		if err != nil {
			return nil, err
		}
		if row != nil {
			run := mergeRun{r, row, i}
			m.runs = slices.Insert(m.runs, m.place(&run, 0), run)
		}
	}
	return m, nil
}

// place returns where r belongs among the runs from index lo on.
func (m *merge) place(r *mergeRun, lo int) int {
	hi := len(m.runs)
	for lo < hi {
		mid := (lo + hi) / 2
		if m.before(&m.runs[mid], r) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (m *merge) next() ([]byte, error) {
	if m.took {
		if err := m.advance(); err != nil {
			return nil, err
		}
	}
	m.took = len(m.runs) > 0
	if !m.took {
		return nil, nil
	}
	return m.runs[0].row, nil
}

// advance moves the first run to its next row and to its new place.
func (m *merge) advance() error {
	r := &m.runs[0]
	row, err := r.rows.next()
	if err != nil {
		return err
	}
	if row == nil {
		m.runs = slices.Delete(m.runs, 0, 1)
		return nil
	}
	r.row = row
	if len(m.runs) == 1 || m.before(r, &m.runs[1]) {
		return nil
	}
	moved := *r
	lo := m.place(&moved, 1)
	copy(m.runs, m.runs[1:lo])
	m.runs[lo-1] = moved
	return nil
}
