package causes

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestSpread cuts a run whose calls are known in four wide steps only: slabs are smaller than these.
func TestSpread(t *testing.T) {
	var c Counts
	const step, calls = 1 << 24, 2 * slabCalls
	for k := range uint64(4) {
		c.Add(k*step, step, calls)
	}
	c.Add(4*step, 1, 1)
	run := Run{Comm: mpi.Serial(), Defs: &trace.Definitions{}, Last: 4 * step}
	if err := run.Cut(&c); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, n := range c.bins {
		sum += n
	}
	if n := len(run.Slabs.Ends); n != 8 || sum != 4*calls+1 {
		t.Errorf("%d slabs, ends %d; %d calls", n+1, run.Slabs.Ends, sum)
	}
}

// weightsOf makes weights with many equal ones, some of them huge.
func weightsOf(r *rand.Rand, n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		switch r.IntN(4) {
		case 0:
			w[i] = 0
		case 1:
			w[i] = r.Uint64N(4)
		case 2:
			w[i] = r.Uint64N(1000)
		default:
			w[i] = r.Uint64() >> 8 / uint64(n)
		}
	}
	w[r.IntN(n)] = 1 + r.Uint64N(9)
	return w
}

// TestSplit compares with rational numbers.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var s splitter
	for range 2000 {
		weights := weightsOf(r, 1+r.IntN(80)>>r.IntN(4)+1)
		amount := r.Uint64() >> r.IntN(64)
		want := exactSplit(amount, weights)
		if got := s.split(amount, weights); !slices.Equal(got, want) {
			t.Fatalf("%d by %v: %v, want %v", amount, weights, got, want)
		}
	}
	if got := s.split(5, []uint64{0, 0}); got != nil {
		t.Errorf("5 by nothing: %v", got)
	}
}

// TestLargest compares with a sorted list, also where it gives up early.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for range 2000 {
		n := 1 + r.IntN(300)
		list, most := make([]remainder, n), 1+r.Uint64N(400)
		for i := range list {
			list[i] = remainder{r.Uint64N(most), i}
		}
		r.Shuffle(n, func(a, b int) { list[a], list[b] = list[b], list[a] })
		want, k := slices.Clone(list), 1+r.IntN(n)
		order := func(a, b remainder) int { return cmp.Or(cmp.Compare(b.r, a.r), cmp.Compare(a.i, b.i)) }
		slices.SortFunc(want, order)
		largest(list, k, r.IntN(mostRounds))
		slices.SortFunc(list[:k], order)
		if !slices.Equal(list[:k], want[:k]) {
			t.Fatalf("%d of %d: %v, want %v", k, n, list[:k], want[:k])
		}
	}
}

// TestCosts adds to more costs than are held in memory, and compares with a map.
func TestCosts(t *testing.T) {
	s := heapStorage()
	c := newCosts(&s)
	r := rand.New(rand.NewPCG(2, 8))
	want := map[costName][costKinds]uint64{}
	for range 4 * mostCosts {
		x := costName{p: trace.P(r.Uint32N(3)), key: r.Uint64N(1 << 13), pattern: r.Uint32N(2), activity: r.Uint32N(2)}
		sum, kind := want[x], r.IntN(costKinds)
		sum[kind] += x.key
		want[x] = sum
		var add [costKinds]uint64
		add[kind] = x.key
		if err := c.add(&x, add); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) <= mostCosts {
		t.Fatalf("%d costs are no more than are held", len(want))
	}
	err := c.each(func(x *costName, sum [costKinds]uint64) error {
		if want[*x] != sum {
			t.Fatalf("%+v: %d, want %d", *x, sum, want[*x])
		}
		delete(want, *x)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Fatalf("%d costs are lost (%v)", len(want), err)
	}
}

// TestPassOn compares passing on within one slab and over several.
func TestPassOn(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 100, 2049} {
		lengths := weightsOf(r, n)
		total := uint64(0)
		for i := range lengths {
			lengths[i] = min(lengths[i], 1<<40)
			total += lengths[i]
		}
		for _, amount := range []uint64{1, uint64(n), 12345, r.Uint64() >> 3} {
			got := make([]uint64, n)
			d := &Delays{slabData: newSlabData(1), blame: blame{over: uint64(n), ended: uint64(n), waited: total}}
			for end, at := n, total; end > 0; {
				first := max(end-1-r.IntN(n), 0)
				d.waits = []ownWaits{{first: uint64(first)}}
				for i := end - 1; i >= first; i-- {
					d.waits[0].list = append([]ownWait{{begin: at - lengths[i], end: at}}, d.waits[0].list...)
					at -= lengths[i]
				}
				if end == n {
					if err := d.passOn(amount); err != nil {
						t.Fatal(err)
					}
				} else {
					d.carry(&d.carried[0])
				}
				for i := range d.waits[0].list {
					got[first+i] = d.waits[0].list[i].passed
				}
				end = first
			}
			if want := exactBack(amount, lengths); !slices.Equal(got, want) {
				t.Fatalf("%d waits, %d ticks: %v, want %v", n, amount, got, want)
			}
		}
	}
}

