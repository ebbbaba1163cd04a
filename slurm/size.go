package slurm

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// Constants of the formula. Memory is that of a rank.
const (
	// DefaultRate is how many bytes of a trace one rank goes through in a second. One processor took 13 to 25 MB/s of Score-P
	// archives of 2 to 6 MB that hold 12 to 15 bytes an event, and less of denser ones; docs/slurm.md tells more.
	DefaultRate = 10e6
	// DefaultBandwidth is what a parallel file system gives one job, bytes/s.
	DefaultBandwidth = 20e9
	// DefaultGoal is the time that the ranks are chosen for.
	DefaultGoal = 15 * time.Minute

	baseMemory  = 128 << 20 // runtime, MPI library, buffers
	unitMemory  = 256 << 20 // chunk buffers, pages and the graph of the location in progress
	storeMemory = 512 << 20 // segments that stay in memory
	ownShare    = 0.8       // of what the job asks for; the rest is the MPI library's and the page cache's
	nodeShare   = 0.9       // of a node's memory for jobs
	busy        = 0.7       // of the time, with uneven locations and exchange
	uneven      = 1.25      // ranks for each even share of the longest location
	reserve     = 1.5       // of the computed time
	leastTime   = 10 * time.Minute
	startTime   = 5 * time.Minute // of a large job; also the step that times are rounded up to
	mostRanks   = 1 << 24
)

// Work is what a job has to do.
type Work struct {
	Bytes       uint64  // to go through
	Locations   int     // independent parts; 0 is one
	Largest     uint64  // bytes of the largest of them
	Sequential  float64 // share of a location that one rank alone can do, 0 to 1; 0 means 1
	Definitions int64   // bytes in memory on each rank
	Least       int64   // memory of a rank without which the job refuses to start, bytes; 0: not known
	Rate        float64 // bytes/s of a rank; 0 means that of the site, else DefaultRate
	Result      uint64  // bytes of the result; 0: not known
	Segments    uint64  // bytes of its parts before they are one file; 0: as many as the result
	OneRank     bool    // the work cannot be shared out
}

// Bound is a limit of the number of ranks.
type Bound struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
	Why   string `json:"why"`
}

// Size is what a job asks for.
type Size struct {
	Ranks        int           `json:"ranks"`
	Parts        int           `json:"parts"` // independent parts of the work
	Nodes        int           `json:"nodes"` // 0: not known, the cores of a node are not
	RanksPerNode int           `json:"ranks_per_node"`
	Memory       int64         `json:"memory_per_rank"` // bytes of --mem
	Slot         int64         `json:"slot_per_rank"`   // bytes that the job asks for
	Disk         uint64        `json:"disk"`            // bytes next to the input, at most, 0: not known
	Result       uint64        `json:"-"`               // bytes of the result, 0: not known
	Time         time.Duration `json:"-"`
	Computed     time.Duration `json:"-"` // without reserve
	Rate         float64       `json:"bytes_per_second_per_rank"`
	Bounds       []Bound       `json:"bounds"` // of the ranks, in the order of the formula
	Decided      string        `json:"decided"`
	PerNode      string        `json:"ranks_per_node_decided"` // cores, memory, or "" without nodes
	TimeBound    string        `json:"time_decided"`
	MemoryBound  string        `json:"memory_decided"`
	Unfit        string        `json:"unfit,omitempty"` // why the job cannot run there, "": it can
}

// Fit computes what work takes on a site so that it is done within goal, as far as its bounds allow:
//
//	W_cpu = ceil(B / (r goal 0.7))           enough ranks for the goal
//	W_bal = max(1, floor(1.25 B / (s B1)))   more would wait for the longest location
//	W_io  = floor(bandwidth / r)             more would wait for the file system
//	W     = min(W_cpu, W_bal, W_io, P, site's limit), at least 1
//	mem   = max(128 MiB + D + 256 MiB, least) + 512 MiB
//	slot  = mem / 0.8
//	nodes = ceil(W / min(cores, floor(0.9 node / slot)))
//	disk  = 2 S
//	time  = 1.5 max(B/W, s B1)/r + 5 min, rounded up to 5 min, at least 10 min
//
// of B bytes in P locations, the largest with B1, D bytes of definitions, S of the result, r bytes/s a rank and s the part of
// a location that one rank alone can do. Least is what the job itself says it needs; it counts the events of the largest
// location.
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

// alone is what the largest location leaves to one rank, bytes.
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

// ranks chooses the least of the bounds.
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

// SetMemory replaces the memory of a rank. Call Place afterwards.
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

// Place puts the ranks on nodes: on so many, or, with 0, on as few as take them, where the site says what a node is.
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

// perNode returns how many ranks a node takes, 0 where that is not known.
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

// Binary prints bytes in binary units, as memory is sold.
func Binary(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
