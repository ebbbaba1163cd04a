package archive_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// wild delivers records of every kind with values of every width, attribute
// lists, surplus bytes, stray leaves and calls that never end.
type wild struct {
	trace.Source
	seed uint64
	n    int
	long int // bytes of one more record
}

func newWild(t *testing.T, seed uint64, n int) *wild {
	t.Helper()
	base, err := tracetest.Parse("-- program --\nprocesses 3\nthreads 2\n-- events --\n0 1 ENTER MPI_Send\n0 2 ENTER MPI_Barrier\n0 3 ENTER main\n0 4 ENTER MPI_Waitall\n")
	if err != nil {
		t.Fatal(err)
	}
	return &wild{Source: base, seed: seed, n: n}
}

// wildLocal gives some of the archives mapping tables and clock offsets.
func wildLocal(seed uint64) func(p trace.P) *otf2.Local {
	if seed%3 == 0 {
		return nil
	}
	return func(p trace.P) *otf2.Local {
		return &otf2.Local{
			Sparse:   true,
			Mappings: []otf2.Mapping{{Kind: trace.RefRegion, Pairs: [][2]uint64{{0, 1}, {1, 0}}}, {Kind: trace.RefComm, Pairs: [][2]uint64{{0, 2}, {2, 0}}}},
			Offsets:  []otf2.ClockOffset{{Time: 1, Offset: int64(p) * 7}, {Time: 1 << 20, Offset: -int64(p)}},
		}
	}
}

func (s *wild) Measure(trace.P) (trace.Extent, error) {
	return trace.Extent{Bytes: 1, Chunks: 1}, nil
}

func (s *wild) Stream(p trace.P) (trace.Stream, error) {
	return trace.NewStream(1, func(int) (trace.ChunkReader, error) {
		return trace.Fill((&wildStream{rng: rand.New(rand.NewPCG(s.seed, uint64(p))), left: s.n, now: 1000, long: s.long}).fill), nil
	}), nil
}

type wildStream struct {
	rng  *rand.Rand
	left int
	now  trace.Time
	long int
}

func (s *wildStream) fill(b *trace.Batch) error {
	for ; s.left > 0 && len(b.Events) < 100; s.left-- {
		s.now += trace.Time(s.rng.IntN(3) * s.rng.IntN(1<<s.rng.IntN(20)))
		s.event(b)
	}
	if s.long > 0 {
		b.Append(s.now, 200, 0, append([]uint64{uint64(s.long)}, s.bytes(s.long)...)...)
		s.long = 0
	}
	return nil
}

// value returns small numbers mostly, and those at the limits of all widths.
func (s *wildStream) value(bits int) uint64 {
	switch s.rng.IntN(4) {
	case 0:
		return uint64(1)<<s.rng.IntN(bits) - uint64(s.rng.IntN(2))
	case 1:
		return uint64(math.MaxUint64) >> (64 - bits)
	}
	return uint64(s.rng.IntN(4))
}

// width is how many bits of a value an attribute or metric of a type has.
func width(t trace.ValueType) int {
	switch t {
	case trace.TypeUint8, trace.TypeInt8:
		return 8
	case trace.TypeUint16, trace.TypeInt16:
		return 16
	case trace.TypeUint64, trace.TypeInt64, trace.TypeDouble, trace.TypeLocation:
		return 64
	}
	return 32
}

func (s *wildStream) event(b *trace.Batch) {
	kind := trace.Kind(10 + s.rng.IntN(82))
	if s.rng.IntN(3) == 0 {
		kind = trace.Enter + trace.Kind(s.rng.IntN(2))
	}
	if kind == trace.Enter || kind == trace.Leave {
		b.Append(s.now, kind, uint32(s.value(32)))
	} else {
		b.Append(s.now, kind, 0, s.words(kind)...)
	}
	if s.rng.IntN(5) == 0 {
		list := make([]trace.EventAttribute, 1+s.rng.IntN(3))
		for i := range list {
			t := trace.ValueType(s.rng.IntN(int(trace.TypeLocationGroup) + 1))
			list[i] = trace.EventAttribute{Ref: uint32(s.value(32)), Type: t}
			if t != 0 {
				list[i].Value = s.value(width(t))
			}
		}
		b.AppendAttributes(list...)
	}
	if e := &b.Events[len(b.Events)-1]; s.rng.IntN(9) == 0 && !kind.Info().Singleton && kind.Known() {
		n := 1 + s.rng.IntN(20)
		e.Flags |= trace.HasSurplus
		b.Args = append(append(b.Args, uint64(n)), s.bytes(n)...)
		e.Len = uint32(len(b.Args)) - e.Arg
	}
}

// bytes returns n random bytes, 8 a word.
func (s *wildStream) bytes(n int) []uint64 {
	words := make([]uint64, (n+7)/8)
	for i := range words {
		words[i] = s.rng.Uint64()
	}
	if n%8 != 0 {
		words[len(words)-1] &= 1<<(8*(n%8)) - 1
	}
	return words
}

func (s *wildStream) words(kind trace.Kind) []uint64 {
	info := kind.Info()
	var words []uint64
	for i, f := range info.Fields {
		if slices.Contains(kind.Sizes(), i) { // more than sums can take is left out
			words = append(words, s.value(40))
			continue
		}
		switch f.Width {
		case trace.U8:
			words = append(words, s.value(8))
		case trace.U32:
			words = append(words, s.value(32))
		case trace.Stamp:
			words = append(words, uint64(s.now)+uint64(s.rng.IntN(1000)))
		default:
			words = append(words, s.value(64))
		}
	}
	if info.List == trace.NoList {
		return words
	}
	n := s.rng.IntN(6)
	words[len(words)-1] = uint64(n)
	switch info.List {
	case trace.MetricList:
		for range n {
			t := trace.ValueType(s.rng.IntN(12))
			words = append(words, uint64(t), s.value(64))
		}
	case trace.StringList:
		for range n {
			words = append(words, s.value(32))
		}
	default:
		words = append(words, s.bytes(n)...)
	}
	return words
}
