package main

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

// foundIn is what tests look at in the document of a report.
type foundIn struct{ Findings []finding }

type finding struct {
	Kind    string
	Seconds *float64
	Ticks   uint64
	Basis   string
	Where   struct {
		Interval, Region string
		Processes        []uint32
	}
	Cause *struct {
		Process          uint32
		Activity, Region string
		Share            float64
		OfRow            float64 `json:"process_share"`
	}
	Evidence, Query, Advice, Text string
}

// foundTrace analyses a trace in text form and returns the file.
func foundTrace(t *testing.T, text string, options ...func(*analyze.Options)) string {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.xtf")
	o := analyze.Options{Source: src, Output: file}
	for _, set := range options {
		set(&o)
	}
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := analyze.Run(c, o)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Programs with one cause each; times are milliseconds.
const (
	lateSender = `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 0 ENTER produce
0 600 LEAVE produce
0 600 ENTER MPI_Send
0 600 MPI_SEND 1 MPI_COMM_WORLD 7 8
0 610 LEAVE MPI_Send
0 1000 LEAVE main
1 0 ENTER main
1 200 ENTER MPI_Recv
1 620 MPI_RECV 0 MPI_COMM_WORLD 7 8
1 620 LEAVE MPI_Recv
1 1000 LEAVE main
`
	slowRank = `
-- program --
processes 4
resolution 1000
-- events --
0 0 ENTER main
0 200 ENTER MPI_Barrier
0 200 MPI_COLLECTIVE_BEGIN
0 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 700 LEAVE MPI_Barrier
0 1000 LEAVE main
1 0 ENTER main
1 0 ENTER solve
1 700 LEAVE solve
1 700 ENTER MPI_Barrier
1 700 MPI_COLLECTIVE_BEGIN
1 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 700 LEAVE MPI_Barrier
1 1000 LEAVE main
2 0 ENTER main
2 0 ENTER solve
2 200 LEAVE solve
2 200 ENTER MPI_Barrier
2 200 MPI_COLLECTIVE_BEGIN
2 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 700 LEAVE MPI_Barrier
2 1000 LEAVE main
3 0 ENTER main
3 0 ENTER solve
3 200 LEAVE solve
3 200 ENTER MPI_Barrier
3 200 MPI_COLLECTIVE_BEGIN
3 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
3 700 LEAVE MPI_Barrier
3 1000 LEAVE main
`
	serialSection = `
-- program --
processes 3
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER prepare
0 700 LEAVE prepare
0 700 ENTER MPI_Barrier
0 700 MPI_COLLECTIVE_BEGIN
0 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 700 LEAVE MPI_Barrier
0 1000 LEAVE main
1 0 ENTER main
1 100 ENTER MPI_Barrier
1 100 MPI_COLLECTIVE_BEGIN
1 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 700 LEAVE MPI_Barrier
1 1000 LEAVE main
2 0 ENTER main
2 100 ENTER MPI_Barrier
2 100 MPI_COLLECTIVE_BEGIN
2 700 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 700 LEAVE MPI_Barrier
2 1000 LEAVE main
`
	hung = `
-- program --
processes 3
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER MPI_Barrier
0 100 MPI_COLLECTIVE_BEGIN
0 120 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 120 LEAVE MPI_Barrier
0 900 ENTER MPI_Allreduce
0 900 MPI_COLLECTIVE_BEGIN
1 0 ENTER main
1 110 ENTER MPI_Barrier
1 110 MPI_COLLECTIVE_BEGIN
1 120 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 120 LEAVE MPI_Barrier
1 950 ENTER MPI_Allreduce
1 950 MPI_COLLECTIVE_BEGIN
2 0 ENTER main
2 110 ENTER MPI_Barrier
2 110 MPI_COLLECTIVE_BEGIN
2 120 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 120 LEAVE MPI_Barrier
2 500 ENTER MPI_Recv
`
	fileWrites = `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER MPI_File_write_at
0 600 LEAVE MPI_File_write_at
0 1000 LEAVE main
1 0 ENTER main
1 100 ENTER MPI_File_write_at
1 600 LEAVE MPI_File_write_at
1 1000 LEAVE main
`
)

// meeting is process p in MPI_Barrier from one instant to another.
func meeting(p, from, to int) string {
	return fmt.Sprintf(`%[1]d %[2]d ENTER MPI_Barrier
%[1]d %[2]d MPI_COLLECTIVE_BEGIN
%[1]d %[3]d MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
%[1]d %[3]d LEAVE MPI_Barrier
`, p, from, to)
}

const three = "-- program --\nprocesses 3\nresolution 1000\n-- events --\n"

// TestSerialWithoutFunctions tells a serial section from uneven work in traces with MPI calls alone, by what the others do while
// process 0 computes for 600 of 1000. All meet at 10, 610 and 990. Process 1 has no work from 20 on and waits 610 - 20 = 590.
//
//   - Process 2 waits from 30 on, 580: it could end no more than that earlier, nor can the run.
//   - Process 2 computes until 600, as a code of its own that is coupled to the others: it waits 10, and no more is lost.
//   - Process 2 computes until 400 and waits 210: process 0 has more work, but it is not alone.
//   - Process 2 waits from 30 on, but for half of it process 0 empties a buffer of the tracer: it does not compute.
//   - In steps, too many to look at each: 100 times process 0 computes 6 alone, then all 2. Each other waits 600.
func TestSerialWithoutFunctions(t *testing.T) {
	t.Parallel()
	coupled := func(until int) string {
		text := three
		for p, second := range [...]int{610, 20, until} {
			text += meeting(p, 0, 10) + meeting(p, second, 612) + meeting(p, 990, 1000)
		}
		return text
	}
	steps := three
	for i := range 100 {
		for p, late := range [...]int{6, 0, 0} {
			steps += meeting(p, 10*i+late, 10*i+7) + meeting(p, 10*i+9, 10*i+10)
		}
	}
	flush := three
	for p, second := range [...]int{610, 20, 30} {
		flush += meeting(p, 0, 10)
		if p == 0 {
			flush += "0 100 BUFFER_FLUSH 400\n"
		}
		flush += meeting(p, second, 612) + meeting(p, 990, 1000)
	}
	for _, x := range []struct {
		name, trace, kind string
		ticks             uint64
		alone             string
	}{
		{"all others wait", coupled(30), "serial", 580, "rank 0 computes while all others mostly wait or idle, 0.600 of 0.978 s of its computing on the critical path; "},
		{"coupled codes", coupled(600), "barrier_wait", 10, ""},
		{"partly", coupled(400), "barrier_wait", 210, ""},
		{"a flush", flush, "barrier_wait", 580, ""},
		{"steps", steps, "serial", 600, " s of its computing on the critical path in 32 of "},
	} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, x.trace))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Cause != nil })
		if i < 0 {
			t.Fatalf("%s: %+v", x.name, doc.Findings)
		}
		f := doc.Findings[i]
		if f.Kind != x.kind || f.Ticks != x.ticks || f.Cause.Process != 0 || x.kind == "serial" && (len(f.Where.Processes) != 1 || f.Where.Processes[0] != 0) {
			t.Errorf("%s: %s of %d, want %s of %d: %+v", x.name, f.Kind, f.Ticks, x.kind, x.ticks, f)
		}
		if !strings.Contains(f.Text, x.alone) || strings.Contains(f.Text, "all others mostly wait or idle") != (x.alone != "") {
			t.Errorf("%s: %s", x.name, f.Text)
		}
	}
}

// message is a send of p to q from one instant on, and its receive from another one on to a third; both calls end 10 after the send began.
func message(p, q, sent, from int) string {
	return fmt.Sprintf(`%[1]d %[3]d ENTER MPI_Send
%[1]d %[3]d MPI_SEND %[2]d MPI_COMM_WORLD 7 8
%[1]d %[5]d LEAVE MPI_Send
%[2]d %[4]d ENTER MPI_Recv
%[2]d %[5]d MPI_RECV %[1]d MPI_COMM_WORLD 7 8
%[2]d %[5]d LEAVE MPI_Recv
`, p, q, sent, from, sent+10)
}

// program puts the lines of each process, in main from 0 to 1000, in order.
func program(processes int, lines string) string {
	text := fmt.Sprintf("-- program --\nprocesses %d\nresolution 1000\n-- events --\n", processes)
	for p := range processes {
		text += fmt.Sprintf("%d 0 ENTER main\n", p)
		for line := range strings.Lines(lines) {
			if strings.HasPrefix(line, fmt.Sprintf("%d ", p)) {
				text += line
			}
		}
		text += fmt.Sprintf("%d 1000 LEAVE main\n", p)
	}
	return text
}

// TestWhoMustChange is about losses that one kind of change cannot mend:
//
//   - The sender computes all the time but for 10: no earlier send makes the run shorter by more.
//   - The same sender, which waits in MPI_Finalize from 620 until the receiver comes at 980: that, too, it could be earlier there.
//   - Two processes compute one after the other, 0 until 600, then 1: 980 of 1195 are on the critical path, nobody has too much.
//   - So do three, which meet after each turn of 300.
//   - One of four computes in a function of a function: the finding has the path.
//   - Process 0 waits for its threads until 600, process 1 for 10: what process 1 waits for is work of these threads.
//   - Two of four have all the work, the one that is late for longer less of it than the other by a call of 10: an imbalance all the same.
func TestWhoMustChange(t *testing.T) {
	t.Parallel()
	ends := message(0, 1, 600, 200) + "0 620 ENTER MPI_Finalize\n0 995 LEAVE MPI_Finalize\n1 980 ENTER MPI_Finalize\n1 995 LEAVE MPI_Finalize\n"
	turns := message(0, 1, 600, 200) + message(1, 0, 980, 615)
	ring := message(0, 1, 300, 0) + message(1, 2, 600, 0) + meeting(0, 315, 902) + meeting(1, 615, 902) + meeting(2, 900, 902)
	called := strings.NewReplacer("ENTER solve", "ENTER solve\n1 1 ENTER kernel", "LEAVE solve", "LEAVE kernel\n1 700 LEAVE solve").Replace(slowRank[:strings.Index(slowRank, "2 0 ENTER main")]) + slowRank[strings.Index(slowRank, "2 0 ENTER main"):]
	joins := ""
	for p, at := range [...]int{600, 110} {
		joins += fmt.Sprintf("%[1]d 100 ENTER pthread_join\n%[1]d %[2]d LEAVE pthread_join\n", p, at) + meeting(p, at, 602)
	}
	two := ""
	for p, at := range [][2]int{{310, 597}, {308, 600}, {10, 315}, {10, 315}} {
		two += meeting(p, at[0], 312)
		if p == 0 {
			two += "0 400 ENTER MPI_Comm_rank\n0 410 LEAVE MPI_Comm_rank\n"
		}
		two += meeting(p, at[1], 602)
	}
	for _, x := range []struct {
		name, trace, kind, advice, text string
		cause                           uint32
	}{
		{"busy", lateSender, "late_sender", "give the process that is late less", "as long as rank 0 computes that much, the run could be shorter by no more than 0.0100 s", 0},
		{"at the end", program(2, ends), "late_sender", "send earlier, or let all compute at the same time", "the run could be shorter by no more than 0.370 s", 0},
		{"in turn", program(2, turns), "late_sender", "send earlier, or let all compute at the same time", "processes compute one after another, 0.980 of 1.195 s of all their computing", 0},
		{"in functions", called, "serial", "give the other", ", in main > solve > kernel", 1},
		{"a ring", program(3, ring), "serial", "let the processes compute at the same time", "processes compute one after another", 0},
		{"for threads", program(2, joins), "imbalance", "deal out", "rank 0 computes longer than others, most of it while it waits for its threads in pthread_join: ", 0},
		{"because of threads", program(2, joins), "imbalance", "deal out", "100.0 % of the waits come from waits for other threads in pthread_join, most on rank 0", 0},
		{"two of four", program(4, two), "imbalance", "deal out", "rank 0 computes longer than others", 0},
	} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, x.trace))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == x.kind })
		if i < 0 {
			t.Fatalf("%s: %+v", x.name, doc.Findings)
		}
		if f := doc.Findings[i]; !strings.HasPrefix(f.Advice, x.advice) || !strings.Contains(f.Text, x.text) || f.Cause == nil || f.Cause.Process != x.cause {
			t.Errorf("%s: %+v", x.name, f)
		}
	}
}

// TestOrderOfGains: process 1 waits 400 for process 0, which computes all the time but for a send of 10 and a flush of 250. An earlier send gains those
// 10 at most. They compute 740 and 590: if both computed the same, it would be 75 less. The flush of 250 comes first.
func TestOrderOfGains(t *testing.T) {
	t.Parallel()
	doc := jsonOf[foundIn](t, "report", foundTrace(t, program(2, message(0, 1, 400, 0)+"0 500 BUFFER_FLUSH 750\n")))
	const want = "the run could be shorter by no more than 0.0100 s, and by 0.0750 more if all computed the same"
	if f := doc.Findings; len(f) < 2 || f[0].Kind != "overhead" || f[0].Ticks != 250 || f[1].Kind != "late_sender" || f[1].Ticks != 400 || !strings.Contains(f[1].Text, want) {
		t.Errorf("%+v", f)
	}
}

// TestWhatHelps is about advice that a program had followed, or that misses the cause:
//
//   - A hot spot moves from process 0 to 1: each waits 200 for the other, but nobody computes more on the whole, and they compute at the same time.
//   - The same with senders that wait for receivers.
//   - A sender that does not block cannot be told not to: its receiver is late when it completes the send.
//   - A send takes long before its receive begins, as where buffers are full.
//   - A process computes 500 while its requests are open, and then they take as long as if they began there.
//   - A communicator is made again and again; made once it is not worth a word.
//   - A thread comes late to a barrier because it waits for a lock; so the others wait in the barrier.
//   - The last task of a region takes longest.
func TestWhatHelps(t *testing.T) {
	t.Parallel()
	late := func(p, q, sent, from int) string { // the receive begins at from
		return strings.ReplaceAll(message(p, q, sent, from), fmt.Sprintf("%d LEAVE", sent+10), fmt.Sprintf("%d LEAVE", from+10))
	}
	begun, split := "", ""
	for p := range 2 {
		begun += fmt.Sprintf(`%[1]d 100 ENTER MPI_Irecv
%[1]d 100 MPI_IRECV_REQUEST 7
%[1]d 101 LEAVE MPI_Irecv
%[1]d 101 ENTER MPI_Isend
%[1]d 101 MPI_ISEND %[2]d MPI_COMM_WORLD 7 1000000 8
%[1]d 102 LEAVE MPI_Isend
%[1]d 602 ENTER MPI_Waitall
%[1]d 802 MPI_IRECV %[2]d MPI_COMM_WORLD 7 1000000 7
%[1]d 802 MPI_ISEND_COMPLETE 8
%[1]d 802 LEAVE MPI_Waitall
`, p, 1-p)
		for i := range 3 {
			split += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Comm_split\n%[1]d %[3]d LEAVE MPI_Comm_split\n", p, 100+200*i, 250+200*i)
		}
	}
	isend := "0 100 ENTER MPI_Isend\n0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 8\n0 101 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n0 400 MPI_ISEND_COMPLETE 8\n0 400 LEAVE MPI_Wait\n" +
		"1 390 ENTER MPI_Recv\n1 400 MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 400 LEAVE MPI_Recv\n1 400 ENTER MPI_Comm_dup\n1 990 LEAVE MPI_Comm_dup\n"
	full := "0 100 ENTER MPI_Send\n0 100 MPI_SEND 1 MPI_COMM_WORLD 7 8\n0 800 LEAVE MPI_Send\n1 850 ENTER MPI_Recv\n1 860 MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 860 LEAVE MPI_Recv\n" + message(0, 1, 980, 870)
	tasks := `
-- definitions --
STRING self=0 string="!$omp task @solver.c:50"
REGION self=0 name=0 region_role=20 paradigm=3
` + strings.Replace(idleThread[1:], "1 900 LEAVE", "1 100 ENTER \"!$omp task @solver.c:50\"\n1 900 LEAVE \"!$omp task @solver.c:50\"\n1 900 LEAVE", 1)
	single := strings.NewReplacer("omp task", "omp single", "region_role=20", "region_role=9").Replace(tasks)
	for _, x := range []struct{ name, trace, kind, advice, text string }{
		{"a hot spot", program(2, message(0, 1, 300, 100)+message(1, 0, 700, 500)), "late_sender", "send earlier, or balance each step", ""},
		{"a hot spot of receivers", program(2, late(0, 1, 100, 300)+late(1, 0, 500, 700)), "late_receiver", "post the receive before the sender needs it, or balance each step", ""},
		{"a send that does not block", program(2, isend), "late_receiver", "post the receive before the sender needs it, or complete the send later", ""},
		{"full buffers", program(2, full), "transfer", "begin to receive earlier", "the receive of what they send had not begun"},
		{"overlap", program(2, begun), "long_messages", "send less; MPI may move messages only while it is called", "; 2 messages of 1 MB each on average; a process sends 4.95 MB in a second of that on average; rank 0 computes 0.500 s while its requests are open"},
		{"a communicator in each step", program(2, split), "transfer", "make the communicator or window once", ""},
		{"a communicator", program(2, split[:strings.Index(split, "0 300")]), "transfer", "", ""},
		{"a lock before a barrier", critical, "thread_imbalance", "hold locks for a shorter time first", "; a thread of the process waits 0.600 for locks"},
		{"threads", idleThread, "thread_imbalance", "give the threads equal work between their barriers", ""},
		{"a loop, or sections of GNU's compilers", strings.NewReplacer("omp task", "omp for", "region_role=20", "region_role=3").Replace(tasks), "thread_imbalance", "deal out the iterations of parallel loops, or the work of sections", ""},
		{"tasks", tasks, "thread_imbalance", "cut the longest tasks", ""},
		{"a critical section", critical, "lock_wait", "hold the lock for a shorter time", ""},
		{"an ordered section", strings.NewReplacer("omp critical", "omp ordered", "region_role=12", "region_role=18", "region_role=13", "region_role=19").Replace(critical), "lock_wait", "do less in ordered sections", ""},
		{"a single construct", single, "thread_imbalance", "let more threads do what single constructs have", "; one thread alone is in single constructs for 0.800 s, most in !$omp single"},
		{"what one thread does of it", strings.Replace(single, "region_role=9", "region_role=10", 1), "thread_imbalance", "let more threads do what single constructs have", "; one thread alone is in single constructs for 0.800 s"},
		{"a short one", strings.Replace(single, "1 900 LEAVE", "1 300 LEAVE", 1), "thread_imbalance", "give the threads equal work", ""},
	} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, x.trace))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == x.kind })
		if i < 0 {
			t.Errorf("%s: %+v", x.name, doc.Findings)
			continue
		}
		if f := doc.Findings[i]; !strings.HasPrefix(f.Advice, x.advice) || (x.advice == "") != (f.Advice == "") || !strings.Contains(f.Text, x.text) {
			t.Errorf("%s: %+v", x.name, f)
		}
	}
}

