package trace

//go:generate go run ../internal/schema definitions

// DefKind is the kind of a definition record. The numbers are OTF2's record ids
// of global definitions.
//
// A kind is a struct here with a line //trace:def ID LIST, where Definitions holds its records in LIST; definitions_gen.go has what follows
// from it. Fields are in the order of the record. Their tags have the name in OTF2's words, the RefKind of a reference or the
// width of a list's length, =VALUE for the default where the record of an older writer ends early, and legacy where Visit calls the
// method of that name after the field when it reads.
type DefKind uint8

// ClockProperties is the trace clock: resolution in ticks per second, the smallest time (the origin), the length in ticks,
// and the wall-clock time of the origin in ns since 1970.
//
//trace:def 5 Clocks
type ClockProperties struct {
	TimerResolution   uint64 `otf2:"timer_resolution"`
	GlobalOffset      uint64 `otf2:"global_offset"`
	TraceLength       uint64 `otf2:"trace_length"`
	RealtimeTimestamp uint64 `otf2:"realtime_timestamp =Undefined64"`
}

// Paradigm declares a parallelisation paradigm.
//
//trace:def 6 Paradigms
type Paradigm struct {
	Paradigm ParadigmID `otf2:"paradigm"`
	Name     uint32     `otf2:"name String"`
	Class    uint8      `otf2:"paradigm_class"`
}

// ParadigmProperty is a property of a paradigm.
//
//trace:def 7 ParadigmProperties
type ParadigmProperty struct {
	Paradigm ParadigmID `otf2:"paradigm"`
	Property uint8      `otf2:"property"`
	Value    Value      `otf2:"value"`
}

// IoParadigm declares an I/O paradigm such as POSIX I/O.
//
//trace:def 8 IoParadigms
type IoParadigm struct {
	Ref            uint8        `otf2:"self"`
	Identification uint32       `otf2:"identification String"`
	Name           uint32       `otf2:"name String"`
	Class          uint8        `otf2:"io_paradigm_class"`
	Flags          uint32       `otf2:"io_paradigm_flags"`
	Properties     []IoProperty `otf2:"number_of_properties"`
}

// String is a string that other definitions refer to.
//
//trace:def 10 Strings
type String struct {
	Ref   uint32 `otf2:"self"`
	Value string `otf2:"string"`
}

// Attribute declares a key of event attribute lists.
//
//trace:def 11 Attributes
type Attribute struct {
	Ref         uint32    `otf2:"self"`
	Name        uint32    `otf2:"name String"`
	Type        ValueType `otf2:"type"`
	Description uint32    `otf2:"description String =Undefined"`
}

// SystemTreeNode is a node of the machine: machine, blade, node, socket.
//
//trace:def 12 SystemTreeNodes
type SystemTreeNode struct {
	Ref    uint32 `otf2:"self"`
	Name   uint32 `otf2:"name String"`
	Class  uint32 `otf2:"class_name String"`
	Parent uint32 `otf2:"parent"`
}

// LocationGroup is a process, or the streams of an accelerator.
//
//trace:def 13 LocationGroups
type LocationGroup struct {
	Ref     uint32            `otf2:"self"`
	Name    uint32            `otf2:"name String"`
	Type    LocationGroupType `otf2:"location_group_type"`
	Parent  uint32            `otf2:"system_tree_parent"`
	Creator uint32            `otf2:"creating_location_group LocationGroup =Undefined"`
}

// Location is a thread, accelerator stream or metric recorder. Events is only a
// hint, and Undefined64 where nobody counted them.
//
//trace:def 14 Locations
type Location struct {
	Ref    uint64       `otf2:"self"`
	Name   uint32       `otf2:"name String"`
	Type   LocationType `otf2:"location_type"`
	Events uint64       `otf2:"number_of_events"`
	Group  uint32       `otf2:"location_group LocationGroup"`
}

// Region is a function, loop or other code region.
//
//trace:def 15 Regions
type Region struct {
	Ref           uint32     `otf2:"self"`
	Name          uint32     `otf2:"name String"`
	Description   uint32     `otf2:"description String"`
	LegacyType    uint8      `otf2:"region_type"`
	SourceFile    uint32     `otf2:"source_file String"`
	BeginLine     uint32     `otf2:"begin_line_number"`
	EndLine       uint32     `otf2:"end_line_number legacy"`
	CanonicalName uint32     `otf2:"canonical_name String"`
	Role          RegionRole `otf2:"region_role"`
	Paradigm      ParadigmID `otf2:"paradigm"`
	Flags         uint32     `otf2:"region_flags"`
}

