package trace

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// filler is a reading visitor that makes up values.
type filler struct{ *rand.Rand }

func (f filler) Reading() bool { return true }

// bits draws a number of any magnitude, the extremes included.
func (f filler) bits(width uint) uint64 {
	switch f.IntN(6) {
	case 0:
		return 0
	case 1:
		return 1<<width - 1
	}
	return f.Uint64() >> (64 - width) >> f.UintN(width)
}

func (f filler) Field(_ string, field any, _ RefKind) {
	switch v := field.(type) {
	case *uint8:
		*v = uint8(f.bits(8))
	case *uint32:
		*v = uint32(f.bits(32))
	case *uint64:
		*v = f.bits(63)
	case *int64:
		*v = int64(f.bits(63)) - 1<<f.UintN(63)
	case *string:
		*v = "s\x00é\xff"[:f.IntN(6)]
	case *Value:
		*v = Value{ValueType(f.bits(8)), f.bits(63)}
	default:
		panic("a field of another type")
	}
}

func (f filler) Count(string, int, Width) int { return f.IntN(4) }

// defKinds lists all kinds that Add knows.
func defKinds() []DefKind {
	var out []DefKind
	for k := range 256 {
		if new(Definitions).Add(DefKind(k)) != nil {
			out = append(out, DefKind(k))
		}
	}
	return out
}

func randomDefinitions(seed uint64, perKind int) *Definitions {
	f := filler{rand.New(rand.NewPCG(seed, 1))}
	d := &Definitions{}
	for _, k := range defKinds() {
		for range perKind {
			d.Add(k).Visit(f)
		}
	}
	return d
}

