package view

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// The answers of the server, endpoint by endpoint.
//
// # Requests
//
// GET and HEAD only. Paths are relative to the page, BASE/ (BASE is "" or --base-path); the page is BASE/, its files are
// BASE/assets/NAME. Endpoints are BASE/api/...; parameters are:
//
//	v=VERSION    Meta.Version. With it an answer is immutable and cached for ever; without it is checked again each
//	             time. Another version than the server's is status 409: reload the page.
//	run=0|1      the run, or the one next to it (Meta.Runs); default 0
//	t=A..B       span [A, B) in ticks, decimal; one of the two may be left out
//	ranks=SET    processes: 0-3,8,16-31:4 or comm:NAME or node:N; default all
//	loc=L        a location by its number, 0 to RunMeta.Locations-1: the row of the timeline
//	n=N          row number, of a call unless said otherwise
//	max=M        limit of a list; each endpoint has a default and a bound
//
// # Units
//
// Times are ticks from the origin of the trace, of RunMeta.Resolution ticks a second; the span of a run may begin
// above 0. They are JSON numbers and exact on the wire. JavaScript reads them exactly below 2^53: where
// RunMeta.ExactTimes is false later times are rounded by it, by less than one part in 2^52. Sums over processes
// may be larger than 2^53 in any run: they are for showing. Identity (of calls, messages, waits) is location and row
// number, both below 2^53 always.
//
// A region is an index into RunMeta.Regions, -1 for none. A location is its number; a process its rank.
// Lists are never null. In texts, such as names of the trace, U+FFFD stands for control characters other than tab and
// newline, for characters that change the direction of text, and for bytes that are not UTF-8.
//
// # Token
//
// The printed URL is BASE/?k=TOKEN. It is answered with the page and a cookie coppice-PORT (the port of the
// request's Host; SameSite=Strict, HttpOnly, Path=BASE/); the page takes k out of its address with
// history.replaceState. Everything else wants the cookie, or "Authorization: Bearer TOKEN" from scripts.
//
// # Errors
//
// Status 4xx and 5xx with an Error as JSON. 400: parameters; 401: no token; 403: Host, Origin; 404: no such path or
// row; 405: method; 409: version; 422: the file does not have it (for example --events none); 500: damage in the
// file; 503: too many requests at a time, with Retry-After.

// Error is the answer of every request that fails.
type Error struct {
	Error Failure `json:"error"`
}

// Failure explains an error: what went wrong, where, why, and what to do.
type Failure struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Why   string `json:"why"`
	Do    string `json:"do"`
}

// Meta is the answer of api/meta: what a client needs first. Its cost depends on the definitions, not on the number of events.
type Meta struct {
	Schema  string            `json:"schema"`  // coppice.view/1
	Version string            `json:"version"` // for v=: of the files and of this interface
	Tool    string            `json:"tool"`    // for v=; changes with the files and with this interface
	Runs    []RunMeta         `json:"runs"`    // the run and, if there is one, the run to compare with
	Classes []string          `json:"classes"` // words of the classes of time, of the states of the first run that are in them: the 8 of tiles in the order of their planes, then kernels, transfers and calls for devices, "" where there are none, which tiles have as own code
	Words   map[string]string `json:"words"`   // of the items of sums and of idle states, by name
	Limits  Limits            `json:"limits"`
}

// Limits are limits of answers.
type Limits struct {
	TileBins    int `json:"tile_bins"`    // 512
	TileRows    int `json:"tile_rows"`    // 64
	TileSpans   int `json:"tile_spans"`   // most calls of a tile that are listed: 4096
	Messages    int `json:"messages"`     // 2000
	Matrix      int `json:"matrix"`       // 256
	Columns     int `json:"columns"`      // 1000: columns of the profile of ranks
	CounterBins int `json:"counter_bins"` // 2048
}

