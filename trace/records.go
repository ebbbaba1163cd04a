package trace

// DefKind is the kind of a definition record. The numbers are OTF2's record ids
// of global definitions.
type DefKind uint8

// Definition record kinds.
const (
	DefClockProperties         DefKind = 5
	DefParadigm                DefKind = 6
	DefParadigmProperty        DefKind = 7
	DefIoParadigm              DefKind = 8
	DefString                  DefKind = 10
	DefAttribute               DefKind = 11
	DefSystemTreeNode          DefKind = 12
	DefLocationGroup           DefKind = 13
	DefLocation                DefKind = 14
	DefRegion                  DefKind = 15
	DefCallsite                DefKind = 16
	DefCallpath                DefKind = 17
	DefGroup                   DefKind = 18
	DefMetricMember            DefKind = 19
	DefMetricClass             DefKind = 20
	DefMetricInstance          DefKind = 21
	DefComm                    DefKind = 22
	DefParameter               DefKind = 23
	DefRmaWin                  DefKind = 24
	DefMetricClassRecorder     DefKind = 25
	DefSystemTreeNodeProperty  DefKind = 26
	DefSystemTreeNodeDomain    DefKind = 27
	DefLocationGroupProperty   DefKind = 28
	DefLocationProperty        DefKind = 29
	DefCartDimension           DefKind = 30
	DefCartTopology            DefKind = 31
	DefCartCoordinate          DefKind = 32
	DefSourceCodeLocation      DefKind = 33
	DefCallingContext          DefKind = 34
	DefCallingContextProperty  DefKind = 35
	DefInterruptGenerator      DefKind = 36
	DefIoFileProperty          DefKind = 37
	DefIoRegularFile           DefKind = 38
	DefIoDirectory             DefKind = 39
	DefIoHandle                DefKind = 40
	DefIoPreCreatedHandleState DefKind = 41
	DefCallpathParameter       DefKind = 42
	DefInterComm               DefKind = 43
)

// ClockProperties is the trace clock: resolution in ticks per second, the smallest time (the origin), the length in ticks,
// and the wall-clock time of the origin in ns since 1970.
type ClockProperties struct {
	TimerResolution   uint64
	GlobalOffset      uint64
	TraceLength       uint64
	RealtimeTimestamp uint64
}

// Paradigm declares a parallelisation paradigm.
type Paradigm struct {
	Paradigm ParadigmID
	Name     uint32
	Class    uint8
}

// ParadigmProperty is a property of a paradigm.
type ParadigmProperty struct {
	Paradigm ParadigmID
	Property uint8
	Value    Value
}

// IoParadigm declares an I/O paradigm such as POSIX I/O.
type IoParadigm struct {
	Ref            uint8
	Identification uint32
	Name           uint32
	Class          uint8
	Flags          uint32
	Properties     []IoProperty
}

// String is a string that other definitions refer to.
type String struct {
	Ref   uint32
	Value string
}

// Attribute declares a key of event attribute lists.
type Attribute struct {
	Ref         uint32
	Name        uint32
	Type        ValueType
	Description uint32
}

// SystemTreeNode is a node of the machine: machine, blade, node, socket.
type SystemTreeNode struct {
	Ref    uint32
	Name   uint32
	Class  uint32
	Parent uint32
}

// LocationGroup is a process, or the streams of an accelerator.
type LocationGroup struct {
	Ref     uint32
	Name    uint32
	Type    LocationGroupType
	Parent  uint32
	Creator uint32
}

// Location is a thread, accelerator stream or metric recorder. Events is only a
// hint, and Undefined64 where nobody counted them.
type Location struct {
	Ref    uint64
	Name   uint32
	Type   LocationType
	Events uint64
	Group  uint32
}

// Region is a function, loop or other code region.
type Region struct {
	Ref           uint32
	Name          uint32
	Description   uint32
	LegacyType    uint8
	SourceFile    uint32
	BeginLine     uint32
	EndLine       uint32
	CanonicalName uint32
	Role          RegionRole
	Paradigm      ParadigmID
	Flags         uint32
}

// Callsite is a call site (deprecated).
type Callsite struct {
	Ref           uint32
	SourceFile    uint32
	LineNumber    uint32
	EnteredRegion uint32
	LeftRegion    uint32
}

// Callpath is a call path.
type Callpath struct {
	Ref    uint32
	Parent uint32
	Region uint32
}

// Group is a list of locations, regions, metrics or communicator ranks.
type Group struct {
	Ref        uint32
	Name       uint32
	LegacyType uint8
	Members    []uint64
	Type       GroupType
	Paradigm   ParadigmID
	Flags      uint32
}

// MetricMember is one counter.
type MetricMember struct {
	Ref         uint32
	Name        uint32
	Description uint32
	Type        uint8
	Mode        uint8
	ValueType   ValueType
	Base        uint8
	Exponent    int64
	Unit        uint32
}

// MetricClass is a set of counters recorded together.
type MetricClass struct {
	Ref          uint32
	Members      []uint32
	Occurrence   uint8
	RecorderKind uint8
}

