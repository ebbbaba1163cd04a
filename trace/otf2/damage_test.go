package otf2

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// archiveFiles are the files of an archive by their path in its folder.
type archiveFiles map[string][]byte

// smallArchive has all event kinds of interest in a few hundred bytes.
func smallArchive(t testing.TB, o Options) archiveFiles {
	t.Helper()
	d := &trace.Definitions{}
	for i, s := range []string{"", "main", "node"} {
		add(d, trace.DefString, trace.String{Ref: uint32(i), Value: s})
	}
	add(d, trace.DefClockProperties, trace.ClockProperties{TimerResolution: 1e9, GlobalOffset: 10, TraceLength: 100, RealtimeTimestamp: trace.Undefined64})
	add(d, trace.DefSystemTreeNode, trace.SystemTreeNode{Name: 2, Class: 2, Parent: trace.Undefined})
	add(d, trace.DefLocationGroup, trace.LocationGroup{Name: 2, Type: trace.ProcessGroup, Creator: trace.Undefined})
	add(d, trace.DefLocation, trace.Location{Ref: 7, Name: 2, Type: trace.CPUThread})
	for i := range uint32(3) {
		add(d, trace.DefRegion, trace.Region{Ref: i, Name: 1, CanonicalName: 1, Role: trace.RoleFunction})
	}
	add(d, trace.DefGroup, trace.Group{Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: []uint64{7}})
	add(d, trace.DefGroup, trace.Group{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: []uint64{0}})
	add(d, trace.DefComm, trace.Comm{Name: 1, Group: 1, Parent: trace.Undefined})
	d.Seal()
	var b trace.Batch
	for i := range trace.Time(4) {
		t := 1000 + 1000*i
		b.Append(t+10, trace.Enter, 1)
		b.AppendAttributes(trace.EventAttribute{Ref: 1, Type: trace.TypeUint64, Value: 500})
		b.Append(t+20, trace.MpiIsend, 0, 0, 0, 99, 300, uint64(i))
		b.Append(t+20, trace.MpiIsendComplete, 0, uint64(i))
		b.Append(t+30, trace.MpiCollectiveBegin, 0)
		b.Append(t+40, trace.MpiCollectiveEnd, 0, 0, 0, trace.Undefined, 8, 8)
		b.Append(t+50, trace.Metric, 0, 0, 2, 4, 17, 4, 18)
		b.Append(t+60, trace.ProgramBegin, 0, 1, 2, 1, 2)
		b.Append(t+70, 200, 0, 3, 0x030201)
		b.Append(t+80, trace.Leave, 1)
	}
	dir := t.TempDir()
	if _, err := Copy(dir, "traces", &memory{d, [][]trace.Batch{{b}}}, o); err != nil {
		t.Fatal(err)
	}
	return load(t, dir)
}

const smallEvents = 36

