package xtf

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// exchange is a made-up run: messages and collectives of a few processes, of
// which number 2 has two locations.
type exchange struct {
	process []uint32 // of each location
	p2p     [][]P2P
	coll    [][]Coll
	entries [][]exchanged // of the channels of each location
}

// exchanged is an entry of a channel.
type exchanged struct {
	Channel
	row uint64
}

// send adds a message from location p to q.
func (x *exchange) send(p, q int, comm, tag uint32, seq uint64, kind uint32) {
	a, b := uint64(len(x.p2p[p])), uint64(len(x.p2p[q]))
	if p == q {
		b++
	}
	t := 10 * (a + b)
	out := P2P{T: t, End: t + 1, MateN: b, MateP: uint32(q), Seq: seq, Peer: x.process[q], Comm: comm, Tag: tag, Kind: P2PSend | kind}
	in := P2P{T: t, End: t + 2, MateN: a, MateP: uint32(p), Seq: seq, Peer: x.process[p], Comm: comm, Tag: tag, Kind: P2PRecv | kind}
	x.p2p[p] = append(x.p2p[p], out)
	x.p2p[q] = append(x.p2p[q], in)
	x.entries[p] = append(x.entries[p], exchanged{Channel{Key: ChannelKey(x.process[q], comm), Tag: tag, Direction: ChannelSend}, a})
	x.entries[q] = append(x.entries[q], exchanged{Channel{Key: ChannelKey(x.process[p], comm), Tag: tag, Direction: ChannelReceive}, b})
}

// file writes rows, channels and entries.
func (x *exchange) file(t testing.TB) *File {
	t.Helper()
	return openMem(t, x.bytes(t))
}

