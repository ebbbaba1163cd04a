package levers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// Report says how much time changes would save. Times are in ticks.
type Report struct {
	Name       string `json:"-"`
	Resolution uint64 `json:"resolution"`
	Runtime    uint64 `json:"runtime"`              // of the run
	Replayed   uint64 `json:"replayed"`             // of its replay without a change
	Partial    bool   `json:"partial"`              // the input of the analysis was damaged or incomplete
	Ignored    uint64 `json:"dependencies_ignored"` // of the replay: the trace contradicts them
	Threads    bool   `json:"threads"`              // there are threads whose waits for each other are not replayed
	Devices    bool   `json:"devices"`              // there are streams of devices, which are not replayed
	Tests      uint64 `json:"tests"`                // calls that test or probe
	// InTurn are calls that took messages of several processes as they came: in nearly the order in which they were sent, and not in the
	// same order every time.
	InTurn []string `json:"in_turn,omitempty"`
	// Unexplained is the time of messages and collective operations in all processes apart from waits, if it is more than 5 % of AllTime.
	Unexplained     uint64 `json:"unexplained,omitempty"`
	UnexplainedPath string `json:"unexplained_path,omitempty"` // the call path with most of it
	AllTime         uint64 `json:"all_time,omitempty"`         // of all processes
	// WithoutSidecar: the run that was written does not have the intervals of the sidecar file, whose times do not fit it.
	WithoutSidecar bool     `json:"without_sidecar,omitempty"`
	Targets        []Target `json:"targets"`
}

// Target is a part of the program, and how much time changes of it would save.
type Target struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	Path     []string `json:"path,omitempty"`
	Time     uint64   `json:"time"`     // ticks in all processes
	Critical uint64   `json:"critical"` // ticks on the critical path
	Tenth    *int64   `json:"saved_10_percent"`
	Half     *int64   `json:"saved_50_percent"`
	Balanced *int64   `json:"saved_balanced"`
	Gone     *int64   `json:"saved_gone"`
	Earlier  *int64   `json:"saved_earlier_receive"`      // of sends that wait: their receives are posted earlier; messages move in MPI calls
	Goes     string   `json:"waits_then,omitempty"`       // the call site whose waiting grows most, with its caller
	GoesTo   uint64   `json:"waits_then_ticks,omitempty"` // by how many ticks it grows
}

// worth returns the ticks by which targets are ranked.
func (t *Target) worth() int64 {
	most := int64(math.MinInt64)
	for _, v := range []*int64{t.Half, t.Balanced} {
		if v != nil {
			most = max(most, *v)
		}
	}
	if most == math.MinInt64 && t.Gone != nil {
		return *t.Gone
	}
	return most
}

// kinds are the kinds of targets, in the order of the report.
var kinds = []struct{ kind, title, lead string }{
	{kindChange, "changes", "Time of the whole run that would be saved."},
	{kindFunction, "own code", "Time outside of MPI, by function: time of the whole run that would be saved, were it 10 % or 50 % faster, balanced over the processes that run it, or gone."},
	{kindInterval, "intervals", "The same of all own code in an interval."},
	{kindThreads, "threads", "Parallel regions of OpenMP: time of the run that would be saved, were the work of all threads of a process balanced (of each region by itself), or if none waited for others."},
	{kindKernel, "devices", "Kernels and transfers of devices: time of the run that would be saved, were they 10 % or 50 % faster, balanced over the processes, or gone."},
	{kindPattern, "patterns of waits", "All call sites that wait for a reason: time of the run that would be saved, if what they wait for came in time."},
	{kindWait, "waits", "Call sites that wait: time of the run that would be saved, if what they wait for came in time; or, of a send, if its receive was posted earlier, and the receiver took the message in its next MPI call."},
	{kindCollective, "collective operations", "Call sites of collective operations: time that would be saved without them."},
	{kindTransfer, "transfers", "Time in messages and collective operations apart from waits, by call site: time that would be saved, were it 10 % or 50 % less, or gone."},
	{kindNetwork, "network", "A run does not say what of a transfer is bandwidth. So this is what it would save if all of it was, in calls that may have data. Half the latency saves at most what 50 % of all transfers do, and so do both."},
}

