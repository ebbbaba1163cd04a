package view

import (
	"encoding/json"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// More answers of the server, in the units of api.go: searches, intervals, the critical path, and sums by process.

// Search is the answer of api/search?q=TEXT&max=M (default 50): regions, intervals, locations whose names contain the
// text, extreme calls ("longest", "longest NAME") and numbers ("rank 17", "#12345" ticks, "1.25s").
type Search struct {
	Query string `json:"query"`
	Hits  []Hit  `json:"hits"`
	More  int    `json:"more"`
}

// Hit is something found. Fields that do not apply are null.
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
	Executions   uint64        `json:"executions"` // most of a process
	Participants uint32        `json:"participants"`
	Begin        uint64        `json:"begin"` // first begin on any process
	End          uint64        `json:"end"`
	Efficiency   numbers.Ratio `json:"efficiency"` // null: undefined
	Lost         json.Number   `json:"lost"`       // ticks of all processes
	Execution    json.Number   `json:"execution"`  // ticks
	MPI          json.Number   `json:"mpi"`
	Wait         json.Number   `json:"wait"`
}

// Interval is the answer of api/interval/{node}?t=..&ranks=..: all characteristics of a node, as the report has them
// (one element of "intervals" of coppice report RUN.xtf intervals --format json). With t at most 1024 executions of
// intervals may begin in the window on the chosen ranks: more is status 400.
type Interval struct {
	Node     uint32          `json:"node"`
	Interval json.RawMessage `json:"interval"`
	Lost     []table.Lost    `json:"lost"`
}

// Executions is the answer of api/executions?node=I&loc=L&t=A..B&max=M (default 500, bound 4096): executions on a
// location that overlap the window, in the order of time. Without node all of them.
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

// Critical is the answer of api/critical?t=A..B&max=M (default 2000, bound 10000): the pieces of the critical path in
// the window by time. If there are more, the longest ones, and Truncated.
type Critical struct {
	Begin     uint64       `json:"begin"`
	End       uint64       `json:"end"`
	Pieces    []Piece      `json:"pieces"`
	Total     uint64       `json:"total"` // pieces in the window, or those seen
	Truncated bool         `json:"truncated"`
	Complete  bool         `json:"complete"` // false: gave up early; Total is a lower bound
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

// Matrix is the answer of api/matrix?cells=N (default and bound 256): who sends how much to whom in the whole run, ranks
// merged. Cells that are 0 are left out.
type Matrix struct {
	Processes int          `json:"processes"`
	Merged    int          `json:"merged"` // processes in a row and column: row i holds [i*merged, (i+1)*merged)
	Cells     int          `json:"cells"`  // rows and columns
	From      []int        `json:"from"`   // of each cell
	To        []int        `json:"to"`
	Messages  []uint64     `json:"messages"`
	Bytes     []uint64     `json:"bytes"`
	Unknown   uint64       `json:"unknown"` // messages whose partner is not known
	Complete  bool         `json:"complete"`
	Lost      []table.Lost `json:"lost"`
}

// Profile is the answer of api/profile?t=A..B&columns=N&exact=1 (columns: default and bound 1000): where the time of the
// ranks goes, ranks merged to columns. Values are ticks, one for each column; exact=1 reads the calls at the borders.
type Profile struct {
	Begin  uint64        `json:"begin"`
	End    uint64        `json:"end"`
	Ranks  string        `json:"ranks"`
	Merged int           `json:"merged"` // processes in a column, the last one may have fewer
	First  []uint32      `json:"first"`  // lowest rank of each column
	Count  []int         `json:"count"`  // processes in it
	Series []Series      `json:"series"` // the components of states (xtf.Parts), each without its parts: they add up to time
	Time   []json.Number `json:"time"`
	Wait   []json.Number `json:"wait"`  // part of the MPI time
	Waits  Bounds        `json:"waits"` // its sum
	Exact  bool          `json:"exact"`
	Lost   []table.Lost  `json:"lost"`
	Cost   Cost          `json:"cost"`
}

// Series is a component by column.
type Series struct {
	Item   string        `json:"item"`
	Class  int           `json:"class"` // of time in tiles, whose colour it has
	Values []json.Number `json:"values"`
	Sum    Bounds        `json:"sum"`
}

// api/arrow?table=NAME&t=A..B&ranks=SET&max=M streams the events that overlap a window as an Arrow IPC stream
// (application/vnd.apache.arrow.stream), as coppice export --to arrow writes it: docs/export.md has the tables and columns.
// More than max rows (default and bound 1000000) are status 400. A stream that breaks off has met damage.

// CounterBins is the answer of api/counter?metric=ID&loc=L&t=A..B&bins=N (default 512): values of a metric on a location.
// Without loc the sum over nothing is not offered: ask for the locations in view. Bins without a reading hold null.
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
	Sampled  bool       `json:"sampled"` // too many: each bin holds a part of its readings
}

// Classes is the answer of api/classes: classes of processes with their dendrograms, as report.Classes.
type Classes struct {
	Options string              `json:"options"`
	Groups  []report.ClassGroup `json:"groups"`
}

// Compare is the answer of api/compare: the predicted run next to the measured one, in seconds as the clocks differ.
type Compare struct {
	Runs []CompareRun `json:"runs"` // measured, predicted
	// Ranks has both runs' time by columns of ranks (at most 1000), in seconds.
	Merged int             `json:"merged"`
	First  []uint32        `json:"first"`
	Series []CompareSeries `json:"series"`
}

// CompareRun is the headline of a run.
type CompareRun struct {
	Name       string        `json:"name"`
	Seconds    *float64      `json:"seconds"` // first to last event; null where the resolution is not known
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
	Item      string    `json:"item"`
	Class     int       `json:"class"` // of time in tiles, whose colour it has; -1: no part of the time next to the others
	Measured  []float64 `json:"measured"`
	Predicted []float64 `json:"predicted"`
}
