package export

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// putter is a row that writes itself.
type putter interface{ Put(dst []byte) }

// rows are the rows of the arrays of one location.
type rows map[xtf.TypeID][]putter

// definitions makes the definitions of processes with one thread each, regions by name, a communicator of all and a metric.
func definitions(processes int, regions ...string) *trace.Definitions {
	d := &trace.Definitions{}
	text := func(s string) uint32 {
		x := d.Add(trace.DefString).(*trace.String)
		x.Ref, x.Value = uint32(len(d.Strings)-1), s
		return x.Ref
	}
	*d.Add(trace.DefClockProperties).(*trace.ClockProperties) = trace.ClockProperties{TimerResolution: 2e9}
	for p := range uint32(processes) {
		*d.Add(trace.DefLocationGroup).(*trace.LocationGroup) = trace.LocationGroup{Ref: p, Name: text("process"), Type: trace.ProcessGroup, Parent: trace.Undefined, Creator: trace.Undefined}
		*d.Add(trace.DefLocation).(*trace.Location) = trace.Location{Ref: uint64(p), Name: text("Master \xff \"thread\""), Type: trace.CPUThread, Group: p}
	}
	for i, r := range regions {
		*d.Add(trace.DefRegion).(*trace.Region) = trace.Region{Ref: uint32(i), Name: text(r), Description: text(""), SourceFile: text(""), CanonicalName: text(r)}
	}
	*d.Add(trace.DefComm).(*trace.Comm) = trace.Comm{Ref: 7, Name: text("all, \"of\" them"), Group: trace.Undefined, Parent: trace.Undefined}
	*d.Add(trace.DefMetricMember).(*trace.MetricMember) = trace.MetricMember{Ref: 3, Name: text("PAPI_TOT_INS"), Unit: text("#"), Description: text(""), ValueType: trace.TypeUint64}
	*d.Add(trace.DefMetricClass).(*trace.MetricClass) = trace.MetricClass{Ref: 4, Members: []uint32{3}}
	d.Seal()
	return d
}

// source writes a run with these rows and opens it.
func source(t testing.TB, d *trace.Definitions, locations []rows) *Source {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	b, err := d.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.xtf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := xtftest.NewFileWriter(f, types, [16]byte{1, 2, 3}, &xtftest.MemorySink{})
	for p, list := range append(locations, nil) {
		proc := xtf.Proc(p)
		if p == len(locations) {
			proc = xtf.WholeRun
		}
		writeRegion(t, w, types, proc, list)
	}
	if err := w.Commit([]xtf.Blob{xtf.BytesBlob(xtf.KindDefinitions, 1, 1, b), xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte(`{}`))}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := xtf.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return &Source{Run: &results.Run{File: x, Defs: d}, Window: Everything}
}

func writeRegion(t testing.TB, w *xtftest.FileWriter, types *xtf.TypeTable, p xtf.Proc, list rows) {
	t.Helper()
	var done []xtf.FinishedArray
	enc := xtf.NewEncoder()
	for _, typ := range types.All() {
		if len(list[typ.ID]) == 0 {
			continue
		}
		sink := &xtftest.MemorySink{}
		a := xtf.NewArrayBuilder(enc, types.Lookup(typ.ID), p, sink)
		for _, r := range list[typ.ID] {
			row, _ := a.Append()
			r.Put(row)
		}
		sum, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, xtf.FinishedArray{Summary: sum, Data: sink})
	}
	plan, err := xtf.PlanRegion(types, p, done, nil)
	if err == nil {
		err = w.Region(plan, uint32(p), 0, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const (
	send    = xtf.P2PSend
	receive = xtf.P2PRecv
)

// pingPong is two processes that send n messages to and fro, 100 ticks a step: main, and in it MPI_Send and MPI_Recv. The
// receive begins before its send.
func pingPong(n int) (*trace.Definitions, []rows) {
	d := definitions(2, "main", "MPI_Send", "MPI_Recv \"x\"\n\x01", "solve")
	list := []rows{{}, {}}
	for p := range uint32(2) {
		end := uint64(100*n + 100)
		x := list[p]
		x[xtf.TypeCall] = append(x[xtf.TypeCall], &xtf.Call{T: 10, End: end, Parent: xtf.Never, Region: 0})
		x[xtf.TypeIval] = append(x[xtf.TypeIval], &xtf.Ival{T: 10, End: end, Flags: xtf.IvalWhole}, &xtf.Ival{T: 50, End: end / 2, Node: 1})
		for i := range uint64(n) {
			at, sends := 100*i+100, uint64(p) == i%2
			c := &xtf.Call{T: at + 20, End: at + 60, Exclusive: 40, Region: 1, Depth: 1, Class: xtf.ClassMPI | xtf.ClassP2P, Flags: xtf.FlagOutermostMPI}
			m := &xtf.P2P{
				T: at + 20, End: at + 60, Post: at + 20, Done: at + 60, CallN: i + 1, MateN: i, MateP: 1 - p, Peer: 1 - p, Seq: i / 2, Bytes: 8 * i, Comm: 7, Tag: uint32(i),
				Region: 1, Kind: send, MateT: at,
			}
			if !sends {
				c.T, c.End, c.Region = at, at+80, 2
				m.T, m.End, m.Region, m.Kind, m.MateT = at, at+80, 2, receive, at+20
				x[xtf.TypeWait] = append(x[xtf.TypeWait], &xtf.Wait{T: at, End: at + 20, RecN: i, CauseP: 1 - p, Pattern: xtf.WaitLateSender})
			}
			x[xtf.TypeCall] = append(x[xtf.TypeCall], c)
			x[xtf.TypeP2P] = append(x[xtf.TypeP2P], m)
			x[xtf.TypeMetric] = append(x[xtf.TypeMetric], &xtf.Metric{T: at, Value: 1000 * i, Metric: 4, Flags: uint32(trace.TypeUint64)})
		}
	}
	return d, list
}

// drawnAs draws a source in a form.
func drawnAs(t testing.TB, s *Source, form string) ([]byte, *Drawn) {
	t.Helper()
	var b bytes.Buffer
	x, err := s.Timeline(&b, form, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if int64(b.Len()) != x.Bytes {
		t.Errorf("%d bytes, counted %d", b.Len(), x.Bytes)
	}
	return b.Bytes(), x
}
