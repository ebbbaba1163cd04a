package analyze_test

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// rowsOf reads all rows of an array.
func rowsOf(t *testing.T, f *xtf.File, p xtf.Proc, id xtf.TypeID, each func(n uint64, row []byte)) {
	t.Helper()
	a, err := f.Array(p, id)
	if err != nil {
		t.Fatal(err)
	}
	c := a.Rows(0, a.Len())
	for c.Next() {
		each(c.N(), c.Row())
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
}

// match is a message as both analyses tell it.
type match struct {
	From, To                uint32
	SendAt, Point, End      uint64
	SendBytes, ReceiveBytes uint64
}

// found is what the file says of events, messages and calls, in the form of the oracle.
type found struct {
	Events      []uint64
	Profiles    []oracle.Profile
	Matches     []match
	Collectives []oracle.Instances
	Problems    map[trace.Code]uint64
	Execution   uint64
	CPU, MPI    uint64
	Unmatched   int
}

// TestGenerated compares files with the slow analysis that holds the whole trace in memory.
func TestGenerated(t *testing.T) {
	for _, spec := range jobtest.Programs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			o, err := synthetic.ParseOptions(spec)
			if err != nil {
				t.Fatal(err)
			}
			src, err := synthetic.New(o)
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, src, analyzed(t, 3, analyze.Options{Source: src, StoreBytes: 1 << 20}))
		})
	}
}

// checkRows compares the file of three ranks with the oracle, and that of one rank with it byte by byte. It returns the oracle's result.
func checkRows(t *testing.T, src trace.Source, file []byte) *oracle.Result {
	t.Helper()
	want, err := oracle.Analyze(src, oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := readFound(t, openBytes(t, file), src.Definitions())
	expected := oracleFound(want, got)
	if !reflect.DeepEqual(expected, got) { // go-cmp takes much longer where nothing differs
		if d := gocmp.Diff(expected, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("file differs from the oracle (-want +got):\n%s", d)
		}
	}
	if testing.Short() {
		return want // TestSameBytes does it for generated programs
	}
	if !bytes.Equal(file, analyzed(t, 1, analyze.Options{Source: src, StoreBytes: 1 << 20})) {
		t.Error("one rank makes another file than three")
	}
	return want
}

// readFound reads what the file says.
func readFound(t *testing.T, f *xtf.File, d *trace.Definitions) found {
	t.Helper()
	got := found{Problems: map[trace.Code]uint64{}}
	instances := map[uint32]uint64{}
	for p := range xtf.Proc(f.Procs()) {
		dir, err := f.Dir(p)
		if err != nil {
			t.Fatal(err)
		}
		got.Events = append(got.Events, dir.Events)
		var profiles []oracle.Profile
		top := uint64(0)
		rowsOf(t, f, p, xtf.TypeTimeBin, func(_ uint64, row []byte) {
			var r xtf.TimeBin
			if r.Load(row); r.Key>>52 > top {
				top, profiles = r.Key>>52, nil // the top level, which comes last, is the profile
			}
			profiles = append(profiles, oracle.Profile{P: trace.P(p), Region: r.Region, Calls: r.Count, Inclusive: r.Inclusive, Exclusive: r.Exclusive})
		})
		slices.SortFunc(profiles, func(a, b oracle.Profile) int { return cmp.Compare(a.Region, b.Region) })
		got.Profiles = append(got.Profiles, profiles...)
		got.readMessages(t, f, p)
		rowsOf(t, f, p, xtf.TypeColl, func(_ uint64, row []byte) {
			var r xtf.Coll
			r.Load(row)
			if d.IsSelf(r.Comm) {
				instances[r.Comm]++
			} else {
				instances[r.Comm] = max(instances[r.Comm], r.Ordinal+1)
			}
		})
	}
	for c, n := range instances {
		got.Collectives = append(got.Collectives, oracle.Instances{Comm: c, Count: n})
	}
	slices.SortFunc(got.Collectives, func(a, b oracle.Instances) int { return cmp.Compare(a.Comm, b.Comm) })
	rowsOf(t, f, xtf.WholeRun, xtf.TypeDiag, func(_ uint64, row []byte) {
		var r xtf.Diag
		if r.Load(row); !tracetest.Untold(trace.Code(r.Code)) { // TestUnread has these
			got.Problems[trace.Code(r.Code)] = r.Count
		}
	})
	rowsOf(t, f, xtf.WholeRun, xtf.TypeStat, func(_ uint64, row []byte) {
		var r xtf.Stat
		r.Load(row)
		switch xtf.Item(r.Key) {
		case xtf.ItemTime:
			got.Execution = r.Max
		case xtf.ItemCPU:
			got.CPU = r.Sum0
		case xtf.ItemMPI:
			got.MPI = r.Sum0
		}
	})
	slices.SortFunc(got.Matches, compareMatches)
	return got
}

func (got *found) readMessages(t *testing.T, f *xtf.File, p xtf.Proc) {
	mates := map[xtf.Proc]*xtf.Array{}
	rowsOf(t, f, p, xtf.TypeP2P, func(n uint64, row []byte) {
		var r xtf.P2P
		r.Load(row)
		if r.MateN == xtf.Never {
			got.Unmatched++
			return
		}
		mp := xtf.Proc(r.MateP)
		if mates[mp] == nil {
			a, err := f.Array(mp, xtf.TypeP2P)
			if err != nil {
				t.Fatal(err)
			}
			mates[mp] = a
		}
		b, err := mates[mp].Row(r.MateN, nil)
		if err != nil {
			t.Fatal(err)
		}
		var mate xtf.P2P
		mate.Load(b)
		if mate.MateN != n || mate.MateP != uint32(p) || mate.T != r.MateT || mate.Tag != r.Tag || mate.Comm != r.Comm || mate.Seq != r.Seq {
			t.Fatalf("location %d row %d and its mate, location %d row %d, do not name one another: %+v %+v", p, n, r.MateP, r.MateN, r, mate)
		}
		if r.Kind&xtf.P2PKindMask == xtf.P2PRecv {
			got.Matches = append(got.Matches, match{r.MateP, uint32(p), r.MateT, r.T, r.End, mate.Bytes, r.Bytes})
		}
	})
}

func compareMatches(a, b match) int {
	return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.End, b.End), cmp.Compare(a.Point, b.Point), cmp.Compare(a.From, b.From),
		cmp.Compare(a.SendAt, b.SendAt), cmp.Compare(a.SendBytes, b.SendBytes))
}