// TestValueTable compares with a map.
func TestValueTable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	var table valueTable
	want := map[valueKey]instant{}
	for i := range uint64(50_000) {
		k := valueKey{r.Uint32N(4), r.Uint32N(3), r.Uint64N(100)}
		if r.IntN(2) == 0 {
			want[k] = instant{i, i + 1}
			table.put(k, want[k])
			continue
		}
		v, ok := table.take(k)
		if w, there := want[k]; v != w || ok != there {
			t.Fatalf("%+v: %v, %t, want %v, %t", k, v, ok, w, there)
		}
		delete(want, k)
	}
	list := table.sorted()
	if len(list) != len(want) || !slices.IsSortedFunc(list, func(a, b value) int { return compareKeys(a.valueKey, b.valueKey) }) {
		t.Errorf("%d values, want %d in order", len(list), len(want))
	}
	for _, x := range list {
		if want[x.valueKey] != x.instant {
			t.Errorf("%+v, want %v", x, want[x.valueKey])
		}
	}
}

// TestOutbox sends records of all sizes between all ranks.
func TestOutbox(t *testing.T) {
	const locations = 11
	for _, ranks := range []int{1, 2, 5, 14} {
		var mu sync.Mutex
		got := map[string]int{}
		err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
			run := &Run{Comm: c, Ranges: partition.Ranges(make([]uint64, locations), ranks), Storage: heapStorage()}
			box := newOutbox(run.Comm, &run.Storage, func(b []byte) error {
				to := trace.P(binary.LittleEndian.Uint32(b))
				if !run.Ranges[c.Rank()].Contains(to) {
					return fmt.Errorf("a record for location %d", to)
				}
				mu.Lock()
				got[string(b)]++
				mu.Unlock()
				return nil
			})
			box.most = 1 << 12
			r := rand.New(rand.NewPCG(uint64(c.Rank()), 9))
			var err error
			for i := range 300 * c.Rank() {
				to := r.Uint32N(locations)
				b := binary.LittleEndian.AppendUint32(nil, to)
				b = binary.LittleEndian.AppendUint32(b, uint32(c.Rank()<<16|i))
				if err == nil {
					err = box.put(rankOf(run.Ranges, trace.P(to)), append(b, make([]byte, r.IntN(60))...))
				}
			}
			return box.deliver(err)
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, n := range got {
			if n != 1 {
				t.Errorf("%d ranks: record %q came %d times", ranks, k, n)
			}
		}
		if want := 150 * ranks * (ranks - 1); len(got) != want {
			t.Errorf("%d ranks: %d records of %d", ranks, len(got), want)
		}
	}
}

// TestOutboxFails lets one rank fail: all return its error.
func TestOutboxFails(t *testing.T) {
	var mu sync.Mutex
	failed := 0
	_ = mpi.RunInProcess(3, func(c mpi.Comm) error {
		run := &Run{Comm: c, Ranges: partition.Ranges(make([]uint64, 3), 3), Storage: heapStorage()}
		box := newOutbox(run.Comm, &run.Storage, func([]byte) error { return nil })
		var err error
		for p := range trace.P(3) {
			err = box.put(int(p), []byte("record"))
		}
		if c.Rank() == 1 {
			err = ErrDamaged
		}
		if err = box.deliver(err); err != nil {
			mu.Lock()
			failed++
			mu.Unlock()
		}
		return nil
	})
	if failed != 3 {
		t.Errorf("%d ranks of 3 got the error", failed)
	}
}

