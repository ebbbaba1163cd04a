package main

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/counters"
)

// countedProgram has a strict class with instructions and cycles on process 0, whose call inner takes no time, a power that holds until it
// is read again, and on process 1 bytes since the reading before, of two classes, and a temperature that the trace declares as growing.
const countedProgram = `-- definitions --
STRING self=0 string="PAPI_TOT_INS"
STRING self=1 string="PAPI_TOT_CYC"
STRING self=2 string="power"
STRING self=3 string="bytes"
STRING self=4 string="temp"
STRING self=5 string="mW"
METRIC_MEMBER self=0 name=0 value_type=4 base=1
METRIC_MEMBER self=1 name=1 value_type=4 base=1
METRIC_MEMBER self=2 name=2 metric_mode=49 value_type=4 base=1 unit=5
METRIC_MEMBER self=3 name=3 metric_mode=34 value_type=4 base=1
METRIC_MEMBER self=4 name=4 value_type=8 base=1
METRIC_CLASS self=0 number_of_metrics=2 0 1
METRIC_CLASS self=1 number_of_metrics=1 2 metric_occurrence=2
METRIC_CLASS self=2 number_of_metrics=1 3 metric_occurrence=2
METRIC_CLASS self=3 number_of_metrics=1 4 metric_occurrence=2
METRIC_CLASS self=4 number_of_metrics=1 3 metric_occurrence=2
-- program --
processes 2
-- events --
0 0 METRIC 0 2 4 100 4 1000
0 0 ENTER MPI_Init
0 5 METRIC 1 1 4 2000
0 10 METRIC 0 2 4 150 4 1100
0 10 LEAVE MPI_Init
0 10 METRIC 0 2 4 150 4 1100
0 10 ENTER work
0 10 METRIC 0 2 4 155 4 1110
0 10 ENTER inner
0 10 METRIC 0 2 4 162 4 1120
0 10 LEAVE inner
0 25 METRIC 1 1 4 4000
0 30 METRIC 0 2 4 362 4 1520
0 30 LEAVE work
0 40 METRIC 0 2 4 392 4 1550
0 40 ENTER MPI_Finalize
0 50 METRIC 0 2 4 400 4 1560
0 50 LEAVE MPI_Finalize
1 0 METRIC 3 1 8 5
1 0 ENTER MPI_Init
1 10 METRIC 3 1 8 3
1 10 LEAVE MPI_Init
1 20 METRIC 2 1 4 40
1 40 METRIC 3 1 8 4
1 40 ENTER MPI_Finalize
1 50 METRIC 4 1 4 60
1 50 METRIC 3 1 8 2
1 50 LEAVE MPI_Finalize
`

// countersOf is section counters of a run.
func countersOf(t *testing.T, run string, flags ...string) *counters.Counted {
	t.Helper()
	return jsonOf[struct{ Counters *counters.Counted }](t, append([]string{"report", run, "counters"}, flags...)...).Counters
}

