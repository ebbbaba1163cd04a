package stats

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// runOperations is the number of operations whose entries are ordered at once.
const runOperations = 1 << 18

// channelKey is what a channel is known by in one location, in the order of entries.
type channelKey struct{ peer, comm, tag, direction uint32 }

func (k channelKey) compare(o channelKey) int {
	return cmp.Or(cmp.Compare(k.peer, o.peer), cmp.Compare(k.comm, o.comm), cmp.Compare(k.tag, o.tag), cmp.Compare(k.direction, o.direction))
}

// operation is an entry but for its channel.
type operation struct {
	posting, row, t, end, bytes, post, stay uint64
	flags                                   uint32
}

// entryRuns orders the channel entries of a location: the operations of a run by counting those of each channel, and then all
// runs by merging them.
//
// Memory: 72 bytes for each of at most runOperations operations, 56 for each channel they use, and to merge mergedEntries
// entries, or 16 for each run where these are more.
type entryRuns struct {
	p        uint32
	scratch  func() Scratch
	ops      []operation // since the last run, in the order in which they completed
	of       []uint32    // number of the channel of each
	channels []channelKey
	count    []uint32 // of operations of each channel
	follow   []uint32 // the channel that was used behind each one last
	numbers  map[channelKey]uint32
	last     uint32
	order    []uint32
	runs     []Scratch
}

// reset prepares the entries of another location in the memory of those before.
func (r *entryRuns) reset(p uint32, scratch func() Scratch) {
	r.p, r.scratch, r.runs = p, scratch, nil
	r.empty()
}

func (r *entryRuns) empty() {
	r.ops, r.of, r.channels, r.count, r.follow, r.last = r.ops[:0], r.of[:0], r.channels[:0], r.count[:0], r.follow[:0], 0
	if clear(r.numbers); r.numbers == nil {
		r.numbers = map[channelKey]uint32{}
	}
}

// add adds an operation, which has ended, to a channel.
func (r *entryRuns) add(k channelKey, o operation) error {
	if len(r.ops) == runOperations {
		if err := r.endRun(); err != nil {
			return err
		}
	}
	if len(r.ops) == cap(r.ops) {
		r.ops = slices.Grow(r.ops, max(64, len(r.ops)))
	}
	n := r.number(k)
	r.count[n]++
	r.ops, r.of = append(r.ops, o), append(r.of, n)
	return nil
}

// number returns the number of a channel.
func (r *entryRuns) number(k channelKey) uint32 {
	if len(r.channels) > 0 {
		if n := r.follow[r.last]; r.channels[n] == k {
			r.last = n
			return n
		}
	}
	n, ok := r.numbers[k]
	if !ok {
		n = uint32(len(r.channels))
		r.numbers[k] = n
		r.channels, r.count, r.follow = append(r.channels, k), append(r.count, 0), append(r.follow, 0)
	}
	r.follow[r.last], r.last = n, n
	return n
}

// sort fills order with the operations since the last run by channel and posting.
func (r *entryRuns) sort() {
	byKey := make([]uint32, len(r.channels))
	for i := range byKey {
		byKey[i] = uint32(i)
	}
	slices.SortFunc(byKey, func(a, b uint32) int { return r.channels[a].compare(r.channels[b]) })
	at, sum := make([]uint32, len(r.channels)), uint32(0) // where the next operation of each goes
	for _, c := range byKey {
		at[c] = sum
		sum += r.count[c]
	}
	r.order = slices.Grow(r.order[:0], len(r.ops))[:len(r.ops)]
	for i, c := range r.of {
		r.order[at[c]] = uint32(i)
		at[c]++
	}
	for _, c := range byKey { // requests need not end in the order of their posting
		list := r.order[at[c]-r.count[c] : at[c]]
		byPosting := func(a, b uint32) int { return cmp.Compare(r.ops[a].posting, r.ops[b].posting) }
		if !slices.IsSortedFunc(list, byPosting) {
			slices.SortFunc(list, byPosting)
		}
	}
}

// sorted calls f for the entries since the last run, encoded and in order.
func (r *entryRuns) sorted(f func(row []byte) error) error {
	r.sort()
	var row [entryBytes]byte
	for _, i := range r.order {
		o := &r.ops[i]
		k := &r.channels[r.of[i]]
		e := entry{
			peer: k.peer, comm: k.comm, tag: k.tag, direction: k.direction,
			posting: o.posting, row: o.row, t: o.t, end: o.end, bytes: o.bytes, post: o.post, p: r.p, flags: o.flags, stay: o.stay,
		}
		e.put(row[:])
		if err := f(row[:]); err != nil {
			return err
		}
	}
	r.empty()
	return nil
}

// endRun stores the entries since the last run.
func (r *entryRuns) endRun() error {
	run := r.scratch()
	r.runs = append(r.runs, run)
	w := rowStream{sink: run}
	return cmp.Or(r.sorted(w.addRow), w.flush())
}

// each calls f for all entries in order, and forgets them.
func (r *entryRuns) each(f func(row []byte) error) error {
	if len(r.runs) == 0 {
		return r.sorted(f)
	}
	defer func() {
		for _, s := range r.runs {
			s.Drop()
		}
		r.runs = nil
	}()
	if len(r.ops) > 0 {
		if err := r.endRun(); err != nil {
			return err
		}
	}
	streams := make([]stream, len(r.runs))
	for i, s := range r.runs {
		streams[i] = stream{data: s, peers: []PeerRange{{Count: uint64(s.Size() / entryBytes)}}}
	}
	return mergeEntries(streams, func(a, b []byte) int { return bytes.Compare(a[:entryKey], b[:entryKey]) }, f)
}

// mergedEntries is about how many entries of all streams are in memory while they are merged.
const mergedEntries = 1 << 15

// mergeEntries calls f for the entries of several streams in order, which each of them has.
func mergeEntries(streams []stream, compare func(a, b []byte) int, f func(row []byte) error) error {
	var heads []*cursor // with entries left, by the next one
	insert := func(c *cursor) error {
		row, err := c.peek()
		if row == nil {
			return err
		}
		i := sort.Search(len(heads), func(i int) bool { return compare(heads[i].buf, row) > 0 })
		heads = slices.Insert(heads, i, c)
		return nil
	}
	for _, s := range streams {
		c := newCursor(s.data, 0, s.entries(), make([]byte, min(cursorEntries, max(16, mergedEntries/len(streams)))*entryBytes))
		if err := insert(&c); err != nil {
			return err
		}
	}
	for len(heads) > 0 {
		c := heads[0]
		if err := f(c.buf[:entryBytes]); err != nil {
			return err
		}
		c.take()
		row, err := c.peek()
		if err != nil {
			return err
		}
		if row != nil && (len(heads) == 1 || compare(row, heads[1].buf) < 0) {
			continue
		}
		heads = slices.Delete(heads, 0, 1)
		if err := insert(c); err != nil {
			return err
		}
	}
	return nil
}
