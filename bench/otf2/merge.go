package main

import (
	"cmp"
	"errors"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Run is a stretch of events of one location that come next in global order:
// Batch.Events[From:To].
type Run struct {
	Batch    *trace.Batch
	P        trace.P
	From, To uint32
}

// Merger reads all locations of a source in global order: by time, at equal
// times by location id, the events of one location in their order. What is
// damaged is left out without a report: streams make one. It is for one goroutine. Memory: for each location a batch of 128 events and a chunk
// reader, about 5 + 128 KiB, and 24 bytes for each of 4096 runs.
//
// Locations compete in a tree of losers. A key holds the time since base in its
// high bits and the lane in the low ones, so that one comparison decides and
// the tree is walked without branches.
type Merger struct {
	src   trace.Source
	lanes []lane   // by ascending location id
	heads []head   // of the lanes
	tree  []uint64 // losers of the inner nodes 1..n-1; 0 is the winner
	shift uint     // bits of the lane
	span  uint64   // largest time since base that a key can hold
	base  uint64
	empty int32 // lane to refill before the next run, -1 for none
	runs  []Run
}

// lane is one location: its open chunk and the events read from it.
type lane struct {
	batch  trace.Batch
	p      trace.P
	chunk  int // next chunk to open
	stream trace.Stream
	reader trace.ChunkReader
}

// head is what the merge touches of a lane for every event.
type head struct {
	events []trace.Event
	next   int // event that comes next
}

const (
	runsAtOnce = 4096
	laneEvents = 128            // small batches: those of all lanes share the cache
	noKey      = math.MaxUint64 // of a lane that is done
)

// Merge opens every location of src.
func Merge(src trace.Source) (*Merger, error) {
	d := src.Definitions()
	n := d.NumLocations()
	m := &Merger{src: src, lanes: make([]lane, n), empty: -1, runs: make([]Run, 0, runsAtOnce)}
	for i := range m.lanes {
		l := &m.lanes[i]
		l.p = trace.P(i)
		l.batch.Events = make([]trace.Event, 0, laneEvents)
		l.batch.Args = make([]uint64, 0, 2*laneEvents)
	}
	slices.SortStableFunc(m.lanes, func(a, b lane) int { return cmp.Compare(d.Location(a.p).Ref, d.Location(b.p).Ref) })
	m.shift = uint(bits.Len(uint(max(1, n))))
	m.span = math.MaxUint64>>m.shift - 1
	size := 1
	for size < n {
		size *= 2
	}
	m.heads, m.tree = make([]head, n), make([]uint64, size)
	for i := range m.lanes {
		l := &m.lanes[i]
		var err error
		if l.stream, err = src.Stream(l.p); err == nil {
			err = m.refill(i)
		}
		if err != nil {
			m.Close()
			return nil, err
		}
	}
	m.rebase()
	return m, nil
}

// Close closes all streams.
func (m *Merger) Close() error {
	var errs []error
	for i := range m.lanes {
		l := &m.lanes[i]
		if l.reader != nil {
			errs = append(errs, l.reader.Close())
			l.reader = nil
		}
		if l.stream != nil {
			errs = append(errs, l.stream.Close())
			l.stream = nil
		}
	}
	return errors.Join(errs...)
}

// refill reads the next events of lane i; none are left if there are none
// afterwards.
func (m *Merger) refill(i int) error {
	l := &m.lanes[i]
	err := m.read(l)
	m.heads[i] = head{events: l.batch.Events}
	return err
}

func (m *Merger) read(l *lane) error {
	l.batch.Reset()
	for {
		if l.reader == nil {
			if l.chunk >= l.stream.Chunks() {
				return nil
			}
			var err error
			if l.reader, err = l.stream.Chunk(l.chunk); err != nil {
				return err
			}
			l.chunk++
		}
		err := l.reader.Next(&l.batch)
		if err == nil && len(l.batch.Events) > 0 || err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err == nil {
			continue
		}
		l.batch.Reset()
		err = l.reader.Close()
		l.reader = nil
		if err != nil {
			return err
		}
	}
}

// key returns the key of lane i. Times before base count as base, times too far
// away as the farthest: once such a key wins, rebase makes it exact.
func (m *Merger) key(i int) uint64 {
	h := &m.heads[i]
	if h.next >= len(h.events) {
		return noKey
	}
	t := max(uint64(h.events[h.next].Time), m.base)
	return min(t-m.base, m.span)<<m.shift | uint64(i)
}

// rebase makes the earliest next event the base and plays all matches again.
func (m *Merger) rebase() {
	base := uint64(math.MaxUint64)
	for i := range m.lanes {
		if h := &m.heads[i]; h.next < len(h.events) {
			base = min(base, uint64(h.events[h.next].Time))
		}
	}
	m.base = base
	n := len(m.tree)
	winners := make([]uint64, 2*n)
	for i := range n {
		winners[n+i] = noKey
		if i < len(m.heads) {
			winners[n+i] = m.key(i)
		}
	}
	for i := n - 1; i > 0; i-- {
		a, b := winners[2*i], winners[2*i+1]
		winners[i], m.tree[i] = min(a, b), max(a, b)
	}
	m.tree[0] = winners[1]
}

// Next returns the next runs. They are valid until the next call. It returns
// io.EOF after the last one.
func (m *Merger) Next() ([]Run, error) {
	if m.empty >= 0 {
		i := int(m.empty)
		m.empty = -1
		if err := m.refill(i); err != nil {
			return nil, err
		}
		m.play(i, m.key(i))
	}
	m.merge()
	if len(m.runs) == 0 {
		return nil, io.EOF
	}
	return m.runs, nil
}

// merge fills m.runs until they are full, a lane has to be refilled or all are
// done.
func (m *Merger) merge() {
	runs := m.runs[:0]
	lanes := uint64(1)<<m.shift - 1
	last := lanes // lane of the last run; none has this number
	for len(runs) < cap(runs) {
		winner := m.tree[0]
		if winner>>m.shift >= m.span {
			if winner == noKey {
				break
			}
			m.rebase()
			winner = m.tree[0]
		}
		i := winner & lanes
		h := &m.heads[i]
		from := h.next
		next := from + 1
		if i == last { // twice in a row: look how far it leads
			next = m.lead(int(i))
			runs[len(runs)-1].To = uint32(next)
		} else {
			l := &m.lanes[i]
			runs = append(runs, Run{&l.batch, l.p, uint32(from), uint32(next)})
			last = i
		}
		h.next = next
		if next >= len(h.events) {
			m.empty = int32(i)
			break
		}
		t := max(uint64(h.events[next].Time), m.base)
		m.play(int(i), min(t-m.base, m.span)<<m.shift|i)
	}
	m.runs = runs
}

// lead returns the end of lane i's events that come before every other lane's.
func (m *Merger) lead(i int) int {
	rival := uint64(noKey)
	for node := (len(m.tree) + i) >> 1; node > 0; node >>= 1 {
		rival = min(rival, m.tree[node])
	}
	// An event comes first if its time since base is below limit: that of the
	// rival, or equal to it in a lane with the smaller location id.
	limit := rival >> m.shift
	if rival > limit<<m.shift|uint64(i) {
		limit++
	}
	h, base := &m.heads[i], m.base
	k := h.next + 1
	for k < len(h.events) && (uint64(h.events[k].Time)-base < limit || uint64(h.events[k].Time) < base) {
		k++
	}
	return k
}

// play lets lane i compete with the given key.
func (m *Merger) play(i int, k uint64) {
	tree := m.tree
	for node := (len(tree) + i) >> 1; node > 0; node >>= 1 {
		t := tree[node]
		tree[node] = max(k, t)
		k = min(k, t)
	}
	tree[0] = k
}
