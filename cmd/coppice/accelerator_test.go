package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/google/go-cmp/cmp"
)

// onDevices makes every thread but the first of each process a stream: of[k] is the device of thread k + 1, in the order of
// processes too if they do not share devices. Regions have the roles that Score-P gives them: kernels end with "kernel", transfers
// begin with "copy".
func onDevices(shared bool, of ...uint32) func(o *analyze.Options) {
	return func(o *analyze.Options) {
		d := o.Source.Definitions()
		const node, group = 1000, 2000
		text := uint32(100000)
		add := func(s string) uint32 {
			text++
			d.Strings = append(d.Strings, trace.String{Ref: text, Value: s})
			return text
		}
		made := map[uint32]bool{}
		for i := range d.Locations {
			l := &d.Locations[i]
			rank, thread := l.Group, i%(len(of)+1)
			if thread == 0 {
				continue
			}
			device, context := of[thread-1], group+rank*10+of[thread-1]
			if !shared {
				device += rank * 10
			}
			if l.Type, l.Group = trace.AcceleratorStream, context; !made[node+device] {
				made[node+device] = true
				d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{Ref: node + device, Name: add(fmt.Sprint(device)), Class: add("GPU"), Parent: 0})
				d.SystemTreeNodeDomains = append(d.SystemTreeNodeDomains, trace.SystemTreeNodeDomain{Node: node + device, Domain: trace.DomainAccelerator})
			}
			if !made[context] {
				made[context] = true
				d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: context, Name: add("context"), Type: trace.AcceleratorGroup, Parent: node + device, Creator: rank})
			}
		}
		tracetest.NameDeviceRegions(d)
		d.Seal()
	}
}

// devicesIn is what tests look at in the document of a run with devices.
type devicesIn struct {
	Summary struct {
		Efficiency float64
		Ticks      map[string]any
		POP        struct {
			Parallel float64
			Balance  float64  `json:"load_balance"`
			Host     *float64 `json:"host"`
			Offload  *float64 `json:"device_offload"`
		}
		Devices *struct {
			Efficiency, Communication, Orchestration float64
			Balance                                  float64 `json:"load_balance"`
			Hosts                                    []hostIn
			List                                     []deviceIn
		}
	}
	Findings   []finding
	CannotTell struct{ Missing []struct{ What, Text string } } `json:"cannot_tell"`
}

type hostIn struct {
	State     string
	Ticks     uint64
	Computing uint64 `json:"while_computing"`
}

type deviceIn struct {
	Name                            string
	Processes                       []uint32
	Streams                         int
	Kernel, Transfer, Overlap, Idle uint64
	MPI                             uint64    `json:"kernel_and_mpi"`
	Gap                             [2]uint64 `json:"longest_idle"`
	While                           []hostIn  `json:"idle_while"`
	Gaps                            uint64    `json:"idle_gaps"`
}

