//go:build cgo && !nompi && !mpich

package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
)

// The test binary runs itself under mpirun; this variable tells the ranks what they are for.
const childVariable = "CLUSTER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	mpi.Main(func(c mpi.Comm) int {
		text, err := digests(c)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if c.Rank() == 0 {
			fmt.Println("digests", text)
		}
		return 0
	})
}

// digests clusters generated vectors in several ways and returns digests of the results. Rank r has the members of a
// contiguous range.
func digests(c mpi.Comm) (string, error) {
	const n = 300
	data := generated(n, 6)
	var v Rows
	for i := n * c.Rank() / c.Size(); i < n*(c.Rank()+1)/c.Size(); i++ {
		v.IDs, v.Data = append(v.IDs, uint32(i)), append(v.Data, data[i])
	}
	var out strings.Builder
	for _, o := range []Options{
		{Full: true},
		{Linkage: Average, Threshold: Threshold{PPM: 50_000}},
		{Linkage: Single, Metric: L2, Full: true},
		{Threshold: Threshold{PPM: 50_000}, ExactMax: 50},
		{MaxClasses: 7, Representative: Medoid, Quantum: 10000},
		{Linkage: Centroid},
	} {
		r, err := classify(context.Background(), c, v, o, 20, 10)
		if err != nil {
			return "", err
		}
		b := pack(r.Class)
		all, err := c.Gather(b, 0)
		if err != nil {
			return "", err
		}
		h := sha256.New()
		for _, b := range all {
			h.Write(b)
		}
		r.Class = nil
		fmt.Fprint(h, *r)
		fmt.Fprintf(&out, "%x ", h.Sum(nil)[:8])
	}
	return strings.TrimSpace(out.String()), nil
}

func TestRanksOfMPI(t *testing.T) {
	if testing.Short() {
		t.Skip("starts mpirun: not with -short")
	}
	if out, err := exec.Command("mpirun", "--version").Output(); err != nil || !strings.Contains(string(out), "Open MPI") {
		t.Skip("no mpirun of Open MPI on this machine: install openmpi-bin")
	}
	want, err := digests(mpi.Serial())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, "mpirun", "--oversubscribe", "--bind-to", "none", "-n", fmt.Sprint(n), os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("%d ranks: %v\n%s", n, err, out)
		}
		if !strings.Contains(string(out), "digests "+want+"\n") {
			t.Errorf("%d ranks: %s, want %s", n, out, want)
		}
	}
}
