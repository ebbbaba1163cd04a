package stats_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

// counted loads events of the first location and returns how often it has each code.
func counted(t *testing.T, defs *trace.Definitions, b *trace.Batch, f interval.Flags) map[string]uint64 {
	t.Helper()
	o, err := f.Parse()
	if err != nil {
		t.Fatal(err)
	}
	p, err := interval.NewPlan(defs, o)
	if err != nil {
		t.Fatal(err)
	}
	tables := stats.NewTables(defs, 0)
	tables.SetIntervals(p)
	l := stats.NewLoader(tables, 0, stats.Outputs{})
	if err := l.Add(b); err != nil {
		t.Fatal(err)
	}
	loaded, err := l.Finish()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for _, c := range loaded.Diagnostics.Codes {
		found[c.Code.String()] = c.Count
	}
	return found
}

// TestUnreadRecords: of two records of each kind, both are counted where the table says that nobody reads them, and none
// where somebody does.
func TestUnreadRecords(t *testing.T) {
	src, err := tracetest.Parse("-- program --\nprocesses 1\n-- events --\n0 1 ENTER main\n0 9 LEAVE main\n")
	if err != nil {
		t.Fatal(err)
	}
	var b trace.Batch
	for i := range 256 {
		k := trace.Kind(i)
		for range 2 {
			if k == trace.Enter || k == trace.Leave {
				b.Append(trace.Time(i), k, 0)
			} else {
				b.Append(trace.Time(i), k, 0, make([]uint64, len(k.Info().Fields))...) // lists are empty
			}
		}
	}
	found := counted(t, src.Definitions(), &b, interval.Flags{})
	for i := range 256 {
		k := trace.Kind(i)
		want := uint64(0)
		if k.Known() && k.Info().Untold != "" {
			want = 2
		}
		if got := found[trace.UnreadCode(k).String()]; got != want && (k.Known() || got > 0) {
			t.Errorf("%v: %d counted, want %d", k, got, want)
		}
	}
}