func times(list []hostIn) string {
	var words []string
	for _, x := range list {
		words = append(words, fmt.Sprintf("%s %d/%d", x.State, x.Computing, x.Ticks))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func (d *deviceIn) text() string {
	return fmt.Sprintf("%s of %v, %d streams: kernels %d, transfers %d, both %d, with MPI %d, idle %d in %d gaps, longest %v: %s",
		d.Name, d.Processes, d.Streams, d.Kernel, d.Transfer, d.Overlap, d.MPI, d.Idle, d.Gaps, d.Gap, times(d.While))
}

// twoDevices is a process with two streams on the first device and one on the second. Kernels of the first device run from 110 to 250
// and 200 to 290, which is 180, and from 520 to 700; its transfer from 600 to 780 is 100 ticks next to a kernel. The second one has a
// transfer from 310 to 390, as a one-sided operation, and a kernel from 550 to 850.
const twoDevices = `
-- program --
processes 1
threads 4
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER hipLaunchKernel
0 110 LEAVE hipLaunchKernel
0 110 ENTER hipDeviceSynchronize
0 300 LEAVE hipDeviceSynchronize
0 300 ENTER hipMemcpy
0 400 LEAVE hipMemcpy
0 500 ENTER solve
0 500 ENTER hipLaunchKernel
0 510 LEAVE hipLaunchKernel
0 510 ENTER hipStreamSynchronize
0 900 LEAVE hipStreamSynchronize
0 900 LEAVE solve
0 900 ENTER hipFree
0 950 LEAVE hipFree
0 1000 LEAVE main
1 110 ENTER a_kernel
1 250 LEAVE a_kernel
1 520 ENTER b_kernel
1 700 LEAVE b_kernel
2 200 ENTER c_kernel
2 290 LEAVE c_kernel
2 600 ENTER copy
2 780 LEAVE copy
3 310 RMA_PUT 0 0 4096 5
3 390 RMA_OP_COMPLETE_BLOCKING 0 5
3 550 ENTER d_kernel
3 850 LEAVE d_kernel
`

// ranksWithDevices is two processes with a device each. The second kernel of the first one runs while its host is in MPI.
const ranksWithDevices = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 90 ENTER hipLaunchKernel
0 100 LEAVE hipLaunchKernel
0 100 ENTER hipDeviceSynchronize
0 310 LEAVE hipDeviceSynchronize
0 310 ENTER MPI_Barrier
0 310 MPI_COLLECTIVE_BEGIN
0 900 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 900 LEAVE MPI_Barrier
0 1000 LEAVE main
1 100 ENTER a_kernel
1 300 LEAVE a_kernel
1 400 ENTER a_kernel
1 500 LEAVE a_kernel
2 0 ENTER main
2 90 ENTER hipLaunchKernel
2 100 LEAVE hipLaunchKernel
2 100 ENTER hipDeviceSynchronize
2 810 LEAVE hipDeviceSynchronize
2 810 ENTER MPI_Barrier
2 810 MPI_COLLECTIVE_BEGIN
2 900 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
2 900 LEAVE MPI_Barrier
2 1000 LEAVE main
3 100 ENTER a_kernel
3 800 LEAVE a_kernel
`

// sharedDevice is two processes on one device. It idles from 400 to 600 because the process whose kernel comes next allocates memory.
const sharedDevice = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 400 ENTER hipMalloc
0 600 LEAVE hipMalloc
0 1000 LEAVE main
1 100 ENTER a_kernel
1 300 LEAVE a_kernel
1 600 ENTER a_kernel
1 700 LEAVE a_kernel
2 0 ENTER main
2 350 ENTER hipMemcpy
2 1000 LEAVE hipMemcpy
2 1000 LEAVE main
3 200 ENTER b_kernel
3 400 LEAVE b_kernel
`

// TestDevices compares the sums of devices and their hosts, and efficiencies, with those by hand.
func TestDevices(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, trace                                       string
		shared                                            bool
		of                                                []uint32
		efficiency, balance, communication, orchestration float64
		whole, parallel, host                             float64
		work                                              float64
		hosts                                             string
		devices                                           []string
	}{
		{
			"streams and transfers", twoDevices, false,
			[]uint32{0, 0, 1},
			660. / 2000, 660. / 720, 360. / 440, 440. / 1000, // of kernels 360 and 300, in kernels or transfers 440 and 380
			0.76, 1, 0.25, 180 + 330, // of synchronisation, kernels run from 110 to 290 and from 520 to 850
			"cpu 0/250, device_call 0/50, device_wait 510/580, launch 0/20, transfer_call 0/100",
			[]string{
				"GPU 0 of [0], 2 streams: kernels 360, transfers 180, both 100, with MPI 0, idle 560 in 3 gaps, longest [290 520]: cpu 0/250, device_call 0/50, device_wait 70/140, launch 0/20, transfer_call 0/100",
				"GPU 1 of [0], 1 streams: kernels 300, transfers 80, both 0, with MPI 0, idle 620 in 3 gaps, longest [0 310]: cpu 0/250, device_call 0/50, device_wait 210/280, launch 0/20, transfer_call 0/20",
			},
		},
		{
			"MPI", ranksWithDevices, false,
			[]uint32{0},
			1000. / 2000, 1000. / 1400, 1, 0.7,
			(190 + 190 + 900 + 340.) / 2000, (410 + 910) / 2000., 0.19, 200 + 700, // the mean of 590 and 90 ticks in MPI is productive
			"barrier 100/680, cpu 0/380, device_wait 900/920, launch 0/20",
			[]string{
				"GPU 0 of [0], 1 streams: kernels 300, transfers 0, both 0, with MPI 100, idle 700 in 3 gaps, longest [500 1000]: barrier 0/490, cpu 0/190, device_wait 0/10, launch 0/10",
				"GPU 10 of [1], 1 streams: kernels 700, transfers 0, both 0, with MPI 0, idle 300 in 2 gaps, longest [800 1000]: barrier 0/90, cpu 0/190, device_wait 0/10, launch 0/10",
			},
		},
		{
			"shared", sharedDevice, true,
			[]uint32{0},
			0.4, 1, 1, 0.4,
			(800 + 350 + 50 + 100) / 2000., 1, 1150. / 2000, 50 + 100, // of hipMemcpy, kernels run from 350 to 400 and from 600 to 700
			"cpu 650/1150, device_call 0/200, transfer_call 150/650",
			[]string{"GPU 0 of [0 1], 2 streams: kernels 400, transfers 0, both 0, with MPI 0, idle 600 in 3 gaps, longest [700 1000]: cpu 0/400, device_call 0/200"},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			run := foundTrace(t, x.trace, onDevices(x.shared, x.of...))
			s := jsonOf[devicesIn](t, "report", run).Summary
			d := s.Devices
			if d == nil || s.POP.Host == nil {
				t.Fatal("no devices")
			}
			for _, y := range []struct {
				what      string
				got, want float64
			}{
				{"device efficiency", d.Efficiency, x.efficiency},
				{"load balance", d.Balance, x.balance},
				{"communication", d.Communication, x.communication},
				{"orchestration", d.Orchestration, x.orchestration},
				{"product", d.Balance * d.Communication * d.Orchestration, x.efficiency},
				{"efficiency", s.Efficiency, x.whole},
				{"parallel", s.POP.Parallel, x.parallel},
				{"host", *s.POP.Host, x.host},
				{"device offload", *s.POP.Offload, x.host / x.parallel},
				{"device work", s.Ticks["device_work"].(float64), x.work},
			} {
				if math.Abs(y.got-y.want) > 1e-12 {
					t.Errorf("%s is %v, want %v", y.what, y.got, y.want)
				}
			}
			if got := times(d.Hosts); got != x.hosts {
				t.Errorf("hosts %s, want %s", got, x.hosts)
			}
			for i := range d.List {
				if got := d.List[i].text(); i >= len(x.devices) || got != x.devices[i] {
					t.Errorf("got %s, want\n%s", got, x.devices)
				}
			}
			if len(d.List) != len(x.devices) {
				t.Errorf("%d devices", len(d.List))
			}
			for metric, want := range map[string]float64{
				"device_efficiency": x.efficiency, "device_load_balance": x.balance, "device_communication": x.communication, "device_orchestration": x.orchestration,
			} {
				for condition, code := range map[string]int{fmt.Sprintf("%s>%.9f", metric, want+1e-8): 0, fmt.Sprintf("%s<%.9f", metric, want+1e-8): 1} {
					if got, _, errs := call("report", run, "--fail-if", condition); got != code {
						t.Errorf("%s: status %d, want %d\n%s", condition, got, code, errs)
					}
				}
			}
		})
	}
}