// TestCountersByHand compares section counters with numbers worked out by hand.
func TestCountersByHand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, run := archiveOf(t, filepath.Join(dir, "archive"), countedProgram), filepath.Join(dir, "run.xtf")
	must(t, "analyze", archive, "-o", run, "-q", "-j", "2")
	x := countersOf(t, run)
	const outside = "(outside recorded calls)"
	type key struct{ counter, name string }
	got := map[key]counters.Total{}
	for _, p := range x.Regions {
		got[key{p.Counter, p.Name}] = p.Total
	}
	for k, want := range map[key][3]float64{ // sum or mean, ticks, calls
		{"PAPI_TOT_INS", "MPI_Init"}: {50, 10, 1}, {"PAPI_TOT_INS", "work"}: {205, 20, 1}, {"PAPI_TOT_INS", "inner"}: {7, 0, 1},
		{"PAPI_TOT_INS", outside}: {30, 10, 0}, {"PAPI_TOT_INS", "MPI_Finalize"}: {8, 10, 1},
		{"PAPI_TOT_CYC", "MPI_Init"}: {100, 10, 1}, {"PAPI_TOT_CYC", "work"}: {410, 20, 1}, {"PAPI_TOT_CYC", "inner"}: {10, 0, 1},
		{"power", "MPI_Init"}: {2000, 5, 0}, {"power", "work"}: {2500, 20, 1}, {"power", outside}: {4000, 10, 0},
		{"bytes", "MPI_Init"}: {20, 10, 1}, {"bytes", outside}: {60, 30, 0}, {"bytes", "MPI_Finalize"}: {20, 10, 1},
		{"temp", "MPI_Init"}: {5, 10, 1}, {"temp", outside}: {3, 30, 0}, {"temp", "MPI_Finalize"}: {4, 10, 1},
	} {
		s, ok := got[k]
		value := s.Sum.Value
		if s.Mean.Defined {
			value = s.Mean.Value
		}
		if have := [3]float64{value, float64(s.Time), float64(s.Calls)}; !ok || have != want {
			t.Errorf("%v: %v, want %v", k, have, want)
		}
	}
	if ipc := got[key{"PAPI_TOT_INS", "work"}].PerCycle; ipc.Value != 0.5 {
		t.Errorf("IPC of work is %v", ipc)
	}
	totals := map[string]counters.Counter{}
	for _, c := range x.Counters {
		totals[c.Name] = c
	}
	second := float64(totals["power"].Time) / 45 // of the clock, as joules have it
	if p := totals["power"]; p.Kind != "level" || p.Mean.Value != 140000.0/45 || p.Joules.Value <= 0 || second != 1 {
		t.Errorf("power %+v", p)
	}
	if c := totals["temp"]; c.Kind != "level" || c.Falls != 2 || c.Mean.Value != 3.6 || c.Least.Value != 3 || c.Largest.Value != 5 {
		t.Errorf("temp %+v", c)
	}
	if c := totals["bytes"]; c.Sum.Value != 100 || c.Shared != 2 {
		t.Errorf("bytes %+v", c)
	}
	if one := countersOf(t, run, "--ranks", "1"); len(one.Counters) != 2 || len(one.Processes) != 2 {
		t.Errorf("%+v of rank 1", one.Counters)
	}
	for condition, code := range map[string]int{
		"ipc<0.54": 1, "ipc<0.53": 0, "counter:PAPI_TOT_INS>299": 1, "counter:PAPI_TOT_INS>300": 0, `interval:root.counter:"power".mean>3111`: 1,
		"counter:power.watts>3.2": 0, "counter:temp.largest>=5": 1, "counter:none>0": 1,
	} {
		if got, _, errs := call("report", run, "--fail-if", condition); got != code {
			t.Errorf("%s: status %d\n%s", condition, got, errs)
		}
	}
	text := must(t, "report", run, "counters")
	for _, want := range []string{"temp: the trace says that it grows, but 2 of 4 are less than the one before: its values are read as levels", "bytes: several calls between 2 of 2 readings"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestCountersOfListing adds up the exclusive counts of each region in a listing of otf2-print, and compares.
func TestCountersOfListing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sharedTraces(t), "pingpong-papi-scorep71")
	f, err := os.Open(filepath.Join(path, "golden-events.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(METRIC|ENTER|LEAVE) +(\d+) .*?(?:Region: "(.*?)" <|Values: (.*))`)
	value := regexp.MustCompile(`"(.*?)" <\d+>; UINT64; (\d+)\)`)
	stack, last, want := map[string][]string{}, map[[2]string]uint64{}, map[[2]string]float64{}
	s := bufio.NewScanner(z)
	for s.Scan() {
		m := line.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		switch open := stack[m[2]]; m[1] {
		case "ENTER":
			stack[m[2]] = append(open, m[3])
		case "LEAVE":
			stack[m[2]] = open[:len(open)-1]
		default:
			for _, v := range value.FindAllStringSubmatch(m[4], -1) {
				n, _ := strconv.ParseUint(v[2], 10, 64)
				at := [2]string{m[2], v[1]}
				if before, ok := last[at]; ok && len(open) > 0 {
					want[[2]string{v[1], open[len(open)-1]}] += float64(n - before)
				}
				last[at] = n
			}
		}
	}
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", filepath.Join(path, "traces.otf2"), "-o", run, "-q", "-j", "2")
	seen := 0
	for _, p := range countersOf(t, run).Regions {
		if w, ok := want[[2]string{p.Counter, p.Name}]; ok && p.Sum.Value == w {
			seen++
		} else {
			t.Errorf("%s of %s is %v, want %v", p.Counter, p.Name, p.Sum, w)
		}
	}
	if seen != 21 || len(want) != 21 {
		t.Errorf("%d of %d sums", seen, len(want))
	}
}

// TestEnergyOfDevice compares energy that the driver counts with the mean of the power that it tells, and bytes of memory by kernel, which
// belong to the one stream of their device.
func TestEnergyOfDevice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sharedTraces(t), "hip-mi300-scorep9")
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", filepath.Join(path, "traces.otf2"), "-o", run, "-q", "-j", "2")
	x := countersOf(t, run)
	joules := map[string]float64{}
	for _, c := range x.Counters {
		joules[c.Name] = c.Joules.Value
	}
	for device := range 4 {
		n := strconv.Itoa(device)
		counted, power := joules["A2rocm_smi:::energy_count:device="+n], joules["A2rocm_smi:::current_socket_power:device="+n]
		if counted < 880 || power < 0.96*counted || power > 1.01*counted {
			t.Errorf("device %d: %v J counted, %v J of its power", device, counted, power)
		}
	}
	if want := float64(155208806863765-155206569483400) * 1e-6; joules["A2rocm_smi:::energy_count:device=0"] != want {
		t.Errorf("%v J, want %v", joules["A2rocm_smi:::energy_count:device=0"], want)
	}
	energy := jsonOf[struct{ Energy []counters.Counter }](t, "report", run).Energy
	for _, c := range energy {
		if c.Joules.Value != joules[c.Name] || c.Joules.Value == 0 {
			t.Errorf("%s: %v J in the summary, %v in section counters", c.Name, c.Joules, joules[c.Name])
		}
	}
	if text := must(t, "report", run); len(energy) != 12 || !strings.Contains(text, "2 237  311.3") {
		t.Errorf("%d counters of energy in\n%s", len(energy), text)
	}
	for _, p := range x.Intervals {
		if p.Counter == "HIP Memory" && p.Time != 34032532660 { // of both devices, from their first readings to the end of the run
			t.Errorf("memory of devices is known for %d ticks", p.Time)
		}
	}
	for _, p := range x.Regions {
		if p.Counter == "HIP Memory" && strings.Contains(p.Name, "heavy_kernel") && p.Mean.Value == 1<<30 {
			return
		}
	}
	t.Error("no memory of heavy_kernel")
}