// TestSetup: process 1 comes to MPI_Init at 300, the others wait there, and at the end process 0 waits in MPI_Finalize: set-up takes no more
// than the 100 of process 1, and 60 more of it at the end. Where process 0 leaves MPI_Finalize before that one comes, it did not wait for it.
// Where nobody calls MPI_Finalize, its longer time in MPI_Init is the wait there.
func TestSetup(t *testing.T) {
	t.Parallel()
	const init = "; rank 0 waits 0.300 s in MPI_Init for rank 1, which comes last and runs for 0.300 before"
	for leave, want := range map[int]string{
		0:   init,
		900: init + "; rank 0 waits 0.240 s in MPI_Finalize for rank 1, which comes last",
		800: init + "; rank 0 is in them for 0.600: it may wait there for others, which is not known",
	} {
		lines := ""
		for p, x := range [...][3]int{{0, 600, leave}, {300, 840, 900}, {10, 700, 900}} {
			lines += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Init\n%[1]d 400 LEAVE MPI_Init\n%[1]d %[3]d ENTER MPI_Finalize\n%[1]d %[4]d LEAVE MPI_Finalize\n", p, x[0], x[1], x[2])
		}
		ticks := uint64(160)
		if leave == 0 {
			lines, ticks = regexp.MustCompile(".*MPI_Finalize\n").ReplaceAllString(lines, ""), 100
		}
		doc := jsonOf[foundIn](t, "report", foundTrace(t, program(3, lines)))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "setup" })
		if i < 0 {
			t.Fatalf("%+v", doc.Findings)
		}
		want = fmt.Sprintf("set-up and end: MPI_Init and the like take 0.%d s of each process or more (%d.0 %% of the run), most of it in MPI_Init", ticks, ticks/10) + want
		if f := doc.Findings[i]; f.Ticks != ticks || f.Where.Processes[0] != 1 || f.Text != want {
			t.Errorf("%d: %+v", leave, f)
		}
	}
}

// TestMostWork: processes 0 and 3 wait from 100 to 500 for messages of 1 and 4, which compute until then. Afterwards they wait for process 2 in a
// barrier, from 520 to 900: 380. Process 2 computes most, 998 of a mean of 638: that is said about the wait for it, though it is the shorter one.
func TestMostWork(t *testing.T) {
	t.Parallel()
	lines := message(1, 0, 500, 100) + message(4, 3, 500, 100)
	for p, from := range [...]int{520, 800, 900, 520, 800} {
		lines += meeting(p, from, 902)
	}
	doc := jsonOf[foundIn](t, "report", foundTrace(t, program(5, lines)))
	if len(doc.Findings) < 2 {
		t.Fatalf("%+v", doc.Findings)
	}
	for i, want := range []struct {
		kind  string
		ticks uint64
		cause uint32
	}{{"late_sender", 400, 1}, {"imbalance", 380, 2}} {
		f := doc.Findings[i]
		if f.Kind != want.kind || f.Ticks != want.ticks || f.Cause == nil || f.Cause.Process != want.cause || strings.Contains(f.Text, "rank 2 computes 0.998 s, the mean is 0.638") != (want.cause == 2) {
			t.Errorf("%+v", f)
		}
	}
}

// TestOneLoss: process 1 waits 400 for a message of process 0, which computes 990, the mean being 540, because 2 and 3 make a communicator for
// 700. To balance the work could gain 450, not to wait 400: that is one loss, and one finding.
func TestOneLoss(t *testing.T) {
	t.Parallel()
	lines := message(0, 1, 600, 200)
	for p := 2; p < 4; p++ {
		lines += fmt.Sprintf("%[1]d 100 ENTER MPI_Comm_dup\n%[1]d 810 LEAVE MPI_Comm_dup\n", p)
	}
	doc := jsonOf[foundIn](t, "report", foundTrace(t, program(4, lines)))
	i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "late_sender" })
	if i < 0 || slices.ContainsFunc(doc.Findings, func(f finding) bool { return f.Kind == "imbalance" }) {
		t.Fatalf("%+v", doc.Findings)
	}
	if f := doc.Findings[i]; f.Ticks != 450 || !strings.Contains(f.Text, "up to 0.450 s") || !strings.Contains(f.Text, "rank 0 computes 0.990 s, the mean is 0.540") {
		t.Errorf("%+v", f)
	}
}

// TestTwoCauses: process 1 is in solve until 300, where the others wait for it from 100 on, and process 2 in assemble until 600, where they wait
// from 410 on: 400 and 380 in all. Both causes are named.
func TestTwoCauses(t *testing.T) {
	t.Parallel()
	lines := meeting(0, 100, 302) + meeting(0, 410, 602) +
		"1 0 ENTER solve\n1 300 LEAVE solve\n" + meeting(1, 300, 302) + meeting(1, 410, 602) +
		meeting(2, 100, 302) + "2 310 ENTER assemble\n2 600 LEAVE assemble\n" + meeting(2, 600, 602)
	f := jsonOf[foundIn](t, "report", foundTrace(t, program(3, lines))).Findings[0]
	if f.Cause == nil || f.Cause.Process != 1 || f.Cause.Region != "solve" || !strings.Contains(f.Evidence, "% from CPU time in assemble, most on rank 2") {
		t.Errorf("%+v", f)
	}
}

// TestLongCollective: a megabyte goes from process 0 to two others in MPI_Bcast, which all leave at 500. Process 0 comes at 100, 2 at 200: a
// quarter of the 400 of process 0 are before the last member comes, the rest is the transfer: without it the run is 300 shorter.
func TestLongCollective(t *testing.T) {
	t.Parallel()
	lines := "0 50 ENTER pthread_create\n0 50 THREAD_CREATE 0 1\n0 50 LEAVE pthread_create\n"
	for p, x := range [...][3]int{{100, 2_000_000, 1_000_000}, {150, 0, 1_000_000}, {200, 0, 1_000_000}} {
		lines += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Bcast\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d 500 MPI_COLLECTIVE_END BCAST MPI_COMM_WORLD 0 %[3]d %[4]d\n%[1]d 500 LEAVE MPI_Bcast\n", p, x[0], x[1], x[2])
	}
	file := foundTrace(t, program(3, lines), func(o *analyze.Options) {
		d := o.Source.Definitions()
		for i := range d.Regions {
			if r := &d.Regions[i]; d.Text(r.Name) == "pthread_create" {
				r.Role, r.Paradigm = trace.RoleThreadCreate, trace.ParadigmPthread
			}
		}
	})
	f := jsonOf[foundIn](t, "report", file).Findings[0]
	if f.Kind != "long_messages" || f.Ticks != 300 || !strings.HasPrefix(f.Advice, "send less") || !strings.HasPrefix(f.Text, "collective calls without waits: ") ||
		!strings.Contains(f.Text, "; a process sends and receives 1.67 MB in a call of MPI_Bcast on average; 0.100 of rank 0 are before their last member comes; who comes last is rank 2") {
		t.Errorf("%+v", f)
	}
	if text := must(t, "report", file, "untold"); !strings.Contains(text, "whether threads that a process starts compute while its first one is in MPI is not compared") {
		t.Error(text)
	}
}

// TestHeavyMember: process 1 of three stays in MPI_Alltoallv from 100 to 400, the others to 110: then they wait for it in the next one from 120 to
// 410, and so on, three times. It moves a million bytes in each call, 0 as many with it, and 2 a thousand: who makes others wait has half of all.
// With 300 thousand for each all move as much.
func TestHeavyMember(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		bytes [3]int
		heavy string
	}{
		{[3]int{1_000_000, 1_000_000, 1000}, "; rank 1 sends and receives there 3 MB of 6 MB that all do"},
		{[3]int{300_000, 300_000, 300_000}, ""},
		{[3]int{1000, 1000, 10}, ""},
	} {
		lines := ""
		for p, bytes := range x.bytes {
			for i := range 3 {
				from, to := 100+300*i, 120+300*i
				if i > 0 && p != 1 {
					from = 120 + 300*(i-1)
				}
				if p == 1 {
					to = 390 + 300*i
				}
				lines += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Alltoallv\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[3]d MPI_COLLECTIVE_END ALLTOALLV MPI_COMM_WORLD none %[4]d %[4]d\n%[1]d %[3]d LEAVE MPI_Alltoallv\n", p, from, to, bytes/2)
			}
		}
		doc := jsonOf[foundIn](t, "report", foundTrace(t, program(3, lines)))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "nxn_wait" })
		if i < 0 {
			t.Fatalf("%+v", doc.Findings)
		}
		f := doc.Findings[i]
		if heavy := strings.HasPrefix(f.Advice, "deal out more evenly what"); f.Cause == nil || f.Cause.Process != 1 || f.Cause.Activity != "mpi" || heavy != (x.heavy != "") || !strings.HasSuffix(f.Evidence, x.heavy) || strings.Contains(f.Evidence, "sends and receives there") != heavy {
			t.Errorf("%v: %+v", x.bytes, f)
		}
	}
}

// TestUnevenBytes: all are for as long in an all-to-all operation, in which process 1 sends 3 MB to process 0 and the others next to nothing.
func TestUnevenBytes(t *testing.T) {
	lines := ""
	for p, bytes := range [][2]int{{1000, 3_000_000}, {3_000_000, 1000}, {1000, 1000}} {
		lines += fmt.Sprintf("%[1]d 100 ENTER MPI_Alltoallv\n%[1]d 100 MPI_COLLECTIVE_BEGIN\n%[1]d 600 MPI_COLLECTIVE_END ALLTOALLV MPI_COMM_WORLD none %[2]d %[3]d\n%[1]d 600 LEAVE MPI_Alltoallv\n", p, bytes[0], bytes[1])
	}
	f := jsonOf[foundIn](t, "report", foundTrace(t, program(3, lines))).Findings[0]
	if f.Kind != "long_messages" || f.Ticks != 500 || !strings.HasPrefix(f.Advice, "deal out more evenly what") ||
		!strings.HasSuffix(f.Evidence, "; rank 1 sends 3 MB of 3 MB that all do in collectives; rank 0 receives 3 MB of 3 MB that all do in collectives") {
		t.Errorf("%+v", f)
	}
}

// TestFindings analyses programs with one cause each; the expected ticks are worked
// out in the comments.
func TestFindings(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, trace, kind, region string
		ticks                     uint64
		processes                 []uint32
		cause                     string // rank, activity, region
		process                   uint32
		advice                    string
	}{
		// The message is sent at 600, the receive blocks from 200. The sender computes all the time but for 10.
		{"late sender", lateSender, "late_sender", "MPI_Recv", 400, []uint32{1}, "produce", 0, "give the process that is late less"},
		// Rank 1 comes at 700, the others at 200. Without the 500 that it computes more the run is 500 shorter.
		{"slow rank", slowRank, "imbalance", "solve", 500, []uint32{1}, "solve", 1, "deal out the work"},
		// Only rank 0 prepares, from 100 to 700, and the others wait as long.
		{"serial section", serialSection, "serial", "prepare", 600, []uint32{0}, "prepare", 0, "give the other processes a part"},
		// Nothing is gained, so there are no ticks.
		{"hang", hung, "hang", "MPI_Allreduce", 0, []uint32{0, 1, 2}, "", 0, "look at the calls"},
		{"abort", strings.Replace(hung, "2 500 ENTER MPI_Recv", "2 500 ENTER MPI_Abort", 1), "abort", "MPI_Abort", 0, []uint32{2}, "", 0, "look at why"},
		// Process 1 comes 400 late, and who waits for it does so in the call: even work gains 200, and of the call no more than its own 100 are for sure.
		{"collective output", strings.ReplaceAll(strings.Replace(fileWrites, "1 100 ENTER", "1 500 ENTER", 1), "write_at", "write_at_all"), "imbalance", "main", 200, []uint32{1}, "", 0, "deal out"},
		// The same after 50 of set-up on both: nothing is gained there.
		{"collective output after set-up", strings.NewReplacer("1 100 ENTER", "1 500 ENTER", "write_at", "write_at_all", "0 100 ENTER", "0 0 ENTER MPI_Init\n0 50 LEAVE MPI_Init\n0 100 ENTER",
			"1 0 ENTER main\n", "1 0 ENTER main\n1 0 ENTER MPI_Init\n1 50 LEAVE MPI_Init\n").Replace(fileWrites), "imbalance", "main", 200, []uint32{1}, "", 0, "deal out"},
		// Both write for 500: even, and no message.
		{"file output", fileWrites, "io", "MPI_File_write_at", 500, []uint32{0}, "", 0, "read or write more at once"},
	} {
		t.Run(x.name, func(t *testing.T) {
			doc := jsonOf[foundIn](t, "report", foundTrace(t, x.trace))
			if len(doc.Findings) == 0 {
				t.Fatal("no finding")
			}
			f := doc.Findings[0]
			if f.Kind != x.kind || f.Ticks != x.ticks || f.Where.Region != x.region || len(f.Where.Processes) != len(x.processes) || f.Where.Processes[0] != x.processes[0] {
				t.Errorf("first finding %+v", f)
			}
			if f.Seconds == nil || *f.Seconds != float64(x.ticks)/1e3 {
				t.Errorf("%v seconds of %d ms", f.Seconds, x.ticks)
			}
			if strings.HasPrefix(x.name, "collective output") && !slices.ContainsFunc(doc.Findings, func(f finding) bool {
				return f.Kind == "io" && f.Ticks == 100 && strings.Contains(f.Evidence, "waits for the last one are part of its time, which are not known: rank 1 has least, 0.100")
			}) {
				t.Errorf("%+v", doc.Findings)
			}
			if !strings.HasPrefix(f.Advice, x.advice) {
				t.Errorf("advice %q, want %q", f.Advice, x.advice)
			}
			if (f.Cause != nil) != (x.cause != "") || f.Cause != nil && (f.Cause.Region != x.cause || f.Cause.Process != x.process || f.Cause.Activity != "cpu") {
				t.Errorf("cause %+v, want %s of rank %d", f.Cause, x.cause, x.process)
			}
			if x.kind == "serial" && !strings.Contains(f.Text, "1 process of 3 executes prepare, others wait") {
				t.Errorf("text %s", f.Text)
			}
			for _, other := range doc.Findings[1:] { // one loss is one finding
				if other.Kind == "imbalance" || other.Kind == "idle" || strings.HasSuffix(other.Kind, "_wait") && x.kind != "hang" && x.kind != "abort" {
					t.Errorf("also %+v", other)
				}
			}
		})
	}
}

// TestHangText names who is where, since when, and who never came.
func TestHangText(t *testing.T) {
	t.Parallel()
	text := must(t, "report", foundTrace(t, hung))
	for _, want := range []string{
		"ranks 0-1 in MPI_Allreduce since 0.900000 s to 0.950000", "rank 2 in MPI_Recv since 0.500000 s", "MPI_Allreduce of ranks 0-1 did not begin on rank 2",
		"the last collective that all finished is number 0 of MPI_COMM_WORLD, MPI_Barrier",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestLateToPost: process 0 waits in h.c:1 from 110 until process 1 posts the receive at 500, in h.c:2, which it completes in h.c:3.
func TestLateToPost(t *testing.T) {
	t.Parallel()
	text := "-- definitions --\n"
	for i, name := range []string{"MPI_Wait", "MPI_Irecv", "MPI_Waitall"} {
		text += fmt.Sprintf("STRING self=%[1]d string=%[3]q\nSTRING self=%[2]d string=\"called from main (h.c:%[5]d)\"\nREGION self=%[4]d name=%[1]d description=%[2]d paradigm=4\n", 2*i, 2*i+1, name, i, i+1)
	}
	text += program(2, `0 100 ENTER MPI_Isend
0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 8
0 101 LEAVE MPI_Isend
0 110 ENTER MPI_Wait
0 505 MPI_ISEND_COMPLETE 8
0 505 LEAVE MPI_Wait
1 500 ENTER MPI_Irecv
1 500 MPI_IRECV_REQUEST 7
1 501 LEAVE MPI_Irecv
1 502 ENTER MPI_Waitall
1 506 MPI_IRECV 0 MPI_COMM_WORLD 7 8 7
1 506 LEAVE MPI_Waitall
`)
	doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
	i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "late_receiver" })
	if i < 0 || !strings.Contains(doc.Findings[i].Text, " in MPI_Wait at h.c:1, in main; what comes late is MPI_Irecv at h.c:2, in 100.0 % of the time of 1 wait of rank 0") {
		t.Errorf("%+v", doc.Findings)
	}
}

