package analyze_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// withStreams makes all threads of each process from the hosts on streams of a device.
func withStreams(t *testing.T, text string, threads, hosts int) trace.Source {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	for i := range d.Locations {
		if i%threads >= hosts {
			d.Locations[i].Type = trace.AcceleratorStream
		}
	}
	tracetest.NameDeviceRegions(d)
	d.Seal()
	return src
}

// TestDevicePath: process 0 launches two kernels, from 10 and from 20 on, that run one after the other from 15 to 55 and from 60 to 90, and
// waits for them from 40 to 95. Then it copies what they made, from 95 to 110, of which a one-sided operation of the stream takes 100 to
// 108, and comes to the barrier at 110. Process 1 waits for it there from 30 on, 80 ticks.
//
// From 0 to 110 process 0 is in own code for 10 + 1 + 14 ticks, in launches for 15 and in the copy call for 7, waits for kernels for 15 + 30 and for
// the transfer for 8; the rest of its wait for the device is 5 from 55 to 60, when the second kernel was in the queue, and 5 from 90 to 95.
// Process 1 is in own code for 30. So process 0 has more of device calls, 22, of the device wait, 10, of kernels, 45, and of the transfer, 8: of
// these 85 each has 80 / 85 of the wait, which is 20.7, 9.4, 42.4 and 7.5.
//
// The path comes from the barrier to the copy of process 0, over the transfer to its call, over the end of the second kernel to the stream, and
// by the queue to the first one, which began after its launch at 10.
func TestDevicePath(t *testing.T) {
	const program = `
-- program --
processes 2
threads 2
-- events --
0 0 ENTER main
0 10 ENTER hipLaunchKernel
0 19 LEAVE hipLaunchKernel
0 20 ENTER hipLaunchKernel
0 26 LEAVE hipLaunchKernel
0 40 ENTER hipStreamSynchronize
0 95 LEAVE hipStreamSynchronize
0 95 ENTER hipMemcpy
0 110 LEAVE hipMemcpy
0 110 ENTER MPI_Barrier
0 110 MPI_COLLECTIVE_BEGIN
0 112 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 112 LEAVE MPI_Barrier
0 120 LEAVE main
1 15 ENTER a_kernel
1 55 LEAVE a_kernel
1 60 ENTER b_kernel
1 90 LEAVE b_kernel
1 100 RMA_PUT 0 0 4096 5
1 108 RMA_OP_COMPLETE_BLOCKING 0 5
2 0 ENTER main
2 30 ENTER MPI_Barrier
2 30 MPI_COLLECTIVE_BEGIN
2 112 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 112 LEAVE MPI_Barrier
2 120 LEAVE main
3 0 ENTER c_kernel
3 1 LEAVE c_kernel
`
	var first []byte
	for _, ranks := range []int{1, 2, 3, 7} {
		src := withStreams(t, program, 2, 1)
		o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
		analyzed(t, ranks, o)
		b, err := os.ReadFile(o.Output)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		} else if !bytes.Equal(b, first) {
			t.Errorf("%d ranks write another file", ranks)
		}
		f := openFile(t, o.Output)
		if got, want := pathText(t, f, src), "0: 0-10 cpu, 10-15 device_call, 90-95 device_wait, 95-100 device_call, 108-110 device_call, 110-112 mpi, 112-120 cpu; "+
			"1: 15-55 kernel, 55-60 device_idle, 60-90 kernel, 100-108 transfer; 2: ; 3: ; "; got != want {
			t.Errorf("critical path\n%s, want\n%s", got, want)
		}
		if got, want := delayText(t, f, src), "0 wait_barrier device_call 21+0, 0 wait_barrier device_wait 9+0, 0 wait_barrier kernel 42+0, 0 wait_barrier transfer 8+0"; got != want {
			t.Errorf("delay costs\n%s, want\n%s", got, want)
		}
	}
}