// TestKernelsNextToMPI: of the kernels of the first device 100 ticks are while its host is in the barrier.
func TestKernelsNextToMPI(t *testing.T) {
	if text := must(t, "report", foundTrace(t, ranksWithDevices, onDevices(false, 0))); !strings.Contains(text, "kernels next to MPI s") || !strings.Contains(text, "0.100000") {
		t.Error(text)
	}
}

// TestKernelIsCause: where a process comes late because its host waits for a kernel, the finding names that.
func TestKernelIsCause(t *testing.T) {
	text := must(t, "report", foundTrace(t, ranksWithDevices, onDevices(false, 0)))
	if !strings.Contains(text, "100.0 % of the waits come from kernel in a_kernel, most on rank 1") || !strings.Contains(text, "Give the device of the process that is late less to compute") {
		t.Error(text)
	}
}

// TestHostWaits: in its first wait the host waits from 110 until the last kernel in it ends at 290, in the second one from 510 to 850, and 90 in a
// copy that waits for the device. That is no part of the total of waits.
func TestHostWaits(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, twoDevices, onDevices(false, 0, 0, 1))
	type kernel struct {
		Kernel, Call string
		Count, Ticks uint64
		Queued       uint64
		Late         uint64 `json:"launched_late"`
	}
	type pattern struct {
		Pattern      string
		Count, Ticks uint64
	}
	type waits struct {
		Waits struct {
			Total    uint64
			Patterns []pattern
			Kernels  []kernel
		}
	}
	for span, want := range map[string][]kernel{
		"":           {{"d_kernel", "hipStreamSynchronize", 1, 340, 0, 0}, {"c_kernel", "hipDeviceSynchronize", 1, 180, 0, 0}, {"(transfer)", "hipMemcpy", 1, 90, 0, 0}},
		"#200..#600": {{"(transfer)", "hipMemcpy", 1, 90, 0, 0}, {"c_kernel", "hipDeviceSynchronize", 1, 90, 0, 0}, {"d_kernel", "hipStreamSynchronize", 1, 90, 0, 0}},
	} {
		args := []string{"report", run, "waits"}
		if span != "" {
			args = append(args, "--time", span)
		}
		x, all := jsonOf[waits](t, args...).Waits, uint64(0)
		for _, k := range want {
			all += k.Ticks
		}
		if diff := cmp.Diff(want, x.Kernels); diff != "" {
			t.Error(span, diff)
		}
		if diff := cmp.Diff([]pattern{{"late_kernel", 3, all}}, x.Patterns); diff != "" || x.Total != 0 {
			t.Error(span, x.Total, diff)
		}
	}
	if text := must(t, "report", run, "waits"); !strings.Contains(text, "waited for") || !strings.Contains(text, "no part of the total") {
		t.Error(text)
	}
	if code, out, errs := call("check", run); code != 0 {
		t.Errorf("check has exit code %d\n%s%s", code, out, errs)
	}
}

// TestDeviceIntervals: the work of devices counts in intervals and spans of time too.
func TestDeviceIntervals(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, twoDevices, onDevices(false, 0, 0, 1), func(o *analyze.Options) {
		o.Intervals = interval.Flags{Intervals: []string{"region:solve"}}
	})
	type intervals struct {
		Intervals struct {
			Nodes []struct {
				Ticks struct {
					Work float64 `json:"device_work"`
				}
			}
		}
	}
	for _, x := range []struct {
		span string
		want []float64
	}{{"", []float64{510, 330}}, {"#600..#700", []float64{100, 100}}, {"interval:solve", []float64{330, 330}}, {"#200..#540", []float64{110, 20}}} {
		args := []string{"report", run, "intervals"}
		if x.span != "" {
			args = append(args, "--time", x.span)
		}
		var got []float64
		for _, n := range jsonOf[intervals](t, args...).Intervals.Nodes {
			got = append(got, n.Ticks.Work)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("--time %q: device work %v, want %v", x.span, got, x.want)
		}
	}
}