// crossingOf makes a crossing with some of everything.
func crossingOf(locations int) *crossing {
	x := &crossing{places: make([]position, locations)}
	x.places[0] = position{enter: 7, leave: 9, before: ^uint64(3), wait: 2, need: 8, late: 6, path: 5, last: correction{1, 2, 3}, rest: []replayOp{
		{kind: stepCall, t: 9, key: 12}, {kind: stepNeed, peer: 1, key: 4}, {kind: stepResult, coll: maxToAll, peer: 3, key: 1 << 40}, {kind: stepLeave, key: 5},
	}}
	x.values = []value{{valueKey{0, 0, 4}, instant{11, 12}}, {valueKey{1, 4, 9}, instant{^uint64(0), 1}}}
	x.instances = []instance{{coll: replayOp{coll: prefixMax, peer: 3, key: 2}, entered: 1, gone: true, value: instant{4, 3}, waiting: []uint32{1}, prefix: []memberValue{{2, 1, instant{9, 8}}}}}
	return x
}

// TestLater has two crossings that differ by 7 ticks, and then in something else too.
func TestLater(t *testing.T) {
	by := func(c uint64) *crossing {
		x := crossingOf(2)
		x.places[1] = position{enter: 3, leave: 4, before: 1}
		for p := range x.places {
			x.places[p].before += c
		}
		for i := range x.values {
			x.values[i].v -= c
		}
		x.instances[0].prefix[0].v -= c
		x.instances = append(x.instances, instance{coll: replayOp{coll: maxToAll, peer: 1, key: 3}, entered: 1, value: instant{v: 20 - c}})
		return x
	}
	if c, ok := later(by(0), by(7), nil, false); !ok || c != 7 {
		t.Errorf("later by %d, %t, want 7", c, ok)
	}
	run := &slabRun{to: by(0), active: []bool{true, true}}
	run.delay(nil, 7)
	if want := by(7); !reflect.DeepEqual(run.to, want) {
		t.Errorf("delayed by 7: %+v, want %+v", run.to, want)
	}
	for what, change := range map[string]func(x *crossing){
		"before":   func(x *crossing) { x.places[1].before++ },
		"wait":     func(x *crossing) { x.places[1].wait++ },
		"rest":     func(x *crossing) { x.places[0].rest = x.places[0].rest[1:] },
		"value":    func(x *crossing) { x.values[1].v++ },
		"result":   func(x *crossing) { x.instances[1].value.v++ },
		"measured": func(x *crossing) { x.values[1].m++ },
		"gone":     func(x *crossing) { x.instances[1].gone = true },
		"path":     func(x *crossing) { x.places[0].path++ },
		"prefix":   func(x *crossing) { x.instances[0].prefix[0].v++ },
		"member":   func(x *crossing) { x.instances[0].prefix[0].member++ },
		"place":    func(x *crossing) { x.instances[0].prefix[0].p++ },
	} {
		x := by(7)
		change(x)
		if _, ok := later(by(0), x, nil, false); ok {
			t.Errorf("another %s is not seen", what)
		}
	}
	if _, ok := later(&crossing{places: make([]position, 1)}, &crossing{places: []position{{rest: make([]replayOp, 1)}}}, []bool{false}, true); ok {
		t.Error("steps of slabs before are not seen where a location has no others")
	}
}

// TestUntil has a call from 10 on, 4 ticks earlier in the replay, that waits for three others: until 25 at the latest, 19 ticks.
func TestUntil(t *testing.T) {
	x := position{before: 4}
	x.call(&replayOp{t: 10, key: 40})
	for _, v := range []uint64{20, 25, 3, 22} {
		x.until(v)
	}
	if x.wait != 19 {
		t.Errorf("the call lasts %d ticks, want 19", x.wait)
	}
}

// TestSpan compares sums over blocks of pieces with sums over pieces, of few and of many keys. Some pieces are long: 1<<14 and 1<<21 ticks
// are the shortest ones of three and four bytes, whose bytes before the last have no bits but the highest.
func TestSpan(t *testing.T) {
	for _, keys := range []uint64{5, 193} {
		r := rand.New(rand.NewPCG(8, keys))
		var line lineSlab
		var sum tally
		b, last := []byte{0, 0, 0}, uint64(7)
		var pieces []term // key, ticks
		for i := range 2*keys + 300 {
			p := term{key: r.Uint64N(keys), ticks: 1 + r.Uint64N(9)}
			if r.IntN(8) == 0 {
				p.ticks = 1 << (7 * r.IntN(4))
			}
			if i < keys {
				p.key = i
			}
			if b = binary.AppendUvarint(b, (1+p.key)<<pieceBits); i < keys {
				b = binary.AppendUvarint(binary.AppendUvarint(b, p.key<<activityBits), 0)
			}
			b = binary.AppendUvarint(b, p.ticks)
			pieces, last = append(pieces, p), last+p.ticks
		}
		if err := line.parse(b, 7, &lineOrder{}); err != nil {
			t.Fatal(err)
		}
		for range 500 {
			from := 7 + r.Uint64N(last-7)
			to := from + r.Uint64N(last-from+1)
			if i := line.find(&line.near[1], from); line.from(i) > from || line.ends[i] <= from {
				t.Fatalf("%d keys: piece %d, [%d, %d), holds %d", keys, i, line.from(i), line.ends[i], from)
			}
			want, at := make([]uint64, keys), uint64(7)
			for _, p := range pieces {
				if first, end := max(from, at), min(to, at+p.ticks); first < end {
					want[p.key] += end - first
				}
				at += p.ticks
			}
			got := make([]uint64, keys)
			sum.begin(len(line.keys))
			line.span(&sum, from, to)
			for _, x := range line.take(&sum, nil) {
				got[x.key>>activityBits] += x.ticks
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d keys, [%d, %d): %v, want %v", keys, from, to, got, want)
			}
		}
	}
	if err := (&lineSlab{}).parse([]byte{0, 0, 0, 1 << pieceBits}, 7, &lineOrder{}); err == nil {
		t.Error("a piece without its length is read")
	}
}

