package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// TestMostOfAllPlaces: process 0 receives from 1, 3, 2 and 3. It waits 40 ticks for 1 and 30 for 3, while they compute in interval 5, then
// 40 for 2 and 30 for 3, while they compute in interval 6. In each interval another one makes it wait most, in both together process 3:
// for 60 of 140.
func TestMostOfAllPlaces(t *testing.T) {
	t.Parallel()
	send := func(p, id int, ticks uint64, tag uint32) []tracetest.Step {
		steps := append(tracetest.Mark(p, 4, id, false), tracetest.Step{Ticks: ticks}, tracetest.Step{Call: "Isend", Peer: 0, Tag: tag, Requests: []int{int(tag)}})
		return append(steps, tracetest.Mark(p, 4, id, true)...)
	}
	done := func(tags ...int) tracetest.Step { return tracetest.Step{Call: "Waitall", Requests: tags} }
	s := &tracetest.Script{Steps: make([][]tracetest.Step, 4), Regions: []tracetest.ScriptRegion{{Name: "main"}}}
	for i, from := range []int{1, 3, 2, 3} {
		s.Steps[0] = append(s.Steps[0], tracetest.Step{Call: "Recv", Peer: from, Tag: uint32(i + 1)})
	}
	s.Steps[1] = append(send(1, 5, 40, 1), done(1))
	s.Steps[2] = append(send(2, 6, 110, 3), done(3))
	s.Steps[3] = append(append(send(3, 5, 70, 2), send(3, 6, 70, 4)...), done(2, 4))
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	run := foundTrace(t, text)
	if list := jsonOf[foundIn](t, "report", run).Findings; len(list) == 0 || list[0].Cause == nil || list[0].Cause.Process != 3 || fmt.Sprintf("%.2f", list[0].Cause.OfRow) != "0.43" {
		t.Errorf("findings %+v", list)
	}
}

// pathLines are who has most of the parts of the critical path, by their names.
func pathLines(t *testing.T, archive string) map[string]string {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", archive, "-o", run, "-q")
	type line struct {
		Name, Activity string
		Ticks          int64
		Rank           int `json:"worst_rank"`
	}
	doc := jsonOf[struct {
		Waits struct {
			Critical struct{ Activities, Regions []line } `json:"critical_path"`
		}
	}](t, "report", run, "waits")
	lines := map[string]string{}
	for _, x := range append(doc.Waits.Critical.Activities, doc.Waits.Critical.Regions...) {
		lines[x.Activity+" "+x.Name] = fmt.Sprintf("%d ticks, most on rank %d", x.Ticks, x.Rank)
	}
	return lines
}

// TestMostWithoutFunctions leaves the functions of the program out of archives. Then each MPI call is in one place, and still the same rank
// has most of it on the critical path, and of all of the path.
func TestMostWithoutFunctions(t *testing.T) {
	t.Parallel()
	traces := sharedTraces(t)
	plain := law{define: func(d *trace.Definitions) {}, keep: func(d *trace.Definitions, e *trace.Event) bool {
		return e.Kind != trace.Enter && e.Kind != trace.Leave || d.IsMPI(d.Region(e.Ref))
	}}
	for _, name := range []string{"npb-mg.S-func-4", "npb-mg.S-func-16", "npb-lu.S-func-4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := pathLines(t, plain.rewritten(t, filepath.Join(traces, name))), pathLines(t, filepath.Join(traces, name))
			compared := 0
			for k, v := range want {
				if strings.HasPrefix(k, "mpi ") || k == "cpu CPU" {
					if compared++; got[k] != v {
						t.Errorf("%s: %s, without functions %s", k, got[k], v)
					}
				}
			}
			if compared < 4 {
				t.Errorf("%d lines are compared", compared)
			}
		})
	}
}

// TestMeanOfNestedMPI: process 0 waits from 10 to 40 in MPI_Mrecv, all of it in the MPI_Recv that it makes. Time on the critical path is that of
// innermost calls, waits are those of outermost ones: what of a call is no wait is not known.
func TestMeanOfNestedMPI(t *testing.T) {
	t.Parallel()
	const program = `
-- program --
processes 2
-- events --
0 0 ENTER main
0 10 ENTER MPI_Mrecv
%s0 50 MPI_RECV 1 MPI_COMM_WORLD 1 8
%s0 50 LEAVE MPI_Mrecv
0 60 LEAVE main
1 0 ENTER main
1 40 ENTER MPI_Send
1 40 MPI_SEND 0 MPI_COMM_WORLD 1 8
1 45 LEAVE MPI_Send
1 60 LEAVE main
`
	for _, x := range []struct{ enter, leave, name, mean string }{
		{"", "", "MPI_Mrecv", "[10 2]"},
		{"0 10 ENTER MPI_Recv\n", "0 50 LEAVE MPI_Recv\n", "MPI_Recv", "[<nil> <nil>]"},
	} {
		doc := jsonOf[struct {
			Waits struct {
				Critical struct {
					Regions []struct {
						Name string
						Mean []any
					}
				} `json:"critical_path"`
			}
		}](t, "report", foundTrace(t, fmt.Sprintf(program, x.enter, x.leave)), "waits")
		found := false
		for _, r := range doc.Waits.Critical.Regions {
			if r.Name == x.name {
				found = true
				if got := fmt.Sprint(r.Mean); got != x.mean {
					t.Errorf("mean of %s: %s, want %s", x.name, got, x.mean)
				}
			}
		}
		if !found {
			t.Errorf("%s is not on the critical path: %+v", x.name, doc.Waits.Critical.Regions)
		}
	}
}
