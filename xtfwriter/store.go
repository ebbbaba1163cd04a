package xtfwriter

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"sort"
	"sync"

	"github.com/coppice-hpc/coppice/xtf"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Unit names a piece of work: one location in one stage.
type Unit struct {
	P     xtf.Proc `json:"p"`
	Stage uint32   `json:"s"`
}

// Key names a segment: an output of a unit. Kind is the caller's: a type id for
// the pages of an array, a blob kind, anything else from KindCaller on.
type Key struct {
	Unit
	Kind uint32 `json:"k"`
}

// Kinds of segments next to type ids, which are small.
const (
	// KindSummary is added to a type id for the page table of its array.
	KindSummary uint32 = 1 << 16
	// KindBlob is added to a blob kind.
	KindBlob uint32 = 1 << 17
	// KindCaller is the first kind that callers may define.
	KindCaller uint32 = 1 << 20
)

// Memory of a chunk is firstChunk, or so much times a power of two up to lastChunk.
const (
	firstChunk = 4 << 10
	lastChunk  = 256 << 10
	chunkSizes = 7
	spillBytes = 8 << 20 // of the oldest chunks that go to the file at once
)

// What a segment and a piece of it take next to their data, about: themselves, and their places in tables.
const (
	segmentBytes = 160
	pieceBytes   = 80
)

// chunkSize is the number of the least size that has room for n bytes, of the largest one if none has.
func chunkSize(n int) int { return min(bits.Len(uint(max(n, 1)-1)/firstChunk), chunkSizes-1) }

// Store keeps the segments of one rank: in memory up to a budget, then in one
// append-only file. It may be used by many goroutines; a segment is written by
// one at a time.
//
// Memory: at most the budget plus one chunk (256 KiB), for the data of segments, chunks
// kept for reuse, and segmentBytes for each segment and pieceBytes for each piece of it;
// where these are more than three quarters of the budget, a quarter of it next to them.
type Store struct {
	path    string // of the spill file
	own     Owner
	disk    disk
	unnamed bool
	budget  int64

	mu       sync.Mutex
	segments map[Key]*Segment
	order    []*chunk // chunks in memory, oldest first; freed ones have no memory
	file     *spillFile
	adopted  map[Owner]*spillFile // of earlier runs, read only
	old      openFiles            // those of adopted that are open
	tail     int64                // end of the file
	memory   int64                // of data
	tables   int64                // of segments and pieces
	peak     int64
	live     int64 // bytes of all segments
	dead     int   // entries of order without memory
	spare    spare
	done     map[Unit]unitState
	list     List // of this run
}

// unitState is what a checkpoint has to know of a finished unit.
type unitState uint8

const (
	unitDone   unitState = 1 + iota // no list has it yet
	unitListed                      // a list has it: this run's, or the one it was adopted from
	unitUsed                        // it lost a segment before a list had it: it never gets into one
)

// spillFile is a file of segments, and whose it is.
type spillFile struct {
	diskFile
	from Owner
}

// Owner is the run and the rank that a file of segments belongs to.
type Owner struct {
	Epoch uint64 `json:"epoch"`
	Rank  int    `json:"rank"`
}

// chunk is a piece of a segment, in memory or in the file.
type chunk struct {
	pos int64  // of its first byte in the segment
	n   int64  // bytes
	mem []byte // nil once in the file
	off int64  // in the file
	in  *spillFile
}

// NewStore returns a store that spills to the file at path once more than budget
// bytes of segments are held; with budget 0 everything goes to the file at once.
// The file is made at the first spill; its directory must exist.
func NewStore(path string, budget int64) *Store {
	return &Store{path: path, disk: systemDisk{}, budget: budget, segments: map[Key]*Segment{}, done: map[Unit]unitState{}}
}

// Unname lets the file lose its name once it is made: nothing is left of it when the process dies. To be called before the
// first segment.
func (st *Store) Unname() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.unnamed = true
}

