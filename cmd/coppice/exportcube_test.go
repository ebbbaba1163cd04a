package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/google/go-cmp/cmp"
)

// profileValues are those of a profile, by metric, location and path: calls, and times in ns.
type profileValues map[string]map[string]map[string]uint64

func (v profileValues) add(metric, location, path string, n uint64) {
	if n == 0 {
		return
	}
	if v[metric] == nil {
		v[metric] = map[string]map[string]uint64{}
	}
	if v[metric][location] == nil {
		v[metric][location] = map[string]uint64{}
	}
	v[metric][location][path] += n
}

// TestExportCube compares profiles with reports of each process, read here and by pyCubexR.
func TestExportCube(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"stencil:procs=4,events=4k,jitter=20,seed=1", "irregular:procs=3,events=3k,seed=3"} {
		dir := analysed(t, spec)
		run, out := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "run.cubex")
		doc := jsonOf[struct {
			Export struct{ Bytes, Metrics, Paths, Locations int }
		}](t, "export", run, "--to", "cubex", "-o", out)
		b, err := os.ReadFile(out)
		if err != nil || len(b) != doc.Export.Bytes {
			t.Fatalf("%d bytes, %+v: %v", len(b), doc, err)
		}
		want := profileValues{}
		for rank := range doc.Export.Locations {
			reported(t, want, run, strconv.Itoa(rank))
			moved(t, want, filepath.Join(dir, "traces.otf2"), trace.P(rank))
		}
		if len(want) != doc.Export.Metrics || want["critical_path"] == nil || want["late_sender"] == nil || want["delay_short"] == nil {
			t.Errorf("%d metrics of %+v", len(want), doc)
		}
		if diff := cmp.Diff(want, readCube(t, b).whole()); diff != "" {
			t.Errorf("%s:\n%s", spec, diff)
		}
		part := must(t, "export", run, "--to", "cubex", "-o", "-", "-q", "--ranks", "1")
		for metric := range want {
			want[metric] = map[string]map[string]uint64{"0": want[metric]["1"]}
			if want[metric]["0"] == nil {
				delete(want, metric)
			}
		}
		if diff := cmp.Diff(want, readCube(t, []byte(part)).whole()); diff != "" {
			t.Errorf("%s, process 1:\n%s", spec, diff)
		}
		if code, _, errs := call("export", run, "--to", "cubex", "-o", "-", "-q", "--max-size", "1K"); code != jobs.ExitUsage {
			t.Errorf("exit code %d\n%s", code, errs)
		}
	}
}

// cubeReader is a Python with pyCubexR, "" for none.
func cubeReader() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import pycubexr").Run() == nil {
			return name
		}
	}
	return ""
}

// readByOthers is what pyCubexR reads of a profile: by metric, location and path.
func readByOthers(t *testing.T, python, profile string) (read map[string]map[string]map[string]float64) {
	t.Helper()
	text, err := exec.Command(python, "testdata/cube.py", profile).Output()
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestExportCubeRead has a profile read by a program that others wrote, and compares with what is read here.
func TestExportCubeRead(t *testing.T) {
	t.Parallel()
	python := cubeReader()
	if python == "" {
		t.Skip("no Python with pycubexr, which reads Cube files")
	}
	dir := analysed(t, "stencil:procs=4,events=4k,jitter=20,seed=1")
	out := filepath.Join(dir, "run.cubex")
	must(t, "export", filepath.Join(dir, "run.xtf"), "--to", "cubex", "-o", out, "-q")
	found := profileValues{}
	for metric, locations := range readByOthers(t, python, out) {
		for location, paths := range locations {
			for path, v := range paths {
				if metric != "visits" && !strings.HasPrefix(metric, "bytes_") {
					v *= 1e9
				}
				found.add(metric, location, path, uint64(math.Round(v)))
			}
		}
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readCube(t, b), found); diff != "" || len(found) < 5 {
		t.Error(len(found), diff)
	}
}

// TestExportCubeReadWaits compares the sum of each wait state in profiles of real runs, as a program that others wrote reads them, with
// the report's: over all, and of each process.
func TestExportCubeReadWaits(t *testing.T) {
	t.Parallel()
	python := cubeReader()
	if python == "" {
		t.Skip("no Python with pycubexr, which reads Cube files")
	}
	seen := map[string]int{}
	for _, archive := range []string{
		"stencil4d-32", "lulesh-8", "lammps-melt-4", "lammps-pppm-4", "npb-bt.S-4", "npb-cg.S-4", "npb-ft.S-4", "npb-is.S-8", "npb-lu.S-4", "npb-mg.S-4", "npb-sp.S-4", "sweep3d-4",
	} {
		dir := t.TempDir()
		run, out := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "run.cubex")
		must(t, "analyze", filepath.Join(sharedTraces(t), archive, "traces.otf2"), "-o", run, "-q", "-j", "2")
		must(t, "export", run, "--to", "cubex", "-o", out, "-q")
		read := readByOthers(t, python, out)
		x := jsonOf[struct {
			Waits struct {
				Resolution float64
				Patterns   []struct {
					Pattern string
					Ticks   float64
				}
				Processes []map[string]any
			}
		}](t, "report", run, "waits").Waits
		compare := func(what string, got, ticks float64) {
			if want := ticks / x.Resolution; math.Abs(got-want) > 1e-9*want+1e-12 {
				t.Errorf("%s: %s %v s, want %v", archive, what, got, want)
			}
		}
		for _, p := range x.Patterns {
			all := 0.
			for location, paths := range read[p.Pattern] {
				sum := 0.
				for _, v := range paths {
					sum += v
				}
				rank, err := strconv.Atoi(location)
				if err != nil || rank >= len(x.Processes) {
					t.Fatalf("%s: location %s of %d", archive, location, len(x.Processes))
				}
				ticks, _ := x.Processes[rank][p.Pattern].(float64)
				compare(p.Pattern+" of rank "+location, sum, ticks)
				all += sum
			}
			compare(p.Pattern, all, p.Ticks)
			if p.Ticks > 0 {
				seen[p.Pattern]++
			}
		}
	}
	if len(seen) < 6 {
		t.Errorf("too few wait states: %v", seen)
	}
}

