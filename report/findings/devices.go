package findings

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// devices finds losses of devices: idle time of the busiest one, its computing above the mean, and transfers during which it does
// not compute.
func (f *finder) devices() {
	x := f.s.Devices
	if x == nil || len(x.List) == 0 {
		return
	}
	add := func(kind string, d *results.Device, ticks uint64, basis, what, evidence string) *Finding {
		y := f.loss(kind, ticks, 0, basis, "summary")
		y.Where.Processes, y.Evidence = d.Processes, evidence
		f.add(y, what, ": "+evidence)
		return &f.list[len(f.list)-1]
	}
	d, active := x.Largest((*results.Device).Active)
	if active == 0 { // no kernel and no transfer is recorded
		return
	}
	idle, most := d.Idle, ""
	evidence := fmt.Sprintf("the busiest, %s, idles while its host is in", d.Name)
	for _, w := range d.While {
		switch {
		case w.State == trace.StateSetup.String():
			idle -= w.Ticks
			continue
		case most == "" && w.Computing > w.Ticks/2:
			most = otherDevice
		case most == "":
			most = w.State
		}
		if !f.matters(w.Ticks) {
			continue
		}
		evidence += fmt.Sprintf(" %s %s,", results.StateLabel(w.State), f.u.Time(w.Ticks))
		if f.matters(w.Computing) {
			evidence += fmt.Sprintf(" of it %s while another device computes,", f.u.Time(w.Computing))
		}
	}
	evidence += fmt.Sprintf(" longest from %s to %s %s", f.u.Instant(d.Gap[0]), f.u.Instant(d.Gap[1]), f.u.Name())
	var call *results.RegionTime
	if most == trace.StateDeviceCall.String() {
		if call, _ = longest(f.hot.Profile.Regions, most); call != nil {
			evidence += fmt.Sprintf("; of device calls %s has most, %s on all processes together", numbers.Clean(results.CallName(f.r, call.Region), 60), f.u.Time(call.Exclusive))
		}
	}
	y := add(kindDeviceIdle, d, idle, "what the device that is longest in kernels and transfers idles outside of set-up and end: with these kernels and transfers on it the run is as long as they are", "devices idle", evidence)
	y.facts.Activity = most
	f.placeRegion(y, call)

	d, largest := x.Largest(func(d *results.Device) uint64 { return d.Kernel })
	mean := numbers.Divide(x.Kernels(), numbers.Integer(uint64(len(x.List))))
	add(kindDeviceImbalance, d, largest-min(largest, uint64(max(mean.Round(), 0))), "largest time of a device in kernels, less the mean", "devices compute unequally",
		fmt.Sprintf("%s computes %s, the mean of %s is %s %s, load balance %s", d.Name, f.u.Time(largest), numbers.Plural(len(x.List), "device"), f.u.Fraction(mean), f.u.Name(), x.LoadBalance.Text(3)))

	d, exposed := x.Largest(func(d *results.Device) uint64 { return d.Transfer - d.Both })
	add(kindDeviceTransfer, d, exposed, "largest time of a device in transfers without a kernel next to them", "transfers without kernels next to them",
		fmt.Sprintf("most on %s, where %s of %s in transfers are next to kernels", d.Name, f.u.Time(d.Both), f.u.Time(d.Transfer)))
}

// deviceCollectives finds waits of devices for each other, in kernels that communicate.
func (f *finder) deviceCollectives() {
	x := f.s.Devices
	if x == nil || x.Collectives == nil || len(x.Collectives.List) == 0 {
		return
	}
	ticks := uint64(0)
	for i := range x.Collectives.List {
		ticks += x.Collectives.List[i].Wait / uint64(max(x.Collectives.List[i].Devices, 1))
	}
	worst := &x.Collectives.List[0]
	y := f.loss(kindDeviceCollective, ticks, 0, "estimate: mean wait of a device for the last one, in kernels that communicate between devices; which belong together is taken from their names and order", "summary")
	y.Where.Processes = worst.LateProcesses
	y.Evidence = fmt.Sprintf("most in %s, of %s on %s: its members wait %s of %s, longest %s; %s of it for %s", numbers.Clean(worst.Kernel, 60), numbers.Plural(int(worst.Operations), "operation"), numbers.Plural(worst.Devices, "device"),
		f.u.Time(worst.Wait), f.u.Time(worst.Time), f.u.Time(worst.Longest), f.u.Time(worst.ForLate), worst.Late)
	f.add(y, "devices wait for each other in collectives", ": "+y.Evidence)
}

// otherDevice is the activity of a host that waits for another device.
const otherDevice = "other_device"

// kernel names the kernel that takes most time. It is not a loss, but says what the devices do.
func (f *finder) kernel() {
	best, all := longest(f.hot.Profile.Regions, trace.StateKernel.String())
	if best == nil || !f.matters(best.Exclusive) {
		return
	}
	x := Finding{Kind: KindKernel, Basis: "no loss: what devices compute", Query: f.query("profile")}
	f.placeRegion(&x, best)
	x.Evidence = fmt.Sprintf("%s in %s, %s of the time of all kernels", f.u.Time(best.Exclusive), numbers.Plural(int(best.Calls), "call"), numbers.NewRatio(best.Exclusive, all).Percent())
	x.Text = fmt.Sprintf("kernel with most time: %s: %s", x.Where.Region, x.Evidence)
	f.list = append(f.list, x)
}

// longest returns the region of a class with most exclusive time, nil for none, and the exclusive time of all regions of the
// class.
func longest(regions []results.RegionTime, class string) (best *results.RegionTime, all uint64) {
	for i := range regions {
		x := &regions[i]
		if x.Class != class {
			continue
		}
		if all += x.Exclusive; best == nil || x.Exclusive > best.Exclusive {
			best = x
		}
	}
	return best, all
}