// TestProgressAfterMessage: process 0 completes its requests from 110 on. What it receives is sent at 115, and process 1, which receives from it, is out of MPI
// from 116 to 900: until then the send of process 0 waits. Where it stays until 2000 that is not known: its message may be on its way so long.
func TestProgressAfterMessage(t *testing.T) {
	t.Parallel()
	for leave, want := range map[int]uint64{905: 785, 2000: 0} {
		text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"
		for p, x := range [][3]int{{100, 110, leave}, {115, 900, 905}} {
			text += fmt.Sprintf(`%[1]d 0 ENTER main
%[1]d 10 ENTER MPI_Irecv
%[1]d 10 MPI_IRECV_REQUEST 7
%[1]d 11 LEAVE MPI_Irecv
%[1]d %[3]d ENTER MPI_Isend
%[1]d %[3]d MPI_ISEND %[2]d MPI_COMM_WORLD 7 8 8
%[1]d %[6]d LEAVE MPI_Isend
%[1]d %[4]d ENTER MPI_Waitall
%[1]d %[5]d MPI_IRECV %[2]d MPI_COMM_WORLD 7 8 7
%[1]d %[5]d MPI_ISEND_COMPLETE 8
%[1]d %[5]d LEAVE MPI_Waitall
%[1]d 2000 LEAVE main
`, p, 1-p, x[0], x[1], x[2], x[0]+1)
		}
		got := uint64(0)
		for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
			if f.Kind == "late_progress" {
				got = f.Ticks
			}
		}
		if got != want {
			t.Errorf("%d: %d, want %d", leave, got, want)
		}
	}
}

// TestStaysInCollective: three processes begin MPI_Iallreduce at 100, 200 and 100 and complete it from 150, 200 and 150 on. Processes 0 and 2 wait 50 for the start of process 1, and 0 leaves
// then; process 2 leaves when process 1 comes back, at 900: that it stays until then is no wait, and is said.
func TestStaysInCollective(t *testing.T) {
	t.Parallel()
	text := ""
	for p, x := range [][3]int{{100, 150, 201}, {200, 900, 901}, {100, 150, 900}} {
		text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Iallreduce\n%[1]d %[2]d NON_BLOCKING_COLLECTIVE_REQUEST 5\n%[1]d %[5]d LEAVE MPI_Iallreduce\n%[1]d %[3]d ENTER MPI_Wait\n"+
			"%[1]d %[4]d NON_BLOCKING_COLLECTIVE_COMPLETE ALLREDUCE MPI_COMM_WORLD none 8 8 5\n%[1]d %[4]d LEAVE MPI_Wait\n", p, x[0], x[1], x[2], x[0]+1)
	}
	const want = "; rank 2 stays 0.699 s in MPI_Wait after the first process has left collectives without blocking, all together 0.700: MPI may move their data only while all are in calls"
	if list := jsonOf[foundIn](t, "report", foundTrace(t, program(3, text))).Findings; !slices.ContainsFunc(list, func(f finding) bool { return strings.HasSuffix(f.Text, want) }) {
		t.Errorf("%+v", list)
	}
}

// TestHangInCode: two processes wait for the third one, which computes since it left a barrier at 100.
func TestHangInCode(t *testing.T) {
	t.Parallel()
	text := ""
	for p := range 3 {
		text += meeting(p, 50, 100)
		if p < 2 {
			text += fmt.Sprintf("%[1]d 200 ENTER MPI_Allreduce\n%[1]d 200 MPI_COLLECTIVE_BEGIN\n", p)
		} else {
			text += "2 300 ENTER converge\n"
		}
	}
	text = strings.NewReplacer("0 1000 LEAVE main\n", "", "1 1000 LEAVE main\n", "", "2 1000 LEAVE main\n", "").Replace(program(3, text))
	const want = "rank 2 in no MPI call at the end, the last one was MPI_Barrier until 0.100000 s; MPI_Allreduce of ranks 0-1 did not begin on rank 2"
	if f := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings[0]; f.Kind != "hang" || !strings.Contains(f.Text, want) || !strings.HasPrefix(f.Advice, "look at what the processes in no MPI call do") {
		t.Errorf("%+v", f)
	}
}

// TestHangOfUnlike: rank 2 reduces to rank 0 what all others reduce to all; then all hang. And all are in MPI_Send, or in another call, where none is missing.
func TestHangOfUnlike(t *testing.T) {
	t.Parallel()
	unlike, sends := "-- program --\nprocesses 3\nresolution 1000\n-- events --\n", "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"
	for p := range 3 {
		name, root := "Allreduce", "none"
		if p == 2 {
			name, root = "Reduce", "0"
		}
		unlike += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 100 ENTER MPI_%[2]s\n%[1]d 100 MPI_COLLECTIVE_BEGIN\n%[1]d 110 MPI_COLLECTIVE_END %[4]s MPI_COMM_WORLD %[3]s 8 8\n%[1]d 110 LEAVE MPI_%[2]s\n%[1]d 200 ENTER MPI_Barrier\n", p, name, root, strings.ToUpper(name))
		if p < 2 {
			sends += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 100 ENTER MPI_Send\n", p)
		}
	}
	for _, x := range [][3]string{
		{unlike, "; number 0 of MPI_COMM_WORLD is not the same on all: MPI_Allreduce on ranks 0-1, MPI_Reduce with root 0 on rank 2", "let all processes call the same collective operations"},
		{sends, "ranks 0-1 in MPI_Send since 0.100000 s", "let one process of each pair receive first"},
		{strings.ReplaceAll(sends, "MPI_Send", "MPI_Comm_spawn"), "ranks 0-1 in MPI_Comm_spawn since 0.100000 s", "look at what these calls wait for: every process is in one"},
	} {
		if f := jsonOf[foundIn](t, "report", foundTrace(t, x[0])).Findings[0]; f.Kind != "hang" || !strings.Contains(f.Text, x[1]) || !strings.HasPrefix(f.Advice, x[2]) {
			t.Errorf("%+v", f)
		}
	}
}

// TestHangForMessage: rank 1 waits for a message with tag 7, which rank 0 sent with tag 99, and one more after it. What rank 0 sends to rank 2,
// which waits for no message, is not named.
func TestHangForMessage(t *testing.T) {
	t.Parallel()
	send := func(at, to, tag int) string {
		return fmt.Sprintf("0 %[1]d ENTER MPI_Send\n0 %[1]d MPI_SEND %[2]d MPI_COMM_WORLD %[3]d 8\n0 %[1]d LEAVE MPI_Send\n", at, to, tag)
	}
	text := "-- program --\nprocesses 3\nresolution 1000\n-- events --\n0 0 ENTER main\n" + send(100, 2, 5) + send(300, 1, 99) + send(400, 1, 8) +
		"0 900 ENTER MPI_Barrier\n0 900 MPI_COLLECTIVE_BEGIN\n1 0 ENTER main\n1 500 ENTER MPI_Recv\n2 0 ENTER main\n2 900 ENTER MPI_Barrier\n2 900 MPI_COLLECTIVE_BEGIN\n"
	const want = "; without a receive: 2 messages of rank 0 to rank 1, the first with tag 99, sent at 0.300000 s in MPI_Send"
	if f := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings[0]; f.Kind != "hang" || !strings.HasSuffix(f.Text, want) || !strings.HasPrefix(f.Advice, "look whether a process waits for that message") {
		t.Errorf("%+v", f)
	}
}

// TestHangLeft: rank 2 gave its part of a reduction and left it, so only rank 1 did not begin it.
func TestHangLeft(t *testing.T) {
	t.Parallel()
	text := must(t, "report", foundTrace(t, `
-- program --
processes 3
resolution 1000
-- events --
0 0 ENTER main
0 900 ENTER MPI_Reduce
0 900 MPI_COLLECTIVE_BEGIN
1 0 ENTER main
1 500 ENTER MPI_Recv
2 0 ENTER main
2 300 ENTER MPI_Reduce
2 300 MPI_COLLECTIVE_BEGIN
2 310 MPI_COLLECTIVE_END REDUCE MPI_COMM_WORLD 0 8 0
2 310 LEAVE MPI_Reduce
2 950 LEAVE main
`))
	if want := "MPI_Reduce of rank 0 did not begin on rank 1"; !strings.Contains(text, want) || strings.Contains(text, want[:len(want)-1]+"s") {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestTimelineShares: of the first fifth of the run every process is in MPI_Init, and the
// table of the page says so to the digit; after it are four fifths of own code but for a
// barrier of rank 1 from 500 to 600, half of the processes' time there.
func TestTimelineShares(t *testing.T) {
	t.Parallel()
	page := must(t, "report", foundTrace(t, `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER MPI_Init
0 200 LEAVE MPI_Init
0 600 ENTER MPI_Barrier
0 600 MPI_COLLECTIVE_BEGIN
0 600 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 600 LEAVE MPI_Barrier
0 999 ENTER main
0 1000 LEAVE main
1 0 ENTER MPI_Init
1 200 LEAVE MPI_Init
1 500 ENTER MPI_Barrier
1 500 MPI_COLLECTIVE_BEGIN
1 600 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 600 LEAVE MPI_Barrier
1 999 ENTER main
1 1000 LEAVE main
`), "--format", "html")
	_, table, _ := strings.Cut(page, `<section id="timeline"`)
	table, _, _ = strings.Cut(table, "</section>")
	cells := regexp.MustCompile(`<td[^>]*>([^<]*)</td>`).FindAllStringSubmatch(table, -1)
	var got []string
	for _, c := range cells {
		got = append(got, c[1])
	}
	// from, to, own code, barrier, other MPI
	for row, want := range map[int][]string{0: {"0.0 %", "0.0 %", "100.0 %"}, 1: {"0.0 %", "0.0 %", "100.0 %"}, 2: {"100.0 %", "0.0 %", "0.0 %"}, 5: {"50.0 %", "50.0 %", "0.0 %"}} {
		if len(got) != 50 || !slices.Equal(got[5*row+2:5*row+5], want) {
			t.Errorf("row %d: want %v in %q", row, want, got)
		}
	}
}

// TestNoFindings: what looks like a loss and is none.
func TestNoFindings(t *testing.T) {
	t.Parallel()
	const workers = `
-- program --
processes 4
resolution 1000
-- events --
0 0 ENTER main
0 0 ENTER MPI_Recv
0 900 MPI_RECV 1 MPI_COMM_WORLD 7 8
0 900 LEAVE MPI_Recv
0 900 ENTER MPI_Recv
0 900 MPI_RECV 2 MPI_COMM_WORLD 7 8
0 900 LEAVE MPI_Recv
0 900 ENTER MPI_Recv
0 900 MPI_RECV 3 MPI_COMM_WORLD 7 8
0 900 LEAVE MPI_Recv
0 1000 LEAVE main
`
	worker := func(rank string) string {
		return strings.ReplaceAll("# 0 ENTER main\n# 900 ENTER MPI_Send\n# 900 MPI_SEND 0 MPI_COMM_WORLD 7 8\n# 900 LEAVE MPI_Send\n# 1000 LEAVE main\n", "#", rank)
	}
	for name, trace := range map[string]string{
		// Rank 0 waits 900 for rank 1, but 2 and 3 compute all the time: the run cannot be shorter for that.
		"a master waits for busy workers": workers + worker("1") + worker("2") + worker("3"),
		// One of three executes prepare, but the others have work of their own.
		"coupled codes": `
-- program --
processes 3
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER prepare
0 700 LEAVE prepare
0 1000 LEAVE main
1 0 ENTER main
1 1000 LEAVE main
2 0 ENTER main
2 1000 LEAVE main
`,
	} {
		run := foundTrace(t, trace)
		for _, f := range jsonOf[foundIn](t, "report", run).Findings {
			if f.Kind == "late_sender" || f.Kind == "serial" || f.Kind == "transfer" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if name == "coupled codes" && !strings.Contains(must(t, "report", run), "\n> nothing above 1 % of the run\n") {
			t.Errorf("%s: something is found", name)
		}
	}
}

// TestClockFinding: a message of 100 ms arrives at 50, and who leaves a collective at 210 needs one that enters at 300. That is the first finding
// where such times matter; else the doubt is printed after what could be gained.
func TestClockFinding(t *testing.T) {
	t.Parallel()
	for end, first := range map[int]bool{1000: true, 100_000: false} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, strings.ReplaceAll(`
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER MPI_Send
0 100 MPI_SEND 1 MPI_COMM_WORLD 7 8
0 101 LEAVE MPI_Send
`+meeting(0, 200, 210)+meeting(0, 400, end)+`0 LAST LEAVE main
1 0 ENTER main
1 50 ENTER MPI_Recv
1 51 MPI_RECV 0 MPI_COMM_WORLD 7 8
1 51 LEAVE MPI_Recv
`+meeting(1, 300, 310)+meeting(1, end-10, end)+`1 LAST LEAVE main
`, "LAST", strconv.Itoa(end))))
		n := len(doc.Findings)
		if n < 2 {
			t.Errorf("%+v", doc.Findings)
			continue
		}
		clock, other := doc.Findings[n-1], doc.Findings[0]
		if first {
			clock, other = other, clock
		}
		if clock.Kind != "clock" || clock.Ticks != 0 || other.Kind == "clock" ||
			!strings.HasSuffix(clock.Text, "worst 0.049000000 s; members of collectives that left before one they needed had entered: 1 in 1 location, worst 0.090000000 s") {
			t.Errorf("end %d: %+v", end, doc.Findings)
		}
	}
}

// TestPolling: rank 0 asks for a message of rank 1 at 100, 200, ..., 900 and sleeps between, which is not known to be no work. Rank 1
// asks again after what it asked for was there: it does not poll.
func TestPolling(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER main\n0 100 ENTER MPI_Irecv\n0 100 MPI_IRECV_REQUEST 7\n0 100 LEAVE MPI_Irecv\n"
	for at := 100; at < 900; at += 100 {
		text += fmt.Sprintf("0 %d ENTER MPI_Test\n0 %d LEAVE MPI_Test\n", at, at+1)
	}
	text += `0 900 ENTER MPI_Test
0 901 MPI_IRECV 1 MPI_COMM_WORLD 7 8 7
0 901 LEAVE MPI_Test
0 1000 LEAVE main
1 0 ENTER main
`
	alike := ""
	for at := 100; at < 890; at += 10 {
		alike += fmt.Sprintf("1 %d ENTER MPI_Iprobe\n1 %d LEAVE MPI_Iprobe\n", at, at+1)
	}
	const send = `1 890 ENTER MPI_Isend
1 890 MPI_ISEND 0 MPI_COMM_WORLD 7 8 3
1 890 LEAVE MPI_Isend
1 895 ENTER MPI_Test
1 895 MPI_ISEND_COMPLETE 3
1 896 LEAVE MPI_Test
1 1000 LEAVE main
`
	const asks = "> asking again and again, if nothing else is done meanwhile, which is not known: up to 0.792 s of the run (79.2 %)\n    rank 0 has 0.792 s of own code between calls that ask in vain, most of it in MPI_Test, " +
		"rank 1 has least with 0.000\n    without it rank 1 computes most, 0.999, and the mean is 0.599\n    what it asks for is sent 0.790 s after it could be received, most by rank 1\n    -> If these processes"
	others := "" // are more, of another function, and take less
	for at := 100; at < 140; at += 2 {
		others += fmt.Sprintf("1 %d ENTER MPI_Iprobe\n1 %d LEAVE MPI_Iprobe\n", at, at+1)
	}
	const unknown = "> nothing above 1 % of the run is known; own code between calls that ask for messages in vain may be waiting"
	for _, x := range []struct{ text, want, without string }{{text + send, asks, unknown}, {text + others + send, "in vain, most of it in MPI_Test, rank 1 has least with 0.0190", unknown}, {text + alike + send, "between calls that ask for messages again and again", asks[:20]}} {
		out := must(t, "report", foundTrace(t, x.text))
		if !strings.Contains(out, "whether 0.792 s of rank 0 (79.2 % of the run) between calls that ask for messages again and again, as MPI_Test does, is work or waiting is not known") ||
			!strings.Contains(out, x.want) || strings.Contains(out, x.without) {
			t.Errorf("no %q, or %q, in\n%s", x.want, x.without, out)
		}
	}
}

