package paraver

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// names4 names what the written traces use.
const pcf = `STATES
0    Idle
1    Running


EVENT_TYPE
9   50000001    MPI Point-to-point
VALUES
1   MPI_Send
2   MPI_Recv
3   MPI_Isend
4   MPI_Irecv
5   MPI_Wait
6   MPI_Waitall
41   MPI_Sendrecv
0   Outside MPI

EVENT_TYPE
9   50000002    MPI Collective Comm
VALUES
7   MPI_Bcast
8   MPI_Barrier
156 MPI_Ibarrier
0   Outside MPI

EVENT_TYPE
0 60000001  Parallel (OMP)
VALUES
0 close
3 REGION (open)

EVENT_TYPE
0	60000018	Executed OpenMP parallel function
VALUES
0   End
3 body

EVENT_TYPE
0    60000118    Executed OpenMP parallel function line and file
VALUES
5 92 (pixel.h, lib.so)

EVENT_TYPE
0 60000006 OpenMP named-Lock
VALUES
3 Lock
5 Unlock

EVENT_TYPE
0    70000001    Caller at level 1
0    70000002    Caller at level 2
VALUES
3 lon..name [long_caller_name]
4 main

EVENT_TYPE
7  42000050 PAPI_TOT_INS [Instr completed]
7  42000059 PAPI_TOT_CYC [Total cycles]

EVENT_TYPE
9 1000 Phase
VALUES
1 one
`

// trial is a trace in memory.
func trial(t testing.TB, prv string) *Trace {
	t.Helper()
	x, err := inMemory([]byte(prv), []byte(pcf))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func inMemory(prv, pcf []byte) (*Trace, error) {
	f := &Files{Names: pcf}
	if err := f.scan(bytes.NewReader(prv), uint64(len(prv))); err != nil {
		return nil, err
	}
	x, err := Open(f)
	if err == nil {
		x.text = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(prv)), nil }
	}
	return x, err
}

// each passes over the events of a location and returns what was found.
func each(src trace.Source, p trace.P, f func(b *trace.Batch, e *trace.Event)) (*trace.Diagnostics, error) {
	found := &trace.Diagnostics{}
	st, err := src.Stream(p)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return nil, err
		}
		for err == nil {
			if err = r.Next(&b); err == nil {
				for k := range b.Events {
					f(&b, &b.Events[k])
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		found.AddAll(r.Diagnostics())
	}
	return found, nil
}

// listing is all events of a trace as text, one a line: location, time, kind,
// region or words, attributes.
func listing(t testing.TB, x *Trace) string {
	t.Helper()
	var out strings.Builder
	d := x.Definitions()
	for p := range trace.P(d.NumLocations()) {
		found, err := each(x, p, func(b *trace.Batch, e *trace.Event) {
			fmt.Fprintf(&out, "%d %d %v", p, e.Time, e.Kind)
			switch {
			case e.Kind == trace.Enter || e.Kind == trace.Leave:
				fmt.Fprintf(&out, " %s", d.Text(d.Region(e.Ref).Name))
			case e.Kind == trace.ParameterUnsignedInt:
				fmt.Fprintf(&out, " %s = %d", d.Text(d.Parameters[b.Words(e)[0]].Name), int64(b.Words(e)[1]))
			default:
				for _, w := range b.Words(e) {
					if w == trace.Undefined {
						fmt.Fprint(&out, " none")
						continue
					}
					fmt.Fprintf(&out, " %d", w)
				}
			}
			for _, a := range b.Attributes(nil, e) {
				fmt.Fprintf(&out, " [%s: %s]", d.Text(d.Attributes[a.Ref].Name), d.Text(uint32(a.Value)))
			}
			out.WriteByte('\n')
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.List() {
			fmt.Fprintf(&out, "%d found %v: %s (%d)\n", p, f.Code, f.Detail, f.Count)
		}
	}
	for _, f := range d.Problems().List() {
		fmt.Fprintf(&out, "found %v: %s (%d)\n", f.Code, f.Detail, f.Count)
	}
	return out.String()
}

func compress(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// store writes files and returns the path of the first.
func store(t testing.TB, files map[string][]byte, first string) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, first)
}

// OpenPath loads and opens a trace by its .prv or .prv.gz file.
func OpenPath(path string) (*Trace, error) {
	f, err := Load(path)
	if err != nil {
		return nil, err
	}
	return Open(f)
}
