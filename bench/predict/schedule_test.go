package main

import (
	"bytes"
	"testing"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
)

func TestGOAL(t *testing.T) {
	p, c, err := workload.Make(workload.Spec{Pattern: "chain", Processes: 3, Iterations: 2, Bytes: 8, Calc: 5})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeGOAL(&out, p, c); err != nil {
		t.Fatal(err)
	}
	const want = `num_ranks 3
rank 0 {
l1: calc 5
l2: send 8b to 1 tag 0
l2 requires l1
l3: calc 5
l3 requires l2
l4: send 8b to 1 tag 0
l4 requires l3
}
rank 1 {
l1: recv 8b from 0 tag 0
l2: calc 5
l2 requires l1
l3: send 8b to 2 tag 0
l3 requires l2
l4: recv 8b from 0 tag 0
l4 requires l3
l5: calc 5
l5 requires l4
l6: send 8b to 2 tag 0
l6 requires l5
}
rank 2 {
l1: recv 8b from 1 tag 0
l2: calc 5
l2 requires l1
l3: recv 8b from 1 tag 0
l3 requires l2
l4: calc 5
l4 requires l3
}
`
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

func TestSMPI(t *testing.T) {
	for _, c := range []struct {
		s       workload.Spec
		process int
		want    string
	}{
		{workload.Spec{Pattern: "chain", Processes: 3, Iterations: 2, Bytes: 8, Calc: 5}, 1, `1 init
1 recv 0 0 8 6
1 compute 5
1 send 2 0 8 6
1 recv 0 0 8 6
1 compute 5
1 send 2 0 8 6
1 finalize
`},
		{workload.Spec{Pattern: "stencil3d", Processes: 8, Iterations: 1, Bytes: 8, Calc: 5}, 0, `0 init
0 irecv 4 0 8 6
0 irecv 4 1 8 6
0 irecv 2 2 8 6
0 irecv 2 3 8 6
0 irecv 1 4 8 6
0 irecv 1 5 8 6
0 isend 4 1 8 6
0 isend 4 0 8 6
0 isend 2 3 8 6
0 isend 2 2 8 6
0 isend 1 5 8 6
0 isend 1 4 8 6
0 waitall
0 compute 5
0 finalize
`},
	} {
		p, calc, err := workload.Make(c.s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := writeSMPI(&out, p, calc, c.process); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%v: got %s", c.s, out.String())
		}
	}
}
