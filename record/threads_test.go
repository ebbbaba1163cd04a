package record

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// needOMPT skips a test where no runtime with OMPT can take the place of GNU's.
func needOMPT(t *testing.T) {
	t.Helper()
	const library = "libomp.so.5"
	if path, err := exec.Command("gcc", "-print-file-name="+library).Output(); err != nil || string(bytes.TrimSpace(path)) == library {
		t.Skip("no libomp: scripts/setup --test installs it: ", err)
	}
}

// clang compiles a program of testdata with OpenMP of LLVM.
func (l *library) clang(t *testing.T, name string, more ...string) string {
	t.Helper()
	if b, err := exec.Command("clang", "-fopenmp", "-fsyntax-only", "-include", "omp.h", "-x", "c", "/dev/null").CombinedOutput(); err != nil {
		t.Skipf("no clang with OpenMP: scripts/setup --test installs it: %v %s", err, b)
	}
	for _, variable := range [...]string{"OMPI_CC", "MPICH_CC"} {
		t.Setenv(variable, "clang")
		defer os.Unsetenv(variable)
	}
	return l.compileProgram(t, name, more...)
}

// TestOpenMP records a program of GNU's compiler, which LLVM's runtime runs then, and one of clang: its result is what it is alone, each event of a team, a
// lock or a task is there as often as the program's source says, and the first finding has the seconds of its own clock.
func TestOpenMP(t *testing.T) {
	needOMPT(t)
	for _, l := range libraries(t) {
		compilers := map[string]func(*testing.T, string, ...string) string{l.cc: l.compileProgram, l.cc + " clang": l.clang}
		for name, compile := range compilers {
			t.Run(name, func(t *testing.T) {
				program := compile(t, "openmp.c", "-g", "-O1", "-fopenmp")
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
}

// openMP records the program, whose result is known, and returns the archive and what its threads wait.
func (l *library) openMP(t *testing.T, program string, rounds, sum int) (archive string, waited float64) {
	t.Helper()
	r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, program, strconv.Itoa(rounds)), Threads: ThreadsOpenMP, Sites: 1})
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
		eventsOf(t, src, p, func(e *trace.Event, _ []uint64) {
			switch e.Kind {
			case trace.Enter:
				open = append(open, e.Ref)
			case trace.Leave:
				if len(open) == 0 || open[len(open)-1] != e.Ref {
					t.Fatalf("location %d at %d: a leave of %s that is not the innermost call", i, e.Time, d.Text(d.Region(e.Ref).Name))
				}
				open = open[:len(open)-1]
			default:
				seen[rank][e.Kind]++
			}
		})
		if len(open) > 0 {
			t.Errorf("location %d ends inside of %d calls", i, len(open))
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

// eventsOf hands the events of a location to a function.
func eventsOf(t *testing.T, src trace.Source, p trace.P, do func(e *trace.Event, words []uint64)) {
	t.Helper()
	st, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for k := range st.Chunks() {
		c, err := st.Chunk(k)
		if err != nil {
			t.Fatal(err)
		}
		var b trace.Batch
		for c.Next(&b) == nil {
			for j := range b.Events {
				do(&b.Events[j], b.Words(&b.Events[j]))
			}
		}
	}
}

// TestNoThreads records the same program without its threads: only those that call MPI are locations.
func TestNoThreads(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	r, _, _ := l.runRecorded(t, Options{Command: l.launch(2, l.compileProgram(t, "openmp.c", "-fopenmp"), "1")})
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if n := src.Definitions().NumLocations(); n != 2 {
		t.Errorf("%d locations of 2 processes", n)
	}
}

// TestGNU records programs of GNU's compilers, C and Fortran, as the NAS parallel benchmarks are: LLVM's runtime takes the place of GNU's, the
// results are those of the programs alone, and events are there as often as the source says.
func TestGNU(t *testing.T) {
	t.Parallel()
	needOMPT(t)
	const rounds, threads = 10, 3
	for _, l := range libraries(t) {
		for file, want := range map[string]map[string]uint64{
			"gnu.c": {
				"ThreadFork": 1 + rounds, "ThreadJoin": 1 + rounds, "ThreadTeamBegin": threads * (1 + rounds), "ThreadTeamEnd": threads * (1 + rounds),
				"!$omp critical": threads * rounds, "!$omp critical sblock": threads * rounds, "omp_set_lock": threads * rounds,
				"ThreadAcquireLock": 2 * threads * rounds, "ThreadReleaseLock": 2 * threads * rounds,
				"!$omp ordered": 6 * rounds, "ThreadTaskCreate": 4 * rounds, "ThreadTaskComplete": 4 * rounds,
			},
			"gnu.f90": {
				"ThreadFork": 2 * rounds, "ThreadJoin": 2 * rounds, "ThreadTeamBegin": 2 * threads * rounds, "ThreadTeamEnd": 2 * threads * rounds,
				"!$omp critical": threads * rounds, "ThreadAcquireLock": threads * rounds, "ThreadReleaseLock": threads * rounds,
			},
		} {
			t.Run(l.cc+"/"+file, func(t *testing.T) {
				program := l.compileProgram(t, file, "-g", "-O1", "-fopenmp", "-lm")
				plain := l.launch(2, program)
				alone, err := exec.Command(plain[0], plain[1:]...).Output()
				if err != nil {
					t.Fatal(err)
				}
				r, out, errs := l.runRecorded(t, Options{Command: plain, Threads: ThreadsOpenMP, Sites: 1, Keep: true})
				if out != string(alone) || r.Exit != 0 || len(r.Found)+len(r.Alone) > 0 || !strings.Contains(r.Runtime, "libomp.so") || r.GNU != "" {
					t.Errorf("%q, alone %q, status %d, %v, %q, %q\n%s", out, alone, r.Exit, r.Found, r.Runtime, r.GNU, errs)
				}
				have := tally(t, filepath.Join(filepath.Dir(r.Archive), rawFolder), func(count map[string]uint64, name string, e *trace.Event, _ []uint64) {
					count[e.Kind.Info().Name]++
					if e.Kind == trace.Enter {
						count[name]++
					}
					switch {
					case name == "!$omp single" && e.Kind == trace.Enter:
						count["singles"]++
					case name == "!$omp single" && e.Kind == trace.Leave:
						count["singles"]--
					case e.Kind == trace.Enter && (strings.HasSuffix(name, "barrier") || name == "!$omp for"):
						count["inside"] += count["singles"]
					}
				})
				for rank := range have {
					if n := have[rank]["inside"]; n > 0 {
						t.Errorf("rank %d: %d barriers and loops inside of a single", rank, n)
					}
					for name, n := range want {
						if have[rank][name] != n {
							t.Errorf("rank %d: %d of %s, the program does %d", rank, have[rank][name], name, n)
						}
					}
				}
				d := definitionsOf(t, r.Archive)
				said := slices.ContainsFunc(d.LocationProperties, func(x trace.LocationProperty) bool {
					return d.Text(x.Name) == trace.PropertyReplaced && strings.HasPrefix(d.Text(x.StringValue), "LLVM ")
				})
				file := filepath.Join(t.TempDir(), "run.xtf")
				analyse(t, r.Archive, file)
				if told := fmt.Sprint(readPlanted(t, file).CannotTell.Missing); !said || !strings.Contains(told, "with LLVM ") {
					t.Errorf("the archive does not say which runtime it was: %v, %s", said, told)
				}
			})
		}
	}
}

// TestWithoutOMPT records a program that calls a function of GNU's runtime that LLVM's has not: it stays with its own, and that its threads are not
// there is said with the reason.
func TestWithoutOMPT(t *testing.T) {
	t.Parallel()
	needOMPT(t)
	l := libraries(t)[0]
	r, out, _ := l.runRecorded(t, Options{Command: l.launch(2, l.compileProgram(t, "openmp.c", "-fopenmp", "-DALLOCATES"), "1"), Threads: ThreadsOpenMP})
	if !slices.Equal(r.Alone, []int{0, 1}) || r.Runtime != "" || !strings.Contains(r.GNU, "omp_alloc") || r.Exit != 0 {
		t.Errorf("processes without parallel regions: %v; %q, %q; status %d, %q", r.Alone, r.Runtime, r.GNU, r.Exit, out)
	}
	program := l.compileProgram(t, "openmp.c", "-fopenmp")
	script := filepath.Join(t.TempDir(), "start")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec %q 1\n", program), 0o700); err != nil {
		t.Fatal(err)
	}
	static := l.compileProgram(t, "openmp.c", "-fopenmp", "-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic")
	for _, x := range []struct {
		why     string
		command []string
	}{{"a script started it", []string{script}}, {"linked statically", []string{static, "1"}}} {
		r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, x.command...), Compiler: l.cc, Threads: ThreadsOpenMP})
		if !slices.Equal(r.Alone, []int{0, 1}) || r.Runtime != "" || !strings.Contains(r.GNU, x.why) || r.Exit != 0 {
			t.Errorf("%s: %v; %q, %q; status %d, %q %s", x.why, r.Alone, r.Runtime, r.GNU, r.Exit, out, errs)
		}
	}
}