// TestRoundTrip encodes and decodes random records of every kind.
func TestRoundTrip(t *testing.T) {
	if n := len(defKinds()); n != 38 {
		t.Fatalf("%d definition kinds, want the 38 of OTF2 3.0", n)
	}
	for seed := range uint64(50) {
		d := randomDefinitions(seed, 1+int(seed%5))
		b, err := d.AppendBinary([]byte("prefix"))
		if err != nil {
			t.Fatal(err)
		}
		var back Definitions
		if err := back.UnmarshalBinary(b[len("prefix"):]); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(d, &back, cmpopts.IgnoreUnexported(Definitions{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		again, _ := back.AppendBinary(nil)
		if !bytes.Equal(again, b[len("prefix"):]) {
			t.Fatalf("seed %d: second encoding differs", seed)
		}
		if n := d.BinarySize(); n != len(again) {
			t.Fatalf("seed %d: %d bytes announced, %d encoded", seed, n, len(again))
		}
	}
}

// TestCutRecords shortens each record byte by byte, as older writers do: fields
// that are missing keep their defaults and the others their values.
func TestCutRecords(t *testing.T) {
	for _, k := range defKinds() {
		d := &Definitions{}
		d.Add(k).Visit(filler{rand.New(rand.NewPCG(7, uint64(k)))})
		whole, _ := d.AppendBinary(nil)
		body := whole[3:] // version, kind and a length below 128
		if int(whole[2]) != len(body) {
			t.Fatalf("kind %d: record of %d bytes announced as %d", k, len(body), whole[2])
		}
		for n := range body {
			cut := append([]byte{encodingVersion, byte(k), byte(n)}, body[:n]...)
			var back Definitions
			if err := back.UnmarshalBinary(cut); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("kind %d cut to %d bytes: %v", k, n, err)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	old := func(k DefKind, body ...byte) []byte {
		return append([]byte{encodingVersion, byte(k), byte(len(body))}, body...)
	}
	var d Definitions
	if err := d.UnmarshalBinary(old(DefClockProperties, 10, 20, 30)); err != nil {
		t.Fatal(err)
	}
	if c := d.Clock(); c != (ClockProperties{10, 20, 30, Undefined64}) {
		t.Errorf("clock of OTF2 1: %+v", c)
	}
	if err := d.UnmarshalBinary(old(DefLocationGroup, 1, 2, 1, 4)); err != nil {
		t.Fatal(err)
	}
	if g := d.LocationGroups[0]; g.Creator != Undefined {
		t.Errorf("location group without creator: %+v", g)
	}
	// self, name, description, type (MPI barrier), file, begin, end
	if err := d.UnmarshalBinary(old(DefRegion, 5, 6, 7, 22, 8, 9, 10)); err != nil {
		t.Fatal(err)
	}
	want := Region{5, 6, 7, 22, 8, 9, 10, 6, RoleBarrier, ParadigmMPI, 0}
	if diff := cmp.Diff(want, d.Regions[0]); diff != "" {
		t.Errorf("region of OTF2 1.0: %s", diff)
	}
	if err := d.UnmarshalBinary(old(DefGroup, 1, 2, 6, 2, 30, 40)); err != nil {
		t.Fatal(err)
	}
	if g := d.Groups[0]; g.Type != GroupCommLocations || g.Paradigm != ParadigmMPI || len(g.Members) != 2 {
		t.Errorf("group of OTF2 1.1: %+v", g)
	}
	if err := d.UnmarshalBinary(old(DefSystemTreeNodeProperty, 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if p := d.SystemTreeNodeProperties[0]; p.Value != (Value{TypeString, 3}) {
		t.Errorf("property of OTF2 1: %+v", p)
	}
	if err := d.UnmarshalBinary(old(DefRmaWin, 1, 2, 3)); err != nil || d.RmaWins[0].Flags != 1 {
		t.Errorf("window of OTF2 2: %+v, %v", d.RmaWins, err)
	}
}

func TestUnmarshalErrors(t *testing.T) {
	huge := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}
	for _, c := range []struct {
		name string
		b    []byte
	}{
		{"empty", nil},
		{"version", []byte{encodingVersion + 1}},
		{"no length", []byte{encodingVersion, byte(DefString)}},
		{"length beyond the end", []byte{encodingVersion, byte(DefString), 3, 0, 0}},
		{"length of 64 bits", append([]byte{encodingVersion, byte(DefString)}, huge...)},
		{"length too long", append([]byte{encodingVersion, byte(DefString)}, bytes.Repeat([]byte{0xFF}, 11)...)},
		{"string beyond the record", []byte{encodingVersion, byte(DefString), 3, 0, 200, 1}},
		{"reference of 33 bits", []byte{encodingVersion, byte(DefComm), 5, 0x80, 0x80, 0x80, 0x80, 0x10}},
		{"list beyond the record", []byte{encodingVersion, byte(DefGroup), 5, 1, 2, 6, 9, 1}},
		{"list of 64 bits", append([]byte{encodingVersion, byte(DefGroup), 13, 1, 2, 6}, huge...)},
		{"signed number cut", []byte{encodingVersion, byte(DefInterruptGenerator), 5, 1, 1, 1, 1, 0x80}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Definitions
			if err := d.UnmarshalBinary(c.b); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v, want ErrCorrupt", err)
			}
		})
	}
	var d Definitions
	if err := d.UnmarshalBinary([]byte{encodingVersion, 200, 2, 1, 2, byte(DefString), 3, 4, 1, 'x'}); err != nil || d.Text(4) != "x" {
		t.Errorf("record of an unknown kind before a string: %v, %+v", err, d.Strings)
	}
}

// FuzzUnmarshal decodes hostile bytes, seals them, asks everything that takes
// arguments and encodes what was accepted.
func FuzzUnmarshal(f *testing.F) {
	for seed := range uint64(3) {
		b, _ := randomDefinitions(seed, 2).AppendBinary(nil)
		f.Add(b)
	}
	b, _ := mixedDefinitions().AppendBinary(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Definitions
		if err := d.UnmarshalBinary(b); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		askAll(t, &d)
		out, err := d.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var back Definitions
		if err := back.UnmarshalBinary(out); err != nil {
			t.Fatalf("own encoding is refused: %v", err)
		}
		again, _ := back.AppendBinary(nil)
		if !bytes.Equal(out, again) {
			t.Fatal("own encoding changes")
		}
	})
}

// askAll checks what holds for any definitions.
func askAll(t *testing.T, d *Definitions) {
	t.Helper()
	if d.NumLocations() != len(d.Locations) {
		t.Fatalf("%d locations in order, %d defined", d.NumLocations(), len(d.Locations))
	}
	next := P(0)
	for i, p := range d.Processes() {
		if p.First != next || p.Count == 0 {
			t.Fatalf("process %d: %+v does not follow location %d", i, p, next)
		}
		next += P(p.Count)
	}
	if int(next) != d.NumLocations() {
		t.Fatalf("processes hold %d of %d locations", next, d.NumLocations())
	}
	for p := range next {
		process, thread := d.Process(p)
		if d.Processes()[process].First+P(thread) != p {
			t.Fatalf("location %d is thread %d of process %d", p, thread, process)
		}
		if q, ok := d.Ordinal(d.Location(p).Ref); !ok || d.Location(q).Ref != d.Location(p).Ref {
			t.Fatalf("location %d not found by its id", p)
		}
	}
	for i := range d.Regions {
		d.Class(&d.Regions[i])
		if d.Region(d.Regions[i].Ref) == nil {
			t.Fatalf("region %d not found", d.Regions[i].Ref)
		}
	}
	for _, comm := range append(d.CommRefs(), 0, 1<<31, Undefined) {
		for _, rank := range []uint32{0, 1, uint32(d.CommSize(comm)), math.MaxUint32} {
			if p := d.Peer(comm, rank, 0); p != UnknownProcess && int(p) >= max(len(d.Processes()), 1) {
				t.Fatalf("rank %d of communicator %d is process %d of %d", rank, comm, p, len(d.Processes()))
			}
		}
		d.RankIn(comm, 0)
		d.IsSelf(comm)
		d.CommMembers(comm)
	}
}