// RunMeta describes one file.
type RunMeta struct {
	Name       string `json:"name"` // of the file
	ID         string `json:"id"`   // 32 hexadecimal digits
	Bytes      int64  `json:"bytes"`
	Resolution uint64 `json:"resolution"` // ticks a second; 0: not known
	First      uint64 `json:"first"`      // first event, ticks
	Last       uint64 `json:"last"`       // last event
	ExactTimes bool   `json:"exact_times"`
	Rows       bool   `json:"rows"`    // there are rows of events; false: analyzed with --events none, most endpoints answer 422
	Partial    bool   `json:"partial"` // damage was found in the input
	Damage     string `json:"damage"`  // described, "" if there is none

	PredictedFrom string `json:"predicted_from"` // ID of the run that this one was predicted from; "": measured

	Processes int    `json:"processes"`
	Locations int    `json:"locations"` // rows of the timeline
	Recorders int    `json:"recorders"` // how many of them record metrics
	Events    uint64 `json:"events"`    // of the input

	// Scale is the exponent of the coarsest bins: a tile of zoom 0 has 512 bins of 2^scale ticks from tick 0 on and contains the whole run.
	// Zoom z has bins of 2^(scale-z) ticks. Scale is also the deepest zoom.
	Scale int `json:"scale"`
	// Groups are the sizes of row groups in the file: 1, 16, 256, 4096, ... locations.
	Groups []int `json:"groups"`

	Regions    []Region   `json:"regions"`
	Counters   []Counter  `json:"counters"`
	Topologies []Topology `json:"topologies"` // the first 8 Cartesian ones
	Intervals  int        `json:"intervals"`  // nodes of the interval tree, the whole program included
	Classes    int        `json:"classes"`    // classes of processes; 0: not computed
	Files      bool       `json:"files"`      // the trace names files or file handles
	Waits      bool       `json:"waits"`      // wait states are known
	Critical   bool       `json:"critical"`   // the critical path is known too
}

// Topology is a Cartesian topology of processes.
type Topology struct {
	Name       string      `json:"name"`
	Dimensions []Dimension `json:"dimensions"`
}

// Dimension is a direction of a topology.
type Dimension struct {
	Name string `json:"name"` // "" if not known
	Size uint32 `json:"size"` // number of coordinates
}

// Region is a function or another part of the program.
type Region struct {
	Ref   uint32 `json:"ref"` // reference in the trace
	Name  string `json:"name"`
	File  string `json:"file"`  // "" if not known
	Line  uint32 `json:"line"`  // 0: not known
	Class int    `json:"class"` // index into Meta.Classes; tiles count classes that they do not have as own code (0)
}

// Counter is a metric.
type Counter struct {
	ID          int    `json:"id"` // for metric=
	Name        string `json:"name"`
	Unit        string `json:"unit"`
	Description string `json:"description"`
	Cumulative  bool   `json:"cumulative"` // values accumulate: draw their slope
	Signed      bool   `json:"signed"`
	Float       bool   `json:"float"`
}

// Locations is the answer of api/locations?from=L&max=M (default and bound 4096): names of rows.
type Locations struct {
	From uint64       `json:"from"`
	List []Location   `json:"list"`
	Lost []table.Lost `json:"lost"` // locations whose first and last event cannot be read
}

// Location is a row of the timeline.
type Location struct {
	Location int        `json:"location"`
	Process  uint32     `json:"process"`
	Thread   uint32     `json:"thread"`
	Name     string     `json:"name"`
	Group    string     `json:"group"` // name of the process
	Node     string     `json:"node"`  // name of the machine, "" if not known
	Type     string     `json:"type"`  // cpu, accelerator, metric, other
	Class    int        `json:"class"` // of its process (api/classes); -1: none, -2: cannot be read
	Events   uint64     `json:"events"`
	Places   [][]uint32 `json:"places"`  // coordinates of its process in each of RunMeta.Topologies; empty: none
	Counter  int        `json:"counter"` // of a recorder of metrics: ID of its first reading's counter; -1: none. Only in api/locations
	First    uint64     `json:"first"`   // tick of the first event; like Last only in api/locations; both 0 if they cannot be read
	Last     uint64     `json:"last"`
}