func load(t testing.TB, dir string) archiveFiles {
	t.Helper()
	files := archiveFiles{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (f archiveFiles) store(t testing.TB, dir string) {
	t.Helper()
	for name, b := range f {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// with returns the archive with one file replaced.
func (f archiveFiles) with(name string, b []byte) archiveFiles {
	c := maps.Clone(f)
	c[name] = b
	return c
}

// outcome is what reading a whole archive gave.
type outcome struct {
	err     error
	events  uint64
	records []record
	diags   trace.Diagnostics
	archive *Archive
}

// readAll opens and reads an archive, whatever is wrong with it.
func readAll(t testing.TB, dir string) outcome {
	t.Helper()
	a, err := OpenPath(dir)
	return read(t, a, err)
}

// readFiles is readAll for an archive in memory.
func readFiles(t testing.TB, f archiveFiles) outcome {
	t.Helper()
	a, err := Open("traces.otf2", f["traces.otf2"], f["traces.def"])
	if err == nil {
		a.open = f.open
	}
	return read(t, a, err)
}

func read(t testing.TB, a *Archive, err error) outcome {
	t.Helper()
	if err != nil {
		for _, known := range []error{trace.ErrNotTrace, trace.ErrUnsupported, trace.ErrCorrupt, trace.ErrMissing} {
			if errors.Is(err, known) {
				return outcome{err: err}
			}
		}
		t.Fatalf("error of no known kind: %v", err)
	}
	o := outcome{archive: a}
	o.diags = *a.Definitions().Problems()
	for p := range trace.P(a.Definitions().NumLocations()) {
		if _, err := a.Measure(p); err != nil {
			t.Fatal(err)
		}
		last := trace.Time(0)
		s := drain(t, a, p, func(b *trace.Batch) {
			o.records = appendRecords(o.records, b)
			for i := range b.Events {
				if b.Events[i].Time < last {
					t.Fatalf("time %d after %d", b.Events[i].Time, last)
				}
				last = b.Events[i].Time
				b.Layout(&b.Events[i]) // must not fail
			}
		})
		o.events += s.events
		for _, c := range s.diags.Codes {
			o.diags.AddAll(c.First)
		}
	}
	return o
}

func (o *outcome) clean() bool { return o.err == nil && len(o.diags.Codes) == 0 }

// base returns the outcome of the undamaged archive.
func base(t testing.TB, f archiveFiles) outcome {
	t.Helper()
	o := readFiles(t, f)
	if o.err != nil || o.events != smallEvents || o.diags.Count(trace.DiagUnknownRecord) != 4 || len(o.diags.Codes) != 1 {
		t.Fatalf("the archive itself: %v, %d events, %v", o.err, o.events, o.diags)
	}
	return o
}

func sameRecords(a, b []record) bool {
	return slices.EqualFunc(a, b, func(x, y record) bool {
		return x.Time == y.Time && x.Kind == y.Kind && x.Flags == y.Flags && x.Ref == y.Ref && slices.Equal(x.Words, y.Words)
	})
}

// TestTruncation cuts every file of an archive at every byte. What remains is
// a prefix of the events, and unless it is all of them, something says so.
func TestTruncation(t *testing.T) {
	for _, big := range []bool{false, true} {
		files := smallArchive(t, Options{BigEndian: big, EventChunk: 512, Local: localExample})
		whole := base(t, files)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for n := range len(files[name]) {
				o := readFiles(t, files.with(name, files[name][:n]))
				o.checkPrefix(t, whole, fmt.Sprintf("%s cut to %d of %d bytes", name, n, len(files[name])), strings.HasSuffix(name, "7.def"))
			}
		}
	}
}

func (o *outcome) checkPrefix(t *testing.T, whole outcome, what string, clock bool) {
	t.Helper()
	if o.err != nil {
		return
	}
	damage, _ := tracetest.Severity(&o.diags)
	same := sameRecords(o.records, whole.records)
	if !same && damage < trace.Warning {
		t.Errorf("%s: %d events that differ without a report: %v", what, o.events, o.diags)
	}
	if !clock && o.events <= whole.events && o.archive.Definitions().NumLocations() > 0 && !sameRecords(o.records, whole.records[:o.events]) {
		t.Errorf("%s: the %d events are not a prefix", what, o.events)
	}
	if o.events > whole.events {
		t.Errorf("%s: %d events", what, o.events)
	}
}

func localExample(trace.P) *Local {
	return &Local{
		Mappings: []Mapping{{trace.RefRegion, [][2]uint64{{0, 1}, {1, 0}, {2, 2}}}, {trace.RefString, [][2]uint64{{0, 2}, {1, 1}, {2, 0}}}},
		Offsets:  []ClockOffset{{Time: 900, Offset: 50}, {Time: 2000, Offset: 30}, {Time: 4000, Offset: -9}},
	}
}

// TestBitFlips turns over every bit of every file. Some flips make another
// valid archive: the format has no check sums. But events that are lost or
// added are always told, and nothing fails otherwise.
func TestBitFlips(t *testing.T) {
	files := smallArchive(t, Options{EventChunk: 512, Local: localExample})
	whole := base(t, files)
	step := 1
	if testing.Short() {
		step = 3
	}
	silent := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b := slices.Clone(files[name])
		for bit := 0; bit < 8*len(b); bit += step {
			b[bit/8] ^= 1 << (bit % 8)
			o := readFiles(t, files.with(name, b))
			b[bit/8] ^= 1 << (bit % 8)
			damage, _ := tracetest.Severity(&o.diags)
			if o.err == nil && o.events != whole.events && damage < trace.Warning {
				t.Errorf("%s byte %d bit %d: %d events, want %d, and %v", name, bit/8, bit%8, o.events, whole.events, o.diags)
			}
			if o.err == nil && damage < trace.Warning && !sameRecords(o.records, whole.records) {
				silent++
			}
		}
	}
	t.Logf("%d flips changed values that nothing checks", silent)
}

// TestRefusals has inputs that are not a readable archive, each refused by name.
func TestRefusals(t *testing.T) {
	files := smallArchive(t, Options{})
	anchor := files["traces.otf2"]
	patch := func(at int, v byte) []byte {
		b := bytes.Clone(anchor)
		b[at] = v
		return b
	}
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
	for name, c := range map[string]struct {
		files archiveFiles
		path  string
		want  error
		text  string
	}{
		"JSON":                 {archiveFiles{"x.otf2": []byte(" {\"a\": 1}")}, "x.otf2", trace.ErrNotTrace, "JSON"},
		"empty file":           {archiveFiles{"x.otf2": nil}, "x.otf2", trace.ErrNotTrace, "empty"},
		"text":                 {archiveFiles{"x.otf2": []byte("hello, world")}, "x.otf2", trace.ErrNotTrace, "start"},
		"empty directory":      {archiveFiles{"y/x.txt": nil}, "y", trace.ErrNotTrace, "without an anchor"},
		"two archives":         {archiveFiles{"a.otf2": anchor, "b.otf2": anchor}, "", trace.ErrNotTrace, "a.otf2 b.otf2"},
		"LFS anchor":           {files.with("traces.otf2", []byte(pointer)), "", trace.ErrNotTrace, "git lfs pull"},
		"LFS definitions":      {files.with("traces.def", []byte(pointer)), "", trace.ErrNotTrace, "git lfs pull"},
		"SION":                 {files.with("traces.otf2", patch(28, 2)), "", trace.ErrUnsupported, "SION"},
		"no substrate":         {files.with("traces.otf2", patch(28, 3)), "", trace.ErrUnsupported, "substrate 3"},
		"zlib":                 {files.with("traces.otf2", patch(29, 2)), "", trace.ErrUnsupported, "zlib"},
		"compression":          {files.with("traces.otf2", patch(29, 9)), "", trace.ErrUnsupported, "compression 9"},
		"anchor format":        {files.with("traces.otf2", patch(7, 4)), "", trace.ErrUnsupported, "format 4"},
		"trace format":         {files.with("traces.otf2", patch(8, 3)), "", trace.ErrUnsupported, "trace format 3"},
		"chunk of nothing":     {files.with("traces.otf2", append(append(bytes.Clone(anchor[:12]), 0, 0, 0, 0, 0, 0, 0, 0), anchor[20:]...)), "", trace.ErrCorrupt, "chunk size 0"},
		"huge chunk":           {files.with("traces.otf2", patch(19, 0x7F)), "", trace.ErrCorrupt, "chunk size"},
		"magic":                {files.with("traces.otf2", patch(3, 'X')), "", trace.ErrNotTrace, "mark"},
		"converted anchor":     {files.with("traces.otf2", bytes.ReplaceAll(anchor, []byte{0x10}, []byte("\xef\xbf\xbd"))), "", trace.ErrCorrupt, "as text"},
		"definitions missing":  {archiveFiles{"traces.otf2": anchor}, "", trace.ErrMissing, "traces.def"},
		"definitions JSON":     {files.with("traces.def", []byte("[]")), "", trace.ErrNotTrace, "JSON"},
		"definitions no frame": {files.with("traces.def", append([]byte{3, littleEndian}, make([]byte, 9)...)), "", trace.ErrCorrupt, "chunk header"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.files.store(t, dir)
			_, err := OpenPath(filepath.Join(dir, c.path))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v about %q", err, c.want, c.text)
			}
		})
	}
	if _, err := OpenPath(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such path: %v", err)
	}
}