// Callsite is a call site (deprecated).
//
//trace:def 16 Callsites
type Callsite struct {
	Ref           uint32 `otf2:"self"`
	SourceFile    uint32 `otf2:"source_file String"`
	LineNumber    uint32 `otf2:"line_number"`
	EnteredRegion uint32 `otf2:"entered_region Region"`
	LeftRegion    uint32 `otf2:"left_region Region"`
}

// Callpath is a call path.
//
//trace:def 17 Callpaths
type Callpath struct {
	Ref    uint32 `otf2:"self"`
	Parent uint32 `otf2:"parent"`
	Region uint32 `otf2:"region Region"`
}

// Group is a list of locations, regions, metrics or communicator ranks.
//
//trace:def 18 Groups
type Group struct {
	Ref        uint32     `otf2:"self"`
	Name       uint32     `otf2:"name String"`
	LegacyType uint8      `otf2:"group_type_pre12"`
	Members    []uint64   `otf2:"number_of_members U32 legacy"`
	Type       GroupType  `otf2:"group_type"`
	Paradigm   ParadigmID `otf2:"paradigm"`
	Flags      uint32     `otf2:"group_flags"`
}

// MetricMember is one counter.
//
//trace:def 19 MetricMembers
type MetricMember struct {
	Ref         uint32    `otf2:"self"`
	Name        uint32    `otf2:"name String"`
	Description uint32    `otf2:"description String"`
	Type        uint8     `otf2:"metric_type"`
	Mode        uint8     `otf2:"metric_mode"`
	ValueType   ValueType `otf2:"value_type"`
	Base        uint8     `otf2:"base"`
	Exponent    int64     `otf2:"exponent"`
	Unit        uint32    `otf2:"unit String"`
}

// MetricClass is a set of counters recorded together.
//
//trace:def 20 MetricClasses
type MetricClass struct {
	Ref          uint32   `otf2:"self"`
	Members      []uint32 `otf2:"number_of_metrics U8"`
	Occurrence   uint8    `otf2:"metric_occurrence"`
	RecorderKind uint8    `otf2:"recorder_kind"`
}

// MetricInstance is a metric class with its scope.
//
//trace:def 21 MetricInstances
type MetricInstance struct {
	Ref       uint32 `otf2:"self"`
	Class     uint32 `otf2:"metric_class Metric"`
	Recorder  uint64 `otf2:"recorder Location"`
	ScopeType uint8  `otf2:"metric_scope"`
	Scope     uint64 `otf2:"scope"`
}

// Comm is a communicator over a group.
//
//trace:def 22 Comms
type Comm struct {
	Ref    uint32 `otf2:"self"`
	Name   uint32 `otf2:"name String"`
	Group  uint32 `otf2:"group Group"`
	Parent uint32 `otf2:"parent Comm"`
	Flags  uint32 `otf2:"flags"`
}

// Parameter declares a parameter of a region.
//
//trace:def 23 Parameters
type Parameter struct {
	Ref  uint32 `otf2:"self"`
	Name uint32 `otf2:"name String"`
	Type uint8  `otf2:"parameter_type"`
}

// RmaWin is a window of remote memory access.
//
//trace:def 24 RmaWins
type RmaWin struct {
	Ref   uint32 `otf2:"self"`
	Name  uint32 `otf2:"name String"`
	Comm  uint32 `otf2:"comm Comm"`
	Flags uint32 `otf2:"flags =1"`
}

// MetricClassRecorder names a location that records a metric class.
//
//trace:def 25 MetricClassRecorders
type MetricClassRecorder struct {
	Metric   uint32 `otf2:"metric Metric"`
	Recorder uint64 `otf2:"recorder Location"`
}

// SystemTreeNodeProperty is a property of a system tree node.
//
//trace:def 26 SystemTreeNodeProperties
type SystemTreeNodeProperty struct {
	Node        uint32 `otf2:"system_tree_node"`
	Name        uint32 `otf2:"name String"`
	StringValue uint32 `otf2:"string_value String legacy"`
	Value       Value  `otf2:"value"`
}