// oracleFound gives the oracle's result the form of found. Problems that only a source can notice are taken over from got.
func oracleFound(r *oracle.Result, got found) found {
	all := r.Characteristics(0, oracle.Rules{})
	want := found{
		Profiles: r.Profiles, Collectives: r.Collectives, Problems: maps.Clone(r.Diagnostics),
		Execution: all.Execution, CPU: all.Sum[oracle.CPUTime], MPI: all.Sum[oracle.MPITime], Unmatched: got.Unmatched,
	}
	for _, l := range r.Locations {
		want.Events = append(want.Events, l.Components[0][oracle.Events])
	}
	for _, m := range r.Matches {
		want.Matches = append(want.Matches, match{
			uint32(m.Send.P), uint32(m.Recv.P), m.Send.Enter, m.Recv.Enter, m.Recv.Leave, m.Send.Bytes, m.Recv.Bytes,
		})
	}
	slices.SortFunc(want.Matches, compareMatches)
	for c, n := range got.Problems {
		if _, ok := want.Problems[c]; !ok && sourceFinds[c] {
			want.Problems[c] = n
		}
	}
	return want
}

// sourceFinds are problems that the oracle does not look for.
var sourceFinds = map[trace.Code]bool{
	trace.DiagEventCount: true, trace.DiagMissingEvents: true, trace.DiagMissingLocalDef: true, trace.DiagUnknownRecord: true,
	trace.DiagSurplus: true, trace.DiagSingleOffset: true, trace.DiagBadDefinition: true,
	trace.DiagNoFrame: true, trace.DiagNoCall: true,
	trace.DiagReplayStuck: true, trace.DiagWaitCircle: true, trace.DiagReversedWait: true, // where clocks differ
}
