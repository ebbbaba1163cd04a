package stats

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// slowBins adds up bins of one level from all events of a location: every piece
// of time between two events goes to every open region, bin by bin.
type slowBins struct {
	t     *Tables
	level uint8
	rows  map[BinRow]*BinSums // by Bin and Region
	stack []int
	now   uint64
}

func (s *slowBins) at(bin uint64, region int) *BinSums {
	k := BinRow{Bin: bin, Region: int32(region)}
	if s.rows[k] == nil {
		s.rows[k] = &BinSums{}
	}
	return s.rows[k]
}

// pass moves on to time t.
func (s *slowBins) pass(t uint64) {
	for len(s.stack) > 0 && s.now < t {
		bin := s.now >> (2 * s.level)
		took := t - s.now
		if last := (bin+1)<<(2*s.level) - 1; last < t {
			took = last - s.now + 1
		}
		s.at(bin, s.stack[len(s.stack)-1]).Exclusive += took
		for i, r := range s.stack {
			if !slices.Contains(s.stack[:i], r) {
				s.at(bin, r).Inclusive += took
			}
		}
		s.now += took
	}
	s.now = t
}

func (s *slowBins) add(b *trace.Batch) {
	for i := range b.Events {
		e := &b.Events[i]
		s.pass(uint64(e.Time - s.t.Origin))
		bin := s.now >> (2 * s.level)
		region, ok := s.t.Defs.RegionIndex(e.Ref)
		if !ok {
			region = s.t.unknownRegion()
		}
		switch w := b.Words(e); e.Kind {
		case trace.Enter:
			s.at(bin, region).Calls++
			s.stack = append(s.stack, region)
		case trace.Leave:
			if top := len(s.stack) - 1; top >= 0 && s.stack[top] == region {
				s.stack = s.stack[:top]
			}
		case trace.MpiSend, trace.MpiIsend, trace.MpiRecv, trace.MpiIrecv:
			s.bytes(bin, w[3])
		case trace.MpiCollectiveEnd, trace.NonBlockingCollectiveComplete:
			s.bytes(bin, w[3]+w[4])
		}
	}
}

func (s *slowBins) bytes(bin, n uint64) {
	for _, r := range s.stack {
		if s.t.class[r]&trace.ClassMPI != 0 {
			s.at(bin, r).Bytes += n
			return
		}
	}
}

func (s *slowBins) bins() Bins {
	b := Bins{Level: s.level}
	for k, v := range s.rows {
		if *v != (BinSums{}) {
			b.Rows = append(b.Rows, BinRow{k.Bin, k.Region, *v})
		}
	}
	slices.SortFunc(b.Rows, compareBins)
	return b
}

// checkBins compares the bins of a location with the slow ones at their level,
// and at all levels above, and those with its profile.
func checkBins(t *testing.T, tables *Tables, l *Loaded, batches []*trace.Batch) {
	t.Helper()
	if n := uint64(len(l.Bins.Rows)); n > tables.leastBins+l.Totals.Events/eventsPerBin+uint64(len(tables.class)) {
		t.Errorf("%d rows for %d events", n, l.Totals.Events)
	}
	place := make([]int32, len(tables.class))
	got := Bins{Level: l.Bins.Level, Rows: slices.Clone(l.Bins.Rows)}
	for ; got.Level <= Level(l.Totals.Last); got.raise(got.Level+1, place) {
		slow := slowBins{t: tables, level: got.Level, rows: map[BinRow]*BinSums{}}
		for _, b := range batches {
			slow.add(b)
		}
		if want := slow.bins().Rows; !slices.Equal(want, got.Rows) {
			d := gocmp.Diff(want, got.Rows)
			t.Fatalf("level %d (-want +got):\n%s", got.Level, d)
		}
	}
	var whole []RegionProfile
	for i := range got.Rows {
		r := &got.Rows[i]
		whole = append(whole, RegionProfile{Region: r.Region, Calls: r.Calls, Inclusive: r.Inclusive, Exclusive: r.Exclusive, Bytes: r.Bytes})
	}
	if d := gocmp.Diff(l.Profile, whole, gocmp.AllowUnexported(RegionProfile{})); d != "" {
		t.Fatalf("one bin differs from the profile:\n%s", d)
	}
}