// A tile, api/tile/{z}/{x}/{rows}, is binary (application/octet-stream), little-endian. rows is "F-I": rows of 16^F
// locations each, tile I holding the rows [64*I, 64*I+64). Tile x of zoom z holds the ticks [x, x+1) * 512 * 2^(scale-z).
// R is the number of rows in it (less than 64 in the last one), B = 512.
//
//	0    magic "CTIL"
//	4    u16 version, 2
//	6    u16 flags: 1 spans follow; 2 bins are exact for every row; 4 waits are known
//	8    u32 R
//	12   u32 S, number of spans
//	16   u32 first location of row 0
//	20   u32 locations in a row, 16^F
//	24   f64 begin of the tile in ticks
//	32   f64 width of a bin in ticks
//	40   u32 locations that could not be read, 20 zero bytes
//	64   bins, plane by plane; in a plane row by row, B values a row:
//	     u32 region[R*B]    region with most exclusive time, 0xFFFFFFFF none; where bins of the pyramid were joined, of the
//	                        one with most time of its class
//	     u8  share[8][R*B]  of the time of all locations in the row, in 1/255, by class of Meta.Classes
//	     u8  wait[R*B]      share in wait states, in 1/255, at least 1 where there is a wait (0 where flag 4 is not set)
//	     u8  calls[R*B]     0: no call begins here; else 1 + floor(log2(number that begin)), 33 at most
//	     u8  flags[R*B]     1 marker calls (known where calls were read); 2 exact: shares and calls are those of this very bin; 4 coarse: copied from the
//	                        bin of the pyramid around it, which is wider: zoom in; 8 the row could not be read
//	     u8  gap[R*B]       share of the time, in 1/255, of processes between the first and the last event of their first thread, in which no call is open: own
//	                        code that the trace has no function of; at least, where a row has other threads or devices too
//	     (R*B is a multiple of 512, so every plane begins at a multiple of 512 after byte 64)
//	then spans, if flag 1, column by column, sorted by row, then begin, outer calls first:
//	     f64 begin[S], f64 end[S]   ticks after the begin of the tile; not clipped: begin may be below 0
//	     f64 n[S]                   row number of the call, for api/at
//	     u32 region[S]
//	     u16 row[S], u16 depth[S]   row of the tile; number of open calls around it
//	     u8  class[S], u8 flags[S]  index into Meta.Classes; 1 outermost MPI, 2 marker, 4 cut: the trace has no end
//
// With spans the tile has at most 4096 of them and they are all calls that are open or begin in it; bins are there too,
// exact, and serve where a span is thinner than a pixel. What shares and gap leave of 255 is idle: not started, ended, or a device
// or thread without work. Cost: 64 descents, then sequential reads.

// Stats is the answer of api/stats?t=A..B&ranks=SET&exact=1: statistics of a window. With exact=1 calls at the borders are read, so all
// bounds become plain numbers, except for those of Bytes in a part of the run. Without exact=0 or 1, up to 256 locations are read exactly.
type Stats struct {
	Ranks     string        `json:"ranks"`
	Begin     uint64        `json:"begin"`
	End       uint64        `json:"end"`
	Processes uint64        `json:"processes"` // alive in the window
	Time      uint64        `json:"time"`      // 100 % of the functions' times: of all locations except recorders of metrics, first to last event
	Exact     bool          `json:"exact"`
	Items     []ItemSum     `json:"items"`     // those that are not 0: time, mpi, cpu, p2p, ... (docs/metrics.md)
	Note      string        `json:"note"`      // what CPU time also includes, "" for nothing
	Functions []FunctionSum `json:"functions"` // by falling exclusive time, at most max (default 200)
	More      int           `json:"more"`      // functions left out
	Lost      []table.Lost  `json:"lost"`      // locations left out
	Cost      Cost          `json:"cost"`
}

// Bounds is a number that is not known exactly. An exact number is a plain JSON number, another {"lower":..,"upper":..,"about":..}; about
// is the best estimate.
type Bounds results.Limits

// MarshalJSON writes a number, or an object with the bounds.
func (b Bounds) MarshalJSON() ([]byte, error) {
	if b.Lower == b.Upper {
		return strconv.AppendUint(nil, b.Lower, 10), nil
	}
	return fmt.Appendf(nil, `{"lower":%d,"upper":%d,"about":%d}`, b.Lower, b.Upper, b.About), nil
}

