package paraver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/google/go-cmp/cmp"
)

const small = two + "1:1:1:1:1:0:10:1\n2:1:1:1:1:10:50000001:1\n3:1:1:1:1:10:20:2:1:2:1:5:25:64:7\n2:1:1:1:1:20:50000001:0\n"

// TestFiles opens traces with and without names and compression.
func TestFiles(t *testing.T) {
	plain := store(t, map[string][]byte{"a.prv": []byte(small), "a.pcf": []byte(pcf), "a.row": []byte("LEVEL THREAD SIZE 2\nfirst\nsecond\n")}, "a.prv")
	packed := store(t, map[string][]byte{"b.prv.gz": compress(t, small), "b.pcf": []byte(pcf), "b.row": []byte("LEVEL THREAD SIZE 2\nfirst\nsecond\n")}, "b.prv.gz")
	bare := store(t, map[string][]byte{"c.prv": []byte(small)}, "c.prv")
	var all []*Trace
	for _, path := range []string{plain, packed, bare} {
		head, err := os.ReadFile(path)
		if err != nil || !Recognise(head[:min(len(head), 512)]) {
			t.Errorf("%s is not recognised: %v", path, err)
		}
		x, err := OpenPath(path)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		all = append(all, x)
		if s, e, c := x.Records(); s != 1 || e != 2 || c != 1 {
			t.Errorf("%s: %d states, %d events, %d messages", path, s, e, c)
		}
	}
	if all[0].Identity() != all[1].Identity() || listing(t, all[0]) != listing(t, all[1]) {
		t.Error("a compressed trace is another one")
	}
	if all[0].Identity() == all[2].Identity() {
		t.Error("the names do not count")
	}
	if d := all[0].Definitions(); d.Text(d.Location(1).Name) != "second" {
		t.Errorf("thread named %q", d.Text(d.Location(1).Name))
	}
	d := all[2].Definitions()
	if d.Problems().Count(trace.DiagNoNames) != 1 || d.Text(d.Regions[0].Name) != "MPI_Send" || d.Text(d.Location(1).Name) != "THREAD 1.2.1" {
		t.Errorf("without names: %v, region %q, thread %q", d.Problems().List(), d.Text(d.Regions[0].Name), d.Text(d.Location(1).Name))
	}
	if x, err := all[0].Measure(1); err != nil || !x.HasFirst || x.First != 5 || x.Chunks != 1 {
		t.Errorf("extent of the receiver: %+v, %v", x, err)
	}
	if _, err := all[0].Measure(2); err == nil {
		t.Error("a location that is not there has an extent")
	}
}

