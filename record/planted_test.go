package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// plantedFolder has programs that know what they cost; its README says which, and what their line of JSON means.
const plantedFolder = "examples/planted"

// planted is a line of the README's table.
type planted struct {
	file    string
	ranks   int
	kinds   []string // that the first finding may have
	compare bool     // its seconds
}

// plantedCause is the last line of a planted program.
type plantedCause struct {
	Kind, Function, Pattern string
	Process                 int
	Seconds, Runtime, Waits float64
	Besides                 float64
}

// plantedReport is what the test reads of a report.
type plantedReport struct {
	Waits struct {
		Resolution float64
		Patterns   []struct {
			Pattern string
			Ticks   float64
		}
		Intervals []struct {
			Label string
			Waits map[string]float64
		}
	}
	CannotTell struct {
		Missing []struct{ What, Text string }
	} `json:"cannot_tell"`
	Findings []plantedFinding
}

type plantedFinding struct {
	Kind, Text string
	Seconds    float64
	Where      struct {
		Region    string
		Place     string
		Path      []string
		Processes []int
	}
	Cause *struct {
		Process int
		Region  string
		Path    []string
	}
}

var plantedLine = regexp.MustCompile("(?m)^\\| `([a-z_]+\\.(?:c|f90|trace))` \\| ([0-9]+) \\|.*\\| ([a-z_ ]+) \\| (compare|kind) \\|$")

// plantedTable reads the README's table. Each program of the folder has a line there.
func plantedTable(t *testing.T) (list []planted) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(plantedFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range plantedLine.FindAllStringSubmatch(string(b), -1) {
		ranks, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, planted{m[1], ranks, strings.Fields(m[3]), m[4] == "compare"})
		named = append(named, m[1])
	}
	var there []string
	for _, pattern := range [...]string{"*.c", "*.f90", "*.trace"} {
		files, err := filepath.Glob(filepath.Join(plantedFolder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f = filepath.Base(f); f != "planted.f90" {
				there = append(there, f)
			}
		}
	}
	slices.Sort(named)
	slices.Sort(there)
	if !slices.Equal(named, there) {
		t.Fatalf("the table has\n%v, the folder\n%v", named, there)
	}
	return list
}

// TestPlanted records programs with one planted cause each, and holds what the report says against their own clocks.
func TestPlanted(t *testing.T) {
	table := plantedTable(t)
	for k, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) { l.planted(t, table, k > 0) })
	}
}

// planted runs the programs, or only those of windows, which libraries synchronise in different ways, and of files.
func (l *library) planted(t *testing.T, table []planted, windows bool) {
	folder := l.makeExamples(t, "examples/planted")
	for _, x := range table {
		if b, err := os.ReadFile(filepath.Join(plantedFolder, x.file)); err != nil || windows && !bytes.Contains(b, []byte("MPI_Win_")) && !strings.HasPrefix(x.file, "io_") && !withThreads(b) {
			continue
		}
		t.Run(x.file, func(t *testing.T) {
			for _, text := range wrongAlways(func() map[string]string {
				file := filepath.Join(t.TempDir(), "run.xtf")
				var own plantedCause
				if strings.HasSuffix(x.file, ".trace") {
					own = x.trace(t, file)
				} else {
					own = x.run(t, l, filepath.Join(folder, strings.TrimSuffix(x.file, filepath.Ext(x.file))), file, 0)
				}
				doc, wrong := readPlanted(t, file), map[string]string{}
				for what, err := range map[string]error{"waits": doc.wrongWaits(&own), "finding": doc.wrongFinding(&x, &own)} {
					if err != nil {
						wrong[what] = err.Error()
					}
				}
				return wrong
			}) {
				t.Error(text)
			}
		})
	}
}

