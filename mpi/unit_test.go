package mpi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestLaunched(t *testing.T) {
	names := []string{
		"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_ID",
		"SLURM_STEP_NUM_TASKS", "PMIX_NAMESPACE", "MPI_LOCALNRANKS", "SLURM_PTY_PORT",
	}
	// in is a step of Slurm with n tasks, and what else is there.
	in := func(n string, more ...string) map[string]string {
		env := map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": n}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	cases := []struct {
		name string
		env  map[string]string
		want bool
		size int
	}{
		{"nothing", nil, false, 0},
		{"mpirun of Open MPI", map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"}, true, 4},
		{"mpirun of MPICH", map[string]string{"PMI_RANK": "0", "PMI_SIZE": "3"}, true, 3},
		{"srun with PMIx", map[string]string{"PMIX_RANK": "0", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8"}, true, 8},
		{"srun without PMI", map[string]string{"SLURM_PROCID": "5", "SLURM_STEP_ID": "1", "SLURM_STEP_NUM_TASKS": "8"}, true, 8},
		{"batch script", map[string]string{"SLURM_PROCID": "0"}, false, 0},
		{"shell from srun", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, false, 1},
		{"one task of PMIx", in("1", "PMIX_RANK", "0", "PMIX_NAMESPACE", "slurm.pmix.1.0"), false, 1},
		{"one task of PMI-2", in("1", "PMI_RANK", "0", "PMI_SIZE", "1"), false, 1},
		{"prterun in one", in("1", "PMIX_RANK", "0", "PMIX_NAMESPACE", "prterun-n1-7@1"), true, 1},
		{"mpirun of Open MPI in one", in("1", "PMIX_RANK", "0", "PMIX_NAMESPACE", "17", "OMPI_COMM_WORLD_SIZE", "4"), true, 4},
		{"mpirun of MPICH in one of PMIx", in("1", "PMIX_RANK", "0", "PMIX_NAMESPACE", "slurm.pmix.1.0", "PMI_RANK", "0", "PMI_SIZE", "4", "MPI_LOCALNRANKS", "4"), true, 4},
		{"flux in one", in("1", "PMI_RANK", "0", "PMI_SIZE", "4"), true, 4},
		{"shell of one task", in("1", "PMIX_RANK", "0", "PMIX_NAMESPACE", "slurm.pmix.1.0", "SLURM_PTY_PORT", "7", "terminal", "yes"), false, 1},
		{"shell of four tasks", in("4", "PMIX_RANK", "0", "PMIX_NAMESPACE", "slurm.pmix.1.0", "SLURM_PTY_PORT", "7", "terminal", "yes"), false, 4},
		{"mpirun of MPICH in that", in("4", "PMI_RANK", "0", "PMI_SIZE", "4", "MPI_LOCALNRANKS", "4", "SLURM_PTY_PORT", "7", "terminal", "yes"), true, 4},
		{"srun in that", in("4", "PMIX_RANK", "0", "PMIX_NAMESPACE", "slurm.pmix.1.0", "SLURM_PTY_PORT", "7"), true, 4},
		{"nonsense", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "-3x"}, false, 0},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			for _, n := range names {
				t.Setenv(n, k.env[n])
			}
			terminal := func() bool { return k.env["terminal"] != "" }
			got := launched(terminal)
			if n := ranks(terminal); !k.want && strings.HasPrefix(k.name, "one task") != (n == 1) && runtime.NumCPU() > 1 {
				t.Errorf("%d ranks", n)
			}
			if _, size := Start(); got != k.want || size != k.size {
				t.Errorf("launched %v with %d ranks, want %v with %d", got, size, k.want, k.size)
			}
			err := checkLaunch(1)
			if (k.size > 1) != errors.Is(err, ErrLaunch) {
				t.Errorf("a rank that is alone: %v", err)
			}
			if err := checkLaunch(k.size); k.size > 1 && err != nil {
				t.Errorf("all ranks together: %v", err)
			}
		})
	}
}

