package trace

import (
	"slices"
	"strings"
)

// State is what a location does at an instant. Every instant of a location has
// exactly one; reports, sums and documents take their words from States.
type State uint8

// States. Numbers are never reused.
const (
	StateOwn State = iota
	StateP2P
	StateCollective
	StateBarrier
	StateMPIIO
	StateRMA
	StateManagement
	StateSetup
	StateIO
	StateThread
	StateLock
	StateDeviceCall
	StateDeviceWait
	StateKernel
	StateTransfer
	StateDeviceIdle
	StateOverhead
	StateBefore
	StateAfter
	NumStates
)

// StateInfo is the row of a state in the table.
type StateInfo struct {
	Name       string // of the component that sums it up, where there is one
	Text       string // for people
	Group      string
	Productive bool
	Told       string // what tells it
}

// Groups of states.
const (
	groupProgram = "program"
	groupMPI     = "MPI"
	groupIO      = "I/O"
	groupThreads = "threads"
	groupDevice  = "device"
	groupMeasure = "measurement"
)

// States is the one table of states, by State.
var States = [NumStates]StateInfo{
	StateOwn:        {"cpu", "own code", groupProgram, true, "whatever nothing below tells; where a trace has MPI calls alone, the time between them"},
	StateP2P:        {"p2p", "point to point", groupMPI, false, "class of the MPI call: its name; its role where the MPI standard does not have the name"},
	StateCollective: {"collective_all", "collective", groupMPI, false, "the same; the component has the barriers too"},
	StateBarrier:    {"barrier", "barrier", groupMPI, false, "the same"},
	StateMPIIO:      {"mpi_io", "MPI-IO", groupMPI, false, "the same"},
	StateRMA:        {"rma", "one-sided", groupMPI, false, "the same"},
	StateManagement: {"mgmt", "MPI management", groupMPI, false, "the same: every other call; the component has set-up and end too"},
	StateSetup:      {"setup", "set-up and end", groupMPI, false, "names: `MPI_Init`, `MPI_Init_thread`, `MPI_Finalize`"},
	StateIO:         {"io", "file I/O", groupIO, false, "roles FILE_IO and FILE_IO_METADATA outside MPI"},
	StateThread:     {"thread_runtime", "thread runtime", groupThreads, false, "OpenMP: roles BARRIER, IMPLICIT_BARRIER, CRITICAL, ORDERED, FLUSH, TASK_CREATE, TASK_WAIT, WRAPPER; any: roles THREAD_CREATE and THREAD_WAIT. Part of `cpu`: the `thread_*` components have what it costs"},
	StateLock:       {"lock_wait", "lock wait", groupThreads, false, "names, where roles do not distinguish: " + quoted(lockCalls)},
	StateDeviceCall: {"device_call", "device call", groupDevice, false, "paradigms CUDA, HIP, OpenCL and OpenACC on the host: launch, transfer call, allocation, the rest"},
	StateDeviceWait: {"device_wait", "device wait", groupDevice, false, "the same paradigms, by name, because one role has waits and others: with `Synchronize`, " + quoted(deviceWaits)},
	StateKernel:     {"kernel", "kernel", groupDevice, true, "the same paradigms: role 40 (kernel), or role FUNCTION and no name of the programming interface"},
	StateTransfer:   {"transfer", "transfer", groupDevice, false, "the same paradigms: role DATA_TRANSFER"},
	StateDeviceIdle: {"device_idle", "device idle", groupDevice, false, "locations of type ACCELERATOR_STREAM outside of kernels and transfers"},
	StateOverhead:   {"overhead", "measurement overhead", groupMeasure, false, "paradigm MEASUREMENT_SYSTEM and role CODE; role ARTIFICIAL by name: " + quoted(overheadRegions) + "; records: from BufferFlush to its stop time, from MeasurementOnOff off to on"},
	StateBefore:     {"before", "before the first event", groupMeasure, false, "no record of the location yet"},
	StateAfter:      {"after", "after the last event", groupMeasure, false, "no record of the location any more"},
}

// String returns the state's name.
func (s State) String() string {
	if s < NumStates {
		return States[s].Name
	}
	return "unknown"
}

// Names in lower case, where role and paradigm do not distinguish.
var (
	lockCalls = []string{
		"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_spin_lock",
		"pthread_cond_wait", "pthread_cond_timedwait", "omp_set_lock", "omp_set_nest_lock",
	}
	deviceWaits     = []string{"clfinish", "clwaitforevents", "acc_wait"}
	overheadRegions = []string{"trace buffer flush", "measurement off", "flush"}
	deviceCalls     = []string{"cuda", "__cuda", "hip", "__hip", "acc_"} // beginnings; cuXxx and clXxx beside them
)

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// StateOf returns the state in a region, StateOwn for the program's own code.
// Role and paradigm decide; names do where these do not distinguish.
func (d *Definitions) StateOf(r *Region) State {
	class := d.Class(r)
	switch {
	case class&ClassMPI != 0:
		return mpiState(class)
	case class&ClassIO != 0:
		return StateIO
	}
	switch r.Paradigm {
	case ParadigmCUDA, ParadigmHIP, ParadigmOpenCL, ParadigmOpenACC:
		return deviceState(r, d.Text(r.Name))
	case ParadigmMeasurement:
		if r.Role == RoleCode {
			return StateOverhead
		}
	}
	switch name := strings.ToLower(d.Text(r.Name)); {
	case r.Role == RoleArtificial && slices.Contains(overheadRegions, name):
		return StateOverhead
	case (r.Paradigm == ParadigmPthread || r.Paradigm == ParadigmOpenMP || r.Paradigm == ParadigmUnknown) && slices.Contains(lockCalls, name):
		return StateLock
	}
	return threadState(r)
}

func mpiState(class CallClass) State {
	switch {
	case class&ClassInit != 0:
		return StateSetup
	case class&ClassBarrier != 0:
		return StateBarrier
	case class&ClassP2P != 0:
		return StateP2P
	case class&ClassColl != 0:
		return StateCollective
	case class&ClassFileIO != 0:
		return StateMPIIO
	case class&ClassRMA != 0:
		return StateRMA
	}
	return StateManagement
}

func deviceState(r *Region, text string) State {
	name := strings.ToLower(text)
	switch {
	case r.Role == RoleKernel, r.Role == RoleFunction && !isDeviceCall(text):
		return StateKernel
	case r.Role == RoleDataTransfer:
		return StateTransfer
	case strings.Contains(name, "synchronize"):
		return StateDeviceWait
	}
	name, _, _ = strings.Cut(name, "@") // of OpenACC, with its place
	if slices.Contains(deviceWaits, strings.TrimSpace(name)) {
		return StateDeviceWait
	}
	return StateDeviceCall
}

// isDeviceCall says whether a name is one of a programming interface of devices.
func isDeviceCall(name string) bool {
	for _, begin := range deviceCalls {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	short := strings.HasPrefix(name, "cu") || strings.HasPrefix(name, "cl")
	return short && len(name) > 2 && 'A' <= name[2] && name[2] <= 'Z'
}

func threadState(r *Region) State {
	switch r.Role {
	case RoleThreadCreate, RoleThreadWait:
		return StateThread
	}
	if r.Paradigm != ParadigmOpenMP {
		return StateOwn
	}
	switch r.Role {
	case RoleBarrier, RoleImplicitBarrier, RoleCritical, RoleOrdered, RoleFlush, RoleTaskCreate, RoleTaskWait, RoleWrapper:
		return StateThread
	}
	return StateOwn
}