// TestSurvivals has damage that leaves something to read.
func TestSurvivals(t *testing.T) {
	files := smallArchive(t, Options{})
	const events, local = "traces/7.evt", "traces/7.def"
	e := files[events]
	at := func(what ...byte) int { return bytes.Index(e, what) }
	edit := func(i int, v ...byte) []byte {
		b := bytes.Clone(e)
		copy(b[i:], v)
		return b
	}
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
	isend := at(15, 8) // an MpiIsend of 8 bytes
	enter := at(12, 1, 1)
	for name, c := range map[string]struct {
		files  archiveFiles
		events int // -1: not checked
		code   trace.Code
		text   string
	}{
		"no events":           {without(files, events), 0, trace.DiagMissingEvents, "announce 36"},
		"no local":            {without(files, local), smallEvents, trace.DiagMissingLocalDef, "7.def"},
		"LFS events":          {files.with(events, []byte(pointer)), 0, trace.DiagCorrupt, "git lfs pull"},
		"LFS local":           {files.with(local, []byte(pointer)), smallEvents, trace.DiagBadLocalDef, "chunk header"},
		"empty events":        {files.with(events, nil), 0, trace.DiagTruncated, "no chunk header"},
		"converted events":    {files.with(events, bytes.ReplaceAll(e, []byte{0xFF}, []byte("\xef\xbf\xbd"))), -1, trace.DiagCorrupt, ""},
		"v32 count":           {files.with(events, edit(enter+1, 5)), 0, trace.DiagCorrupt, "contradicts"},
		"v64 count":           {files.with(events, edit(isend+6, 9)), 1, trace.DiagCorrupt, "contradicts"},
		"long record":         {files.with(events, edit(isend+1, 0xFF, 0, 0, 1, 0, 0, 0, 0, 0)), 1, trace.DiagTruncated, "event 1 of 36"},
		"short record":        {files.with(events, edit(isend+1, 2)), 1, trace.DiagCorrupt, "MpiIsend"},
		"control byte":        {files.with(events, edit(isend, 7)), 1, trace.DiagCorrupt, "0x7"},
		"early end of chunk":  {files.with(events, edit(isend, 0)), 1, trace.DiagTruncated, "after event 1"},
		"early end of file":   {files.with(events, edit(isend, 2)), 1, trace.DiagCorrupt, "announces 36 events, 1 found"},
		"no first time":       {files.with(events, edit(headerSize, 12, 1, 1)), 0, trace.DiagCorrupt, "first time stamp"},
		"header count":        {files.with(events, edit(10, 99)), smallEvents, trace.DiagCorrupt, "announces 99 events, 36 found"},
		"header first":        {files.with(events, edit(2, 9)), smallEvents, trace.DiagCorrupt, "number 9, expected 1"},
		"header nonsense":     {files.with(events, edit(16, 255, 255)), smallEvents, trace.DiagCorrupt, "announces events"},
		"definitions' count":  {files.with("traces.def", recount(files["traces.def"])), smallEvents, trace.DiagEventCount, "announces 36 events, the definitions 37"},
		"stray bytes":         {files.with(events, append(bytes.Clone(e), "\n stray"...)), smallEvents, trace.DiagUnknownRecord, ""},
		"stray anchor bytes":  {files.with("traces.otf2", append(bytes.Clone(files["traces.otf2"]), '\n')), smallEvents, trace.DiagUnknownRecord, ""},
		"events a directory":  {without(files, events).with(events+"/x", nil), 0, trace.DiagMissingEvents, ""},
		"local a directory":   {without(files, local).with(local+"/x", nil), smallEvents, trace.DiagMissingLocalDef, "7.def"},
		"definitions' number": {files.with("traces.otf2", edit2(files["traces.otf2"], 38, 200)), smallEvents, trace.DiagBadDefinition, "announces"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.files.store(t, dir)
			o := readAll(t, dir)
			if o.err != nil || c.events >= 0 && o.events != uint64(c.events) {
				t.Errorf("%d events, want %d, error %v, %v", o.events, c.events, o.err, o.diags)
			}
			i := slices.IndexFunc(o.diags.Codes, func(d trace.CodeDiagnostics) bool { return d.Code == c.code })
			if i < 0 || !strings.Contains(o.diags.Codes[i].First[0].Detail, c.text) {
				t.Errorf("no %v about %q in %+v", c.code, c.text, o.diags)
			}
		})
	}
}

