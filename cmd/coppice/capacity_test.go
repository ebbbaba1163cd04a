package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// capacityModel is the example of docs/capacity.md.
const capacityModel = `schema = "coppice.capacity/1"
load = { jobs = 4, think = 0.0 }
centers = [
  { name = "node0.cpu",  kind = "ps", servers = 4 },
  { name = "node0.disk", kind = "fcfs" },
  { name = "net",        kind = "fcfs" } ]
machines = [ { name = "node", centers = ["node0.cpu", "node0.disk"], count = 1, price = 1.0 } ]
[pipeline]
chunks = 16
buffer = 2
stages = [
  { name = "read",  demand = { "node0.disk" = 4.0, "node0.cpu" = 1.0 }, scv = 0.3, overhead_per_chunk = { "node0.cpu" = 0.002 } },
  { name = "solve", demand = { "node0.cpu" = 9.0, net = 0.4 }, scv = 0.3, workers = 1 },
  { name = "write", demand = { "node0.disk" = 1.5 }, scv = 0.3 } ]
`

func modelFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.toml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCapacity runs every verb on the model of the documentation.
func TestCapacity(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	model := modelFile(t, capacityModel)
	for _, x := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"solve"}, jobs.ExitDone, []string{"response 22.00 s", "lower bound 22.00 s (node0.disk, reached)", "N* = 1.9", "node0.disk  1.00", "gain nothing", "node0.disk.servers = 2: 12.", "machines.node = 2: 11."}},
		{[]string{"solve", "--method", "bounds"}, jobs.ExitDone, []string{"longest path 9.808 s"}},
		{[]string{"solve", "--method", "tree", "--op", "two"}, jobs.ExitDone, []string{"operator two"}},
		{[]string{"solve", "--method", "sim", "--sim-jobs", "1000"}, jobs.ExitDone, []string{"1 000 jobs", "95 % within"}},
		{[]string{"sweep", "--vary", "jobs=1,4", "--vary", "chunks=1,16"}, jobs.ExitDone, []string{"4      16     22.00       0.182  10.53  22.00  node0.disk"}},
		{[]string{"check", "--sim-jobs", "2000"}, jobs.ExitDone, []string{"within the interval + 8 %"}},
		{[]string{"plan", "--max-response", "15", "--vary", "node0.disk.servers=1..4", "--sim-jobs", "2000"}, jobs.ExitDone, []string{"node0.disk.servers 2", "confirmed", "22 s > 15 s, by a bound"}},
		{[]string{"plan", "--max-response", "8", "--vary", "node0.disk.servers=1..4"}, jobs.ExitFound, []string{"longest path of a job takes at least 9.808 s"}},
		{[]string{"plan", "--max-response", "15", "--vary", "chunks=1..4"}, jobs.ExitFound, []string{"node0.disk has too much to do"}},
	} {
		code, out, errs := call(append([]string{"capacity", x.args[0], model}, x.args[1:]...)...)
		if code != x.code {
			t.Errorf("%v: status %d\n%s%s", x.args, code, out, errs)
		}
		for _, w := range x.want {
			if !strings.Contains(out, w) {
				t.Errorf("%v does not say %q:\n%s", x.args, w, out)
			}
		}
	}
}

// TestCapacityFiles: documents, tables and pictures have the same bytes again, and the picture is XML.
func TestCapacityFiles(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	model := modelFile(t, strings.ReplaceAll(capacityModel, `"read"`, `"<r&d>"`))
	dir := t.TempDir()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, run := range []string{"a", "b"} {
		must(t, "capacity", "solve", model, "--samples", "10", "-o", filepath.Join(dir, run+".json"), "--plot", filepath.Join(dir, run+".svg"))
		must(t, "capacity", "sweep", model, "--vary", "jobs=1..3", "--vary", "buffer=1,2", "--samples", "10", "-j", "2",
			"-o", filepath.Join(dir, run+".csv"), "--plot", filepath.Join(dir, run+"-sweep.svg"))
	}
	for _, kind := range []string{".json", ".svg", ".csv", "-sweep.svg"} {
		a := read("a" + kind)
		if !bytes.Equal(a, read("b"+kind)) {
			t.Errorf("%s differs", kind)
		}
		if !strings.HasSuffix(kind, ".svg") {
			continue
		}
		d := xml.NewDecoder(bytes.NewReader(a))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
		}
	}
	if head, _, _ := strings.Cut(string(read("a.csv")), "\n"); head != "jobs,buffer,response,throughput,alone,bound,bottleneck,utilisation" {
		t.Error(head)
	}
	doc := jsonOf[struct {
		Schema   string
		Capacity struct {
			Response    float64
			Utilisation map[string]float64
			Warnings    []string
		}
	}](t, "capacity", "solve", model)
	if doc.Schema != "coppice.report/1" || doc.Capacity.Response != 22 || doc.Capacity.Utilisation["node0.disk"] != 1 || doc.Capacity.Warnings == nil {
		t.Errorf("%+v", doc)
	}
}

// TestCapacityErrors: what cannot be, with the status of it.
func TestCapacityErrors(t *testing.T) {
	t.Parallel()
	model := modelFile(t, capacityModel)
	off := modelFile(t, capacityModel+"[origin]\ninput = \"x\"\nwindow_s = [0, 1]\nself_check_error = -0.25\n")
	wrong := modelFile(t, strings.Replace(capacityModel, "net = 0.4", "lan = 0.4", 1))
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, jobs.ExitUsage, "solve, sweep, check or plan"},
		{[]string{"solve"}, jobs.ExitUsage, "0 operands"},
		{[]string{"solve", "nothing.toml"}, jobs.ExitInput, "no such file"},
		{[]string{"solve", wrong}, jobs.ExitInput, `model.toml: line 13: "solve": unknown center "lan" in demand`},
		{[]string{"solve", model, "--method", "dag"}, jobs.ExitUsage, "choose walk, bounds, tree or sim"},
		{[]string{"sweep", model}, jobs.ExitUsage, "give --vary"},
		{[]string{"sweep", model, "--vary", "chunks"}, jobs.ExitUsage, "NAME=VALUES"},
		{[]string{"sweep", model, "--vary", "lan.servers=1"}, jobs.ExitUsage, "lan.servers cannot be varied"},
		{[]string{"sweep", model, "--vary", "chunks=0,1"}, jobs.ExitUsage, "pipeline.chunks: 0 is not 1 to"},
		{[]string{"plan", model, "--vary", "chunks=1"}, jobs.ExitUsage, "--max-response or --min-throughput"},
		{[]string{"plan", model, "--max-response", "3", "--vary", "think=1"}, jobs.ExitUsage, "think cannot be varied in a plan"},
		{[]string{"solve", off, "--samples", "10"}, jobs.ExitFound, "UNRELIABLE"},
	} {
		code, out, errs := call(append([]string{"capacity"}, x.args...)...)
		if code != x.code || !strings.Contains(out+errs, x.want) {
			t.Errorf("%v: status %d, not %d with %q\n%s%s", x.args, code, x.code, x.want, out, errs)
		}
	}
}