// TestPlantedLines records the programs without instrumentation: the first finding names lines of the source, that of the call that
// waits and that of the call that comes late.
func TestPlantedLines(t *testing.T) {
	table := plantedTable(t)
	l := libraries(t)[0]
	folder := l.makeExamples(t, "examples/planted", "INSTRUMENT=-g")
	for _, x := range table {
		if strings.HasSuffix(x.file, ".trace") || x.file == "oversubscription.c" { // its cause is not a line
			continue
		}
		t.Run(x.file, func(t *testing.T) {
			var wrong error
			for range plantedTries {
				file := filepath.Join(t.TempDir(), "run.xtf")
				own := x.run(t, &l, filepath.Join(folder, strings.TrimSuffix(x.file, filepath.Ext(x.file))), file, 1)
				if wrong = readPlanted(t, file).wrongLines(t, &x, &own); wrong == nil {
					return
				}
			}
			t.Error(wrong)
		})
	}
}

// withThreads reports whether a program makes threads.
func withThreads(source []byte) bool {
	return bytes.Contains(source, []byte("pthread_create")) || bytes.Contains(source, []byte("#pragma omp"))
}

// wrongLines looks in the first finding for a line that waits, and for one that is late where one is marked; in the next one, where it has no more
// seconds than the processes spent besides.
func (r *plantedReport) wrongLines(t *testing.T, x *planted, own *plantedCause) (wrong error) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(plantedFolder, x.file))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if wrong = f.wrongLines(x, string(b)); wrong == nil || f.Seconds > own.Besides {
			return wrong
		}
	}
	return errors.Join(wrong, errors.New("no finding"))
}

func (f *plantedFinding) wrongLines(x *planted, source string) (wrong error) {
	for _, mark := range [...]string{"waits", "late"} {
		marked := regexp.MustCompile(`(MPI_|write\(|pthread_|#pragma omp).*[/!]\*? .*\b` + mark + `\b`)
		found, lines := false, 0
		for i, line := range strings.Split(source, "\n") {
			if marked.MatchString(line) {
				lines++
				place := regexp.QuoteMeta(fmt.Sprintf("%s:%d", x.file, i+1)) + `\b`
				if mark == "late" {
					place = `what comes late is MPI_\w+ at ` + place
				}
				found = found || regexp.MustCompile(place).MatchString(f.Text)
			}
		}
		if lines > 0 && !found || lines == 0 && mark == "waits" {
			wrong = errors.Join(wrong, fmt.Errorf("none of %d lines marked %s in: %s", lines, mark, f.Text))
		}
	}
	return wrong
}

// plantedTries is how often a program runs until the report is right: other work on the machine delays a process by more than
// 10 ms now and then, and not always the same one.
const plantedTries = 3

// run records and analyses a program, and returns what it says itself.
func (x *planted) run(t *testing.T, l *library, program, file string, sites int) (own plantedCause) {
	t.Helper()
	o := Options{Command: l.launch(x.ranks, program), Sites: sites, IO: strings.HasPrefix(x.file, "io_")}
	source, err := os.ReadFile(filepath.Join(plantedFolder, x.file))
	if err != nil {
		t.Fatal(err)
	}
	if withThreads(source) {
		o.Threads = ThreadsAll
	}
	r, out, errs := l.runRecorded(t, o)
	if len(r.Alone) > 0 {
		t.Skip("no runtime with OMPT: scripts/setup --test installs libomp")
	}
	line := ""
	for s := range strings.Lines(out) {
		if strings.HasPrefix(s, "{") {
			line = s
		}
	}
	if err := json.Unmarshal([]byte(line), &own); err != nil {
		t.Fatalf("%v in %q\n%s", err, out, errs)
	}
	if hang := own.Kind == "hang"; r.Processes != x.ranks || (r.Exit != 0) != hang {
		t.Fatalf("status %d, %d processes\n%s", r.Exit, r.Processes, errs)
	}
	analyse(t, r.Archive, file)
	return own
}