// SetBudget changes the budget. What is in memory above it goes to the file.
func (st *Store) SetBudget(budget int64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.budget = budget
	err := st.shrink()
	st.spare.forget(st.data() - st.memory)
	return err
}

// Segment is an output of a unit: bytes that are appended, sealed and then never
// change. It is an xtf.Sink.
type Segment struct {
	st     *Store
	key    Key
	size   int64
	crc    uint32
	chunks []*chunk
	sealed bool
	gone   bool
}

// Create begins the segment of a key. An unsealed older one (of an interrupted
// unit) is dropped; a sealed one is an error: segments are immutable.
func (st *Store) Create(k Key) (*Segment, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if old := st.segments[k]; old != nil {
		if old.sealed {
			return nil, fmt.Errorf("xtfwriter: segment %v exists already", k)
		}
		old.drop()
		st.tables -= segmentBytes
	}
	s := &Segment{st: st, key: k}
	st.segments[k] = s
	st.tables += segmentBytes
	return s, nil
}

// Scratch begins a segment without a name: for runs and staging that no
// checkpoint keeps, and for bytes that change. Drop gives it back.
func (st *Store) Scratch() *Segment { return &Segment{st: st} }

// Append adds b and returns the offset of its first byte in the segment.
func (s *Segment) Append(b []byte) (int64, error) {
	st := s.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.sealed || s.gone {
		return 0, fmt.Errorf("xtfwriter: segment %v takes no more data", s.key)
	}
	at := s.size
	s.crc = crc32.Update(s.crc, castagnoli, b)
	s.size += int64(len(b))
	st.live += int64(len(b))
	if st.budget <= 0 {
		return at, s.spill(at, b)
	}
	for len(b) > 0 {
		c := s.room(len(b))
		k := min(len(b), cap(c.mem)-len(c.mem))
		c.mem = append(c.mem, b[:k]...)
		c.n += int64(k)
		b = b[k:]
	}
	return at, st.shrink()
}

// room returns a chunk with free memory for up to n bytes.
func (s *Segment) room(n int) *chunk {
	size := n
	if k := len(s.chunks); k > 0 {
		c := s.chunks[k-1]
		if c.mem != nil && len(c.mem) < cap(c.mem) {
			return c
		}
		size = max(n, int(min(2*c.n, lastChunk)))
	}
	c := &chunk{pos: s.size - int64(n), mem: s.st.spare.take(chunkSize(size), s.st.data()-s.st.memory)}
	s.chunks = append(s.chunks, c)
	s.st.order = append(s.st.order, c)
	s.st.tables += pieceBytes
	s.st.memory += int64(cap(c.mem))
	s.st.peak = max(s.st.peak, s.st.memory)
	return c
}

// spare is memory of dropped chunks, by size. Room is what the budget leaves for it.
type spare struct {
	lists [chunkSizes][][]byte
	bytes int64
}

// take returns empty memory of a size, used before where there is some.
func (s *spare) take(size int, room int64) []byte {
	list := s.lists[size]
	if n := len(list) - 1; n >= 0 {
		b := list[n]
		list[n] = nil // it would be kept for as long as the list has room for it
		s.lists[size] = list[:n]
		s.bytes -= int64(cap(b))
		return b
	}
	s.forget(room - firstChunk<<size)
	return make([]byte, 0, firstChunk<<size)
}

// forget gives memory up until the rest has room, or there is no more of it.
func (s *spare) forget(room int64) {
	for k := chunkSizes - 1; k >= 0 && s.bytes > room; {
		if n := len(s.lists[k]) - 1; n >= 0 {
			s.bytes -= firstChunk << k
			s.lists[k][n] = nil
			s.lists[k] = s.lists[k][:n]
		} else {
			k--
		}
	}
}

