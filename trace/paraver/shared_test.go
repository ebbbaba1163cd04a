package paraver

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// sharedTraces finds the collected Paraver traces next to the repository.
func sharedTraces(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no repository above this package")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "traces", "paraver")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no ../shared/traces/paraver next to the repository")
	}
	return path
}

// tally is what a plain pass over the text of a trace finds for each thread of
// its only application.
type tally struct {
	states, events, comms uint64
	pairs                 map[string]map[uint64]uint64 // by thread and type
	opened                map[string]map[uint64]uint64 // values that are not 0
	spent                 map[string]map[uint64]uint64 // by thread and state
	sent, received, bytes map[string]uint64
}

func add(m map[string]map[uint64]uint64, thread string, key, n uint64) {
	if m[thread] == nil {
		m[thread] = make(map[uint64]uint64)
	}
	m[thread][key] += n
}

// count splits lines at colons, and nothing else.
func count(t *testing.T, path string) *tally {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) uint64 {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(v)
	}
	x := &tally{
		pairs: make(map[string]map[uint64]uint64), opened: make(map[string]map[uint64]uint64), spent: make(map[string]map[uint64]uint64),
		sent: make(map[string]uint64), received: make(map[string]uint64), bytes: make(map[string]uint64),
	}
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	other, finalized := make(map[string]string), make(map[string]string) // by thread: its latest call of type 50000003, when MPI_Finalize ended
	for s.Scan() {
		w := strings.Split(s.Text(), ":")
		switch w[0] {
		case "1":
			x.states++
			add(x.spent, w[3]+"."+w[4], number(w[7]), number(w[6])-number(w[5]))
		case "2":
			x.events++
			thread := w[3] + "." + w[4]
			if at := finalized[thread]; at != "" && (w[6] == "40000001" || w[6] == "40000003") { // Extrae is still in it, and its states are not
				add(x.spent, thread, 15, number(w[5])-number(at))
			}
			if !strings.HasPrefix(w[6], "40") || w[6] == "40000001" || w[6] == "40000003" {
				delete(finalized, thread)
			}
			for i := 6; i < len(w); i += 2 {
				if w[i] == "50000003" && w[i+1] == "0" && other[thread] == "32" {
					finalized[thread] = w[5]
				}
				if w[i] == "50000003" {
					other[thread] = w[i+1]
				}
				add(x.pairs, w[3]+"."+w[4], number(w[i]), 1)
				if w[i+1] != "0" {
					add(x.opened, w[3]+"."+w[4], number(w[i]), 1)
				}
			}
		case "3":
			x.comms++
			x.sent[w[3]+"."+w[4]]++
			x.received[w[9]+"."+w[10]]++
			x.bytes[w[3]+"."+w[4]] += number(w[13])
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return x
}

// found is what the events of a location add up to.
type found struct {
	enters, spent         map[uint64]uint64 // by the type of the region
	sent, received, bytes uint64
	counted               uint64 // values of counters
	attributes            uint64
	last                  map[trace.Kind]uint64
}

func sum(t *testing.T, x *Trace, p trace.P) *found {
	t.Helper()
	d := x.Definitions()
	f := &found{enters: make(map[uint64]uint64), spent: make(map[uint64]uint64), last: make(map[trace.Kind]uint64)}
	type open struct {
		of uint64
		at trace.Time
	}
	var stack []open
	diags, err := each(x, p, func(b *trace.Batch, e *trace.Event) {
		f.last[e.Kind]++
		f.attributes += uint64(len(b.Attributes(nil, e)))
		switch e.Kind {
		case trace.Enter:
			word, _, _ := strings.Cut(strings.TrimPrefix(d.Text(d.Region(e.Ref).Description), "prv:"), " ")
			of, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			f.enters[of]++
			stack = append(stack, open{of, e.Time})
		case trace.Leave:
			top := stack[len(stack)-1]
			f.spent[top.of] += uint64(e.Time - top.at)
			stack = stack[:len(stack)-1]
		case trace.MpiSend:
			f.sent++
			f.bytes += b.Words(e)[3]
		case trace.MpiRecv:
			f.received++
		case trace.Metric:
			f.counted += b.Words(e)[1]
		}
	})
	if err != nil || len(diags.Codes) > 0 || len(stack) > 0 {
		t.Errorf("location %d: %v, %v, %d calls open", p, err, diags.List(), len(stack))
	}
	return f
}

// TestSharedTraces compares each collected trace with a plain count of its
// lines, and the time in calls with that of the states which mean the same.
func TestSharedTraces(t *testing.T) {
	dir := sharedTraces(t)
	for _, name := range []string{"epoch/epoch_1proc", "epoch/epoch_2proc", "epoch/epoch_4proc", "omp2"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "omp2" {
				t.Skip("the largest trace takes too long with -short")
			}
			path := filepath.Join(dir, name+".prv.gz")
			want := count(t, path)
			x, err := OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			d := x.Definitions()
			if s, e, c := x.Records(); s != want.states || e != want.events || c != want.comms || s == 0 || e == 0 {
				t.Errorf("%d states, %d events, %d messages; the lines are %d, %d, %d", s, e, c, want.states, want.events, want.comms)
			}
			if list := d.Problems().List(); len(list) > 0 {
				t.Error(list)
			}
			for p := range trace.P(d.NumLocations()) {
				thread := strings.TrimPrefix(d.Text(d.Location(p).Name), "THREAD 1.")
				compareThread(t, thread, want, sum(t, x, p))
			}
		})
	}
}

func compareThread(t *testing.T, thread string, want *tally, got *found) {
	t.Helper()
	counters, callers := uint64(0), uint64(0)
	for of, n := range want.pairs[thread] {
		switch e := typeOf(of); {
		case e.use == counter:
			counters += n
		case e.use == calledFrom:
			callers += n
		case e.use == lock:
			if got.enters[of] != n/2 {
				t.Errorf("thread %s, type %d: %d calls of %d events", thread, of, got.enters[of], n)
			}
		case e.isRegion():
			if got.enters[of] != want.opened[thread][of] {
				t.Errorf("thread %s, type %d: %d calls, %d begins in the file", thread, of, got.enters[of], want.opened[thread][of])
			}
		}
	}
	if got.counted != counters || got.attributes != callers {
		t.Errorf("thread %s: %d counters, %d callers; the file has %d, %d", thread, got.counted, got.attributes, counters, callers)
	}
	if got.sent != want.sent[thread] || got.received != want.received[thread] || got.bytes != want.bytes[thread] {
		t.Errorf("thread %s: sent %d, received %d, %d bytes; the file has %d, %d, %d", thread,
			got.sent, got.received, got.bytes, want.sent[thread], want.received[thread], want.bytes[thread])
	}
	states := want.spent[thread]
	for _, c := range []struct {
		what        string
		got, states uint64
	}{
		{"point-to-point calls", got.spent[typeP2P], states[3] + states[4] + states[16]},
		{"collective calls, barriers and locks", got.spent[typeColl] + got.spent[60000006], states[13] + states[5]},
		{"other MPI calls and the start of the tracer", got.spent[50000003] + got.spent[40000002], states[15]},
		{"flushes", got.spent[40000003], states[12]},
	} {
		if c.got != c.states {
			t.Errorf("thread %s: %d ticks in %s, the states say %d", thread, c.got, c.what, c.states)
		}
	}
}