// ItemSum is a component in the window. The item decides whether it is ticks, calls or bytes.
type ItemSum struct {
	Item string   `json:"item"`
	Unit string   `json:"unit"` // ticks, count, bytes
	Sum  Bounds   `json:"sum"`
	Min  *Extreme `json:"min"` // null in approximate answers
	Max  *Extreme `json:"max"`
}

// Extreme is a value of one process.
type Extreme struct {
	Value uint64 `json:"value"`
	Rank  uint32 `json:"rank"`
}

// FunctionSum is the sum over a region's calls in the window.
type FunctionSum struct {
	Region    int    `json:"region"`
	Name      string `json:"name"`
	Calls     Bounds `json:"calls"` // that begin in the window
	Inclusive Bounds `json:"inclusive"`
	Exclusive Bounds `json:"exclusive"`
	Bytes     Bounds `json:"bytes"` // bounds unless the window is the whole run: the file has them by bins of time
}

// Cost is what an answer needed. The header Server-Timing has its time.
type Cost struct {
	PageReads uint64 `json:"page_reads"`
}

// At is the answer of api/at?loc=L&t=T or api/at?loc=L&n=N (a call; t is then its begin): all about a point of the timeline.
type At struct {
	Location Location    `json:"location"`
	T        uint64      `json:"t"`
	Stack    []Call      `json:"stack"`    // open calls, innermost first, at most 512
	More     int         `json:"more"`     // outer calls left out
	Message  []Message   `json:"messages"` // of the innermost call, at most 64
	Coll     *Collective `json:"collective"`
	IO       *FileOp     `json:"io"`
	Waits    []Wait      `json:"waits"` // open at t, or in the innermost call
	Critical *Piece      `json:"critical"`
	Interval []Execution `json:"intervals"` // open at t, outermost first
	Previous *uint64     `json:"previous"`  // row number of the call that begins before the innermost one; null: none
	Next     *uint64     `json:"next"`
}

// Call is a row of CALL.
type Call struct {
	N         uint64 `json:"n"`
	Begin     uint64 `json:"begin"`
	End       uint64 `json:"end"`
	Exclusive uint64 `json:"exclusive"`
	Region    int    `json:"region"`
	Name      string `json:"name"`
	Depth     uint32 `json:"depth"`
	Class     int    `json:"class"`
	Cut       bool   `json:"cut"`                 // the trace does not have its end
	Estimated bool   `json:"estimated,omitempty"` // estimated from calling contexts
}

// Message is one side of a message and its other side.
type Message struct {
	N        uint64 `json:"n"`    // row in P2P
	Kind     string `json:"kind"` // send or receive
	Location int    `json:"location"`
	Begin    uint64 `json:"begin"`
	End      uint64 `json:"end"`
	Call     uint64 `json:"call"` // row of the call
	Bytes    uint64 `json:"bytes"`
	Tag      uint32 `json:"tag"`
	Comm     string `json:"comm"`
	Peer     int64  `json:"peer"` // rank; -1: not known
	Mate     *Side  `json:"mate"` // null: unmatched
	Wait     *Wait  `json:"wait"`
}

// Side is the place of an event. loc with t or n shows it.
type Side struct {
	Location int     `json:"location"`
	Process  uint32  `json:"process"`
	Begin    uint64  `json:"begin"`
	End      uint64  `json:"end"`
	Call     *uint64 `json:"call"` // row of the call
	Region   int     `json:"region"`
	Name     string  `json:"name"`
}

// Collective is a member of a collective operation.
type Collective struct {
	N          uint64 `json:"n"` // row in COLL
	Name       string `json:"name"`
	Comm       string `json:"comm"`
	Members    int    `json:"members"` // of the communicator, 0: not known
	Root       int64  `json:"root"`    // rank in the world, -1: none
	Ordinal    uint64 `json:"ordinal"` // of the operation on the communicator
	Sent       uint64 `json:"sent"`
	Received   uint64 `json:"received"`
	Begin      uint64 `json:"begin"`
	End        uint64 `json:"end"`
	LastEnter  uint64 `json:"last_enter"`
	FirstLeave uint64 `json:"first_leave"`
	LastLeave  uint64 `json:"last_leave"`
	Last       *Side  `json:"last"` // the member that entered last; null: not known
	Wait       *Wait  `json:"wait"`
}

