package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReadTargetsTable(t *testing.T) {
	t.Parallel()
	list, err := ReadTargets("v.csv", strings.NewReader("\ufeffrank,index,ns\r\n3,2,50\n0,1,7\n 3, 0 ,40\n"), WallClock)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Process != 0 || list[1].Process != 3 {
		t.Fatalf("targets %+v", list)
	}
	v, err := list[1].Place(4, nil, nil)
	if err != nil || !slices.Equal(v, []int64{40_000, notMeasured, 50_000, notMeasured}) {
		t.Errorf("process 3: %v, %v", v, err)
	}
	if _, err := list[1].Place(2, nil, nil); !errors.Is(err, ErrTarget) {
		t.Errorf("entry 2 of 2: %v", err)
	}
}

func TestReadTargetsErrors(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, file, text, want string }{
		{"empty", "v.csv", "", "v.csv:1:"},
		{"header", "v.csv", "a,b,c\n", "first line"},
		{"rank", "v.csv", "rank,index,ns\n1,0,5\nx,0,5\n", "v.csv:3: no table of computation vectors: rank: \"x\""},
		{"negative", "v.csv", "rank,index,ns\n1,0,-5\n", "ns: \"-5\""},
		{"too long", "v.csv", "rank,index,ns\n1,0,9223372036854775807\n", "ns: "},
		{"sum", "v.csv", "rank,index,ns\n1,0,9000000000000000\n1,1,9000000000000000\n", "106 days"},
		{"twice", "v.csv", "rank,index,ns\n1,7,5\n1,7,5\n", "index 7 twice"},
		{"columns", "v.csv", "rank,index,ns\n1,7\n", "2 values"},
		{"quote", "v.csv", "rank,index,ns\n1,\"7,5\n", "v.csv:2"},
		{"name", "v.csv", strings.Join(replayHeader, ",") + "\n", "RANK.csv"},
		{"sequence", "3.csv", strings.Join(replayHeader, ",") + "\n1,MPI_Send,1,5,6\n", "sequence 1 where 0"},
		{"total", "3.csv", strings.Join(replayHeader, ",") + "\n0,a,1,5,6\nmost,,1,x,6\n", "3.csv:3: no table of computation vectors: cpu_ns"},
		{"long total", "3.csv", strings.Join(replayHeader, ",") + "\nsum,,0,5,9223372036854775807\n", "wall_ns"},
		{"replay sum", "3.csv", strings.Join(replayHeader, ",") + "\n0,a,1,5,9000000000000000\n1,a,1,5,9000000000000000\n", "3.csv:3"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := ReadTargets(x.file, strings.NewReader(x.text), WallClock)
			if !errors.Is(err, ErrTarget) || !strings.Contains(err.Error(), x.want) {
				t.Errorf("error %v, want %q", err, x.want)
			}
		})
	}
}

// replayOf is a replay's CSV: a piece of i+1 ns before each function.
func replayOf(functions ...string) string {
	text := strings.Join(replayHeader, ",") + "\n"
	for i, f := range functions {
		text += fmt.Sprintf("%d,%s,1,%d,%d\n", i, f, 100*(i+1), i+1)
	}
	return text + fmt.Sprintf("sum,,%d,0,0\n", len(functions))
}

func TestPlaceReplay(t *testing.T) {
	t.Parallel()
	names := []string{"MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Finalize"}
	run := []uint32{0, 1, 2, 1, 2, 1, 2, 3}
	const n = notMeasured
	for _, x := range []struct {
		name      string
		functions string
		want      []int64 // us
	}{
		{"whole", "MPI_Send MPI_Recv MPI_Send MPI_Recv MPI_Send MPI_Recv MPI_Finalize", []int64{n, 1, 2, 3, 4, 5, 6, 7, n}},
		{"case", "mpi_send MPI_RECV MPI_Send MPI_Recv MPI_Send MPI_Recv MPI_Finalize", []int64{n, 1, 2, 3, 4, 5, 6, 7, n}},
		{"fewer iterations", "MPI_Send MPI_Recv MPI_Finalize", []int64{n, 1, 2, n, n, n, n, 3, n}},
		{"cut", "MPI_Send MPI_Recv MPI_Send", []int64{n, 1, 2, 3, n, n, n, n, n}},
		{"unrecorded function", "MPI_Wtime MPI_Send MPI_Recv MPI_Wtime MPI_Wtime MPI_Finalize", []int64{n, 3, 3, n, n, n, n, 15, n}},
		{"unrecorded at the end", "MPI_Send MPI_Recv MPI_Finalize MPI_Finalized", []int64{n, 1, 2, n, n, n, n, 3, n}},
		{"other program", "MPI_Barrier MPI_Barrier", []int64{n, n, n, n, n, n, n, n, n}},
		{"more iterations", "MPI_Send MPI_Recv MPI_Send MPI_Recv MPI_Send MPI_Recv MPI_Send MPI_Recv MPI_Finalize", []int64{n, 1, 2, 3, 4, 5, 6, 9, n}},
	} {
		t.Run(x.name, func(t *testing.T) {
			list, err := ReadTargets("out/7.csv", strings.NewReader(replayOf(strings.Fields(x.functions)...)), WallClock)
			if err != nil || len(list) != 1 || list[0].Process != 7 {
				t.Fatalf("%+v, %v", list, err)
			}
			v, err := list[0].Place(uint64(len(run)+1), run, names)
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.want {
				if x.want[i] != n {
					x.want[i] *= 1000
				}
			}
			if !slices.Equal(v, x.want) {
				t.Errorf("placed %v, want %v", v, x.want)
			}
		})
	}
	cpu, err := ReadTargets("7.csv", strings.NewReader(replayOf("MPI_Send")), CPUClock)
	if err != nil || cpu[0].Times[0] != 100 {
		t.Errorf("processor time %+v, %v", cpu, err)
	}
}

// TestTargetTotals reads the sums below a replay.
func TestTargetTotals(t *testing.T) {
	t.Parallel()
	text := replayOf("MPI_Send") + "sum,,1,100,130\nleast,,1,90,120\nmost,,1,140,170\n"
	for clock, want := range map[Clock]Totals{CPUClock: {100, 30, 90, 140}, WallClock: {130, 30, 120, 170}} {
		list, err := ReadTargets("7.csv", strings.NewReader(text), clock)
		if err != nil || len(list) != 1 || list[0].Totals != want || len(list[0].Times) != 1 {
			t.Errorf("clock %d: %+v, %v", clock, list, err)
		}
	}
}

func FuzzReadTargets(f *testing.F) {
	f.Add("rank,index,ns\n1,2,3\n1,0,4\n")
	f.Add(replayOf("MPI_Send", "MPI_Recv", "MPI_Wtime", "MPI_Finalize"))
	f.Add("\ufeffrank,index,ns\r\n\"1\",2,3")
	names := []string{"MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Finalize"}
	run := []uint32{0, 1, 2, 1, 2, 3}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"v.csv", "3.csv"} {
			list, err := ReadTargets(name, strings.NewReader(text), CPUClock)
			if err != nil {
				continue
			}
			for i := range list {
				x := &list[i]
				if i > 0 && x.Process <= list[i-1].Process {
					t.Errorf("process %d after %d", x.Process, list[i-1].Process)
				}
				v, err := x.Place(uint64(len(run)+1), run, names)
				if err != nil {
					continue
				}
				var sum int64
				for _, ps := range v {
					if ps < notMeasured {
						t.Fatalf("time %d", ps)
					}
					if sum += max(ps, 0); sum < 0 {
						t.Fatal("the sum does not fit")
					}
				}
			}
		}
	})
}