// give keeps the memory of a chunk for later, as far as there is room: memory that was used before costs less than new one.
func (s *spare) give(b []byte, room int64) {
	size := chunkSize(cap(b))
	if cap(b) == firstChunk<<size && s.bytes+int64(cap(b)) <= room {
		s.lists[size] = append(s.lists[size], b[:0])
		s.bytes += int64(cap(b))
	}
}

// data is what the budget leaves for data.
func (st *Store) data() int64 { return max(st.budget-st.tables, st.budget/4) }

// shrink spills the oldest chunks, of spillBytes or a quarter of what there may be: new ones take their memory.
func (st *Store) shrink() error {
	most := st.data()
	if st.memory <= most {
		return nil
	}
	i := 0
	for ; i < len(st.order) && st.memory > most-min(most/4, spillBytes); i++ {
		c := st.order[i]
		if c.mem == nil {
			continue
		}
		if err := st.move(c); err != nil {
			st.order = st.order[i:]
			return err
		}
	}
	st.order = append(st.order[:0:0], st.order[i:]...)
	st.dead = 0
	return nil
}

// compact forgets chunks that dropped segments left in the order.
func (st *Store) compact() {
	if st.dead < 1024 || st.dead < len(st.order)/2 {
		return
	}
	kept := st.order[:0]
	for _, c := range st.order {
		if c.mem != nil {
			kept = append(kept, c)
		}
	}
	clear(st.order[len(kept):])
	st.order, st.dead = kept, 0
}

// move writes a chunk to the file and frees its memory.
func (st *Store) move(c *chunk) error {
	off, err := st.write(c.mem)
	if err != nil {
		return err
	}
	st.memory -= int64(cap(c.mem))
	st.spare.give(c.mem, st.data()-st.memory)
	c.mem, c.off, c.in = nil, off, st.file
	return nil
}

// spill appends b to the file directly.
func (s *Segment) spill(pos int64, b []byte) error {
	off, err := s.st.write(b)
	if err != nil {
		return err
	}
	if k := len(s.chunks); k > 0 {
		if c := s.chunks[k-1]; c.in == s.st.file && c.off+c.n == off {
			c.n += int64(len(b))
			return nil
		}
	}
	s.chunks = append(s.chunks, &chunk{pos: pos, n: int64(len(b)), off: off, in: s.st.file})
	s.st.tables += pieceBytes
	return nil
}

func (st *Store) write(b []byte) (int64, error) {
	if st.file == nil {
		f, err := st.disk.create(st.path)
		if err != nil {
			return 0, fmt.Errorf("xtfwriter: %w", folderError("segment file ", st.path, err))
		}
		st.file = &spillFile{f, st.own}
		if st.unnamed {
			if err := os.Remove(st.path); err != nil {
				return 0, fmt.Errorf("xtfwriter: %w", err)
			}
		}
	}
	if _, err := st.file.WriteAt(b, st.tail); err != nil {
		return 0, fmt.Errorf("xtfwriter: %w", OutputError(fmt.Sprintf("segment file %s at %d", st.path, st.tail), err))
	}
	off := st.tail
	st.tail += int64(len(b))
	return off, nil
}

// Size is the number of bytes appended so far.
func (s *Segment) Size() int64 {
	s.st.mu.Lock()
	defer s.st.mu.Unlock()
	return s.size
}

// CRC is the CRC-32C of all bytes appended so far.
func (s *Segment) CRC() uint32 {
	s.st.mu.Lock()
	defer s.st.mu.Unlock()
	return s.crc
}

// Seal makes the segment immutable.
func (s *Segment) Seal() {
	st := s.st
	st.mu.Lock()
	defer st.mu.Unlock()
	s.sealed = true
	if k := len(s.chunks); k > 0 {
		if c := s.chunks[k-1]; c.mem != nil && cap(c.mem)-len(c.mem) > len(c.mem)/4 {
			whole := c.mem
			c.mem = append([]byte(nil), whole...) // its capacity is all that the allocator gives
			st.memory -= int64(cap(whole) - cap(c.mem))
			st.spare.give(whole, st.data()-st.memory)
		}
	}
}