// FileOp is a file operation of the innermost call.
type FileOp struct {
	Asked uint64 `json:"asked"` // bytes
	Done  uint64 `json:"done"`
	File  string `json:"file"`
	Op    uint32 `json:"op"`
}

// Wait is a wait state and what ended it.
type Wait struct {
	N        uint64   `json:"n"` // row in WAIT
	Location int      `json:"location"`
	Process  uint32   `json:"process"`
	Begin    uint64   `json:"begin"`
	End      uint64   `json:"end"`
	Ticks    uint64   `json:"ticks"`
	Pattern  string   `json:"pattern"` // late_sender, late_receiver, late_progress, wait_barrier, ...
	Order    string   `json:"order"`   // "", same or different: receives in the wrong order
	Launch   string   `json:"launch"`  // "", queued or late: a kernel that a host waits for
	Node     uint32   `json:"node"`    // interval
	Path     []string `json:"path"`    // call path, outermost first
	Region   int      `json:"region"`
	Ended    *Side    `json:"ended"` // call of another process, or kernel, that ended the wait; null: not known
}

// Waits is the answer of api/waits?t=A..B&ranks=SET&max=M&pattern=NAME&exact=1 (default 100, limit 1000): the longest waits of the window,
// longest first. Complete is false if there were too many to look at all.
type Waits struct {
	Begin    uint64       `json:"begin"`
	End      uint64       `json:"end"`
	Ranks    string       `json:"ranks"`
	List     []Wait       `json:"list"`
	Patterns []ItemSum    `json:"patterns"` // sums of the window by pattern, unit ticks
	Complete bool         `json:"complete"` // false: the list is from a part of the waits; the sums are of all
	Seen     uint64       `json:"seen"`     // waits looked at
	Lost     []table.Lost `json:"lost"`
	Cost     Cost         `json:"cost"`
}

// Causes is the answer of api/causes?max=M (default 50, limit 1000): the causes of all waits of the run with their delay costs, highest
// first. It has the lines of the table in coppice report RUN.xtf waits.
type Causes struct {
	List []results.Cause `json:"list"`
	More int             `json:"more"`
}

// NextEvent is the answer of api/next?loc=L&n=N|t=T&kind=K&step=1|-1: the next or previous call on a location, any (kind call, the default)
// or of a region (kind region, region=I). With n the step starts at that row of CALL, with t at that time. k=K instead goes to the K-th
// call of the region on the location, from 1.
type NextEvent struct {
	Found    bool   `json:"found"`
	Side     string `json:"side"` // before or after: where the search ended without a result; beyond: after 2^20 rows, continue from T
	Location int    `json:"location"`
	N        uint64 `json:"n"` // row of CALL
	T        uint64 `json:"t"`
	End      uint64 `json:"end"`
}

// Messages is the answer of api/messages?t=A..B&ranks=SET&max=2000: messages with a side on the processes and in the window, each once; if
// there are too many, their density. With only=late it has the messages that receivers on the processes wait for in the window, longest
// waits first, and no density.
type Messages struct {
	Begin     uint64       `json:"begin"`
	End       uint64       `json:"end"`
	Total     uint64       `json:"total"`     // sends and receives that begin in the window on the chosen processes
	Truncated bool         `json:"truncated"` // the list is empty; see Density
	More      uint64       `json:"more"`      // only=late: messages with shorter waits, left out; at least, if the window has over 2^20 waits
	List      Arrows       `json:"list"`
	Density   Density      `json:"density"`
	Lost      []table.Lost `json:"lost"`
}

// Arrows are messages, one array for each field. The send begins at send_t on location from, the receive ends at recv_t on location to.
type Arrows struct {
	From     []int    `json:"from"`
	To       []int    `json:"to"`
	SendT    []uint64 `json:"send_t"`
	RecvT    []uint64 `json:"recv_t"`
	Bytes    []uint64 `json:"bytes"`
	SendN    []uint64 `json:"send_n"`    // row in P2P of from
	RecvN    []uint64 `json:"recv_n"`    // row in P2P of to
	Wait     []uint64 `json:"wait"`      // ticks that the receiver waited (late sender); 0: it did not
	SendCall []uint64 `json:"send_call"` // row of the call
	RecvCall []uint64 `json:"recv_call"`
}

