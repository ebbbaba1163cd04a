package paraver

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// limits bound what a split holds at once.
type limits struct {
	bytes   int // of records
	records int
}

var usualLimits = limits{8 << 20, 1 << 18}

// itemKind is what a record means to one thread.
type itemKind uint8

const (
	sendItem     itemKind = iota // logical send
	postItem                     // logical receive
	receivedItem                 // physical receive
	stateEndItem
	eventItem
	offItem // the begin of stateOff in a trace with calls
)

// class orders the items of an instant: messages, ends of states, events, ends of tracing.
func (k itemKind) class() uint64 { return uint64(max(k, receivedItem)) }

// item is a record in the arena.
type item struct {
	time     uint64
	location uint32
	off      uint32
	kind     itemKind
}

// run is the part of a thread's records that was brought in order at once.
type run struct {
	off, end int64
	first    uint64 // time
}

// split holds the records of a range of threads, each thread's by time: the
// file has them all in one order, and messages at the time of the send. It is
// made in one pass. Memory: 8 MiB of records, 8 MiB of their places, and once more
// the records in order; what does not fit goes to a file without a name, as runs that a reader merges.
type split struct {
	first, end uint32 // threads
	states     bool   // become calls
	limits     limits
	arena      []byte
	items      []item
	runs       [][]run // by thread
	out        []byte
	file       *os.File // nil while all fits the arena
	at         int64
	dir        string
}

// newSplit makes one pass over a trace.
func newSplit(h *head, r io.Reader, first, end uint32, dir string, states bool, l limits) (*split, error) {
	s := &split{first: first, end: end, states: states, limits: l, runs: make([][]run, end-first), dir: dir}
	x, err := newRecords(r, mostHead)
	if err != nil {
		return nil, err
	}
	var rec record
	for {
		line, leftOut, err := x.next()
		if err != nil {
			if !errors.Is(err, io.EOF) && readFault(err) == 0 {
				return nil, errors.Join(fmt.Errorf("paraver: line %d: %w", x.number, err), s.Close())
			}
			break
		}
		if leftOut || line[0] == byte(stateRecord) && !s.states && !bytes.HasSuffix(line, []byte(":14")) || rec.parse(h.header, line) != "" {
			continue // the index counted it
		}
		if err := s.add(&rec, x.number); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.flush(s.file != nil); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.arena, s.items = nil, nil
	return s, nil
}

// add takes what the threads of the range need of a record, which is line
// number of the file.
func (s *split) add(r *record, number uint64) error {
	switch r.kind {
	case stateRecord:
		kind, kept := eventItem, isCall(r.state)
		if !s.states {
			kind, kept = offItem, r.state == stateOff
		}
		if kept && r.time < r.end && s.begin(r.location, r.time, kind, number) {
			s.put(1, typeState, r.state)
			s.begin(r.location, r.end, stateEndItem, number)
			s.put(1, typeState, 0)
		}
	case eventRecord:
		if s.begin(r.location, r.time, eventItem, number) {
			s.put(uint64(len(r.pairs)))
			for _, p := range r.pairs {
				s.put(p.Type, p.Value)
			}
		}
	case commRecord:
		m := &r.message
		if s.begin(r.location, r.time, sendItem, number) {
			s.put(uint64(m.to), uint64(m.tag), m.size)
		}
		if s.begin(m.receiver, m.posted, postItem, number) {
			s.put(uint64(m.from), uint64(m.tag), m.size, m.received)
		}
		if s.begin(m.receiver, m.received, receivedItem, number) {
			s.put(uint64(m.from), uint64(m.tag), m.size)
		}
	}
	if len(s.arena) < s.limits.bytes && len(s.items) < s.limits.records {
		return nil
	}
	return s.flush(true)
}

// begin starts an item of a thread, if the thread is one of the range.
func (s *split) begin(location uint32, time uint64, kind itemKind, number uint64) bool {
	if location < s.first || location >= s.end {
		return false
	}
	s.items = append(s.items, item{time, location, uint32(len(s.arena)), kind})
	s.put(number)
	return true
}

func (s *split) put(v ...uint64) {
	for _, v := range v {
		s.arena = binary.AppendUvarint(s.arena, v)
	}
}

// compareItems orders by thread and time. Messages are before the events of
// their instant; all else keeps the order of the file.
func compareItems(a, b item) int {
	switch {
	case a.location != b.location:
		return cmp.Compare(a.location, b.location)
	case a.time != b.time:
		return cmp.Compare(a.time, b.time)
	}
	if c := cmp.Compare(a.kind.class(), b.kind.class()); c != 0 {
		return c
	}
	return cmp.Compare(a.off, b.off)
}

// flush makes a run of each thread's items, in the file or in memory.
//
//	item   kind 1 | time | length | line | fields, as in add
func (s *split) flush(toFile bool) error {
	ends := make([]uint32, 0, len(s.items))
	for i := 1; i < len(s.items); i++ {
		ends = append(ends, s.items[i].off)
	}
	ends = append(ends, uint32(len(s.arena)))
	order := make([]uint32, len(s.items))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return compareItems(s.items[a], s.items[b]) })
	s.out = s.out[:0]
	var last *run
	location := uint32(trace.Undefined)
	for _, i := range order {
		it := &s.items[i]
		if it.location != location {
			location = it.location
			l := &s.runs[location-s.first]
			*l = append(*l, run{off: s.at + int64(len(s.out)), first: it.time})
			last = &(*l)[len(*l)-1]
		}
		body := s.arena[it.off:ends[i]]
		s.out = append(s.out, byte(it.kind))
		s.out = binary.AppendUvarint(s.out, it.time)
		s.out = binary.AppendUvarint(s.out, uint64(len(body)))
		s.out = append(s.out, body...)
		last.end = s.at + int64(len(s.out))
	}
	s.arena, s.items = s.arena[:0], s.items[:0]
	if !toFile {
		return nil
	}
	return s.write()
}

// write appends the runs to the file.
func (s *split) write() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "paraver-")
		if err != nil {
			return fmt.Errorf("paraver: %w", err)
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return fmt.Errorf("paraver: %w", err)
		}
	}
	if _, err := s.file.Write(s.out); err != nil {
		return fmt.Errorf("paraver: %w", err)
	}
	s.at += int64(len(s.out))
	s.out = s.out[:0]
	return nil
}

// data is where the runs lie.
func (s *split) data() io.ReaderAt {
	if s.file != nil {
		return s.file
	}
	return bytes.NewReader(s.out)
}

// Close frees the file.
func (s *split) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