// TestRandomDevices compares devices and hosts of random traces with a look at every tick.
func TestRandomDevices(t *testing.T) {
	t.Parallel()
	const processes, streams, ticks = 2, 3, 120
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		shared, of := seed%2 == 1, []uint32{uint32(r.IntN(2)), 1, 0}
		text := fmt.Sprintf("-- program --\nprocesses %d\nthreads %d\nresolution 1000\n-- events --\n", processes, streams+1)
		var does [processes * (streams + 1)][ticks]string // at each tick
		for l := range does {
			host := l%(streams+1) == 0
			names := []string{"a_kernel", "copy"}
			if host {
				names = []string{"hipLaunchKernel", "hipMemcpy", "hipMalloc", "hipDeviceSynchronize", "MPI_Comm_size"}
				text += fmt.Sprintf("%d 0 ENTER main\n", l)
			}
			for at := r.IntN(20); at < ticks-20; at += r.IntN(15) {
				name, end := names[r.IntN(len(names))], at+1+r.IntN(15)
				text += fmt.Sprintf("%d %d ENTER %s\n%d %d LEAVE %s\n", l, at, name, l, end, name)
				for ; at < end; at++ {
					does[l][at] = name
				}
			}
			if host {
				text += fmt.Sprintf("%d %d LEAVE main\n", l, ticks)
			}
		}
		s := jsonOf[devicesIn](t, "report", foundTrace(t, text, onDevices(shared, of...))).Summary
		work := 0
		got, want := map[string]deviceIn{}, map[string]deviceIn{}
		for at := range ticks {
			now := map[string]*deviceIn{}
			name := func(l int) string {
				if shared {
					return fmt.Sprint("GPU ", of[l%(streams+1)-1])
				}
				return fmt.Sprint("GPU ", of[l%(streams+1)-1]+uint32(l/(streams+1)*10))
			}
			for l := range does {
				if l%(streams+1) == 0 {
					continue
				}
				d := now[name(l)]
				if d == nil {
					d = &deviceIn{}
					now[name(l)] = d
				}
				switch does[l][at] {
				case "a_kernel":
					d.Kernel = 1
				case "copy":
					d.Transfer = 1
				}
			}
			computes := [processes]bool{}
			for l := range does {
				if l%(streams+1) > 0 && now[name(l)].Kernel > 0 {
					computes[l/(streams+1)] = true
					if does[l/(streams+1)*(streams+1)][at] == "MPI_Comm_size" {
						now[name(l)].MPI = 1
					}
				}
			}
			for p, c := range computes {
				if c && strings.HasPrefix(does[p*(streams+1)][at], "hip") {
					work++
				}
			}
			for k, d := range now {
				x := want[k]
				x.Kernel, x.Transfer, x.Overlap, x.MPI = x.Kernel+d.Kernel, x.Transfer+d.Transfer, x.Overlap+d.Kernel*d.Transfer, x.MPI+d.MPI
				x.Idle += (1 - d.Kernel) * (1 - d.Transfer)
				want[k] = x
			}
		}
		for _, d := range s.Devices.List {
			idle := uint64(0)
			for _, w := range d.While {
				idle += w.Ticks
			}
			if idle != d.Idle {
				t.Errorf("seed %d, %s: hosts do %d ticks of %d", seed, d.Name, idle, d.Idle)
			}
			got[d.Name] = deviceIn{Kernel: d.Kernel, Transfer: d.Transfer, Overlap: d.Overlap, MPI: d.MPI, Idle: d.Idle}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || s.Ticks["device_work"] != float64(work) {
			t.Errorf("seed %d: got %+v and %v, want %+v and %d\n%s", seed, got, s.Ticks["device_work"], want, work, text)
		}
	}
}

