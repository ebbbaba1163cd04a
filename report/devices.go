package report

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// deviceTables show what each device did, and what the hosts of all devices did.
func (d *Document) deviceTables(b *table.Book, c *table.Chapter) {
	x, u, s := d.Summary.Devices, b.Unit, d.Summary
	if x == nil || len(x.List) == 0 {
		return
	}
	_, transfers := x.Largest(func(v *results.Device) uint64 { return v.Transfer })
	_, inMPI := x.Largest(func(v *results.Device) uint64 { return v.MPI })
	some := func(largest, ticks uint64) table.Cell {
		if largest == 0 {
			return table.None()
		}
		return table.Time(u, ticks)
	}
	c.Table(table.Fill(&table.Table{Title: "Devices: what their streams did, each instant once", Kind: "device", Most: deviceRows, Whole: "coppice report " + d.run.Path + " --format json", Columns: []table.Column{
		table.Words("devices", "name"), table.Words("ranks", "ranks"), table.Ints(table.Of(u, "kernels"), "kernel"), table.Reals("of run", "share"), table.Ints(table.Of(u, "transfers"), "transfer"),
		table.Ints(table.Of(u, "of it next to kernels"), "overlap"), table.Ints(table.Of(u, "idle"), "idle"), table.Words("while the host", "idle_while"), table.Ints(table.Of(u, "kernels next to MPI"), "kernel_and_mpi"),
	}}, "device", x.List, func(p **results.Device) []table.Cell {
		v := *p
		return []table.Cell{
			table.Word(v.Name), table.Word(strings.Trim(fmt.Sprint(v.Processes), "[]")), table.Time(u, v.Kernel), table.Share(numbers.NewRatio(v.Kernel, s.Ticks.Runtime)), some(transfers, v.Transfer),
			some(transfers, v.Both), table.Time(u, v.Idle), table.Word(whiles(v.While)), some(inMPI, v.MPI),
		}
	}))
	t := &table.Table{Title: "Hosts of devices: first threads of their processes", Kind: "host", Columns: []table.Column{
		table.Words("hosts of devices", "name"), table.Ints(u.Name(), "time"), table.Reals("share", "share"), table.Ints(table.Of(u, "while a device computes"), "computing"),
	}}
	total := uint64(0)
	for _, h := range x.Hosts {
		total += h.Ticks
	}
	for _, h := range x.Hosts {
		t.Add(table.Named(results.StateLabel(h.State), h.State), table.Time(u, h.Ticks), table.Share(numbers.NewRatio(h.Ticks, total)), table.Time(u, h.Computing))
	}
	c.Table(t)
	if x.Collectives != nil && len(x.Collectives.List) > 0 {
		c.Table(table.Fill(&table.Table{Title: "Collectives of devices, estimated: the n-th kernel of a name on each device", Kind: "device_collective", Most: deviceRows, Whole: "coppice report " + d.run.Path + " --format json", Columns: []table.Column{
			table.Words("collectives of devices, estimated", "name"), table.Ints("devices", "devices"), table.Ints("operations", "operations"), table.Ints(u.Name(), "time"), table.Ints("waits", "wait"), table.Reals("share", "share"),
			table.Ints("longest", "longest_wait"), table.Words("late", "late"), table.Ints("waited for it", "wait_for_late"),
		}}, "collective", x.Collectives.List, func(v *results.DeviceCollective) []table.Cell {
			return []table.Cell{
				table.Named(numbers.Clean(v.Kernel, 48), v.Kernel), table.Number(uint64(v.Devices)), table.Number(v.Operations), table.Time(u, v.Time), table.Time(u, v.Wait), table.Share(numbers.NewRatio(v.Wait, v.Time)),
				table.Time(u, v.Longest), table.Word(v.Late), table.Time(u, v.ForLate),
			}
		}))
	}
	if x.Launches == nil || len(x.Launches.List) == 0 {
		return
	}
	c.Table(table.Fill(&table.Table{Title: "Kernels: from the begin of the call that launches them to their own", Kind: "launch", Most: deviceRows, Whole: "coppice report " + d.run.Path + " --format json", Columns: []table.Column{
		table.Words("kernels", "name"), table.Words("launched by", "call"), table.Ints("launches", "kernels"), table.Ints(table.Of(u, "delay"), "delay"), table.Ints(table.Of(u, "of it in the queue"), "queued"), table.Ints("longest", "longest_delay"),
	}}, "launch", x.Launches.List, func(l *results.Launch) []table.Cell {
		return []table.Cell{
			table.Named(numbers.Clean(l.Kernel, 60), l.Kernel), table.Named(numbers.Clean(l.Call, 40), l.Call), table.Number(l.Kernels), table.Time(u, l.Delay), table.Time(u, l.Queued), table.Time(u, l.Longest),
		}
	}))
}

// deviceRows is how many devices the summary names.
const deviceRows = 16

// deviceEfficiencies adds rows of the efficiencies of devices, as TALP defines them.
func (d *Document) deviceEfficiencies(row func(level int, name string, value table.Cell, formula, figures, meaning string)) {
	x := d.Summary.Devices
	if x == nil {
		return
	}
	row(0, "device efficiency", table.Barred(x.Efficiency, 3), "kernel time of all devices over runtime times devices", "", "low: devices idle")
	row(1, "load balance", table.Barred(x.LoadBalance, 3), "mean kernel time of a device over the largest", "", "low: some devices have more work than others")
	row(1, "communication", table.Barred(x.Communication, 3), "largest kernel time over the largest time in kernels and transfers", "", "low: devices transfer while they do not compute")
	row(1, "orchestration", table.Barred(x.Orchestration, 3), "largest time in kernels and transfers over the runtime", "", "low: even the busiest device idles, because its host launches late, or nothing")
}

// whiles says in which states hosts were during a time, largest first.
func whiles(list []results.HostTime) string {
	total, words := uint64(0), []string{}
	for _, x := range list {
		total += x.Ticks
	}
	for _, x := range list[:min(len(list), 3)] {
		words = append(words, results.StateLabel(x.State)+" "+numbers.NewRatio(x.Ticks, total).Percent())
	}
	return strings.Join(words, ", ")
}
