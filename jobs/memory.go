package jobs

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
)

// Parts of the memory of a rank, in bytes; see docs/memory.md.
const (
	runtimeBytes  = 32 << 20 // Go runtime, buffers of exchange and commit, encoder
	unitBytes     = 40 << 20 // builders, channel entries and decoder of one location
	graphBytes    = 16 << 20 // builder and decoder of one location whose graph alone is kept
	perEventBytes = 24       // of the largest location: its graph's streams and page tables
	perEventGraph = 16       // its graph's streams alone
	lossyBytes    = 32 << 20 // of a lossy graph: gap counts of a rank, of another one and encoded; gap counts by slot; classes
	leastStore    = 16 << 20
	usualBytes    = 256 << 20 // of a rank that is told nothing
	perEventUsual = 12        // of its events
)

// memoryPlan is the least memory of a rank, in bytes, by what takes it.
type memoryPlan struct{ runtime, unit, lossy, defs, events, store int64 }

// planOf plans for definitions of defs bytes and a largest location of largest
// events.
func planOf(defs int64, largest uint64, graphOnly, lossy bool) memoryPlan {
	m := memoryPlan{runtime: runtimeBytes, unit: unitBytes, defs: 4 * defs, events: perEventBytes, store: leastStore}
	if lossy {
		m.lossy = lossyBytes
	}
	if graphOnly {
		m.unit, m.events = graphBytes, perEventGraph
	}
	m.events *= int64(min(largest, 1<<40))
	return m
}

func (m *memoryPlan) total() int64 { return m.runtime + m.unit + m.lossy + m.defs + m.events + m.store }

// StoreBudget returns what is left for segments of mem bytes per rank, but for an eighth of what is above the least: garbage that the
// collector has not found takes it. Too little memory is an error.
func StoreBudget(mem, defs int64, largest uint64, graphOnly, lossy bool) (int64, error) {
	m := planOf(defs, largest, graphOnly, lossy)
	if mem >= m.total() {
		return m.store + (mem-m.total())/8*7, nil
	}
	advice := "Give --mem more, or run fewer ranks per node"
	if !graphOnly {
		advice += ", or keep the call graph alone with --events none"
	}
	return 0, Fail(ExitResource, fmt.Errorf(
		"memory: %d MiB per rank are allowed, at least %d MiB are needed: %d for the runtime, %d for a location, %d for the bounds of --deviation, %d for the definitions, %d for the %d events of the largest location, %d for segments. %s",
		mem>>20, m.total()>>20+1, m.runtime>>20, m.unit>>20, m.lossy>>20, m.defs>>20, m.events>>20, largest, m.store>>20, advice))
}

// besideClasses returns the budget of segments where classes are looked for: half of what is above the least one. No location is
// in progress then, so the other half comes to what a location takes.
func besideClasses(store int64) int64 { return min(store, leastStore+(store-leastStore)/2) }

// leastClasses is what clustering gets at least, mostVectors what it gets for vectors and messages at most, in bytes.
const (
	leastClasses = 16 << 20
	mostVectors  = 256 << 20
)

// ShareClasses parts memory of so many bytes: half of it is for distances, a quarter for vectors and messages. The rest is for the
// program, points, merges, and messages between ranks, an eighth of those of vectors.
func ShareClasses(o *cluster.Options, bytes int64) {
	bytes = max(bytes, leastClasses)
	o.Distances, o.Memory = bytes/2, min(bytes/4, mostVectors)
}

// usualMemory returns what a rank with so many events takes of the memory that there is for it, when the user does not say: segments
// of more than that are as fast in files, and memory that is touched for the first time costs more than memory used again.
func usualMemory(available int64, events uint64, least int64) int64 {
	return min(available, max(usualBytes+perEventUsual*int64(min(events, 1<<40)), least+usualBytes))
}

// MemoryNeed is what decides what a rank of an analysis takes.
type MemoryNeed struct {
	Mem, Store                int64 // as the options have them
	GraphOnly, Lossy, Classes bool
	Defs, Intervals           int64 // bytes
	Size                      *Size
}

// MemoryShare is what parts of a rank's work may take, in bytes.
type MemoryShare struct {
	Segments int64
	Unit     int64 // a location in load or finish
	Classes  int64 // the search for classes
}