// TestAskingCalls: process 0 asks for a message of process 1 from 100 on, which is sent at 890, and is in MPI_Test for all of that time.
func TestAskingCalls(t *testing.T) {
	t.Parallel()
	text := "0 100 ENTER MPI_Irecv\n0 100 MPI_IRECV_REQUEST 7\n0 100 LEAVE MPI_Irecv\n"
	for at := 100; at < 900; at += 100 {
		text += fmt.Sprintf("0 %d ENTER MPI_Test\n0 %d LEAVE MPI_Test\n", at, at+100)
	}
	text += "0 900 ENTER MPI_Test\n0 901 MPI_IRECV 1 MPI_COMM_WORLD 7 8 7\n0 901 LEAVE MPI_Test\n1 890 ENTER MPI_Send\n1 890 MPI_SEND 0 MPI_COMM_WORLD 7 8\n1 890 LEAVE MPI_Send\n"
	const want = "> point to point calls with waits in tests, which are not known: up to 0.801 s of the run (80.1 %)\n    rank 0 has most, most of it in MPI_Test\n    " +
		"all processes together 0.801 s in point to point calls\n    1 message of 8 B each on average\n    what it asks for is sent 0.790 s after it could be received, most by rank 1"
	if out := must(t, "report", foundTrace(t, program(2, text))); !strings.Contains(out, want) {
		t.Error(out)
	}
}

// TestFullBuffers: process 0 is in MPI_Send from 100 to 800, as where the library's buffers are full, and process 1 begins to receive at 850. From
// 870 on it waits for a message that comes at 980. Nothing tells that the first send waited, but where its receiver was: 700 of 710.
func TestFullBuffers(t *testing.T) {
	t.Parallel()
	text := "0 100 ENTER MPI_Send\n0 100 MPI_SEND 1 MPI_COMM_WORLD 7 8\n0 800 LEAVE MPI_Send\n1 850 ENTER MPI_Recv\n1 860 MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 860 LEAVE MPI_Recv\n" +
		message(0, 1, 980, 870)
	const want = "; in 98.6 % of the time of 2 sends of rank 0 the receive of what they send had not begun, most of that on rank 1"
	doc := jsonOf[foundIn](t, "report", foundTrace(t, program(2, text)))
	if i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "transfer" }); i < 0 || !strings.Contains(doc.Findings[i].Text, want) {
		t.Errorf("%+v", doc.Findings)
	}
}

// TestWaitsBesideRoots: rank 0 stays in a broadcast of rank 1 until rank 2 comes, which passes the data on to it, and rank 3 waits for
// rank 0 in the MPI_Allreduce that follows. The time of rank 0 is not said to be without waits, nor to be in MPI_Allreduce, and rank 2 is named.
func TestWaitsBesideRoots(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 4\nresolution 1000\n-- events --\n"
	for rank, at := range [4][3]int{{10, 800, 901}, {10, 11, 901}, {799, 799, 901}, {10, 11, 901}} {
		text += fmt.Sprintf("%d 0 ENTER main\n", rank)
		for k, name := range []string{"Bcast", "Allreduce"} {
			root := []string{"1", "none"}[k]
			text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_%[4]s\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[3]d MPI_COLLECTIVE_END %[5]s MPI_COMM_WORLD %[6]s 8 8\n%[1]d %[3]d LEAVE MPI_%[4]s\n",
				rank, at[k], at[k+1], name, strings.ToUpper(name), root)
		}
		text += fmt.Sprintf("%d 1000 LEAVE main\n", rank)
	}
	for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
		if f.Kind == "transfer" {
			if f.Where.Region != "MPI_Bcast" || !strings.HasPrefix(f.Text, "collective calls mostly until their last member comes: ") ||
				!strings.Contains(f.Evidence, "who comes last is rank 2, in 100.0 % of that time of 1 call of rank 0") {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("no finding")
}

// TestCauseInRootedCollective: rank 0 stays in a gather until rank 2 comes, and ranks 1 and 3 wait for rank 0 in the barrier that follows. The
// barrier's waits come from the gather on rank 0, and the sentence goes on to rank 2. Where rank 2 comes first and the gather itself takes
// long, nobody is named.
func TestCauseInRootedCollective(t *testing.T) {
	t.Parallel()
	for comes, want := range map[int]bool{1790: true, 1005: false} {
		text := "-- program --\nprocesses 4\nresolution 1000\n-- events --\n"
		for rank, at := range [4][3]int{{1010, 1800, 1901}, {1010, 1011, 1901}, {comes, comes + 1, 1901}, {1010, 1011, 1901}} {
			text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 0 ENTER MPI_Init\n%[1]d 1000 LEAVE MPI_Init\n", rank)
			for k, x := range [2][2]string{{"MPI_Gather", "GATHER MPI_COMM_WORLD 0 8 8"}, {"MPI_Barrier", "BARRIER MPI_COMM_WORLD none 0 0"}} {
				text += fmt.Sprintf("%[1]d %[2]d ENTER %[4]s\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[3]d MPI_COLLECTIVE_END %[5]s\n%[1]d %[3]d LEAVE %[4]s\n", rank, at[k], at[k+1], x[0], x[1])
			}
			text += fmt.Sprintf("%d 2000 LEAVE main\n", rank)
		}
		found := false
		for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
			if f.Kind != "barrier_wait" {
				continue
			}
			found = true
			const named = "; 98.7 % of its time there is before the last member comes; who comes last is rank 2, in 100.0 % of that time of 1 call of rank 0"
			if !strings.Contains(f.Evidence, "MPI calls in MPI_Gather on rank 0") && !strings.Contains(f.Evidence, "MPI calls in MPI_Gather, most on rank 0") || strings.Contains(f.Evidence, named) != want {
				t.Errorf("rank 2 at %d: %s", comes, f.Evidence)
			}
			if advice := map[bool]string{true: "balance the work before the call that makes others wait", false: "make the calls shorter"}[want]; !strings.HasPrefix(f.Advice, advice) {
				t.Errorf("rank 2 at %d: %s", comes, f.Advice)
			}
		}
		if !found {
			t.Errorf("rank 2 at %d: no finding: %+v", comes, jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings)
		}
	}
}

// TestUndefinedOperation: nothing is known of a collective operation that OTF2 does not define, whatever number a trace gives it: it is none on a file,
// which have numbers from 240 in rows. Rank 1 comes 500 later than rank 0, and both leave then.
func TestUndefinedOperation(t *testing.T) {
	t.Parallel()
	for op, known := range map[int]bool{0: true, 239: false, 240: false, 255: false} {
		text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"
		for rank, at := range []int{100, 600} {
			text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d %[2]d ENTER MPI_Meet\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d 601 MPI_COLLECTIVE_END %[3]d MPI_COMM_WORLD none 0 0\n%[1]d 601 LEAVE MPI_Meet\n%[1]d 1000 LEAVE main\n", rank, at, op)
		}
		kinds := map[string]bool{}
		for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
			kinds[f.Kind] = true
		}
		if kinds["transfer"] == known || kinds["serial"] != known {
			t.Errorf("operation %d: %v", op, kinds)
		}
	}
}

// TestQueuedMessages: rank 1 sends 600 messages, and rank 0 receives them after that, for 10 each: in the reverse order, where half of them are
// older than the one it receives and still there, or in their order.
func TestQueuedMessages(t *testing.T) {
	t.Parallel()
	const n = 600
	for _, reverse := range []bool{false, true} {
		text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n"
		for i := range n {
			tag := i
			if reverse {
				tag = n - 1 - i
			}
			text += fmt.Sprintf("1 %[1]d ENTER MPI_Send\n1 %[1]d MPI_SEND 0 MPI_COMM_WORLD %[2]d 8\n1 %[3]d LEAVE MPI_Send\n", 2*i+1, i, 2*i+2)
			text += fmt.Sprintf("0 %[1]d ENTER MPI_Recv\n0 %[2]d MPI_RECV 1 MPI_COMM_WORLD %[3]d 8\n0 %[2]d LEAVE MPI_Recv\n", 2000+10*i, 2009+10*i, tag)
		}
		found := jsonOf[foundIn](t, "report", foundTrace(t, text+"0 9000 LEAVE main\n1 9000 LEAVE main\n")).Findings
		i := slices.IndexFunc(found, func(f finding) bool { return f.Kind == "transfer" })
		const says = "; of what is sent to rank 0 before a message that it receives there 299 messages are received later, on average of 32 of 600 calls"
		if i < 0 || strings.Contains(found[i].Evidence, says) != reverse || strings.HasPrefix(found[i].Advice, "receive messages in the order") != reverse {
			t.Errorf("reverse %v: %+v", reverse, found)
		}
	}
}

// TestOwnOperators: where a program makes operators, nobody knows whether these take the time of its reductions. A single call is no calls.
func TestOwnOperators(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		text := "-- program --\nprocesses 1\nresolution 1000\n-- events --\n0 0 ENTER main\n"
		if own {
			text += "0 1 ENTER MPI_Op_create\n0 2 LEAVE MPI_Op_create\n"
		}
		text += "0 100 ENTER MPI_Reduce\n0 100 MPI_COLLECTIVE_BEGIN\n0 900 MPI_COLLECTIVE_END REDUCE MPI_COMM_WORLD 0 8 8\n0 900 LEAVE MPI_Reduce\n0 1000 LEAVE main\n"
		run := foundTrace(t, text)
		found := jsonOf[foundIn](t, "report", run).Findings
		if len(found) == 0 || strings.Contains(found[0].Text, "; the program has operators of its own (MPI_Op_create)") != own {
			t.Errorf("%v: %+v", own, found)
		}
		if out := must(t, "report", run); !strings.Contains(out, "collectives  1 call, ") {
			t.Error(out)
		}
	}
}

// TestOutsideMembers: rank 0 waits in a barrier for a process that is not in the trace, as one that MPI_Comm_spawn started. Its time is not said to be without waits.
func TestOutsideMembers(t *testing.T) {
	t.Parallel()
	for _, comm := range []string{"MPI_COMM_WORLD", "spawned"} {
		text := "-- program --\nprocesses 2\nresolution 1000\ncomm spawned 0 1 7\n-- events --\n"
		for rank := range 2 {
			text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 100 ENTER MPI_Barrier\n%[1]d 100 MPI_COLLECTIVE_BEGIN\n%[1]d 900 MPI_COLLECTIVE_END BARRIER %[2]s none 0 0\n%[1]d 900 LEAVE MPI_Barrier\n%[1]d 1000 LEAVE main\n", rank, comm)
		}
		found := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings
		if len(found) == 0 || strings.Contains(found[0].Text, "waits for processes that are not in the trace, which are not known") != (comm == "spawned") {
			t.Errorf("%s: %+v", comm, found)
		}
	}
}

// TestEarlyRoot: process 0, the root, is in MPI_Bcast from 100 to 300 and leaves long before process 2 comes at 900; process 1 waits up to 300
// for what process 0 sends after it, and process 2 up to 600 for process 1. No time of process 0 is before the last member comes, and nobody is named for it.
func TestEarlyRoot(t *testing.T) {
	text := "-- program --\nprocesses 3\nresolution 1000\n-- events --\n"
	for rank, at := range [3][2]int{{100, 300}, {310, 320}, {900, 901}} {
		text += fmt.Sprintf("%d 0 ENTER main\n", rank)
		if rank > 0 {
			text += fmt.Sprintf("%[1]d 10 ENTER MPI_Recv\n%[1]d %[2]d MPI_RECV %[3]d MPI_COMM_WORLD 7 8\n%[1]d %[2]d LEAVE MPI_Recv\n", rank, 300*rank, rank-1)
		}
		text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Bcast\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[3]d MPI_COLLECTIVE_END BCAST MPI_COMM_WORLD 0 8 8\n%[1]d %[3]d LEAVE MPI_Bcast\n", rank, at[0], at[1])
		if rank < 2 {
			text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Send\n%[1]d %[2]d MPI_SEND %[3]d MPI_COMM_WORLD 7 8\n%[1]d %[4]d LEAVE MPI_Send\n", rank, 300*rank+300, rank+1, 300*rank+301)
		}
		text += fmt.Sprintf("%d 1000 LEAVE main\n", rank)
	}
	named := false
	for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
		named = named || f.Kind == "late_sender" && strings.Contains(f.Evidence, "MPI calls in MPI_Bcast")
		if strings.Contains(f.Text, "last member") || strings.Contains(f.Text, "comes last is rank 2") {
			t.Errorf("%+v", f)
		}
	}
	if !named {
		t.Error("no wait that comes from MPI_Bcast")
	}
}

// TestWaitsWithoutPartners: where most messages have no other side, nobody says that their calls do not wait.
func TestWaitsWithoutPartners(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		message(0, 1, 600, 580): "point to point calls without waits: ",
		strings.Replace(message(0, 1, 600, 580), "MPI_COMM_WORLD 7", "MPI_COMM_WORLD 9", 1): "point to point calls with waits, which are not known: ",
		// Without a message, what MPI_Wait takes is not point to point communication: it completes a collective, whose waits are known.
		started(0, 100) + started(1, 100): "completing calls without waits: up to 0.390 s of the run (39.0 %): rank 0 has most, most of it in MPI_Wait; ",
	} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, program(2, lines)))
		if !slices.ContainsFunc(doc.Findings, func(f finding) bool { return f.Kind == "transfer" && strings.HasPrefix(f.Text, want) }) {
			t.Errorf("no %q in %+v", want, doc.Findings)
		}
	}
}

// started is a collective that a process begins, and completes 400 later with a wait of 390.
func started(p, t int) string {
	return fmt.Sprintf(`%[1]d %[2]d ENTER MPI_Ibcast
%[1]d %[2]d NON_BLOCKING_COLLECTIVE_REQUEST 1
%[1]d %[3]d LEAVE MPI_Ibcast
%[1]d %[4]d ENTER MPI_Wait
%[1]d %[5]d NON_BLOCKING_COLLECTIVE_COMPLETE BCAST MPI_COMM_WORLD 0 8 8 1
%[1]d %[5]d LEAVE MPI_Wait
`, p, t, t+1, t+10, t+400)
}

