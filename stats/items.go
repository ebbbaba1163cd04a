package stats

import "github.com/coppice-hpc/coppice/xtf"

// Vector is the items of one process or location.
type Vector [xtf.NumItems]uint64

// vector returns the items of one location. Times count on the process's first
// location only, see Combine.
func (t *Totals) vector() Vector {
	var v Vector
	v[xtf.ItemMPI] = t.Class[TimeMPI]
	v[xtf.ItemIO] = t.Class[TimeIO]
	v[xtf.ItemP2P] = t.Class[TimeP2P]
	v[xtf.ItemColl] = t.Class[TimeColl]
	v[xtf.ItemNxN] = t.Class[TimeNxN]
	v[xtf.ItemBarrier] = t.Class[TimeBarrier]
	v[xtf.ItemFileIO] = t.Class[TimeFileIO]
	v[xtf.ItemRMA] = t.Class[TimeRMA]
	v[xtf.ItemManagement] = t.Class[TimeManagement]
	v[xtf.ItemComm] = v[xtf.ItemP2P] + v[xtf.ItemColl] + v[xtf.ItemRMA]
	v[xtf.ItemStart] = t.Class[TimeStart]
	v[xtf.ItemEvents] = t.Events
	v[xtf.ItemCalls] = t.Calls
	v[xtf.ItemSends] = t.Sends
	v[xtf.ItemReceives] = t.Receives
	v[xtf.ItemBytesOut] = t.BytesOut
	v[xtf.ItemBytesIn] = t.BytesIn
	v[xtf.ItemCollectives] = t.Collectives
	v[xtf.ItemCollOut] = t.CollOut
	v[xtf.ItemCollIn] = t.CollIn
	v[xtf.ItemFirst], v[xtf.ItemLast] = t.First, t.Last
	if t.Events == 0 {
		v[xtf.ItemFirst] = noTime
	}
	v.setTimes()
	return v
}

// noTime in xtf.ItemFirst stands for no event at all, until normal removes it.
const noTime = 1<<64 - 1

// setTimes derives the time between the first and the last event, and the CPU time.
func (v *Vector) setTimes() {
	v[xtf.ItemTime] = v[xtf.ItemLast] - min(v[xtf.ItemFirst], v[xtf.ItemLast])
	v[xtf.ItemCPU] = v[xtf.ItemTime] - min(v[xtf.ItemTime], v[xtf.ItemMPI]+v[xtf.ItemMarker]+v[xtf.ItemIO])
}

// combine adds another location of the same process: counts and pair values add
// up, the process's time spans both, class times stay those of the first
// location, the one that calls MPI.
func (v *Vector) combine(o *Vector) {
	for i := xtf.ItemSendRecv; i < xtf.ItemFirst; i++ {
		v[i] += o[i]
	}
	v[xtf.ItemFirst], v[xtf.ItemLast] = min(v[xtf.ItemFirst], o[xtf.ItemFirst]), max(v[xtf.ItemLast], o[xtf.ItemLast])
	v.setTimes()
}

// normal returns v with 0 for times that do not exist.
func (v Vector) normal() Vector {
	if v[xtf.ItemFirst] == noTime {
		v[xtf.ItemFirst] = 0
	}
	return v
}