// TestNoRegion: LLVM's runtime is in the place of GNU's in a process that has no parallel region. Nothing says then that it was GNU's.
func TestNoRegion(t *testing.T) {
	t.Parallel()
	needOMPT(t)
	l := libraries(t)[0]
	r, _, errs := l.runRecorded(t, Options{Command: l.launch(2, l.compileProgram(t, "yields.c", "-fopenmp", "-Wl,--no-as-needed")), Threads: ThreadsOpenMP})
	if !slices.Equal(r.Alone, []int{0, 1}) || !strings.Contains(r.Runtime, "libomp.so") || r.GNU != "" || r.Exit != 0 {
		t.Errorf("processes without parallel regions: %v; %q, %q; status %d, %s", r.Alone, r.Runtime, r.GNU, r.Exit, errs)
	}
	file := filepath.Join(t.TempDir(), "run.xtf")
	analyse(t, r.Archive, file)
	if told := fmt.Sprint(readPlanted(t, file).CannotTell.Missing); strings.Contains(told, "GNU's runtime") {
		t.Errorf("cannot tell: %s", told)
	}
}

// TestPOSIXThreads records a program whose threads wait for each other in every way: its result is what it is alone, each thread that it
// made is there from its begin to its end, each wait that took 1 ms by the program's clocks is there, and locks are released as often as
// they are acquired.
func TestPOSIXThreads(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "pthreads.c", "-g", "-O1", "-pthread")
			r, out, errs := l.runRecorded(t, Options{Command: l.launch(1, program, "3"), Threads: ThreadsAll, Sites: 1, Keep: true})
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
				"worker": 3,
			} {
				if have[name] != want {
					t.Errorf("%d %s, not %d", have[name], name, want)
				}
			}
			if got, gave := have["ThreadAcquireLock"], have["ThreadReleaseLock"]; gave < got { // who got a lock without waiting gives it away too
				t.Errorf("%d locks are taken and %d given away", got, gave)
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

// TestLanguageThreads records threads of C++ and of C11, mutexes, conditions, and a latch of C++20: the sum is right, each thread is there from its begin to its end,
// and the longest wait has the seconds of the program's clock and its line.
func TestLanguageThreads(t *testing.T) {
	if exec.Command("g++", "--version").Run() != nil {
		t.Skip("no g++: scripts/setup --test installs it")
	}
	for _, l := range libraries(t) {
		for _, x := range []struct {
			file, call   string
			sum, threads int
			flags        []string
		}{
			{"cxxthreads.cc", "pthread_mutex_lock", 6001, 4, []string{"-lstdc++"}},
			{"latch.cc", "futex", 1, 1, []string{"-std=c++20", "-lstdc++"}},
			{"c11threads.c", "pthread_mutex_lock", 1111, 1, nil},
		} {
			t.Run(l.cc+"/"+x.file, func(t *testing.T) {
				source, err := os.ReadFile(filepath.Join("testdata", x.file))
				if err != nil {
					t.Fatal(err)
				}
				before, _, _ := strings.Cut(string(source), "// the waiting line")
				line := strconv.Itoa(1 + strings.Count(before, "\n"))
				program := l.compileProgram(t, x.file, append([]string{"-g", "-O1", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-pthread"}, x.flags...)...)
				var wrong error
				for range plantedTries {
					r, out, errs := l.runRecorded(t, Options{Command: l.launch(1, program), Threads: ThreadsAll, Sites: 4})
					sum, waited, asleep, longest := 0, 0.0, 0.0, 0.0
					n, err := fmt.Sscan(out, &sum, &waited, &asleep)
					if n == 2 { // the whole wait is in the call
						asleep = waited
					}
					if n < 2 || sum != x.sum || r.Exit != 0 || len(r.Found) > 0 {
						t.Fatalf("%v, status %d: %q, %v\n%s", err, r.Exit, out, r.Found, errs)
					}
					d, count := definitionsOf(t, r.Archive), map[trace.Kind]int{}
					place, since := "", map[trace.P]trace.Time{}
					eachEvent(t, r.Archive, func(p trace.P, e *trace.Event) {
						count[e.Kind]++
						if e.Kind != trace.Enter && e.Kind != trace.Leave {
							return
						}
						region := d.Region(e.Ref)
						if d.Text(region.Name) != x.call {
							return
						}
						if e.Kind == trace.Enter {
							since[p] = e.Time
						} else if took := float64(e.Time-since[p]) / float64(d.Clock().TimerResolution); took > longest {
							longest, place = took, d.CallPlace(region)
						}
					})
					for _, kind := range []trace.Kind{trace.ThreadCreate, trace.ThreadBegin, trace.ThreadEnd, trace.ThreadWait} {
						if count[kind] != x.threads {
							t.Errorf("%d of %s, not %d", count[kind], kind.Info().Name, x.threads)
						}
					}
					if x.call != "futex" && count[trace.ThreadAcquireLock] >= count[trace.ThreadReleaseLock] { // the first one got it without waiting
						t.Errorf("locks are taken as often as given away: %v", count)
					}
					if wrong = nil; near(longest, min(max(longest, asleep), waited)) && place == x.file+":"+line {
						break
					}
					wrong = fmt.Errorf("the longest %s took %.6f s at %q, the program waited %.6f, and slept %.6f; %v", x.call, longest, place, waited, asleep, count)
				}
				if wrong != nil {
					t.Error(wrong)
				}
			})
		}
	}
}

// TestTogether records threads of OpenMP next to a POSIX thread together with each of the recorder's other kinds of records, and with parts of
// the run: the program's result is its own, and events of each process are there as often as the source says.
func TestTogether(t *testing.T) {
	needOMPT(t)
	const ranks, steps, threads = 2, 12, 3
	team := func(n uint64) map[string]uint64 {
		return map[string]uint64{
			"ThreadFork": n, "ThreadJoin": n, "ThreadTeamBegin": threads * n, "ThreadTeamEnd": threads * n,
			"!$omp critical": threads * n, "ThreadAcquireLock": threads * n, "ThreadReleaseLock": threads * n,
		}
	}
	const most = 300 << 10
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "together.c", "-g", "-O1", "-fopenmp", "-pthread", "-Iinclude")
		for _, x := range []struct {
			name  string
			o     Options
			args  []string
			want  [ranks]map[string]uint64
			known []trace.Code // of the analysis
		}{
			{"samples and counters", Options{Sample: time.Millisecond, Counters: []string{"task-clock", "page-faults"}}, nil, [ranks]map[string]uint64{team(steps), team(steps)}, nil},
			{"bytes", Options{Bytes: most}, []string{"20000"}, [ranks]map[string]uint64{}, []trace.Code{trace.DiagTruncated}},
			{"steps", Options{Part: Part{From: "step:4", Until: "step:8"}}, nil, [ranks]map[string]uint64{team(5), team(5)}, nil},
			{"ranks", Options{Part: Part{Ranks: "1"}}, nil, [ranks]map[string]uint64{{"ThreadFork": 0}, team(steps)}, nil},
			{"times", Options{Sample: time.Millisecond, Part: Part{From: "20ms", Until: "150ms"}}, nil, [ranks]map[string]uint64{}, nil},
			{"latest", Options{Part: Part{Keep: LeastKeep}}, []string{"15000"}, [ranks]map[string]uint64{}, nil},
		} {
			t.Run(l.cc+"/"+x.name, func(t *testing.T) {
				x.o.Command, x.o.Threads, x.o.Sites, x.o.Keep = l.launch(ranks, append([]string{program, strconv.Itoa(steps)}, x.args...)...), ThreadsAll, 1, true
				r, out, errs := l.runRecorded(t, x.o)
				var in [2]float64
				for line := range strings.Lines(out) {
					var sum int
					var own [2]float64
					if _, err := fmt.Sscan(line, &sum, &own[0], &own[1]); err != nil || sum != steps*threads {
						t.Fatalf("%v: %q", err, line)
					}
					in[0], in[1] = in[0]+own[0], in[1]+own[1]
				}
				if r.Exit != 0 || len(r.Found) > 0 || len(r.Uncounted) > 0 || (len(r.Cut) > 0) != (x.o.Bytes > 0) {
					t.Fatalf("status %d, %v %v %v\n%s", r.Exit, r.Found, r.Uncounted, r.Cut, errs)
				}
				if path, err := exec.LookPath("otf2-print"); err == nil {
					if text, err := exec.Command(path, "-Werror", "--silent", r.Archive).CombinedOutput(); err != nil {
						t.Errorf("otf2-print: %v %s", err, text[max(0, len(text)-500):])
					}
				}
				for _, c := range analyse(t, r.Archive, filepath.Join(t.TempDir(), "run.xtf")).Codes {
					if c.Code.Severity() > trace.Note && !slices.Contains(x.known, c.Code) {
						t.Errorf("%s: %+v", c.Code, c)
					}
				}
				have := tally(t, filepath.Join(filepath.Dir(r.Archive), rawFolder), func(count map[string]uint64, name string, e *trace.Event, w []uint64) {
					if (e.Kind == trace.ThreadAcquireLock || e.Kind == trace.ThreadReleaseLock) && trace.ParadigmID(w[0]) != trace.ParadigmOpenMP {
						return // of the POSIX lock, those that a thread waits for
					}
					count[e.Kind.Info().Name]++
					if e.Kind == trace.Enter {
						count[name]++
					}
				}, append(x.known, trace.DiagPart)...)
				for rank, want := range x.want {
					for name, n := range want {
						if have[rank][name] != n {
							t.Errorf("rank %d: %d of %s, the program does %d", rank, have[rank][name], name, n)
						}
					}
				}
				if x.o.Sample > 0 && len(x.o.Counters) > 0 {
					countsOn(t, r.Archive)
					src, err := otf2.OpenPath(r.Archive)
					if err != nil {
						t.Fatal(err)
					}
					defer src.Close()
					shares(t, samplesOf(t, src), in)
				}
				if x.o.Bytes > 0 {
					n := onDisk(t, filepath.Dir(r.Archive)) - onDisk(t, filepath.Join(filepath.Dir(r.Archive), rawFolder))
					if n > most || n < most/5 { // each thread has its share, and how much of the lock each gets is chance
						t.Errorf("the archive has %d bytes, %d were given", n, most)
					}
				}
				if x.o.Part.Keep > 0 && (have[0]["ThreadFork"] == 0 || have[0]["ThreadAcquireLock"] >= 15000*steps*threads) {
					t.Errorf("not the latest events alone: %v", have[0])
				}
			})
		}
	}
}

// countsOn looks that each thread has counters at its calls, and that they count on.
func countsOn(t *testing.T, archive string) {
	t.Helper()
	src, err := otf2.OpenPath(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for i := range src.Definitions().Locations {
		var n, last uint64
		eventsOf(t, src, trace.P(i), func(e *trace.Event, w []uint64) {
			if e.Kind == trace.Metric {
				if n++; w[3] < last {
					t.Fatalf("location %d: task-clock is %d after %d", i, w[3], last)
				}
				last = w[3]
			}
		})
		if n < 2 || last == 0 {
			t.Errorf("location %d has %d values of counters, the last is %d ns", i, n, last)
		}
	}
}
