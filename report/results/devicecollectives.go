package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// DeviceCollectives are kernels by which the devices of a run communicate, such as those of NCCL and RCCL. No record says which
// kernels belong together. So the n-th kernel of a name on a device counts as a member of the n-th operation, if all devices with
// that name have equally many. Nothing is known of other names, and of kernels that send to one device. A member waits from its
// begin to the begin of the last member. If a member ends before that, the order is wrong or clocks differ, and nothing is known
// of the name; except for operations in which a member may be done before others begin.
//
// So this is an estimate, and is only shown next to the rows of a file: several groups of devices with equally many kernels of a
// name look like one group with waits that do not exist. WAIT rows, causes and the critical path are exact, and have only
// collectives of devices with a record.
type DeviceCollectives struct {
	List    []DeviceCollective `json:"list"` // most wait first
	Unknown uint64             `json:"unknown"`
}

// DeviceCollective is the operations of a name. Times are ticks, of all members together.
type DeviceCollective struct {
	Kernel     string `json:"kernel"`
	Devices    int    `json:"devices"`
	Operations uint64 `json:"operations"`
	Time       uint64 `json:"time"`
	Wait       uint64 `json:"wait"`
	Longest    uint64 `json:"longest_wait"` // of a member
	Late       string `json:"late"`         // the device for which others wait most, and for how long
	ForLate    uint64 `json:"wait_for_late"`

	LateProcesses []uint32 `json:"-"` // of the late device
}

// mostDeviceCollectives is the most kernels that are read, 16 bytes each.
const mostDeviceCollectives = 1 << 22

// communication is what the name of a kernel says about it.
type communication uint8

const (
	noCommunication communication = iota
	allWait                       // no member is done before all have begun, as far as is known
	someWait                      // a member may be done before others begin
	pairsWait                     // between two devices
)

// communicationOf reads the name of a kernel.
func communicationOf(name string) communication {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimPrefix(name, "void ")), "(")
	if !slices.ContainsFunc([]string{"ncclkernel", "nccldevkernel", "rcclgenerickernel", "rcclkernel", "mscclkernel"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return noCommunication
	}
	switch {
	case strings.Contains(name, "sendrecv"):
		return pairsWait
	case strings.Contains(name, "broadcast"), strings.Contains(name, "_reduce_"):
		return someWait
	}
	return allWait
}

// collectives finds the collectives of devices; nil where the trace has no such kernels.
func (x *Devices) collectives(r *Run) (*DeviceCollectives, error) {
	kinds := map[uint32]communication{}
	for i := range r.Defs.Regions {
		d := &r.Defs.Regions[i]
		if k := communicationOf(r.Defs.Text(d.Name)); k != noCommunication && r.Defs.StateOf(d) == trace.StateKernel {
			kinds[d.Ref] = k
		}
	}
	if len(kinds) == 0 {
		return nil, nil
	}
	type group struct {
		kind    communication
		kernels uint64
		lists   [][]Span // by device
	}
	out, byName, held := &DeviceCollectives{List: []DeviceCollective{}}, map[string]*group{}, 0
	for i, d := range x.List {
		for _, p := range d.streams {
			calls, err := r.File.Array(xtf.Proc(p), xtf.TypeCall)
			if err != nil {
				return nil, r.Failed(xtf.Proc(p), "calls", err)
			}
			records, err := xtf.ArrayOf[xtf.Coll](r.File, xtf.Proc(p))
			if err != nil {
				return nil, r.Failed(xtf.Proc(p), "collectives", err)
			}
			recorded := xtf.RowsOf[xtf.Coll](records.Rows(0, records.Len()).Only(xtf.CollT))
			recorded.Next()
			rows := calls.Rows(0, calls.Len())
			for rows.Next() {
				row := rows.Row()
				kind, ok := kinds[xtf.U32(row, xtf.CallRegion)]
				for ok && recorded.More && recorded.Row.T < xtf.U64(row, xtf.CallT) {
					recorded.Next()
				}
				if !ok || recorded.More && recorded.Row.T <= xtf.U64(row, xtf.CallEnd) {
					continue
				}
				name := r.RegionName(xtf.U32(row, xtf.CallRegion))
				g := byName[name]
				if g == nil {
					g = &group{kind: kind, lists: make([][]Span, len(x.List))}
					byName[name] = g
				}
				g.kernels++
				if held++; held <= mostDeviceCollectives {
					g.lists[i] = append(g.lists[i], Span{Begin: xtf.U64(row, xtf.CallT), End: xtf.U64(row, xtf.CallEnd)})
				} else {
					g.kind = pairsWait
				}
			}
			if err := cmp.Or(rows.Err(), recorded.Err()); err != nil {
				return nil, r.Failed(xtf.Proc(p), "calls", err)
			}
		}
	}
	for name, g := range byName {
		c := DeviceCollective{Kernel: name}
		if c.join(x.List, g.lists, g.kind) {
			out.List = append(out.List, c)
		} else {
			out.Unknown += g.kernels
		}
	}
	slices.SortFunc(out.List, func(a, b DeviceCollective) int {
		return cmp.Or(cmp.Compare(b.Wait, a.Wait), cmp.Compare(b.Time, a.Time), cmp.Compare(a.Kernel, b.Kernel))
	})
	return out, nil
}

// join joins the kernels of a name, by device. It returns false if it is not known which belong together.
func (x *DeviceCollective) join(devices []*Device, lists [][]Span, kind communication) bool {
	var members []int
	for i, l := range lists {
		if len(l) > 0 {
			members = append(members, i)
			slices.SortStableFunc(l, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
		}
	}
	if kind == pairsWait || len(members) < 2 {
		return false
	}
	x.Devices, x.Operations = len(members), uint64(len(lists[members[0]]))
	for _, i := range members {
		if uint64(len(lists[i])) != x.Operations {
			return false
		}
	}
	caused := make([]uint64, len(lists))
	for n := range x.Operations {
		late := members[0]
		for _, i := range members {
			if lists[i][n].Begin > lists[late][n].Begin {
				late = i
			}
		}
		last := lists[late][n].Begin
		for _, i := range members {
			k := lists[i][n]
			if k.End < last && kind == allWait || k.End < k.Begin {
				return false
			}
			wait := min(last, k.End) - k.Begin
			x.Time, x.Wait, x.Longest = x.Time+k.End-k.Begin, x.Wait+wait, max(x.Longest, wait)
			caused[late] += wait
		}
	}
	late := 0
	for i, w := range caused {
		if w > caused[late] {
			late = i
		}
	}
	if x.ForLate = caused[late]; x.ForLate > 0 {
		x.Late, x.LateProcesses = devices[late].Name, devices[late].Processes
	}
	return true
}