// TestOn has pieces of two paths, in a wait and not, and one wait that goes on.
func TestOn(t *testing.T) {
	first := uint64(1) << pieceBits
	b := varint.Append(nil, 0, 0, 0, first|uint64(pieceWaits), 16, 0, 5, first, 4, first*2, 32, 0, 2, 0, 17)
	var line lineSlab
	if err := line.parse(b, 10, &lineOrder{}); err != nil || line.begun != 17 {
		t.Fatal(line.begun, err)
	}
	for at, want := range map[uint64]uint64{12: 16, 15: 16, 19: 16, 20: 32, 21: 32, 22: 0} {
		if k := line.on(at); k.key != want {
			t.Errorf("at %d: %d, want %d", at, k.key, want)
		}
	}
}

// TestPathPieces has the path on one location in two slabs: pieces at the border become one only where the path goes on there.
func TestPathPieces(t *testing.T) {
	for _, goesOn := range []uint64{0, 1} {
		var got []xtf.CPath
		c := &Path{run: &Run{Regions: []uint32{7}}, write: func(_ trace.P, row *xtf.CPath) error {
			got = append(got, *row)
			return nil
		}}
		x := pathWriter{c: c, sums: &slotTable{}}
		x.sums.clear()
		for _, b := range [][]byte{varint.Append(nil, 3, 2, 1, 0, goesOn), varint.Append(nil, 5, 4, 1, 0, 0)} {
			if err := x.slab(0, b); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.end(); err != nil {
			t.Fatal(err)
		}
		if want := 2 - int(goesOn); len(got) != want || got[0].T != 3 || got[want-1].End != 9 || got[0].Region != 7 {
			t.Errorf("the path goes on: %d: %+v", goesOn, got)
		}
	}
}

// FuzzRecords reads what passes keep in the storage, and what ranks send, from any bytes.
func FuzzRecords(f *testing.F) {
	f.Add(appendTerms(nil, []term{{1, 2, 3}, {9, 2, 3}}))
	f.Add(crossingOf(2).append(nil))
	f.Add((&Delays{carried: []carried{{p: 1, next: 9, low: 4, amount: 8, total: 5, length: 2, given: 1}}}).appendCarried())
	f.Fuzz(func(t *testing.T, in []byte) {
		if terms, err := parseTerms(nil, in); err == nil {
			again, err := parseTerms(nil, appendTerms(nil, terms))
			if err != nil || !slices.Equal(again, terms) {
				t.Errorf("%v are read back as %v: %v", terms, again, err)
			}
		}
		var line lineSlab
		if line.parse(in, 7, &lineOrder{}) == nil && len(line.ends) > 0 {
			line.on(line.ends[0])
			var sum tally
			sum.begin(len(line.keys))
			line.span(&sum, 7, line.ends[len(line.ends)/2])
		}
		if x, err := parseCrossing(in, 2); err == nil {
			if again, err := parseCrossing(x.append(nil), 2); err != nil || !reflect.DeepEqual(again, x) {
				t.Errorf("%+v are read back as %+v: %v", x, again, err)
			}
		}
		defs := (&program{locations: make([]rows, 2)}).definitions()
		d := &Delays{run: &Run{Defs: defs}}
		if err := d.parseCarried(in); err == nil {
			again := &Delays{run: &Run{Defs: defs}}
			if err := again.parseCarried(d.appendCarried()); err != nil || !slices.Equal(again.carried, d.carried) {
				t.Errorf("%+v are read back as %+v: %v", d.carried, again.carried, err)
			}
		}
	})
}

// FuzzSlab replays any steps of three locations, from any crossing: it ends, and what it leaves can be sent and goes on.
func FuzzSlab(f *testing.F) {
	steps := func(list ...replayOp) (b []byte) {
		var code stepCoder
		for i := range list {
			b = code.put(b, &list[i])
		}
		return b
	}
	f.Add(steps(replayOp{kind: stepCall, t: 3, key: 9}, replayOp{kind: stepSend, peer: 1, t: 4, key: 2}, replayOp{kind: stepLeave, key: 1}),
		steps(replayOp{kind: stepCall, t: 1, key: 9}, replayOp{kind: stepNeed, key: 2}, replayOp{kind: stepLeave, key: 1}), []byte{}, []byte{}, false, false)
	for k := range prefixMax + 1 {
		x := steps(replayOp{kind: stepCall, t: 3, key: 9}, replayOp{kind: stepEnter, coll: k, root: 1, t: 4}, replayOp{kind: stepResult, coll: k, root: 1}, replayOp{kind: stepLeave, key: 1})
		f.Add(x, x, x, crossingOf(3).append(nil), k%2 > 0, k > rootToAll)
	}
	beyond := crossing{places: make([]position, 3), instances: []instance{{coll: replayOp{coll: prefixMax}, prefix: []memberValue{{member: 9, p: 1}}}}}
	x := steps(replayOp{kind: stepEnter, coll: prefixMax})
	f.Add(x, x, x, beyond.append(nil), false, false)
	defs := planDefs(3, []uint64{0, 1, 2}, []uint64{2, 0})
	f.Fuzz(func(t *testing.T, a, b, c, from []byte, clocks, guess bool) {
		if len(a)+len(b)+len(c)+len(from) > 1<<14 {
			return
		}
		run := &Replay{Run: &Run{Comm: mpi.Serial(), Defs: defs, Storage: heapStorage()}, clocks: clocks}
		x := &flow{r: run, defs: defs, comms: map[uint32]uint32{}, runs: make([]slabRun, 1), guess: guess, read: &slabSteps{}, report: &ReplayReport{}}
		x.steps = newParcels(run.Comm, &run.Storage, Slabs{}, passKinds)
		run.parcels = x.steps
		for p, list := range [][]byte{a, b, c} {
			if err := x.steps.put(append([]byte{stepParcels, 0, 0, 0, byte(p), 0, 0, 0}, list...)); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.steps.deliver(nil); err != nil {
			t.Fatal(err)
		}
		start, err := parseCrossing(from, 3)
		if err != nil {
			start = &crossing{places: make([]position, 3)}
		}
		for range 2 {
			if err := x.read.readSlab(run, 0); err != nil {
				return
			}
			if err := x.slab(0, start); err != nil {
				return
			}
			to := x.runs[0].to
			again, err := parseCrossing(to.append(nil), 3)
			if err != nil {
				t.Fatalf("%+v is not read back: %v", to, err)
			}
			if _, ok := later(to, again, nil, clocks); !ok {
				t.Errorf("%+v is read back as %+v", to, again)
			}
			if _, err := x.deadlock(to, 0); err != nil {
				t.Error(err)
			}
			x.runs[0].delay(start, 7)
			start = again
		}
	})
}

// TestTurnsWithinCalls reads the steps of a call that goes on until 100, in the slab where it began and in the next one: who asks when it
// began hears of that before the call waits, and what lies after the call comes after it.
func TestTurnsWithinCalls(t *testing.T) {
	for _, call := range []replayKind{stepCall, stepResume} {
		var code stepCoder
		var b []byte
		for _, o := range []replayOp{{kind: call, coll: onPath, t: 10, key: 100}, {kind: stepNeed, peer: 1, key: 7}, {kind: stepCall, coll: onPath, t: 200, key: 300}} {
			b = code.put(b, &o)
		}
		s := steps{src: varint.Read(b)}
		for i, at := range []uint64{90, 100, 150} {
			s.soon = append(s.soon, earlyOp{replayOp{kind: stepAnswer, coll: onPath, t: at}, uint64(i)})
		}
		var got []replayKind
		for s.next() {
			got = append(got, s.op.kind)
		}
		if want := []replayKind{call, stepAnswer, stepAnswer, stepNeed, stepAnswer, stepCall}; !slices.Equal(got, want) {
			t.Errorf("steps %d, want %d", got, want)
		}
	}
}
