package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// event is an event as the recorder writes it.
type event struct {
	kind byte
	dt   uint64
	n    []uint64
}

func (e event) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, e.kind), e.dt)
	for _, v := range e.n {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// window makes a window; an open one has neither length nor checksum and is filled with zeros.
func window(number, first uint64, open bool, events ...event) []byte {
	b := make([]byte, windowHead)
	copy(b, magic)
	binary.LittleEndian.PutUint64(b[16:], number)
	binary.LittleEndian.PutUint64(b[24:], first)
	for _, e := range events {
		b = e.append(b)
	}
	if open {
		return append(b, make([]byte, windowBytes-len(b))...)
	}
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[windowHead:], castagnoli))
	return b
}

func definition(kind byte, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	return append(b, body...)
}

func words(list ...uint64) (b []byte) {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// definitions are those of one of two processes: the world, and the name of a region.
func definitions(rank int, ended uint64) []byte {
	text := fmt.Sprintf("rank=%[1]d\nsize=2\npid=7\nbegin=1000\nnow=2000\nreal=5000\nhost=n1\nboot=x\nonline=4\nprocessors=0-1,%[1]d\ncommand=./heat -n 3\n", rank)
	b := definition(defProcess, []byte(text))
	world := words(1, 99, 2, 0, uint64(rank), 0, 0)
	if rank == 0 {
		b = append(b, definition(defFunctions, []byte("MPI_Send\nMPI_Recv"))...)
		world = words(1, 99, 2, 0, 0, 0, 2, 0, 1)
	}
	b = append(b, definition(defComm, append(world, "MPI_COMM_WORLD"...))...)
	b = append(b, definition(defName, append(words(1), "solve"...))...)
	b = append(b, definition(defClock, words(1000, uint64(10*rank), 50))...)
	b = append(b, definition(defClock, words(2000, uint64(20*rank), 50))...)
	if ended != 0 {
		b = append(b, definition(defUsage, words(600, 1<<64-1, 3))...)
		b = append(b, definition(defEnd, words(ended, 9, 0, 1, 1900))...)
	}
	return b
}

// write makes the folder of a recording of two processes.
func write(t *testing.T, files map[string][]byte) string {
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var sender = []event{
	{evRegionEnter, 0, []uint64{0}},
	{evRegionEnter, 5, []uint64{1}},
	{evEnter, 10, []uint64{0}},
	{evSend, 0, []uint64{1, 1, 7, 64}},
	{evLeave, 20, []uint64{0}},
	{evPcontrol, 1, []uint64{9, 2}},
	{evRegionLeave, 5, []uint64{1}},
	{evRegionLeave, 1, []uint64{0}},
}

var receiver = []event{
	{evRegionEnter, 0, []uint64{0}},
	{evEnter, 10, []uint64{1}},
	{evRecv, 30, []uint64{0, 1, 7, 64}},
	{evLeave, 0, []uint64{1}},
}

// list prints the events of a location and its diagnostics.
func list(t *testing.T, s *Source, p trace.P) (string, []trace.Diagnostic) {
	t.Helper()
	st, err := s.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	found := st.Diagnostics()
	var out strings.Builder
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			for k := range b.Events {
				e := &b.Events[k]
				fmt.Fprintf(&out, "%d %v %d %v\n", e.Time, e.Kind, e.Ref, b.Words(e))
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		found = append(found, r.Diagnostics()...)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String(), found
}

func TestRecording(t *testing.T) {
	dir := write(t, map[string][]byte{
		"0.def": definitions(0, endFinalize), "1.def": definitions(1, 0), Marker: nil,
		"0.evt": window(0, 1500, false, sender...), "1.evt": window(0, 1500, true, receiver...),
	})
	if !Is(dir) || Is(t.TempDir()) {
		t.Error("a recording is not told by its marker")
	}
	s, err := OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	region := make(map[string]uint32)
	for i := range s.defs.Regions {
		region[s.defs.Text(s.defs.Regions[i].Name)] = s.defs.Regions[i].Ref
	}
	text := s.processes[0].textRefs[0]
	got, found := list(t, s, 0)
	want := fmt.Sprintf(`1500 Enter %[1]d []
1505 Enter %[2]d []
1515 Enter %[3]d []
1515 MpiSend 0 [1 0 7 64]
1535 Leave %[3]d []
1536 ParameterInt 0 [0 %[4]d]
1536 ParameterString 0 [1 %[5]d]
1541 Leave %[2]d []
1542 Leave %[1]d []
`, region["heat"], region["solve"], region["MPI_Send"], uint64(1<<64-5), text)
	if got != want || len(found) != 0 {
		t.Errorf("process 0: %v\n%swant\n%s", found, got, want)
	}
	got, found = list(t, s, 1) // 15 ns after at 1500, as far as the readings tell
	want = fmt.Sprintf("1515 Enter %d []\n1525 Enter %d []\n1555 MpiRecv 0 [0 0 7 64]\n1555 Leave %[2]d []\n", region["heat"], region["MPI_Recv"])
	if got != want || len(found) != 1 || found[0].Code != trace.DiagUnfinished {
		t.Errorf("process 1: %v\n%swant\n%s", found, got, want)
	}
	var properties []string
	for i := range s.defs.LocationProperties {
		q := &s.defs.LocationProperties[i]
		properties = append(properties, fmt.Sprintf("%d %s: %s", q.Location, s.defs.Text(q.Name), s.defs.Text(q.StringValue)))
	}
	// The delay is not known; process 1 was killed.
	if got, want := strings.Join(properties, "\n"), `0 coppice: processors: 0-1,0
0 coppice: cpu time: 600
0 coppice: involuntary switches: 3
1 coppice: unfinished: ended without a trace of how: by _exit, by a signal such as SIGKILL, SIGTERM or SIGALRM, or by one that the program handles
1 coppice: processors: 0-1,1`; got != want {
		t.Errorf("properties\n%s\nwant\n%s", got, want)
	}
	if n := s.defs.SystemTreeNodeProperties; len(n) != 1 || n[0].Node != 1 || n[0].Value.Bits != 4 {
		t.Errorf("processors of the host: %+v", n)
	}
	if c := s.defs.Clock(); c.GlobalOffset != 1500 || c.TraceLength != 400 || c.RealtimeTimestamp != 4500 {
		t.Errorf("clock %+v", c)
	}
}

// TestDamage has files that are not as they were written: what is left is read, and what is not is said.
// TestPrograms reads a run of two programs: the code of each process is that of its own.
func TestPrograms(t *testing.T) {
	other := bytes.Replace(definitions(1, endFinalize), []byte("./heat"), []byte("./cold"), 1)
	s, err := OpenPath(write(t, map[string][]byte{
		"0.def": definitions(0, endFinalize), "1.def": other, Marker: nil,
		"0.evt": window(0, 1500, false, sender...), "1.evt": window(0, 1500, true, receiver...),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range [...]string{"heat", "cold"} {
		got, _ := list(t, s, trace.P(p))
		var first uint32
		if _, err := fmt.Sscanf(got, "1500 Enter %d", &first); err != nil && p == 0 {
			t.Fatal(err)
		} else if err != nil {
			_, _ = fmt.Sscanf(strings.SplitN(got, " Enter ", 2)[1], "%d", &first)
		}
		if name := s.defs.Text(s.defs.Regions[first].Name); name != want {
			t.Errorf("process %d runs %s, want %s", p, name, want)
		}
	}
}

func TestDamage(t *testing.T) {
	whole := window(0, 1500, false, sender...)
	flipped := append([]byte(nil), whole...)
	flipped[windowHead+3] ^= 1
	for _, c := range []struct {
		name   string
		events []byte
		lines  int
		code   trace.Code
	}{
		{"no file", nil, 0, trace.DiagMissingEvents},
		{"empty", []byte{}, 0, 0},
		{"flipped", flipped, 0, trace.DiagCorrupt},
		{"cut", whole[:len(whole)-3], 0, trace.DiagCorrupt},
		{"no head", make([]byte, 100), 0, trace.DiagCorrupt},
		{"unknown kind", window(0, 1500, false, sender[0], event{kind: 200}), 1, trace.DiagCorrupt},
		{"killed in an event", window(0, 1500, true, sender[0])[:windowHead+4], 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{"0.def": definitions(0, endFinalize), "1.def": definitions(1, endFinalize), "0.evt": c.events}
			if c.events == nil {
				delete(files, "0.evt")
			}
			s, err := OpenPath(write(t, files))
			if err != nil {
				t.Fatal(err)
			}
			got, found := list(t, s, 0)
			if n := strings.Count(got, "\n"); n != c.lines {
				t.Errorf("%d events, want %d", n, c.lines)
			}
			if c.code == 0 && len(found) > 0 || c.code != 0 && (len(found) != 1 || found[0].Code != c.code) {
				t.Errorf("found %v, want %v", found, c.code)
			}
		})
	}
}

// TestEndBeforeHead has a window that a thread had room for when its program ended without MPI_Finalize: it says only that.
func TestEndBeforeHead(t *testing.T) {
	s, err := OpenPath(write(t, map[string][]byte{"0.def": definitions(0, endExit), "1.def": definitions(1, endFinalize), "0.evt": make([]byte, 4096)}))
	if err != nil {
		t.Fatal(err)
	}
	if got, found := list(t, s, 0); got != "" || len(found) != 1 || found[0].Code != trace.DiagUnfinished {
		t.Errorf("%q, %v", got, found)
	}
}

// TestPrepared has the next window of a process that was killed, with a head and without its first time: it says nothing.
func TestPrepared(t *testing.T) {
	events := append(window(0, 1500, true, receiver...), make([]byte, windowBytes)...)[:windowBytes]
	events = append(events, window(1, 0, true)...)
	for _, x := range []struct {
		ended uint64
		code  trace.Code
	}{{0, trace.DiagUnfinished}, {endFinalize, trace.DiagCorrupt}} {
		s, err := OpenPath(write(t, map[string][]byte{"0.def": definitions(0, endFinalize), "1.def": definitions(1, x.ended), "1.evt": events}))
		if err != nil {
			t.Fatal(err)
		}
		if got, found := list(t, s, 1); strings.Count(got, "\n") != len(receiver) || len(found) != 1 || found[0].Code != x.code {
			t.Errorf("ended %d: %q, %v", x.ended, got, found)
		}
	}
}

// TestMissingProcess has no files of one process of two.
func TestMissingProcess(t *testing.T) {
	s, err := OpenPath(write(t, map[string][]byte{"1.def": definitions(1, endFinalize), "1.evt": window(0, 1500, false, receiver...)}))
	if err != nil {
		t.Fatal(err)
	}
	if n := s.defs.NumLocations(); n != 2 {
		t.Errorf("%d locations", n)
	}
	if _, found := list(t, s, 0); len(found) != 1 || found[0].Code != trace.DiagTruncated || found[0].Detail != Absent || s.Cut()[0] != Absent {
		t.Errorf("found %v", found)
	}
	if _, err := OpenPath(t.TempDir()); !errors.Is(err, trace.ErrNotTrace) {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestCounters has counters: values are relative to those before, and whole again in the next window. Values of counters that
// nobody defined are damage.
func TestCounters(t *testing.T) {
	metric := func(dt uint64, n ...uint64) event {
		return event{evMetric, dt, append([]uint64{uint64(len(n))}, n...)}
	}
	first := []event{metric(0, 7, 0), {evEnter, 0, []uint64{0}}, metric(5, 3, 1), {evLeave, 0, []uint64{0}}}
	second := []event{metric(0, 12, 1<<64-1), {evEnter, 0, []uint64{0}}, metric(5, 3, 2), {evLeave, 0, []uint64{0}}}
	counters := append(definitions(0, endFinalize), definition(defCounters, []byte("cycles\ntask-clock:u"))...)
	s, err := OpenPath(write(t, map[string][]byte{
		"0.def": counters, "0.evt": append(window(0, 1500, true, first...), window(1, 1600, false, second...)...),
		"1.def": append(definitions(1, endFinalize), definition(defUncounted, []byte("no room"))...), "1.evt": window(0, 1500, false, first[2]),
	}))
	if err != nil {
		t.Fatal(err)
	}
	u := uint64(trace.TypeUint64)
	want := fmt.Sprintf(`1500 Metric 0 [0 2 %[1]d 7 %[1]d 0]
1500 Enter 6 []
1505 Metric 0 [0 2 %[1]d 10 %[1]d 1]
1505 Leave 6 []
1600 Metric 0 [0 2 %[1]d 12 %[1]d 18446744073709551615]
1600 Enter 6 []
1605 Metric 0 [0 2 %[1]d 15 %[1]d 1]
1605 Leave 6 []
`, u)
	if got, found := list(t, s, 0); got != want || len(found) > 0 {
		t.Errorf("%v\n%swant\n%s", found, got, want)
	}
	if got, found := list(t, s, 1); got != "" || len(found) != 1 || found[0].Code != trace.DiagCorrupt {
		t.Errorf("%v\n%s", found, got)
	}
	if m := s.defs.MetricMembers; len(m) != 2 || s.defs.Text(m[1].Name) != "task-clock:u" || s.defs.Text(m[1].Unit) != "ns" || m[0].Base != 1 {
		t.Errorf("%+v", m)
	}
	if got := s.Uncounted(); len(got) != 1 || got[1] != "no room" {
		t.Errorf("%v", got)
	}
}

// TestOrder has windows and clocks by which time would run backwards: an archive of such a recording could not be written.
// What keeps the order is there, the rest is reported.
func TestOrder(t *testing.T) {
	leave := event{evRegionLeave, 5, []uint64{1}}
	clocks := func(list ...uint64) []byte {
		b := definitions(0, endFinalize)
		for i := 0; i < len(list); i += 2 {
			b = append(b, definition(defClock, words(list[i], list[i+1], 50))...)
		}
		return b
	}
	minus := func(n uint64) uint64 { return -n }
	padded := func(b []byte) []byte { return append(b, make([]byte, windowBytes-len(b))...) }
	for _, c := range []struct {
		name   string
		def    []byte
		events []byte
		times  string
		code   trace.Code
	}{
		{"in order", clocks(), append(padded(window(0, 1500, false, leave)), window(1, 1505, false, leave)...), "1505 1510", 0},
		{"a first time that is too early", clocks(), append(padded(window(0, 1500, false, leave)), window(1, 1400, false, leave)...), "1505", trace.DiagCorrupt},
		{"a first time that is too late", clocks(), append(padded(window(0, 1600, false, leave)), window(1, 1505, false, leave, leave)...), "1605", trace.DiagCorrupt},
		{"an event after the next window", clocks(), append(padded(window(0, 1500, false, leave, leave)), window(1, 1507, false, leave)...), "1505 1512", trace.DiagCorrupt},
		{"a step beyond 64 bits", clocks(), window(0, 1500, false, leave, event{evRegionLeave, minus(3), []uint64{1}}), "1505", trace.DiagCorrupt},
		{"a clock that runs backwards", clocks(3000, minus(5000)), window(0, 1500, false, leave, leave), "1505 1510", trace.DiagBadLocalDef},
		{"clock readings without measure", clocks(3000, 1<<63), window(0, 1500, false, leave, leave), "1505 1510", trace.DiagBadLocalDef},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := OpenPath(write(t, map[string][]byte{"0.def": c.def, "1.def": definitions(1, endFinalize), "0.evt": c.events}))
			if err != nil {
				t.Fatal(err)
			}
			text, found := list(t, s, 0)
			var times []string
			for line := range strings.Lines(text) {
				time, _, _ := strings.Cut(line, " ")
				times = append(times, time)
			}
			if got := strings.Join(times, " "); got != c.times || c.code == 0 && len(found) > 0 || c.code != 0 && (len(found) != 1 || found[0].Code != c.code) {
				t.Errorf("%s, want %s; %v", got, c.times, found)
			}
		})
	}
	if _, err := Open(t.TempDir(), nil); !errors.Is(err, trace.ErrNotTrace) {
		t.Errorf("nothing: %v", err)
	}
}

func TestMulDiv(t *testing.T) {
	for _, c := range []struct{ x, y, z, want int64 }{
		{7, 3, 2, 10},
		{-7, 3, 2, -11},
		{7, -3, 2, -11},
		{-7, -3, 2, 10},
		{0, 5, 1, 0},
		{1 << 62, 1 << 62, 1 << 62, 1 << 62},
		{1 << 62, 8, 1, 1<<63 - 1},
		{-1 << 62, 8, 1, -1<<63 + 1},
	} {
		if got := mulDiv(c.x, c.y, c.z); got != c.want {
			t.Errorf("%d*%d/%d is %d, want %d", c.x, c.y, c.z, got, c.want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(definitions(0, endFinalize), window(0, 1500, false, sender...))
	f.Add(append(definitions(0, 0), definition(defCounters, []byte("cycles"))...), window(0, 1500, false, event{evMetric, 1, []uint64{1, 9}}))
	f.Add(definitions(0, 0), window(0, 1500, true, sender...)[:200])
	part := append(definitions(0, 0), definition(defPart, words(partWaits, 0))...)
	f.Add(append(part, definition(defPart, words(partBegins, 5))...), window(0, 1500, false, append(append([]event{{evPart, 0, []uint64{1}}}, sender...), event{evPart, 1, []uint64{0}}, event{evIrecv, 1, []uint64{0, 1, 7, 64, 3}})...))
	f.Fuzz(func(t *testing.T, def, events []byte) {
		dir := t.TempDir()
		loaded := append(binary.AppendUvarint(binary.AppendUvarint(nil, 0), uint64(len(def))), def...)
		if os.WriteFile(filepath.Join(dir, "0.evt"), events, 0o644) != nil {
			t.Skip()
		}
		s, err := Open(dir, loaded)
		if err != nil {
			return
		}
		list(t, s, 0)
		if _, err := s.Measure(0); err != nil {
			t.Error(err)
		}
	})
}

// TestFiles has a file that both processes opened, again under another number, one that was deleted, and numbers that are none.
func TestFiles(t *testing.T) {
	files := func(rank int) []byte {
		b := definitions(rank, endFinalize)
		for _, f := range []ioFile{{comm: 1, name: "all"}, {comm: 1, name: "all"}, {name: "old"}, {comm: 77, name: "all"}} {
			b = append(b, definition(defFile, append(words(f.comm), f.name...))...)
		}
		return b
	}
	events := []event{
		{evFile, 1, []uint64{0 | 2<<8, 2, 1, 0, 0}},
		{evFile, 1, []uint64{4 | 1<<8 | 2<<16, 2, 100, 41, 5}},
		{evFile, 1, []uint64{6, 2, 90, 0, 5}},
		{evFile, 1, []uint64{3 | 1<<8, 1, 3, 7, 0}},
		{evFile, 1, []uint64{2, 3, 0, 0, 0}},
		{evFile, 1, []uint64{1, 9, 0, 0, 0}},
		{evFile, 1, []uint64{200, 0, 0, 0, 0}},
	}
	s, err := OpenPath(write(t, map[string][]byte{
		"0.def": files(0), "1.def": files(1), "0.evt": window(0, 1500, false, events...), "1.evt": window(0, 1500, false, events...),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Definitions(); len(d.IoRegularFiles) != 2 || len(d.IoHandles) != 3 || d.IoHandles[1].File != 0 || d.IoHandles[2].Comm != trace.Undefined {
		t.Errorf("files %v, handles %v", d.IoRegularFiles, d.IoHandles)
	}
	for p := range trace.P(2) {
		st, err := s.Stream(p)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		r, err := st.Chunk(0)
		if err != nil {
			t.Fatal(err)
		}
		var b trace.Batch
		var got []string
		for r.Next(&b) == nil {
			for i := range b.Events {
				got = append(got, fmt.Sprintf("%v%v", b.Events[i].Kind, b.Words(&b.Events[i])))
			}
		}
		want := []string{
			"IoCreateHandle[1 2 1 0]", fmt.Sprintf("IoOperationBegin[1 1 2 100 5 1 %d 40]", uint64(trace.TypeUint64)<<32),
			"IoOperationComplete[1 90 5]", fmt.Sprintf("IoSeek[0 %d 1 7]", ^uint64(1)), "IoDeleteFile[0 1]", fmt.Sprintf("IoDestroyHandle[%d]", uint32(trace.Undefined)),
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

// OpenPath reads and opens a recording.
func OpenPath(dir string) (*Source, error) {
	b, err := Load(dir)
	if err != nil {
		return nil, err
	}
	return Open(dir, b)
}