// Density is the number of sends and receives, and their bytes, in 128 bins of the window.
type Density struct {
	BinTicks float64  `json:"bin_ticks"`
	Count    []uint64 `json:"count"`
	Bytes    []uint64 `json:"bytes"`
	Exact    bool     `json:"exact"`
}

// More answers: searches, intervals, the critical path, and sums by process.

// Search is the answer of api/search?q=TEXT&max=M (default 50): regions, intervals, locations whose names contain the
// text, extreme calls ("longest", "longest NAME") and numbers ("rank 17", "#12345" ticks, "1.25s", "40%" of the run).
type Search struct {
	Query string `json:"query"`
	Hits  []Hit  `json:"hits"`
	More  int    `json:"more"`
}

// Hit is a result of a search. Fields that do not apply are null.
type Hit struct {
	Kind     string  `json:"kind"` // region, interval, location, call, time
	Label    string  `json:"label"`
	Detail   string  `json:"detail"`
	Region   *int    `json:"region"`
	Node     *uint32 `json:"node"`
	Location *int    `json:"location"`
	N        *uint64 `json:"n"`
	Begin    *uint64 `json:"begin"`
	End      *uint64 `json:"end"`
}

// Intervals is the answer of api/intervals: the tree, parents before children, node 0 the whole program.
type Intervals struct {
	Nodes []IntervalNode `json:"nodes"`
	More  int            `json:"more"` // nodes beyond the first 10000
	Lost  []table.Lost   `json:"lost"` // if there are any, POP efficiencies are null
}

// IntervalNode is a node of the interval tree over all processes.
type IntervalNode struct {
	Node         uint32        `json:"node"`
	Parent       uint32        `json:"parent"`
	Level        uint32        `json:"level"`
	Label        string        `json:"label"`
	Name         string        `json:"name"`
	File         string        `json:"file"`
	Line         uint32        `json:"line"`
	Executions   uint64        `json:"executions"` // most of one process
	Participants uint32        `json:"participants"`
	Begin        uint64        `json:"begin"` // first begin on any process
	End          uint64        `json:"end"`
	Efficiency   numbers.Ratio `json:"efficiency"` // null: undefined
	POP          Efficiencies  `json:"pop"`
	Lost         uint64        `json:"lost"`      // ticks of all processes
	Execution    uint64        `json:"execution"` // ticks
	MPI          uint64        `json:"mpi"`
	Wait         uint64        `json:"wait"`
}

// Efficiencies are the POP efficiencies of coppice report RUN.xtf pop; null if not known.
type Efficiencies struct {
	Parallel      numbers.Ratio `json:"parallel"`
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Communication numbers.Ratio `json:"communication"`
	Serialisation numbers.Ratio `json:"serialisation"`
	Transfer      numbers.Ratio `json:"transfer"`
}

// Interval is the answer of api/interval/{node}?t=..&ranks=..: all characteristics of a node (one element of "intervals" in coppice report
// RUN.xtf intervals --format json). With t, at most 1024 executions of intervals may begin in the window on the chosen ranks; else the
// status is 400.
type Interval struct {
	Node     uint32          `json:"node"`
	Interval json.RawMessage `json:"interval"`
	Lost     []table.Lost    `json:"lost"`
}

// Executions is the answer of api/executions?node=I&loc=L&t=A..B&max=M (default 500, limit 4096): executions on a location that overlap the
// window, by time. Without node it has those of all nodes.
type Executions struct {
	List []Execution `json:"list"`
	More bool        `json:"more"`
}

// Execution is one execution of an interval on a location.
type Execution struct {
	N     uint64 `json:"n"` // row in IVAL
	Node  uint32 `json:"node"`
	Label string `json:"label"`
	K     uint64 `json:"k"` // number of the execution, from 0
	Begin uint64 `json:"begin"`
	End   uint64 `json:"end"`
}