// TestMissingLocalDefinitions: a location that alone has lost its local definitions is left out, for its times and references
// mean nothing without them. Where no location has any, they are taken as they are. Either is damage.
func TestMissingLocalDefinitions(t *testing.T) {
	d := &trace.Definitions{}
	add(d, trace.DefString, trace.String{})
	add(d, trace.DefClockProperties, trace.ClockProperties{TimerResolution: 1e9, RealtimeTimestamp: trace.Undefined64})
	add(d, trace.DefSystemTreeNode, trace.SystemTreeNode{Parent: trace.Undefined})
	add(d, trace.DefLocationGroup, trace.LocationGroup{Type: trace.ProcessGroup, Creator: trace.Undefined})
	for i := range uint32(2) {
		add(d, trace.DefLocation, trace.Location{Ref: uint64(i), Type: trace.CPUThread, Events: 2})
		add(d, trace.DefRegion, trace.Region{Ref: i, Role: trace.RoleFunction})
	}
	d.Seal()
	batches := make([][]trace.Batch, 2)
	for i := range batches {
		var b trace.Batch
		b.Append(1000, trace.Enter, 1)
		b.Append(1010, trace.Leave, 1)
		batches[i] = []trace.Batch{b}
	}
	dir := t.TempDir()
	local := func(trace.P) *Local { // times are 990 ticks late in the file, and the regions in another order
		return &Local{Mappings: []Mapping{{trace.RefRegion, [][2]uint64{{0, 1}, {1, 0}}}}, Offsets: []ClockOffset{{Time: 0, Offset: -990}, {Time: 5000, Offset: -990}}}
	}
	if _, err := Copy(dir, "traces", &memory{d, batches}, Options{Local: local}); err != nil {
		t.Fatal(err)
	}
	whole := load(t, dir)
	const first, second = "traces/0.def", "traces/1.def"
	for name, c := range map[string]struct {
		files  archiveFiles
		events [2]uint64
		lost   uint64
	}{
		"all there": {whole, [2]uint64{2, 2}, 0},
		"one lost":  {without(whole, second), [2]uint64{2, 0}, 1},
		"none":      {without(without(whole, first), second), [2]uint64{2, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.files.store(t, dir)
			a := mustOpen(t, dir)
			var diags trace.Diagnostics
			for p, want := range c.events {
				s := drain(t, a, trace.P(p), nil)
				x, err := a.Measure(trace.P(p))
				if s.events != want || err != nil || x.Events != want || x.HasFirst != (want > 0) {
					t.Errorf("location %d: %d events, measured %+v, %v; want %d", p, s.events, x, err, want)
				}
				diags.Merge(&s.diags)
			}
			severity, _ := tracetest.Severity(&diags)
			if n := diags.Count(trace.DiagMissingLocalDef); n != c.lost || (severity == trace.Damage) != (c.lost > 0) {
				t.Errorf("%d locations without local definitions, want %d; severity %d: %+v", n, c.lost, severity, diags)
			}
		})
	}
}