// ReadAt implements io.ReaderAt. It does not verify; pages carry their own
// checksums, and Get verifies the whole segment.
func (s *Segment) ReadAt(p []byte, off int64) (int, error) {
	st := s.st
	done := 0
	for done < len(p) {
		st.mu.Lock()
		if s.gone {
			st.mu.Unlock()
			return done, fmt.Errorf("xtfwriter: segment %v: %w", s.key, ErrNoSegment)
		}
		at := off + int64(done)
		if at < 0 || at >= s.size {
			st.mu.Unlock()
			return done, io.EOF
		}
		i := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].pos > at }) - 1
		c := s.chunks[i]
		from := at - c.pos
		k := int(min(int64(len(p)-done), c.n-from))
		if c.mem != nil {
			copy(p[done:], c.mem[from:from+int64(k)])
			st.mu.Unlock()
			done += k
			continue
		}
		f, fileOff := c.in, c.off+from
		st.mu.Unlock()
		if n, err := f.ReadAt(p[done:done+k], fileOff); n < k {
			return done + n, fmt.Errorf("xtfwriter: segment file %s at %d: %w", f.Name(), fileOff, err)
		}
		done += k
	}
	return done, nil
}

// Drop forgets the segment and frees its memory; space in the file stays used
// until the store is removed, so that what a list says of it stays true.
func (s *Segment) Drop() {
	s.st.mu.Lock()
	defer s.st.mu.Unlock()
	if s.st.segments[s.key] == s {
		delete(s.st.segments, s.key)
		s.st.tables -= segmentBytes
		if s.st.done[s.key.Unit] == unitDone {
			s.st.done[s.key.Unit] = unitUsed
		}
	}
	s.drop()
}

func (s *Segment) drop() {
	if s.gone {
		return
	}
	s.st.tables -= pieceBytes * int64(len(s.chunks))
	for _, c := range s.chunks {
		if c.mem != nil {
			s.st.memory -= int64(cap(c.mem))
			s.st.spare.give(c.mem, s.st.data()-s.st.memory)
			c.mem = nil
			s.st.dead++
		}
	}
	s.st.compact()
	s.st.live -= s.size
	s.gone, s.chunks = true, nil
}

// Segment returns the sealed segment of a key.
func (st *Store) Segment(k Key) (*Segment, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.segments[k]
	if s == nil || !s.sealed {
		return nil, fmt.Errorf("xtfwriter: segment of proc %d stage %d kind %#x: %w", k.P, k.Stage, k.Kind, ErrNoSegment)
	}
	return s, nil
}

// Usage says what a store holds, in bytes.
type Usage struct {
	Memory  int64 // held in memory now
	Peak    int64 // most memory held
	Spilled int64 // written to the file
	Live    int64 // of all segments not dropped
}

// Usage returns the counters.
func (st *Store) Usage() Usage {
	st.mu.Lock()
	defer st.mu.Unlock()
	return Usage{st.memory, st.peak, st.tail, st.live}
}

// Finish marks a unit as done: from now on its sealed segments belong to
// checkpoints.
func (st *Store) Finish(u Unit) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done[u] == 0 {
		st.done[u] = unitDone
	}
}

// Finished says whether a unit is done.
func (st *Store) Finished(u Unit) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.done[u] != 0
}

// Close closes the files and, with remove, deletes the one that this store wrote.
func (st *Store) Close(remove bool) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	var err error
	for _, f := range st.adopted {
		err = errors.Join(err, f.Close())
	}
	st.adopted = nil
	if st.file != nil {
		err = errors.Join(err, st.file.Close())
		if remove {
			if rerr := os.Remove(st.path); !errors.Is(rerr, fs.ErrNotExist) { // a younger run may have cleaned up
				err = errors.Join(err, rerr)
			}
		}
		st.file = nil
	}
	if err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	return nil
}

func updateCRC(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }
