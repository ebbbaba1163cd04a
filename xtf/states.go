package xtf

import (
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// StateNumbers has the numbers of the format for a state: the columns of trace.States that belong to the file.
type StateNumbers struct {
	Item     Item   // component that has its time, alone or with other states; NumItems: none yet
	Within   Item   // component that this one is a part of; NumItems: none
	Activity uint32 // in CPATH and DELAY
	Critical Item   // component of the critical path in this activity; NumItems: it belongs to no interval
	Share    int    // index in TILE.share
	Flag     uint32 // in CALL, of the outermost calls outside MPI that are in this state; 0: the state is known in another way
	Inside   uint32 // of calls inside such a call, during which it is not in this state; 0: all calls inside belong to the state
}

// States has the numbers of each state.
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

// ClassItems has the components of the time in outermost MPI calls by bit of the class, with the names of their running totals.
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

// AsideItems has the disjoint parts of the time in which a process does not compute. The rest is ItemCPU.
var AsideItems = func() []Item {
	list := []Item{ItemMPI, ItemMarker}
	for _, x := range States {
		if x.Flag != 0 && x.Activity != ActivityCPU && !slices.Contains(list, x.Item) {
			list = append(list, x.Item)
		}
	}
	return list
}()

// Parts has the components that the time of a process consists of. They add up to the time, if the PartsOf each one are subtracted from it.
var Parts = func() (list []Item) {
	for _, x := range States {
		if x.Item != NumItems && !slices.Contains(list, x.Item) {
			list = append(list, x.Item)
		}
	}
	return append(list, ItemMarker)
}()

// PartsOf returns the Parts that are parts of a component.
func PartsOf(i Item) (list []Item) {
	for _, x := range States {
		if x.Within == i && i != NumItems {
			list = append(list, x.Item)
		}
	}
	return list
}

// CriticalOf returns the component of the critical path in an activity; NumItems if there is none.
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

// AsideOf returns the state of an outermost call outside MPI with these flags, the first one if several states have the flag, and StateOwn
// if none has.
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

// InsideOf returns the states that a call with these flags interrupts.
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

// ShareOf returns the index in TILE.share for a class of regions.
func ShareOf(class uint32) int {
	s := trace.StateOfClass(trace.CallClass(class))
	if s == trace.StateP2P && class&ClassStart != 0 {
		return ShareStart
	}
	return States[s].Share
}

// StatesOf returns the states whose time an item has: several for CPU, none if the item is not a state.
func StatesOf(i Item) []trace.State {
	var list []trace.State
	for s, x := range States {
		if x.Item == i {
			list = append(list, trace.State(s))
		}
	}
	return list
}
