package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/trace/receivelog"
)

// ReplayOptions say what to replay, how often and where to.
type ReplayOptions struct {
	Logs     []string // receive logs; one process for each, all at once
	Command  []string // the program, without a launcher
	Output   string   // folder of the vectors
	Compiler string   // wrapper of the program's MPI library; "" to find it
	Cache    string   // folder of compiled libraries
	Repeat   int      // number of repetitions; see steady
	Yield    bool     // waiting calls yield the processor, as in a run with more processes than cores
	PerNode  int      // processes that replay each log at once
	Original []string // vectors (CSV) of normal runs to compare with; a folder stands for the file of the rank in it
	Out, Err io.Writer
}

// Replay is the outcome of all replays of one log, as in replay.json.
type Replay struct {
	Log      string       `json:"log"`
	Rank     int          `json:"rank"`
	Size     int          `json:"size"`
	End      string       `json:"end"`               // finalize, exit, abort; or differs, refused, damaged, cut, broken, killed
	Message  string       `json:"message,omitempty"` // explains the latter ones
	Calls    int64        `json:"calls"`             // calls answered, MPI_Init included
	Exit     int          `json:"exit"`
	Vector   string       `json:"vector"` // CSV file
	Segments int          `json:"segments"`
	CPU      int64        `json:"cpuNs"`
	Wall     int64        `json:"wallNs"`
	AllCPU   []int64      `json:"allCpuNs"`   // sums of each replay, in the order of repetitions and copies
	AllDelay []int64      `json:"allDelayNs"` // how long each replay was ready to run without a processor
	Original []Comparison `json:"original,omitempty"`

	vectors []Vector // of the complete replays; without one, of the first that failed
}

// Comparison compares the vector of a normal run with that of the replay.
type Comparison struct {
	Vector   string  `json:"vector"`
	Segments int     `json:"segments"`
	Same     int     `json:"same"` // leading segments that end with the same function
	CPU      int64   `json:"cpuNs"`
	Percent  float64 `json:"percent"` // by how much the replay's processor time is longer
}

// Whole reports whether the replay went to the end of the recorded process.
func (r *Replay) Whole() bool { return r.End == "finalize" || r.End == "exit" || r.End == "abort" }

// RunReplay replays processes: it runs the program without a launcher, and a library answers all MPI calls from a receive log. It needs 32
// bytes of memory for each segment of each replay.
func RunReplay(ctx context.Context, o ReplayOptions) ([]Replay, error) {
	list := make([]Replay, len(o.Logs))
	for i, path := range o.Logs {
		head, err := readHeader(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list[i] = Replay{Log: path, Rank: head.Rank, Size: head.Size}
	}
	lib, err := compiled(ctx, ReplayLibrary, o.Compiler, o.Command, o.Cache)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return nil, written(err)
	}
	for range max(o.Repeat, 1) {
		if err := o.once(ctx, lib, list); err != nil {
			return nil, err
		}
	}
	for i := range list {
		if err := list[i].finish(o.Output); err != nil {
			return nil, err
		}
		if err := list[i].compare(o.Original); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func readHeader(path string) (*receivelog.Header, error) {
	r, err := receivelog.OpenPath(path)
	if err != nil {
		return nil, err
	}
	return r.Header, r.Close()
}

// once replays every log PerNode times, all processes at once.
func (o *ReplayOptions) once(ctx context.Context, lib string, list []Replay) error {
	copies := max(o.PerNode, 1)
	errs := make([]error, len(list)*copies)
	vectors, delays := make([]Vector, len(errs)), make([]int64, len(errs))
	ends := make([]Replay, len(errs))
	all, err := newGathering(len(errs))
	if err != nil {
		return err
	}
	defer all.close()
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			ends[k] = list[k/copies]
			vectors[k], delays[k], errs[k] = o.process(ctx, lib, &ends[k], k, all)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for k, v := range vectors {
		r, e := &list[k/copies], &ends[k]
		r.AllCPU, r.AllDelay = append(r.AllCPU, v.CPU()), append(r.AllDelay, delays[k])
		switch {
		case r.End != "" && !r.Whole(): // of several failures the first is reported
			continue
		case e.Whole():
			r.vectors = append(r.vectors, v)
		default:
			r.vectors = []Vector{v}
		}
		r.End, r.Message, r.Calls, r.Exit = e.End, e.Message, e.Calls, e.Exit
	}
	return nil
}

// finish combines the vectors of the replays and writes the result.
func (r *Replay) finish(folder string) error {
	v, totals := steady(r.vectors)
	r.vectors = nil
	r.Segments, r.CPU, r.Wall = len(v), v.CPU(), v.Wall()
	r.Vector = filepath.Join(folder, strconv.Itoa(r.Rank)+".csv")
	return writeVector(r.Vector, v, totals...)
}

// process runs the program once.
func (o *ReplayOptions) process(ctx context.Context, lib string, r *Replay, k int, all *gathering) (v Vector, delay int64, err error) {
	base, err := filepath.Abs(filepath.Join(o.Output, fmt.Sprintf("%d-%d", r.Rank, k)))
	if err != nil {
		return nil, 0, err
	}
	log, err := filepath.Abs(r.Log)
	if err != nil {
		return nil, 0, err
	}
	c := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	c.Stdout, c.Stderr = o.Out, o.Err
	if before := os.Getenv("LD_PRELOAD"); before != "" {
		lib = before + ":" + lib
	}
	c.Env = append(os.Environ(), "LD_PRELOAD="+lib, "COPPICE_REPLAY_LOG="+log, "COPPICE_REPLAY_VECTOR="+base+".vec", "COPPICE_REPLAY_END="+base+".end",
		"OMPI_MCA_ess_singleton_isolated=1", "OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self") // Open MPI as a singleton: without a daemon and a network
	if o.Yield {
		c.Env = append(c.Env, "COPPICE_REPLAY_YIELD=1")
	}
	err = all.run(c)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		r.Exit = ended.ExitCode()
	} else if err != nil {
		return nil, 0, err
	}
	if err := r.readEnd(base + ".end"); err != nil {
		return nil, 0, err
	}
	v, delay, err = readRows(base + ".vec")
	if err != nil && !r.Whole() { // it did not start
		err = nil
	}
	_ = os.Remove(base + ".vec")
	_ = os.Remove(base + ".end")
	return v, delay, err
}

// readEnd reads the file in which the library says how the replay ended.
func (r *Replay) readEnd(path string) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		r.End, r.Message = "killed", fmt.Sprintf("the program ended with status %d before the recorded one did, or does not call MPI_Init", r.Exit)
		return nil
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch name {
		case "end":
			r.End = value
		case "calls":
			r.Calls, err = strconv.ParseInt(value, 10, 64)
		case "message":
			r.Message = value
		}
	}
	return err
}

// compare adds a Comparison for each of the paths.
func (r *Replay) compare(paths []string) error {
	if len(paths) == 0 || r.Vector == "" {
		return nil
	}
	mine, err := ReadVector(r.Vector)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			path = filepath.Join(path, strconv.Itoa(r.Rank)+".csv")
		}
		v, err := ReadVector(path)
		if err != nil {
			return err
		}
		c := Comparison{Vector: path, Segments: len(v), CPU: v.CPU()}
		for c.Same < min(len(v), len(mine)) && v[c.Same].Function == mine[c.Same].Function {
			c.Same++
		}
		if c.CPU > 0 {
			c.Percent = 100 * (float64(r.CPU)/float64(c.CPU) - 1)
		}
		r.Original = append(r.Original, c)
	}
	return nil
}
