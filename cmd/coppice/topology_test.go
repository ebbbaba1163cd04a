package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report"
	"github.com/google/go-cmp/cmp"
)

// gridProgram has four processes as 4 x 1, periodic along the first dimension: 0 sends 100 bytes to 1, 10 to 2 and 1 to 3, which is next to it
// around the border. They compute 10, 20, 30 and 40 ticks outside MPI.
const gridProgram = `-- definitions --
STRING self=0 string="x"
STRING self=1 string="y"
STRING self=2 string="ring"
CART_DIMENSION self=0 name=0 size=4 cart_periodicity=1
CART_DIMENSION self=1 name=1 size=1
CART_TOPOLOGY self=0 name=2 communicator=0 number_of_dimensions=2 0 1
CART_COORDINATE cart_topology=0 rank=0 number_of_dimensions=2 0 0
CART_COORDINATE cart_topology=0 rank=1 number_of_dimensions=2 1 0
CART_COORDINATE cart_topology=0 rank=2 number_of_dimensions=2 2 0
CART_COORDINATE cart_topology=0 rank=3 number_of_dimensions=2 3 0
-- program --
processes 4
-- events --
0 0 ENTER MPI_Init
0 1 LEAVE MPI_Init
0 11 ENTER MPI_Send
0 12 MPI_SEND 1 MPI_COMM_WORLD 0 100
0 13 LEAVE MPI_Send
0 13 ENTER MPI_Send
0 14 MPI_SEND 2 MPI_COMM_WORLD 0 10
0 15 LEAVE MPI_Send
0 15 ENTER MPI_Send
0 16 MPI_SEND 3 MPI_COMM_WORLD 0 1
0 17 LEAVE MPI_Send
0 17 ENTER MPI_Finalize
0 50 LEAVE MPI_Finalize
1 0 ENTER MPI_Init
1 1 LEAVE MPI_Init
1 21 ENTER MPI_Recv
1 22 MPI_RECV 0 MPI_COMM_WORLD 0 100
1 22 LEAVE MPI_Recv
1 22 ENTER MPI_Finalize
1 50 LEAVE MPI_Finalize
2 0 ENTER MPI_Init
2 1 LEAVE MPI_Init
2 31 ENTER MPI_Recv
2 32 MPI_RECV 0 MPI_COMM_WORLD 0 10
2 32 LEAVE MPI_Recv
2 32 ENTER MPI_Finalize
2 50 LEAVE MPI_Finalize
3 0 ENTER MPI_Init
3 1 LEAVE MPI_Init
3 41 ENTER MPI_Recv
3 42 MPI_RECV 0 MPI_COMM_WORLD 0 1
3 42 LEAVE MPI_Recv
3 42 ENTER MPI_Finalize
3 50 LEAVE MPI_Finalize
`

// TestGrid compares the view of a Cartesian topology with numbers worked out by hand.
func TestGrid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, run := archiveOf(t, filepath.Join(dir, "archive"), gridProgram), filepath.Join(dir, "run.xtf")
	must(t, "analyze", archive, "-o", run, "-q", "-j", "2")
	x := jsonOf[struct{ Topology *report.Topology }](t, "report", run, "topology", "--ordered", "cpu").Topology
	if len(x.Grids) != 1 || len(x.Grids[0].Planes) != 4 {
		t.Fatalf("%+v", x.Grids)
	}
	g := &x.Grids[0]
	if d := cmp.Diff([]report.GridDistance{{Steps: 1, Messages: 2, Bytes: 101}, {Steps: 2, Messages: 1, Bytes: 10}}, g.Distances); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]report.Dimension{{Name: "x", Size: 4, Periodic: true}, {Name: "y", Size: 1}}, g.Dimensions); d != "" {
		t.Error(d)
	}
	for i, p := range g.Planes {
		out := [4]uint64{111}[i]
		if cpu := p.Values[0]; cpu.Sum.Value != float64(10*(i+1)) || cpu.Rank != uint32(i) || p.Out != out || p.Inside != 0 || p.Processes != 1 {
			t.Errorf("%+v", p)
		}
	}
	for _, p := range x.Machine {
		if cpu := p.Values[0]; p.Inside != 111 || cpu.Sum.Value != 100 || cpu.Mean.Value != 25 || cpu.Least.Value != 10 || cpu.Largest.Value != 40 || cpu.Rank != 3 {
			t.Errorf("%+v", p)
		}
	}
	if text := must(t, "report", run, "topology"); !strings.Contains(text, "ring of MPI_COMM_WORLD: x: 4 (periodic) x y: 1") {
		t.Error(text)
	}
}

// TestNodeTraffic compares messages inside and between two nodes with sums over the send records that otf2-print lists.
func TestNodeTraffic(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", filepath.Join(sharedTraces(t), "stencil4d-32", "traces.otf2"), "-o", run, "-q", "-j", "2")
	x := jsonOf[struct{ Topology *report.Topology }](t, "report", run, "topology").Topology
	want := []report.NodePair{
		{From: "0 quartz1", To: "0 quartz1", Messages: 192, Bytes: 25165824},
		{From: "0 quartz1", To: "1 quartz2", Messages: 64, Bytes: 8388608},
		{From: "1 quartz2", To: "0 quartz1", Messages: 64, Bytes: 8388608},
		{From: "1 quartz2", To: "1 quartz2", Messages: 192, Bytes: 25165824},
	}
	if d := cmp.Diff(want, x.Traffic); d != "" {
		t.Error(d)
	}
	if n := len(x.Machine); n != 3 || x.Machine[0].Inside != 67108864 || x.Machine[1].Out != 8388608 || x.Machine[1].Processes != 16 {
		t.Errorf("%+v", x.Machine)
	}
}