// TestDeviceFindings: what devices could gain, and never all of a wait for a device that computes.
func TestDeviceFindings(t *testing.T) {
	t.Parallel()
	kinds := func(run string) map[string]finding {
		list := map[string]finding{}
		for _, f := range jsonOf[foundIn](t, "report", run).Findings {
			if strings.HasPrefix(f.Kind, "device") || f.Kind == "kernel" {
				list[f.Kind] = f
			}
		}
		return list
	}
	got := kinds(foundTrace(t, twoDevices, onDevices(false, 0, 0, 1)))
	for kind, ticks := range map[string]uint64{"device_idle": 560, "device_imbalance": 360 - 330, "device_transfer": 80, "kernel": 0} {
		if f, ok := got[kind]; !ok || f.Ticks != ticks {
			t.Errorf("%s: %+v", kind, f)
		}
	}
	for kind, want := range map[string]string{
		"device_idle":     "devices idle: up to 0.560 s of the run (56.0 %): the busiest, GPU 0, idles while its host is in own code 0.250 s, device wait 0.140 s, of it 0.0700 s while another device computes,",
		"device_transfer": "where 0.100 s of 0.180 s in transfers are next to kernels",
		"kernel":          "d_kernel: 0.300 s in 1 call, 42.3 % of the time of all kernels",
	} {
		if !strings.Contains(got[kind].Text, want) {
			t.Errorf("%s: %s, want %s", kind, got[kind].Text, want)
		}
	}

	// Without locations of devices, or without rows, nothing is said of what could be gained.
	host, _, _ := strings.Cut(twoDevices, "1 110")
	for _, x := range []struct {
		run, why string
	}{
		{foundTrace(t, strings.Replace(host, "threads 4", "threads 1", 1), onDevices(false)), "no locations of devices"},
		{foundTrace(t, twoDevices, onDevices(false, 0, 0, 1), func(o *analyze.Options) { o.GraphOnly = true }), "rows of calls were not kept"},
	} {
		if list := kinds(x.run); len(list) > 1 || len(list) == 1 && list["kernel"].Kind == "" {
			t.Errorf("%s: %v", x.why, slices.Collect(maps.Keys(list)))
		}
		text := must(t, "report", x.run)
		for _, want := range []string{
			x.why + ": whether devices compute in the 0.750 s of a process (75.0 % of the run) in calls of their runtime is not known, so this time counts as lost",
			"whether a device computes meanwhile is not known", "what devices compute is not, see what this trace cannot tell",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

// TestRealDevices: the kernels of a real archive, as otf2-print shows them, run from 6127386368557734 to 6127403889281692 and from
// 6127405422733255 to 6127411447497340, of 26664065725 ticks. Nothing communicates in it.
func TestRealDevices(t *testing.T) {
	t.Parallel()
	anchor := filepath.Join(sharedTraces(t), "hip-mi300-scorep9", "traces.otf2")
	run := filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", anchor, "-o", run, "-q")
	d := jsonOf[devicesIn](t, "report", run).Summary.Devices
	const a, b, all = 6127403889281692 - 6127386368557734, 6127411447497340 - 6127405422733255, 26664065725
	for _, x := range [][2]float64{{d.Efficiency, (a + b) / (2. * all)}, {d.Balance, (a + b) / (2. * a)}, {d.Communication, 1}, {d.Orchestration, a * 1. / all}} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("%+v: %v, want %v", d, x[0], x[1])
		}
	}
	text := must(t, "report", run)
	for _, want := range []string{"device efficiency    0.442", "  load balance       0.672", "  orchestration      0.657", "device wait       6.363778  88.3 %", "transfer call     0.706341   9.8 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, never := range []string{"ideal network", "up to 6.363", "which call launched"} {
		if strings.Contains(text, never) {
			t.Errorf("%q in\n%s", never, text)
		}
	}
}

// TestDevicesOfRocprof: rocprofv3 does not tell who uses an accelerator, gives kernels and calls of its interfaces the role of functions of
// HIP, has a location of a stream in the process for memory that is freed, and names devices by their kind. The first device computes from
// 120 to 280 and from 520 to 700, the second one from 120 to 200: (340 + 80) / 2000 of their time.
func TestDevicesOfRocprof(t *testing.T) {
	t.Parallel()
	const text = `
-- program --
processes 1
threads 6
resolution 1000
-- events --
0 0 ENTER hipMalloc
0 10 LEAVE hipMalloc
0 20 ENTER hipMemcpy
0 20 ENTER hsa_amd_memory_async_copy_on_engine
0 25 LEAVE hsa_amd_memory_async_copy_on_engine
0 26 ENTER hsa_signal_wait_scacquire
0 99 LEAVE hsa_signal_wait_scacquire
0 100 LEAVE hipMemcpy
0 100 ENTER hipLaunchKernel
0 110 LEAVE hipLaunchKernel
0 110 ENTER hipDeviceSynchronize
0 300 LEAVE hipDeviceSynchronize
0 500 ENTER ncclAllReduce
0 510 LEAVE ncclAllReduce
0 990 ENTER hipFree
0 1000 LEAVE hipFree
1 30 ENTER MEMORY_COPY_HOST_TO_DEVICE
1 90 LEAVE MEMORY_COPY_HOST_TO_DEVICE
2 120 ENTER vecadd(float*)
2 280 LEAVE vecadd(float*)
3 520 ENTER ncclDevKernel_Generic
3 700 LEAVE ncclDevKernel_Generic
4 992 ENTER MEMORY_ALLOCATION_FREE
4 998 LEAVE MEMORY_ALLOCATION_FREE
5 120 ENTER vecadd(float*)
5 200 LEAVE vecadd(float*)
`
	file := foundTrace(t, text, func(o *analyze.Options) {
		d := o.Source.Definitions()
		name := uint32(100000)
		for ref, text := range map[uint32]string{1001: "EPYC", 1002: "gfx90a", 1003: "gfx90a"} {
			name++
			d.Strings = append(d.Strings, trace.String{Ref: name, Value: text})
			d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: ref, Name: name, Type: trace.AcceleratorGroup, Creator: trace.Undefined})
		}
		for i, group := range []uint32{0, 1002, 1002, 1002, 0, 1003} {
			if d.Locations[i].Group = group; i > 0 {
				d.Locations[i].Type = trace.AcceleratorStream
			}
		}
		for i := range d.Regions {
			r := &d.Regions[i]
			r.Role, r.Paradigm = trace.RoleFunction, trace.ParadigmHIP
			switch name := d.Text(r.Name); {
			case strings.HasPrefix(name, "MEMORY_COPY"):
				r.Role = trace.RoleDataTransfer
			case strings.HasPrefix(name, "MEMORY_ALLOCATION"):
				r.Role = 36 // DEALLOCATE
			}
		}
		d.Seal()
	})
	doc := jsonOf[devicesIn](t, "report", file)
	x := doc.Summary.Devices
	if x == nil || len(x.List) != 2 {
		t.Fatalf("%+v", x)
	}
	if a, b := x.List[0], x.List[1]; a.Name != "gfx90a 0" || a.Kernel != 340 || a.Transfer != 60 || a.Streams != 3 || b.Name != "gfx90a 1" || b.Kernel != 80 || x.Efficiency != 0.21 {
		t.Errorf("%+v", x)
	}
	if got, want := times(x.Hosts), "cpu 180/690, device_call 0/30, device_wait 160/190, launch 0/10, transfer_call 0/80"; got != want {
		t.Errorf("hosts: %s, want %s", got, want)
	}
	if text := must(t, "report", file); !strings.Contains(text, "kernel with most time: vecadd(float*): 0.240 s in 2 calls, 57.1 % of the time of all kernels") {
		t.Error(text)
	}
}

