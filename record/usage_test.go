package record

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestUsage: four processes share a processor and compute 50 ms of its time each. What the recorder says of them is what they
// say themselves: the processors that they may use, their processor time, for how long they were ready to run in vain.
func TestUsage(t *testing.T) {
	l := libraries(t)[0]
	processor, command := l.onOne(t, 4, l.compileProgram(t, "usage.c"))
	r, out, errs := l.runRecorded(t, Options{Command: command})
	var clocks [][3]float64
	for line := range strings.Lines(out) {
		var x [3]float64
		if n, _ := fmt.Sscan(line, &x[0], &x[1], &x[2]); n == 3 {
			clocks = append(clocks, x)
		}
	}
	if r.Processes != 4 || len(clocks) != 4 {
		t.Fatalf("%d processes; %s%s", r.Processes, out, errs)
	}
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d := src.Definitions()
	got := map[uint64]map[string]uint64{}
	for i := range d.LocationProperties {
		q := &d.LocationProperties[i]
		if got[q.Location] == nil {
			got[q.Location] = map[string]uint64{}
		}
		if name := d.Text(q.Name); name == trace.PropertyProcessors {
			if text := d.Text(uint32(q.Value.Bits)); q.Value.Type != trace.TypeString || text != processor {
				t.Errorf("location %d may use %q", q.Location, text)
			}
			got[q.Location][name] = 1
		} else {
			got[q.Location][name] = q.Value.Bits
		}
	}
	for rank, x := range clocks {
		v := got[uint64(rank)]
		cpu, delay := float64(v[trace.PropertyCPUTime])/1e9, float64(v[trace.PropertyDelay])/1e9
		// Its own processor time has MPI_Init too. It waited for a processor for what passed beyond its processor time, and
		// perhaps on the way from one barrier, or to the next.
		if cpu < 0.050 || cpu > x[0]+0.010 {
			t.Errorf("rank %d: %.6f s of processor time, its own clock has %.6f with MPI_Init", rank, cpu, x[0])
		}
		if _, told := v[trace.PropertyDelay]; told && (delay < 0.95*x[1]-0.005 || delay > 1.05*x[1]+0.100) {
			t.Errorf("rank %d: %.6f s without a processor, its own clocks have %.6f", rank, delay, x[1])
		}
		if v[trace.PropertyProcessors] != 1 || v[trace.PropertySwitches] == 0 || v[trace.PropertySwitches] > uint64(x[2])+100 {
			t.Errorf("rank %d: %v; it had to leave the processor %.0f times", rank, v, x[2])
		}
		t.Logf("rank %d: %.6f s of processor time of %.6f, %.6f s without, by its clocks %.6f", rank, cpu, x[0], delay, x[1])
	}
	if len(d.SystemTreeNodeProperties) != 1 || d.SystemTreeNodeProperties[0].Value.Type != trace.TypeUint64 || d.SystemTreeNodeProperties[0].Value.Bits == 0 {
		t.Errorf("of the host: %+v", d.SystemTreeNodeProperties)
	}
}

// TestYields: a process that gives its processor away lacks none.
func TestYields(t *testing.T) {
	needDelays(t)
	l := libraries(t)[0]
	_, command := l.onOne(t, 2, l.compileProgram(t, "yields.c"))
	least := uint64(math.MaxUint64)
	for range plantedTries {
		r, _, errs := l.runRecorded(t, Options{Command: command})
		src, err := otf2.OpenPath(r.Archive)
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		d := src.Definitions()
		src.Close()
		for i := range d.LocationProperties {
			if q := &d.LocationProperties[i]; d.Text(q.Name) == trace.PropertyDelay && q.Location == d.Location(0).Ref {
				least = min(least, q.Value.Bits)
			}
		}
		if least < 100e6 {
			return
		}
	}
	t.Errorf("%d ns without a processor", least)
}

// needDelays skips a test where the kernel is built without counts of how long threads wait for a processor.
func needDelays(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("this kernel does not count how long threads wait for a processor: ", err)
	}
}

// onOne is a command that runs so many processes of a program on the first processor that may be used.
func (l *library) onOne(t *testing.T, ranks int, program string) (processor string, command []string) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, allowed, _ := strings.Cut(string(own), "Cpus_allowed_list:")
	processor = strings.FieldsFunc(allowed, func(r rune) bool { return !unicode.IsDigit(r) })[0]
	command = l.launch(ranks, program)
	return processor, append(command[:len(command)-1], "taskset", "-c", processor, program)
}

// TestThreadsOnOneProcessor: threads of OpenMP that share a processor do not wait for each other as they record it, but each takes longer. The first
// finding has the time by the program's own clocks in which its first thread had no processor.
func TestThreadsOnOneProcessor(t *testing.T) {
	needOMPT(t)
	needDelays(t)
	l := libraries(t)[0]
	_, command := l.onOne(t, 1, l.compileProgram(t, "crowded.c", "-g", "-O1", "-fopenmp"))
	var wrong error
	for range plantedTries {
		r, out, errs := l.runRecorded(t, Options{Command: command, Threads: ThreadsOpenMP})
		var without float64
		if _, err := fmt.Sscan(out, &without); err != nil || r.Exit != 0 {
			t.Fatalf("%v, status %d: %q\n%s", err, r.Exit, out, errs)
		}
		file := filepath.Join(t.TempDir(), "run.xtf")
		analyse(t, r.Archive, file)
		f := readPlanted(t, file).Findings
		if len(f) > 0 && f[0].Kind == "oversubscription" && near(f[0].Seconds, without) && strings.Contains(f[0].Text, ": 2 threads of 1 process on host ") {
			return
		}
		wrong = fmt.Errorf("the threads had no processor for %.6f s: %+v", without, f)
	}
	t.Error(wrong)
}