// TestKernelsNextToEachOther: process 0 waits from 30 to 100 for a kernel from 20 to 90 and for one of another stream from 40 to 60, which is over before. Process 1
// waits for it in the barrier from 0 to 100. Up to then process 0 is in own code for 10, in launches for 20, in the first kernel for 60 and in the wait for 10: of
// 100 each has all, and the second kernel has nothing.
func TestKernelsNextToEachOther(t *testing.T) {
	src := withStreams(t, `
-- program --
processes 2
threads 3
-- events --
0 0 ENTER main
0 10 ENTER hipLaunchKernel
0 20 LEAVE hipLaunchKernel
0 20 ENTER hipLaunchKernel
0 30 LEAVE hipLaunchKernel
0 30 ENTER hipDeviceSynchronize
0 100 LEAVE hipDeviceSynchronize
0 100 ENTER MPI_Barrier
0 100 MPI_COLLECTIVE_BEGIN
0 101 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 101 LEAVE MPI_Barrier
0 101 LEAVE main
1 20 ENTER a_kernel
1 90 LEAVE a_kernel
2 40 ENTER b_kernel
2 60 LEAVE b_kernel
3 0 ENTER main
3 0 ENTER MPI_Barrier
3 0 MPI_COLLECTIVE_BEGIN
3 101 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
3 101 LEAVE MPI_Barrier
3 101 LEAVE main
`, 3, 1)
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf")}
	analyzed(t, 2, o)
	if got, want := delayText(t, openFile(t, o.Output), src), "0 wait_barrier cpu 10+0, 0 wait_barrier device_call 20+0, 0 wait_barrier device_wait 10+0, 0 wait_barrier kernel 60+0"; got != want {
		t.Errorf("delay costs\n%s, want\n%s", got, want)
	}
}