func without(f archiveFiles, name string) archiveFiles {
	c := maps.Clone(f)
	delete(c, name)
	return c
}

func edit2(b []byte, i int, v byte) []byte {
	b = bytes.Clone(b)
	b[i] = v
	return b
}

// recount raises the event count of the location record by one.
func recount(b []byte) []byte {
	i := bytes.Index(b, []byte{14, 8, 1, 7, 1, 2, 1, 1, smallEvents})
	return edit2(b, i+8, smallEvents+1)
}

// TestAbsurdCounts has lists that announce more elements than they can have:
// nothing is allocated for them.
func TestAbsurdCounts(t *testing.T) {
	huge := []byte{8, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}
	huge32 := []byte{4, 0xFE, 0xFF, 0xFF, 0xFF}
	frame := func(records ...[]byte) []byte {
		b := append([]byte{3, littleEndian}, make([]byte, 16)...)
		for _, r := range records {
			b = append(b, r...)
		}
		return append(b, 2, 1)
	}
	rec := func(id byte, payload ...byte) []byte {
		e := encoder{}
		at := e.begin(id)
		e.b = append(e.b, payload...)
		e.end(at)
		return e.b
	}
	stamp := []byte{5, 1, 0, 0, 0, 0, 0, 0, 0}
	files := smallArchive(t, Options{})
	anchor := bytes.Clone(files["traces.otf2"])
	copy(anchor[bytes.Index(anchor, []byte("coppice"))+len("coppice")+2:], []byte{0xFF, 0xFF, 0xFF, 0x7F})
	for name, f := range map[string]archiveFiles{
		"properties":   files.with("traces.otf2", anchor),
		"id map":       files.with("traces/7.def", frame(rec(5, append([]byte{3}, huge...)...), rec(5, append(append([]byte{4}, huge...), 1)...))),
		"sparse map":   files.with("traces/7.def", frame(rec(5, 3, 1, 1, 1, 8, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0))),
		"group":        files.with("traces.def", frame(rec(18, append([]byte{0, 0, 0}, huge32...)...))),
		"metric class": files.with("traces.def", frame(rec(20, 0, 255))),
		"attributes":   files.with("traces/7.evt", frame(stamp, rec(6, huge32...), []byte{12, 0})),
		"metrics":      files.with("traces/7.evt", frame(stamp, rec(31, 0, 255))),
		"arguments":    files.with("traces/7.evt", frame(stamp, rec(83, append([]byte{0}, huge32...)...))),
		"length":       files.with("traces/7.evt", frame(stamp, []byte{14, 255, 255, 255, 255, 255, 255, 255, 255, 255})),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f.store(t, dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o := readAll(t, dir)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("%d bytes allocated", n)
			}
			if o.clean() && name != "sparse map" {
				t.Error("no complaint")
			}
		})
	}
}