// NextTo returns the memory of segments where no location is in progress, and something else takes so many bytes.
func (s *MemoryShare) NextTo(bytes int64) int64 {
	return max(min(s.Segments, s.Segments+s.Unit-bytes), min(s.Segments, leastStore))
}

// Share parts the memory of a rank and limits its heap. Collective.
func (n *MemoryNeed) Share(c mpi.Comm) (s MemoryShare, err error) {
	mem, here := rankMemory(c, n.Mem)
	if n.Mem > 0 && n.Store < 0 {
		if err = Agree(c, around().checkMemory(mem, here)); err != nil {
			return s, err
		}
	}
	plan := planOf(n.Defs, n.Size.Longest, n.GraphOnly, n.Lossy)
	usual := usualMemory(mem, max(n.Size.Events/uint64(c.Size()), n.Size.Longest), plan.total()+n.Intervals)
	if n.Mem == 0 && !n.Classes { // what classes need is not known before
		mem = usual
	}
	s.Unit = plan.unit + plan.events
	left := mem - n.Intervals
	if s.Segments = n.Store; s.Segments < 0 {
		s.Segments, err = StoreBudget(left, n.Defs, n.Size.Longest, n.GraphOnly, n.Lossy)
		if err != nil && n.Mem == 0 {
			err = fmt.Errorf("%w; the default for --mem is 0.8 of what %s gives", err, around().limit(here).who)
		}
		if n.Classes {
			s.Segments = besideClasses(s.Segments)
		}
	}
	s.Classes = left - plan.runtime - plan.defs - plan.lossy - s.Segments
	if mpi.Launched() {
		here = 1
	}
	limitHeap(mem, here, n.Size.Bytes)
	HugePages(c, usual-usualBytes, n.Size.Bytes)
	return s, Agree(c, err)
}

// perInput is what the heap takes at most of small inputs for a byte of them, heapOfRank for a rank that has none.
const (
	perInput   = 12
	heapOfRank = 16 << 20
)

// HugePages asks the system to give the heap of each rank huge pages for its next usualBytes and so many more, or less, as
// far as it can, but for no more than so many bytes of input of all ranks need.
func HugePages(c mpi.Comm, more int64, input uint64) {
	most := perInput * int64(min(input, 1<<40))
	switch size := int64(c.Size()); {
	case mpi.Launched():
		askHugePages(min(usualBytes+more, heapOfRank+most/size))
	case c.Rank() == 0: // of all in this process, few of which take all of usualBytes
		askHugePages(min(usualBytes+more*size, heapOfRank*size+most))
	}
}

// ClassMemory gives clustering what a rank has, of which so many bytes are asked for and so many are vectors already.
func ClassMemory(c mpi.Comm, o *cluster.Options, asked, vectors int64) {
	mem, _ := rankMemory(c, asked)
	ShareClasses(o, mem-runtimeBytes-vectors)
}

// rankMemory returns the memory of a rank, where 0 is asked for that of the machine, and the number of ranks on the node.
func rankMemory(c mpi.Comm, asked int64) (mem int64, here int) {
	_, here = c.Node()
	if asked == 0 {
		asked = defaultMemory(here)
	}
	return asked, here
}

// Of a job with so little input the heap may grow to three times what is live, below
// its limit: in tens of MiB the collector takes up to a sixth of the processor
// time else, of larger jobs little. Once a larger one has loaded its locations garbage
// may be a quarter of what is live: memory that is touched for the first time costs more
// than a collection.
const (
	smallInput    = 8 << 20 // bytes, of all ranks
	smallPercent  = 200
	usualPercent  = 100
	loadedPercent = 25
)

// limitHeap tells the collector what the rank may use, unless the user did.
// In-process ranks share one limit.
func limitHeap(mem int64, ranksHere int, input uint64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(mem * int64(ranksHere))
	}
	percent := usualPercent
	if input <= smallInput {
		percent = smallPercent
	}
	setGarbage(percent)
}

// LimitGarbage tells the collector that the locations of so much input are loaded.
func LimitGarbage(input uint64) {
	if input > smallInput {
		setGarbage(loadedPercent)
	}
}

// setGarbage says how much garbage there may be, in hundredths of what is live, unless the user did.
func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
