package xtf

import (
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// StateNumbers say where a file has a state: the columns of trace.States that are numbers of the format.
type StateNumbers struct {
	Item     Item   // component that sums it up, alone or with others; NumItems: none yet
	Within   Item   // component of which that one is a part; NumItems: none
	Activity uint32 // of CPATH and DELAY
	Critical Item   // component of the critical path in this activity; NumItems: it is part of no interval
	Share    int    // of TILE
	Flag     uint32 // of CALL: the outermost call outside MPI is in it; 0: it is told in another way
	Inside   uint32 // of calls that it makes, in which it is not; 0: it has all that the outermost call calls
}

// States are the numbers of states, by trace.State.
var States = [trace.NumStates]StateNumbers{
	trace.StateOwn:          {ItemCPU, NumItems, ActivityCPU, ItemCriticalCPU, ShareOwn, 0, 0},
	trace.StateP2P:          {ItemP2P, NumItems, ActivityMPI, ItemCriticalMPI, ShareP2P, 0, 0},
	trace.StateCollective:   {ItemColl, NumItems, ActivityMPI, ItemCriticalMPI, ShareColl, 0, 0},
	trace.StateBarrier:      {ItemBarrier, ItemColl, ActivityMPI, ItemCriticalMPI, ShareBarrier, 0, 0},
	trace.StateMPIIO:        {ItemFileIO, NumItems, ActivityMPI, ItemCriticalMPI, ShareIO, 0, 0},
	trace.StateRMA:          {ItemRMA, NumItems, ActivityMPI, ItemCriticalMPI, ShareRMA, 0, 0},
	trace.StateManagement:   {ItemManagement, NumItems, ActivityMPI, ItemCriticalMPI, ShareOther, 0, 0},
	trace.StateSetup:        {ItemSetup, ItemManagement, ActivityMPI, ItemCriticalMPI, ShareOther, 0, 0},
	trace.StateIO:           {ItemIO, NumItems, ActivityIO, ItemCriticalIO, ShareIO, FlagOutermostIO, 0},
	trace.StateThread:       {ItemCPU, NumItems, ActivityCPU, ItemCriticalCPU, ShareOwn, 0, 0},
	trace.StateThreadWait:   {ItemThreadWait, ItemCPU, ActivityCPU, ItemCriticalCPU, ShareOwn, FlagThreadWait, FlagInThreadWait},
	trace.StateCritical:     {ItemLockWait, NumItems, ActivityLock, ItemCriticalCPU, ShareOwn, FlagOutermostLock, FlagInCritical},
	trace.StateLock:         {ItemLockWait, NumItems, ActivityLock, ItemCriticalCPU, ShareOwn, FlagOutermostLock, 0},
	trace.StateDeviceCall:   {ItemDeviceCall, NumItems, ActivityDeviceCall, ItemCriticalCPU, ShareOwn, FlagOutermostDeviceCall, 0},
	trace.StateLaunch:       {ItemDeviceCall, NumItems, ActivityDeviceCall, ItemCriticalCPU, ShareOwn, FlagOutermostDeviceCall, 0},
	trace.StateTransferCall: {ItemDeviceCall, NumItems, ActivityDeviceCall, ItemCriticalCPU, ShareOwn, FlagOutermostDeviceCall, 0},
	trace.StateDeviceWait:   {ItemDeviceWait, NumItems, ActivityDeviceWait, ItemCriticalCPU, ShareOwn, FlagOutermostDeviceWait, 0},
	trace.StateKernel:       {NumItems, NumItems, ActivityKernel, ItemCriticalCPU, ShareOwn, 0, 0},
	trace.StateTransfer:     {NumItems, NumItems, ActivityTransfer, ItemCriticalCPU, ShareOwn, 0, 0},
	trace.StateDeviceIdle:   {NumItems, NumItems, ActivityDeviceIdle, ItemCriticalCPU, ShareOwn, 0, 0},
	trace.StateOverhead:     {ItemOverhead, NumItems, ActivityOverhead, ItemCriticalCPU, ShareOwn, FlagOutermostOverhead, 0},
	trace.StateBefore:       {NumItems, NumItems, ActivityOutside, NumItems, ShareOwn, 0, 0},
	trace.StateAfter:        {NumItems, NumItems, ActivityOutside, NumItems, ShareOwn, 0, 0},
}

// ClassItems are the components of the time in outermost MPI calls, by bits of their class, with their running totals.
var ClassItems = [...]struct {
	Class uint32
	Item  Item
	sum   string
}{
	{ClassP2P, ItemP2P, "p2p"},
	{ClassStart, ItemStart, "start"},
	{ClassColl, ItemColl, "coll"},
	{ClassNxN, ItemNxN, "nxn"},
	{ClassBarrier, ItemBarrier, "barrier"},
	{ClassMPIIO, ItemFileIO, "mpiio"},
	{ClassRMA, ItemRMA, "rma"},
	{ClassMgmt, ItemManagement, "mgmt"},
	{ClassInit, ItemSetup, "setup"},
}

// AsideItems are the disjoint parts of the time in which the process does not compute: CPU is the rest.
var AsideItems = func() []Item {
	list := []Item{ItemMPI, ItemMarker}
	for _, x := range States {
		if x.Flag != 0 && x.Activity != ActivityCPU && !slices.Contains(list, x.Item) {
			list = append(list, x.Item)
		}
	}
	return list
}()

// Parts are the parts of a process's time: components that do not overlap once the PartsOf each are taken off, and
// that add up to the time then.
var Parts = func() (list []Item) {
	for _, x := range States {
		if x.Item != NumItems && !slices.Contains(list, x.Item) {
			list = append(list, x.Item)
		}
	}
	return append(list, ItemMarker)
}()

// PartsOf are the Parts that are parts of a component.
func PartsOf(i Item) (list []Item) {
	for _, x := range States {
		if x.Within == i && i != NumItems {
			list = append(list, x.Item)
		}
	}
	return list
}

// CriticalOf is the component of the critical path in an activity; NumItems: none.
func CriticalOf(activity uint32) Item {
	for _, x := range States {
		if x.Activity == activity {
			return x.Critical
		}
	}
	if activity == ActivityMarker {
		return ItemCriticalMarker
	}
	return NumItems
}

// AsideOf is the state of an outermost call outside MPI with these flags, or the first one with its flag; StateOwn for none.
func AsideOf(flags uint32) trace.State {
	if flags >= FlagOutermostIO {
		for s, x := range States {
			if flags&x.Flag != 0 {
				return trace.State(s)
			}
		}
	}
	return trace.StateOwn
}

// InsideOf are the states that a call with these flags interrupts.
func InsideOf(flags uint32) (list []trace.State) {
	if flags >= FlagThreadWait {
		for s, x := range States {
			if flags&x.Inside != 0 {
				list = append(list, trace.State(s))
			}
		}
	}
	return list
}

// ShareOf is the index in TILE.share of a class of regions.
func ShareOf(class uint32) int {
	s := trace.StateOfClass(trace.CallClass(class))
	if s == trace.StateP2P && class&ClassStart != 0 {
		return ShareStart
	}
	return States[s].Share
}

// StatesOf are the states that an item sums up by itself: several for CPU, none where it is not a state.
func StatesOf(i Item) []trace.State {
	var list []trace.State
	for s, x := range States {
		if x.Item == i {
			list = append(list, trace.State(s))
		}
	}
	return list
}
