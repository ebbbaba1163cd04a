package stats_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// brokenProgram is events of one location in no sensible order.
func brokenProgram(rng *rand.Rand) string {
	var b strings.Builder
	b.WriteString(strings.Replace(markerDefinitions, "processes 2", "processes 1", 1))
	regions := []string{"main", "f", "phase", "write", "MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Wait", "MPI_Pcontrol", "MPI_Barrier", "MPI_Init", "MPI_Finalize"}
	comms := []string{"MPI_COMM_WORLD", "coppice.intervals", "MPI_COMM_SELF"}
	tags := []uint32{0x2AAA, 0x2ABB, 5, 6, 7, 0xAA0005AA, 0xAA0005BB, 40000}
	now := rng.IntN(3)
	one := func(list []string) string { return list[rng.IntN(len(list))] }
	for range 40 + rng.IntN(60) {
		now += rng.IntN(3) * rng.IntN(2)
		fmt.Fprintf(&b, "0 %d ", now)
		tag := tags[rng.IntN(len(tags))]
		switch rng.IntN(13) {
		case 0, 1, 2:
			fmt.Fprintf(&b, "ENTER %s\n", one(regions))
		case 3, 4, 5:
			fmt.Fprintf(&b, "LEAVE %s\n", one(regions))
		case 6, 7:
			fmt.Fprintf(&b, "MPI_SEND 0 %s %d 3\n", one(comms), tag)
		case 8:
			fmt.Fprintf(&b, "MPI_RECV 0 %s %d 3\n", one(comms), tag)
		case 9:
			fmt.Fprintf(&b, "MPI_IRECV_REQUEST %d\n", rng.IntN(3))
		case 10:
			fmt.Fprintf(&b, "MPI_IRECV 0 %s %d 3 %d\n", one(comms), tag, rng.IntN(3))
		case 11:
			fmt.Fprintf(&b, "PARAMETER_INT64 %d %d\n", rng.IntN(4), rng.IntN(14)-7)
		case 12:
			b.WriteString("MPI_COLLECTIVE_END ALLREDUCE MPI_COMM_WORLD none 8 8\n")
		}
	}
	return b.String()
}

// TestBrokenStreams loads streams in which nothing fits: sums keep their laws, and
// are the same with rows and without.
func TestBrokenStreams(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 200
	}
	rng := rand.New(rand.NewPCG(6, 6))
	var round int
	var text string
	defer func() {
		if t.Failed() {
			t.Logf("round %d:\n%s", round, text)
		}
	}()
	for round = range rounds {
		text = brokenProgram(rng)
		src, err := tracetest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		f := []interval.Flags{
			{},
			{MarkerCost: "mpi", Fold: true},
			{Slice: "5ticks", Between: "coll:allreduce", Sidecar: []byte("0,3,9,5,\n0,4,30,6,a\n")},
			{Init: "exclude", Intervals: []string{"region:f", "prv:77"}},
		}[round%4]
		l, borders := loadFirst(t, src, f)
		checkBorders(t, l, borders)
		checkLaws(t, l)
		if t.Failed() {
			return
		}
		if round%10 == 0 {
			checkRows(t, src, f, l)
		}
	}
}

// checkLaws tests what holds for the sums of every node.
func checkLaws(t *testing.T, l *stats.Loaded) {
	t.Helper()
	n := uint32(l.Tree.Len())
	inside := make([]uint64, n) // time of the children that are markers'
	for k := n - 1; k > 0; k-- {
		if x := l.Tree.Node(k); x.Form != interval.FormDerived {
			inside[x.Parent] += l.Components.Value(k, xtf.ItemTime)
		}
	}
	for k := range n {
		v := l.Components.Node(k)
		if v[xtf.ItemTime] != v[xtf.ItemCPU]+v[xtf.ItemMPI]+v[xtf.ItemMarker]+v[xtf.ItemIO]+v[xtf.ItemDeviceCall]+v[xtf.ItemDeviceWait]+v[xtf.ItemLockWait]+v[xtf.ItemOverhead] || v[xtf.ItemCPU] > v[xtf.ItemTime] {
			t.Errorf("node %d: time %d of CPU %d, MPI %d, marker %d, I/O %d", k, v[xtf.ItemTime], v[xtf.ItemCPU], v[xtf.ItemMPI], v[xtf.ItemMarker], v[xtf.ItemIO])
		}
		if v[xtf.ItemMPI] != v[xtf.ItemP2P]+v[xtf.ItemColl]+v[xtf.ItemFileIO]+v[xtf.ItemRMA]+v[xtf.ItemManagement] || v[xtf.ItemOverlap] > v[xtf.ItemCPU] {
			t.Errorf("node %d: classes do not add up to MPI, or overlap is more than CPU: %v", k, *v)
		}
		if inside[k] > v[xtf.ItemTime] {
			t.Errorf("node %d of %d ticks has children of %d", k, v[xtf.ItemTime], inside[k])
		}
	}
}

// checkRows loads once more, with rows.
func checkRows(t *testing.T, src trace.Source, f interval.Flags, want *stats.Loaded) {
	t.Helper()
	o, err := f.Parse()
	if err != nil {
		t.Fatal(err)
	}
	p, err := interval.NewPlan(src.Definitions(), o)
	if err != nil {
		t.Fatal(err)
	}
	tables := stats.NewTables(src.Definitions(), 0)
	tables.SetIntervals(p)
	batches, _ := batchesOf(t, src)
	l := stats.NewLoader(tables, 0, outputs(true))
	for i := range batches {
		if err := l.Add(&batches[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(found(want), found(got)); d != "" {
		t.Fatalf("with rows (-without +with):\n%s", d)
	}
}
