package paraver

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// entry is an item of one thread.
type entry struct {
	time   uint64
	kind   itemKind
	number uint64 // line of the file; it is a message's id too
	fields []byte // valid until the next entry
}

// merger delivers the items of one thread in order. Memory: a window for each
// run that overlaps others in time, two or three in files as tools write them;
// 8 KiB each, and more where a record is longer.
type merger struct {
	data   io.ReaderAt
	closed []rankedRun // not yet begun, by their first time
	open   []*runReader
	last   *runReader // delivered the entry that is in use
}

// rankedRun is a run and its place among the runs of the file.
type rankedRun struct {
	run
	rank int
}

func newMerger(data io.ReaderAt, runs []run) *merger {
	m := &merger{data: data}
	for i, r := range runs {
		m.closed = append(m.closed, rankedRun{r, i})
	}
	slices.SortStableFunc(m.closed, func(a, b rankedRun) int { return cmp.Compare(a.first, b.first) })
	return m
}

// next returns the next item, io.EOF after the last one.
func (m *merger) next() (entry, error) {
	if m.last != nil {
		if err := m.last.advance(); err != nil {
			return entry{}, err
		}
		m.last = nil
		m.open = slices.DeleteFunc(m.open, func(r *runReader) bool { return r.done })
	}
	best := m.lowest()
	for len(m.closed) > 0 && (best == nil || m.closed[0].first <= best.head.time) {
		c := m.closed[0]
		m.closed = m.closed[1:]
		r := &runReader{in: bufio.NewReaderSize(io.NewSectionReader(m.data, c.off, c.end-c.off), runWindow), left: c.end - c.off, rank: c.rank}
		if err := r.advance(); err != nil {
			return entry{}, err
		}
		m.open = append(m.open, r)
		best = m.lowest()
	}
	if best == nil {
		return entry{}, io.EOF
	}
	m.last = best
	return best.head, nil
}

// lowest returns the open run whose item comes first, nil if none is open.
func (m *merger) lowest() *runReader {
	var best *runReader
	for _, r := range m.open {
		if best == nil || r.before(best) {
			best = r
		}
	}
	return best
}

// runReader reads a run through a window.
type runReader struct {
	in   *bufio.Reader
	left int64 // bytes of the run from the item in head on
	used int   // bytes of that
	rank int
	head entry
	done bool
}

const (
	runWindow = 8 << 10
	itemHead  = 1 + 2*binary.MaxVarintLen64 // its bytes before the fields, at most
)

func (r *runReader) before(o *runReader) bool {
	switch {
	case r.head.time != o.head.time:
		return r.head.time < o.head.time
	case r.head.kind.class() != o.head.kind.class():
		return r.head.kind.class() < o.head.kind.class()
	}
	return r.rank < o.rank
}

// errSplit says that the split file is not what was written.
var errSplit = errors.New("paraver: a temporary file has been damaged")

// advance reads the next item. A window too small for it grows.
func (r *runReader) advance() error {
	if r.left -= int64(r.used); r.left == 0 {
		r.done = true
		return nil
	}
	_, _ = r.in.Discard(r.used) // they are in the window
	b, err := r.in.Peek(int(min(r.left, itemHead)))
	if err != nil {
		return errors.Join(errSplit, err)
	}
	time, w := binary.Uvarint(b[1:])
	size, k := binary.Uvarint(b[1+max(w, 0):])
	if w <= 0 || k <= 0 || size > uint64(r.left) {
		return errSplit
	}
	at := 1 + w + k
	if r.used = at + int(size); r.used > r.in.Size() {
		r.in = bufio.NewReaderSize(r.in, r.used)
	}
	if b, err = r.in.Peek(r.used); err != nil {
		return errors.Join(errSplit, err)
	}
	number, w := binary.Uvarint(b[at:])
	if w <= 0 {
		return errSplit
	}
	r.head = entry{time: time, kind: itemKind(b[0]), number: number, fields: b[at+w:]}
	return nil
}