// TestWaitsOfExchanges: rank 0 has what it receives, and its send waits for rank 1, which the records do not tell. So nobody says
// that it does not wait.
func TestWaitsOfExchanges(t *testing.T) {
	t.Parallel()
	for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 200 ENTER MPI_Sendrecv
0 200 MPI_SEND 1 MPI_COMM_WORLD 7 8
0 700 MPI_RECV 1 MPI_COMM_WORLD 7 8
0 700 LEAVE MPI_Sendrecv
0 1000 LEAVE main
1 0 ENTER main
1 100 ENTER MPI_Send
1 100 MPI_SEND 0 MPI_COMM_WORLD 7 8
1 110 LEAVE MPI_Send
1 690 ENTER MPI_Recv
1 710 MPI_RECV 0 MPI_COMM_WORLD 7 8
1 710 LEAVE MPI_Recv
1 1000 LEAVE main
`)).Findings {
		if f.Kind == "transfer" {
			if f.Where.Region != "MPI_Sendrecv" || !strings.HasPrefix(f.Text, "point to point calls with waits of their sends, which are not known: ") ||
				!strings.Contains(f.Evidence, "in 98.0 % of the time of 1 such call of rank 0 the receive of what they send had not begun, most of that on rank 1") {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("no finding")
}

// TestWaitsWithoutData: of three that exchange in MPI_Alltoallv nobody has anything for rank 2, which leaves after the last one came.
func TestWaitsWithoutData(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 3\nresolution 1000\n-- events --\n"
	for rank, x := range [3]struct {
		enter          int
		sent, received int
	}{{700, 8, 0}, {600, 0, 8}, {100, 0, 0}} {
		text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d %[2]d ENTER MPI_Alltoallv\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d 710 MPI_COLLECTIVE_END ALLTOALLV MPI_COMM_WORLD none %[3]d %[4]d\n%[1]d 710 LEAVE MPI_Alltoallv\n%[1]d 1000 LEAVE main\n",
			rank, x.enter, x.sent, x.received)
	}
	for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
		if f.Kind == "transfer" {
			if f.Where.Region != "MPI_Alltoallv" || !strings.HasPrefix(f.Text, "collective calls mostly until their last member comes: ") ||
				!strings.Contains(f.Evidence, "who comes last is rank 0, in 100.0 % of that time of 1 call of rank 2") {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("no finding")
}

// TestRegionsOfEachProcess: a writer that does not join the definitions of processes, and calls MPI functions of the user, has a region
// of each process for the same function. Sums are of all of them, and nobody says that one process alone executes it.
func TestRegionsOfEachProcess(t *testing.T) {
	t.Parallel()
	text := "-- definitions --\n"
	for i, name := range []string{"Working", "Working", "MPI_Barrier", "MPI_Barrier"} {
		text += fmt.Sprintf("STRING self=%[1]d string=%[2]q\nREGION self=%[3]d name=%[1]d description=%[1]d canonical_name=%[1]d region_role=1 paradigm=1\n", i, name, 90+i)
	}
	text += "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"
	for rank, at := range []int{100, 700} {
		text += fmt.Sprintf("%[1]d 0 ENTER %[2]d\n%[1]d %[4]d ENTER %[3]d\n%[1]d %[4]d MPI_COLLECTIVE_BEGIN\n%[1]d 710 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0\n%[1]d 710 LEAVE %[3]d\n%[1]d 1000 LEAVE %[2]d\n",
			rank, 90+rank, 92+rank, at)
	}
	file := foundTrace(t, text)
	if f := jsonOf[foundIn](t, "report", file).Findings; len(f) == 0 || f[0].Ticks != 600 || f[0].Where.Region != "Working" || strings.Contains(f[0].Text, "execute Working") {
		t.Errorf("%+v", f)
	}
	p := jsonOf[struct {
		Profile struct{ Regions []results.RegionTime }
	}](t, "report", file, "profile").Profile.Regions
	if len(p) != 2 || p[0].Name != "Working" || p[0].Processes != 2 || p[0].Calls != 2 || p[0].Exclusive != 100+290+700+290 || p[1].Class != "barrier" || p[1].Calls != 2 {
		t.Errorf("%+v", p)
	}
	must(t, "check", file)
}

// TestRegionsInEachOther: of calls of one function that lie in each other the outermost alone counts as inclusive time, also where
// definitions of several processes are alike. Whoever adds up rows, the graph or a window says the same.
func TestRegionsInEachOther(t *testing.T) {
	t.Parallel()
	text := "-- definitions --\n"
	for ref := 90; ref < 92; ref++ {
		text += fmt.Sprintf("STRING self=%[1]d string=\"Working\"\nREGION self=%[2]d name=%[1]d description=%[1]d canonical_name=%[1]d region_role=1 paradigm=1\n", ref-90, ref)
	}
	file := foundTrace(t, text+`-- program --
processes 1
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER 91
0 200 ENTER 90
0 300 ENTER 91
0 400 LEAVE 91
0 500 LEAVE 90
0 600 ENTER MPI_Barrier
0 700 LEAVE MPI_Barrier
0 900 LEAVE 91
0 1000 LEAVE main
`)
	must(t, "check", file)
	for _, source := range []string{"rows", "graph"} {
		p := jsonOf[struct {
			Profile struct{ Regions []results.RegionTime }
		}](t, "report", file, "profile", "--source", source).Profile.Regions
		if k := slices.IndexFunc(p, func(x results.RegionTime) bool { return x.Name == "Working" }); k < 0 || p[k].Calls != 3 || p[k].Inclusive != 800 || p[k].Exclusive != 700 {
			t.Errorf("%s: %+v", source, p)
		}
	}
}

// TestWaitsOfTwoCauses: what a process waits in a broadcast is its loss, also where the root makes others wait elsewhere too and so computes
// above the mean by more. Where a pattern is waited in two calls, both are named, and for whom.
func TestWaitsOfTwoCauses(t *testing.T) {
	t.Parallel()
	meeting := func(text *strings.Builder, call, record string, comes []int) {
		for rank, at := range comes {
			fmt.Fprintf(text, "%[1]d %[4]d ENTER MPI_%[2]s\n%[1]d %[4]d MPI_COLLECTIVE_BEGIN\n%[1]d %[5]d MPI_COLLECTIVE_END %[3]s 8 8\n%[1]d %[5]d LEAVE MPI_%[2]s\n", rank, call, record, at, slices.Max(comes)+1)
		}
	}
	for _, x := range []struct {
		root, late int // who comes 400 late to the first call, and 150 to the second
		calls      [2][2]string
		want       string
	}{
		{0, 0, [2][2]string{{"Bcast", "BCAST MPI_COMM_WORLD 0"}, {"Barrier", "BARRIER MPI_COMM_WORLD none"}}, "late broadcast: up to 0.400 s of the run"},
		{1, 2, [2][2]string{{"Alltoall", "ALLTOALL MPI_COMM_WORLD none"}, {"Allreduce", "ALLREDUCE MPI_COMM_WORLD none"}}, "\n    next to that 0.150 on rank 0 in MPI_Allreduce, for rank 2"},
	} {
		text := &strings.Builder{}
		text.WriteString("-- program --\nprocesses 4\nresolution 1000\n-- events --\n")
		for rank := range 4 {
			fmt.Fprintf(text, "%d 0 ENTER main\n", rank)
		}
		first, second := []int{10, 10, 10, 10}, []int{421, 421, 421, 421}
		first[x.root] += 400
		second[x.late] += 150
		meeting(text, x.calls[0][0], x.calls[0][1], first)
		meeting(text, x.calls[1][0], x.calls[1][1], second)
		for rank := range 4 {
			fmt.Fprintf(text, "%d 600 LEAVE main\n", rank)
		}
		out := must(t, "report", foundTrace(t, text.String()))
		if several := strings.Count(out, ": up to ") > 1; !strings.Contains(out, x.want) || strings.Contains(out, "\ngains of findings overlap: they do not add up\n") != several {
			t.Errorf("no %q, or not that gains overlap, in\n%s", x.want, out)
		}
	}
}

// TestManyCollectives: 1000 operations of 8 bytes take 10 each, without anything between. Where process 1 leaves each 5 later, so that process 0
// waits for it in the next one, it is the same loss. A trace counts what a member gives once for each member.
func TestManyCollectives(t *testing.T) {
	t.Parallel()
	for _, x := range [...]struct {
		later, bytes int
		kind, each   string
	}{
		{0, 8, "small_messages", "4 B"}, {5, 8, "nxn_wait", "4 B"}, {0, 2000, "small_messages", "1 kB"}, {5, 2000, "nxn_wait", "1 kB"},
	} {
		later := x.later
		text := &strings.Builder{}
		for k := range 1000 {
			for p := range 2 {
				begin := 10*k + p*later
				end := begin + 10
				if later > 0 && p == 0 {
					end = begin + later + 2
				}
				fmt.Fprintf(text, "%[1]d %[2]d ENTER MPI_Allreduce\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[3]d MPI_COLLECTIVE_END ALLREDUCE MPI_COMM_WORLD none %[4]d %[4]d\n%[1]d %[3]d LEAVE MPI_Allreduce\n", p, begin, end, x.bytes)
			}
		}
		doc := jsonOf[foundIn](t, "report", foundTrace(t, "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"+text.String()))
		if f := doc.Findings[0]; f.Kind != x.kind || !strings.Contains(f.Text, "a process calls MPI_Allreduce 1 000 times, with "+x.each+" a member on average") || !strings.HasPrefix(f.Advice, "let processes meet less often") {
			t.Errorf("%+v: %+v", x, f)
		}
	}
}

// TestLongInFewCalls: 1200 steps with an operation of 8 bytes take 3 or 4 each. In step 600 a call takes 20000 more, as where a process is stopped: its
// partner was there, and the bytes do not explain it. Joining messages, or meeting less often, is no advice then; where a message of 1 MB is
// sent there, its bytes may take that time.
func TestLongInFewCalls(t *testing.T) {
	t.Parallel()
	const completes = `0 %[1]d ENTER MPI_Isend
0 %[1]d MPI_ISEND 1 MPI_COMM_WORLD 7 %[5]d %[4]d
0 %[2]d LEAVE MPI_Isend
0 %[2]d ENTER MPI_Waitall
0 %[3]d MPI_ISEND_COMPLETE %[4]d
0 %[3]d LEAVE MPI_Waitall
1 %[1]d ENTER MPI_Irecv
1 %[1]d MPI_IRECV_REQUEST %[4]d
1 %[2]d LEAVE MPI_Irecv
1 %[2]d ENTER MPI_Waitall
1 %[3]d MPI_IRECV 0 MPI_COMM_WORLD 7 %[5]d %[4]d
1 %[3]d LEAVE MPI_Waitall
`
	both := func(lines string) string {
		return lines + strings.NewReplacer("0 %", "1 %", "SEND 1", "SEND 0", "RECV 1", "RECV 0").Replace(lines)
	}
	reduce := "0 %[2]d ENTER MPI_Allreduce\n0 %[2]d MPI_COLLECTIVE_BEGIN\n0 %[3]d MPI_COLLECTIVE_END ALLREDUCE MPI_COMM_WORLD none 8 8\n0 %[3]d LEAVE MPI_Allreduce\n"
	const unknown = ": what it waits for there is not known"
	for _, x := range []struct {
		name, lines, kind, text string
		bytes                   int
	}{
		{"eager send", completes, "transfer", "84.8 % of what rank 0 spends in MPI_Waitall is in 1 of 1 200 calls, the longest 20.003 s until 26.004000 s, with 8 B" + unknown, 8},
		{"long message", completes, "transfer", "until 26.004000 s, with 1.05 MB", 1 << 20},
		{"exchange", both("0 %[1]d ENTER MPI_Sendrecv\n0 %[1]d MPI_SEND 1 MPI_COMM_WORLD 7 8\n0 %[3]d MPI_RECV 1 MPI_COMM_WORLD 7 8\n0 %[3]d LEAVE MPI_Sendrecv\n"), "transfer", "is in 1 of 1 200 calls, the longest 20.004 s until 26.004000 s, with 16 B" + unknown, 8},
		{"collective", both(reduce), "transfer", "is in 1 of 1 200 calls, the longest 20.003 s until 26.004000 s" + unknown, 8},
		{"late out of a collective", strings.NewReplacer("%[2]d", "%[7]d", "%[3]d", "%[6]d").Replace(reduce) + strings.ReplaceAll(reduce, "0 %", "1 %"), "nxn_wait", "of what rank 1 spends in MPI_Allreduce is in 1 of 1 200 calls", 8},
	} {
		text := &strings.Builder{}
		for k := range 1200 {
			begin, first, bytes, long := 10*k, 10*k+1, 8, 0 // first is when who leaves before the other one comes again
			switch {
			case k == 600:
				bytes, long = x.bytes, 20000
			case k == 601:
				begin += 20000
			case k > 601:
				begin, first = begin+20000, first+20000
			}
			fmt.Fprintf(text, x.lines, begin, begin+1, begin+4+long, k, bytes, begin+4, first)
		}
		f := jsonOf[foundIn](t, "report", foundTrace(t, "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"+text.String())).Findings[0]
		if f.Kind != x.kind || !strings.Contains(f.Text, x.text) || strings.Contains(f.Text, unknown) != (x.bytes == 8) || f.Advice != "" {
			t.Errorf("%s: %+v", x.name, f)
		}
	}
}

// TestRecordedSynchronisation: two processes launch kernels on a device of their own and wait for them by a function that is recorded as the program's own are,
// 600 and 100, and meet. What process 1 waits for is no computing of process 0.
func TestRecordedSynchronisation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"\"Kokkos::fence(std::string const&)\"": false, "cudaDeviceSynchronize": false, "solve": true} {
		lines := ""
		for p, at := range [...]int{700, 200} {
			lines += fmt.Sprintf("%[1]d 100 ENTER %[3]s\n%[1]d %[2]d LEAVE %[3]s\n", p, at, name) + meeting(p, at, 702)
		}
		for _, graph := range []bool{false, true} {
			out := must(t, "report", foundTrace(t, program(2, lines), func(o *analyze.Options) { o.GraphOnly = graph }))
			if strings.Contains(out, "> imbalance: ") != want || !want && !graph && !strings.Contains(out, "100.0 % of the waits come from device wait in ") {
				t.Errorf("%s: imbalance is to be %t in\n%s", name, want, out)
			}
		}
	}
}

// TestReducedBytes: two processes reduce vectors for all in 500. What the trace counts is what each gives, for each member: of 100 kB, 200 kB sent
// and received. Long are 131 072 bytes, given and got.
func TestReducedBytes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]string{100_000: "transfer", 150_000: "long_messages"} {
		lines := ""
		for p := range 2 {
			lines += fmt.Sprintf("%[1]d 100 ENTER MPI_Allreduce\n%[1]d 100 MPI_COLLECTIVE_BEGIN\n%[1]d 600 MPI_COLLECTIVE_END ALLREDUCE MPI_COMM_WORLD none %[2]d %[2]d\n%[1]d 600 LEAVE MPI_Allreduce\n", p, 2*bytes)
		}
		f := jsonOf[foundIn](t, "report", foundTrace(t, program(2, lines))).Findings[0]
		if f.Kind != want || want == "long_messages" && !strings.Contains(f.Evidence, "a process sends and receives 300 kB in a call of MPI_Allreduce on average") {
			t.Errorf("%d bytes: %+v", bytes, f)
		}
	}
}

// TestTrend: 40 executions of an interval end with a barrier, in each process 1 computes 10 and waits for process 0, which computes as a
// case says; all leave the barrier 1 after process 0 comes.
//
//   - From execution 10 on process 0 computes 1 more in each: 0 + 1 + ... + 29 = 435 in all, the last one takes 10 + 29 + 1.
//   - From execution 20 on it computes 10 more: 200. The same in 1024 executions, which are looked at in 256 parts, from 512 on: 5120.
//   - Long ones now and then, a long one at the end, shorter ones, or a change of a tenth are not a trend.
func TestTrend(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name     string
		runs     int
		work     func(k int) int
		ticks    uint64
		evidence string
	}{
		{"rising", 40, func(k int) int { return 10 + max(0, k-10) }, 435, "step takes 0.0110 s in execution 10 of 40, then 0.00100 more in each, 0.0400 at the end; from the executions before to the last ones it grows by 0.0275 s on average, and CPU time most on rank 0, by 0.0275"},
		{"from the first", 40, func(k int) int { return 10 + k }, 780, "takes 0.0110 s in execution 0 of 40, then 0.00100 more in each, 0.0500 at the end"},
		{"a jump", 40, func(k int) int { return 10 + k/20*10 }, 200, "takes 0.0110 s before execution 20 of 40, from then on 0.0210; "},
		{"a jump of many", 1024, func(k int) int { return 10 + k/512*10 }, 5120, "takes 0.0110 s before execution 512 of 1 024, from then on 0.0210; "},
		{"now and then", 40, func(k int) int { return 10 + []int{0, 1, 30, 2, 0, 1, 0}[k%7] }, 0, ""},
		{"the last one", 40, func(k int) int { return 10 + k/39*200 }, 0, ""},
		{"falling", 40, func(k int) int { return 60 - k }, 0, ""},
		{"a tenth", 40, func(k int) int { return 100 + k/4 }, 0, ""},
	} {
		text := strings.Replace(three, "processes 3", "processes 2", 1)
		for p := range 2 {
			at := 0
			for k := range x.runs {
				end := at + x.work(k) + 1
				text += fmt.Sprintf("%d %d ENTER step\n", p, at) + meeting(p, [...]int{end - 1, at + 10}[p], end) + fmt.Sprintf("%d %d LEAVE step\n", p, end)
				at = end
			}
		}
		file := foundTrace(t, text, func(o *analyze.Options) { o.Intervals = interval.Flags{Intervals: []string{"region:step"}} })
		doc := jsonOf[foundIn](t, "report", file)
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "trend" })
		switch {
		case i < 0 && x.ticks == 0:
		case i < 0 || doc.Findings[i].Ticks != x.ticks || !strings.Contains(doc.Findings[i].Evidence, x.evidence):
			t.Errorf("%s: %+v", x.name, doc.Findings)
		}
	}
}

// TestLateForATime: two processes meet in 40 barriers, each a tick after the last one comes, and compute for 5 before. Process 1 computes for 50 in
// the first calls, or in some in the middle, which is not now and then; where it does so in more than half of them it is late on the whole.
func TestLateForATime(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name        string
		first, last int // steps in which process 1 is late
		text        string
	}{
		{"at first", 0, 3, "rank 1 is late for a time, mostly in calls 1 to 4: 100.0 % of what rank 0 waits there are in 4 of 40 calls"},
		{"for longer", 0, 14, "rank 1 is late for a time, mostly in calls 1 to 15: 100.0 % of what rank 0 waits there are in 15 of 40 calls"},
		{"meanwhile", 20, 24, "rank 1 is late for a time, mostly in calls 21 to 25: 100.0 % of what rank 0 waits there are in 5 of 40 calls"},
		{"on the whole", 0, 29, "rank 1 computes 1.500 s"},
	} {
		at, text := 0, "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"
		for k := range 40 {
			last := at + 5
			if x.first <= k && k <= x.last {
				last = at + 50
			}
			text += meeting(0, at+5, last+1) + meeting(1, last, last+1)
			at = last + 1
		}
		doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
		if len(doc.Findings) == 0 || !strings.Contains(doc.Findings[0].Text, x.text) || strings.Contains(doc.Findings[0].Text, "for a time") != strings.Contains(x.text, "for a time") {
			t.Errorf("%s: %+v", x.name, doc.Findings)
		}
	}
}

// TestWorkOfAll: process 0 computes for 900 of 1000 until it meets process 1, which does nothing and waits; after that both compute for 99. The run is
// shorter by 900 where all that work is gone. Shared out it takes 549 at least.
func TestWorkOfAll(t *testing.T) {
	t.Parallel()
	doc := jsonOf[foundIn](t, "report", foundTrace(t, program(2, meeting(0, 900, 901)+meeting(1, 0, 901))))
	const want = "as long as all compute as much together, the run could be shorter by no more than 0.451 s"
	if len(doc.Findings) == 0 || !strings.Contains(doc.Findings[0].Text, want) {
		t.Errorf("%+v", doc.Findings)
	}
}

// TestNowAndThen: three processes meet 96 times after computing for 5; all leave 1 after the last one comes. In one of each 12 steps, 8 of 96,
// process 1 computes 60, and the others wait 55: 440 in all. Process 1 computes 96 x 5 + 440 = 920, the others 480. That is not a serial
// section: it may be work of its own or an interruption, and the kernel may know which. Where process 1 computes 60 in each of the
// first 12 steps, which are all, it computes alone in each of them. Where it is in every 12th step, the program does it.
func TestNowAndThen(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name               string
		steps, every       int
		late               []int    // processes that are late, in turn
		delays             []uint64 // ticks that each process had no processor
		kind, what, advice string
	}{
		{"not known", 96, 12, []int{1}, nil, "imbalance", "rank 1 is late now and then: 100.0 % of what rank 0 waits there are in 8 of 96 calls, the longest until 0.126000 s, by work of its own then, or an interruption: the trace does not tell which", "look at what the process that makes others wait does"},
		{"known", 96, 12, []int{1}, []uint64{10, 430, 20}, "interruptions", "in 8 of 96 calls, the longest until 0.126000 s; it was ready to run and had no processor for 0.430 s between its MPI calls, others for no more than 0.0200", "keep other programs off"},
		{"another reason", 96, 12, []int{1}, []uint64{10, 200, 20}, "imbalance", "the trace does not tell which", "look at what the process that makes others wait does"},
		{"more work too", 96, 12, []int{1}, []uint64{10, 300, 20}, "imbalance", "the trace does not tell which", "look at what the process that makes others wait does"},
		{"all had to wait", 96, 12, []int{1}, []uint64{300, 430, 20}, "imbalance", "the trace does not tell which", "look at what the process that makes others wait does"},
		{"regular", 96, -12, []int{1}, []uint64{10, 20, 20}, "imbalance", "rank 1 is late regularly, 12 such calls apart or a multiple of that: 100.0 % of what rank 0 waits there are in 8 of 96 calls, the longest until 0.126000 s; rank 1 computes", "look at what the process that makes others wait does before these calls and before no other"},
		{"regular, not known", 96, -12, []int{1}, nil, "imbalance", "rank 1 is late regularly, 12 such calls apart or a multiple of that: 100.0 % of what rank 0 waits there are in 8 of 96 calls, the longest until 0.126000 s, by work of its own then, or an interruption: the trace does not tell which", "look at what the process that makes others wait does in these steps and in no other"},
		{"regular, and known", 96, -12, []int{1}, []uint64{10, 430, 20}, "interruptions", "in 8 of 96 calls, the longest until 0.126000 s; it was ready to run and had no processor", "keep other programs off"},
		{"once", 30, 30, []int{1}, nil, "imbalance", "rank 1 is late once: 100.0 % of what rank 0 waits there are in 1 of 30 calls, the longest until 0.234000 s, by work of its own then", "look at what the process that makes others wait does"},
		{"several", 96, 12, []int{1, 2, 2}, nil, "barrier_wait", "2 processes, mostly rank 2, are late now and then: 100.0 % of what rank 0 waits there are in 8 of 96 calls, the longest until 0.126000 s", "look at what the process that makes others wait does"},
		{"in each", 12, 1, []int{1}, []uint64{10, 430, 20}, "serial", "rank 1 was ready to run and had no processor for 0.430 of 0.660 s", "let the process that computes longest have a processor first"},
	} {
		text := three
		late := [8]int{11, 3, 8, 0, 10, 5, 2, 11}
		if x.every != 12 {
			x.every = max(x.every, -x.every)
			for i := range late {
				late[i] = x.every - 1
			}
		}
		for p := range 3 {
			at := 0
			for k := range x.steps {
				last := at + 5
				if k%x.every == late[k/x.every%len(late)] {
					last = at + 60
				}
				from := last
				if p != x.late[k/x.every%len(x.late)] {
					from = at + 5
				}
				text += meeting(p, from, last+1)
				at = last + 1
			}
		}
		file := foundTrace(t, text, func(o *analyze.Options) {
			d := o.Source.Definitions()
			name := uint32(len(d.Strings))
			d.Strings = append(d.Strings, trace.String{Ref: name, Value: trace.PropertyDelay})
			for p, ticks := range x.delays { // of 1 ms
				d.LocationProperties = append(d.LocationProperties, trace.LocationProperty{Location: uint64(p), Name: name, Value: trace.Value{Type: trace.TypeUint64, Bits: ticks * 1e6}})
			}
			d.Seal()
		})
		f := jsonOf[foundIn](t, "report", file).Findings[0]
		if f.Kind != x.kind || !strings.Contains(f.Text, x.what) || !strings.HasPrefix(f.Advice, x.advice) || x.every > 1 && f.Ticks != uint64(55*x.steps/x.every) {
			t.Errorf("%s: %+v", x.name, f)
		}
	}
}

// TestMetInInit: process 1 begins 100 ticks after process 0, which waits for it in MPI_Init until 120, and for its message from 130 to 298.
// Process 1 computes longer since they met, and stays in MPI_Init a tick longer. Where process 0 has left MPI_Init before, it is not: what process 1
// computes more than process 0 is 177 + 1 - 45, and before its first event it is for 100: of 168 these are 96.
func TestMetInInit(t *testing.T) {
	for left, share := range map[int]float64{120: 167.0 / 168, 90: 96.0 / 168} {
		f := jsonOf[foundIn](t, "report", foundTrace(t, fmt.Sprintf(`
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 5 ENTER MPI_Init
0 %d LEAVE MPI_Init
0 130 ENTER MPI_Recv
0 300 MPI_RECV 1 MPI_COMM_WORLD 7 8
0 300 LEAVE MPI_Recv
0 310 LEAVE main
1 100 ENTER main
1 101 ENTER MPI_Init
1 121 LEAVE MPI_Init
1 298 ENTER MPI_Send
1 298 MPI_SEND 0 MPI_COMM_WORLD 7 8
1 298 LEAVE MPI_Send
1 310 LEAVE main
`, left))).Findings[0]
		if f.Kind != "late_sender" || f.Ticks != 168 || f.Cause == nil || f.Cause.Process != 1 || f.Cause.Activity != "cpu" || math.Abs(f.Cause.Share-share) > 1e-6 {
			t.Errorf("left at %d: %+v %+v", left, f, f.Cause)
		}
	}
}

// TestBeforeInit: of three processes the second one computes 300 ticks before MPI_Init, where the others wait for it, with nothing or 200 of their
// own before. After that all compute 100, and there is no imbalance; or the second one 350: of these the mean is 183, and it has 167 more.
func TestBeforeInit(t *testing.T) {
	for _, x := range [...]struct {
		before, late int
		want         uint64
	}{{0, 0, 0}, {0, 250, 167}, {200, 0, 0}, {200, 250, 167}} {
		text := "-- program --\nprocesses 3\nresolution 1000\n-- events --\n"
		for p, x := range [3][2]int{{x.before, 100}, {300, 100 + x.late}, {x.before, 100}} {
			text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d %[2]d ENTER MPI_Init\n%[1]d 310 LEAVE MPI_Init\n%[1]d %[3]d ENTER MPI_Finalize\n%[1]d 700 LEAVE MPI_Finalize\n%[1]d 700 LEAVE main\n", p, x[0], 310+x[1])
		}
		doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "imbalance" })
		switch {
		case x.want == 0 && i >= 0:
			t.Errorf("%+v: %+v", x, doc.Findings[i])
		case x.want > 0 && (i < 0 || doc.Findings[i].Ticks != x.want || !strings.Contains(doc.Findings[i].Evidence, "rank 1 computes 0.350 s, the mean is 0.183, rank 0 has least with 0.100; what they compute before MPI_Init is not counted here, of rank 1 it is 0.300")):
			t.Errorf("%+v: %+v", x, doc.Findings)
		}
	}
}

// TestEndsOfSends: process 0 begins a send of 10 ticks and stays in MPI_Wait for 400. Whether that waits for the receiver is known where the trace has the
// end of the send alone.
func TestEndsOfSends(t *testing.T) {
	for send, unseen := range map[string]bool{
		"0 100 MPI_SEND 1 MPI_COMM_WORLD 7 8\n0 110 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n":                                true,
		"0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 5\n0 100 MPI_ISEND_COMPLETE 5\n0 110 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n": true,
		"0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 5\n0 110 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n":                             true,
		"0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 5\n0 110 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n0 510 MPI_ISEND_COMPLETE 5\n": false,
		"0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 5\n0 110 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n0 110 MPI_ISEND_COMPLETE 5\n": false,
	} {
		text := program(2, "0 100 ENTER MPI_Isend\n"+send+"0 510 LEAVE MPI_Wait\n1 500 ENTER MPI_Recv\n1 510 MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 510 LEAVE MPI_Recv\n")
		report := must(t, "report", foundTrace(t, text))
		for _, what := range [...]string{"> point to point calls with waits of their sends, which are not known", "when sends that do not block end is not in the trace"} {
			if strings.Contains(report, what) != unseen {
				t.Errorf("%s%q: %t\n%s", send, what, !unseen, report)
			}
		}
	}
}

// TestImbalanceBeforeFiles: process 1 computes 500 of 600 ticks and writes for 100, the others compute 100 and are in the same call for 500, of which
// the waits are not known. The mean is 233, so the run could be shorter by 267, though who writes most has 500 of that.
func TestImbalanceBeforeFiles(t *testing.T) {
	text := ""
	for p, computes := range [3]int{100, 500, 100} {
		text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_File_write_all\n%[1]d 600 LEAVE MPI_File_write_all\n", p, computes)
	}
	for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, strings.ReplaceAll(program(3, text), "1000 LEAVE main", "600 LEAVE main"))).Findings {
		if f.Kind == "imbalance" {
			if f.Ticks != 267 {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("no imbalance")
}

// TestLateMessageOnce: of 30 messages, one each 10 ticks, the 20th comes 200 ticks late. The sender sleeps for nearly all of that: 50 or 300 of its
// 500 ticks it has a processor, and 20 it wants one.
func TestLateMessageOnce(t *testing.T) {
	t.Run("mostly asleep", func(t *testing.T) { lateMessageOnce(t, 50e6, "0.430") })
	t.Run("asleep for most of the waits", func(t *testing.T) { lateMessageOnce(t, 300e6, "0.180") })
}

func lateMessageOnce(t *testing.T, cpu uint64, asleep string) {
	t.Helper()
	text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n"
	for k := range 30 {
		at, sent := 10*k, 10*k+8
		if k >= 20 {
			at, sent = at+200, sent+200
		}
		begin := at
		if k == 20 {
			begin = at - 200
		}
		text += fmt.Sprintf("0 %[1]d ENTER MPI_Send\n0 %[1]d MPI_SEND 1 MPI_COMM_WORLD 7 8\n0 %[1]d LEAVE MPI_Send\n1 %[2]d ENTER MPI_Recv\n1 %[1]d MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 %[1]d LEAVE MPI_Recv\n", sent, begin+7)
	}
	file := foundTrace(t, text+"0 500 LEAVE main\n1 500 LEAVE main\n", func(o *analyze.Options) {
		d := o.Source.Definitions()
		for k, name := range []string{trace.PropertyCPUTime, trace.PropertyDelay} {
			ref := uint32(len(d.Strings))
			d.Strings = append(d.Strings, trace.String{Ref: ref, Value: name})
			d.LocationProperties = append(d.LocationProperties, trace.LocationProperty{Name: ref, Value: trace.Value{Type: trace.TypeUint64, Bits: [...]uint64{cpu, 20e6}[k]}})
		}
		d.Seal()
	})
	f := jsonOf[foundIn](t, "report", file).Findings[0]
	if f.Kind != "late_sender" || f.Ticks != 230 || !strings.HasPrefix(f.Advice, "look at what the process that makes others wait does") ||
		!strings.Contains(f.Evidence, "; rank 0 is late once: 87.4 % of what rank 1 waits there are in 1 of 30 calls, the longest until 0.408000 s") ||
		!strings.Contains(f.Evidence, "; rank 0 sleeps for "+asleep+" s or more of what it computes, as in files, locks or pauses") {
		t.Errorf("%+v", f)
	}
}

// TestLateInEachWaitall: in each of 30 steps process 0 waits in one MPI_Waitall for nine messages, of which the first comes 5 ticks late and
// the others with it. That is not now and then: the nine are one call.
func TestLateInEachWaitall(t *testing.T) {
	text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n"
	for k := range 30 {
		at := 10 * k
		for tag := range 9 {
			text += fmt.Sprintf("0 %[1]d ENTER MPI_Irecv\n0 %[1]d MPI_IRECV_REQUEST %[2]d\n0 %[1]d LEAVE MPI_Irecv\n", at, 9*k+tag)
			text += fmt.Sprintf("1 %[1]d ENTER MPI_Send\n1 %[1]d MPI_SEND 0 MPI_COMM_WORLD %[2]d 8\n1 %[1]d LEAVE MPI_Send\n", at+5, tag)
		}
		text += fmt.Sprintf("0 %d ENTER MPI_Waitall\n", at)
		for tag := range 9 {
			text += fmt.Sprintf("0 %d MPI_IRECV 1 MPI_COMM_WORLD %d 8 %d\n", at+6, tag, 9*k+tag)
		}
		text += fmt.Sprintf("0 %d LEAVE MPI_Waitall\n", at+6)
	}
	f := jsonOf[foundIn](t, "report", foundTrace(t, text+"0 300 LEAVE main\n1 300 LEAVE main\n")).Findings[0]
	if f.Kind != "late_sender" || f.Ticks != 150 || strings.Contains(f.Text, "now and then") || strings.Contains(f.Text, "regularly") {
		t.Errorf("%+v", f)
	}
}

// TestLateOncePassedOn: process 0 sends to process 1, which sends on to process 2, 30 times, and process 0 computes 200 ticks longer before the
// 20th message. Process 1 is late then for process 2, by nothing of its own: it waits for process 0 from tick 4 of a step, process 2 from tick 3.
func TestLateOncePassedOn(t *testing.T) {
	text := three
	for k := range 30 {
		from := 10 * k
		if k > 20 {
			from += 200
		}
		sent := from + 5
		if k == 20 {
			sent += 200
		}
		for p, x := range [3]string{"", fmt.Sprintf("1 %[2]d ENTER MPI_Recv\n1 %[1]d MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 %[1]d LEAVE MPI_Recv\n", sent, from+4), fmt.Sprintf("2 %[2]d ENTER MPI_Recv\n2 %[1]d MPI_RECV 1 MPI_COMM_WORLD 7 8\n2 %[1]d LEAVE MPI_Recv\n", sent, from+3)} {
			if text += x; p < 2 {
				text += fmt.Sprintf("%[2]d %[1]d ENTER MPI_Send\n%[2]d %[1]d MPI_SEND %[3]d MPI_COMM_WORLD 7 8\n%[2]d %[1]d LEAVE MPI_Send\n", sent, p, p+1)
			}
		}
	}
	f := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings[0]
	if f.Kind != "late_sender" || f.Cause == nil || f.Cause.Process != 0 || strings.Contains(f.Text, "work of its own") ||
		!strings.Contains(f.Text, "; rank 1 is late once: 77.7 % of what rank 2 waits there are in 1 of 30 calls, the longest until 0.405000 s; most of these waits come from rank 0") {
		t.Errorf("%+v", f)
	}
}

// TestCauseInLibrary: process 1 computes in solve for 200 ticks longer than process 0, most of them in two functions of the system that solve
// calls, one of a header and one of a library. The cause is solve, the largest part of it in the library is said after that.
func TestCauseInLibrary(t *testing.T) {
	text := `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
1 0 ENTER main
1 0 ENTER solve
1 50 ENTER power
1 130 LEAVE power
1 140 ENTER at
1 200 LEAVE at
1 200 LEAVE solve
` + meeting(0, 0, 201) + meeting(1, 200, 201) + "0 210 LEAVE main\n1 210 LEAVE main\n"
	system := func(o *analyze.Options) {
		d := o.Source.Definitions()
		ref := uint32(len(d.Strings))
		d.Strings = append(d.Strings, trace.String{Ref: ref, Value: trace.DescribeFunction("/usr/lib/libm.so.6")}, trace.String{Ref: ref + 1, Value: "/usr/include/c++/13/vector"})
		for i := range d.Regions {
			switch x := &d.Regions[i]; d.Text(x.Name) {
			case "power", "libm.so.6":
				x.Description, x.Paradigm = ref, trace.ParadigmCompiler
			case "at":
				x.SourceFile, x.Paradigm = ref+1, trace.ParadigmCompiler
			}
		}
		d.Seal()
	}
	file := foundTrace(t, text, system)
	// Without symbols a function has the name of its library.
	if text := must(t, "report", foundTrace(t, strings.ReplaceAll(text, "power", "libm.so.6"), system)); !strings.Contains(text, "\n    40.0 % of that in libm.so.6, which it calls\n") {
		t.Error(text)
	}
	f := jsonOf[foundIn](t, "report", file).Findings[0]
	if f.Cause == nil || f.Cause.Region != "solve" || !strings.Contains(f.Text, "100.0 % of the waits come from CPU time in solve") ||
		!strings.Contains(f.Text, "; 40.0 % of that in power, function of libm.so.6, which it calls") {
		t.Errorf("%+v %+v", f, f.Cause)
	}
	if text := must(t, "report", file, "waits"); !strings.Contains(text, "CPU time in solve, most on rank 1: 100.0 % of all waiting") {
		t.Errorf("%s", text)
	}
	if text := must(t, "levers", file); !strings.Contains(text, "solve") || strings.Contains(text, "power") {
		t.Errorf("%s", text)
	}
}

// TestCauseOfSeveralCallers: process 1 computes in work, which a calls for 60 ticks and b for 40, and process 0 waits as long for it. The cause is work for
// all of that.
func TestCauseOfSeveralCallers(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n" + meeting(0, 0, 61) + meeting(0, 61, 102)
	text += "1 0 ENTER a\n1 0 ENTER work\n1 60 LEAVE work\n1 60 LEAVE a\n" + meeting(1, 60, 61) + "1 61 ENTER b\n1 61 ENTER work\n1 101 LEAVE work\n1 101 LEAVE b\n" + meeting(1, 101, 102)
	f := jsonOf[foundIn](t, "report", foundTrace(t, text+"0 102 LEAVE main\n1 102 LEAVE main\n")).Findings[0]
	if f.Cause == nil || f.Cause.Region != "work" || !strings.Contains(f.Text, "100.0 % of the waits come from CPU time in work, most on rank 1 (100.0 % of that), 60.0 % of that in main > a > work") {
		t.Errorf("%+v %+v", f, f.Cause)
	}
}

// TestCauseBelow: process 1 computes in a, b and c, each for a third of what process 0 waits, and fill calls them all, which is said next to a. Where
// another function than fill calls c, it is not.
func TestCauseBelow(t *testing.T) {
	t.Parallel()
	const said = "with CPU time in other places it is 100.0 %; 100.0 % of this time is in fill and what it calls"
	text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER prog\n1 0 ENTER prog\n1 0 ENTER main\n1 0 ENTER fill\n" +
		"1 0 ENTER a\n1 30 LEAVE a\n1 30 ENTER b\n1 60 LEAVE b\n1 60 ENTER c\n1 90 LEAVE c\n1 90 LEAVE fill\n1 90 LEAVE main\n" +
		meeting(0, 0, 91) + meeting(1, 90, 91) + "0 92 LEAVE prog\n1 92 LEAVE prog\n"
	if f := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings[0]; !strings.Contains(f.Text, said) {
		t.Errorf("%+v", f)
	}
	text = strings.Replace(text, "1 60 ENTER c\n1 90 LEAVE c\n1 90 LEAVE fill\n", "1 60 LEAVE fill\n1 60 ENTER c\n1 90 LEAVE c\n", 1)
	if f := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings[0]; strings.Contains(f.Text, "and what it calls") {
		t.Errorf("%+v", f)
	}
}

// TestCauseWithoutSample: process 1 is late by time of the program in which no sample came, where there are samples; where there are none, functions
// are not expected.
func TestCauseWithoutSample(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\nresolution 1000\n-- events --\n0 0 ENTER prog\n1 0 ENTER prog\n" + meeting(0, 0, 91) + meeting(1, 90, 91) + "0 92 LEAVE prog\n1 92 LEAVE prog\n"
	for _, sampled := range []bool{false, true} {
		f := jsonOf[foundIn](t, "report", foundTrace(t, text, func(o *analyze.Options) {
			if d := o.Source.Definitions(); sampled {
				d.InterruptGenerators = []trace.InterruptGenerator{{Base: 1, Exponent: -9, Period: 1e6}}
				d.Seal()
			}
		})).Findings[0]
		if strings.Contains(f.Text, "CPU time in prog, most on rank 1 (100.0 % of that), in functions that samples do not tell, as where a process sleeps, has no processor, or computes briefly") != sampled {
			t.Errorf("%v: %+v", sampled, f)
		}
	}
}

// TestMoreThanMean: process 1 computes in big and in heavy, then sends to 0 and 2, which compute in big for 100 ticks too. That makes them wait more
// than heavy, which process 1 alone does: that is said where it is a quarter of the waits or more.
func TestMoreThanMean(t *testing.T) {
	t.Parallel()
	for heavy, want := range map[int]bool{90: true, 30: false} {
		sent := 100 + heavy
		text := three + fmt.Sprintf("1 0 ENTER big\n1 100 LEAVE big\n1 100 ENTER heavy\n1 %[1]d LEAVE heavy\n", sent)
		for _, to := range []int{0, 2} {
			text += fmt.Sprintf("1 %[1]d ENTER MPI_Send\n1 %[1]d MPI_SEND %[2]d MPI_COMM_WORLD 7 8\n1 %[1]d LEAVE MPI_Send\n", sent, to)
			text += fmt.Sprintf("%[2]d 0 ENTER MPI_Recv\n%[2]d %[1]d MPI_RECV 1 MPI_COMM_WORLD 7 8\n%[2]d %[1]d LEAVE MPI_Recv\n%[2]d %[1]d ENTER big\n%[2]d %[3]d LEAVE big\n", sent, to, sent+100)
		}
		f := jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings[0]
		if f.Kind != "late_sender" || f.Cause.Region != "big" || strings.Contains(f.Text, "; rank 1 spends 0.0600 s more than the mean in heavy") != want || strings.Contains(f.Text, "more than the mean") != want {
			t.Errorf("%d: %+v", heavy, f)
		}
	}
}

// TestCauseHandedOnElsewhere: process 1 computes in work for a, and is 90 ticks late for what process 0 sends it, for which process 2 waits at a barrier:
// that wait is handed on. It computes in work for b, too, for which both wait 40 at an all-to-all operation: all of that is for b.
func TestCauseHandedOnElsewhere(t *testing.T) {
	t.Parallel()
	work := func(of string, from, to int) string {
		return fmt.Sprintf("1 %[2]d ENTER %[1]s\n1 %[2]d ENTER work\n1 %[3]d LEAVE work\n1 %[3]d LEAVE %[1]s\n", of, from, to)
	}
	all := func(p, from int) string {
		return strings.NewReplacer("MPI_Barrier", "MPI_Allreduce", "BARRIER", "ALLREDUCE", "none 0 0", "none 8 8").Replace(meeting(p, from, 142))
	}
	text := "-- program --\nprocesses 3\nresolution 1000\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n2 0 ENTER main\n"
	text += "0 0 ENTER MPI_Ssend\n0 0 MPI_SEND 1 MPI_COMM_WORLD 1 8\n0 91 LEAVE MPI_Ssend\n" + meeting(0, 95, 96) + all(0, 101)
	text += work("a", 0, 90) + "1 90 ENTER MPI_Recv\n1 91 MPI_RECV 0 MPI_COMM_WORLD 1 8\n1 91 LEAVE MPI_Recv\n" + meeting(1, 91, 96) + work("b", 96, 141) + all(1, 141)
	text += meeting(2, 0, 96) + all(2, 101) + "0 142 LEAVE main\n1 142 LEAVE main\n2 142 LEAVE main\n"
	for _, f := range jsonOf[foundIn](t, "report", foundTrace(t, text)).Findings {
		if strings.Contains(f.Text, "100.0 % of it in main > MPI_Allreduce") {
			if !strings.Contains(f.Text, "100.0 % of the waits come from CPU time in work, most on rank 1 (100.0 % of that), in main > b > work") {
				t.Errorf("%+v %+v", f, f.Cause)
			}
			return
		}
	}
	t.Error("no waits at all-to-all operations are found")
}

// TestMoreThanMeanInLibrary: process 1 computes 300 ticks in heavy, 200 of them in a function of the system, and process 0 50 in light, which calls that
// function for 40; process 0 asks for a message meanwhile. What process 1 does more than the mean is in heavy, 150 ticks, not in the library.
func TestMoreThanMeanInLibrary(t *testing.T) {
	text := `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 0 ENTER light
0 5 ENTER power
0 45 LEAVE power
0 50 LEAVE light
1 0 ENTER main
1 0 ENTER heavy
1 50 ENTER power
1 250 LEAVE power
1 300 LEAVE heavy
1 300 ENTER MPI_Send
1 300 MPI_SEND 0 MPI_COMM_WORLD 7 8
1 310 LEAVE MPI_Send
`
	for at := 50; at < 300; at += 10 {
		text += fmt.Sprintf("0 %d ENTER MPI_Iprobe\n0 %d LEAVE MPI_Iprobe\n", at, at+9)
	}
	text += "0 300 ENTER MPI_Recv\n0 310 MPI_RECV 1 MPI_COMM_WORLD 7 8\n0 310 LEAVE MPI_Recv\n0 310 LEAVE main\n1 310 LEAVE main\n"
	system := func(o *analyze.Options) {
		d := o.Source.Definitions()
		ref := uint32(len(d.Strings))
		d.Strings = append(d.Strings, trace.String{Ref: ref, Value: trace.DescribeFunction("/usr/lib/libm.so.6")})
		for i := range d.Regions {
			if x := &d.Regions[i]; d.Text(x.Name) == "power" {
				x.Description, x.Paradigm = ref, trace.ParadigmCompiler
			}
		}
		d.Seal()
	}
	if text := must(t, "report", foundTrace(t, text, system)); !strings.Contains(text, "\n    rank 1 spends 0.150 s more than the mean in heavy\n") {
		t.Error(text)
	}
	text = strings.ReplaceAll(text, "heavy", "pthread_join")
	if text := must(t, "report", foundTrace(t, text, system)); !strings.Contains(text, "\n    rank 1 waits for its threads 0.150 s more than the mean in pthread_join\n") {
		t.Error(text)
	}
}

// TestCallBack: a function of the system calls itself and a function of the program: what that takes is one cause, however deep it is called.
func TestCallBack(t *testing.T) {
	t.Parallel()
	file := foundTrace(t, `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
1 0 ENTER main
1 0 ENTER power
1 0 ENTER solve
1 100 LEAVE solve
1 100 ENTER power
1 100 ENTER solve
1 200 LEAVE solve
1 200 LEAVE power
1 200 LEAVE power
`+meeting(0, 0, 201)+meeting(1, 200, 201)+"0 210 LEAVE main\n1 210 LEAVE main\n", func(o *analyze.Options) {
		d := o.Source.Definitions()
		ref := uint32(len(d.Strings))
		d.Strings = append(d.Strings, trace.String{Ref: ref, Value: trace.DescribeFunction("/usr/lib/libc.so.6")})
		for i := range d.Regions {
			if x := &d.Regions[i]; d.Text(x.Name) == "power" {
				x.Description, x.Paradigm = ref, trace.ParadigmCompiler
			}
		}
		d.Seal()
	})
	if f := jsonOf[foundIn](t, "report", file).Findings[0]; !strings.Contains(f.Text, "; 100.0 % of the waits come from CPU time in solve, most on rank 1") {
		t.Errorf("%+v", f)
	}
	if text := must(t, "report", file, "waits"); !strings.Contains(text, "CPU time in solve, most on rank 1: 100.0 % of all waiting") {
		t.Errorf("%s", text)
	}
}

// TestNamesOfTAU: TAU writes parentheses after names, a send record in MPI_Isend and the record of a receive in the call that completes it,
// none of collectives, and takes a function with a type of MPI among its arguments for one of MPI. Process 1 is in exchange until 600, where
// process 0 waits for its message from 100 on.
func TestNamesOfTAU(t *testing.T) {
	t.Parallel()
	lines := `0 90 ENTER MPI_Irecv()
0 95 LEAVE MPI_Irecv()
0 100 ENTER MPI_Waitall()
0 602 MPI_RECV 1 0 7 64
0 602 LEAVE MPI_Waitall()
0 700 ENTER MPI_Allreduce()
0 710 LEAVE MPI_Allreduce()
1 10 ENTER exchange(MPI_Comm)
1 600 LEAVE exchange(MPI_Comm)
1 600 ENTER MPI_Isend()
1 601 MPI_SEND 0 0 7 64
1 602 LEAVE MPI_Isend()
1 650 ENTER MPI_Wait()
1 655 LEAVE MPI_Wait()
1 700 ENTER MPI_Allreduce()
1 710 LEAVE MPI_Allreduce()
`
	file := foundTrace(t, program(2, lines), func(o *analyze.Options) {
		d := o.Source.Definitions()
		for i := range d.Regions {
			if r := &d.Regions[i]; strings.Contains(d.Text(r.Name), "MPI_") {
				r.Paradigm = trace.ParadigmMPI
			}
		}
	})
	f := jsonOf[foundIn](t, "report", file).Findings[0]
	if f.Kind != "late_sender" || f.Ticks != 500 || f.Cause == nil || f.Cause.Process != 1 || f.Cause.Region != "exchange(MPI_Comm)" || f.Cause.Activity != "cpu" {
		t.Errorf("%+v", f)
	}
	text := must(t, "report", file)
	for _, want := range []string{"MPI_Allreduce()", "MPI collective", "2 calls of collectives without a record"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// TestOutsideOfThreads: process 1 computes 600 in solve where process 0 computes 100, and 100 in a parallel region where that has 300. Outside of
// this region the other three threads of each have no calls, which is no work.
func TestOutsideOfThreads(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\nthreads 4\nresolution 1000\n-- events --\n"
	for p, solve := range [...]int{100, 600} {
		end := [...]int{400, 700}[p]
		text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 0 ENTER solve\n%[1]d %[2]d LEAVE solve\n%[1]d %[2]d ENTER loop\n%[1]d %[3]d LEAVE loop\n", 4*p, solve, end)
		text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Barrier\n%[1]d 701 LEAVE MPI_Barrier\n%[1]d 1000 LEAVE main\n", 4*p, end) // no record tells who waits
		for thread := 4*p + 1; thread < 4*p+4; thread++ {
			text += fmt.Sprintf("%[1]d 0 ENTER begin\n%[1]d 1 LEAVE begin\n%[1]d %[2]d ENTER loop\n%[1]d %[3]d LEAVE loop\n%[1]d 999 ENTER end\n%[1]d 1000 LEAVE end\n", thread, solve, end)
		}
	}
	doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
	i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "imbalance" })
	if i < 0 || strings.Contains(doc.Findings[i].Text, "outside of recorded calls") || doc.Findings[i].Advice != "deal out the work more evenly" {
		t.Errorf("%+v", doc.Findings)
	}
}

// TestHalf: two of four processes compute for 800 of 1000, the others for 400. Whom the finding names is one of two, and it says so.
func TestHalf(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 4\nresolution 1000\n-- events --\n"
	for p, work := range [...]int{400, 400, 800, 790} {
		text += fmt.Sprintf("%[1]d 0 ENTER solve\n%[1]d %[2]d LEAVE solve\n", p, work) + meeting(p, work, 801)
	}
	doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
	if len(doc.Findings) == 0 || doc.Findings[0].Kind != "imbalance" || !strings.Contains(doc.Findings[0].Text, "rank 2 computes 0.800 s and 1 other nearly as much, the mean is ") {
		t.Errorf("%+v", doc.Findings)
	}
}

// TestWorkOfFirstThread: in a parallel region of both processes thread 0 of process 1 works for 400 and its other threads wait, and all of process 0
// work for 100. Process 1 waits for none of its threads.
func TestWorkOfFirstThread(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 2\nthreads 4\nresolution 1000\n-- events --\n"
	for thread := range 8 {
		works, end := [...]int{100, 0}[thread/4], [...]int{100, 400}[thread/4]
		if thread == 4 {
			works = end
		}
		text += fmt.Sprintf(`%[1]d 0 ENTER main
%[1]d 0 ENTER "!$omp parallel @solver.c:41"
%[1]d %[2]d ENTER "!$omp implicit barrier @solver.c:60"
%[1]d %[3]d LEAVE "!$omp implicit barrier @solver.c:60"
%[1]d %[3]d LEAVE "!$omp parallel @solver.c:41"
`, thread, works, end)
		if thread%4 == 0 {
			text += meeting(thread, end, 401)
		}
		text += fmt.Sprintf("%d 500 LEAVE main\n", thread)
	}
	doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
	i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Cause != nil && f.Cause.Process == 1 })
	if i < 0 || slices.ContainsFunc(doc.Findings, func(f finding) bool { return strings.Contains(f.Text, "waits for its threads") }) {
		t.Errorf("%+v", doc.Findings)
	}
}

// TestWaitsOfOtherThreads: both threads of two processes exchange messages. Thread 1 of rank 1 waits 500 ms for thread 1 of rank 0, and
// thread 0 of rank 1 waits 20 for thread 0 of rank 0. Where thread 0 of rank 1 works then, the 500 are not a loss.
func TestWaitsOfOtherThreads(t *testing.T) {
	t.Parallel()
	const text = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 120 ENTER MPI_Send
0 120 MPI_SEND 1 MPI_COMM_WORLD 7 8
0 121 LEAVE MPI_Send
0 1000 LEAVE main
1 0 ENTER work
1 600 ENTER MPI_Send
1 600 MPI_SEND 1 MPI_COMM_WORLD 8 8
1 601 LEAVE MPI_Send
1 1000 LEAVE work
2 0 ENTER main
2 100 ENTER MPI_Recv
2 122 MPI_RECV 0 MPI_COMM_WORLD 7 8
2 122 LEAVE MPI_Recv
2 130 ENTER WAIT
2 630 LEAVE WAIT
2 1000 LEAVE main
3 0 ENTER work
3 100 ENTER MPI_Recv
3 602 MPI_RECV 0 MPI_COMM_WORLD 8 8
3 602 LEAVE MPI_Recv
3 1000 LEAVE work
`
	for call, want := range map[string]struct {
		ticks    uint64
		evidence string
	}{
		"pthread_join": {500, "0.520 s waited on all processes together, 0.500 on rank 1, thread 1; 96.2 % of it in work > MPI_Recv"},
		"work":         {20, "0.0200 s waited on all processes together, 0.0200 on rank 1; 100.0 % of that of rank 1 in main > MPI_Recv"},
	} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, strings.ReplaceAll(text, "WAIT", call)))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "late_sender" })
		if i < 0 || doc.Findings[i].Ticks != want.ticks || !strings.HasPrefix(doc.Findings[i].Evidence, want.evidence) {
			t.Errorf("%s: %+v", call, doc.Findings)
		}
	}
}