// MetricInstance is a metric class with its scope.
type MetricInstance struct {
	Ref       uint32
	Class     uint32
	Recorder  uint64
	ScopeType uint8
	Scope     uint64
}

// Comm is a communicator over a group.
type Comm struct {
	Ref    uint32
	Name   uint32
	Group  uint32
	Parent uint32
	Flags  uint32
}

// Parameter declares a parameter of a region.
type Parameter struct {
	Ref  uint32
	Name uint32
	Type uint8
}

// RmaWin is a window of remote memory access.
type RmaWin struct {
	Ref   uint32
	Name  uint32
	Comm  uint32
	Flags uint32
}

// MetricClassRecorder names a location that records a metric class.
type MetricClassRecorder struct {
	Metric   uint32
	Recorder uint64
}

// SystemTreeNodeProperty is a property of a system tree node.
type SystemTreeNodeProperty struct {
	Node        uint32
	Name        uint32
	StringValue uint32
	Value       Value
}

// SystemTreeNodeDomain is a domain of a system tree node.
type SystemTreeNodeDomain struct {
	Node   uint32
	Domain uint8
}

// LocationGroupProperty is a property of a location group.
type LocationGroupProperty struct {
	LocationGroup uint32
	Name          uint32
	StringValue   uint32
	Value         Value
}

// Names of the location properties that say why a recording has no MPI_Finalize. Their values are strings.
const (
	PropertyCut        = "coppice: cut"        // the recording ended before the program did
	PropertyUnfinished = "coppice: unfinished" // the program did: DiagUnfinished
)

// CutBy returns the diagnostic that a location property stands for, and false for other properties.
func CutBy(property string) (Code, bool) {
	switch property {
	case PropertyCut:
		return DiagTruncated, true
	case PropertyUnfinished:
		return DiagUnfinished, true
	}
	return 0, false
}

// Names of the properties that tell what processes had of the processors. A value of a property of a location is that of
// the process whose first location it is.
const (
	// PropertyProcessors are the processors that a process may use, a string as Linux writes lists ("0-3,8"); of a system
	// tree node how many processors it has.
	PropertyProcessors = "coppice: processors"
	// PropertyCPUTime is the processor time of the location outside of MPI_Init and MPI_Finalize, in ns.
	PropertyCPUTime = "coppice: cpu time"
	// PropertyDelay is the time between MPI calls in which the location was ready to run and had no processor, in ns.
	PropertyDelay = "coppice: delay"
	// PropertySwitches is how often the location had to leave a processor, outside of MPI_Init and MPI_Finalize.
	PropertySwitches = "coppice: involuntary switches"
)

// LocationProperty is a property of a location.
type LocationProperty struct {
	Location    uint64
	Name        uint32
	StringValue uint32
	Value       Value
}

// CartDimension is a dimension of a Cartesian topology.
type CartDimension struct {
	Ref         uint32
	Name        uint32
	Size        uint32
	Periodicity uint8
}

// CartTopology is a Cartesian topology over a communicator.
type CartTopology struct {
	Ref        uint32
	Name       uint32
	Comm       uint32
	Dimensions []uint32
}

// CartCoordinate is the place of a rank in a topology.
type CartCoordinate struct {
	Topology    uint32
	Rank        uint32
	Coordinates []uint32
}

// SourceCodeLocation is a line of a source file.
type SourceCodeLocation struct {
	Ref        uint32
	File       uint32
	LineNumber uint32
}

// CallingContext is a node of the calling-context tree.
type CallingContext struct {
	Ref                uint32
	Region             uint32
	SourceCodeLocation uint32
	Parent             uint32
}

// CallingContextProperty is a property of a calling context.
type CallingContextProperty struct {
	Context uint32
	Name    uint32
	Value   Value
}

// InterruptGenerator declares a source of samples.
type InterruptGenerator struct {
	Ref      uint32
	Name     uint32
	Mode     uint8
	Base     uint8
	Exponent int64
	Period   uint64
}

// IoFileProperty is a property of a file or directory.
type IoFileProperty struct {
	File  uint32
	Name  uint32
	Value Value
}

// IoRegularFile is a file.
type IoRegularFile struct {
	Ref   uint32
	Name  uint32
	Scope uint32
}

// IoDirectory is a directory.
type IoDirectory struct {
	Ref   uint32
	Name  uint32
	Scope uint32
}

// IoHandle is an open file, directory or device.
type IoHandle struct {
	Ref      uint32
	Name     uint32
	File     uint32
	Paradigm uint8
	Flags    uint32
	Comm     uint32
	Parent   uint32
}

// IoPreCreatedHandleState is the state of a handle that exists from the start.
type IoPreCreatedHandleState struct {
	Handle      uint32
	Mode        uint8
	StatusFlags uint32
}

// CallpathParameter is a parameter value of a call path.
type CallpathParameter struct {
	Callpath  uint32
	Parameter uint32
	Value     Value
}

// InterComm is an inter-communicator between two groups.
type InterComm struct {
	Ref        uint32
	Name       uint32
	GroupA     uint32
	GroupB     uint32
	CommonComm uint32
	Flags      uint32
}