// Critical is the answer of api/critical?t=A..B&max=M (default 2000, limit 10000): the pieces of the critical path in the window, by time.
// If there are more, it has the longest ones, and Truncated is set.
type Critical struct {
	Begin     uint64       `json:"begin"`
	End       uint64       `json:"end"`
	Pieces    []Piece      `json:"pieces"`
	Total     uint64       `json:"total"` // pieces in the window, or those seen
	Truncated bool         `json:"truncated"`
	Complete  bool         `json:"complete"` // false: the search ended early; Total is a lower bound
	Lost      []table.Lost `json:"lost"`
}

// Piece is a piece of the critical path.
type Piece struct {
	Location int    `json:"location"`
	Begin    uint64 `json:"begin"`
	End      uint64 `json:"end"`
	Region   int    `json:"region"`
	Activity string `json:"activity"` // a state of the program, or marker or outside
	Node     uint32 `json:"node"`
}

// Matrix is the answer of api/matrix?cells=N (default and limit 256): who sent how much to whom in the whole run, with neighbouring ranks
// merged. Cells with 0 are left out.
type Matrix struct {
	Processes int          `json:"processes"`
	Merged    int          `json:"merged"` // processes in a row or column: row i has [i*merged, (i+1)*merged)
	Cells     int          `json:"cells"`  // rows and columns
	From      []int        `json:"from"`   // of each cell
	To        []int        `json:"to"`
	Messages  []uint64     `json:"messages"`
	Bytes     []uint64     `json:"bytes"`
	Unknown   uint64       `json:"unknown"` // messages whose partner is not known
	Complete  bool         `json:"complete"`
	Lost      []table.Lost `json:"lost"`
}

// Profile is the answer of api/profile?t=A..B&columns=N&exact=1 (default and limit 1000 columns): the time of the ranks, with neighbouring
// ranks merged to columns, in ticks, a value for each column. exact=1 reads the calls at the borders. With item=NAME or region=N it also
// has that item, or the exclusive time of that function on all locations of a rank.
type Profile struct {
	Begin  uint64       `json:"begin"`
	End    uint64       `json:"end"`
	Ranks  string       `json:"ranks"`
	Merged int          `json:"merged"` // processes in a column; the last one may have fewer
	First  []uint32     `json:"first"`  // lowest rank of each column
	Count  []int        `json:"count"`  // processes in it
	Series []Series     `json:"series"` // components of states (xtf.Parts), each without its parts, so that they add up to time
	Time   []uint64     `json:"time"`
	Wait   []uint64     `json:"wait"`   // part of the MPI time
	Waits  Bounds       `json:"waits"`  // sum of Wait
	Unit   string       `json:"unit"`   // of Values: ticks, count, bytes
	Values []uint64     `json:"values"` // of item or region; estimates unless exact
	Exact  bool         `json:"exact"`
	Lost   []table.Lost `json:"lost"`
	Cost   Cost         `json:"cost"`
}

// Series is a component, a value for each column.
type Series struct {
	Item   string   `json:"item"`
	Class  int      `json:"class"` // class of time in tiles with the same colour
	Values []uint64 `json:"values"`
	Sum    Bounds   `json:"sum"`
}

// CallTree is the answer of api/calltree?t=A..B&ranks=SET&max=M (default 500, limit 5000): the call paths with most time in the window,
// depth first, siblings by falling time. It is exact, because it reads all calls. If more than 2^20 calls begin in the window the status is
// 400.
type CallTree struct {
	Begin  uint64       `json:"begin"`
	End    uint64       `json:"end"`
	Ranks  string       `json:"ranks"`
	Merged int          `json:"merged"` // processes in a column of CallNode.By, as in Profile; at most 64 columns
	First  []uint32     `json:"first"`  // lowest rank of each column
	Count  []int        `json:"count"`  // processes in it
	Time   uint64       `json:"time"`   // of the locations, as in Stats
	Nodes  []CallNode   `json:"nodes"`
	More   int          `json:"more"`   // paths with less time, left out
	Folded uint64       `json:"folded"` // calls counted as their caller's own time because there are more than 2^14 paths
	Lost   []table.Lost `json:"lost"`
}

