package slurm

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// Constants of Fit. Memory is that of one rank.
const (
	// DefaultRate is how many bytes of a trace one rank analyses in a second. One processor took 13 to 25 MB/s of Score-P archives of 2 to
	// 6 MB with 12 to 15 bytes an event, less of denser ones; see docs/slurm.md.
	DefaultRate = 10e6
	// DefaultBandwidth is what a parallel file system gives one job, in bytes/s.
	DefaultBandwidth = 20e9
	// DefaultGoal is the time in which the job should be done.
	DefaultGoal = 15 * time.Minute

	baseMemory  = 128 << 20 // runtime, MPI library, buffers
	unitMemory  = 256 << 20 // chunk buffers, pages and the graph of the location in progress
	storeMemory = 512 << 20 // segments kept in memory
	ownShare    = 0.8       // share of requested memory for the job; the rest is for the MPI library and the page cache
	nodeShare   = 0.9       // share of a node's memory for jobs
	busy        = 0.7       // share of time; the rest is lost by uneven locations and communication
	uneven      = 1.25      // factor: ranks may exceed bytes / longest location by it
	reserve     = 1.5       // factor of the computed time
	leastTime   = 10 * time.Minute
	startTime   = 5 * time.Minute // of a large job; times are also rounded up to a multiple of it
	mostRanks   = 1 << 24
)

// Work is the work of a job.
type Work struct {
	Bytes       uint64  // to read
	Locations   int     // independent parts; 0: one
	Largest     uint64  // bytes of the largest part
	Sequential  float64 // share of a location's work that only one rank can do, 0 to 1; 0 means 1
	Definitions int64   // bytes of definitions in the memory of each rank
	Least       int64   // bytes of memory of a rank without which the job refuses to start; 0: not known
	Rate        float64 // bytes/s of a rank; 0: the site's, else DefaultRate
	Result      uint64  // bytes of the result; 0: not known
	Segments    uint64  // bytes of the parts of the result before they are merged into one file; 0: as many as Result
	OneRank     bool    // the work cannot be shared by ranks
}

// Bound is a limit on the number of ranks.
type Bound struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
	Why   string `json:"why"`
}

// Size is what a job requests.
type Size struct {
	Ranks        int           `json:"ranks"`
	Parts        int           `json:"parts"` // independent parts of the work
	Nodes        int           `json:"nodes"` // 0: not known, because the cores of a node are not
	RanksPerNode int           `json:"ranks_per_node"`
	Memory       int64         `json:"memory_per_rank"` // bytes for --mem
	Slot         int64         `json:"slot_per_rank"`   // bytes to request
	Disk         uint64        `json:"disk"`            // most bytes next to the input; 0: not known
	Result       uint64        `json:"-"`               // bytes of the result, 0: not known
	Time         time.Duration `json:"-"`
	Computed     time.Duration `json:"-"` // without the reserve
	Rate         float64       `json:"bytes_per_second_per_rank"`
	Bounds       []Bound       `json:"bounds"` // in the order of Fit's formula
	Decided      string        `json:"decided"`
	PerNode      string        `json:"ranks_per_node_decided"` // what limits it: cores, memory, or "" without nodes
	TimeBound    string        `json:"time_decided"`
	MemoryBound  string        `json:"memory_decided"`
	Unfit        string        `json:"unfit,omitempty"` // why the job cannot run on the site; "": it can
}

// Fit computes the size of a job so that it takes at most goal, as far as its bounds allow:
//
//	W_cpu = ceil(B / (r goal 0.7))           enough ranks for the goal
//	W_bal = max(1, floor(1.25 B / (s B1)))   more ranks would wait for the longest location
//	W_io  = floor(bandwidth / r)             more ranks would wait for the file system
//	W     = min(W_cpu, W_bal, W_io, P, site's limit), at least 1
//	mem   = max(128 MiB + D + 256 MiB, least) + 512 MiB
//	slot  = mem / 0.8
//	nodes = ceil(W / min(cores, floor(0.9 node / slot)))
//	disk  = S + segments
//	time  = 1.5 max(B/W, s B1)/r + 5 min, rounded up to 5 min, at least 10 min
//
// for B bytes in P locations, of which the largest has B1, D bytes of definitions, S bytes of result, r bytes/s of a rank, and s the share
// of a location that only one rank can process. segments is S if it is not known. least is what the job itself requires for the events of
// the largest location.
func Fit(w *Work, site *Site, goal time.Duration) *Size {
	z := &Size{Rate: rateOf(w, site), Parts: max(w.Locations, 1)}
	z.ranks(w, site, goal)
	z.memory(w)
	z.Place(site, 0)
	z.time(w, site)
	if w.Result > 0 {
		z.Result = min(w.Result, math.MaxUint64/2)
		z.Disk = z.Result + min(cmp.Or(w.Segments, z.Result), math.MaxUint64/2)
	}
	return z
}

func rateOf(w *Work, site *Site) float64 {
	switch {
	case w.Rate > 0:
		return w.Rate
	case site.Rate > 0:
		return site.Rate * 1e6
	}
	return DefaultRate
}

