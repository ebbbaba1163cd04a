package record

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// withOMPT are the options of a program of GNU's compiler that LLVM's runtime runs: it has the functions of GNU's, and OMPT.
func withOMPT(t *testing.T) []string {
	t.Helper()
	const library = "libomp.so.5"
	path, err := exec.Command("gcc", "-print-file-name="+library).Output()
	if err != nil || string(bytes.TrimSpace(path)) == library {
		t.Skip("no libomp, which Debian's libomp5-14 has: ", err)
	}
	return []string{"-g", "-O1", "-w", "-fopenmp", "-Wl,--as-needed", "-l:" + library}
}

// TestOpenMP records a program that LLVM's runtime runs: its result is what it is alone, each event of a team, a lock or a task is
// there as often as the program's source says, and the first finding has the seconds of its own clock.
func TestOpenMP(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "openmp.c", withOMPT(t)...)
			const rounds, threads = 20, 3
			archive, _ := l.openMP(t, program, rounds, rounds*(2*threads+threads+4))
			countThreads(t, archive, map[trace.Kind]int{
				trace.ThreadFork: 1 + rounds*(1+threads), trace.ThreadJoin: 1 + rounds*(1+threads),
				trace.ThreadTeamBegin: threads + rounds*(threads+2*threads), trace.ThreadTeamEnd: threads + rounds*(threads+2*threads),
				trace.ThreadAcquireLock: rounds * 3 * threads, trace.ThreadReleaseLock: rounds * 3 * threads,
				trace.ThreadTaskCreate: rounds * 8, trace.ThreadTaskComplete: rounds * 8,
			})
			var wrong error
			for range plantedTries {
				archive, waited := l.openMP(t, program, 0, 0)
				file := filepath.Join(t.TempDir(), "run.xtf")
				analyse(t, archive, file)
				f := readPlanted(t, file).Findings
				if len(f) > 0 && f[0].Kind == "thread_imbalance" && near(f[0].Seconds, waited) {
					return
				}
				wrong = fmt.Errorf("the first finding is not a wait of %.6f s for threads: %+v", waited, f)
			}
			t.Error(wrong)
		})
	}
}

// openMP records the program, whose result is known, and returns the archive and what its threads wait.
func (l *library) openMP(t *testing.T, program string, rounds, sum int) (archive string, waited float64) {
	t.Helper()
	r, out, errs := l.runRecorded(t, Options{Command: l.launch(t, 2, program, strconv.Itoa(rounds)), Threads: ThreadsOpenMP, Sites: 1})
	got := 0
	if _, err := fmt.Sscan(out, &got, &waited); err != nil || got != sum || r.Exit != 0 {
		t.Fatalf("%v, status %d: %q, not %d\n%s", err, r.Exit, out, sum, errs)
	}
	if path, err := exec.LookPath("otf2-print"); err == nil {
		if text, err := exec.Command(path, "-Werror", r.Archive).CombinedOutput(); err != nil {
			t.Fatalf("otf2-print: %v %s", err, text[max(0, len(text)-500):])
		}
	}
	return r.Archive, waited
}