// TestBusyWithLocks: the second thread of process 0, which its first one waits for, computes from 200 to 600 and then sends what process 1 waits for. Until
// then it computes too, or waits for a lock: so much earlier it might send, however long the process computes.
func TestBusyWithLocks(t *testing.T) {
	t.Parallel()
	for call, busy := range map[string]bool{"pthread_mutex_lock": false, "prepare": true} {
		text := "-- program --\nprocesses 2\nthreads 2\nresolution 1000\n-- events --\n0 0 ENTER main\n0 10 ENTER pthread_join\n0 990 LEAVE pthread_join\n0 1000 LEAVE main\n1 10 ENTER work\n1 20 ENTER " + call +
			"\n1 200 LEAVE " + call + "\n1 600 ENTER MPI_Send\n1 600 MPI_SEND 1 MPI_COMM_WORLD 7 8\n1 601 LEAVE MPI_Send\n1 990 LEAVE work\n" +
			"2 0 ENTER main\n2 100 ENTER MPI_Recv\n2 602 MPI_RECV 0 MPI_COMM_WORLD 7 8\n2 602 LEAVE MPI_Recv\n2 1000 LEAVE main\n3 10 ENTER idle\n3 20 LEAVE idle\n"
		doc := jsonOf[foundIn](t, "report", foundTrace(t, text))
		i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Kind == "late_sender" })
		if i < 0 || strings.Contains(doc.Findings[i].Text, "as long as rank 0 computes that much") != busy || strings.HasPrefix(doc.Findings[i].Advice, "give the process") != busy {
			t.Errorf("%s: %+v", call, doc.Findings)
		}
	}
}