func (x *exchange) bytes(t testing.TB) *memFile {
	t.Helper()
	tt := tinyTypes(Packed, 3, 4)
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	for p := range len(x.process) + 1 {
		proc, process, thread := Proc(p), uint32(0), uint32(0)
		var arrays []FinishedArray
		if p == len(x.process) {
			proc = WholeRun
		} else {
			process = x.process[p]
			for _, a := range x.arrays(p) {
				arrays = append(arrays, buildArray(t, tt, proc, a))
			}
			if p > 0 && x.process[p-1] == process {
				thread = 1
			}
		}
		plan, err := PlanRegion(tt, proc, arrays, nil)
		if err == nil {
			err = w.Region(plan, process, thread, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func (x *exchange) arrays(p int) []testArray {
	var p2p, coll, channels, chans []byte
	for i := range x.p2p[p] {
		p2p = append(p2p, make([]byte, P2PRowBytes)...)
		x.p2p[p][i].T = uint64(i) // T rises; the rest does not matter here
		x.p2p[p][i].Put(p2p[i*P2PRowBytes:])
	}
	for i := range x.coll[p] {
		coll = append(coll, make([]byte, CollRowBytes)...)
		x.coll[p][i].Put(coll[i*CollRowBytes:])
	}
	all := slices.Clone(x.entries[p])
	slices.SortStableFunc(all, func(a, b exchanged) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Direction, b.Direction))
	})
	for i, e := range all {
		chans = le.AppendUint64(chans, e.row)
		if last := len(channels) - ChannelRowBytes; i > 0 && all[i-1].Channel == e.Channel {
			var c Channel
			c.Load(channels[last:])
			c.Count++
			c.Put(channels[last:])
			continue
		}
		channels = append(channels, make([]byte, ChannelRowBytes)...)
		e.First, e.Count = uint64(i), 1
		e.Put(channels[len(channels)-ChannelRowBytes:])
	}
	return []testArray{{TypeP2P, p2p}, {TypeColl, coll}, {TypeChannel, channels}, {TypeChan, chans}}
}

func newExchange() *exchange {
	x := &exchange{process: []uint32{0, 1, 2, 2, 3, 4}}
	n := len(x.process)
	x.p2p, x.coll, x.entries = make([][]P2P, n), make([][]Coll, n), make([][]exchanged, n)
	return x
}

// TestPartner compares the stored partner with the one that the channels give.
func TestPartner(t *testing.T) {
	x := newExchange()
	r := rand.New(rand.NewPCG(3, 3))
	type channel struct{ p, q, comm, tag int }
	seq := map[channel]uint64{}
	for range 400 {
		c := channel{r.IntN(6), r.IntN(6), r.IntN(2), 0}
		c.tag = 10*c.p + c.q // one location of each process has the channel
		x.send(c.p, c.q, uint32(c.comm), uint32(c.tag), seq[c], 0)
		seq[c]++
	}
	lost := uint64(len(x.p2p[4]))
	x.p2p[4] = append(x.p2p[4], P2P{Peer: 1, Comm: 9, Tag: 1, MateN: Never, MateP: undefined, Seq: Never, Kind: P2PSend | P2PUnmatched})
	f := x.file(t)
	for p := range x.p2p {
		for n := range x.p2p[p] {
			var st Stats
			stored, ok1, err1 := f.Partner(Proc(p), uint64(n), &st)
			found, ok2, err2 := f.PartnerByChannel(Proc(p), uint64(n), &st)
			if err1 != nil || err2 != nil || ok1 != ok2 || stored != found || ok1 == (p == 4 && uint64(n) == lost) {
				t.Fatalf("row %d of location %d: stored %v %v %v, by channel %v %v %v", n, p, stored, ok1, err1, found, ok2, err2)
			}
			if ok1 && (st.Comparisons == 0 || st.PageReads+st.Hits == 0 || x.p2p[stored.P][stored.N].MateN != uint64(n)) {
				t.Fatalf("row %d of location %d: %v, cost %+v", n, p, stored, st)
			}
		}
	}
	if _, _, err := f.Partner(0, 1<<30, nil); err == nil {
		t.Error("the partner of no row")
	}
}

// Where threads share a channel a place in it says nothing.
func TestPartnerShared(t *testing.T) {
	for _, x := range []struct {
		name string
		p, q [2]int
	}{
		{"receivers", [2]int{0, 0}, [2]int{2, 3}},
		{"senders", [2]int{2, 3}, [2]int{1, 1}},
	} {
		e := newExchange()
		for i := range 6 {
			e.send(x.p[i%2], x.q[i%2], 0, 5, uint64(i), P2PBestEffort)
		}
		f := e.file(t)
		for p := range e.p2p {
			for n := range e.p2p[p] {
				if _, ok, err := f.PartnerByChannel(Proc(p), uint64(n), nil); ok || !errors.Is(err, ErrSharedChannel) {
					t.Errorf("%s: %v %v", x.name, ok, err)
				}
				if to, ok, err := f.Partner(Proc(p), uint64(n), nil); !ok || err != nil || e.p2p[to.P][to.N].MateN != uint64(n) {
					t.Errorf("%s: stored %v %v %v", x.name, to, ok, err)
				}
			}
		}
	}
}

// TestMembers compares members with all rows: some processes miss some
// collectives, and the two locations of process 2 take turns.
func TestMembers(t *testing.T) {
	x := newExchange()
	r := rand.New(rand.NewPCG(5, 5))
	next := map[[2]uint32]uint64{}
	for i := range uint64(90) {
		comm := uint32(i % 3)
		for p, process := range x.process {
			if (process == 2 && r.IntN(2) == 0) || (p == 5 && i > 60) || (p == 0 && comm == 2) {
				continue
			}
			k := next[[2]uint32{process, comm}]
			next[[2]uint32{process, comm}]++
			n := uint64(len(x.coll[p]))
			x.coll[p] = append(x.coll[p], Coll{T: n, End: n + 1, Ordinal: k, Comm: comm})
			x.entries[p] = append(x.entries[p], exchanged{Channel{Key: ChannelKey(undefined, comm), Tag: undefined, Direction: ChannelColl}, n})
		}
	}
	f := x.file(t)
	for comm := range uint32(4) {
		for _, k := range []uint64{0, 1, 2, 7, 15, 29, 30, 1 << 40, Never - 1, Never} {
			type member struct {
				p Proc
				n uint64
			}
			var want, got []member
			for p := 1; p < 5; p++ {
				for n, c := range x.coll[p] {
					if c.Comm == comm && c.Ordinal == k {
						want = append(want, member{Proc(p), uint64(n)})
					}
				}
			}
			var st Stats
			err := f.Members(comm, k, 1, 5, &st, func(p Proc, n uint64, row []byte) bool {
				if U64(row, CollOrdinal) != k {
					t.Errorf("location %d row %d: ordinal %d", p, n, U64(row, CollOrdinal))
				}
				got = append(got, member{p, n})
				return true
			})
			if err != nil || !slices.Equal(want, got) {
				t.Fatalf("communicator %d, collective %d: %v %v, want %v", comm, k, got, err, want)
			}
			if len(want) > 0 && st.PageReads+st.Hits == 0 {
				t.Fatalf("cost %+v", st)
			}
		}
	}
}

// TestLocations finds the locations of processes by the directory.
func TestLocations(t *testing.T) {
	f := newExchange().file(t)
	for process, want := range map[uint32][2]Proc{0: {0, 1}, 1: {1, 2}, 2: {2, 4}, 3: {4, 5}, 4: {5, 6}, 5: {6, 6}, undefined: {6, 6}} {
		p1, p2, err := f.Locations(process, nil)
		if err != nil || (p1 != p2 || want[0] != want[1]) && [2]Proc{p1, p2} != want {
			t.Errorf("process %d: locations [%d, %d) %v, want %v", process, p1, p2, err, want)
		}
	}
}

// FuzzPaired mutates messages, collectives and channels and looks for partners and
// members without checksums.
func FuzzPaired(f *testing.F) {
	x := newExchange()
	for i := range 40 {
		x.send(i%3, (i+1)%6, 0, uint32(i%2), uint64(i/6), 0)
		x.coll[i%6] = append(x.coll[i%6], Coll{T: uint64(i), End: uint64(i), Ordinal: uint64(i / 6)})
		x.entries[i%6] = append(x.entries[i%6], exchanged{Channel{Key: ChannelKey(undefined, 0), Tag: undefined, Direction: ChannelColl}, uint64(i / 6)})
	}
	whole := x.bytes(f).b
	f.Add([]byte{8, 16, 0, 1, 70, 0, 0, 255})
	f.Add([]byte{80, 18, 0, 1, 64, 20, 0, 255})
	f.Fuzz(func(t *testing.T, patch []byte) {
		m := &memFile{b: patched(whole, patch, 0)}
		lenient := &File{r: m, size: int64(len(m.b)), cache: newCache(1 << 16), unchecked: true}
		lenient.decoders.New = func() any { return newDecoder() }
		err := lenient.open()
		if err == nil {
			err = askPaired(lenient)
		}
		if err != nil && !named(err) && !errors.Is(err, ErrSharedChannel) {
			t.Fatalf("unnamed error: %v", err)
		}
	})
}

// askPaired asks for the partner of each message and for some members; it returns
// the last error.
func askPaired(f *File) (last error) {
	note := func(err error) {
		if err != nil {
			last = err
		}
	}
	for p := range Proc(min(f.Procs(), 8)) {
		a, err := f.Array(p, TypeP2P)
		if err != nil {
			note(err)
			continue
		}
		for n := range min(a.Len(), 30) {
			_, _, err = f.Partner(p, n, nil)
			note(err)
			_, _, err = f.PartnerByChannel(p, n, nil)
			note(err)
		}
	}
	for _, k := range []uint64{0, 3, 6, Never} {
		note(f.Members(0, k, 0, Proc(min(f.Procs(), 8)), nil, func(Proc, uint64, []byte) bool { return true }))
	}
	return last
}