// countThreads compares the numbers of events of each of two processes, and looks that calls nest.
func countThreads(t *testing.T, archive string, want map[trace.Kind]int) {
	t.Helper()
	src, err := otf2.OpenPath(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d := src.Definitions()
	const processes = 2
	var seen [processes]map[trace.Kind]int
	for i := range seen {
		seen[i] = make(map[trace.Kind]int)
	}
	for i := range d.Locations {
		p := trace.P(i)
		rank := uint32(d.Location(p).Ref)
		var open []uint32
		st, err := src.Stream(p)
		if err != nil {
			t.Fatal(err)
		}
		for k := range st.Chunks() {
			c, err := st.Chunk(k)
			if err != nil {
				t.Fatal(err)
			}
			var b trace.Batch
			for c.Next(&b) == nil {
				for j := range b.Events {
					switch e := &b.Events[j]; e.Kind {
					case trace.Enter:
						open = append(open, e.Ref)
					case trace.Leave:
						if len(open) == 0 || open[len(open)-1] != e.Ref {
							t.Fatalf("location %d, event %d: a leave of %s that is not the innermost call", i, b.First+uint64(j), d.Text(d.Region(e.Ref).Name))
						}
						open = open[:len(open)-1]
					default:
						seen[rank][e.Kind]++
					}
				}
			}
		}
		if len(open) > 0 {
			t.Errorf("location %d ends inside of %d calls", i, len(open))
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for rank := range seen {
		for kind, n := range want {
			if seen[rank][kind] != n {
				t.Errorf("rank %d has %d events %s, the program %d", rank, seen[rank][kind], kind.Info().Name, n)
			}
		}
	}
}

// TestNoThreads records the same program without its threads: only those that call MPI are locations.
func TestNoThreads(t *testing.T) {
	l := libraries(t)[0]
	r, _, _ := l.runRecorded(t, Options{Command: l.launch(t, 2, l.compileProgram(t, "openmp.c", withOMPT(t)...), "1")})
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if n := src.Definitions().NumLocations(); n != 2 {
		t.Errorf("%d locations of 2 processes", n)
	}
}

// TestWithoutOMPT records the program with GNU's runtime, and learns that nothing of its threads is there.
func TestWithoutOMPT(t *testing.T) {
	l := libraries(t)[0]
	r, _, _ := l.runRecorded(t, Options{Command: l.launch(t, 2, l.compileProgram(t, "openmp.c", "-w", "-fopenmp"), "1"), Threads: ThreadsOpenMP})
	if !slices.Equal(r.Alone, []int{0, 1}) {
		t.Errorf("processes without parallel regions: %v", r.Alone)
	}
}

// TestPOSIXThreads records a program whose threads wait for each other in every way: its result is what it is alone, each thread that it
// made is there from its begin to its end, each wait that took 1 ms by the program's clock is there, and locks are released as often as
// they are acquired.
func TestPOSIXThreads(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "pthreads.c", "-g", "-O1", "-pthread")
			r, out, errs := l.runRecorded(t, Options{Command: l.launch(t, 1, program, "3"), Threads: ThreadsAll, Sites: 1, Keep: true})
			var sum, made, waits uint64
			if _, err := fmt.Sscan(out, &sum, &made, &waits); err != nil || sum != 22 || r.Exit != 0 || len(r.Found) > 0 || len(r.Alone) > 0 {
				t.Fatalf("%v, status %d: %q, %v %v\n%s", err, r.Exit, out, r.Found, r.Alone, errs)
			}
			if path, err := exec.LookPath("otf2-print"); err == nil {
				if text, err := exec.Command(path, "-Werror", r.Archive).CombinedOutput(); err != nil {
					t.Fatalf("otf2-print: %v %s", err, text[max(0, len(text)-500):])
				}
			}
			raw := filepath.Join(filepath.Dir(r.Archive), rawFolder)
			have := tally(t, raw, func(count map[string]uint64, name string, e *trace.Event, _ []uint64) {
				count[e.Kind.Info().Name]++
				if e.Kind == trace.Enter {
					count[name]++
				}
			})[0]
			names := []string{"pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_spin_lock", "sem_wait", "pthread_cond_wait", "pthread_barrier_wait"}
			for _, name := range names {
				have["waits"] += have[name]
			}
			if have["waits"] < waits {
				t.Errorf("%d waits are recorded, %d took 1 ms", have["waits"], waits)
			}
			for name, want := range map[string]uint64{
				"ThreadCreate": made, "ThreadBegin": made, "ThreadEnd": made - 1, "ThreadWait": made - 1, "pthread_create": made, // the last one goes on
				"worker": 3, "ThreadReleaseLock": have["ThreadAcquireLock"],
			} {
				if have[name] != want {
					t.Errorf("%d %s, not %d", have[name], name, want)
				}
			}
			src, err := otf2.OpenPath(r.Archive)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			d := src.Definitions()
			if name := d.Text(d.Locations[1].Name); !strings.HasPrefix(name, "Thread 1 (") {
				t.Errorf("the other thread is called %q", name)
			}
		})
	}
}
