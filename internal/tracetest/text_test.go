package tracetest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
)

const pingPong = `
A message goes to and fro.
-- program --
processes 2
-- events --
0 100 ENTER main   # comments are allowed
1 105 ENTER main
1 110 ENTER MPI_Recv
0 200 ENTER MPI_Send
0 201 MPI_SEND 1 MPI_COMM_WORLD 7 1024
0 210 LEAVE MPI_Send
1 230 MPI_RECV 0 MPI_COMM_WORLD 7 1024
1 235 LEAVE MPI_Recv
0 300 LEAVE main
1 300 LEAVE main
-- expect --
one message, 90 ticks late
`

func ExampleParse() {
	src, err := Parse(pingPong)
	if err != nil {
		panic(err)
	}
	e, err := src.Measure(1)
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Events, "events of location 1, the first at", e.First)
	fmt.Print(Section(pingPong, "expect"))
	// Output:
	// 5 events of location 1, the first at 105
	// one message, 90 ticks late
}

const everything = `
-- program --
processes 2
threads 2
resolution 1000
comm turned 1 0
-- definitions --
STRING self=0 string=""
STRING self=1 string="a \"quoted\" name"
ATTRIBUTE self=3 name=1 type=4
METRIC_CLASS self=0 number_of_metrics=1 0
-- events --
0 1 PROGRAM_BEGIN 1 2 0 1
0 1 METRIC 0 2 4 7 8 -1
0 2 ENTER "two words" @3:4:99 @3:4:100
0 3 MPI_COLLECTIVE_BEGIN
0 4 MPI_COLLECTIVE_END BARRIER turned none 0 0
0 5 PARAMETER_INT64 0 -5
0 7 LEAVE "two words"
2 9 ENTER MPI_Barrier
2 9 LEAVE MPI_Barrier @3:4:1
`

// everythingRead is what location 0 of everything has: time, kind, reference and fields.
var everythingRead = []string{
	"1 ProgramBegin 0 [1 2]\n",
	"1 Metric 0 [0 2]\n",
	"2 Enter 0 []\n",
	"3 MpiCollectiveBegin 0 []\n",
	"4 MpiCollectiveEnd 0 [0 2 4294967295 0 0]\n",
	"5 ParameterInt 0 [0 18446744073709551611]\n",
	"7 Leave 0 []\n",
}

// TestEverything checks each element of the text form once.
func TestEverything(t *testing.T) {
	src, err := Parse(everything)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	if n := d.NumLocations(); n != 4 {
		t.Errorf("%d locations, want 2 of each process", n)
	}
	if d.Peer(ownComm, 0, 0) != 1 || d.Peer(ownComm, 1, 0) != 0 {
		t.Error("communicator turned: ranks in the wrong order")
	}
	if e, err := src.Measure(0); err != nil || e.Events != 7 || e.Chunks != 1 || e.First != 1 {
		t.Errorf("location 0: %+v, %v", e, err)
	}
	if e, err := src.Measure(1); err != nil || e != (trace.Extent{}) {
		t.Errorf("location 1, without events: %+v, %v", e, err)
	}
	b := readAll(t, src, 0)
	var got []string
	for i := range b.Events {
		e := &b.Events[i]
		f, _, _, _ := b.Layout(e)
		got = append(got, fmt.Sprintln(e.Time, e.Kind, e.Ref, f))
	}
	if d := cmp.Diff(everythingRead, got); d != "" {
		t.Errorf("location 0: %s", d)
	}
	if name := d.Text(d.Region(0).Name); name != "two words" {
		t.Errorf("region 0 is %q", name)
	}
	_, list, _, _ := b.Layout(&b.Events[1])
	if d := cmp.Diff([]uint64{4, 7, 8, 1<<64 - 1}, list); d != "" {
		t.Errorf("metrics: %s", d)
	}
	if d := cmp.Diff([]trace.EventAttribute{{Ref: 3, Type: 4, Value: 99}, {Ref: 3, Type: 4, Value: 100}}, b.Attributes(nil, &b.Events[2])); d != "" {
		t.Errorf("attributes: %s", d)
	}
}

func TestParseErrors(t *testing.T) {
	const head = "-- program --\nprocesses 1\n-- events --\n"
	for _, c := range []struct{ name, text, where string }{
		{"unknown kind", head + "0 1 ENTRE main", "line 4"},
		{"location", head + "1 1 ENTER main", "line 4"},
		{"time", head + "0 x ENTER main", "line 4"},
		{"short", head + "0 1", "line 4"},
		{"too few fields", head + "0 1 MPI_SEND 1 0 1", "4 fields"},
		{"too many", head + "0 1 LEAVE main 7", "7"},
		{"field too large", head + "0 1 MPI_SEND 4294967296 0 1 1", "4294967296"},
		{"list longer than the line", head + "0 1 METRIC 0 255 4 7", "510 elements"},
		{"attribute", head + "0 1 ENTER main @1:2", "@1:2"},
		{"surplus", head + "0 1 ENTER main +00", "+00"},
		{"string", head + "0 1 ENTER \"main", "unfinished"},
		{"unknown region", "-- definitions --\nLOCATION self=0\n-- events --\n0 1 ENTER main", "main"},
		{"unknown definition", "-- definitions --\nLOKATION self=0", "LOKATION"},
		{"unknown field", "-- definitions --\nLOCATION self=0 age=3", "age"},
		{"number of a field", "-- definitions --\nLOCATION self=-1", "self"},
		{"list of a definition", "-- definitions --\nGROUP self=0 number_of_members=4000000000 1", "4000000000"},
		{"too many processes", "-- program --\nprocesses 4000000000", "4000000000"},
		{"too many threads", "-- program --\nprocesses 4096\nthreads 256", "4096"},
		{"two sets of locations", "-- program --\n-- definitions --\nLOCATION self=0\n-- program --\nprocesses 1", "both"},
		{"key of a program", "-- program --\nprozesses 1", "prozesses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.text)
			if !errors.Is(err, ErrText) || !strings.Contains(err.Error(), c.where) {
				t.Errorf("got %v, want an ErrText that names %q", err, c.where)
			}
		})
	}
}

// readAll reads the events of a location.
func readAll(t *testing.T, s trace.Source, p trace.P) *trace.Batch {
	t.Helper()
	st, err := s.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	b := &trace.Batch{}
	if st.Chunks() == 0 {
		return b
	}
	c, err := st.Chunk(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Next(b); err != nil {
		t.Fatal(err)
	}
	if err := c.Next(&trace.Batch{}); !errors.Is(err, io.EOF) {
		t.Errorf("more events after the last: %v", err)
	}
	return b
}

func FuzzParse(f *testing.F) {
	f.Add(pingPong)
	f.Add(everything)
	f.Fuzz(func(t *testing.T, text string) {
		src, err := Parse(text)
		if err != nil {
			return
		}
		for p := range trace.P(src.Definitions().NumLocations()) {
			readAll(t, src, p)
		}
	})
}