// SystemTreeNodeDomain is a domain of a system tree node.
//
//trace:def 27 SystemTreeNodeDomains
type SystemTreeNodeDomain struct {
	Node   uint32 `otf2:"system_tree_node"`
	Domain uint8  `otf2:"system_tree_domain"`
}

// LocationGroupProperty is a property of a location group.
//
//trace:def 28 LocationGroupProperties
type LocationGroupProperty struct {
	LocationGroup uint32 `otf2:"location_group LocationGroup"`
	Name          uint32 `otf2:"name String"`
	StringValue   uint32 `otf2:"string_value String legacy"`
	Value         Value  `otf2:"value"`
}

// Names of the location properties that say why a recording has no MPI_Finalize, or what else is missing. Their values are strings.
const (
	PropertyCut        = "coppice: cut"                 // the recording ended before the program did
	PropertyUnfinished = "coppice: unfinished"          // the program did: DiagUnfinished
	PropertySessions   = "coppice: sessions"            // the program has sessions of MPI: calls outside of MPI_Init and MPI_Finalize are missing
	PropertyReplaced   = "coppice: in place of libgomp" // the runtime of OpenMP that the program ran with
	PropertyWaitsFor   = "coppice: waits for"           // of a thread's location, the lock that it waits for at its end, and who has it
	PropertyUnseen     = "coppice: unrecorded file I/O" // of threads without MPI calls, and of signal handlers
	PropertyPart       = "coppice: part"                // a part of the run is recorded, as was asked for: DiagPart
)

// NotReplaced is the value of PropertyReplaced of a process that ran with libgomp: threads were asked for, and it does not tell what they do.
const NotReplaced = "nothing"

// SessionsAlone is the value of PropertySessions of a program without MPI_Init.
const SessionsAlone = "no call is recorded: MPI begins by MPI_Session_init alone"

// Beginnings of the value of PropertyUnfinished.
const (
	UnfinishedExit   = "exit"       // the process ended itself, by exit or at the end of main; with its status where it is known
	UnfinishedAbort  = "MPI_Abort"  // with its code
	UnfinishedSignal = "signal "    // a signal that the process brought upon itself: see DescribeFatal
	UnfinishedError  = "MPI error " // the handler of an error of MPI ended it: the same
)

// UnfinishedUnknown is its value where the end left no trace in the process.
const UnfinishedUnknown = "ended without a trace of how: by _exit, by a signal such as SIGKILL, SIGTERM or SIGALRM, or by one that the program handles"

// CutBy returns the diagnostic of a location property, and false for other properties.
func CutBy(property string) (Code, bool) {
	switch property {
	case PropertyCut:
		return DiagTruncated, true
	case PropertyUnfinished:
		return DiagUnfinished, true
	case PropertyPart:
		return DiagPart, true
	}
	return 0, false
}

// Names of the properties that tell, as UINT64, when the part of a run begins and ends that is recorded of a process, in ns since the end of
// its MPI_Init. Without the first it begins there, without the second it ends with the program. PropertyNothing tells that nothing is.
const (
	PropertyBegins  = "coppice: recording begins"
	PropertyEnds    = "coppice: recording ends"
	PropertyNothing = "coppice: nothing recorded"
)

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
//
//trace:def 29 LocationProperties
type LocationProperty struct {
	Location    uint64 `otf2:"location Location"`
	Name        uint32 `otf2:"name String"`
	StringValue uint32 `otf2:"string_value String legacy"`
	Value       Value  `otf2:"value"`
}

// CartDimension is a dimension of a Cartesian topology.
//
//trace:def 30 CartDimensions
type CartDimension struct {
	Ref         uint32 `otf2:"self"`
	Name        uint32 `otf2:"name String"`
	Size        uint32 `otf2:"size"`
	Periodicity uint8  `otf2:"cart_periodicity"`
}

// CartTopology is a Cartesian topology over a communicator.
//
//trace:def 31 CartTopologies
type CartTopology struct {
	Ref        uint32   `otf2:"self"`
	Name       uint32   `otf2:"name String"`
	Comm       uint32   `otf2:"communicator Comm"`
	Dimensions []uint32 `otf2:"number_of_dimensions U8"`
}