// trace analyses a trace in text form, and returns what was worked out by hand.
func (x *planted) trace(t *testing.T, file string) (own plantedCause) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(plantedFolder, x.file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(tracetest.Section(string(b), "planted")), &own); err != nil {
		t.Fatal(err)
	}
	src, err := tracetest.Parse(string(b))
	if err != nil {
		t.Fatal(err)
	}
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{Source: src, Output: file, MemBytes: 512 << 20, StoreBytes: 64 << 20})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// readPlanted reads a report as JSON.
func readPlanted(t *testing.T, file string) *plantedReport {
	t.Helper()
	run, err := results.Open(file, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.File.Close()
	d, err := report.New(run, report.Options{Sections: []report.Section{report.SectionSummary, report.SectionWaits}})
	if err != nil && !results.Partial(err) {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := d.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	r := new(plantedReport)
	if err := json.Unmarshal(text.Bytes(), r); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	return r
}

// near compares seconds of the report with those of a program: 5 % or 10 ms.
func near(got, own float64) bool {
	return math.Abs(got-own) <= max(0.010, 0.05*own)
}

// wrongWaits compares the wait state that shows a cause: in interval 1, or of a trace in all of it.
func (r *plantedReport) wrongWaits(own *plantedCause) error {
	sums := map[string]float64{}
	for _, x := range r.Waits.Patterns {
		sums[x.Pattern] = x.Ticks
	}
	for _, x := range r.Waits.Intervals {
		if x.Label == "interval 1" {
			sums = x.Waits
		}
	}
	seconds := func(pattern string) float64 { return sums[pattern] / r.Waits.Resolution }
	var wrong error
	if got := seconds(own.Pattern); own.Pattern != "" && !near(got, own.Waits) {
		wrong = errors.Join(wrong, fmt.Errorf("%s %.6f s, by the program's clock %.6f", own.Pattern, got, own.Waits))
	}
	for _, pattern := range [...]string{"late_sender_wrong_order_same", "late_sender_wrong_order_different"} {
		if got := seconds(pattern); own.Pattern == "late_sender" && !near(got, 0) {
			wrong = errors.Join(wrong, fmt.Errorf("%s %.6f s, but no message is received out of order", pattern, got))
		}
	}
	return wrong
}

// finding returns the one of a planted kind. One that comes before has more seconds, and no more than the processes spent besides by their own
// clocks, which is little unless the machine has other work; or it is the wait state that shows the cause, and has those seconds too.
func (r *plantedReport) finding(x *planted, own *plantedCause) (*plantedFinding, error) {
	i := slices.IndexFunc(r.Findings, func(f plantedFinding) bool { return slices.Contains(x.kinds, f.Kind) })
	if i < 0 {
		return nil, fmt.Errorf("no finding is planted %s: %+v", own.Kind, r.Findings)
	}
	for _, f := range r.Findings[:i] {
		most := own.Besides
		if strings.Contains(own.Pattern, strings.TrimSuffix(f.Kind, "_wait")) {
			most += own.Waits
		}
		if f.Seconds < r.Findings[i].Seconds || f.Seconds > most {
			return nil, fmt.Errorf("first is %s, planted %s, and %.6f s are spent besides: %s", f.Kind, own.Kind, own.Besides, f.Text)
		}
	}
	return &r.Findings[i], nil
}

// wrongFinding compares the finding.
func (r *plantedReport) wrongFinding(x *planted, own *plantedCause) error {
	f, err := r.finding(x, own)
	if err != nil {
		return err
	}
	if !x.compare {
		return nil
	}
	var wrong error
	if !near(f.Seconds, own.Seconds) {
		wrong = fmt.Errorf("%s of %.6f s, by the program's clock %.6f: %s", f.Kind, f.Seconds, own.Seconds, f.Text)
	}
	processes, regions := f.Where.Processes, append(f.Where.Path, f.Where.Region)
	if f.Cause != nil {
		processes, regions = append(processes, f.Cause.Process), append(append(regions, f.Cause.Path...), f.Cause.Region)
	}
	if own.Process >= 0 && !slices.Contains(processes, own.Process) || own.Function != "" && !slices.Contains(regions, own.Function) {
		wrong = errors.Join(wrong, fmt.Errorf("%s names processes %v and %q, not process %d and %q: %s", f.Kind, processes, regions, own.Process, own.Function, f.Text))
	}
	return wrong
}
