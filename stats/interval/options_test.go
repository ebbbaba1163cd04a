package interval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		f    interval.Flags
		want string // canonical
		bad  string // part of the error
	}{
		{"default", interval.Flags{}, "", ""},
		{"defaults by name", interval.Flags{Markers: "auto", MarkerCost: "overhead", RecvPoint: "wait", Init: "include"}, "", ""},
		{"none", interval.Flags{Markers: "none"}, "markers=none", ""},
		{"forms in any order", interval.Flags{Markers: "F6,f2"}, "markers=f2,f6", ""},
		{"all forms", interval.Flags{Markers: "f1,f2,f3,f4,f5,f6,f7"}, "", ""},
		{"regions and types", interval.Flags{Intervals: []string{"region:solve*", "prv:77"}}, `interval=region:"solve*" interval=prv:77`, ""},
		{"slices", interval.Flags{Slice: "1.5ms"}, "slice=1500000ns", ""},
		{"slices of ticks", interval.Flags{Slice: "70ticks"}, "slice=70ticks", ""},
		{"number of slices", interval.Flags{SliceCount: 50}, "slice-count=50", ""},
		{"between", interval.Flags{Between: "coll:allreduce"}, "between=coll:ALLREDUCE", ""},
		{"choices", interval.Flags{Fold: true, MarkerCost: "mpi", RecvPoint: "post", Init: "exclude"}, "fold-recursion marker-cost=mpi recv-point=post init=exclude", ""},
		{"an empty file is one", interval.Flags{Sidecar: []byte{}}, "intervals-file=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ""},
		{"unknown form", interval.Flags{Markers: "f2,f8"}, "", "--markers"},
		{"no form", interval.Flags{Markers: ","}, "", "--markers"},
		{"unknown kind", interval.Flags{Intervals: []string{"function:f"}}, "", "region:GLOB or prv:TYPE"},
		{"no pattern", interval.Flags{Intervals: []string{"region:"}}, "", "region:GLOB or prv:TYPE"},
		{"malformed pattern", interval.Flags{Intervals: []string{"region:[a"}}, "", "malformed"},
		{"type that is not a number", interval.Flags{Intervals: []string{"prv:x"}}, "", "event type"},
		{"slice without unit", interval.Flags{Slice: "100"}, "", "--slice"},
		{"slice of a letter", interval.Flags{Slice: "1.x5ms"}, "", "--slice"},
		{"slice of a sign", interval.Flags{Slice: "1.-5ms"}, "", "--slice"},
		{"slice of nothing", interval.Flags{Slice: "0s"}, "", "--slice"},
		{"slice below a nanosecond", interval.Flags{Slice: "0.5ns"}, "", "--slice"},
		{"slice of ages", interval.Flags{Slice: "99999999999999s"}, "", "--slice"},
		{"both slices", interval.Flags{Slice: "1s", SliceCount: 2}, "", "exclude each other"},
		{"too many slices", interval.Flags{SliceCount: interval.MaxSlices + 1}, "", "--slice-count"},
		{"negative slices", interval.Flags{SliceCount: -1}, "", "--slice-count"},
		{"unknown operation", interval.Flags{Between: "coll:sum"}, "", "--between"},
		{"no collective", interval.Flags{Between: "Allreduce"}, "", "--between"},
		{"unknown cost", interval.Flags{MarkerCost: "free"}, "", "--marker-cost"},
		{"unknown point", interval.Flags{RecvPoint: "x"}, "", "--recv-point"},
		{"unknown init", interval.Flags{Init: "x"}, "", "--init"},
		{"bad file", interval.Flags{Sidecar: []byte("0,1,2,3,\nx,1,2,3,\n")}, "", "line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := c.f.Parse()
			if c.bad != "" {
				if !errors.Is(err, interval.ErrOption) || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("error %v, want %q", err, c.bad)
				}
				return
			}
			if err != nil || o.Canonical() != c.want {
				t.Errorf("%q, %v; want %q", o.Canonical(), err, c.want)
			}
		})
	}
}