// TestUnknownMetric: a reading of a metric that no record defines is in no counter, which is said.
func TestUnknownMetric(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 5 METRIC 9 1 4 2000\n0 10 LEAVE main\n")
	if out := must(t, "report", run, "diagnostics"); !strings.Contains(out, "records that refer to missing definitions: 1 in 1 location") || !strings.Contains(out, "metric 9") {
		t.Error(out)
	}
}

// TestCounterThatStandsStill: a frequency that the trace says to grow, and that never changes, does not count 0 without a word. One of which all
// readings are 0 is none, nor one that changes once.
func TestCounterThatStandsStill(t *testing.T) {
	t.Parallel()
	program := func(values ...string) string {
		text := `-- definitions --
STRING self=0 string="coretemp:::freq"
METRIC_MEMBER self=0 name=0 value_type=4 base=1
METRIC_CLASS self=0 number_of_metrics=1 0 metric_occurrence=2
-- program --
processes 1
-- events --
0 0 ENTER main
`
		for i, v := range values {
			text += "0 " + strconv.Itoa(10*i) + " METRIC 0 1 4 " + v + "\n"
		}
		return foundTrace(t, text+"0 100 LEAVE main\n")
	}
	const want = "coretemp:::freq: 1.3e+09 at every reading: a count that stands still, or a level"
	for _, x := range []struct {
		values []string
		says   bool
	}{{[]string{"1300000000", "1300000000", "1300000000"}, true}, {[]string{"0", "0", "0"}, false}, {[]string{"1300000000", "1300000000", "1300000001"}, false}, {[]string{"1300000000"}, false}} {
		if text := must(t, "report", program(x.values...), "counters"); strings.Contains(text, want) != x.says || strings.Contains(text, "at every reading") != x.says {
			t.Errorf("%v: %s", x.values, text)
		}
	}
}