// TestLastToFinalize: processes 0 and 1 compute until 500, process 2 waits from 50 on for process 3, which computes until 700 and then until
// 800, when all others are in MPI_Finalize. So nobody computes alone most of the time. The critical path is that of process 3 until 800, and
// then MPI_Finalize on process 0, which ends last. Where process 1 has left before, nothing tells that process 0 waits: it stays there.
func TestLastToFinalize(t *testing.T) {
	t.Parallel()
	for leave, cpu := range map[int]uint64{810: 9 + 688 + 98, 790: 9 + 488 + 8} {
		text := "-- program --\nprocesses 4\ncomm A 0 1\ncomm B 2 3\nresolution 1000\n-- events --\n"
		for p, x := range [...]struct{ first, second, left, final, end int }{{1, 500, 502, 510, 815}, {1, 500, 502, 510, leave}, {1, 50, 702, 702, 810}, {10, 700, 702, 800, 810}} {
			text += meeting(p, 0, 1) + meeting(p, x.first, 12) + strings.ReplaceAll(meeting(p, x.second, x.left), "MPI_COMM_WORLD", [...]string{"A", "B"}[p/2])
			text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Finalize\n%[1]d %[3]d LEAVE MPI_Finalize\n", p, x.final, x.end)
		}
		file := foundTrace(t, text)
		if f := jsonOf[foundIn](t, "report", file).Findings[0]; f.Kind != "imbalance" || f.Ticks != 339 || f.Cause.Process != 3 {
			t.Errorf("%+v", f)
		}
		path := jsonOf[struct {
			Waits struct {
				Path struct {
					Length     uint64
					Activities []struct {
						Activity string
						Ticks    uint64
					}
				} `json:"critical_path"`
			}
		}](t, "report", file, "waits").Waits.Path
		if a := path.Activities; path.Length != 815 || len(a) != 2 || a[0].Ticks != cpu || a[1].Ticks != 815-cpu {
			t.Errorf("process 1 leaves at %d: %+v, want %d", leave, path, cpu)
		}
	}
}