// moved adds the bytes of messages and collectives of a location, of each record on the path of the calls that are open then.
func moved(t *testing.T, to profileValues, archive string, p trace.P) {
	t.Helper()
	src, err := otf2.OpenPath(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d := src.Definitions()
	stream, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	paths, key := []string{""}, strconv.Itoa(int(p))
	var b trace.Batch
	for i := range stream.Chunks() {
		r, err := stream.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			for i := range b.Events {
				e, path := &b.Events[i], paths[len(paths)-1]
				w, _, _, _ := b.Layout(e)
				switch e.Kind {
				case trace.Enter:
					paths = append(paths, path+"/"+d.Text(d.Region(e.Ref).Name))
				case trace.Leave:
					paths = paths[:len(paths)-1]
				case trace.MpiSend, trace.MpiIsend:
					to.add("bytes_sent", key, path, w[3])
				case trace.MpiRecv, trace.MpiIrecv:
					to.add("bytes_received", key, path, w[3])
				case trace.MpiCollectiveEnd, trace.NonBlockingCollectiveComplete:
					to.add("bytes_sent", key, path, w[3])
					to.add("bytes_received", key, path, w[4])
				}
			}
		}
		if err != io.EOF {
			t.Fatal(err)
		}
	}
}

// TestExportCubeCounters: counters on paths of a location are those of the report, which TestCountersOfListing holds against a listing.
func TestExportCubeCounters(t *testing.T) {
	dir := t.TempDir()
	run, out := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "run.cubex")
	must(t, "analyze", filepath.Join(sharedTraces(t), "pingpong-papi-scorep71", "traces.otf2"), "-o", run, "-q", "-j", "2")
	must(t, "export", run, "--to", "cubex", "-o", out, "-q")
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, compared := readCube(t, b), 0
	for rank := range 2 {
		doc := jsonOf[struct {
			Counters struct {
				Paths []struct {
					Name, Counter string
					Sum           *float64
				}
			}
		}](t, "report", run, "counters", "--ranks", strconv.Itoa(rank))
		for _, x := range doc.Counters.Paths {
			path := ""
			if x.Name != "(outside recorded calls)" {
				path = "/" + strings.ReplaceAll(x.Name, " > ", "/")
			}
			if x.Sum == nil || *x.Sum == 0 {
				continue
			}
			compared++
			if v := float64(got[x.Counter][strconv.Itoa(rank)][path]) / 1e9; math.Abs(v-*x.Sum) > 1e-6*math.Abs(*x.Sum) {
				t.Errorf("rank %d: %s on %s is %v, want %v", rank, x.Counter, path, v, *x.Sum)
			}
		}
	}
	if compared < 20 {
		t.Errorf("%d sums compared, metrics %d", compared, len(got))
	}
}