// CallNode is a call path. Times are ticks in the window, summed over all chosen processes.
type CallNode struct {
	Parent    int      `json:"parent"` // index of the caller's path; -1: none
	Depth     int      `json:"depth"`
	Region    int      `json:"region"`
	Name      string   `json:"name"`
	Calls     uint64   `json:"calls"` // that begin in the window, except for those without duration at its begin
	Inclusive uint64   `json:"inclusive"`
	Exclusive uint64   `json:"exclusive"`
	Wait      uint64   `json:"wait"` // in wait states of these calls
	By        []uint64 `json:"by"`   // inclusive, by column
}

// api/arrow?table=NAME&t=A..B&ranks=SET&max=M streams the events that overlap a window as an Arrow IPC stream
// (application/vnd.apache.arrow.stream), as coppice export --to arrow writes it; docs/export.md has tables and columns. More than max rows
// (default and limit 1000000) give status 400. A stream that ends early has met damage.

// CounterBins is the answer of api/counter?metric=ID&loc=L&t=A..B&bins=N (default 512): values of a metric on a location, which must be
// given. Bins without a reading are null.
type CounterBins struct {
	Metric   int        `json:"metric"`
	Location int        `json:"location"`
	Begin    uint64     `json:"begin"`
	BinTicks float64    `json:"bin_ticks"`
	Min      []*float64 `json:"min"`
	Max      []*float64 `json:"max"`
	Mean     []*float64 `json:"mean"` // of the readings
	Last     []*float64 `json:"last"`
	Before   *float64   `json:"before"`  // the reading before the window
	Rows     uint64     `json:"rows"`    // readings in the window
	Sampled  bool       `json:"sampled"` // there were too many: only a part of each bin's readings was used
}

// Files is the answer of api/files?t=A..B&ranks=SET&bins=N&max=M (defaults 256, 6, limits 2048, 64): the files of the window, by falling
// time in operations. Handles of the same file are added up.
type Files struct {
	Begin    uint64       `json:"begin"`
	BinTicks float64      `json:"bin_ticks"`
	List     []FileUse    `json:"list"`
	More     int          `json:"more"`     // files with less time, left out
	Complete bool         `json:"complete"` // false: there are more than 2^20 operations, and only those of the first locations were read
	Lost     []table.Lost `json:"lost"`
}

// FileUse describes the operations on a file in a window.
type FileUse struct {
	Name       string    `json:"name"`       // "" if not known
	Operations uint64    `json:"operations"` // that overlap the window
	Bytes      float64   `json:"bytes"`      // read and written
	Ticks      float64   `json:"ticks"`      // of operations, inside of the window, summed over locations
	Busy       []float64 `json:"busy"`       // operations in progress: average of each bin
}

// Classes is the answer of api/classes: classes of processes with their dendrograms, as report.Classes.
type Classes struct {
	Options string              `json:"options"`
	Groups  []report.ClassGroup `json:"groups"`
}

// Compare is the answer of api/compare: the second run next to the first one, in seconds, because clocks differ.
type Compare struct {
	Runs []CompareRun `json:"runs"` // first, second
	// Ranks has both runs' time by columns of ranks (at most 1000), in seconds.
	Merged int             `json:"merged"`
	First  []uint32        `json:"first"`
	Series []CompareSeries `json:"series"`
}

// CompareRun is the summary of a run.
type CompareRun struct {
	Name       string        `json:"name"`
	Seconds    *float64      `json:"seconds"` // first to last event; null if the resolution is not known
	Processes  int           `json:"processes"`
	Efficiency numbers.Ratio `json:"efficiency"`
	Items      []CompareItem `json:"items"`
}

// CompareItem is a component of the whole program, over all processes.
type CompareItem struct {
	Item    string   `json:"item"`
	Seconds *float64 `json:"seconds"` // sum; null for counts
	Count   *float64 `json:"count"`
}

// CompareSeries is one component by column, of both runs.
type CompareSeries struct {
	Item   string    `json:"item"`
	Class  int       `json:"class"` // class of time in tiles with the same colour; -1: not a part of the time that is shown
	First  []float64 `json:"first"`
	Second []float64 `json:"second"`
}