func TestWithoutOMPIO(t *testing.T) {
	for value, want := range map[string]string{
		"":              "^ompio",
		"ompio":         "^ompio",
		"ompio,romio":   "^ompio",
		"^ompio":        "^ompio",
		"^foo,ompio":    "^foo,ompio",
		"^foo":          "^ompio",
		"romio321":      "romio321",
		"romio321, foo": "romio321, foo",
	} {
		if got := withoutOMPIO(value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestSeverity(t *testing.T) {
	order := []int{0, 1, 75, 143, 4, 2, 3, 5, 6}
	for i := 1; i < len(order); i++ {
		if severity(order[i-1]) >= severity(order[i]) || codeKey(order[i-1]) >= codeKey(order[i]) {
			t.Errorf("%d is not less severe than %d", order[i-1], order[i])
		}
	}
}

func TestClasses(t *testing.T) {
	for c := Class(1); c < numClasses; c++ {
		if text := c.Error(); len(text) < 10 || strings.HasPrefix(text, "mpi: error class") {
			t.Errorf("class %d has the text %q", c, text)
		}
		e := errf("send", c, "why")
		if !errors.Is(e, c) || errors.Is(e, c+1) {
			t.Errorf("class %d does not match itself alone", c)
		}
	}
	if got := Class(1000).Error(); got != "mpi: error class 1000" {
		t.Error(got)
	}
	for _, k := range []struct {
		err  error
		want Class
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, ErrNotExist},
		{fmt.Errorf("x: %w", syscall.EEXIST), ErrExists},
		{syscall.EACCES, ErrPermission},
		{syscall.ENOSPC, ErrNoSpace},
		{syscall.EDQUOT, ErrNoSpace},
		{syscall.EROFS, ErrReadOnly},
		{syscall.EISDIR, ErrBadFile},
		{syscall.ENOTDIR, ErrBadFile},
		{io.ErrUnexpectedEOF, ErrShortRead},
		{context.DeadlineExceeded, ErrCancelled},
		{errors.New("x"), 0},
	} {
		if got := classOf(k.err); got != k.want {
			t.Errorf("%v: class %d, want %d", k.err, got, k.want)
		}
		if k.want != 0 {
			if err := fileError("write", "f", 5, k.err); !errors.Is(err, k.want) || !errors.Is(err, k.err) {
				t.Errorf("%v lost its class or cause", err)
			}
		}
	}
	if fileError("write", "f", 0, nil) != nil {
		t.Error("an error out of nothing")
	}
	err := fileError("write", "out.xtf", 4096, &fs.PathError{Op: "pwrite", Path: "out.xtf", Err: syscall.ENOSPC})
	if err.Error() != "mpi: write: out.xtf: offset 4096: no space left on device" {
		t.Error(err)
	}
}

// Sums of halves against big integers.
func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	edge := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 1 << 32, -1 << 32, 1<<32 - 1, 1 << 62}
	for range 20000 {
		n := 1 + rng.IntN(6)
		exact := new(big.Int)
		acc := make([]int64, 2)
		for range n {
			v := edge[rng.IntN(len(edge))]
			if rng.IntN(2) == 0 {
				v = int64(rng.Uint64())
			}
			exact.Add(exact, big.NewInt(v))
			combine(acc, splitSum([]int64{v}), Sum)
		}
		got := []int64{-7}
		ok := joinSum(got, acc)
		if ok != exact.IsInt64() || ok && got[0] != exact.Int64() || !ok && got[0] != -7 {
			t.Fatalf("got %d, %v for %v", got[0], ok, exact)
		}
	}
}

func TestAgreedEncoding(t *testing.T) {
	list := []error{errDamaged, errFull}
	long := strings.Repeat("ä", maxText)
	for _, err := range []error{errors.New(long), fmt.Errorf("x: %w", errFull), &exitError{75, fs.ErrExist}} {
		e := describe(3, err, list)
		got, derr := decodeAgreed(e.encode(list), list)
		if derr != nil || *got != *e || len(got.Text) > maxText+3 {
			t.Errorf("%.40v: got %.80v, %v", err, got, derr)
		}
	}
	if _, err := decodeAgreed(make([]byte, 15), nil); !errors.Is(err, ErrInternal) {
		t.Error(err)
	}
}

// FuzzDecodeAgreed: bytes from elsewhere must not panic.
func FuzzDecodeAgreed(f *testing.F) {
	list := []error{errDamaged, errFull}
	f.Add([]byte{})
	f.Add(describe(1, errFull, list).encode(list))
	f.Add(make([]byte, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeAgreed(b, list)
		if err == nil {
			_ = e.Error() + fmt.Sprint(e.Unwrap(), e.Code())
			if errors.Is(e, os.ErrClosed) {
				t.Error("an agreed error matches what was never listed")
			}
		}
	})
}

func TestInitWithoutMPI(t *testing.T) {
	if !strings.HasPrefix(LibraryVersion(), "no MPI") {
		t.Skip("this binary has MPI")
	}
	for _, n := range []string{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"} {
		t.Setenv(n, "")
	}
	w, err := Init()
	if err != nil {
		t.Fatal(err)
	}
	if code := w.Run(func(c Comm) int { return c.Size() + 74 }); code != 75 {
		t.Errorf("code %d", code)
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "2")
	if _, err := Init(); !errors.Is(err, ErrLaunch) {
		t.Errorf("got %v", err)
	}
}
