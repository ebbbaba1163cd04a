package xtf

//go:generate go run ../internal/schema rows
//go:generate go test -run ^TestDocumentedTypes$ -update

// A row type of version 1 is declared here, as a struct, and nowhere else. rows_gen.go has what follows from it: ids, Put and Load,
// offsets, and the columns that a file describes. A line
//
//	//xtf:row ID NAME ORDER
//
// gives the type its id, TypeNAME, and says whether rows are ordered by T, by a key, or not at all (none). With "offsets" at its end
// there are constants such as CallEnd, to read and fill columns without the rest of the row. Fields are columns in their order, without
// gaps; each element of an array is one. Words of a tag:
//
//	name=parentN                   the name of the column, where it is not that of the field
//	delta minusT minusN minusSpan  the Transform
//	amount                         readers add it up: no more than Most allows
//
// A line //xtf:form CONSTANT gives other structures of fixed size Put, Load and Append, and the constant that is their size.
//
// Types from 32 on live in the region of the whole run. The sums of a type are in registry.go. go generate also writes the table of
// types in docs/format/xtf.md.

// Call is a call: one execution of a region.
//
//xtf:row 1 Call T offsets
type Call struct {
	T         uint64
	End       uint64 `xtf:"minusT"`
	Parent    uint64 `xtf:"name=parentN minusN"`
	Exclusive uint64 `xtf:"minusSpan"`
	Region    uint32
	Depth     uint32 `xtf:"delta"`
	Class     uint32
	Flags     uint32
}

// P2P is one side of a point-to-point message.
//
//xtf:row 2 P2P T offsets
type P2P struct {
	T      uint64
	End    uint64 `xtf:"minusT"`
	Post   uint64 `xtf:"minusT"`
	Done   uint64 `xtf:"minusT"`
	CallN  uint64 `xtf:"delta"`
	MateN  uint64 `xtf:"delta"`
	Seq    uint64 `xtf:"delta"`
	Bytes  uint64
	Region uint32
	Peer   uint32
	Comm   uint32
	Tag    uint32
	Kind   uint32
	MateP  uint32
	MateT  uint64 `xtf:"minusT"`
}

// Coll is one member of a collective operation.
//
//xtf:row 3 Coll T offsets
type Coll struct {
	T          uint64
	End        uint64 `xtf:"minusT"`
	Post       uint64 `xtf:"minusT"`
	CallN      uint64 `xtf:"delta"`
	Sent       uint64
	Received   uint64
	Ordinal    uint64 `xtf:"delta"`
	LastEnter  uint64 `xtf:"minusT"`
	FirstLeave uint64 `xtf:"minusT"`
	LastLeave  uint64 `xtf:"minusT"`
	Region     uint32
	Comm       uint32
	Root       uint32
	Flags      uint32
}

// IO is a file operation.
//
//xtf:row 4 IO T offsets
type IO struct {
	T      uint64
	End    uint64 `xtf:"minusT"`
	CallN  uint64 `xtf:"delta"`
	Asked  uint64
	Done   uint64
	Handle uint32
	Op     uint32
}

// RMA is a one-sided operation.
//
//xtf:row 5 RMA T offsets
type RMA struct {
	T      uint64
	End    uint64 `xtf:"minusT"`
	CallN  uint64 `xtf:"delta"`
	Bytes  uint64
	Window uint32
	Target uint32
	Op     uint32
	Flags  uint32
}

// Metric is one value of a metric.
//
//xtf:row 6 Metric T
type Metric struct {
	T      uint64
	Value  uint64 `xtf:"delta"`
	Metric uint32
	Flags  uint32
}

// Wait is a wait state.
//
//xtf:row 7 Wait T offsets
type Wait struct {
	T       uint64
	End     uint64 `xtf:"minusT"`
	RecN    uint64 `xtf:"delta"`
	CauseP  uint32
	Pattern uint32
	Node    uint32
	Path    uint32
}

// Ival is one execution of an interval.
//
//xtf:row 8 Ival T offsets
type Ival struct {
	T         uint64
	End       uint64 `xtf:"minusT"`
	Execution uint64 `xtf:"delta"`
	Node      uint32
	Flags     uint32
}

// CPath is a piece of the critical path.
//
//xtf:row 9 CPath T
type CPath struct {
	T        uint64
	End      uint64 `xtf:"minusT"`
	Region   uint32
	Activity uint32
	Node     uint32
	Path     uint32
}

// Channel is the entries of one channel in the CHAN array.
//
//xtf:row 10 Channel key
type Channel struct {
	Key       uint64
	Tag       uint32
	Direction uint32
	First     uint64 `xtf:"delta"`
	Count     uint64
	Bytes     uint64 `xtf:"amount"`
}

// Chan is a channel entry: the N of a P2P or COLL row.
//
//xtf:row 11 Chan none
type Chan struct {
	N uint64
}

// Tile is one tile of the picture pyramid.
//
//xtf:row 12 Tile key
type Tile struct {
	Key     uint64
	Share   [8]uint8
	Region  uint32
	Rows    uint32
	Longest uint64 `xtf:"delta"`
}

