package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/google/go-cmp/cmp"
)

// untoldProgram has records that no analysis reads: process p takes p+1 locks of a file, process 1 forks a team.
const untoldProgram = `-- program --
processes 3
-- events --
0 1 ENTER MPI_Win_fence
0 2 LEAVE MPI_Win_fence
0 3 IO_ACQUIRE_LOCK 0 EXCLUSIVE
0 4 IO_RELEASE_LOCK 0 EXCLUSIVE
0 9 ENTER MPI_Ibarrier
0 10 LEAVE MPI_Ibarrier
1 1 ENTER MPI_Win_fence
1 2 LEAVE MPI_Win_fence
1 3 IO_ACQUIRE_LOCK 0 EXCLUSIVE
1 4 IO_RELEASE_LOCK 0 EXCLUSIVE
1 5 IO_ACQUIRE_LOCK 0 EXCLUSIVE
1 6 IO_RELEASE_LOCK 0 EXCLUSIVE
1 7 THREAD_FORK OPENMP 4
2 1 ENTER MPI_Win_fence
2 2 LEAVE MPI_Win_fence
2 3 IO_ACQUIRE_LOCK 0 EXCLUSIVE
2 4 IO_RELEASE_LOCK 0 EXCLUSIVE
2 5 IO_ACQUIRE_LOCK 0 EXCLUSIVE
2 6 IO_RELEASE_LOCK 0 EXCLUSIVE
2 7 IO_ACQUIRE_LOCK 0 EXCLUSIVE
2 8 IO_RELEASE_LOCK 0 EXCLUSIVE
`

// TestUntold: what nobody reads is counted for each kind, and what is missing is said, in every form and for any number of
// ranks; what is not missing is not.
func TestUntold(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(untoldProgram)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(filepath.Join(dir, "archive"), "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	var first []byte
	for _, ranks := range []int{1, 3} {
		run := filepath.Join(dir, fmt.Sprintf("run%d.xtf", ranks))
		must(t, "analyze", filepath.Join(dir, "archive", "traces.otf2"), "-o", run, "-q", "-j", fmt.Sprint(ranks))
		b, err := os.ReadFile(run)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(first, b) {
			t.Errorf("%d ranks write another file than 1", ranks)
		}
	}
	run := filepath.Join(dir, "run1.xtf")
	doc := jsonOf[struct {
		Untold findings.Untold `json:"cannot_tell"`
	}](t, "report", run)
	want := []findings.UnreadRecords{{ // 1 + 2 + 3 locks of two records each
		Kinds: []findings.UnreadKind{{Kind: "IoAcquireLock", Count: 6, Locations: 3}, {Kind: "IoReleaseLock", Count: 6, Locations: 3}},
		Count: 12, Text: "waits for locks of files are not analysed",
	}, {
		Kinds: []findings.UnreadKind{{Kind: "ThreadFork", Count: 1, Locations: 1}},
		Count: 1, Text: "which threads form a team is not analysed; parallel regions are, by their calls",
	}}
	if diff := cmp.Diff(want, doc.Untold.Records); diff != "" {
		t.Error(diff)
	}
	var missing []string
	for _, m := range doc.Untold.Missing {
		missing = append(missing, m.What)
	}
	if diff := cmp.Diff([]string{"functions", "threads", "records of calls", "counters", "processors"}, missing); diff != "" {
		t.Error(diff)
	}
	for _, args := range [][]string{{"report", run}, {"report", run, "untold"}, {"report", run, "--format", "html", "-o", "-"}} {
		text := must(t, args...)
		for _, want := range []string{"What this trace cannot tell", "no functions but MPI", "12 IoAcquireLock, IoReleaseLock records: waits for locks"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: not in it: %s", args[1:], want)
			}
		}
	}
	if text := must(t, "report", run, "diagnostics"); !strings.Contains(text, "6 IoAcquireLock records in 3 locations: waits for locks") || strings.Contains(text, "the first 3") {
		t.Errorf("section diagnostics:\n%s", text)
	}
}