// batchesOf reads all events of a location.
func batchesOf(t *testing.T, src trace.Source, p trace.P) (list []*trace.Batch) {
	t.Helper()
	stream, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for i := range stream.Chunks() {
		r, err := stream.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b := &trace.Batch{}
			if err := r.Next(b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			list = append(list, b)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// loadedOf is the load of a location without rows.
func loadedOf(t *testing.T, tables *Tables, p trace.P, batches []*trace.Batch) *Loaded {
	t.Helper()
	l := NewLoader(tables, p, Outputs{})
	for _, b := range batches {
		if err := l.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := l.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func generated(t *testing.T, spec string) trace.Source {
	t.Helper()
	o, err := synthetic.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// origin is the earliest event of a source.
func origin(t *testing.T, src trace.Source) trace.Time {
	first := ^trace.Time(0)
	for p := range trace.P(src.Definitions().NumLocations()) {
		if b := batchesOf(t, src, p); len(b) > 0 && len(b[0].Events) > 0 {
			first = min(first, b[0].Events[0].Time)
		}
	}
	return first
}

func TestBinsOfPrograms(t *testing.T) {
	for _, spec := range []string{
		"stencil:procs=4,events=20k,jitter=10,seed=1", "ring:procs=3,events=3k,seed=2", "wavefront:procs=4,events=10k,seed=3",
		"masterworker:procs=3,events=5k,seed=4", "irregular:procs=2,events=20k,seed=5",
	} {
		t.Run(spec, func(t *testing.T) {
			src := generated(t, spec)
			tables := NewTables(src.Definitions(), origin(t, src))
			for p := range trace.P(src.Definitions().NumLocations()) {
				batches := batchesOf(t, src, p)
				checkBins(t, tables, loadedOf(t, tables, p, batches), batches)
			}
		})
	}
}

// TestBinsOfRandomEvents takes enters and leaves of few regions in any order,
// with gaps from nothing to most of what a clock can show.
func TestBinsOfRandomEvents(t *testing.T) {
	src := generated(t, "stencil:procs=1,events=100")
	tables := NewTables(src.Definitions(), 0)
	regions := src.Definitions().Regions
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, shift := rng.IntN(3000), rng.IntN(60)
		b := &trace.Batch{}
		b.Reset()
		now := trace.Time(rng.Uint64() >> (8 + rng.IntN(56)))
		for range n {
			if rng.IntN(3) > 0 {
				now += min(trace.Time(rng.Uint64N(1<<shift)>>rng.IntN(shift+1)), ^now)
			}
			kind := trace.Enter
			if rng.IntN(2) == 0 {
				kind = trace.Leave
			}
			ref := regions[rng.IntN(min(4, len(regions)))].Ref
			if rng.IntN(50) == 0 {
				ref = 1 << 30 // no such region
			}
			b.Append(now, kind, ref)
		}
		batches := []*trace.Batch{b}
		checkBins(t, tables, loadedOf(t, tables, 0, batches), batches)
	}
}

// TestBinSum adds up locations dealt out to ranks in any way: the sum is the same
// and its level the finest that fits.
func TestBinSum(t *testing.T) {
	tables := &Tables{class: make([]trace.CallClass, 40)}
	place := make([]int32, 40)
	for _, most := range []uint64{100, 200_000} {
		rng := rand.New(rand.NewPCG(most, 1))
		locations := make([]Bins, 12)
		for i := range locations {
			set := map[BinRow]bool{}
			for range 9_000 {
				set[BinRow{Bin: rng.Uint64N(most), Region: int32(rng.IntN(40))}] = true
			}
			for r := range set {
				r.BinSums = BinSums{rng.Uint64N(9), rng.Uint64N(9), rng.Uint64N(9), 1}
				locations[i].Rows = append(locations[i].Rows, r)
			}
			slices.SortFunc(locations[i].Rows, compareBins)
			locations[i].raise(uint8(rng.IntN(2)), place)
		}
		levels := Levels{1, 1, 12}
		want := Bins{Level: levels.Finest}
		for i := range locations {
			locations[i].raise(levels.Finest, place)
			want.Rows = merged(nil, want.Rows, locations[i].Rows)
		}
		for len(want.Rows) > wholeRows {
			want.raise(want.Level+1, place)
		}
		for _, ranks := range []int{1, 2, 3, 5} {
			err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
				s := NewSummarizer(tables, levels)
				for i := len(locations) * c.Rank() / ranks; i < len(locations)*(c.Rank()+1)/ranks; i++ {
					s.bins.add(&locations[i])
				}
				sum, err := s.Reduce(c)
				if err != nil || c.Rank() > 0 {
					return err
				}
				if got := &sum.Bins; got.Level != want.Level || !slices.Equal(got.Rows, want.Rows) {
					t.Errorf("%d bins, %d ranks: level %d with %d rows differs from level %d with %d", most, ranks, got.Level, len(got.Rows), want.Level, len(want.Rows))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLeastBins has a row for each 16 announced events of an average location.
func TestLeastBins(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []uint64 // by location
		want   uint64
	}{
		{"no location", nil, 64},
		{"few events", []uint64{16 * 63}, 64},
		{"one location", []uint64{16 * 1000}, 1000},
		{"an average", []uint64{16 * 100, 16 * 301}, 200},
		{"many events", []uint64{16 * 5000}, 4096},
		{"an unknown number of events", []uint64{trace.Undefined64, trace.Undefined64}, 4096},
	} {
		d := &trace.Definitions{}
		for i, n := range c.events {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(i), Events: n})
		}
		d.Seal()
		if got := leastBins(d); got != c.want {
			t.Errorf("%s: %d rows, want %d", c.name, got, c.want)
		}
	}
}

// TestBinsInOrder decodes bins whose rows do not ascend.
func TestBinsInOrder(t *testing.T) {
	for _, rows := range [][]BinRow{
		{{Bin: 3, Region: 2}, {Bin: 3, Region: 2}},
		{{Bin: 3, Region: 2}, {Bin: 3, Region: 1}},
		{{Bin: 3, Region: 1}, {Bin: 2, Region: 2}},
		{{Bin: 3, Region: 6}},
	} {
		r := reader{Reader: varint.Read((&Bins{Rows: rows}).AppendBinary(nil))}
		if b, err := r.bins(6); err == nil {
			t.Errorf("%+v comes back as %+v", rows, b.Rows)
		}
	}
}

// TestLevels checks the bound on rows.
func TestLevels(t *testing.T) {
	c := LevelCounts{}
	for i := range c.Rows {
		c.Rows[i] = max(int64(1<<30)>>(2*i), 3)
	}
	for _, test := range []struct {
		least  int64
		events uint64
		want   Levels
	}{
		{0, 0, Levels{10, 10, 10}},
		{0, 64 * (1 << 12), Levels{9, 10, 10}},
		{0, 64 * (1<<12 + 1<<14), Levels{8, 10, 10}},
		{9, 64 * (1<<12 + 1<<14), Levels{9, 10, 10}},
		{0, 1 << 60, Levels{0, 10, 10}},
	} {
		c.Least = test.least
		if got := c.Levels(1<<20-1, test.events); got != test.want {
			t.Errorf("at least %d, %d events: %+v, want %+v", test.least, test.events, got, test.want)
		}
	}
}
