// Package layers says which package of this module, and of the one in bench, may import which. The table is the whole rule; a test compares it
// with what the go command reports. Imports go to lower layers only, and packages of one layer do not import each
// other: what needs two of them is put together above. A new package gets its line here first.
package layers

// Module is the path of this module; the names in the table are relative to it.
const Module = "github.com/coppice-hpc/coppice"

// Package is one line of the table.
type Package struct {
	Path  string // relative to the module
	Layer int
	// Only, where not nil, names the packages of this module that may be imported at all, tests included.
	Only []string
	// Importers, where not nil, names the packages or families whose code may import this one. The tests of every
	// package may.
	Importers []string
	// Cgo allows C code.
	Cgo bool
	// NoMPI forbids that package mpi is reached, over any number of imports.
	NoMPI bool
}

// nothing is the list of a package that imports no other one of this module.
var nothing = []string{}

// Table holds every package there is, and the families.
var Table = []Package{
	{Path: "trace", Layer: 0},
	{Path: "mpi", Layer: 0, Cgo: true},
	{Path: "internal/column", Layer: 0},
	{Path: "internal/svg", Layer: 0, Only: nothing, NoMPI: true, Importers: []string{"predict", "report", "report/table", "report/predicted", "cmd/coppice", "bench/guide"}},
	{Path: "internal/csvwriter", Layer: 0, Only: nothing, NoMPI: true},
	{Path: "internal/symbols", Layer: 0, Only: nothing, NoMPI: true, Importers: []string{"record"}},
	{Path: "internal/varint", Layer: 0, Only: nothing, NoMPI: true},
	{Path: "internal/exact", Layer: 0, Only: nothing, NoMPI: true},
	{Path: "internal/heap", Layer: 0, Only: nothing, NoMPI: true},
	{Path: "internal/tomltree", Layer: 0, Only: nothing, NoMPI: true, Importers: []string{"predict", "slurm"}},
	{Path: "internal/synthetic/specs", Layer: 0, Only: nothing, NoMPI: true, Importers: nothing},

	{Path: "trace/otf2", Layer: 1, NoMPI: true},
	{Path: "trace/paraver", Layer: 1, NoMPI: true},
	{Path: "trace/recording", Layer: 1, NoMPI: true},
	{Path: "trace/receivelog", Layer: 1, NoMPI: true},
	{Path: "xtf", Layer: 1, NoMPI: true},
	{Path: "ccg", Layer: 1, NoMPI: true},
	{Path: "ccg/graph", Layer: 1, NoMPI: true},
	{Path: "partition", Layer: 1, NoMPI: true},
	{Path: "report/numbers", Layer: 1, Only: []string{"internal/exact", "trace"}, NoMPI: true},
	{Path: "internal/totals", Layer: 1},
	// Runs of programs with known faults: for the demo, for measurements, for tests.
	{Path: "internal/synthetic", Layer: 1, Only: []string{"trace", "internal/synthetic/specs"}, Importers: []string{"cmd/coppice", "bench", "internal/tracetest", "internal/oracle", "internal/jobtest"}},

	// Above its family: tests of what it makes read it.
	{Path: "ccg/build", Layer: 2, NoMPI: true},
	{Path: "stats/interval", Layer: 2, NoMPI: true},
	{Path: "stats/callpath", Layer: 2, NoMPI: true},
	{Path: "stats/match", Layer: 2},
	{Path: "internal/callview", Layer: 2, NoMPI: true},
	{Path: "report/conditions", Layer: 2, Only: []string{"internal/exact", "report/numbers"}, NoMPI: true},
	{Path: "report/table", Layer: 2, Only: []string{"internal/csvwriter", "internal/svg", "report/numbers"}, NoMPI: true},
	// Small traces, and a slow second computation of all that an analysis finds, for tests.
	{Path: "internal/tracetest", Layer: 2, Only: []string{"trace", "internal/synthetic"}, Importers: []string{"bench", "internal/oracle", "internal/jobtest"}},
	// Streams of events.
	{Path: "internal/ccgtest", Layer: 1, Only: []string{"trace"}, NoMPI: true, Importers: nothing},
	// Small files of rows.
	{Path: "internal/xtftest", Layer: 2, Only: []string{"xtf"}, Importers: []string{"bench"}},
	{Path: "internal/oracle", Layer: 3, Only: []string{"trace", "internal/tracetest", "internal/synthetic", "internal/synthetic/specs"}, Importers: nothing},

	{Path: "ccgmerge", Layer: 3},
	{Path: "xtfwriter", Layer: 3},
	{Path: "stats", Layer: 3},
	{Path: "stats/threads", Layer: 3},
	{Path: "stats/waits", Layer: 3},
	{Path: "stats/causes", Layer: 3},
	{Path: "predict", Layer: 3},
	// Below the platforms that describe networks, and the extraction of models.
	{Path: "predict/simnet", Layer: 2},
	{Path: "predict/simnet/network", Layer: 1},
	{Path: "predict/simnet/program", Layer: 0, Only: nothing},
	{Path: "predict/pipeline", Layer: 2},
	{Path: "report/results", Layer: 3, NoMPI: true},

	{Path: "jobs", Layer: 4},
	{Path: "jobs/analyze", Layer: 5},
	// Analyses for the tests of what works with their results.
	{Path: "internal/jobtest", Layer: 6, Importers: nothing},
	{Path: "jobs/archive", Layer: 7},
	{Path: "jobs/levers", Layer: 7},
	{Path: "jobs/prediction", Layer: 7},
	{Path: "report/counters", Layer: 4, NoMPI: true},
	{Path: "report/fileio", Layer: 4, NoMPI: true},
	{Path: "report/lookup", Layer: 4, NoMPI: true},
	{Path: "report/verify", Layer: 4, NoMPI: true},
	{Path: "report/diff", Layer: 4, NoMPI: true},
	{Path: "report/scaling", Layer: 5, NoMPI: true},
	{Path: "report/predicted", Layer: 4, NoMPI: true},
	{Path: "report/findings", Layer: 5, NoMPI: true},
	{Path: "report", Layer: 6, NoMPI: true},
	{Path: "report/export", Layer: 5, NoMPI: true},

	// The viewer shows what reports compute, so it is above them.
	{Path: "view", Layer: 7, NoMPI: true},
	{Path: "slurm", Layer: 6},
	{Path: "record", Layer: 7, NoMPI: true},

	{Path: "internal/capacity", Layer: 5, NoMPI: true, Importers: []string{"cmd/coppice"}},
	{Path: "internal/inspect", Layer: 5, Importers: []string{"cmd/coppice"}},
	{Path: "internal/query", Layer: 6, NoMPI: true, Importers: []string{"cmd/coppice"}},

	{Path: "cmd/coppice", Layer: 8},

	// Not part of the tool: nobody imports these. What is in bench is a module of its own.
	{Path: "bench", Layer: 10},
	{Path: "bench/xtf", Layer: 10},
	{Path: "bench/xtf/records", Layer: 9, Importers: []string{"bench/xtf"}},
	// A headless browser: for the tests of the viewer and for pictures.
	{Path: "bench/browser", Layer: 9, Importers: []string{"bench"}},
	// Programs with known times, for measurements of the network simulator.
	{Path: "bench/predict/workload", Layer: 9, Importers: []string{"bench"}},
	{Path: "bench/firsthour", Layer: 10, Only: []string{"bench/browser"}},
	{Path: "bench/guide", Layer: 10, Only: []string{"internal/svg"}},
	{Path: "internal/layers", Layer: 10, Only: nothing},
	{Path: "internal/schema", Layer: 10, Only: nothing},
	{Path: "scripts/runtests", Layer: 10, Only: nothing},
}