// TestRealDefinitionsWithoutEvents reads an archive whose event files are not
// there.
func TestRealDefinitionsWithoutEvents(t *testing.T) {
	a := mustOpen(t, filepath.Join(traces(t), "btmz-8x4-K-bigendian-defs"))
	d := a.Definitions()
	if !a.Anchor().BigEndian || d.NumLocations() != 32 || len(d.Processes()) != 8 {
		t.Errorf("%d locations, %d processes", d.NumLocations(), len(d.Processes()))
	}
	var announced uint64
	for p := range trace.P(32) {
		s := drain(t, a, p, nil)
		if s.events != 0 || s.diags.Count(trace.DiagMissingEvents) != 1 {
			t.Errorf("location %d: %d events, %v", p, s.events, s.diags)
		}
		if x, err := a.Measure(p); err != nil || x != (trace.Extent{}) {
			t.Errorf("measured %+v, %v", x, err)
		}
		announced += d.Location(p).Events
	}
	if announced != 7627726 {
		t.Errorf("%d events announced", announced)
	}
}

// TestBufferFiles reads headers and time stamps of buffers in both byte orders;
// these archives have no definitions and are refused for it.
func TestBufferFiles(t *testing.T) {
	dir := filepath.Join(traces(t), "buffer-endian")
	for _, name := range []string{"le", "be", "le_1", "be_1"} {
		if _, err := OpenPath(filepath.Join(dir, name+".otf2")); !errors.Is(err, trace.ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
		b, err := os.ReadFile(filepath.Join(dir, name+".otf2"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := parseAnchor(name, b)
		if err != nil || a.BigEndian != (name[0] == 'b') || a.EventChunk != 256<<10 || a.DefChunk != 4<<20 {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		for _, location := range []string{"128", "512"} {
			first := map[string]uint64{"128": 0, "512": 1536}[location]
			f, err := os.Open(filepath.Join(dir, name, location+".evt"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			x, err := readBorder(f, 0)
			if err != nil || !x.valid || !x.timed || x.raw != first || x.big != (name[0] == 'b') || x.first != 1 {
				t.Errorf("%s/%s: %+v, %v", name, location, x, err)
			}
		}
	}
}