// TestUntoldFunctions: who has sampled and got no sample is not told to sample.
func TestUntoldFunctions(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\n-- events --\n" + meeting(0, 10, 20) + meeting(1, 20, 20)
	for sampled, want := range []string{"tells them", "no sample came in it; a longer run, or samples at shorter times, may tell its functions"} {
		file := foundTrace(t, text, func(o *analyze.Options) {
			if d := o.Source.Definitions(); sampled > 0 {
				d.InterruptGenerators = []trace.InterruptGenerator{{Base: 1, Exponent: -9, Period: 1e6}}
				d.Seal()
			}
		})
		if text := must(t, "report", file, "untold"); !strings.Contains(text, "no functions but MPI: own code is one block, ") || !strings.Contains(text, want) || strings.Contains(text, "--sample") != (sampled == 0) {
			t.Error(text)
		}
	}
}

// TestUntoldReceives: the receives of two messages of three do not complete, as in traces of writers that leave out what MPI_Waitall completes.
func TestUntoldReceives(t *testing.T) {
	t.Parallel()
	text := "0 10 ENTER MPI_Irecv\n0 10 MPI_IRECV_REQUEST 1\n0 11 MPI_IRECV_REQUEST 2\n0 12 LEAVE MPI_Irecv\n0 20 ENTER MPI_Waitall\n0 500 LEAVE MPI_Waitall\n0 510 ENTER MPI_Recv\n"
	for i, left := range []string{"2 of 3 messages have no receive in the trace", ""} {
		late := ""
		for k := range 3 {
			late += fmt.Sprintf("1 %[1]d ENTER MPI_Send\n1 %[1]d MPI_SEND 0 MPI_COMM_WORLD %[2]d 8\n1 %[1]d LEAVE MPI_Send\n", 400+10*k, k)
		}
		ends := "0 520 MPI_RECV 1 MPI_COMM_WORLD 2 8\n"
		if i > 0 {
			ends = "0 520 MPI_IRECV 1 MPI_COMM_WORLD 0 8 1\n0 520 MPI_IRECV 1 MPI_COMM_WORLD 1 8 2\n" + ends
		}
		got := must(t, "report", foundTrace(t, program(2, text+ends+"0 520 LEAVE MPI_Recv\n"+late)), "untold")
		if strings.Contains(got, "messages have no receive in the trace") != (i == 0) || !strings.Contains(got, left) {
			t.Error(got)
		}
	}
}

// TestUntoldThreads: threads without parallel regions are in no efficiency. Nothing is recorded of the first thread of process 0, so that
// its time is not computation that anybody saw.
func TestUntoldThreads(t *testing.T) {
	t.Parallel()
	const others = "-- program --\nprocesses 2\nthreads 2\n-- events --\n1 10 ENTER step\n1 90 LEAVE step\n3 10 ENTER step\n3 90 LEAVE step\n2 0 ENTER main\n"
	for _, x := range []struct {
		text string
		want []string
	}{
		{others + "2 100 LEAVE main\n", []string{"other threads", "first threads"}},
		{others + "2 100 LEAVE main\n0 0 ENTER main\n0 100 LEAVE main\n", []string{"other threads"}},
	} {
		var missing []string
		for _, m := range jsonOf[struct {
			Untold findings.Untold `json:"cannot_tell"`
		}](t, "report", foundTrace(t, x.text)).Untold.Missing {
			if strings.HasSuffix(m.What, "threads") {
				missing = append(missing, m.What)
			}
			if m.What == "first threads" && !strings.HasPrefix(m.Text, "nothing is recorded of the first thread of rank 0:") {
				t.Error(m.Text)
			}
		}
		if diff := cmp.Diff(x.want, missing); diff != "" {
			t.Errorf("%s: %s", x.text, diff)
		}
	}
}