// reported adds what reports say of a process, whose clock ticks in ns.
func reported(t *testing.T, to profileValues, run, rank string) {
	t.Helper()
	type sum struct {
		Path        []string
		Pattern     string
		Order       string `json:"wrong_order"`
		Ticks       uint64
		Short, Long uint64
	}
	doc := jsonOf[struct {
		Summary struct{ Resolution uint64 }
		Paths   struct {
			Paths []struct {
				Parent           int
				Name             string
				Calls, Exclusive uint64
			}
		}
		Waits struct {
			Paths, Causes []sum
			Critical      struct{ Length uint64 } `json:"critical_path"`
		}
	}](t, "report", run, "paths", "waits", "--ranks", rank)
	ns := func(ticks uint64) uint64 {
		return uint64(math.Round(float64(ticks) / float64(doc.Summary.Resolution) * 1e9))
	}
	names := make([]string, len(doc.Paths.Paths))
	for i, x := range doc.Paths.Paths {
		if x.Parent >= 0 {
			names[i] = names[x.Parent] + "/" + x.Name
		}
		to.add("visits", rank, names[i], x.Calls)
		to.add("time", rank, names[i], ns(x.Exclusive))
	}
	path := func(x *sum) string { return strings.Join(append([]string{""}, x.Path...), "/") }
	for i := range doc.Waits.Paths {
		x := &doc.Waits.Paths[i]
		to.add(x.Pattern, rank, path(x), ns(x.Ticks))
		if x.Order != "" {
			to.add("late_sender_wrong_order_"+x.Order, rank, path(x), ns(x.Ticks))
		}
	}
	for i := range doc.Waits.Causes {
		x := &doc.Waits.Causes[i]
		to.add("delay_short", rank, path(x), ns(x.Short))
		to.add("delay_long", rank, path(x), ns(x.Long))
	}
	to.add("critical_path", rank, "", ns(doc.Waits.Critical.Length))
}

// readCube reads a profile, whose clock ticks in ns.
func readCube(t *testing.T, b []byte) profileValues {
	t.Helper()
	members := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			members[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	type node struct {
		ID       int    `xml:"id,attr"`
		Region   int    `xml:"calleeId,attr"`
		Children []node `xml:"cnode"`
	}
	var anchor struct {
		Metrics []struct {
			ID   int    `xml:"id,attr"`
			Name string `xml:"uniq_name"`
			Type string `xml:"dtype"`
		} `xml:"metrics>metric"`
		Regions []struct {
			Name string `xml:"name"`
		} `xml:"program>region"`
		Root      node `xml:"program>cnode"`
		Locations []struct {
			ID int `xml:"Id,attr"`
		} `xml:"system>systemtreenode>systemtreenode>locationgroup>location"`
	}
	if err := xml.Unmarshal(members["anchor.xml"], &anchor); err != nil {
		t.Fatal(err)
	}
	var paths []string // by place, depth first
	var walk func(n node, path string)
	walk = func(n node, path string) {
		if n.ID != len(paths) {
			t.Errorf("path %s is %d, want %d", path, n.ID, len(paths))
		}
		paths = append(paths, path)
		for _, below := range n.Children {
			walk(below, path+"/"+anchor.Regions[below.Region].Name)
		}
	}
	walk(anchor.Root, "")
	found := profileValues{}
	for _, m := range anchor.Metrics {
		index, data := members[fmt.Sprintf("%d.index", m.ID)], members[fmt.Sprintf("%d.data", m.ID)]
		head, rows := "CUBEX.INDEX\x01\x00\x00\x00\x00\x00\x01", index[min(22, len(index)):]
		if !bytes.HasPrefix(index, []byte(head)) || !bytes.HasPrefix(data, []byte("CUBEX.DATA")) || len(rows) != 4*int(binary.LittleEndian.Uint32(index[18:])) {
			t.Fatalf("%s: %q, %q", m.Name, index[:min(22, len(index))], data[:min(10, len(data))])
		}
		if data = data[10:]; len(data) != 8*len(rows)/4*len(anchor.Locations) {
			t.Fatalf("%s: %d rows, %d bytes", m.Name, len(rows)/4, len(data))
		}
		for i := range len(data) / 8 {
			v, place := binary.LittleEndian.Uint64(data[8*i:]), binary.LittleEndian.Uint32(rows[i/len(anchor.Locations)*4:])
			if m.Type == "DOUBLE" {
				v = uint64(math.Round(math.Float64frombits(v) * 1e9))
			}
			found.add(m.Name, strconv.Itoa(anchor.Locations[i%len(anchor.Locations)].ID), paths[place], v)
		}
	}
	return found
}

// whole has the sums of the critical path, which reports have for a process only as a whole.
func (v profileValues) whole() profileValues {
	for _, paths := range v["critical_path"] {
		sum := uint64(0)
		for path, n := range paths {
			sum += n
			delete(paths, path)
		}
		paths[""] = sum
	}
	return v
}
