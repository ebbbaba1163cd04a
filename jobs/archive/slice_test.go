package archive_test

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/archive"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// sliced exports a window of chosen processes, and opens the archive.
func sliced(t *testing.T, ranks int, run string, w archive.Window, chosen func(process uint32) bool) (*otf2.Archive, *archive.Result, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "slice")
	o := archive.Options{Run: run, Output: dir, Window: func() (archive.Window, error) { return w, nil }}
	if chosen != nil {
		o.Select = func(d *trace.Definitions) (func(p trace.P) bool, error) {
			return func(p trace.P) bool {
				process, _ := d.Process(p)
				return chosen(process)
			}, nil
		}
	}
	res, err := export(ranks, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := otf2.OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a, res, dir
}

// plain reports whether a slice has the record as it is wherever it lies in the window.
func plain(k trace.Kind) bool {
	switch k {
	case trace.Enter, trace.Leave, trace.CallingContextEnter, trace.CallingContextLeave, trace.MpiCollectiveBegin, trace.MpiCollectiveEnd,
		trace.NonBlockingCollectiveRequest, trace.NonBlockingCollectiveComplete:
		return false
	}
	return k < trace.MpiSend || k > trace.MpiRequestCancelled
}

// checkSlice compares the streams of a slice with those of the trace it is of: the calls in the window, whole or cut, and
// all records that stand for themselves.
func checkSlice(t *testing.T, whole, slice trace.Source, begin, end trace.Time, chosen func(process uint32) bool) {
	t.Helper()
	d := whole.Definitions()
	for p := range trace.P(d.NumLocations()) {
		got := jobtest.Events(t, slice, p)
		if process, _ := d.Process(p); chosen != nil && !chosen(process) {
			if len(got) > 0 {
				t.Errorf("location %d was not chosen and has %d events", p, len(got))
			}
			continue
		}
		var open []uint32
		var want []jobtest.Event // calls and plain records
		seen, all := false, jobtest.Events(t, whole, p)
		for _, e := range append(all, jobtest.Event{Time: math.MaxUint64}) {
			if !seen && e.Time >= begin {
				seen = e.Kind != 0 || len(open) == 0
				for _, r := range open {
					if e.Kind != 0 {
						want = append(want, jobtest.Event{Time: begin, Kind: trace.Enter, Ref: r})
					}
				}
			}
			if e.Time >= end || e.Kind == 0 {
				for i := len(open) - 1; i >= 0 && seen; i-- {
					want = append(want, jobtest.Event{Time: end, Kind: trace.Leave, Ref: open[i]})
				}
				break
			}
			if e.Kind == trace.Enter {
				open = append(open, e.Ref)
			} else if e.Kind == trace.Leave {
				open = open[:len(open)-1]
			}
			if e.Time >= begin && (plain(e.Kind) || e.Kind == trace.Enter || e.Kind == trace.Leave) {
				want = append(want, e)
			}
		}
		var have []jobtest.Event
		for _, e := range got {
			if plain(e.Kind) || e.Kind == trace.Enter || e.Kind == trace.Leave {
				have = append(have, e)
			}
			if e.Time < begin || e.Time > end {
				t.Errorf("location %d: %v at %d, outside of %d to %d", p, e.Kind, e.Time, begin, end)
			}
		}
		if diff := cmp.Diff(want, have, cmp.Comparer(sameWords)); diff != "" {
			t.Fatalf("location %d, window %d to %d (-want +got):\n%s", p, begin, end, diff)
		}
	}
}

// checkRequests looks at all requests of a trace: each is posted once, and completes once.
func checkRequests(t *testing.T, src trace.Source) {
	t.Helper()
	for p := range trace.P(src.Definitions().NumLocations()) {
		open := map[uint64]trace.Kind{}
		for i, e := range jobtest.Events(t, src, p) {
			post, uses := trace.Kind(0), []trace.Kind(nil)
			switch e.Kind {
			case trace.MpiIsend, trace.MpiIrecvRequest, trace.NonBlockingCollectiveRequest:
				post = e.Kind
			case trace.MpiIsendComplete:
				uses = []trace.Kind{trace.MpiIsend}
			case trace.MpiIrecv:
				uses = []trace.Kind{trace.MpiIrecvRequest}
			case trace.NonBlockingCollectiveComplete:
				uses = []trace.Kind{trace.NonBlockingCollectiveRequest}
			case trace.MpiRequestTest:
				if open[e.Words[0]] == 0 {
					t.Errorf("location %d, event %d: test of request %d, which is not there", p, i, e.Words[0])
				}
			}
			if post == 0 && uses == nil {
				continue
			}
			id := e.Words[len(e.Words)-1]
			if post != 0 {
				if open[id] != 0 {
					t.Errorf("location %d, event %d: request %d posted twice", p, i, id)
				}
				open[id] = post
				continue
			}
			if open[id] != uses[0] {
				t.Errorf("location %d, event %d: %v of request %d, which is not there", p, i, e.Kind, id)
			}
			delete(open, id)
		}
		if len(open) > 0 {
			t.Errorf("location %d: %d requests without end", p, len(open))
		}
	}
}