// TestOperationsInProgress: ends of file and one-sided operations that never began, and operations that never end, are counted. A
// one-sided operation completes here, or at its target, or at both in any order. A read that does not tell its bytes is counted, and so are requests that were cancelled.
func TestOperationsInProgress(t *testing.T) {
	src, err := tracetest.Parse(`-- program --
processes 1
-- events --
0 1 RMA_PUT 0 0 8 1
0 2 RMA_OP_COMPLETE_NON_BLOCKING 0 1
0 3 RMA_OP_COMPLETE_REMOTE 0 1
0 4 RMA_GET 0 0 8 1
0 5 RMA_OP_COMPLETE_REMOTE 0 1
0 6 RMA_OP_COMPLETE_BLOCKING 0 1
0 7 RMA_OP_COMPLETE_REMOTE 0 1
0 8 RMA_OP_COMPLETE_BLOCKING 0 9
0 9 RMA_PUT 0 0 8 2
0 10 RMA_PUT 0 0 8 2
0 11 IO_OPERATION_BEGIN 0 READ NONE 800 1
0 12 IO_OPERATION_COMPLETE 0 18446744073709551615 1
0 13 IO_OPERATION_BEGIN 0 FLUSH NONE 18446744073709551615 1
0 14 IO_OPERATION_COMPLETE 0 18446744073709551615 1
0 15 IO_OPERATION_CANCELLED 0 1
0 16 IO_OPERATION_BEGIN 0 WRITE NONE 800 1
0 17 MPI_ISEND 0 MPI_COMM_WORLD 7 8 1
0 17 MPI_IRECV_REQUEST 2
0 18 MPI_REQUEST_CANCELLED 1
0 18 MPI_REQUEST_CANCELLED 2
`)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := loadFirst(t, src, interval.Flags{})
	got := map[string]uint64{}
	for _, c := range l.Diagnostics.Codes {
		if _, unread := c.Code.Unread(); !unread {
			got[c.Code.String()] = c.Count
		}
	}
	want := map[string]uint64{"unknown-request": 3, "open-request": 3, "no-bytes": 1, "cancelled-send": 1, "cancelled-receive": 1, "no-call": 1}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestUnreadParameters: a parameter that an option names is read, another is not.
func TestUnreadParameters(t *testing.T) {
	defs := &trace.Definitions{
		Strings:        []trace.String{{Ref: 1, Value: "prv:77 phase"}, {Ref: 2, Value: "prv:78 load"}},
		Parameters:     []trace.Parameter{{Ref: 1, Name: 1}, {Ref: 2, Name: 2}},
		LocationGroups: []trace.LocationGroup{{Ref: 1, Type: trace.ProcessGroup, Parent: trace.Undefined, Creator: trace.Undefined}},
		Locations:      []trace.Location{{Ref: 1, Group: 1, Type: trace.CPUThread}},
	}
	defs.Seal()
	var b trace.Batch
	b.Append(1, trace.ParameterUnsignedInt, 0, 1, 5)
	b.Append(2, trace.ParameterUnsignedInt, 0, 2, 6)
	b.Append(3, trace.ParameterUnsignedInt, 0, 2, 7)
	b.Append(4, trace.ParameterUnsignedInt, 0, 1, 0)
	for _, x := range []struct {
		flags interval.Flags
		want  uint64
	}{
		{interval.Flags{}, 4},
		{interval.Flags{Intervals: []string{"prv:77"}}, 2}, // those of type 78
	} {
		if got := counted(t, defs, &b, x.flags)["not-analysed:ParameterUnsignedInt"]; got != x.want {
			t.Errorf("%v: %d parameters not read, want %d", x.flags.Intervals, got, x.want)
		}
	}
}

// TestCallsWithoutRecord: calls that begin or do an operation are counted where no record says what it is.
func TestCallsWithoutRecord(t *testing.T) {
	src, err := tracetest.Parse(`-- program --
processes 1
-- events --
0 1 ENTER MPI_Ibarrier
0 2 LEAVE MPI_Ibarrier
0 3 ENTER MPI_Iallreduce
0 3 NON_BLOCKING_COLLECTIVE_REQUEST 7
0 4 LEAVE MPI_Iallreduce
0 5 ENTER MPI_Wait
0 5 NON_BLOCKING_COLLECTIVE_COMPLETE ALLREDUCE MPI_COMM_WORLD none 8 8 7
0 6 LEAVE MPI_Wait
0 7 ENTER MPI_Ibcast
0 8 LEAVE MPI_Ibcast
0 9 ENTER MPI_Isend
0 10 LEAVE MPI_Isend
0 11 ENTER MPI_Neighbor_alltoall
0 11 MPI_SEND 0 MPI_COMM_WORLD 7 8
0 11 MPI_RECV 0 MPI_COMM_WORLD 7 8
0 12 LEAVE MPI_Neighbor_alltoall
0 13 ENTER MPI_Neighbor_alltoall
0 14 LEAVE MPI_Neighbor_alltoall
0 15 ENTER MPI_Win_fence
0 16 LEAVE MPI_Win_fence
0 17 ENTER MPI_Win_get_attr
0 18 LEAVE MPI_Win_get_attr
0 19 ENTER MPI_File_write_at
0 20 LEAVE MPI_File_write_at
0 21 ENTER MPI_Comm_rank
0 22 LEAVE MPI_Comm_rank
`)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := loadFirst(t, src, interval.Flags{})
	var got []string
	for _, c := range l.Diagnostics.Codes {
		got = append(got, c.Code.String())
	}
	if diff := cmp.Diff([]string{"no-collective-record", "no-record"}, got); diff != "" {
		t.Fatal(diff)
	}
	if n := l.Diagnostics.Count(trace.DiagNoCollRecord); n != 3 { // MPI_Ibarrier, MPI_Ibcast, one of the two with neighbours
		t.Errorf("%d collectives without record, want 3", n)
	}
	if n := l.Diagnostics.Count(trace.DiagNoRecord); n != 2 { // MPI_Win_fence and MPI_File_write_at
		t.Errorf("%d operations without record, want 2", n)
	}
}

// TestSampledFrames: context 1 is main, 2 is f called by main, 3 is MPI_Barrier called by f. The tracer entered main and
// MPI_Barrier; f it knows from the stack alone, so that one frame is missing in the call path of the first barrier, and in a
// sample of it outside of the barrier, unless trace.Frames has made calls of frames. Samples are counted. The timer has a
// period of 10 ticks: of the samples at 12, 32 and 53 the last one is more than two of them after the record before.
func TestSampledFrames(t *testing.T) {
	const none = trace.Undefined
	defs := &trace.Definitions{
		Strings:        []trace.String{{Ref: 1, Value: "main"}, {Ref: 2, Value: "f"}, {Ref: 3, Value: "MPI_Barrier"}},
		Regions:        []trace.Region{{Ref: 1, Name: 1}, {Ref: 2, Name: 2}, {Ref: 3, Name: 3}},
		LocationGroups: []trace.LocationGroup{{Ref: 1, Type: trace.ProcessGroup, Parent: none, Creator: none}},
		Locations:      []trace.Location{{Ref: 1, Group: 1, Type: trace.CPUThread}},
		CallingContexts: []trace.CallingContext{
			{Ref: 1, Region: 1, SourceCodeLocation: none, Parent: none},
			{Ref: 2, Region: 2, SourceCodeLocation: none, Parent: 1},
			{Ref: 3, Region: 3, SourceCodeLocation: none, Parent: 2},
		},
		Clocks:              []trace.ClockProperties{{TimerResolution: 1000}},
		InterruptGenerators: []trace.InterruptGenerator{{Ref: 7, Base: 1, Exponent: -2, Period: 1}},
	}
	defs.Seal()
	var b trace.Batch
	b.Append(1, trace.CallingContextEnter, 0, 1, 1)
	b.Append(2, trace.CallingContextEnter, 0, 3, 3) // without f
	b.Append(3, trace.CallingContextLeave, 0, 3)
	b.Append(4, trace.CallingContextEnter, 0, 2, 2)
	b.Append(5, trace.CallingContextEnter, 0, 3, 2)
	b.Append(7, trace.CallingContextLeave, 0, 3)
	b.Append(8, trace.CallingContextLeave, 0, 2)
	b.Append(12, trace.CallingContextSample, 0, 2, 2, 7)
	b.Append(32, trace.CallingContextSample, 0, 2, 1, 7)
	b.Append(53, trace.CallingContextSample, 0, 2, 1, 7)
	b.Append(60, trace.CallingContextLeave, 0, 1)
	want := map[string]uint64{"frames-left-out": 4, "sampled": 3, "sample-gap": 1, "no-collective-record": 2} // neither barrier has a record
	if diff := cmp.Diff(want, counted(t, defs, &b, interval.Flags{})); diff != "" {
		t.Errorf("records alone: %s", diff)
	}
	var with trace.Batch
	f := trace.NewFrames(defs, func(b *trace.Batch) error {
		with.Events, with.Args = append(with.Events, b.Events...), b.Args
		return nil
	})
	if err := errors.Join(f.Add(&b), f.Finish()); err != nil {
		t.Fatal(err)
	}
	want = map[string]uint64{"sampled": 3, "sample-gap": 1, "no-collective-record": 2}
	if diff := cmp.Diff(want, counted(t, defs, &with, interval.Flags{})); diff != "" {
		t.Errorf("with frames: %s", diff)
	}
}
