package analyze_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestFarTimes has times that no clock has 2^63 ticks after the first: a damaged stamp, whatever follows. The location ends
// before it, and the rest of the trace is analysed as if there were nothing else.
func TestFarTimes(t *testing.T) {
	for _, far := range []uint64{1<<63 + 10, 1<<64 - 3, 1<<64 - 1} {
		t.Run(fmt.Sprint(far), func(t *testing.T) {
			text := "-- program --\nprocesses 2\n-- events --\n" +
				"0 10 ENTER main\n0 20 ENTER MPI_Send\n0 20 MPI_SEND 1 0 7 64\n0 30 LEAVE MPI_Send\n0 %d LEAVE main\n" +
				"1 10 ENTER main\n1 20 ENTER MPI_Recv\n1 30 MPI_RECV 0 0 7 64\n1 30 LEAVE MPI_Recv\n1 50 LEAVE main\n"
			src, err := tracetest.Parse(fmt.Sprintf(text, far))
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "run.xtf")
			one := analyzed(t, 1, analyze.Options{Source: src, Output: out})
			got := readFound(t, openFile(t, out), src.Definitions())
			if got.Problems[trace.DiagOverflow] != 1 || got.Execution != 40 || got.Events[0] != 4 || got.Events[1] != 5 {
				t.Errorf("%v, %d ticks, events %v", got.Problems, got.Execution, got.Events)
			}
			if !bytes.Equal(one, analyzed(t, 2, analyze.Options{Source: src})) {
				t.Error("two ranks give another file")
			}
			if r, err := xtf.Check(openFile(t, out), nil); err != nil || len(r.Problems) > 0 {
				t.Error(r, err)
			}
		})
	}
}

// TestBytesNotKnown has file operations whose bytes are -1, as Score-P writes it of fsync and fprintf and of reads that fail: nothing
// is lost. A message of 2^64-1 bytes is too long to add up: the bytes are left out and no event is.
func TestBytesNotKnown(t *testing.T) {
	const text = "-- program --\nprocesses 2\n-- events --\n" +
		"0 10 ENTER main\n0 20 IO_OPERATION_BEGIN 0 FLUSH NONE %[1]d 1\n0 30 IO_OPERATION_COMPLETE 0 %[1]d 1\n" +
		"0 40 IO_OPERATION_BEGIN 0 READ NONE 100 1\n0 50 IO_OPERATION_COMPLETE 0 %[1]d 1\n" +
		"0 60 IO_OPERATION_BEGIN 0 READ NONE 100 1\n0 70 IO_OPERATION_COMPLETE 0 64 1\n0 80 LEAVE main\n" +
		"1 10 ENTER main\n1 20 ENTER MPI_Send\n1 20 MPI_SEND 0 0 7 %[2]d\n1 30 LEAVE MPI_Send\n1 80 LEAVE main\n"
	for _, x := range []struct{ bytes, overflows uint64 }{{8, 0}, {math.MaxUint64, 1}} {
		src, err := tracetest.Parse(fmt.Sprintf(text, uint64(math.MaxUint64), x.bytes))
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "run.xtf")
		analyzed(t, 1, analyze.Options{Source: src, Output: out})
		f := openFile(t, out)
		got := readFound(t, f, src.Definitions())
		if got.Problems[trace.DiagOverflow] != x.overflows || got.Events[0] != 8 || got.Events[1] != 5 {
			t.Errorf("%v, events %v", got.Problems, got.Events)
		}
		a, err := f.Array(0, xtf.TypeIO)
		if err != nil {
			t.Fatal(err)
		}
		k := slices.IndexFunc(a.Type().Sums, func(s xtf.Sum) bool { return s.Name == "read" })
		if read := a.Sums().Totals()[k]; read != 64 {
			t.Errorf("%d bytes read, want 64", read)
		}
	}
}

// TestTickBack has one time stamp one tick before its predecessor, in each format: it is counted, the result is partial,
// and all events are there. --strict refuses it.
func TestTickBack(t *testing.T) {
	const events = 400
	text := func(back uint64) string {
		s := "-- program --\nprocesses 1\n-- events --\n"
		for i := range uint64(events / 2) {
			at := 1000 + 100*i
			if i == 10 {
				at = 1000 + 100*9 + 50 - back // the leave before it is at 1950
			}
			s += fmt.Sprintf("0 %d ENTER work\n0 %d LEAVE work\n", at, 1000+100*i+50)
		}
		return s
	}
	parsed := func(back uint64) trace.Source {
		src, err := tracetest.Parse(text(back))
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", parsed(0), otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "traces", "0.evt")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	enter := bytes.Index(b, binary.LittleEndian.AppendUint64([]byte{5}, 2050)) // a stamp of the call in question: its leave
	if enter < 0 {
		t.Fatal("no stamp of tick 2050")
	}
	binary.LittleEndian.PutUint64(b[enter+1:], 1949)
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	prv := "#Paraver (x):99999_ns:1(1):1:1(1:1),0\n"
	for i := range events / 2 {
		at := 1000 + 100*i
		if i == 10 {
			at = 1949
		}
		prv += fmt.Sprintf("2:1:1:1:1:%d:50000002:8\n2:1:1:1:1:%d:50000002:0\n", at, 1000+100*i+50)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.prv"), []byte(prv), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]analyze.Options{
		"text form": {Source: parsed(1)},
		"OTF2":      {Trace: filepath.Join(dir, "traces.otf2")},
		"Paraver":   {Trace: filepath.Join(dir, "a.prv")},
	} {
		t.Run(name, func(t *testing.T) {
			o.Output = filepath.Join(t.TempDir(), "run.xtf")
			res, err := jobtest.Analyze(1, o)
			if err != nil || !res.Partial || res.Events != events {
				t.Fatalf("%+v, %v; want %d events, partial", res, err, events)
			}
			got := readFound(t, openFile(t, o.Output), parsed(0).Definitions())
			if got.Problems[trace.DiagTimeBackwards] != 1 || got.Profiles[0].Calls != events/2 {
				t.Errorf("%v, %+v", got.Problems, got.Profiles)
			}
			o.Strict, o.Output = true, filepath.Join(t.TempDir(), "run.xtf")
			if _, err := jobtest.Analyze(1, o); jobs.ExitCode(err) != jobs.ExitPartial {
				t.Errorf("strict: %v", err)
			}
			if _, err := os.Stat(o.Output); err == nil {
				t.Error("strict: there is a result")
			}
		})
	}
}