// TestUntoldSynthetic: the archive of the collection has each kind of record twice, so all that nobody reads are in it, with
// count 2.
func TestUntoldSynthetic(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", filepath.Join(sharedTraces(t), "synthetic-all-events"), "-o", run, "-q")
	doc := jsonOf[struct {
		Untold findings.Untold `json:"cannot_tell"`
	}](t, "report", run)
	got := map[string]uint64{}
	for _, x := range doc.Untold.Records {
		for _, k := range x.Kinds {
			got[k.Kind] = k.Count
		}
	}
	want := map[string]uint64{}
	for i := range 256 {
		if k := trace.Kind(i); k.Known() && k.Info().Untold != "" {
			want[k.String()] = 2
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoMessages: a run without messages has an empty matrix, not none. Each of its two collectives names a communicator
// that nobody defined.
func TestNoMessages(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(`-- program --
processes 1
-- events --
0 0 ENTER main
0 4 ENTER MPI_Barrier
0 4 MPI_COLLECTIVE_BEGIN
0 4 MPI_COLLECTIVE_END BARRIER 9 none 0 0
0 5 MPI_COLLECTIVE_END BARRIER 9 none 0 0
0 5 LEAVE MPI_Barrier
0 6 LEAVE main
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	archive, run := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "run.xtf")
	if code, _, errs := call("analyze", archive, "-o", run, "-q"); code != jobs.ExitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, from := range []string{"rows", "graph"} {
		if text := must(t, "report", run, "comm", "--source", from, "--format", "json"); strings.Contains(text, `"matrix": null`) || !strings.Contains(text, `"matrix": []`) {
			t.Errorf("from %s:\n%s", from, text)
		}
	}
	if _, out, _ := call("check", archive); strings.Count(out, "bad-reference: ") != 2 {
		t.Errorf("check of the archive:\n%s", out)
	}
	doc := jsonOf[struct {
		Diagnostics []struct {
			Code  string
			Count uint64
		}
	}](t, "report", run, "diagnostics")
	for _, d := range doc.Diagnostics {
		if d.Code == "bad-reference" && d.Count == 2 {
			return
		}
	}
	t.Errorf("no two bad references in %+v", doc)
}

// TestUnknownWaits: waiting that no pattern has is said to be not known, not to be none. In each program process 0 is in calls
// of a kind for 800 of 1000 while process 1 computes.
func TestUnknownWaits(t *testing.T) {
	t.Parallel()
	const head = "-- program --\nprocesses 2\n-- events --\n"
	tests := head + "0 0 ENTER main\n0 5 ENTER MPI_Irecv\n0 5 MPI_IRECV_REQUEST 1\n0 6 LEAVE MPI_Irecv\n"
	for at := 10; at < 810; at += 10 {
		tests += fmt.Sprintf("0 %d ENTER MPI_Test\n0 %d LEAVE MPI_Test\n", at, at+10)
	}
	tests += "0 810 ENTER MPI_Test\n0 811 MPI_IRECV 1 MPI_COMM_WORLD 1 8 1\n0 811 LEAVE MPI_Test\n0 1000 LEAVE main\n" +
		"1 0 ENTER main\n1 809 ENTER MPI_Send\n1 809 MPI_SEND 0 MPI_COMM_WORLD 1 8\n1 810 LEAVE MPI_Send\n1 1000 LEAVE main\n"
	during := func(call string) string {
		return head + "0 0 ENTER main\n0 10 ENTER " + call + "\n0 810 LEAVE " + call + "\n0 1000 LEAVE main\n" +
			"1 0 ENTER main\n1 809 ENTER " + call + "\n1 810 LEAVE " + call + "\n1 1000 LEAVE main\n"
	}
	const window = "-- definitions --\nRMA_WIN self=0 name=0 comm=0\n"
	fence := regexp.MustCompile(`(\d) (\d+) LEAVE MPI_Win_fence\n`).ReplaceAllString(during("MPI_Win_fence"),
		"$1 $2 RMA_COLLECTIVE_BEGIN\n$1 $2 RMA_COLLECTIVE_END BARRIER PROCESS 0 none 0 0\n$0")
	if text := must(t, "report", foundTrace(t, window+fence)); strings.Contains(text, "not known: up to") || !strings.Contains(text, "100.0 % of it in main > MPI_Win_fence") {
		t.Errorf("fences of a window that is known:\n%s", text)
	}
	get := window + strings.Replace(strings.Replace(during("MPI_Wait"), "0 10 ENTER", "0 5 ENTER MPI_Rget\n0 5 RMA_GET 0 1 8 7\n0 6 LEAVE MPI_Rget\n0 10 ENTER", 1), "0 810 LEAVE", "0 810 RMA_OP_COMPLETE_NON_BLOCKING 0 7\n0 810 LEAVE", 1)
	for _, x := range []struct{ name, trace, finding, untold string }{
		{"fences", fence, "one-sided calls with waits, which are not known", "waits in collective operations on windows are not analysed outside of MPI, nor for windows that are not known"},
		{"requests of one-sided operations", get, "completing calls with waits, which are not known", "bytes, partners and waits of one-sided operations are listed, no report sums them"},
		{"tests", tests, "point to point calls with waits in tests, which are not known", "call MPI_Test, MPI_Iprobe or similar calls again and again"},
		{"communicators", during("MPI_Comm_split"), "MPI management calls with waits, which are not known", "waits in calls of MPI management are known where a record tells"},
		{"processes", during("MPI_Comm_spawn"), "MPI management calls with waits, which are not known", "processes that MPI_Comm_spawn started are not in the trace"},
	} {
		text := must(t, "report", foundTrace(t, strings.Replace(x.trace, "1 1000 LEAVE main", "1 820 LEAVE main", 1))) // the critical path is on process 0
		if !strings.Contains(text, x.untold) || !strings.Contains(text, "> "+x.finding) || strings.Contains(text, "calls without waits") {
			t.Errorf("%s:\n%s", x.name, text)
		}
	}
	known := regexp.MustCompile(`(\d) (\d+) (ENTER|LEAVE) MPI_Comm_split\n`).ReplaceAllStringFunc(during("MPI_Comm_split"), func(line string) string {
		part := strings.Fields(line)
		if part[2] == "ENTER" {
			return line + part[0] + " " + part[1] + " MPI_COLLECTIVE_BEGIN\n"
		}
		return part[0] + " " + part[1] + " MPI_COLLECTIVE_END CREATE_HANDLE MPI_COMM_WORLD none 0 0\n" + line
	})
	if text := must(t, "report", foundTrace(t, known)); strings.Contains(text, "with waits, which are not known") || !strings.Contains(text, "% of it in main > MPI_Comm_split") {
		t.Errorf("with records of what is made:\n%s", text)
	}
	for call, moves := range map[string]bool{"MPI_Wait": false, "MPI_Recv": true} {
		if text := must(t, "report", foundTrace(t, during(call))); strings.Contains(text, "without records of messages") != moves {
			t.Errorf("%s:\n%s", call, text)
		}
	}
	root := head
	for p, enter := range [...]int{10, 10, 800} {
		root += fmt.Sprintf("%d 0 ENTER main\n%[1]d %d ENTER MPI_Reduce\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d 810 MPI_COLLECTIVE_END REDUCE MPI_COMM_WORLD 0 8 8\n%[1]d 810 LEAVE MPI_Reduce\n%[1]d 1000 LEAVE main\n", p, enter)
	}
	root = strings.Replace(root, "processes 2", "processes 3", 1)
	if text := must(t, "report", foundTrace(t, root)); !strings.Contains(text, "of the waiting of a root only the time until the first other process comes is known") {
		t.Errorf("reduction:\n%s", text)
	}
}

// TestOneBlock: a region that holds the whole program, as tracers of MPI calls write it, names no function of it; one that is called in
// each step does, also where another process has no events.
func TestOneBlock(t *testing.T) {
	t.Parallel()
	step := "0 10 ENTER step\n0 20 LEAVE step\n" + message(0, 1, 600, 200)
	for text, want := range map[string]bool{
		program(2, message(0, 1, 600, 200)): true,
		program(2, step):                    false,
		strings.Replace(program(2, step), "processes 2", "processes 3", 1): false,
	} {
		doc := jsonOf[struct {
			Untold findings.Untold `json:"cannot_tell"`
		}](t, "report", foundTrace(t, text))
		if got := slices.ContainsFunc(doc.Untold.Missing, func(m findings.Missing) bool { return m.What == "functions" }); got != want {
			t.Errorf("%s: %v, want %v", text, doc.Untold.Missing, want)
		}
	}
}

// TestOtherLibrary: of 200 ticks both processes are in shmem_barrier_all, one for 80 and one for 10 of its 100, and no record tells who waits
// for whom. Of a library that does not communicate nothing is said.
func TestOtherLibrary(t *testing.T) {
	const text = "-- definitions --\nSTRING self=0 string=\"shmem_barrier_all\"\nREGION self=0 name=0 region_role=%d paradigm=%d\n-- program --\nprocesses 2\nresolution 1000\n-- events --\n" +
		"0 0 ENTER main\n0 10 ENTER shmem_barrier_all\n0 90 LEAVE shmem_barrier_all\n0 100 LEAVE main\n1 0 ENTER main\n1 80 ENTER shmem_barrier_all\n1 90 LEAVE shmem_barrier_all\n1 100 LEAVE main\n"
	for paradigm, want := range map[trace.ParadigmID]bool{trace.ParadigmSHMEM: true, trace.ParadigmCompiler: false} {
		out := must(t, "report", foundTrace(t, fmt.Sprintf(text, trace.RoleBarrier, paradigm)))
		for _, line := range []string{
			"calls of SHMEM count as own code, 0.0900 s of all processes together: how long they wait there for each other is not known, and efficiencies may be too high for that",
			"> nothing above 1 % of the run is known; waits in calls of another library than MPI are not, see what this trace cannot tell",
		} {
			if strings.Contains(out, line) != want {
				t.Errorf("paradigm %d: %q is said: %v\n%s", paradigm, line, !want, out)
			}
		}
	}
}

// TestOtherThreads: of two threads of a process nothing tells whether they compute or wait, unless they have parallel regions.
func TestOtherThreads(t *testing.T) {
	const text = "-- definitions --\nSTRING self=0 string=\"background_work\"\nREGION self=0 name=0 region_role=%d paradigm=%d\n-- program --\nprocesses 1\nthreads 2\nresolution 1000\n-- events --\n" +
		"0 0 ENTER background_work\n0 100 LEAVE background_work\n1 0 ENTER background_work\n1 100 LEAVE background_work\n"
	for paradigm, want := range map[trace.ParadigmID]bool{trace.ParadigmUser: true, trace.ParadigmOpenMP: false} {
		out := must(t, "report", foundTrace(t, fmt.Sprintf(text, trace.RoleParallel, paradigm)))
		if strings.Contains(out, "> nothing above 1 % of the run is known; waits of threads are not, see what this trace cannot tell") != want {
			t.Errorf("paradigm %d: %s", paradigm, out)
		}
	}
}

// TestThreadsThatWait: of threads whose waits are recorded the report does not say that they are not known.
func TestThreadsThatWait(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{"pthread_cond_wait": "efficiencies are about first ones alone", "other": "whether threads wait for each other is not known, and a first one that does counts as computing"} {
		out := must(t, "report", foundTrace(t, "-- program --\nprocesses 1\nthreads 2\nresolution 1000\n-- events --\n0 0 ENTER main\n0 100 LEAVE main\n1 0 ENTER work\n1 10 ENTER "+call+"\n1 90 LEAVE "+call+"\n1 100 LEAVE work\n"))
		if !strings.Contains(out, "several threads of a process and no parallel regions: "+want) || strings.Contains(out, "waits of threads are not") != (call == "other") {
			t.Errorf("%s: %s", call, out)
		}
	}
}

// TestThreadInMPI: the second thread of rank 1 waits 400 of 1000 ticks for a message, while nothing tells whether the first one computes or waits for it.
func TestThreadInMPI(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\nthreads 2\nresolution 1000\n-- events --\n"
	for l, calls := range []string{"", "1 500 ENTER MPI_Send\n1 500 MPI_SEND 1 MPI_COMM_WORLD 7 8\n1 505 LEAVE MPI_Send\n", "", "3 100 ENTER MPI_Recv\n3 510 MPI_RECV 0 MPI_COMM_WORLD 7 8\n3 510 LEAVE MPI_Recv\n"} {
		text += fmt.Sprintf("%[1]d 0 ENTER work\n%[2]s%[1]d 1000 LEAVE work\n", l, calls)
	}
	out := must(t, "report", foundTrace(t, text))
	if !strings.Contains(out, "efficiencies are about first ones alone; thread 1 of rank 1 waits 0.400 s in MPI (40.0 % of the run): what its process loses by that is not known; coppice record") {
		t.Error(out)
	}
}

// TestSharedMemory: process 1 reads memory again and again until process 0 writes to it, which no record tells.
func TestSharedMemory(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]bool{"MPI_Win_allocate_shared": true, "MPI_Win_allocate": false} {
		lines := ""
		for p := range 2 {
			lines += fmt.Sprintf("%[1]d 0 ENTER %[2]s\n%[1]d 1 LEAVE %[2]s\n", p, call)
		}
		out := must(t, "report", foundTrace(t, program(2, lines)))
		for _, line := range []string{
			"waits for what other processes write to memory that they share (MPI_Win_allocate_shared) are not known: reading it again and again counts as own code",
			"> nothing above 1 % of the run is known; waits for memory that processes share are not, see what this trace cannot tell",
		} {
			if strings.Contains(out, line) != want {
				t.Errorf("%s: %q is said: %v\n%s", call, line, !want, out)
			}
		}
	}
}

// TestSpawnedProcesses: processes that another one created are in the trace, so it does not lack them.
func TestSpawnedProcesses(t *testing.T) {
	t.Parallel()
	text := must(t, "report", foundTrace(t, `-- definitions --
STRING self=0 string="MPI_Comm_spawn"
STRING self=1 string=""
LOCATION_GROUP self=0 name=1 location_group_type=1 system_tree_parent=4294967295
LOCATION_GROUP self=1 name=1 location_group_type=1 system_tree_parent=4294967295 creating_location_group=0
LOCATION self=0 name=1 location_type=1 number_of_events=2 location_group=0
LOCATION self=1 name=1 location_type=1 number_of_events=0 location_group=1
REGION self=0 name=0 canonical_name=0 region_role=12 paradigm=4
-- events --
0 0 ENTER MPI_Comm_spawn
0 800 LEAVE MPI_Comm_spawn
`))
	if strings.Contains(text, "are not in the trace, nor the other side") || !strings.Contains(text, "which processes MPI_Comm_spawn started of those in the trace is not analysed") {
		t.Error(text)
	}
}

// TestPathsWithoutMetrics: a location that records metrics has no time of its own, so none is outside of calls for it.
func TestPathsWithoutMetrics(t *testing.T) {
	t.Parallel()
	text := must(t, "report", foundTrace(t, `-- definitions --
STRING self=0 string="work"
LOCATION_GROUP self=0 name=0 location_group_type=1 system_tree_parent=4294967295
LOCATION self=0 name=0 location_type=1 number_of_events=2 location_group=0
LOCATION self=1 name=0 location_type=3 number_of_events=2 location_group=0
REGION self=0 name=0 canonical_name=0 region_role=1 paradigm=1
PARAMETER self=0 name=0 parameter_type=1
-- events --
0 0 ENTER work
0 800 LEAVE work
1 100 PARAMETER_INT64 0 1
1 700 PARAMETER_INT64 0 2
`), "paths")
	if !strings.Contains(text, "in 1 path") || strings.Contains(text, "(outside recorded calls)") {
		t.Error(text)
	}
}