// TestLateKernels: thread 0 waits from 30 to 70 for the kernel from 40 to 60, which thread 1 launched at 35, and from 100 to 150 for the second of two
// kernels that it launched before, which came after the first one. Then it waits from 200 to 220 for one that it launched itself, and in a copy
// from 230 on until the device has copied; not in one that returns before.
func TestLateKernels(t *testing.T) {
	src := withStreams(t, `
-- program --
processes 1
threads 3
-- events --
0 0 ENTER main
0 30 ENTER hipDeviceSynchronize
0 70 LEAVE hipDeviceSynchronize
0 80 ENTER hipLaunchKernel
0 82 LEAVE hipLaunchKernel
0 90 ENTER hipLaunchKernel
0 91 LEAVE hipLaunchKernel
0 100 ENTER hipStreamSynchronize
0 150 LEAVE hipStreamSynchronize
0 170 ENTER hipLaunchKernel
0 171 LEAVE hipLaunchKernel
0 200 ENTER hipEventSynchronize
0 220 LEAVE hipEventSynchronize
0 221 ENTER hipMemcpyAsync
0 224 LEAVE hipMemcpyAsync
0 230 ENTER hipMemcpy
0 246 LEAVE hipMemcpy
0 250 LEAVE main
1 0 ENTER main
1 35 ENTER hipLaunchKernel
1 36 LEAVE hipLaunchKernel
1 250 LEAVE main
2 40 ENTER a_kernel
2 60 LEAVE a_kernel
2 85 ENTER a_kernel
2 120 LEAVE a_kernel
2 121 ENTER b_kernel
2 149 LEAVE b_kernel
2 180 ENTER b_kernel
2 215 LEAVE b_kernel
2 222 ENTER copy
2 223 LEAVE copy
2 232 ENTER copy
2 245 LEAVE copy
`, 3, 2)
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf")}
	analyzed(t, 2, o)
	got := ""
	if err := xtf.Each(openFile(t, o.Output), 0, func(_ uint64, w *xtf.Wait) error {
		got += fmt.Sprintf("%d-%d %#x of %d, row %d; ", w.T, w.End, w.Pattern, w.CauseP, w.RecN)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "30-60 0x2000d of 2, row 0; 100-149 0x1000d of 2, row 2; 200-215 0xd of 2, row 3; 230-245 0xd of 2, row 5; "; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestRandomDevicePaths compares causes of random programs, of two threads and two streams for each process, with the slow computation.
func TestRandomDevicePaths(t *testing.T) {
	const threads = 4
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 24))
		processes := 1 + r.IntN(3)
		var text strings.Builder
		fmt.Fprintf(&text, "-- program --\nprocesses %d\nthreads %d\n-- events --\n", processes, threads)
		var lines [3 * threads][]string
		add := func(l, at int, what string) { lines[l] = append(lines[l], fmt.Sprintf("%d %d %s", l, at, what)) }
		var at [3 * threads]int
		type did struct {
			l, begin, end int
			name          string
		}
		var all []did
		call := func(l int, name string, took int) {
			all = append(all, did{l, at[l], at[l] + took, name})
			add(l, at[l], "ENTER "+name)
			at[l] += took
			add(l, at[l], "LEAVE "+name)
		}
		for l := range processes * threads {
			if l%threads < 2 {
				add(l, 0, "ENTER main")
			}
		}
		for range 1 + r.IntN(4) {
			last := 0
			for p := range processes {
				for l := p * threads; l < (p+1)*threads; l++ {
					names := []string{"hipLaunchKernel", "hipDeviceSynchronize", "hipMemcpy", "hipMemcpyAsync", "hipMalloc", "solve"}
					if l%threads >= 2 {
						names = []string{"a_kernel", "b_kernel", "copy", "own_code"}
					}
					for range r.IntN(6) {
						at[l] += r.IntN(8)
						name, took := names[r.IntN(len(names))], r.IntN(20)
						if l%threads >= 2 && r.IntN(3) == 0 { // calls in calls of a stream are part of these
							inside := r.IntN(took + 1)
							add(l, at[l], "ENTER "+name)
							all = append(all, did{l, at[l], at[l] + took, name})
							add(l, at[l]+inside/2, "ENTER own_code")
							add(l, at[l]+inside, "LEAVE own_code")
							at[l] += took
							add(l, at[l], "LEAVE "+name)
							continue
						}
						call(l, name, took)
					}
				}
				last = max(last, at[p*threads])
			}
			for p := range processes {
				l := p * threads
				add(l, at[l], "ENTER MPI_Barrier")
				add(l, at[l], "MPI_COLLECTIVE_BEGIN")
				at[l] = last + 1
				add(l, at[l], "MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0")
				add(l, at[l], "LEAVE MPI_Barrier")
			}
		}
		for l := range processes * threads {
			if l%threads < 2 {
				add(l, at[l]+r.IntN(5), "LEAVE main")
			}
			text.WriteString(strings.Join(append(lines[l], ""), "\n"))
		}
		src := withStreams(t, text.String(), threads, 2)
		want, err := oracle.Analyze(src, oracle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for _, ranks := range []int{1, 3} {
			o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
			analyzed(t, ranks, o)
			compareCauses(t, o.Output, src, want)
			rows := map[[4]int]int{} // location, begin, end, process of the cause
			for _, x := range all {
				if x.name != "hipDeviceSynchronize" && x.name != "hipMemcpy" {
					continue
				}
				last := x.begin
				for _, k := range all {
					if k.l/threads == x.l/threads && k.l%threads >= 2 && (k.name == "copy" || x.name != "hipMemcpy") && k.begin < k.end && k.end <= x.end {
						last = max(last, k.end)
					}
				}
				if last > x.begin {
					rows[[4]int{x.l, x.begin, last, x.l / threads}]++
				}
			}
			f := openFile(t, o.Output)
			for p := range xtf.Proc(f.Procs()) {
				if err := xtf.Each(f, p, func(_ uint64, w *xtf.Wait) error {
					if xtf.PatternItem(w.Pattern) == xtf.ItemLateKernel {
						rows[[4]int{int(p), int(w.T), int(w.End), int(w.CauseP) / threads}]--
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			for at, n := range rows {
				if n != 0 {
					t.Errorf("%d waits of %v too few", n, at)
				}
			}
			b, err := os.ReadFile(o.Output)
			if err != nil {
				t.Fatal(err)
			}
			if first != nil && !bytes.Equal(b, first) {
				t.Errorf("%d ranks write another file", ranks)
			}
			first = b
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text.String())
		}
	}
}
