package main

import (
	"math"
	"strings"
	"testing"
)

// TestHandedOnCause: process 2 computes in grow from 5 to 60, process 1 waits for it in MPI_Allreduce of the two from 10 to 60,
// and leaves that at 62, process 2 at 61. In MPI_Barrier of all process 0 waits from 10 to 62 and process 2 for 1. Of these 53
// process 1 makes 2 + 1 by its MPI_Allreduce and is given the other 50 by process 2. So 50 of 53 come from grow, and no finding
// may blame MPI_Allreduce.
func TestHandedOnCause(t *testing.T) {
	t.Parallel()
	const program = `
-- program --
processes 3
resolution 1000
comm pair 1 2
-- events --
0 0 ENTER main
0 5 ENTER grow
0 10 LEAVE grow
0 10 ENTER MPI_Barrier
0 10 MPI_COLLECTIVE_BEGIN
0 63 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 63 LEAVE MPI_Barrier
0 64 LEAVE main
1 0 ENTER main
1 5 ENTER grow
1 10 LEAVE grow
1 10 ENTER MPI_Allreduce
1 10 MPI_COLLECTIVE_BEGIN
1 62 MPI_COLLECTIVE_END ALLREDUCE pair none 8 8
1 62 LEAVE MPI_Allreduce
1 62 ENTER MPI_Barrier
1 62 MPI_COLLECTIVE_BEGIN
1 63 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 63 LEAVE MPI_Barrier
1 64 LEAVE main
2 0 ENTER main
2 5 ENTER grow
2 60 LEAVE grow
2 60 ENTER MPI_Allreduce
2 60 MPI_COLLECTIVE_BEGIN
2 61 MPI_COLLECTIVE_END ALLREDUCE pair none 8 8
2 61 LEAVE MPI_Allreduce
2 61 ENTER MPI_Barrier
2 61 MPI_COLLECTIVE_BEGIN
2 63 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 63 LEAVE MPI_Barrier
2 64 LEAVE main
`
	doc := jsonOf[foundIn](t, "report", foundTrace(t, program))
	if len(doc.Findings) == 0 {
		t.Fatal("no finding")
	}
	f := doc.Findings[0]
	if c := f.Cause; f.Kind != "imbalance" || c == nil || c.Region != "grow" || c.Process != 2 || math.Abs(c.Share-50./53) > 1e-15 || c.OfRow != 1 {
		t.Errorf("first finding %+v, cause %+v", f, f.Cause)
	}
	if !strings.Contains(f.Text, "; 94.3 % of the waits come from CPU time in grow, most on rank 2 (100.0 % of that)") {
		t.Error(f.Text)
	}
}
