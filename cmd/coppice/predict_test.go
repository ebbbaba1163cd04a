package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/report/results"
)

// platformOf4 is a platform file of nodes with four processes.
const platformOf4 = `schema = "coppice.platform/1"
name = "cluster"
[nodes]
ranks_per_node = 4
[links.node]
L_ns = 300
o_send_ns = 150
o_recv_ns = 150
g_ns = 100
G_ns_per_byte = 0.05
eager_bytes = 16384
[links.net]
L_ns = 1200
o_send_ns = 400
o_recv_ns = 400
g_ns = 250
G_ns_per_byte = 0.08
eager_bytes = 16384
`

// predictable makes a run, and a platform file next to it.
func predictable(t *testing.T, spec, platform string) (run, file string) {
	t.Helper()
	dir := analysed(t, spec)
	file = filepath.Join(dir, "p.toml")
	if err := os.WriteFile(file, []byte(platform), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "run.xtf"), file
}

// predictDocument is what tests read of the document.
type predictDocument struct {
	Schema  string                `json:"schema"`
	Predict *predicted.Prediction `json:"predict"`
}

func TestPredictReport(t *testing.T) {
	t.Parallel()
	run, p := predictable(t, "stencil:procs=6,events=6k,jitter=10", platformOf4)
	out := filepath.Join(t.TempDir(), "predicted.xtf")
	text := must(t, "predict", run, "--platform", p, "-q", "-o", out)
	four := filepath.Join(analysed(t, "stencil:procs=4,events=4k"), "run.xtf")
	if series := must(t, "report", "scaling", four, out); strings.Count(series, "predicted.xtf is a predicted run, not a measured one") != 1 {
		t.Error(series)
	}
	for _, want := range []string{"run.xtf  6 processes  predicted on cluster, 2 nodes", "runtime: measured", "needs --host-platform", "--log-ranks", "part of the error"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	d := predictionOf(t, "predict", run, "--platform", p, "-q", "--host-platform", p, "--cpu-scale", "0.5")
	x := d.Predict
	if d.Schema != results.Schema || x == nil || x.Makespan == nil || len(x.Processes) != 6 || x.Computation.Source != "scaled" || x.Platform.Nodes != 2 || x.Errors.HostMakespan == nil {
		t.Errorf("document %+v", d)
	}
	csv := must(t, "predict", run, "--platform", p, "-q", "--format", "csv")
	if lines := strings.Split(strings.TrimSpace(csv), "\n"); len(lines) != 7 || !strings.HasPrefix(lines[0], "rank,class,") {
		t.Errorf("table:\n%s", csv)
	}
	if again := must(t, "report", out); !strings.Contains(again, "6 processes") {
		t.Errorf("report of the predicted run:\n%s", again)
	}
	if checked := must(t, "check", out); !strings.Contains(checked, "clean") {
		t.Errorf("check of the predicted run:\n%s", checked)
	}
	if own := must(t, "predict", run, "--self-check", "--host-platform", p, "--substitute", "copy", "-q"); strings.Contains(own, "predicted on") || !strings.Contains(own, "simulated on cluster") {
		t.Errorf("errors alone:\n%s", own)
	}
}

// predictionOf decodes the document of a prediction, ratios that are not defined as undefined.
func predictionOf(t *testing.T, args ...string) *predictDocument {
	t.Helper()
	var d struct {
		Schema  string `json:"schema"`
		Predict struct {
			Platform    *predicted.PredictedPlatform `json:"platform"`
			Computation predicted.PredictedComputing `json:"computation"`
			Makespan    *uint64                      `json:"makespan"`
			Processes   []predicted.PredictedProcess `json:"process_times"`
			Errors      struct {
				HostMakespan *uint64 `json:"host_makespan"`
			} `json:"errors"`
		} `json:"predict"`
	}
	decode(t, must(t, append(args, "--format", "json")...), &d)
	p := &predicted.Prediction{Platform: d.Predict.Platform, Computation: d.Predict.Computation, Makespan: d.Predict.Makespan, Processes: d.Predict.Processes}
	p.Errors.HostMakespan = d.Predict.Errors.HostMakespan
	return &predictDocument{d.Schema, p}
}

func TestPredictSweep(t *testing.T) {
	t.Parallel()
	run, p := predictable(t, "ring:procs=4,events=4k", platformOf4)
	plot := filepath.Join(t.TempDir(), "plot.svg")
	args := []string{"predict", run, "--platform", p, "-q", "--sweep", "latency=0,1,4,cpu=1,0.5", "--sweep", "mapping=block,cyclic"}
	text := must(t, append(args, "--plot", plot)...)
	if strings.Count(text, "\n      ") < 6 || !strings.Contains(text, "latency") {
		t.Errorf("text:\n%s", text)
	}
	csv := must(t, append(args, "--format", "csv")...)
	if lines := strings.Split(strings.TrimSpace(csv), "\n"); len(lines) != 13 || lines[0] != "latency,cpu,mapping,makespan,compute,ratio" {
		t.Errorf("table:\n%s", csv)
	}
	b, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	circles := 0
	for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 12 {
		t.Errorf("%d points in the plot", circles)
	}
}

func TestPredictExitCodes(t *testing.T) {
	t.Parallel()
	run, p := predictable(t, "ring:procs=4,events=4k", platformOf4)
	damaged, _ := predictable(t, "stencil:procs=4,events=4k,broken=unmatched-send", platformOf4)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, x := range []struct {
		name string
		args []string
		code int
		want string // on either stream
	}{
		{"condition holds", []string{run, "--platform", p, "--fail-if", "makespan>1ns"}, jobs.ExitFound, "makespan is"},
		{"condition does not hold", []string{run, "--platform", p, "--fail-if", "ratio>1000", "--fail-if", "speedup<0.001"}, jobs.ExitDone, "runtime"},
		{"unknown error", []string{run, "--platform", p, "--fail-if", "error_net>5%"}, jobs.ExitFound, "not known"},
		{"deadlock", []string{run, "--platform", file("d.toml", strings.ReplaceAll(platformOf4, "16384", "64"))}, jobs.ExitFound, "0  MPI_Send     1            1"},
		{"no platform", []string{run}, jobs.ExitUsage, "--platform P.toml is missing"},
		{"misspelt condition", []string{run, "--platform", p, "--fail-if", "time>1s"}, jobs.ExitUsage, "choose from makespan"},
		{"misspelt sweep", []string{run, "--platform", p, "--sweep", "speed=2"}, jobs.ExitUsage, "choose one of latency"},
		{"misspelt factor", []string{run, "--platform", p, "--cpu-scale", "fast"}, jobs.ExitUsage, "--cpu-scale fast"},
		{"misspelt rule", []string{run, "--platform", p, "--substitute", "mean"}, jobs.ExitUsage, "choose scale or copy"},
		{"misspelt classes", []string{run, "--platform", p, "--classes", "many"}, jobs.ExitUsage, "--classes"},
		{"plot of nothing", []string{run, "--platform", p, "--plot", "x.svg"}, jobs.ExitUsage, "--sweep latency"},
		{"output exists", []string{run, "--platform", p, "-o", p}, jobs.ExitUsage, "exists already"},
		{"command without --run", []string{run, "--platform", p, "--", "mpirun", "x"}, jobs.ExitUsage, "for --run"},
		{"--run without command", []string{run, "--platform", p, "--run"}, jobs.ExitUsage, "needs the command"},
		{"--run of two programs", []string{run, "--platform", p, "--run", "--", "mpirun", "true", ":", "true"}, jobs.ExitUsage, "starts several"},
		{"--run without program", []string{run, "--platform", p, "--run", "--run-dir", filepath.Join(dir, "r"), "--", "true"}, jobs.ExitUsage, "linked dynamically"},
		{"not a run", []string{p, "--platform", p}, jobs.ExitInput, "p.toml"},
		{"bad key", []string{run, "--platform", file("b.toml", platformOf4+"speed = 3\n")}, jobs.ExitInput, "b.toml:19: links.net.speed"},
		{"bad vectors", []string{run, "--platform", p, "--vectors", file("v.csv", "rank,index,ns\n0,1,-2\n")}, jobs.ExitInput, "v.csv:2"},
		{"left out", []string{damaged, "--platform", p}, jobs.ExitPartial, "without the other end"},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := call(append([]string{"predict", "-q"}, x.args...)...)
			if code != x.code || !strings.Contains(out+errs, x.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, x.code, x.want, out, errs)
			}
		})
	}
}

// TestPredictLongerThreads: the first thread of the process is there from 10 to 20 of 100 ticks. The prediction is that long, and says that it
// is too short.
func TestPredictLongerThreads(t *testing.T) {
	t.Parallel()
	_, p := predictable(t, "ring:procs=2,events=1k", platformOf4)
	const said = "left out, so that runtimes are too short: threads that begin before the first one of their process, or end after it: 1"
	for other, want := range map[string]bool{"1 0 ENTER step\n1 100 LEAVE step\n": true, "1 11 ENTER step\n1 19 LEAVE step\n": false} {
		run := foundTrace(t, "-- program --\nprocesses 1\nthreads 2\n-- events --\n0 10 ENTER main\n0 20 LEAVE main\n"+other)
		if out := must(t, "predict", run, "--platform", p, "-q"); strings.Contains(out, said) != want {
			t.Errorf("%s: said %v\n%s", other, !want, out)
		}
	}
}