func TestSidecar(t *testing.T) {
	const text = "rank,begin,end,id,name,file,line\n# a comment\n\n0,5,19,7,\r\n*,1.5us,2ms,8,solve\n3,1,1,9,\"a,\"\"b\"\"\",exch.c,160\n"
	got, err := interval.ParseSidecar([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tick := func(n uint64) interval.Length { return interval.Length{N: n, Ticks: true} }
	want := []interval.Given{
		{Process: 0, Begin: tick(5), End: tick(19), Key: interval.Key{ID: 7, Form: interval.FormSidecar}},
		{Process: 3, Begin: tick(1), End: tick(1), Key: interval.Key{ID: 9, Name: `a,"b"`, File: "exch.c", Line: 160, Form: interval.FormSidecar}},
		{Process: interval.AnyProcess, Begin: interval.Length{N: 1500}, End: interval.Length{N: 2000000}, Key: interval.Key{ID: 8, Name: "solve", Form: interval.FormSidecar}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("intervals (-want +got):\n%s", d)
	}
	for line, bad := range map[string]string{
		"1,2,3,4":                              "4 fields",
		"1,2,3,4,a,b":                          "6 fields",
		"-1,2,3,4,":                            "rank",
		"4294967295,2,3,4,":                    "rank",
		"1,x,3,4,":                             "begin",
		"1,2,-3,4,":                            "end",
		"1,3,2,4,":                             "before",
		"1,2,3,0x4,":                           "id",
		"1,2,3,18446744073709551616,":          "id",
		"1,2,3,4,a,b,c":                        "line",
		`1,2,3,4,"a`:                           "quotes",
		`1,2,3,4,"a"b`:                         "quotes",
		"1,2,3,4," + strings.Repeat("a", 5000): "bytes",
	} {
		if _, err := interval.ParseSidecar([]byte("0,1,2,3,\n" + line)); err == nil || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%.40q: error %v, want %q in line 2", line, err, bad)
		}
	}
	if _, err := interval.ParseSidecar(make([]byte, interval.MaxSidecarBytes+1)); err == nil {
		t.Error("a file beyond the limit is read")
	}
}

// TestBorders puts given intervals in order: nested ones nest, and those of one
// instant do not cross.
func TestBorders(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"one after the other", "0,0,5,1,\n0,5,9,2,\n", "0(1 5)1 5(2 9)2"},
		{"the outer one first", "0,0,5,1,\n0,0,9,2,\n", "0(2 0(1 5)1 9)2"},
		{"the inner one ends first", "0,0,9,1,\n0,3,9,2,\n", "0(1 3(2 9)2 9)1"},
		{"equal ones", "0,0,9,1,\n0,0,9,2,\n", "0(1 0(2 9)2 9)1"},
		{"no length", "0,4,4,1,\n0,0,9,2,\n", "0(2 4(1 4)1 9)2"},
		{"no length at an end", "0,0,4,1,\n0,4,4,2,\n", "0(1 4)1 4(2 4)2"},
		{"crossed", "0,0,5,1,\n0,3,9,2,\n", "0(1 3(2 5)1 9)2"},
		{"another process, every process", "1,0,5,1,\n*,2,3,2,\n", "2(2 3)2"},
		{"times with units", "0,1us,2us,1,\n", "1000(1 2000)1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := (&interval.Flags{Sidecar: []byte(c.text)}).Parse()
			if err != nil {
				t.Fatal(err)
			}
			p, err := interval.NewPlan(twoProcesses(0), o)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for i, f := range p.Borders(0) {
				if i > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(shown(f, p.Given[f.Of].Key.ID))
			}
			if b.String() != c.want {
				t.Errorf("%s, want %s", b.String(), c.want)
			}
		})
	}
}

func shown(f interval.Fixed, id uint64) string {
	side := "("
	if f.End {
		side = ")"
	}
	return strings.Join([]string{itoa(f.T), side, itoa(id)}, "")
}

func itoa(v uint64) string {
	if v < 10 {
		return string('0' + rune(v))
	}
	return itoa(v/10) + itoa(v%10)
}