// launched has a place that launches two kernels into a stream, one that launches one into another stream, and one that launches into both.
const launched = `
-- definitions --
STRING self=0 string="callsite id"
PARAMETER self=0 name=0 parameter_type=2
-- program --
processes 1
threads 3
resolution 1000
-- events --
0 0 ENTER main
0 10 ENTER hipLaunchKernel
0 11 PARAMETER_UINT64 0 7
0 12 LEAVE hipLaunchKernel
0 30 ENTER hipLaunchKernel
0 31 PARAMETER_UINT64 0 7
0 32 LEAVE hipLaunchKernel
0 50 ENTER hipLaunchKernel
0 51 PARAMETER_UINT64 0 8
0 52 LEAVE hipLaunchKernel
0 70 ENTER hipLaunchKernel
0 71 PARAMETER_UINT64 0 9
0 72 LEAVE hipLaunchKernel
0 80 ENTER hipLaunchKernel
0 81 PARAMETER_UINT64 0 9
0 82 LEAVE hipLaunchKernel
0 200 LEAVE main
1 20 ENTER a_kernel
1 20 PARAMETER_UINT64 0 7
1 60 LEAVE a_kernel
1 65 ENTER a_kernel
1 65 PARAMETER_UINT64 0 7
1 100 LEAVE a_kernel
1 110 ENTER a_kernel
1 110 PARAMETER_UINT64 0 9
1 120 LEAVE a_kernel
2 55 ENTER b_kernel
2 55 PARAMETER_UINT64 0 8
2 65 LEAVE b_kernel
2 90 ENTER b_kernel
2 90 PARAMETER_UINT64 0 9
2 95 LEAVE b_kernel
`

// TestLaunches: of kernels the call that launched them is known where one stream has the kernels of a place.
func TestLaunches(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, launched, onDevices(false, 0, 0))
	x := jsonOf[struct {
		Summary struct{ Devices struct{ Launches any } }
	}](t, "report", run).Summary.Devices.Launches
	launch := func(kernel string, kernels, delay, queued, longest float64) any {
		return map[string]any{"kernel": kernel, "call": "hipLaunchKernel", "kernels": kernels, "delay": delay, "queued": queued, "longest_delay": longest}
	}
	want := map[string]any{"unknown": 2., "list": []any{launch("a_kernel", 2, 10+35, 30, 35), launch("b_kernel", 1, 5, 0, 5)}}
	if diff := cmp.Diff(any(want), x); diff != "" {
		t.Error(diff)
	}
	if text := must(t, "report", run, "untold"); strings.Contains(text, "values of parameters") {
		t.Error(text)
	}
	if text := must(t, "report", run); !strings.Contains(text, "which call launched 2 kernels is not known") || !strings.Contains(text, "of it in the queue") {
		t.Error(text)
	}
}

// togetherOnDevices is three processes with a device each: kernels of 100, 800 and 400 ticks, then a sum over all, which begins on each device
// after its kernel and ends on all at 910 or 920. Then a broadcast, of which the first device is done before the others come. The sum of
// another type is on two devices once and on the third twice, and a gather ends on the first one before it begins on the second.
const togetherOnDevices = `
-- program --
processes 3
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 2000 LEAVE main
1 100 ENTER a_kernel
1 200 LEAVE a_kernel
1 200 ENTER ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
1 910 LEAVE ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
1 1000 ENTER ncclDevKernel_Broadcast_RING_LL(x)
1 1010 LEAVE ncclDevKernel_Broadcast_RING_LL(x)
1 1200 ENTER ncclKernel_AllReduce_Sum_f64(x)
1 1300 LEAVE ncclKernel_AllReduce_Sum_f64(x)
1 1400 ENTER rcclGenericKernel(x)
1 1410 LEAVE rcclGenericKernel(x)
2 0 ENTER main
2 2000 LEAVE main
3 100 ENTER a_kernel
3 900 LEAVE a_kernel
3 900 ENTER ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
3 910 LEAVE ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
3 1050 ENTER ncclDevKernel_Broadcast_RING_LL(x)
3 1100 LEAVE ncclDevKernel_Broadcast_RING_LL(x)
3 1200 ENTER ncclKernel_AllReduce_Sum_f64(x)
3 1300 LEAVE ncclKernel_AllReduce_Sum_f64(x)
3 1420 ENTER rcclGenericKernel(x)
3 1430 LEAVE rcclGenericKernel(x)
4 0 ENTER main
4 2000 LEAVE main
5 100 ENTER a_kernel
5 500 LEAVE a_kernel
5 500 ENTER ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
5 920 LEAVE ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
5 1020 ENTER ncclDevKernel_Broadcast_RING_LL(x)
5 1100 LEAVE ncclDevKernel_Broadcast_RING_LL(x)
5 1200 ENTER ncclKernel_AllReduce_Sum_f64(x)
5 1250 LEAVE ncclKernel_AllReduce_Sum_f64(x)
5 1260 ENTER ncclKernel_AllReduce_Sum_f64(x)
5 1300 LEAVE ncclKernel_AllReduce_Sum_f64(x)
`