// TestRefused tells by what error a file is refused.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{"", trace.ErrNotTrace},
		{"\n", trace.ErrNotTrace},
		{"hello\n", trace.ErrNotTrace},
		{"#Paraver", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):1:1(1:1", trace.ErrCorrupt},
		{"#Paraver (x):10_fs:1(1):1:1(1:1)\n", trace.ErrUnsupported},
		{"#Paraver (x):10_ns:1(1):1:2(1:1)\n", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):1:1(4000000000:1)\n", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):1:1(0:1)\n", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):0\n", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):99999999999999999999:1(1:1)\n", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):4000000000:1(1:1)\n", trace.ErrCorrupt},
		{"#Paraver (x):10_ns:1(1):1:1(1:1),1(1:1),2\n", trace.ErrCorrupt},
	} {
		if _, err := inMemory([]byte(c.text), nil); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.text, err, c.want)
		}
	}
	if _, err := OpenPath(filepath.Join(t.TempDir(), "none.prv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestHeader reads units and nodes.
func TestHeader(t *testing.T) {
	h, err := parseHeader([]byte("#Paraver (04/11/2019 at 16:35):77:2(4,8):2:2(1:1,3:2),7:1(1:9)"), 100)
	if err != nil {
		t.Fatal(err)
	}
	if h.date != "04/11/2019 at 16:35" || h.length != 77 || h.resolution != 1_000_000 || len(h.nodes) != 2 || h.threads != 5 || len(h.apps) != 2 {
		t.Errorf("%+v", h)
	}
	for _, c := range []struct {
		app, task, thread uint64
		want              uint32
		ok                bool
	}{{1, 1, 1, 0, true}, {1, 2, 3, 3, true}, {2, 1, 1, 4, true}, {1, 2, 4, 0, false}, {1, 3, 1, 0, false}, {3, 1, 1, 0, false}, {0, 1, 1, 0, false}, {1, 0, 1, 0, false}, {1, 1, 0, 0, false}} {
		if got, ok := h.locate(c.app, c.task, c.thread); ok != c.ok || ok && got != c.want {
			t.Errorf("thread %d.%d.%d: %d, %v", c.app, c.task, c.thread, got, ok)
		}
	}
}

// applications is the head that Extrae writes of two applications: of tasks 1 and 2, and of 1 to 3. A comma is between
// them, the number of communicators after the last one, and each application has the communicators of both.
const applications = "#Paraver (04/11/2019 at 16:35):1000_ns:1(8):2:2(1:1,1:1),3(1:1,1:1,1:1),2\n" +
	"c:1:1:2:1:2\nc:1:2:3:1:2:3\nc:2:1:2:1:2\nc:2:2:3:1:2:3\n"

// TestApplications reads the head of two applications and what they do: each sends a message in its own world.
func TestApplications(t *testing.T) {
	x := trial(t, applications+unindent(`
		2:1:1:1:1:10:50000001:1
		3:1:1:1:1:10:10:2:1:2:1:12:20:64:7
		2:1:1:1:1:15:50000001:0
		2:2:1:2:1:12:50000001:2
		2:2:1:2:1:20:50000001:0
		2:5:2:3:1:30:50000001:1
		3:5:2:3:1:30:30:3:2:1:1:31:40:32:8
		2:5:2:3:1:35:50000001:0
		2:3:2:1:1:31:50000001:2
		2:3:2:1:1:40:50000001:0
		2:3:2:1:1:50:50000002:8:50100001:0:50100002:0:50100004:2
		2:4:2:2:1:51:50000002:8:50100001:0:50100002:0:50100004:2
		2:5:2:3:1:52:50000002:8:50100001:0:50100002:0:50100004:2
		2:3:2:1:1:60:50000002:0
		2:4:2:2:1:60:50000002:0
		2:5:2:3:1:60:50000002:0`)+"\n")
	want := unindent(`
		0 10 Enter MPI_Send
		0 10 MpiSend 1 0 7 64
		0 15 Leave MPI_Send
		1 12 Enter MPI_Recv
		1 20 MpiRecv 0 0 7 64
		1 20 Leave MPI_Recv
		2 31 Enter MPI_Recv
		2 40 MpiRecv 2 2 8 32
		2 40 Leave MPI_Recv
		2 50 Enter MPI_Barrier
		2 50 MpiCollectiveBegin
		2 60 MpiCollectiveEnd 0 2 none 0 0
		2 60 Leave MPI_Barrier
		3 51 Enter MPI_Barrier
		3 51 MpiCollectiveBegin
		3 60 MpiCollectiveEnd 0 2 none 0 0
		3 60 Leave MPI_Barrier
		4 30 Enter MPI_Send
		4 30 MpiSend 0 2 8 32
		4 35 Leave MPI_Send
		4 52 Enter MPI_Barrier
		4 52 MpiCollectiveBegin
		4 60 MpiCollectiveEnd 0 2 none 0 0
		4 60 Leave MPI_Barrier`)
	if diff := cmp.Diff(want, strings.TrimSpace(listing(t, x))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Communicator 2 is {0, 1, 2} of the second application: processes 2, 3 and 4.
	for rank, process := range []uint32{2, 3, 4} {
		if got := x.Definitions().Peer(2, uint32(rank), 2); got != process {
			t.Errorf("rank %d is process %d, want %d", rank, got, process)
		}
	}
}

// TestMeters: an application that only counts events of the machine is no process, if states tell which threads run.
func TestMeters(t *testing.T) {
	const head = "#Paraver (01/01/2020 at 00:00):100_ns:1(3):2:1(1:1),2(1:1,1:1)\nc:1:1:1:1\n"
	const counts = "2:2:2:1:1:20:42000050:7\n2:3:2:2:1:20:30000000:3\n"
	const states = "1:1:1:1:1:10:15:1\n"
	for _, c := range []struct {
		name, records  string
		processes, mpi int
		kind           trace.LocationType
	}{
		{"counters and markers", states + counts, 1, 1, trace.MetricLocation},
		{"a state", states + counts + "1:3:2:2:1:20:30:1\n", 3, 3, trace.CPUThread},
		{"a call", states + counts + "2:3:2:2:1:20:60000019:1\n", 3, 3, trace.CPUThread},
		{"a message", states + counts + "3:2:2:1:1:20:20:3:2:2:1:20:21:64:7\n", 3, 3, trace.CPUThread},
		{"a communicator", "c:2:1:2:1:2\n" + states + counts, 3, 3, trace.CPUThread},
		{"no records", states, 3, 3, trace.CPUThread},
		{"no states in the trace", "2:1:1:1:1:10:50000001:1\n" + counts, 3, 3, trace.CPUThread},
	} {
		d := trial(t, head+c.records).Definitions()
		if got := len(d.Processes()); got != c.processes || trace.MPIProcesses(d) != c.mpi {
			t.Errorf("%s: %d processes, %d of MPI, want %d, %d", c.name, got, trace.MPIProcesses(d), c.processes, c.mpi)
		}
		if got := d.Location(2).Type; got != c.kind {
			t.Errorf("%s: the last location is a %v, want %v", c.name, got, c.kind)
		}
	}
}

// TestLength: a trace is as long as its records where the header has less.
func TestLength(t *testing.T) {
	for header, want := range map[int]uint64{100: 500, 900: 900} {
		x := trial(t, fmt.Sprintf("#Paraver (01/01/2020 at 00:00):%d_ns:1(1):1:1(1:1)\n2:1:1:1:1:500:50000003:31\n2:1:1:1:1:400:50000003:0\n", header))
		if got := x.Definitions().Clock().TraceLength; got != want {
			t.Errorf("header of %d ns: length %d, want %d", header, got, want)
		}
	}
}

// TestRepeatedCommunicators: what is repeated says nothing new; what contradicts is damage.
func TestRepeatedCommunicators(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		want        uint64
	}{
		{"of each application", "", 0},
		{"the same line", "c:1:1:2:1:2\n", 0},
		{"MPI_COMM_SELF without a task", "c:1:92:1:-1\n", 0},
		{"a task that is not a number", "c:1:92:2:1:-1\n", 1},
		{"other tasks", "c:1:1:2:2:1\n", 1},
		{"tasks that no application has", "c:1:7:2:1:9\n", 1},
		{"tasks of the other application in another order", "c:1:2:3:3:2:1\n", 1},
	} {
		x := trial(t, applications+c.lines+"2:1:1:1:1:10:50000001:1\n")
		if got := x.Definitions().Problems().Count(trace.DiagBadDefinition); got != c.want {
			t.Errorf("%s: %d damaged definitions, want %d", c.name, got, c.want)
		}
	}
}

// TestCut cuts a trace at every byte, plain and compressed: what is left is
// read, and a cut is reported unless it falls between two lines.
func TestCut(t *testing.T) {
	start := len(two)
	for n := start; n < len(small); n++ {
		x, err := inMemory([]byte(small[:n]), []byte(pcf))
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		listing(t, x)
		if d := x.Definitions().Problems(); d.Count(trace.DiagCorrupt) > 0 {
			t.Errorf("cut at %d: %v", n, d.List())
		}
	}
	long := small + strings.Repeat("2:1:1:1:1:30:1000:1\n2:1:1:1:1:30:1000:2\n", 300)
	packed := compress(t, long)
	for n := 0; n < len(packed); n += 7 {
		path := store(t, map[string][]byte{"a.prv.gz": packed[:n], "a.pcf": []byte(pcf)}, "a.prv.gz")
		x, err := OpenPath(path)
		if err != nil {
			if !errors.Is(err, trace.ErrNotTrace) && !errors.Is(err, trace.ErrCorrupt) {
				t.Errorf("cut at %d: %v", n, err)
			}
			continue
		}
		listing(t, x)
		if x.Definitions().Problems().Count(trace.DiagTruncated) == 0 {
			t.Errorf("cut at %d: not reported", n)
		}
	}
}

// TestLongLines steps over lines without end and keeps their neighbours.
func TestLongLines(t *testing.T) {
	text := two + "2:1:1:1:1:10:1000:1\n2:1:1:1:1:11" + strings.Repeat(":1000:1", longestRecord/6) + "\n2:1:1:1:1:12:1000:2\n"
	x := trial(t, text)
	got := listing(t, x)
	if !strings.HasPrefix(got, "0 10 ParameterUnsignedInt prv:1000 Phase = 1\n0 12 ParameterUnsignedInt prv:1000 Phase = 2\n") ||
		x.Definitions().Problems().Count(trace.DiagCorrupt) != 1 {
		t.Error(got)
	}
}

// TestCutNumber has a file that ends within the last digits of a value, the only record or not: a number without them would be a wrong
// one, and no line tells. A comment may have no end.
func TestCutNumber(t *testing.T) {
	for end, want := range map[string]string{
		"2:1:1:1:1:10:1000:1\n2:1:1:1:1:11:1000:18446": "0 10 ParameterUnsignedInt prv:1000 Phase = 1\n",
		"2:1:1:1:1:10:1000:18446":                      "",
	} {
		x := trial(t, two+end)
		if got := listing(t, x); !strings.HasPrefix(got, want) || strings.Contains(got, "18446") || x.Definitions().Problems().Count(trace.DiagTruncated) != 1 {
			t.Errorf("%q: %s", end, got)
		}
	}
	if x := trial(t, two+"2:1:1:1:1:10:1000:1\n# the end"); x.Definitions().Problems().Count(trace.DiagTruncated) != 0 {
		t.Error("a comment was cut")
	}
}

// TestLongHead refuses a head that has no end, of which a small compressed file may hold any length.
func TestLongHead(t *testing.T) {
	head := strings.NewReader(two + strings.Repeat("# a comment\n", 100))
	if _, err := newRecords(head, 1000); !errors.Is(err, trace.ErrUnsupported) {
		t.Error(err)
	}
}

// TestNumbers leaves lines out whose numbers are none: too large, negative, or cut. Tags have 32 bits and may be negative.
func TestNumbers(t *testing.T) {
	message := func(tag string) string { return "3:1:1:1:1:5:5:2:1:2:1:6:6:8:" + tag + "\n" }
	for line, bad := range map[string]bool{
		message("-1"): false, message("2147483647"): false, message("4294967295"): false, message("-2147483648"): false,
		message("4294967296"): true, message("-2147483649"): true, message("18446744073709551616"): true,
		"2:1:1:1:1:18446744073709551615:1000:1\n": false, "2:1:1:1:1:18446744073709551616:1000:1\n": true,
		"2:1:1:1:1:-1:1000:1\n": true, "2:1:1:1:1:1:-1000:1\n": true, "2:1:1:1:1:1:1000:-9223372036854775809\n": true,
		"2:1:1:1:18446744073709551617:1:1000:1\n": true, "2:1:0:1:1:1:1000:1\n": true, "2:1:1:1:1:1:1000:\n": true,
		"2:1:1:1:1:1:1000:1:\n": true, "1:1:1:1:1:5:4:3\n": true, "3:1:1:1:1:5:5:2:1:3:1:6:6:8:1\n": true,
	} {
		x := trial(t, two+line)
		if got := x.Definitions().Problems().Count(trace.DiagCorrupt); (got == 1) != bad {
			t.Errorf("%q: %v", line, x.Definitions().Problems().List())
		}
		listing(t, x)
	}
}

// TestRoots finds roots that come out of order, and none where there are none.
func TestRoots(t *testing.T) {
	var l rootLog
	for n := uint64(0); n < 3*rootWindow; n++ {
		l.add(n^1, uint32(n^1)/100) // neighbours change places
	}
	l.flush(len(l.waiting))
	if len(l.runs) != 3*rootWindow/100+1 || l.late != 0 {
		t.Errorf("%d runs, %d late", len(l.runs), l.late)
	}
	for n := uint64(0); n < 3*rootWindow; n++ {
		if r, ok := rootOf(l.runs, n); !ok || r != uint32(n)/100 {
			t.Fatalf("root of %d: %d, %v", n, r, ok)
		}
	}
	l.add(5, 1)
	if l.late != 1 {
		t.Error("a late root is not counted")
	}
	if _, ok := rootOf(nil, 0); ok {
		t.Error("a root of nothing")
	}
}

// TestMany reads traces with a lot of everything that is looked up: what took
// quadratic time would not come back.
func TestMany(t *testing.T) {
	const n = 20000
	var head strings.Builder
	head.WriteString("#Paraver (x):9:1(2):20000" + strings.Repeat(":1(1:1)", n) + "\n")
	for i := range n {
		fmt.Fprintf(&head, "c:%d:1:1:1\n", i+1)
	}
	x := trial(t, head.String())
	if d := x.Definitions(); len(d.Comms) != n {
		t.Errorf("%d communicators", len(d.Comms))
	}
	deep := two + strings.Repeat("2:1:1:1:1:10:60000019:1\n", n) + strings.Repeat("2:1:1:1:1:20:60000018:0\n", n)
	found, err := each(trial(t, deep), 0, func(*trace.Batch, *trace.Event) {})
	if err != nil || found.Count(trace.DiagStrayLeave) != n {
		t.Errorf("%v, %v", found.List(), err)
	}
	line := two + "2:1:1:1:1:10" + strings.Repeat(":60000118:5", 2*n) + "\n"
	events := 0
	if _, err := each(trial(t, line), 0, func(*trace.Batch, *trace.Event) { events++ }); err != nil || events != 2*n {
		t.Errorf("%d events, %v", events, err)
	}
}