func TestSlices(t *testing.T) {
	defs := &trace.Definitions{Clocks: []trace.ClockProperties{{TimerResolution: 1000000, TraceLength: 100}}}
	defs.Seal()
	for _, c := range []struct {
		name   string
		f      interval.Flags
		t      uint64
		k, end uint64
		ok     bool
		many   bool
	}{
		{"none", interval.Flags{}, 5, 0, 0, false, false},
		{"first", interval.Flags{Slice: "10us"}, 0, 0, 10, true, false},
		{"at a border", interval.Flags{Slice: "10us"}, 30, 3, 40, true, false},
		{"after the trace's length", interval.Flags{Slice: "10us"}, 1009, 100, 1010, true, false},
		{"more than there may be", interval.Flags{Slice: "1ticks"}, 1 << 40, interval.MaxSlices - 1, xtfNever, true, true},
		{"three", interval.Flags{SliceCount: 3}, 34, 1, 68, true, false},
		{"the last of three", interval.Flags{SliceCount: 3}, 100, 2, xtfNever, true, false},
		{"after the last of three", interval.Flags{SliceCount: 3}, 1 << 50, 2, xtfNever, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := c.f.Parse()
			if err != nil {
				t.Fatal(err)
			}
			p, err := interval.NewPlan(defs, o)
			if err != nil {
				t.Fatal(err)
			}
			k, end, ok := p.SliceAt(c.t)
			if k != c.k || end != c.end || ok != c.ok || p.TooManySlices(c.t) != c.many {
				t.Errorf("slice %d to %d, %v, too many %v; want %d to %d", k, end, ok, p.TooManySlices(c.t), c.k, c.end)
			}
		})
	}
}

const xtfNever = 1<<64 - 1

// twoProcesses are definitions with a clock of so many ticks a second.
func twoProcesses(resolution uint64) *trace.Definitions {
	defs := &trace.Definitions{
		Clocks:         []trace.ClockProperties{{TimerResolution: resolution}},
		LocationGroups: []trace.LocationGroup{{Ref: 0, Type: trace.ProcessGroup}, {Ref: 1, Type: trace.ProcessGroup}},
		Locations:      []trace.Location{{Ref: 0, Group: 0}, {Ref: 1, Group: 1}},
	}
	defs.Seal()
	return defs
}

// FuzzSidecar reads any bytes; what is accepted gives borders that nest or cross,
// but never end before they begin.
func FuzzSidecar(f *testing.F) {
	f.Add([]byte("rank,begin,end,id,name\n0,5,19,7,\n*,1.5us,2ms,8,solve\n"))
	f.Add([]byte("3,1,1,9,\"a,\"\"b\"\"\",exch.c,160\r\n"))
	f.Add([]byte(`0,1,2,3,"`))
	defs := twoProcesses(1 << 40)
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := (&interval.Flags{Sidecar: b}).Parse()
		if err != nil {
			return
		}
		p, err := interval.NewPlan(defs, o)
		if errors.Is(err, interval.ErrOption) {
			return // of a process or a time that the trace does not have
		}
		if err != nil {
			t.Fatal(err)
		}
		last, open := uint64(0), map[int]bool{}
		for _, x := range p.Borders(0) {
			if x.T < last || open[x.Of] != x.End {
				t.Fatalf("border %+v after %d", x, last)
			}
			last, open[x.Of] = x.T, !x.End
		}
		for k, o := range open {
			if o {
				t.Fatalf("interval %d does not end", k)
			}
		}
	})
}

// FuzzOptions parses any flags: the canonical form is stable, errors are options'.
func FuzzOptions(f *testing.F) {
	f.Add("auto", "region:solve*", "1.5ms", "coll:Allreduce")
	f.Add("f1,f2", "prv:77", "5ticks", "")
	f.Add("none", "region:[a-", "99999999999s", "coll:")
	defs := &trace.Definitions{Clocks: []trace.ClockProperties{{TimerResolution: 3}}}
	defs.Seal()
	f.Fuzz(func(t *testing.T, markers, list, slice, between string) {
		flags := interval.Flags{Markers: markers, Intervals: []string{list}, Slice: slice, Between: between}
		o, err := flags.Parse()
		if err != nil {
			if !errors.Is(err, interval.ErrOption) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if o.Canonical() == "" {
			t.Fatal("an interval leaves no trace in the canonical form")
		}
		if p, err := interval.NewPlan(defs, o); err == nil {
			if k, end, ok := p.SliceAt(1 << 20); ok && (end <= 1<<20 || k >= interval.MaxSlices) {
				t.Fatalf("slice %d ends at %d", k, end)
			}
		} else if !errors.Is(err, interval.ErrOption) {
			t.Fatalf("error %v", err)
		}
	})
}
