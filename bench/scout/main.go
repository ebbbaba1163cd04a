// Command scout prints what SCOUT, the trace analyser of Scalasca, found in an archive: waits by pattern, call path and process, in
// ticks of the archive's clock. run.sh next to it starts SCOUT, and keeps the lines of all archives as test data; compare.sh has its
// figures next to ours.
//
//	scout ARCHIVE.otf2                         the number of processes of MPI
//	scout ARCHIVE.otf2 scout.cubex             what SCOUT found
//	scout ARCHIVE.otf2 scout.cubex RUN.xtf     sums of both, metric by metric (compare.go)
//
// A line has, separated by tabs, the pattern, the call path and, for each process with a value, PROCESS:TICKS. Lines are in the order
// of the patterns below and of the call tree.
//
// A scout.cubex is a tar of anchor.xml, which has the trees of metrics, calls and processes, and for metric N the files N.index and
// N.data: the numbers of the call paths that have values, and of each of them a row with a double for each location.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// patterns are those that are kept, by Scalasca's names.
var patterns = []string{
	"mpi_latesender", "mpi_lswo_same", "mpi_lswo_different", "mpi_latereceiver", "mpi_barrier_wait", "mpi_barrier_completion",
	"mpi_wait_nxn", "mpi_nxn_completion", "mpi_latebroadcast", "mpi_earlyreduce", "mpi_earlyscan", "critical_path",
	"delay_latesender", "delay_latesender_longterm", "delay_latereceiver", "delay_latereceiver_longterm", "delay_barrier",
	"delay_barrier_longterm", "delay_n2n", "delay_n2n_longterm", "delay_12n", "delay_12n_longterm",
}

// anchor is what is read of anchor.xml.
type anchor struct {
	Metrics []metric   `xml:"metrics>metric"`
	Regions []region   `xml:"program>region"`
	Calls   []call     `xml:"program>cnode"`
	Nodes   []treeNode `xml:"system>systemtreenode"`
}

type metric struct {
	ID     int      `xml:"id,attr"`
	Type   string   `xml:"type,attr"`
	Name   string   `xml:"uniq_name"`
	DType  string   `xml:"dtype"`
	Inside []metric `xml:"metric"`
}

type region struct {
	ID   int    `xml:"id,attr"`
	Name string `xml:"name"`
}

type call struct {
	Callee int    `xml:"calleeId,attr"`
	Inside []call `xml:"cnode"`
}

type treeNode struct {
	Inside []treeNode `xml:"systemtreenode"`
	Groups []group    `xml:"locationgroup"`
}

type group struct {
	Rank      int        `xml:"rank"`
	Locations []location `xml:"location"`
}

type location struct {
	ID int `xml:"Id,attr"`
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 4 {
		fmt.Fprintln(os.Stderr, "usage: scout ARCHIVE.otf2 [scout.cubex [RUN.xtf]]")
		os.Exit(2)
	}
	if err := show(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "scout:", err)
		os.Exit(1)
	}
}

func show(archive string, rest []string) error {
	src, err := otf2.OpenPath(archive)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		n := 0
		for _, g := range src.Definitions().Groups {
			if g.Type == trace.GroupCommLocations && g.Paradigm == trace.ParadigmMPI {
				n = len(g.Members)
			}
		}
		fmt.Println(n)
		return nil
	}
	r, err := openResult(rest[0], float64(src.Definitions().Clock().TimerResolution))
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	if len(rest) == 2 {
		return compare(r, rest[1])
	}
	for _, name := range patterns {
		if err := r.print(name); err != nil {
			return fmt.Errorf("%s: %w", rest[0], err)
		}
	}
	return nil
}

// openResult reads what SCOUT wrote about an archive with a clock of so many ticks a second.
func openResult(cubex string, second float64) (*result, error) {
	files, err := untar(cubex)
	if err != nil {
		return nil, err
	}
	var a anchor
	if err := xml.Unmarshal(files["anchor.xml"], &a); err != nil {
		return nil, fmt.Errorf("anchor.xml: %w", err)
	}
	r := &result{files: files, second: second, metrics: map[string]metric{}}
	names := map[int]string{}
	for _, x := range a.Regions {
		names[x.ID] = x.Name
	}
	for _, c := range a.Calls {
		r.wide = append(r.wide, names[c.Callee])
		r.addPaths("", c, names)
	}
	for _, n := range a.Nodes {
		r.addProcesses(n)
	}
	addMetrics(r.metrics, a.Metrics)
	return r, nil
}