// TestDeviceCollectives: members, waits and late members by hand. In the sum the devices wait 700, 0 and 400 ticks for the second one, of
// 710 + 10 + 420; in the broadcast the first one waits for its 10 ticks alone and the third one 30, of 10 + 50 + 80.
func TestDeviceCollectives(t *testing.T) {
	run := foundTrace(t, togetherOnDevices, func(o *analyze.Options) {
		for i := range o.Source.Definitions().Regions {
			r := &o.Source.Definitions().Regions[i]
			if name := o.Source.Definitions().Text(r.Name); strings.HasPrefix(name, "nccl") || strings.HasPrefix(name, "rccl") {
				r.Role, r.Paradigm = trace.RoleFunction, trace.ParadigmCUDA
			}
		}
	}, onDevices(false, 0))
	d := jsonOf[struct {
		Summary  struct{ Devices struct{ Collectives any } }
		Findings []finding
	}](t, "report", run)
	operation := func(kernel string, count, wait, longest, forLate float64) any {
		return map[string]any{"kernel": kernel, "devices": 3., "operations": 1., "time": count, "wait": wait, "longest_wait": longest, "late": "GPU 10", "wait_for_late": forLate}
	}
	want := map[string]any{"unknown": 4. + 2, "list": []any{
		operation("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 1140, 1100, 700, 1100), operation("ncclDevKernel_Broadcast_RING_LL(x)", 140, 40, 30, 40),
	}}
	if diff := cmp.Diff(any(want), d.Summary.Devices.Collectives); diff != "" {
		t.Error(diff)
	}
	i := slices.IndexFunc(d.Findings, func(f finding) bool { return f.Kind == "device_collective" })
	if i < 0 || d.Findings[i].Ticks != 1100/3+40/3 {
		t.Errorf("findings %+v", d.Findings)
	}
	if text := must(t, "report", run); !strings.Contains(text, "collectives of devices, estimated") ||
		!strings.Contains(text, "critical path and causes stay on each device") || !strings.Contains(text, "which 6 kernels that communicate between devices belong together is not known") {
		t.Error(text)
	}
}

// TestFactorsOfDevices: archives of N processes with a device each. Process i computes for 100 ticks, launches for 10, waits for a kernel of K_i
// and copies for T_i, with the stream in a transfer as long; then it waits in a barrier for the last one, at R. So devices have load balance
// sum K / (N max K), communication max K / max (K + T) and orchestration max (K + T) / R, hosts U = 110 + K + T: parallel efficiency
// sum U / (N R), load balance sum U / (N max U), device offload 100 N / sum U.
func TestFactorsOfDevices(t *testing.T) {
	for _, n := range []int{1, 2, 5, 8} {
		text := fmt.Sprintf("-- program --\nprocesses %d\nthreads 2\nresolution 1000\n-- events --\n", n)
		kernel, transfer := func(i int) int { return 200 + 97*i%300 }, func(i int) int { return 40 * (n - i) }
		var sumK, maxK, maxA, sumU, maxU float64
		for i := range n {
			k, a := float64(kernel(i)), float64(kernel(i)+transfer(i))
			sumK, maxK, maxA, sumU, maxU = sumK+k, max(maxK, k), max(maxA, a), sumU+110+a, max(maxU, 110+a)
		}
		for i := range n {
			host, end := 2*i, 110+kernel(i)
			last := end + transfer(i)
			line := func(l, at int, what string) { text += fmt.Sprintf("%d %d %s\n", l, at, what) }
			line(host, 0, "ENTER main")
			line(host, 100, "ENTER hipLaunchKernel")
			line(host, 110, "LEAVE hipLaunchKernel")
			line(host, 110, "ENTER hipDeviceSynchronize")
			line(host, end, "LEAVE hipDeviceSynchronize")
			line(host, end, "ENTER hipMemcpy")
			line(host, last, "LEAVE hipMemcpy")
			line(host, last, "ENTER MPI_Barrier")
			line(host, last, "MPI_COLLECTIVE_BEGIN")
			line(host, int(maxU), "MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0")
			line(host, int(maxU), "LEAVE MPI_Barrier")
			line(host, int(maxU), "LEAVE main")
			line(host+1, 110, "ENTER a_kernel")
			line(host+1, end, "LEAVE a_kernel")
			line(host+1, end, "ENTER copy")
			line(host+1, last, "LEAVE copy")
		}
		run, p := foundTrace(t, text, onDevices(false, 0)), float64(n)
		s := jsonOf[devicesIn](t, "report", run).Summary
		for _, x := range []struct {
			what      string
			got, want float64
		}{
			{"load balance of devices", s.Devices.Balance, sumK / (p * maxK)},
			{"communication", s.Devices.Communication, maxK / maxA},
			{"orchestration", s.Devices.Orchestration, maxA / maxU},
			{"device efficiency", s.Devices.Efficiency, sumK / (p * maxU)},
			{"parallel", s.POP.Parallel, sumU / (p * maxU)},
			{"load balance of hosts", s.POP.Balance, sumU / (p * maxU)},
			{"device offload", *s.POP.Offload, 100 * p / sumU},
			{"host", *s.POP.Host, 100 / maxU},
		} {
			if math.Abs(x.got-x.want) > 1e-12 {
				t.Errorf("%d processes: %s is %v, want %v", n, x.what, x.got, x.want)
			}
		}
		path := jsonOf[struct {
			Waits struct {
				Critical struct{ Activities []struct{ Activity string } } `json:"critical_path"`
			}
		}](t, "report", run, "waits").Waits.Critical.Activities
		var on []string
		for _, a := range path {
			on = append(on, a.Activity)
		}
		if !slices.Contains(on, "kernel") || !slices.Contains(on, "transfer") || slices.Contains(on, "device_wait") {
			t.Errorf("%d processes: on the critical path: %v", n, on)
		}
	}
}

// recordedOnDevices is two processes with a device each, whose trace records a sum of both devices in their kernels, with a communicator.
const recordedOnDevices = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER hipLaunchKernel
0 101 LEAVE hipLaunchKernel
0 102 ENTER hipStreamSynchronize
0 910 LEAVE hipStreamSynchronize
0 1000 LEAVE main
1 110 ENTER a_kernel
1 200 LEAVE a_kernel
1 200 ENTER ncclDevKernel_AllReduce(x)
1 200 MPI_COLLECTIVE_BEGIN
1 905 MPI_COLLECTIVE_END ALLREDUCE 9 4294967295 100 100
1 905 LEAVE ncclDevKernel_AllReduce(x)
2 0 ENTER main
2 100 ENTER hipLaunchKernel
2 101 LEAVE hipLaunchKernel
2 102 ENTER hipStreamSynchronize
2 907 LEAVE hipStreamSynchronize
2 1000 LEAVE main
3 110 ENTER a_kernel
3 900 LEAVE a_kernel
3 900 ENTER ncclDevKernel_AllReduce(x)
3 900 MPI_COLLECTIVE_BEGIN
3 905 MPI_COLLECTIVE_END ALLREDUCE 9 4294967295 100 100
3 905 LEAVE ncclDevKernel_AllReduce(x)
`

// TestRecordedDeviceCollectives: where the trace has communicators of devices the members are those of the record. Device 0 waits from 200 to 900 for
// the kernel of the other one, and the critical path goes over to that: after it the sum from 900 and the host from 905, before it the host of rank 1 up to 110.
func TestRecordedDeviceCollectives(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, recordedOnDevices, func(o *analyze.Options) {
		d := o.Source.Definitions()
		d.Groups = append(d.Groups, trace.Group{Ref: 100, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmCUDA, Members: []uint64{d.Locations[1].Ref, d.Locations[3].Ref}},
			trace.Group{Ref: 101, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmCUDA, Members: []uint64{0, 1}})
		d.Comms = append(d.Comms, trace.Comm{Ref: 9, Group: 101, Parent: trace.Undefined})
		for i := range d.Regions {
			if r := &d.Regions[i]; strings.HasPrefix(d.Text(r.Name), "nccl") {
				r.Role, r.Paradigm = trace.RoleFunction, trace.ParadigmCUDA
			}
		}
	}, onDevices(false, 0))
	type row struct {
		Name  string
		Ticks uint64
	}
	doc := jsonOf[struct {
		Waits struct {
			Others   uint64 `json:"other_threads"`
			Causes   []struct{ Path []string }
			Critical struct{ Regions []row } `json:"critical_path"`
		}
	}](t, "report", run, "waits")
	want := []row{{"a_kernel", 790}, {"main", 90 + 1 + 100}, {"hipStreamSynchronize", 5 + 8}, {"ncclDevKernel_AllReduce(x)", 5}, {"hipLaunchKernel", 1}}
	if diff := cmp.Diff(want, doc.Waits.Critical.Regions); diff != "" {
		t.Error(diff)
	}
	if text := must(t, "report", run); strings.Contains(text, "collectives of devices") {
		t.Error("an estimate of what records tell\n" + text)
	}
	if x := doc.Waits; x.Others != 700 || len(x.Causes) != 1 || !slices.Equal(x.Causes[0].Path, []string{"a_kernel"}) {
		t.Errorf("%+v", x)
	}
}