// Book returns the targets as tables, a chapter for each kind.
func (r *Report) Book(page bool, _ int) (*table.Book, error) {
	u := numbers.Units{Resolution: r.Resolution}
	b := &table.Book{Unit: u, Page: page, Name: r.Name, Subtitle: "What changes would be worth"}
	b.Heads = []string{fmt.Sprintf("%s  %s", numbers.Clean(r.Name, 60), u.Time(r.Runtime))}
	b.Notes = append(b.Notes, r.judge()...)
	for _, k := range kinds {
		list := slices.DeleteFunc(slices.Clone(r.Targets), func(x Target) bool { return x.Kind != k.kind })
		if len(list) == 0 {
			continue
		}
		gone := "gone"
		if k.kind == kindChange {
			gone = "saved"
		}
		t := &table.Table{Lead: k.lead, Kind: k.kind, Columns: []table.Column{table.Words("what", "name")}}
		for _, c := range [][2]string{
			{"total", "time"},
			{"critical", "critical"},
			{"10 %", "saved_10_percent"},
			{"50 %", "saved_50_percent"},
			{"balanced", "saved_balanced"},
			{gone, "saved_gone"},
			{"earlier receive", "saved_earlier_receive"},
		} {
			t.Columns = append(t.Columns, table.Ints(c[0]+" "+u.Name(), c[1]))
		}
		t.Columns = append(t.Columns, table.Words("waits then", "waits_then"), table.Ints("longer "+u.Name(), "waits_then_ticks"))
		table.Fill(t, "target", list, func(x *Target) []table.Cell {
			return []table.Cell{
				table.Word(x.Name), some(u, x.Time), some(u, x.Critical), saved(u, x.Tenth), saved(u, x.Half), saved(u, x.Balanced), saved(u, x.Gone), saved(u, x.Earlier), table.Word(x.Goes), some(u, x.GoesTo),
			}
		})
		b.Chapter(k.kind, k.title, "").Table(t)
	}
	return b, nil
}

// some returns a time, 0 as none.
func some(u numbers.Units, v uint64) table.Cell {
	if v == 0 {
		return table.None()
	}
	return table.Time(u, v)
}

func saved(u numbers.Units, v *int64) table.Cell {
	if v == nil {
		return table.None()
	}
	if *v < 0 {
		x := table.Time(u, uint64(-*v))
		return table.Named("-"+x.Text, "-"+x.Value)
	}
	return table.Time(u, uint64(*v))
}

// judge returns sentences that say how far the report can be trusted.
func (r *Report) judge() (list []string) {
	off := numbers.Quotient(numbers.Integer(max(r.Runtime, r.Replayed)-min(r.Runtime, r.Replayed)), numbers.Integer(r.Runtime))
	text := "The replay of the unchanged run is off by " + off.Percent() + "."
	if 20*(max(r.Runtime, r.Replayed)-min(r.Runtime, r.Replayed)) > r.Runtime {
		text += " What is worth less than that cannot be ranked."
	}
	list = append(list, text)
	if r.Partial {
		list = append(list, "Partial: the input of the analysis was damaged or incomplete; what could be read is replayed.")
	}
	if r.Ignored > 0 {
		list = append(list, fmt.Sprintf("Left out: %s for others that the times of the trace contradict.", numbers.Plural(int(r.Ignored), "wait")))
	}
	if r.Threads {
		list = append(list, "Threads do not wait for each other in the replay: what a function of a parallel region saves is that of the first thread. Others begin when they began, so what a process does before its threads call MPI may save more.")
	}
	if r.Devices {
		list = append(list, "Streams of devices are not replayed: of what a process waits for a kernel, as much less is left as the kernel takes less.")
	}
	if len(r.InTurn) > 0 {
		list = append(list, "Not known: which messages "+strings.Join(r.InTurn, ", ")+" takes after a change. It took those of several processes as they came. If it receives from any source, and work is shared out by that, a change may save more or less.")
	}
	if r.Tests > 0 {
		list = append(list, fmt.Sprintf("Not known: how often a program tests (%s). What it does between two tests stays, also where that which it tests for comes earlier.", numbers.Plural(int(r.Tests), "call")))
	}
	if r.Unexplained > 0 {
		share := numbers.Quotient(numbers.Integer(r.Unexplained), numbers.Integer(r.AllTime))
		list = append(list, "Not known: why MPI calls take "+share.Percent()+" of the time of all processes apart from waits, most in "+r.UnexplainedPath+": transfers, or waits for a processor or for what others do. That stays after a change, so this may save more.")
	}
	if r.WithoutSidecar {
		list = append(list, "The run that was written is without the intervals of --intervals-file, whose times are not its own.")
	}
	return list
}

func (r *Report) sort() {
	order := map[string]int{}
	for i, k := range kinds {
		order[k.kind] = i
	}
	slices.SortStableFunc(r.Targets, func(a, b Target) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), cmp.Compare(b.worth(), a.worth()))
	})
}