func untar(path string) (map[string][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	files := map[string][]byte{}
	for t := tar.NewReader(f); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[h.Name], err = io.ReadAll(t); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func addMetrics(all map[string]metric, list []metric) {
	for _, m := range list {
		all[m.Name] = m
		addMetrics(all, m.Inside)
	}
}

// result is one file.
type result struct {
	files     map[string][]byte
	second    float64 // in ticks
	metrics   map[string]metric
	deep      []string // call paths in the order of a walk that visits callers first, the order of exclusive metrics
	wide      []string // the same where all calls of a caller follow each other, and then what is inside of them, the order of inclusive metrics
	processes []int    // of each location
}

func (r *result) addPaths(outer string, c call, names map[int]string) {
	path := outer + names[c.Callee]
	r.deep = append(r.deep, path)
	for _, x := range c.Inside {
		r.wide = append(r.wide, path+"/"+names[x.Callee])
	}
	for _, x := range c.Inside {
		r.addPaths(path+"/", x, names)
	}
}

func (r *result) addProcesses(n treeNode) {
	for _, g := range n.Groups {
		for range g.Locations {
			r.processes = append(r.processes, g.Rank)
		}
	}
	for _, x := range n.Inside {
		r.addProcesses(x)
	}
}

var errFormat = errors.New("not the binary form that is known")

// print writes the lines of a metric.
func (r *result) print(name string) error {
	return r.each(name, func(path string, values []float64) {
		var line strings.Builder
		for i, seconds := range values {
			if ticks := math.Round(seconds * r.second); ticks != 0 {
				line.WriteString("\t" + strconv.Itoa(r.processes[i]) + ":" + strconv.FormatFloat(ticks, 'f', 0, 64))
			}
		}
		if line.Len() > 0 {
			fmt.Printf("%s\t%s%s\n", name, path, line.String())
		}
	})
}

// each calls f for each call path that has values of a metric, with those of all locations; they are valid until f returns. Those of an
// inclusive metric are with what is inside of the calls.
func (r *result) each(name string, f func(path string, values []float64)) error {
	m, ok := r.metrics[name]
	if !ok {
		return fmt.Errorf("no metric %s", name)
	}
	paths := r.deep
	if m.Type == "INCLUSIVE" {
		paths = r.wide
	}
	rows, err := r.rows(m.ID, paths)
	if err != nil {
		return fmt.Errorf("metric %s: %w", name, err)
	}
	data, ok := bytes.CutPrefix(r.files[fmt.Sprintf("%d.data", m.ID)], []byte("CUBEX.DATA"))
	if !ok && len(rows) > 0 || len(data) < len(rows)*len(r.processes)*8 {
		return fmt.Errorf("metric %s: %s %s: %w", name, m.Type, m.DType, errFormat)
	}
	values := make([]float64, len(r.processes))
	for _, path := range rows {
		for i := range values {
			bits := binary.LittleEndian.Uint64(data)
			if data = data[8:]; m.DType == "INTEGER" {
				values[i] = float64(int64(bits))
			} else {
				values[i] = math.Float64frombits(bits)
			}
		}
		f(path, values)
	}
	return nil
}

// rows are the call paths of a metric's rows.
func (r *result) rows(id int, paths []string) ([]string, error) {
	b, ok := r.files[fmt.Sprintf("%d.index", id)]
	if !ok {
		return nil, nil // no process has a value
	}
	b, ok = bytes.CutPrefix(b, []byte("CUBEX.INDEX"))
	const head, sparse = 4 + 2 + 1 + 4, 1 // endianness, version, form, rows
	if !ok || len(b) < head || binary.LittleEndian.Uint32(b) != 1 || b[6] != sparse {
		return nil, errFormat
	}
	n := uint64(binary.LittleEndian.Uint32(b[7:]))
	if b = b[head:]; uint64(len(b)) != n*4 {
		return nil, errFormat
	}
	list := make([]string, n)
	for i := range list {
		x := uint64(binary.LittleEndian.Uint32(b[4*i:]))
		if x >= uint64(len(paths)) {
			return nil, errFormat
		}
		list[i] = paths[x]
	}
	return list, nil
}
