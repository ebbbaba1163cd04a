package tracetest

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Name is one value of an enumeration and its name in the OTF2 documentation.
type Name struct {
	Value uint32
	Name  string
}

// Enum is an enumeration of the OTF2 vocabulary.
type Enum struct {
	flags bool   // values are bits that combine
	Names []Name // in ascending order
}

// Text returns the name of value v, the names of its bits for a set of flags,
// and "INVALID <v>" for values that are not defined.
func (e *Enum) Text(v uint64) string {
	if e.flags && v != 0 {
		return e.bits(v)
	}
	for _, n := range e.Names {
		if uint64(n.Value) == v {
			return n.Name
		}
	}
	return fmt.Sprintf("INVALID <%d>", v)
}

func (e *Enum) bits(v uint64) string {
	var parts []string
	for _, n := range e.Names {
		if b := uint64(n.Value); b != 0 && v&b == b {
			parts = append(parts, n.Name)
			v &^= b
		}
	}
	if v != 0 {
		parts = append(parts, fmt.Sprintf("INVALID <%#x>", v))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Enums are the enumerations, by their names in the OTF2 documentation.
var Enums = map[string]*Enum{
	"Paradigm":           {false, []Name{{0, "UNKNOWN"}, {1, "USER"}, {2, "COMPILER"}, {3, "OPENMP"}, {4, "MPI"}, {5, "CUDA"}, {6, "MEASUREMENT_SYSTEM"}, {7, "PTHREAD"}, {8, "HMPP"}, {9, "OMPSS"}, {10, "HARDWARE"}, {11, "GASPI"}, {12, "UPC"}, {13, "SHMEM"}, {14, "WINTHREAD"}, {15, "QTTHREAD"}, {16, "ACETHREAD"}, {17, "TBBTHREAD"}, {18, "OPENACC"}, {19, "OPENCL"}, {20, "MTAPI"}, {21, "SAMPLING"}, {22, "NONE"}, {23, "HIP"}, {24, "KOKKOS"}}},
	"ParadigmClass":      {false, []Name{{0, "PROCESS"}, {1, "THREAD_FORK_JOIN"}, {2, "THREAD_CREATE_WAIT"}, {3, "ACCELERATOR"}}},
	"ParadigmProperty":   {false, []Name{{0, "COMM_NAME_TEMPLATE"}, {1, "RMA_WIN_NAME_TEMPLATE"}, {2, "RMA_ONLY"}}},
	"LocationGroupType":  {false, []Name{{0, "UNKNOWN"}, {1, "PROCESS"}, {2, "ACCELERATOR"}}},
	"LocationType":       {false, []Name{{0, "UNKNOWN"}, {1, "CPU_THREAD"}, {2, "ACCELERATOR_STREAM"}, {3, "METRIC"}}},
	"RegionRole":         {false, []Name{{0, "UNKNOWN"}, {1, "FUNCTION"}, {2, "WRAPPER"}, {3, "LOOP"}, {4, "CODE"}, {5, "PARALLEL"}, {6, "SECTIONS"}, {7, "SECTION"}, {8, "WORKSHARE"}, {9, "SINGLE"}, {10, "SINGLE_SBLOCK"}, {11, "MASTER"}, {12, "CRITICAL"}, {13, "CRITICAL_SBLOCK"}, {14, "ATOMIC"}, {15, "BARRIER"}, {16, "IMPLICIT_BARRIER"}, {17, "FLUSH"}, {18, "ORDERED"}, {19, "ORDERED_SBLOCK"}, {20, "TASK"}, {21, "TASK_CREATE"}, {22, "TASK_WAIT"}, {23, "COLL_ONE2ALL"}, {24, "COLL_ALL2ONE"}, {25, "COLL_ALL2ALL"}, {26, "COLL_OTHER"}, {27, "FILE_IO"}, {28, "POINT2POINT"}, {29, "RMA"}, {30, "DATA_TRANSFER"}, {31, "ARTIFICIAL"}, {32, "THREAD_CREATE"}, {33, "THREAD_WAIT"}, {34, "TASK_UNTIED"}, {35, "ALLOCATE"}, {36, "DEALLOCATE"}, {37, "REALLOCATE"}, {38, "FILE_IO_METADATA"}}},
	"RegionFlag":         {true, []Name{{0, "NONE"}, {1, "DYNAMIC"}, {2, "PHASE"}}},
	"GroupType":          {false, []Name{{0, "UNKNOWN"}, {1, "LOCATIONS"}, {2, "REGIONS"}, {3, "METRIC"}, {4, "COMM_LOCATIONS"}, {5, "COMM_GROUP"}, {6, "COMM_SELF"}}},
	"GroupFlag":          {true, []Name{{0, "NONE"}, {1, "GLOBAL_MEMBERS"}}},
	"Base":               {false, []Name{{0, "BINARY"}, {1, "DECIMAL"}}},
	"MetricOccurrence":   {false, []Name{{0, "SYNCHRONOUS_STRICT"}, {1, "SYNCHRONOUS"}, {2, "ASYNCHRONOUS"}}},
	"MetricType":         {false, []Name{{0, "OTHER"}, {1, "PAPI"}, {2, "RUSAGE"}, {3, "USER"}}},
	"MetricScope":        {false, []Name{{0, "LOCATION"}, {1, "LOCATION_GROUP"}, {2, "SYSTEM_TREE_NODE"}, {3, "GROUP"}}},
	"RecorderKind":       {false, []Name{{0, "UNKNOWN"}, {1, "ABSTRACT"}, {2, "CPU"}, {3, "GPU"}}},
	"ParameterType":      {false, []Name{{0, "STRING"}, {1, "INT64"}, {2, "UINT64"}}},
	"SystemTreeDomain":   {false, []Name{{0, "MACHINE"}, {1, "SHARED_MEMORY"}, {2, "NUMA"}, {3, "SOCKET"}, {4, "CACHE"}, {5, "CORE"}, {6, "PU"}, {7, "ACCELERATOR_DEVICE"}, {8, "NETWORKING_DEVICE"}}},
	"CartPeriodicity":    {false, []Name{{0, "FALSE"}, {1, "TRUE"}}},
	"InterruptMode":      {false, []Name{{0, "TIME"}, {1, "COUNT"}}},
	"IoParadigmClass":    {false, []Name{{0, "SERIAL"}, {1, "PARALLEL"}}},
	"IoParadigmFlag":     {true, []Name{{0, "NONE"}, {1, "OS"}}},
	"IoParadigmProperty": {false, []Name{{0, "IO_PARADIGM_PROPERTY_VERSION"}}},
	"IoHandleFlag":       {true, []Name{{0, "NONE"}, {1, "PRE_CREATED"}, {2, "ALL_PROXY"}}},
	"IoAccess":           {false, []Name{{0, "READ_ONLY"}, {1, "WRITE_ONLY"}, {2, "READ_WRITE"}, {3, "EXECUTE_ONLY"}, {4, "SEARCH_ONLY"}}},
	"IoStatus":           {true, []Name{{0, "NONE"}, {1, "CLOSE_ON_EXEC"}, {2, "APPEND"}, {4, "NON_BLOCKING"}, {8, "ASYNC"}, {16, "SYNC"}, {32, "DATA_SYNC"}, {64, "AVOID_CACHING"}, {128, "NO_ACCESS_TIME"}, {256, "DELETE_ON_CLOSE"}}},
	"IoCreation":         {true, []Name{{0, "NONE"}, {1, "CREATE"}, {2, "TRUNCATE"}, {4, "DIRECTORY"}, {8, "EXCLUSIVE"}, {16, "NO_CONTROLLING_TERMINAL"}, {32, "NO_FOLLOW"}, {64, "PATH"}, {128, "TEMPORARY_FILE"}, {256, "LARGEFILE"}, {512, "NO_SEEK"}, {1024, "UNIQUE"}}},
	"IoSeek":             {false, []Name{{0, "FROM_START"}, {1, "FROM_CURRENT"}, {2, "FROM_END"}, {3, "DATA"}, {4, "HOLE"}}},
	"IoOperation":        {false, []Name{{0, "READ"}, {1, "WRITE"}, {2, "FLUSH"}}},
	"IoOperationFlag":    {true, []Name{{0, "NONE"}, {1, "NON_BLOCKING"}, {2, "COLLECTIVE"}}},
	"CommFlag":           {true, []Name{{0, "NONE"}, {1, "CREATE_DESTROY_EVENTS"}}},
	"RmaWinFlag":         {true, []Name{{0, "NONE"}, {1, "CREATE_DESTROY_EVENTS"}}},
	"MeasurementMode":    {false, []Name{{1, "ON"}, {2, "OFF"}}},
	"RmaSyncType":        {false, []Name{{0, "MEMORY"}, {1, "NOTIFY_IN"}, {2, "NOTIFY_OUT"}}},
	"RmaSyncLevel":       {true, []Name{{0, "NONE"}, {1, "PROCESS"}, {2, "MEMORY"}}},
	"LockType":           {false, []Name{{0, "EXCLUSIVE"}, {1, "SHARED"}}},
	"RmaAtomic":          {false, []Name{{0, "ACCUMULATE"}, {1, "INCREMENT"}, {2, "TEST_AND_SET"}, {3, "COMPARE_AND_SWAP"}, {4, "SWAP"}, {5, "FETCH_AND_ADD"}, {6, "FETCH_AND_INCREMENT"}, {7, "FETCH_AND_ACCUMULATE"}}},
	"CollectiveOp":       {false, collectives()},
}

func collectives() (list []Name) {
	for op, name := range trace.CollectiveOps {
		list = append(list, Name{uint32(op), name})
	}
	return list
}

// EnumOf returns the enumeration that a field of a record is of, nil for none.
func EnumOf(k trace.Kind, f *trace.Field) *Enum {
	name := fieldEnums[f.Name]
	if k == trace.IoCreateHandle && f.Name == "mode" {
		name = "IoAccess"
	}
	return Enums[name]
}

var fieldEnums = map[string]string{
	"measurement_mode": "MeasurementMode",
	"collective_op":    "CollectiveOp",
	"sync_level":       "RmaSyncLevel",
	"lock_type":        "LockType",
	"sync_type":        "RmaSyncType",
	"type":             "RmaAtomic",
	"model":            "Paradigm",
	"mode":             "IoOperation",
	"creation_flags":   "IoCreation",
	"status_flags":     "IoStatus",
	"whence":           "IoSeek",
	"operation_flags":  "IoOperationFlag",
}