func sameWords(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// eachRow visits the rows of an array.
func eachRow(t *testing.T, f *xtf.File, p trace.P, typ xtf.TypeID, visit func(row []byte)) {
	t.Helper()
	a, err := f.Array(xtf.Proc(p), typ)
	if err != nil {
		t.Fatal(err)
	}
	c := a.Rows(0, a.Len())
	for c.Next() {
		visit(c.Row())
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
}

// ends counts the ends of messages and members of collectives of a run that belong to a slice, row by row, and returns
// instants at which something is in progress.
func ends(t *testing.T, run string, w archive.Window, chosen func(process uint32) bool) (messages, members int, borders []uint64) {
	t.Helper()
	f, err := callview.OpenFile(run, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := f.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Definitions
	if err := d.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	inside := func(ticks uint64) bool { return ticks >= w.Begin && ticks < w.End }
	has := func(p uint32) bool {
		process, _ := d.Process(trace.P(p))
		return chosen == nil || chosen(process)
	}
	each := func(p trace.P, typ xtf.TypeID, visit func(row []byte)) { eachRow(t, f, p, typ, visit) }
	for p := range trace.P(d.NumLocations()) {
		each(p, xtf.TypeCall, func(row []byte) { borders = append(borders, xtf.U64(row, 0)+1) })
		if !has(uint32(p)) {
			continue
		}
		each(p, xtf.TypeP2P, func(row []byte) {
			var m xtf.P2P
			m.Load(row)
			borders = append(borders, m.Post+1, m.T+1, m.End)
			if inside(m.T) && (m.MateN == xtf.Never || inside(m.MateT) && has(m.MateP)) {
				messages++
			}
		})
		each(p, xtf.TypeColl, func(row []byte) {
			var r xtf.Coll
			r.Load(row)
			whole := true
			for _, m := range d.CommMembers(r.Comm) {
				whole = whole && has(uint32(d.Processes()[m].First))
			}
			there := inside(r.LastEnter)
			if r.Flags&xtf.CollNonBlocking != 0 {
				there = r.LastLeave <= w.End
			}
			if whole && there && r.FirstLeave >= w.Begin {
				members++
			}
		})
	}
	return messages, members, borders
}

// TestSlice cuts generated traces at random borders. What is left is a trace of its own: calls are balanced, all messages
// and requests have both their parts, collectives all their members, and nothing in the window is lost.
func TestSlice(t *testing.T) {
	specs := []string{"stencil:procs=4,events=6k", "ring:procs=1,events=300", "irregular:procs=5,events=8k", "masterworker:procs=4,events=4k"}
	for k, spec := range specs {
		src := jobtest.Generated(t, spec)
		run := runOf(t, src)
		_, _, borders := ends(t, run, archive.Window{}, nil)
		origin := trace.Time(src.Definitions().Clock().GlobalOffset)
		rng := rand.New(rand.NewPCG(7, uint64(k)))
		for i := range 6 {
			a, b := borders[rng.IntN(len(borders))], borders[rng.IntN(len(borders))]
			w := archive.Window{Begin: min(a, b), End: max(a, b) + 1}
			var chosen func(uint32) bool
			if i%2 == 1 {
				chosen = func(process uint32) bool { return process%3 != 1 }
			}
			got, res, dir := sliced(t, 1, run, w, chosen)
			checkRequests(t, got)
			checkSlice(t, src, got, origin+trace.Time(w.Begin), origin+trace.Time(w.End), chosen)
			if i == 0 {
				_, _, again := sliced(t, 3, run, w, chosen)
				sameFiles(t, dir, again)
			}
			messages, members, _ := ends(t, run, w, chosen)
			back := runOf(t, got)
			m, c, _ := ends(t, back, archive.Window{End: math.MaxUint64}, nil)
			if m != messages || c != members || res.Exact() {
				t.Errorf("%s, %v: %d ends of messages and %d of collectives, want %d and %d", spec, w, m, c, messages, members)
			}
			checkClean(t, spec, back)
		}
	}
}

// checkClean looks for what is wrong with the input of an analysis.
func checkClean(t *testing.T, what, run string) {
	t.Helper()
	f, err := callview.OpenFile(run, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := f.Array(xtf.WholeRun, xtf.TypeDiag)
	if err != nil {
		t.Fatal(err)
	}
	c := a.Rows(0, a.Len())
	for c.Next() {
		var d xtf.Diag
		if d.Load(c.Row()); !tracetest.Untold(trace.Code(d.Code)) {
			t.Errorf("%s: %s: %d", what, trace.Code(d.Code).Text(), d.Count)
		}
	}
}

// TestSliceWhole exports a window around everything: the events are those of the export without one.
func TestSliceWhole(t *testing.T) {
	src := jobtest.Generated(t, "irregular:procs=3,events=3k")
	run := runOf(t, src)
	a, res, _ := sliced(t, 2, run, archive.Window{End: math.MaxUint64}, nil)
	sameTrace(t, src, a)
	if res.Cut != (archive.Cut{}) {
		t.Errorf("%+v", res.Cut)
	}
	for _, w := range []archive.Window{{}, {Begin: 5, End: 5}, {Begin: math.MaxUint64 - 1, End: math.MaxUint64}} {
		if _, res, _ := sliced(t, 1, run, w, nil); res.Events != 0 {
			t.Errorf("%v: %d events", w, res.Events)
		}
	}
}

// TestSliceRandomPrograms exports windows around programs of everything that makes rows of messages and collectives, as notices of windows and
// operations on files, which have other records.
func TestSliceRandomPrograms(t *testing.T) {
	for seed := range uint64(20) {
		src, err := tracetest.RandomScript(seed).Source()
		if err != nil {
			t.Fatal(err)
		}
		a, res, _ := sliced(t, 1+int(seed%3), runOf(t, src), archive.Window{End: math.MaxUint64}, nil)
		if res.Lost > 0 {
			t.Errorf("seed %d: %+v", seed, res.Unreadable)
		}
		if res.Cut == (archive.Cut{}) { // else it leaves regions that the program does not leave
			sameTrace(t, src, a)
		}
	}
}

// TestSliceFences cuts a run with fences and other collective operations at all instants: of each all members are left, or none.
func TestSliceFences(t *testing.T) {
	s := &tracetest.Script{Steps: make([][]tracetest.Step, 2)}
	for p := range s.Steps {
		s.Steps[p] = append(s.Steps[p], tracetest.Step{Enter: "main"})
		for i := range 3 {
			s.Steps[p] = append(s.Steps[p], tracetest.Step{Ticks: uint64(3 + 4*((p+i)%2))}, tracetest.Step{Call: "Win_fence", As: "Fence", Ticks: 2},
				tracetest.Step{Ticks: 2}, tracetest.Step{Call: "Allreduce", Ticks: 1})
		}
		s.Steps[p] = append(s.Steps[p], tracetest.Step{Leave: "main"})
	}
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	run := runOf(t, src)
	for begin := range uint64(20) {
		w := archive.Window{Begin: begin, End: begin + 14}
		part, res, _ := sliced(t, 1, run, w, nil)
		_, members, _ := ends(t, run, w, nil)
		back := runOf(t, part)
		if _, c, _ := ends(t, back, archive.Window{End: math.MaxUint64}, nil); res.Lost > 0 || c != members {
			t.Errorf("%v: %d ends of collectives, want %d; %+v", w, c, members, res.Unreadable)
		}
		checkClean(t, "fences", back)
	}
}

// TestSliceRefused refuses a window of files that cannot tell which messages are in it.
func TestSliceRefused(t *testing.T) {
	for _, o := range []analyze.Options{{GraphOnly: true}, {Deviation: "10%"}} {
		run, out := filepath.Join(t.TempDir(), "run.xtf"), filepath.Join(t.TempDir(), "out")
		o.Source, o.Output, o.StoreBytes = jobtest.Generated(t, "ring:procs=2,events=200"), run, 64<<20
		if _, err := jobtest.Analyze(1, o); err != nil {
			t.Fatal(err)
		}
		_, err := export(2, archive.Options{Run: run, Output: out, Window: func() (archive.Window, error) { return archive.Window{End: 9}, nil }})
		if jobs.ExitCode(err) != jobs.ExitInput {
			t.Errorf("exit code %d: %v", jobs.ExitCode(err), err)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Error("something was written")
		}
	}
}

// TestSlicePrints lists slices of real archives with OTF2's own tool.
func TestSlicePrints(t *testing.T) {
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("no otf2-print: ./scripts/setup --test installs it")
	}
	for _, path := range jobtest.Archives(t) {
		name := filepath.Base(filepath.Dir(path))
		if name != "npb-mg.S-4" && name != "lulesh-8" && name != "npb-lu.S-tsc-4" {
			continue
		}
		src, err := otf2.OpenPath(path)
		if err != nil {
			t.Fatal(err)
		}
		run := runOf(t, src)
		_, _, borders := ends(t, run, archive.Window{}, nil)
		last := slices.Max(borders)
		got, _, dir := sliced(t, 2, run, archive.Window{Begin: last / 100 * 80, End: last / 100 * 95}, func(p uint32) bool { return p != 1 })
		if out, err := exec.Command(tool, filepath.Join(dir, "traces.otf2")).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		checkClean(t, name, runOf(t, got))
	}
}