// TestOtherThreadComputes: thread 1 of process 0 computes until 600 and sends, thread 0 waits for a lock from 110 on until then. Process 1
// waits for the message from 100 on. What the threads but the first compute is not known, so nobody says that all compute as much or one
// after another, nor that process 0 computes all the time.
func TestOtherThreadComputes(t *testing.T) {
	t.Parallel()
	f := jsonOf[foundIn](t, "report", foundTrace(t, `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 110 ENTER pthread_mutex_lock
0 602 LEAVE pthread_mutex_lock
0 700 LEAVE main
1 0 ENTER work
1 600 ENTER MPI_Send
1 600 MPI_SEND 1 MPI_COMM_WORLD 8 8
1 601 LEAVE MPI_Send
1 700 LEAVE work
2 0 ENTER main
2 100 ENTER MPI_Recv
2 602 MPI_RECV 0 MPI_COMM_WORLD 8 8
2 602 LEAVE MPI_Recv
2 700 LEAVE main
`)).Findings[0]
	if f.Kind != "late_sender" || f.Ticks != 500 || strings.Contains(f.Text, "one after another") || f.Advice != "send earlier, or give the sender less to compute before" {
		t.Errorf("%+v", f)
	}
}

// TestNextLate: process 0 waits 50 for process 1, five times, in a barrier or for two messages at once. Process 2 comes 20 earlier, which makes
// no wait of its own: without process 1 the wait would be 30. Where it comes with the others nobody is named, nor where another one is
// next to last each time.
func TestNextLate(t *testing.T) {
	t.Parallel()
	steps := func(one func(at int, comes [5]int) string, next func(i int) int) string {
		text := ""
		for i := range 5 {
			comes := [5]int{10, 60, 10, 10, 10}
			if k := next(i); k > 0 {
				comes[k] = 40
			}
			text += one(100*i, comes)
		}
		return text
	}
	barrier := func(at int, comes [5]int) (text string) {
		for p, late := range comes {
			text += meeting(p, at+late, at+62)
		}
		return text
	}
	messages := func(at int, comes [5]int) string {
		text := ""
		for p := 1; p < len(comes); p++ {
			text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Send\n%[1]d %[2]d MPI_SEND 0 MPI_COMM_WORLD 7 8\n%[1]d %[3]d LEAVE MPI_Send\n", p, at+comes[p], at+comes[p]+1)
			text += fmt.Sprintf("0 %[1]d ENTER MPI_Irecv\n0 %[1]d MPI_IRECV_REQUEST %[2]d\n0 %[1]d LEAVE MPI_Irecv\n", at+2, at+p)
		}
		text += fmt.Sprintf("0 %d ENTER MPI_Waitall\n", at+comes[0])
		for p := 1; p < len(comes); p++ {
			text += fmt.Sprintf("0 %d MPI_IRECV %d MPI_COMM_WORLD 7 8 %d\n", at+61, p, at+p)
		}
		text += fmt.Sprintf("0 %d LEAVE MPI_Waitall\n", at+62)
		comes[0] = 62
		for p, sent := range comes {
			text += meeting(p, at+sent+2, at+66)
		}
		return text
	}
	const remain = "; without the last to come 60.0 % of the time of 5 waits of rank 0 would remain, most of it for rank 2"
	for name, one := range map[string]func(int, [5]int) string{"imbalance barrier_wait": barrier, "late_sender": messages} {
		for _, x := range []struct {
			next func(i int) int
			want bool
		}{{func(int) int { return 2 }, true}, {func(int) int { return 0 }, false}, {func(i int) int { return 2 + i%3 }, false}} {
			doc := jsonOf[foundIn](t, "report", foundTrace(t, program(5, steps(one, x.next))))
			i := slices.IndexFunc(doc.Findings, func(f finding) bool { return f.Cause != nil && strings.Contains(name, f.Kind) })
			if i < 0 {
				t.Fatalf("%s: %+v", name, doc.Findings)
			}
			if f := doc.Findings[i]; f.Cause.Process != 1 || strings.Contains(f.Text, remain) != x.want || strings.Contains(f.Text, "would remain") != x.want {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// TestInTurnAfterInit: process 0 computes 400 before MPI_Init, where the others wait for it. Then each of three computes 40 in its turn, four times,
// and 10 in the turns of others: of 3 * 240 half is on the critical path. That they compute one after another is not so.
func TestInTurnAfterInit(t *testing.T) {
	t.Parallel()
	text := ""
	for p := range 3 {
		text += fmt.Sprintf("%[1]d %[2]d ENTER MPI_Init\n%[1]d 410 LEAVE MPI_Init\n", p, 400*max(1-p, 0))
		for i := range 12 {
			at := 410 + 42*i
			come := at + 10
			if i%3 == p {
				come = at + 40
			}
			text += meeting(p, come, at+42)
		}
		text += fmt.Sprintf("%[1]d 915 ENTER MPI_Finalize\n%[1]d 1000 LEAVE MPI_Finalize\n", p)
	}
	f := jsonOf[foundIn](t, "report", foundTrace(t, program(3, text))).Findings[0]
	if f.Kind != "barrier_wait" || f.Ticks != 240 || strings.Contains(f.Text, "one after another") || !strings.HasPrefix(f.Advice, "drop the barrier") {
		t.Errorf("%+v", f)
	}
}

// TestMeasurementOff: measurements are off from 200 to 600. Process 0 flushes from 700 to 750, which alone the run could be shorter by, and for 20 while the
// measurement is off; that of process 1 is off again from 900 on, and nothing tells how long that one lives.
func TestMeasurementOff(t *testing.T) {
	t.Parallel()
	const text = `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 200 MEASUREMENT_ON_OFF OFF
0 300 BUFFER_FLUSH 320
0 600 MEASUREMENT_ON_OFF ON
0 700 BUFFER_FLUSH 750
0 1000 LEAVE main
1 0 ENTER main
1 200 MEASUREMENT_ON_OFF OFF
1 600 MEASUREMENT_ON_OFF ON
1 700 ENTER MPI_Comm_size
1 710 MEASUREMENT_ON_OFF OFF
1 720 LEAVE MPI_Comm_size
1 800 MEASUREMENT_ON_OFF ON
1 900 MEASUREMENT_ON_OFF OFF
`
	run := foundTrace(t, text)
	doc := jsonOf[foundIn](t, "report", run)
	found := 0
	for _, f := range doc.Findings {
		switch f.Kind {
		case "overhead":
			found++
			if f.Ticks != 70 || !strings.HasSuffix(f.Text, "0.0700 s, without what passed while the measurement was off: that is the program's own") {
				t.Errorf("%+v", f)
			}
		case "imbalance":
			found++
			if !strings.Contains(f.Text, "while their measurement is off is not known") {
				t.Errorf("%+v", f)
			}
		case "idle":
			t.Errorf("%+v", f)
		}
	}
	if found != 2 {
		t.Errorf("%+v", doc.Findings)
	}
	untold := must(t, "report", run, "summary", "untold")
	if want := "what the program did while the measurement was off, 4 times in 2 locations, up to 0.480 s of one outside of MPI: that counts as measurement overhead\n"; !strings.Contains(untold, want) {
		t.Errorf("no %q in\n%s", want, untold)
	}
	for _, section := range []string{"summary", "pop"} {
		const want = "the measurement was off for up to 0.480 s of a process (48.0 % of the run): efficiencies count that as lost, whatever the program did"
		if out := must(t, "report", run, section); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if got := jsonOf[foundIn](t, "report", foundTrace(t, strings.ReplaceAll(text, "MEASUREMENT_ON_OFF OFF", "MEASUREMENT_ON_OFF ON"))).Findings; !slices.ContainsFunc(got, func(f finding) bool { return f.Kind == "idle" }) {
		t.Errorf("measured to the end: %+v", got)
	}
}

// TestDevicesOfNobody: where no record says which of two processes uses a device, it counts as a process, which is said.
func TestDevicesOfNobody(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 3\n-- events --\n" + meeting(0, 10, 20) + meeting(1, 15, 20) + "2 5 ENTER a_kernel\n2 18 LEAVE a_kernel\n"
	const want = "which process uses the device that counts as rank 2: sums, means"
	for _, devices := range []int{0, 1} {
		out := must(t, "report", foundTrace(t, text, func(o *analyze.Options) {
			d := o.Source.Definitions()
			for i := range devices {
				d.Locations[2-i].Type, d.LocationGroups[2-i].Type = trace.AcceleratorStream, trace.AcceleratorGroup
			}
			d.Seal()
		}), "untold")
		if strings.Contains(out, want) != (devices == 1) {
			t.Errorf("%d devices:\n%s", devices, out)
		}
	}
}

// TestFilesNextToThoseOfMPI: process 0 waits 200 in MPI_File_write_all for process 1, then both write for 100, and read for 70 outside of MPI: without all that
// the run is 170 shorter at most.
func TestFilesNextToThoseOfMPI(t *testing.T) {
	t.Parallel()
	s := &tracetest.Script{}
	for _, ticks := range []uint64{100, 300} {
		s.Steps = append(s.Steps, []tracetest.Step{{Ticks: ticks}, {Call: "File_write_all", Ticks: 100}, {Enter: "read"}, {Ticks: 70}, {Leave: "read"}, {Ticks: 100}})
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	run := foundTrace(t, text, func(o *analyze.Options) {
		d := o.Source.Definitions()
		for i := range d.Regions {
			if d.Text(d.Regions[i].Name) == "read" {
				d.Regions[i].Role = trace.RoleFileIO
			}
		}
	})
	list := jsonOf[foundIn](t, "report", run).Findings
	if i := slices.IndexFunc(list, func(f finding) bool { return f.Kind == "io" }); i < 0 || list[i].Ticks != 170 {
		t.Errorf("%+v", list)
	}
}

// TestBarrierWhileOff: process 1 is in a barrier at 400 while its measurement is off. So the barriers at 700 and 800 pair with others, as if clocks differed.
func TestBarrierWhileOff(t *testing.T) {
	t.Parallel()
	const off, want = "1 200 MEASUREMENT_ON_OFF OFF\n1 600 MEASUREMENT_ON_OFF ON\n", "which messages and collectives belong together after the measurement was off on some processes alone: "
	others := ""
	for p := range 2 {
		others += meeting(p, 700, 710) + meeting(p, 800, 810)
	}
	for text, doubt := range map[string]bool{meeting(0, 400, 410) + off + others: true, off + others: false} {
		run := foundTrace(t, program(2, text))
		if out := must(t, "report", run); strings.Contains(out, want) != doubt || strings.Contains(out, "clocks disagree") {
			t.Errorf("doubt is %t:\n%s", doubt, out)
		}
	}
}

// TestMessagesOutsideOfCalls: process 1 receives in a function that is not one of MPI, next to others that are: its wait is not known, which is said.
func TestMessagesOutsideOfCalls(t *testing.T) {
	t.Parallel()
	text := program(2, message(0, 1, 500, 100))
	const want = "waits for 1 record of messages and collectives outside of calls of MPI"
	for _, own := range []bool{false, true} {
		run := foundTrace(t, text, func(o *analyze.Options) {
			d := o.Source.Definitions()
			for i := range d.Regions {
				if own && d.Text(d.Regions[i].Name) == "MPI_Recv" {
					d.Regions[i].Paradigm = trace.ParadigmUser
				}
			}
		})
		if out := must(t, "report", run, "untold"); strings.Contains(out, want) != own {
			t.Errorf("%t:\n%s", own, out)
		}
	}
}

// TestMarkersAreNoMessages: 1200 times a message of 2000 or 200 bytes between markers of form F2, each of two messages of 0 bytes to oneself on
// both processes, so that a message has 200 or 20 bytes on average. Small are those of 200.
func TestMarkersAreNoMessages(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]string{2000: "transfer", 200: "small_messages"} {
		text := &strings.Builder{}
		for k := range 1200 {
			for p := range 2 {
				mark := func(at int, tags ...int) {
					for i, tag := range tags {
						fmt.Fprintf(text, "%[1]d %[2]d ENTER MPI_Sendrecv\n%[1]d %[2]d MPI_SEND %[1]d MPI_COMM_WORLD %[4]d 0\n%[1]d %[3]d MPI_RECV %[1]d MPI_COMM_WORLD %[4]d 0\n%[1]d %[3]d LEAVE MPI_Sendrecv\n", p, 200*k+at+i, 200*k+at+i+1, tag)
					}
				}
				mark(0, 0x2AAA, 1)
				call := [...]string{"ENTER MPI_Send\n0 %[1]d MPI_SEND 1 MPI_COMM_WORLD 0 %[3]d\n0 %[2]d LEAVE MPI_Send\n", "ENTER MPI_Recv\n1 %[2]d MPI_RECV 0 MPI_COMM_WORLD 0 %[3]d\n1 %[2]d LEAVE MPI_Recv\n"}[p]
				fmt.Fprintf(text, "%[4]d %[1]d "+call, 200*k+10, 200*k+100, bytes, p)
				mark(110, 0x2ABB, 1)
			}
		}
		doc := jsonOf[foundIn](t, "report", foundTrace(t, "-- program --\nprocesses 2\nresolution 1000\n-- events --\n"+text.String()))
		evidence := fmt.Sprintf("10 800 messages of %d B each on average, those of markers too: without them no more than %s", bytes/9, map[int]string{2000: "2 kB", 200: "200 B"}[bytes])
		if f := doc.Findings[0]; f.Kind != want || !strings.Contains(f.Text, evidence) {
			t.Errorf("%d bytes: %+v, want %s", bytes, f, evidence)
		}
	}
}
