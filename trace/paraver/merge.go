package paraver

import (
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
		r := &runReader{data: m.data, off: m.closed[0].off, limit: m.closed[0].end, rank: m.closed[0].rank}
		m.closed = m.closed[1:]
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
	data       io.ReaderAt
	off, limit int64 // of the next byte to read, and the end
	rank       int
	buf        []byte
	at         int // in buf: start of the next item
	head       entry
	done       bool
}

const runWindow = 8 << 10

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

// advance reads the next item.
func (r *runReader) advance() error {
	for {
		n, ok := r.parse()
		if ok {
			r.at += n
			return nil
		}
		if r.off >= r.limit {
			r.done = r.at == len(r.buf)
			if !r.done {
				return errSplit
			}
			return nil
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// parse reads the item at the start of the window, if it is all there.
func (r *runReader) parse() (n int, ok bool) {
	b := r.buf[r.at:]
	if len(b) == 0 {
		return 0, false
	}
	e := entry{kind: itemKind(b[0])}
	n = 1
	var w int
	if e.time, w = binary.Uvarint(b[n:]); w <= 0 {
		return 0, false
	}
	n += w
	size, w := binary.Uvarint(b[n:])
	if n += w; w <= 0 || size > uint64(len(b)-n) {
		return 0, false
	}
	e.fields = b[n : n+int(size)]
	n += int(size)
	if e.number, w = binary.Uvarint(e.fields); w <= 0 {
		return 0, false
	}
	e.fields = e.fields[w:]
	r.head = e
	return n, true
}

// fill moves what is left to the start of the window and reads more. A window
// too small for one item doubles.
func (r *runReader) fill() error {
	rest := len(r.buf) - r.at
	size := max(runWindow, cap(r.buf))
	if rest == size {
		size *= 2
	}
	next := r.buf[:0]
	if cap(next) < size {
		next = make([]byte, 0, size)
	}
	next = next[:copy(next[:rest], r.buf[r.at:])]
	n := int(min(int64(size-rest), r.limit-r.off))
	next = next[:rest+n]
	if _, err := r.data.ReadAt(next[rest:], r.off); err != nil {
		return errors.Join(errSplit, err)
	}
	r.buf, r.at = next, 0
	r.off += int64(n)
	return nil
}
