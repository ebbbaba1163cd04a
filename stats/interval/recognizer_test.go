package interval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

// message is a step of a table: a message to oneself that is sent and received,
// unless it says otherwise.
type message struct {
	comm, tag    uint32
	other        bool // to another process
	unreceived   bool
	between      bool // another event comes before
	want         interval.Outcome
	wantReceived interval.Outcome
}

const (
	part, half, whole = interval.Part, interval.Half, interval.Whole
	dangling, over    = interval.Dangling, interval.Over
)

// TestMessages decodes markers that are messages (forms F1 to F3).
func TestMessages(t *testing.T) {
	defs := &trace.Definitions{
		Strings: []trace.String{{Ref: 1, Value: interval.CommName}},
		Comms:   []trace.Comm{{Ref: 9, Name: 1}},
	}
	defs.Seal()
	raw := func(id, end uint32) uint32 { return 0xAA0000AA + id<<8 + 0x11*end }
	for _, c := range []struct {
		name    string
		markers string
		list    []message
		id      uint64
		end     bool
	}{
		{"raw begin", "", []message{{tag: 0xAA0001AA, want: part | whole, wantReceived: part}}, 1, false},
		{"raw begin, as a number", "", []message{{tag: 2852127146, want: part | whole, wantReceived: part}}, 1, false},
		{"raw end, largest id", "", []message{{tag: 0xAAFFFFBB, want: part | whole, wantReceived: part}}, 65535, true},
		{"raw to another process", "", []message{{tag: raw(1, 0), other: true, unreceived: true}}, 0, false},
		{"wrong last byte", "", []message{{tag: 0xAA0001AC}}, 0, false},
		{"wrong first byte", "", []message{{tag: 0xAB0001AA}}, 0, false},
		{"raw, not asked for", "f2,f3", []message{{tag: raw(1, 0)}}, 0, false},
		{"portable begin", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {tag: 300, want: part | whole, wantReceived: part}}, 300, false},
		{"portable end", "", []message{{tag: 0x2ABB, want: part | half, wantReceived: part}, {tag: 0, want: part | whole, wantReceived: part}}, 0, true},
		{"portable, largest id", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {tag: 32767, want: part | whole, wantReceived: part}}, 32767, false},
		{"portable, an id like a first tag", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {tag: 0x2ABB, want: part | whole, wantReceived: part}}, 0x2ABB, false},
		{"portable, an id too large", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {tag: 32768, want: dangling}}, 0, false},
		{"portable, something between", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {tag: 5, between: true}}, 0, false},
		{"portable, another communicator", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {comm: 2, tag: 5, want: dangling}}, 0, false},
		{"portable, the first not received", "", []message{{tag: 0x2AAA, unreceived: true, want: part | half}, {tag: 5, want: dangling}}, 0, false},
		{"portable, not asked for", "f1", []message{{tag: 0x2AAA}, {tag: 300}}, 0, false},
		{"half, then raw", "", []message{{tag: 0x2AAA, want: part | half, wantReceived: part}, {tag: raw(7, 1), want: dangling | part | whole, wantReceived: part}}, 7, true},
		{"raw, then half", "", []message{{tag: raw(7, 1), want: part | whole, wantReceived: part}, {tag: 0x2AAA, want: over | part | half, wantReceived: part}}, 0, false},
		{"named communicator, end", "", []message{{comm: 9, tag: 7, want: part | whole, wantReceived: part}}, 3, true},
		{"named communicator, begin", "", []message{{comm: 9, tag: 32766, want: part | whole, wantReceived: part}}, 16383, false},
		{"named communicator, a first tag of the portable form", "", []message{{comm: 9, tag: 0x2AAA, want: part | whole, wantReceived: part}}, 0x1555, false},
		{"named communicator, not asked for", "f2", []message{{comm: 9, tag: 7}}, 0, false},
		{"ordinary tag", "", []message{{tag: 300}}, 0, false},
		{"nothing at all", "none", []message{{tag: raw(1, 0)}, {tag: 0x2AAA}, {comm: 9, tag: 7}}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recognizer(t, defs, interval.Flags{Markers: c.markers})
			last := interval.Outcome(0)
			for i, m := range c.list {
				if m.between {
					if got := r.Break(); got != dangling {
						t.Errorf("break before message %d: %b", i, got)
					}
				}
				if last = r.Send(!m.other, m.comm, m.tag); last != m.want {
					t.Fatalf("send %d: %b, want %b", i, last, m.want)
				}
				if m.unreceived {
					continue
				}
				if got := r.Receive(true, m.comm, m.tag); got != m.wantReceived {
					t.Fatalf("receive %d: %b, want %b", i, got, m.wantReceived)
				}
			}
			if last&whole == 0 {
				return
			}
			if m := r.Mark(); m.Key.ID != c.id || m.End != c.end || !r.Complete() {
				t.Errorf("marker %+v, want id %d, end %v", m, c.id, c.end)
			}
		})
	}
}

func recognizer(tb testing.TB, defs *trace.Definitions, f interval.Flags) interval.Recognizer {
	tb.Helper()
	o, err := f.Parse()
	if err != nil {
		tb.Fatal(err)
	}
	p, err := interval.NewPlan(defs, o)
	if err != nil {
		tb.Fatal(err)
	}
	return interval.NewRecognizer(p)
}