// Families are packages whose parts, the packages below them, belong to them: a part has the layer of its family, the
// head may import its parts, and the parts do not import each other. A family in a family comes before it.
var Families = []string{"ccg", "predict", "bench/xtf", "bench"}

// Dependency is a module from outside, and who may use it.
type Dependency struct {
	Path      string
	Importers []string // nil: every package
	TestOnly  bool
}

// Dependencies holds every module whose packages may be imported. docs/dependencies.md gives the reasons.
var Dependencies = []Dependency{
	{Path: "github.com/ianlancetaylor/demangle", Importers: []string{"internal/symbols"}},
	{Path: "github.com/klauspost/compress"},
	{Path: "golang.org/x/sync"},
	{Path: "github.com/pelletier/go-toml/v2", Importers: []string{"internal/tomltree"}},
	{Path: "github.com/parquet-go/parquet-go", Importers: []string{"report/export"}},
	{Path: "github.com/spf13/cobra", Importers: []string{"cmd/coppice"}},
	{Path: "github.com/spf13/pflag", Importers: []string{"cmd/coppice"}},
	{Path: "github.com/sbromberger/gompi", Importers: []string{"mpi"}},
	{Path: "github.com/google/go-cmp", TestOnly: true},
	{Path: "github.com/chromedp/chromedp", Importers: []string{"bench/browser"}},
	{Path: "github.com/chromedp/cdproto", Importers: []string{"bench/browser"}},
	{Path: "go.etcd.io/bbolt", Importers: []string{"bench/xtf/bbolt"}},
}