// CartCoordinate is the place of a rank in a topology.
//
//trace:def 32 CartCoordinates
type CartCoordinate struct {
	Topology    uint32   `otf2:"cart_topology"`
	Rank        uint32   `otf2:"rank"`
	Coordinates []uint32 `otf2:"number_of_dimensions U8"`
}

// SourceCodeLocation is a line of a source file.
//
//trace:def 33 SourceCodeLocations
type SourceCodeLocation struct {
	Ref        uint32 `otf2:"self"`
	File       uint32 `otf2:"file String"`
	LineNumber uint32 `otf2:"line_number"`
}

// CallingContext is a node of the calling-context tree.
//
//trace:def 34 CallingContexts
type CallingContext struct {
	Ref                uint32 `otf2:"self"`
	Region             uint32 `otf2:"region Region"`
	SourceCodeLocation uint32 `otf2:"source_code_location SourceCodeLocation"`
	Parent             uint32 `otf2:"parent CallingContext"`
}

// CallingContextProperty is a property of a calling context.
//
//trace:def 35 CallingContextProperties
type CallingContextProperty struct {
	Context uint32 `otf2:"calling_context CallingContext"`
	Name    uint32 `otf2:"name String"`
	Value   Value  `otf2:"value"`
}

// InterruptGenerator declares a source of samples.
//
//trace:def 36 InterruptGenerators
type InterruptGenerator struct {
	Ref      uint32 `otf2:"self"`
	Name     uint32 `otf2:"name String"`
	Mode     uint8  `otf2:"interrupt_generator_mode"`
	Base     uint8  `otf2:"base"`
	Exponent int64  `otf2:"exponent"`
	Period   uint64 `otf2:"period"`
}

// IoFileProperty is a property of a file or directory.
//
//trace:def 37 IoFileProperties
type IoFileProperty struct {
	File  uint32 `otf2:"io_file IoFile"`
	Name  uint32 `otf2:"name String"`
	Value Value  `otf2:"value"`
}

// IoRegularFile is a file.
//
//trace:def 38 IoRegularFiles
type IoRegularFile struct {
	Ref   uint32 `otf2:"self"`
	Name  uint32 `otf2:"name String"`
	Scope uint32 `otf2:"scope"`
}

// IoDirectory is a directory.
//
//trace:def 39 IoDirectories
type IoDirectory struct {
	Ref   uint32 `otf2:"self"`
	Name  uint32 `otf2:"name String"`
	Scope uint32 `otf2:"scope"`
}

// IoHandle is an open file, directory or device.
//
//trace:def 40 IoHandles
type IoHandle struct {
	Ref      uint32 `otf2:"self"`
	Name     uint32 `otf2:"name String"`
	File     uint32 `otf2:"file IoFile"`
	Paradigm uint8  `otf2:"io_paradigm"`
	Flags    uint32 `otf2:"io_handle_flags"`
	Comm     uint32 `otf2:"comm Comm"`
	Parent   uint32 `otf2:"parent IoHandle"`
}

// IoPreCreatedHandleState is the state of a handle that exists from the start.
//
//trace:def 41 IoPreCreatedHandleStates
type IoPreCreatedHandleState struct {
	Handle      uint32 `otf2:"io_handle IoHandle"`
	Mode        uint8  `otf2:"mode"`
	StatusFlags uint32 `otf2:"status_flags"`
}

// CallpathParameter is a parameter value of a call path.
//
//trace:def 42 CallpathParameters
type CallpathParameter struct {
	Callpath  uint32 `otf2:"callpath"`
	Parameter uint32 `otf2:"parameter Parameter"`
	Value     Value  `otf2:"value"`
}

// InterComm is an inter-communicator between two groups.
//
//trace:def 43 InterComms
type InterComm struct {
	Ref        uint32 `otf2:"self"`
	Name       uint32 `otf2:"name String"`
	GroupA     uint32 `otf2:"group_a Group"`
	GroupB     uint32 `otf2:"group_b Group"`
	CommonComm uint32 `otf2:"common_communicator Comm"`
	Flags      uint32 `otf2:"flags"`
}
