package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// figure is what both tell of each process: the sum of some metrics of SCOUT, and the same of components and costs of ours, by name.
// Without ours SCOUT alone has it.
type figure struct {
	scout []string
	ours  []string
	count bool                   // no time
	of    func(path string) bool // takes these call paths alone
}

// Time is an inclusive metric: that of the outermost calls is all, and MPI calls have none inside of them.
func outermost(path string) bool { return !strings.Contains(path, "/") }

func mpiCall(path string) bool {
	return strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], "MPI_")
}

// figures are in the order of SCOUT's tree.
var figures = []figure{
	{scout: []string{"time"}, ours: []string{"time"}, of: outermost},
	{scout: []string{"time"}, ours: []string{"mpi", "marker"}, of: mpiCall},
	{scout: []string{"visits"}, ours: []string{"calls"}, count: true},
	{scout: []string{"mpi_init_completion"}},
	{scout: []string{"mpi_finalize_wait"}},
	{scout: []string{"mpi_barrier_wait", "mpi_rma_wait_at_create", "mpi_rma_wait_at_free", "mpi_rma_wait_at_fence"}, ours: []string{"wait_barrier"}},
	{scout: []string{"mpi_barrier_completion"}, ours: []string{"barrier_completion"}},
	{scout: []string{"mpi_latesender"}, ours: []string{"late_sender"}},
	{scout: []string{"mpi_lswo_same"}, ours: []string{"late_sender_wrong_order_same"}},
	{scout: []string{"mpi_lswo_different"}, ours: []string{"late_sender_wrong_order_different"}},
	{scout: []string{"mpi_latereceiver"}, ours: []string{"late_receiver"}},
	{scout: []string{"mpi_earlyreduce"}, ours: []string{"early_reduce"}},
	{scout: []string{"mpi_earlyscan"}, ours: []string{"early_scan"}},
	{scout: []string{"mpi_latebroadcast"}, ours: []string{"late_broadcast"}},
	{scout: []string{"mpi_wait_nxn"}, ours: []string{"wait_nxn"}},
	{scout: []string{"mpi_nxn_completion"}, ours: []string{"nxn_completion"}},
	{scout: []string{"mpi_rma_sync_late_post", "mpi_rma_comm_late_post"}, ours: []string{"late_post"}},
	{scout: []string{"mpi_rma_early_wait"}, ours: []string{"early_wait"}},
	{scout: []string{"mpi_rma_sync_lock_competition", "mpi_rma_comm_lock_competition"}, ours: []string{"lock_contention"}},
	{scout: []string{"mpi_rma_sync_wait_for_progress", "mpi_rma_comm_wait_for_progress"}},
	{scout: []string{"omp_ibarrier_wait", "omp_ebarrier_wait"}, ours: []string{"thread_wait"}},
	{scout: []string{"omp_lock_contention_critical", "omp_lock_contention_api"}, ours: []string{"lock_wait"}},
	{scout: []string{"syncs_send", "comms_send"}, ours: []string{"sends"}, count: true},
	{scout: []string{"syncs_recv", "comms_recv"}, ours: []string{"receives"}, count: true},
	{scout: []string{"mpi_sls_count", "mpi_cls_count"}, ours: []string{"number of late_sender"}, count: true},
	{scout: []string{"mpi_slr_count", "mpi_clr_count"}, ours: []string{"number of late_receiver"}, count: true},
	{scout: []string{"syncs_coll", "comms_cxch", "comms_csrc", "comms_cdst"}, ours: []string{"collectives"}, count: true},
	{scout: []string{"bytes_sent"}, ours: []string{"bytes_out"}, count: true},
	{scout: []string{"bytes_rcvd"}, ours: []string{"bytes_in"}, count: true},
	{scout: []string{"bytes_cout"}, ours: []string{"coll_bytes_out"}, count: true},
	{scout: []string{"bytes_cin"}, ours: []string{"coll_bytes_in"}, count: true},
	{scout: []string{"critical_path"}, ours: []string{"critical path"}},
	{scout: []string{"delay_latesender"}, ours: []string{"short late_sender"}},
	{scout: []string{"delay_latesender_longterm"}, ours: []string{"long late_sender"}},
	{scout: []string{"delay_latereceiver"}, ours: []string{"short late_receiver"}},
	{scout: []string{"delay_latereceiver_longterm"}, ours: []string{"long late_receiver"}},
	{scout: []string{"delay_barrier"}, ours: []string{"short wait_barrier"}},
	{scout: []string{"delay_barrier_longterm"}, ours: []string{"long wait_barrier"}},
	{scout: []string{"delay_n2n"}, ours: []string{"short wait_nxn"}},
	{scout: []string{"delay_n2n_longterm"}, ours: []string{"long wait_nxn"}},
	{scout: []string{"delay_12n"}, ours: []string{"short late_broadcast"}},
	{scout: []string{"delay_12n_longterm"}, ours: []string{"long late_broadcast"}},
}