// alone returns the bytes of the largest location that only one rank can process.
func (w *Work) alone() float64 {
	s := w.Sequential
	if s <= 0 || s > 1 {
		s = 1
	}
	return s * float64(min(w.Largest, w.Bytes))
}

func bandwidthOf(site *Site) float64 {
	if site.Bandwidth > 0 {
		return site.Bandwidth * 1e9
	}
	return DefaultBandwidth
}

// ranks chooses the smallest bound.
func (z *Size) ranks(w *Work, site *Site, goal time.Duration) {
	bytes := float64(w.Bytes)
	add := func(name string, ranks float64, why string) {
		z.Bounds = append(z.Bounds, Bound{name, int(max(1, min(ranks, mostRanks))), why})
	}
	add("goal", math.Ceil(bytes/(z.Rate*goal.Seconds()*busy)), fmt.Sprintf("done in %s at %s/s a rank", goal, numbers.Bytes(uint64(z.Rate))))
	if alone := w.alone(); alone > 0 {
		add("longest location", math.Floor(uneven*bytes/alone), fmt.Sprintf("more would wait for the longest location: %s", numbers.Bytes(w.Largest)))
	}
	add("file system", math.Floor(bandwidthOf(site)/z.Rate), fmt.Sprintf("%s/s", numbers.Bytes(uint64(bandwidthOf(site)))))
	add("locations", float64(max(w.Locations, 1)), "one rank for each location at most")
	if w.OneRank {
		add("one rank", 1, "this job cannot be shared out")
	}
	if site.MaxRanks > 0 {
		add("site", float64(site.MaxRanks), "max_ranks of the site file")
	}
	z.Ranks, z.Decided = z.Bounds[0].Ranks, z.Bounds[0].Name
	for _, b := range z.Bounds[1:] {
		if b.Ranks < z.Ranks {
			z.Ranks, z.Decided = b.Ranks, b.Name
		}
	}
}

func (z *Size) memory(w *Work) {
	need := int64(baseMemory+unitMemory) + w.Definitions
	z.MemoryBound = "definitions and one location in progress"
	if w.Least > need {
		need, z.MemoryBound = w.Least, "the events of the longest location"
	}
	z.setMemory(need + storeMemory)
}

// SetMemory replaces the memory of a rank, in bytes. Call Place afterwards.
func (z *Size) SetMemory(bytes int64) {
	z.setMemory(bytes)
	z.MemoryBound = "flag --mem"
}

func (z *Size) setMemory(bytes int64) {
	const mib = 1 << 20
	z.Memory = roundUp(bytes, mib)
	z.Slot = roundUp(int64(math.Ceil(float64(z.Memory)/ownShare)), mib)
}

func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }

// Place distributes the ranks over this many nodes; 0: over as few as possible, if the site describes its nodes.
func (z *Size) Place(site *Site, nodes int) {
	z.Nodes, z.RanksPerNode, z.PerNode, z.Unfit = 0, 0, "", ""
	most := z.perNode(site)
	switch {
	case nodes > 0:
		nodes = min(nodes, z.Ranks)
		z.Nodes, z.RanksPerNode, z.PerNode = nodes, (z.Ranks+nodes-1)/nodes, "flag --nodes"
		if most > 0 && z.RanksPerNode > most && z.Unfit == "" {
			z.Unfit = fmt.Sprintf("%d ranks on each of %d nodes, where %d fit", z.RanksPerNode, nodes, most)
		}
	case most > 0:
		z.RanksPerNode = min(most, z.Ranks)
		z.Nodes = (z.Ranks + z.RanksPerNode - 1) / z.RanksPerNode
	}
}

// perNode returns how many ranks fit on a node, 0 if it is not known.
func (z *Size) perNode(site *Site) int {
	if site.Cores == 0 {
		return 0
	}
	z.PerNode = "cores"
	if site.Memory == 0 || z.Slot == 0 {
		return site.Cores
	}
	node := site.Memory * (1 << 30)
	fit := int(min(math.Floor(nodeShare*node/float64(z.Slot)), mostRanks))
	if fit < 1 {
		z.Unfit = fmt.Sprintf("a rank asks for %s, and 0.9 of a node is %s", Binary(z.Slot), Binary(int64(nodeShare*node)))
		fit = 1
	}
	if fit < site.Cores {
		z.PerNode = "memory"
	}
	return min(fit, site.Cores)
}

func (z *Size) time(w *Work, site *Site) {
	share, what := float64(w.Bytes)/float64(z.Ranks), "the share of a rank"
	if alone := w.alone(); alone > share {
		share, what = alone, "the longest location"
	}
	const most = 1e9 // seconds
	seconds := min(share/z.Rate, most)
	z.Computed = time.Duration(seconds * float64(time.Second))
	t := time.Duration(min(reserve*seconds, most)*float64(time.Second)) + startTime
	t = (t + startTime - 1) / startTime * startTime
	if t < leastTime {
		t, what = leastTime, "the least time"
	}
	if site.MaxTime > 0 && t > time.Duration(site.MaxTime)*time.Minute {
		t, what = time.Duration(site.MaxTime)*time.Minute, "max_minutes of the site file"
	}
	z.Time, z.TimeBound = t, what
}

// Binary formats bytes in binary units.
func Binary(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
