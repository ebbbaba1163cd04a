package otf2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// open makes the files of an archive those of its locations.
func (f archiveFiles) open(name string) (file, int64, error) {
	b, ok := f[filepath.ToSlash(name)]
	if !ok {
		return nil, 0, nil
	}
	return memoryFile{bytes.NewReader(b)}, int64(len(b)), nil
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

func FuzzAnchor(f *testing.F) {
	for _, o := range []Options{{}, {BigEndian: true}, {TraceFormat: 1}, {Properties: []Property{{"a", "b"}}}} {
		f.Add(smallArchive(f, o)["traces.otf2"])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parseAnchor("x", b)
		if err == nil && (a.EventChunk < minChunk || a.EventChunk > maxChunk || len(a.Properties) > len(b)) {
			t.Errorf("accepted %+v", a)
		}
		if err != nil && !errors.Is(err, trace.ErrNotTrace) && !errors.Is(err, trace.ErrUnsupported) && !errors.Is(err, trace.ErrCorrupt) {
			t.Errorf("error of no known kind: %v", err)
		}
	})
}

func FuzzDefinitions(f *testing.F) {
	for _, o := range []Options{{}, {BigEndian: true}, {TraceFormat: 1}} {
		f.Add(smallArchive(f, o)["traces.def"])
		dir := f.TempDir()
		if _, err := Copy(dir, "traces", completeSource(1, false), o); err != nil {
			f.Fatal(err)
		}
		f.Add(load(f, dir)["traces.def"])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := definitions("x", &Anchor{DefChunk: 4096, EventChunk: 4096}, b)
		if err != nil {
			return
		}
		for p := range trace.P(d.NumLocations()) {
			d.Process(p)
		}
		if s, _ := d.AppendBinary(nil); len(s) > 64*len(b)+1024 {
			t.Errorf("%d bytes became %d", len(b), len(s))
		}
		listable(d)
	})
}

// listable looks up names and peers: dangling references must not fail.
func listable(d *trace.Definitions) {
	n := newNamer(d)
	for i := range d.Comms {
		n.peer(d.Comms[i].Ref, 1, 0)
		d.Peer(d.Comms[i].Ref, 1, 0)
	}
}

func FuzzLocalDefinitions(f *testing.F) {
	for _, o := range []Options{{Local: localExample}, {Local: localExample, BigEndian: true}, variants()["sparse"], {}} {
		o.Local = firstLocal(o.Local)
		f.Add(smallArchive(f, o)["traces/7.def"])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := &Archive{anchor: &Anchor{DefChunk: 4096}, open: archiveFiles{"7.def": b}.open}
		l, err := a.localRecords("7.def")
		if err != nil {
			t.Fatal(err)
		}
		for k := range l.maps {
			for _, v := range []uint64{0, 1, 300, trace.Undefined, trace.Undefined64} {
				l.maps[k].at(v)
			}
		}
		l.clock.correct(1 << 40)
	})
}

// firstLocal gives every location what the first one gets.
func firstLocal(f func(trace.P) *Local) func(trace.P) *Local {
	if f == nil {
		return nil
	}
	return func(trace.P) *Local { return f(0) }
}

func FuzzEvents(f *testing.F) {
	for _, o := range []Options{{EventChunk: 512}, {EventChunk: 4096, BigEndian: true}, {TraceFormat: 1}} {
		f.Add(smallArchive(f, o)["traces/7.evt"])
	}
	var b trace.Batch
	m := mix{rand.New(rand.NewPCG(8, 8)), true}
	for k := trace.Kind(firstRecord); k < 100; k++ {
		m.event(&b, trace.Time(k), k)
		m.attributes(&b)
		m.surplus(&b)
	}
	dir := f.TempDir()
	if _, err := Copy(dir, "traces", oneLocation(&b), Options{EventChunk: 4096}); err != nil {
		f.Fatal(err)
	}
	f.Add(load(f, dir)["traces/7.evt"])
	for i, big := range []bool{false, true} {
		if _, err := Copy(dir, fmt.Sprint(i), longLists(), Options{BigEndian: big, EventChunk: 4096}); err != nil {
			f.Fatal(err)
		}
		f.Add(load(f, dir)[fmt.Sprint(i, "/7.evt")])
	}
	files := smallArchive(f, Options{EventChunk: 4096, Local: localExample})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Open("traces.otf2", files["traces.otf2"], files["traces.def"])
		if err != nil {
			t.Fatal(err)
		}
		a.open = files.with("traces/7.evt", b).open
		if _, err := a.Measure(0); err != nil {
			t.Fatal(err)
		}
		last := trace.Time(0)
		s := drain(t, a, 0, func(b *trace.Batch) {
			for i := range b.Events {
				if b.Events[i].Time < last {
					t.Fatalf("time %d after %d", b.Events[i].Time, last)
				}
				last = b.Events[i].Time
				b.Layout(&b.Events[i])
			}
		})
		if s.events > uint64(len(b)) {
			t.Errorf("%d events in %d bytes", s.events, len(b))
		}
		if s.events == 0 && len(b) > 100 && len(s.diags.Codes) == 0 && !bytes.Contains(b, []byte{endOfFile}) {
			t.Error("no events, no end mark and no complaint")
		}
		sameEvents(t, carefulRecords(t, a, 0), allRecords(t, a, 0))
		var text bytes.Buffer
		if err := Print(&text, a); err != nil {
			t.Error(err)
		}
	})
}