// compare prints a line for each figure that one of both has: the metrics of SCOUT, ours, the sums of both over all call paths and
// processes, in ticks or counts, and of how many processes they are equal: counts exactly, times to 2 ticks or a millionth, because SCOUT
// adds up seconds in floating point. Last is the largest difference of a process.
func compare(r *result, run string) error {
	ours, err := ownFigures(run)
	if err != nil {
		return err
	}
	for _, f := range figures {
		theirs := make([]float64, ours.processes)
		for _, name := range f.scout {
			if _, ok := r.metrics[name]; !ok {
				continue // of threads or windows, and the archive has none
			}
			scale := r.second
			if f.count {
				scale = 1
			}
			err := r.each(name, func(path string, values []float64) {
				if f.of != nil && !f.of(path) {
					return
				}
				for i, v := range values {
					theirs[r.processes[i]] += v * scale
				}
			})
			if err != nil {
				return err
			}
		}
		f.print(theirs, ours)
	}
	return nil
}

func (f *figure) print(theirs []float64, ours *own) {
	var sums [2]float64
	equal, most := 0, 0.0
	for p, t := range theirs {
		o := 0.0
		for _, name := range f.ours {
			o += ours.values[name][p]
		}
		off := math.Abs(t - o)
		if off <= 1e-6*t || !f.count && off <= 2 {
			equal++
		}
		sums[0], sums[1], most = sums[0]+t, sums[1]+o, max(most, off)
	}
	switch {
	case sums == [2]float64{}:
	case f.ours == nil:
		fmt.Printf("%s\t\t%.0f\t\t\t\n", strings.Join(f.scout, "+"), sums[0])
	default:
		fmt.Printf("%s\t%s\t%.0f\t%.0f\t%d/%d\t%.0f\n", strings.Join(f.scout, "+"), strings.Join(f.ours, "+"), sums[0], sums[1], equal, len(theirs), most)
	}
}

// own is what a file has of each process, by name.
type own struct {
	processes int
	values    map[string][]float64
}

func (x *own) add(name string, process, v uint64) {
	if x.values[name] == nil {
		x.values[name] = make([]float64, x.processes)
	}
	x.values[name][process] += float64(v)
}

// ownFigures reads a file. Waits of a process are those of all its threads.
func ownFigures(path string) (*own, error) {
	r, err := results.Open(path, xtf.Options{})
	if err != nil {
		return nil, err
	}
	defer r.File.Close()
	x := &own{len(r.Defs.Processes()), map[string][]float64{}}
	for p := range trace.P(r.Defs.NumLocations()) {
		rank, _ := r.Defs.Process(p)
		process := uint64(rank)
		items, err := r.Components(p)
		if err != nil {
			return nil, err
		}
		for i, v := range items {
			x.add(xtf.Item(i).String(), process, v)
		}
		for k, each := range []func(results.CauseKey, results.CauseSum){
			func(at results.CauseKey, s results.CauseSum) {
				x.add("number of "+results.PatternName(at.Pattern), process, s.Count)
			},
			func(at results.CauseKey, s results.CauseSum) {
				x.add("short "+results.PatternName(at.Pattern), process, s.Ticks)
				x.add("long "+results.PatternName(at.Pattern), process, s.Long)
			},
			func(_ results.CauseKey, s results.CauseSum) { x.add("critical path", process, s.Ticks) },
		} {
			if err := results.PlaceArrays[k].Parts(r, xtf.Proc(p), each); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range figures {
		for _, name := range f.ours {
			x.add(name, 0, 0)
		}
	}
	return x, nil
}
