package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
)

// Programs whose threads wait for each other; times are milliseconds.
const (
	// Three threads want the critical section at 100: the first has it to 400, the second to
	// 700, the third to 900. So the third waits 600 for it, and the first, which is at the
	// barrier from 400 on, 500 there; the second 300 and 200.
	critical = `
-- definitions --
STRING self=0 string="!$omp critical @solver.c:50"
STRING self=1 string="!$omp critical sblock @solver.c:50"
REGION self=0 name=0 region_role=12 paradigm=3
REGION self=1 name=1 region_role=13 paradigm=3
-- program --
processes 1
threads 3
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER "!$omp parallel @solver.c:41"
0 100 ENTER "!$omp critical @solver.c:50"
0 100 ENTER "!$omp critical sblock @solver.c:50"
0 400 LEAVE "!$omp critical sblock @solver.c:50"
0 400 LEAVE "!$omp critical @solver.c:50"
0 400 ENTER "!$omp implicit barrier @solver.c:60"
0 900 LEAVE "!$omp implicit barrier @solver.c:60"
0 900 LEAVE "!$omp parallel @solver.c:41"
0 1000 LEAVE main
1 100 ENTER "!$omp parallel @solver.c:41"
1 100 ENTER "!$omp critical @solver.c:50"
1 400 ENTER "!$omp critical sblock @solver.c:50"
1 700 LEAVE "!$omp critical sblock @solver.c:50"
1 700 LEAVE "!$omp critical @solver.c:50"
1 700 ENTER "!$omp implicit barrier @solver.c:60"
1 900 LEAVE "!$omp implicit barrier @solver.c:60"
1 900 LEAVE "!$omp parallel @solver.c:41"
2 100 ENTER "!$omp parallel @solver.c:41"
2 100 ENTER "!$omp critical @solver.c:50"
2 700 ENTER "!$omp critical sblock @solver.c:50"
2 900 LEAVE "!$omp critical sblock @solver.c:50"
2 900 LEAVE "!$omp critical @solver.c:50"
2 900 ENTER "!$omp implicit barrier @solver.c:60"
2 900 LEAVE "!$omp implicit barrier @solver.c:60"
2 900 LEAVE "!$omp parallel @solver.c:41"
`
	// Of four threads the last one has nothing to do, and waits 800: as long as the region is.
	// The mean of all threads is a quarter of that.
	idleThread = `
-- program --
processes 1
threads 4
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER "!$omp parallel @solver.c:41"
0 900 ENTER "!$omp implicit barrier @solver.c:60"
0 900 LEAVE "!$omp implicit barrier @solver.c:60"
0 900 LEAVE "!$omp parallel @solver.c:41"
0 1000 LEAVE main
1 100 ENTER "!$omp parallel @solver.c:41"
1 900 LEAVE "!$omp parallel @solver.c:41"
2 100 ENTER "!$omp parallel @solver.c:41"
2 900 LEAVE "!$omp parallel @solver.c:41"
3 100 ENTER "!$omp parallel @solver.c:41"
3 100 ENTER "!$omp implicit barrier @solver.c:60"
3 900 LEAVE "!$omp implicit barrier @solver.c:60"
3 900 LEAVE "!$omp parallel @solver.c:41"
`
	// Of two threads one comes to the barrier 200 earlier, then the other.
	takingTurns = `
-- program --
processes 1
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER "!$omp parallel @solver.c:41"
0 300 ENTER "!$omp implicit barrier @solver.c:60"
0 500 LEAVE "!$omp implicit barrier @solver.c:60"
0 900 LEAVE "!$omp parallel @solver.c:41"
0 1000 LEAVE main
1 100 ENTER "!$omp parallel @solver.c:41"
1 700 ENTER "!$omp implicit barrier @solver.c:60"
1 900 LEAVE "!$omp implicit barrier @solver.c:60"
1 900 LEAVE "!$omp parallel @solver.c:41"
`
	// The second thread of process 1 waits for a mutex from 200 to 500, in two calls one
	// inside of the other, and from 600 to 650; what it waits inside of MPI is time of MPI. Its
	// other thread has the mutex meanwhile, in update.
	mutex = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 1000 LEAVE main
1 0 ENTER work
1 1000 LEAVE work
2 0 ENTER main
2 150 ENTER update
2 500 LEAVE update
2 1000 LEAVE main
3 0 ENTER work
3 200 ENTER "void std::mutex::lock()"
3 200 ENTER pthread_mutex_lock
3 500 LEAVE pthread_mutex_lock
3 500 LEAVE "void std::mutex::lock()"
3 600 ENTER pthread_mutex_lock
3 650 LEAVE pthread_mutex_lock
3 700 ENTER MPI_Iprobe
3 700 ENTER pthread_mutex_lock
3 900 LEAVE pthread_mutex_lock
3 900 LEAVE MPI_Iprobe
3 1000 LEAVE work
`
	// The third thread waits for a mutex from 200 to 500; one of the others has it, and the trace
	// does not say which.
	crowd = `
-- program --
processes 1
threads 3
resolution 1000
-- events --
0 0 ENTER main
0 1000 LEAVE main
1 0 ENTER work
1 1000 LEAVE work
2 0 ENTER work
2 200 ENTER pthread_mutex_lock
2 500 LEAVE pthread_mutex_lock
2 1000 LEAVE work
`
	// The second thread of process 0 waits in MPI from 100 to 700, the first one for it at the barrier from 200 to 800. Only 20 of that are
	// work that is dealt out unevenly, and 250 of process 1, whose second thread sends late. The first thread of process 0 waits for
	// messages too, 100, and so the second one has 500 more.
	behind = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER "!$omp parallel @solver.c:41"
0 100 ENTER MPI_Recv
0 200 MPI_RECV 1 MPI_COMM_WORLD 1 8
0 200 LEAVE MPI_Recv
0 280 ENTER "!$omp implicit barrier @solver.c:60"
0 800 LEAVE "!$omp implicit barrier @solver.c:60"
0 800 LEAVE "!$omp parallel @solver.c:41"
0 1000 LEAVE main
1 100 ENTER "!$omp parallel @solver.c:41"
1 100 ENTER MPI_Recv
1 700 MPI_RECV 1 MPI_COMM_WORLD 2 8
1 700 LEAVE MPI_Recv
1 800 LEAVE "!$omp parallel @solver.c:41"
2 0 ENTER main
2 100 ENTER "!$omp parallel @solver.c:41"
2 200 ENTER MPI_Send
2 200 MPI_SEND 0 MPI_COMM_WORLD 1 8
2 200 LEAVE MPI_Send
2 450 ENTER "!$omp implicit barrier @solver.c:60"
2 700 LEAVE "!$omp implicit barrier @solver.c:60"
2 700 LEAVE "!$omp parallel @solver.c:41"
2 1000 LEAVE main
3 100 ENTER "!$omp parallel @solver.c:41"
3 700 ENTER MPI_Send
3 700 MPI_SEND 0 MPI_COMM_WORLD 2 8
3 700 LEAVE MPI_Send
3 700 LEAVE "!$omp parallel @solver.c:41"
`
	// The first thread waits 400 in MPI, and works 400 in a parallel region, of which the second one waits 300.
	outside = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER MPI_Recv
0 500 MPI_RECV 1 MPI_COMM_WORLD 1 8
0 500 LEAVE MPI_Recv
0 500 ENTER "!$omp parallel @solver.c:41"
0 900 LEAVE "!$omp parallel @solver.c:41"
0 1000 LEAVE main
1 500 ENTER "!$omp parallel @solver.c:41"
1 600 ENTER "!$omp implicit barrier @solver.c:60"
1 900 LEAVE "!$omp implicit barrier @solver.c:60"
1 900 LEAVE "!$omp parallel @solver.c:41"
2 0 ENTER main
2 500 ENTER MPI_Send
2 500 MPI_SEND 0 MPI_COMM_WORLD 1 8
2 500 LEAVE MPI_Send
2 1000 LEAVE main
`
	// A thread that waits for work, and one that waits for the end of the other. Nobody does anything meanwhile: of what
	// they do else, 400, one of two threads could take half from the other.
	pool = `
-- program --
processes 1
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER pthread_join
0 900 LEAVE pthread_join
0 1000 LEAVE main
1 0 ENTER worker
1 100 ENTER pthread_cond_wait
1 900 LEAVE pthread_cond_wait
1 1000 LEAVE worker
`
	// A thread waits for work for 700, while the other one computes: each could have half of that.
	workless = `
-- program --
processes 1
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER produce
0 900 LEAVE produce
0 1000 LEAVE main
1 0 ENTER worker
1 100 ENTER pthread_cond_wait
1 200 LEAVE pthread_cond_wait
1 300 ENTER pthread_cond_wait
1 900 LEAVE pthread_cond_wait
1 1000 LEAVE worker
`
)

// TestThreadFindings compares what threads wait for each other with the sums above.
func TestThreadFindings(t *testing.T) {
	t.Parallel()
	type finding struct {
		Kind  string
		Ticks uint64
		Where struct {
			Path      []string
			Processes []uint32
			Thread    *uint32
		}
		Evidence string
	}
	type answer struct {
		Findings []finding
		Waits    struct {
			Threads []struct {
				Process, Thread uint32
				Lock            uint64 `json:"lock_wait"`
				Wait            uint64 `json:"thread_wait"`
			}
		}
	}
	for _, x := range []struct {
		name, trace     string
		kind            string
		ticks           uint64
		process, thread uint32
		path            string
		evidence        []string
		threads         [][4]uint64 // process, thread, lock, wait
	}{
		{
			"critical section", critical, "lock_wait", 600, 0, 2, "!$omp parallel @solver.c:41 > !$omp critical @solver.c:50",
			[]string{"all threads together 0.900 s", "longest wait is from 0.100000 to 0.700000 s", "half way only thread 1 of the others did not wait: it was in !$omp parallel @solver.c:41 > !$omp critical @solver.c:50 > !$omp critical sblock @solver.c:50"},
			[][4]uint64{{0, 2, 600, 0}, {0, 0, 0, 500}, {0, 1, 300, 200}},
		},
		{"critical section, barrier", critical, "thread_imbalance", 700 / 3, 0, 0, "main > !$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60", []string{"thread 2 least, 0.000 s"}, nil},
		{
			"a thread without work", idleThread, "thread_imbalance", 800 / 4, 0, 3, "!$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60",
			[]string{"thread 3 waits longest"},
			[][4]uint64{{0, 3, 0, 800}},
		},
		{
			"in turn", takingTurns, "thread_imbalance", 200, 0, 0, "main > !$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60",
			[]string{"all threads wait nearly as long, most of it in !$omp implicit barrier @solver.c:60, none less than 0.200 s"},
			nil,
		},
		{
			"mutex", mutex, "lock_wait", 350, 1, 1, "work > void std::mutex::lock() > pthread_mutex_lock",
			[]string{"all threads together 0.350 s", "longest wait is from 0.200000 to 0.500000 s, and half way only thread 0 of the others did not wait: it was in main > update"},
			[][4]uint64{{1, 1, 350, 0}},
		},
		{"crowd", crowd, "lock_wait", 300, 0, 2, "work > pthread_mutex_lock", []string{"0.500000 s, and half way 2 of the other threads did not wait"}, [][4]uint64{{0, 2, 300, 0}}},
		{"behind messages", behind, "thread_imbalance", 250 / 2, 1, 0, "main > !$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60", []string{"thread 0 waits longest"}, nil},
		{"behind messages alone", strings.ReplaceAll(behind, "2 450 ENTER \"!$omp implicit", "2 698 ENTER \"!$omp implicit"), "thread_imbalance", 20 / 2, 0, 0, "main > !$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60", []string{"thread 1 waits in MPI 0.500 longer, which is not a part of this"}, nil},
		{"messages outside", outside, "thread_imbalance", 300 / 2, 0, 1, "!$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60", []string{"thread 1 waits longest"}, nil},
		{"next to a thread of MPI", strings.NewReplacer("threads 2", "threads 3", "\n2 ", "\n3 ").Replace(outside) + "2 0 ENTER progress\n2 1000 LEAVE progress\n", "thread_imbalance", 300 / 2, 0, 1, "!$omp parallel @solver.c:41 > !$omp implicit barrier @solver.c:60", []string{"thread 1 waits longest"}, nil},
		{"pool", pool, "thread_wait", 200, 0, 0, "main > pthread_join", []string{"all threads of the process together 1.600; its longest wait is from 0.100000 to 0.900000 s, and half way 0 of the other threads did not wait"}, [][4]uint64{{0, 0, 0, 800}, {0, 1, 0, 800}}},
		{"no work", workless, "thread_wait", 350, 0, 1, "worker > pthread_cond_wait", []string{"thread 1 waits longest, 0.700 of 1.000 s, most of it in pthread_cond_wait", "half way only thread 0 of the others did not wait: it was in main > produce; whether"}, [][4]uint64{{0, 1, 0, 700}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			run := foundTrace(t, x.trace)
			doc := jsonOf[answer](t, "report", run, "summary", "waits")
			graph := jsonOf[answer](t, "report", foundTrace(t, x.trace, func(o *analyze.Options) { o.GraphOnly = true }))
			found := false
			for _, f := range doc.Findings {
				same := func(g finding) bool {
					return g.Kind == f.Kind && g.Ticks == f.Ticks && slices.Equal(g.Where.Path, f.Where.Path)
				}
				if f.Kind == x.kind && !strings.HasPrefix(x.name, "behind") && !slices.ContainsFunc(graph.Findings, same) { // it has no waits
					t.Errorf("%+v is not in %+v of the call graph", f, graph.Findings)
				}
				if x.kind == "" && (f.Kind == "lock_wait" || f.Kind == "thread_imbalance") {
					t.Errorf("%+v", f)
				}
				if f.Kind != x.kind {
					continue
				}
				found = true
				if f.Ticks != x.ticks || !slices.Equal(f.Where.Processes, []uint32{x.process}) || f.Where.Thread == nil || *f.Where.Thread != x.thread || strings.Join(f.Where.Path, " > ") != x.path {
					t.Errorf("%+v, want %d ticks of process %d, thread %d in %s", f, x.ticks, x.process, x.thread, x.path)
				}
				for _, want := range x.evidence {
					if !strings.Contains(f.Evidence, want) {
						t.Errorf("no %q in %q", want, f.Evidence)
					}
				}
			}
			if found != (x.kind != "") {
				t.Errorf("%s: %+v", x.kind, doc.Findings)
			}
			var got [][4]uint64
			for _, w := range doc.Waits.Threads {
				got = append(got, [4]uint64{uint64(w.Process), uint64(w.Thread), w.Lock, w.Wait})
			}
			if x.threads != nil && !slices.Equal(got, x.threads) {
				t.Errorf("threads %v, want %v", got, x.threads)
			}
			if code, out, errs := call("check", run); code != 0 {
				t.Errorf("check has exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

// TestLockWaitsOfParaver: the waits of a real program, as a script of awk adds up the lines of its trace
// from the event with which a thread asks for a lock (type 60000006 to 60000009 or 60000033, value 3)
// to that with which it has it (6).
func TestLockWaitsOfParaver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sharedTraces(t), "..", "paraver", "omp2.prv.gz")
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", path, "-o", run, "-q")
	type answer struct {
		Waits struct {
			Threads []struct {
				Lock uint64 `json:"lock_wait"`
			}
		}
	}
	got := jsonOf[answer](t, "report", run, "waits").Waits.Threads
	if len(got) != 2 || got[0].Lock != 36064057 || got[1].Lock != 9037791 {
		t.Errorf("%+v", got)
	}
}

// TestLockWaitOfProcess: the first thread of process 0 waits 50 ms of its first 100 for a lock that its other thread has;
// process 1 computes 50 ms, and waits for it in the barrier to 105. Nobody has more to compute: so the load balance is 1, the
// efficiency (50 + 50) / (105 + 105), and what holds up the other process is the wait for the lock. In a critical section with a body
// the first thread works its last 10 ms there.
func TestLockWaitOfProcess(t *testing.T) {
	t.Parallel()
	const mutex = `
0 40 ENTER %[1]s
0 90 LEAVE %[1]s
1 40 ENTER update
1 90 LEAVE update
`
	const section = `
0 40 ENTER %[1]s
0 90 ENTER "!$omp critical sblock @solver.c:50"
0 100 LEAVE "!$omp critical sblock @solver.c:50"
0 100 LEAVE %[1]s
1 40 ENTER %[1]s
1 40 ENTER "!$omp critical sblock @solver.c:50"
1 90 LEAVE "!$omp critical sblock @solver.c:50"
1 90 LEAVE %[1]s
`
	definitions, _, _ := strings.Cut(critical, "-- program --")
	for name, lines := range map[string]string{
		"pthread_mutex_lock": mutex, "omp_set_lock": mutex, "GOMP_critical_start": mutex, `"!$omp critical @solver.c:50"`: section,
	} {
		t.Run(name, func(t *testing.T) {
			run := foundTrace(t, definitions+"-- program --\nprocesses 2\nthreads 2\nresolution 1000\n-- events --\n0 0 ENTER main\n2 0 ENTER main"+fmt.Sprintf(lines, name)+`
0 100 ENTER MPI_Barrier
0 100 MPI_COLLECTIVE_BEGIN
0 105 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 105 LEAVE MPI_Barrier
0 105 LEAVE main
2 50 ENTER MPI_Barrier
2 50 MPI_COLLECTIVE_BEGIN
2 105 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 105 LEAVE MPI_Barrier
2 105 LEAVE main
`, func(o *analyze.Options) { o.Intervals.Slice = "35ms" })
			doc := jsonOf[struct {
				intervalsJSON
				Summary struct {
					POP struct {
						Process     float64
						LoadBalance float64 `json:"load_balance"`
					}
				}
				Findings []finding
			}](t, "report", run, "summary", "intervals", "waits")
			if p := doc.Summary.POP; p.LoadBalance != 1 || p.Process != 0.476190476190476191 {
				t.Errorf("%+v", p)
			}
			var sums []uint64 // of the run and of slices to 35, 70, 105
			for _, x := range doc.Intervals.Nodes {
				sums = append(sums, x.Stats["cpu"].Sum, x.Stats["lock_wait"].Sum)
			}
			if fmt.Sprint(sums) != "[100 50 70 0 20 30 10 20]" {
				t.Errorf("CPU and lock waits are %v", sums)
			}
			span := jsonOf[intervalsJSON](t, "report", run, "intervals", "--time", "#60..#95").Intervals.Nodes[0]
			if got := span.Stats["lock_wait"].Sum; got != 30 {
				t.Errorf("%d of a span", got)
			}
			kinds := ""
			for _, x := range doc.Findings {
				kinds += x.Kind + " "
				if x.Kind == "barrier_wait" && (x.Cause == nil || x.Cause.Activity != "lock_wait" || x.Cause.Process != 0) {
					t.Errorf("%+v", x)
				}
			}
			if kinds != "barrier_wait lock_wait transfer " {
				t.Errorf("findings %s", kinds)
			}
			if code, out, errs := call("check", run); code != 0 {
				t.Errorf("check has exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

// TestDealing: two threads are for 300 and 500 ticks in a function of the runtime that deals out iterations.
func TestDealing(t *testing.T) {
	t.Parallel()
	file := foundTrace(t, `
-- program --
processes 1
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER __kmpc_dispatch_next_4
0 100 ENTER inner
0 400 LEAVE inner
0 400 LEAVE __kmpc_dispatch_next_4
0 1000 LEAVE main
1 0 ENTER work
1 100 ENTER __kmpc_dispatch_next_4
1 600 LEAVE __kmpc_dispatch_next_4
1 1000 LEAVE work
`, func(o *analyze.Options) {
		d := o.Source.Definitions()
		ref := uint32(len(d.Strings))
		d.Strings = append(d.Strings, trace.String{Ref: ref, Value: trace.DescribeFunction("/usr/lib/libomp.so.5")})
		for i := range d.Regions {
			if x := &d.Regions[i]; strings.HasPrefix(d.Text(x.Name), "__kmpc") {
				x.Description, x.Paradigm = ref, trace.ParadigmCompiler
			}
		}
		d.Seal()
	})
	f := jsonOf[foundIn](t, "report", file).Findings[0]
	if f.Kind != "overhead" || f.Ticks != 400 || !strings.HasPrefix(f.Advice, "deal out more iterations at once") ||
		f.Text != "dealing out iterations of parallel loops: up to 0.400 s of the run (40.0 %), most of it in __kmpc_dispatch_next_4; all processes together 0.800 s" {
		t.Errorf("%+v", f)
	}
}