// TestControl decodes calls of MPI_Pcontrol (forms F4 and F5).
func TestControl(t *testing.T) {
	for _, c := range []struct {
		name, markers string
		level         int64
		text          string
		first         bool // the text comes first
		want          interval.Mark
		ok            bool
	}{
		{name: "begin", level: 5, want: interval.Mark{Key: interval.Key{ID: 5, Form: interval.FormLevel}}, ok: true},
		{name: "end", level: -5, want: interval.Mark{Key: interval.Key{ID: 5, Form: interval.FormLevel}, End: true}, ok: true},
		{name: "off", level: 0},
		{name: "on", level: 1},
		{name: "the library's own", level: -4},
		{name: "lowest", level: -1 << 63, want: interval.Mark{Key: interval.Key{ID: 1 << 63, Form: interval.FormLevel}, End: true}, ok: true},
		{name: "not asked for", markers: "f5", level: 5},
		{name: "name", level: 1, text: "solve", want: interval.Mark{Key: interval.Key{Name: "solve", Form: interval.FormName}}, ok: true},
		{name: "name, end", level: -1, text: "solve", want: interval.Mark{Key: interval.Key{Name: "solve", Form: interval.FormName}, End: true}, ok: true},
		{name: "name first", level: 1, text: "solve", first: true, want: interval.Mark{Key: interval.Key{Name: "solve", Form: interval.FormName}}, ok: true},
		{name: "name at another level", level: 2, text: "solve"},
		{name: "name, not asked for", markers: "f4", level: 1, text: "solve"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recognizer(t, &trace.Definitions{}, interval.Flags{Markers: c.markers})
			r.Control()
			ok := false
			if c.text != "" && c.first {
				ok = r.Name(c.text)
			}
			ok = r.Level(c.level) || ok
			if c.text != "" && !c.first {
				ok = r.Name(c.text) || ok
			}
			if ok != c.ok || ok && r.Mark() != c.want {
				t.Errorf("%+v, %v; want %+v, %v", r.Mark(), ok, c.want, c.ok)
			}
			if r.Control(); r.Level(1) {
				t.Error("the name of the call before counts")
			}
			if r.Control(); r.Name("x") {
				t.Error("the level of the call before counts")
			}
		})
	}
}

func TestPlan(t *testing.T) {
	defs := &trace.Definitions{
		Strings: []trace.String{{Ref: 0, Value: "solve/a"}, {Ref: 1, Value: "solver"}, {Ref: 2, Value: "MPI_Send"}, {Ref: 3, Value: "prv:60000019 User"}, {Ref: 4, Value: "prv:6"}, {Ref: 5, Value: "x.c"}},
		Regions: []trace.Region{
			{Ref: 7, Name: 0, SourceFile: 5, BeginLine: 12, Description: trace.Undefined},
			{Ref: 8, Name: 1, Flags: trace.RegionPhase, SourceFile: trace.Undefined, Description: 3},
			{Ref: 9, Name: 2, Paradigm: trace.ParadigmMPI, Description: trace.Undefined},
		},
		Parameters: []trace.Parameter{{Ref: 2, Name: 4, Type: 2}},
	}
	defs.Seal()
	for _, c := range []struct {
		name string
		f    interval.Flags
		uses string // of the regions in order
		bad  string
	}{
		{"default", interval.Flags{}, "010", ""},
		{"no regions", interval.Flags{Markers: "f1"}, "000", ""},
		{"glob", interval.Flags{Intervals: []string{"region:solve*"}}, "110", ""},
		{"a slash is a letter", interval.Flags{Intervals: []string{"region:*a"}}, "100", ""},
		{"MPI calls are none", interval.Flags{Intervals: []string{"region:MPI_*"}}, "", "matches no region"},
		{"event type of regions", interval.Flags{Markers: "none", Intervals: []string{"prv:60000019"}}, "010", ""},
		{"event type", interval.Flags{Markers: "none", Intervals: []string{"prv:6"}}, "000", ""},
		{"event type that is not there", interval.Flags{Intervals: []string{"prv:60"}}, "", "no such event type"},
		{"rank that is not there", interval.Flags{Sidecar: []byte("*,1,2,3,\n0,1,2,3,\n")}, "", "rank 0: the trace has 0 processes"},
		{"given interval that ends too early", interval.Flags{Sidecar: []byte("*,9,2ns,3,\n")}, "", "ends before it begins"},
		{"slices of an unknown length", interval.Flags{SliceCount: 3}, "", "use --slice"},
		{"slices below a tick", interval.Flags{Slice: "0ticks"}, "", "greater than 0"},
		{"between without communicator", interval.Flags{Between: "coll:Bcast"}, "", "no communicator"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := c.f.Parse()
			var p *interval.Plan
			if err == nil {
				p, err = interval.NewPlan(defs, o)
			}
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Fatalf("error %v, want %q", err, c.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, u := range p.Uses[:3] {
				got += string('0' + rune(u))
			}
			if got != c.uses {
				t.Errorf("uses %s, want %s", got, c.uses)
			}
		})
	}
	p := interval.Default(defs)
	want := interval.Key{Name: "solver", Form: interval.FormRegion}
	if d := cmp.Diff(want, p.RegionKey(1)); d != "" {
		t.Errorf("key of a region (-want +got):\n%s", d)
	}
}