// TimeBin is calls of one region in one time bin.
//
//xtf:row 13 TimeBin key
type TimeBin struct {
	Key       uint64
	Region    uint32
	Class     uint32
	Count     uint64
	Inclusive uint64 `xtf:"amount"`
	Exclusive uint64 `xtf:"amount"`
	Bytes     uint64 `xtf:"amount"`
}

// Comp is one component of an interval.
//
//xtf:row 14 Comp key
type Comp struct {
	Key   uint64
	Value uint64 `xtf:"amount"`
}

// Delay is a delay cost.
//
//xtf:row 15 Delay key
type Delay struct {
	Key      uint64
	Pattern  uint32
	Activity uint32
	Short    uint64 `xtf:"amount"`
	Long     uint64 `xtf:"amount"`
}

// Diag is a diagnostic.
//
//xtf:row 16 Diag T
type Diag struct {
	T        uint64
	Event    uint64 `xtf:"delta"`
	Count    uint64
	Worst    uint64
	Code     uint32
	Severity uint32
	Detail   uint32
	Zero     uint32
}

// WaitSum is waits of one pattern on one call path of an interval.
//
//xtf:row 17 WaitSum key
type WaitSum struct {
	Key     uint64
	Pattern uint32
	Zero    uint32
	Count   uint64
	Ticks   uint64 `xtf:"amount"`
}

// Interval is a node of the interval tree.
//
//xtf:row 32 Interval key
type Interval struct {
	Key          uint64
	Parent       uint32
	Level        uint32
	Marker       uint64
	Name         uint32
	File         uint32
	Line         uint32
	Form         uint32
	ExeMax       uint64
	ExeMin       uint64
	Participants uint32
	Flags        uint32
	FirstBegin   uint64
	LastEnd      uint64
	SumMax       uint64
}

// Stat is a statistic of a component over processes.
//
//xtf:row 33 Stat key
type Stat struct {
	Key     uint64
	Sum0    uint64 `xtf:"amount"`
	Sum1    uint64
	Square0 uint64
	Square1 uint64
	Square2 uint64
	Min     uint64 `xtf:"amount"`
	Max     uint64 `xtf:"amount"`
	MinP    uint32
	MaxP    uint32
}

// ClassRow is a class of processes.
//
//xtf:row 34 Class key
type ClassRow struct {
	Key            uint64
	Representative uint32
	Members        uint32
	Group          uint32
	Flags          uint32
	Diameter       uint64
}

// Member is the class of a process.
//
//xtf:row 35 Member key
type Member struct {
	Key   uint64
	Class uint32
	Group uint32
}

// Merge is one merge of the dendrogram.
//
//xtf:row 36 Merge key
type Merge struct {
	Key    uint64
	First  uint32
	Second uint32
	Height uint64
}

// Path is a call path.
//
//xtf:row 37 Path key
type Path struct {
	Key    uint64
	Parent uint32
	Region uint32
	Level  uint32
	Zero   uint32
}

// WaitTotal is waits of one pattern on one call path of an interval, of all locations.
//
//xtf:row 38 WaitTotal key
type WaitTotal struct {
	Key     uint64
	Pattern uint32
	WorstP  uint32
	Count   uint64
	Ticks   uint64 `xtf:"amount"`
	Worst   uint64 `xtf:"amount"`
}

// DelayTotal is delay costs on one call path of an interval, of all locations.
//
//xtf:row 39 DelayTotal key
type DelayTotal struct {
	Key      uint64
	Pattern  uint32
	Activity uint32
	Short    uint64 `xtf:"amount"`
	Long     uint64 `xtf:"amount"`
	Worst    uint64 `xtf:"amount"`
	WorstP   uint32
	Zero     uint32
}

// PathTotal is the critical path on one call path of an interval.
//
//xtf:row 40 PathTotal key
type PathTotal struct {
	Key      uint64
	Activity uint32
	WorstP   uint32
	Ticks    uint64 `xtf:"amount"`
	Worst    uint64 `xtf:"amount"`
}

// Group is a set of processes whose MPI calls follow each other in the same order.
//
//xtf:row 41 Group key
type Group struct {
	Key       uint64
	First     uint32
	Processes uint32
	Classes   uint32
	Fraction  uint32
	Entries   uint64
	Threshold uint64
	Rounded   uint64
	Radius    uint64
	Leaders   uint32
	Led       uint32
}

// ClassSum is how much the processes of a class compute.
//
//xtf:row 42 ClassSum key
type ClassSum struct {
	Key   uint64
	First uint32
	Zero  uint32
	Least uint64
	Most  uint64
	Mean  uint64
}

// DirRow is one row of the directory.
//
//xtf:row 63 Directory none
type DirRow struct {
	P           Proc
	Process     uint32 // rank of the process in the world
	Thread      uint32 // ordinal of the location in its process
	Zero        uint32
	HeadOff     uint64 // of the region in the file
	RegionBytes uint64
	HeadLen     uint32
	HeadCRC     uint32
	First       uint64 // T; of rows ordered by T, ends included
	Last        uint64
	Events      uint64 // input events of the location
}
