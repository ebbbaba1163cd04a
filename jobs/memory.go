package jobs

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/trace"
)

// Parts of the memory of a rank, in bytes; see docs/memory.md.
const (
	runtimeBytes  = 32 << 20  // Go runtime, buffers of exchange and commit, encoder
	unitBytes     = 40 << 20  // builders, channel entries and decoder of one location
	graphBytes    = 16 << 20  // the same with GraphOnly: builder and decoder
	perEventBytes = 24        // for each event of the largest location: its graph's streams and page tables
	perEventGraph = 16        // the same with GraphOnly: its graph's streams
	lossyBytes    = 32 << 20  // for a lossy graph: gap counts of a rank, of another one and encoded; gap counts by slot; classes
	leastStore    = 16 << 20  // segments
	usualBytes    = 256 << 20 // of a rank without --mem ...
	perEventUsual = 12        // ... and for each of its events
)

// memoryPlan is the least memory of a rank, in bytes, by purpose.
type memoryPlan struct{ runtime, unit, lossy, defs, events, store int64 }

// DefinitionsMemory returns the bytes of memory that definitions take on a rank. They arrive and are written in one piece, while no location
// is in progress: only what that takes beyond the least memory of a location and of segments counts too.
func DefinitionsMemory(d *trace.Definitions) int64 {
	return trace.Memory(d) + max(0, int64(d.BinarySize())-graphBytes-leastStore)
}

// planOf returns the plan for definitions that take defs bytes and a largest location of largest events.
func planOf(defs int64, largest uint64, graphOnly, lossy bool) memoryPlan {
	m := memoryPlan{runtime: runtimeBytes, unit: unitBytes, defs: defs, events: perEventBytes, store: leastStore}
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

// StoreBudget returns how many of the mem bytes of a rank are left for segments. One eighth of what is above the least stays free for
// garbage that is not collected yet. Too little memory is an error.
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

// withClasses returns the budget of segments of an analysis with classes: half of what is above the least one. While classes are looked
// for no location is in progress, so clustering gets the other half and the memory of a location.
func withClasses(store int64) int64 { return min(store, leastStore+(store-leastStore)/2) }

// leastClasses is the least memory of clustering, mostVectors the most that it gets for vectors and messages, in bytes.
const (
	leastClasses = 16 << 20
	mostVectors  = 256 << 20
)

// ShareClasses divides memory of so many bytes: half of it is for distances, a quarter for vectors and messages. The rest is for the
// program, points, merges, and messages between ranks, which are an eighth of those of vectors.
func ShareClasses(o *cluster.Options, bytes int64) {
	bytes = max(bytes, leastClasses)
	o.Distances, o.Memory = bytes/2, min(bytes/4, mostVectors)
}

// usualMemory returns how much of the available memory a rank with so many events uses without --mem. More would not be faster: further
// segments are as fast in files, and to touch memory for the first time costs more than to use it again.
func usualMemory(available int64, events uint64, least int64) int64 {
	return min(available, max(usualBytes+perEventUsual*int64(min(events, 1<<40)), least+usualBytes))
}

// MemoryNeed is what the memory of a rank of an analysis depends on.
type MemoryNeed struct {
	Mem, Store                int64 // MemBytes and StoreBytes of the options
	GraphOnly, Lossy, Classes bool
	Defs, Intervals           int64 // bytes; Defs is DefinitionsMemory
	Size                      *Size
}

// MemoryShare is the memory for parts of a rank's work, in bytes.
type MemoryShare struct {
	Segments int64
	Unit     int64 // a location in load or finish
	Classes  int64 // the search for classes
}

// NextTo returns the memory of segments while no location is in progress and something else takes so many bytes.
func (s *MemoryShare) NextTo(bytes int64) int64 {
	return max(min(s.Segments, s.Segments+s.Unit-bytes), min(s.Segments, leastStore))
}

// Share divides the memory of a rank and limits its heap. Collective.
func (n *MemoryNeed) Share(c mpi.Comm) (s MemoryShare, err error) {
	mem, here := rankMemory(c, n.Mem)
	if n.Mem > 0 && n.Store < 0 {
		if err = Agree(c, around().checkMemory(mem, here)); err != nil {
			return s, err
		}
	}
	plan := planOf(n.Defs, n.Size.Longest, n.GraphOnly, n.Lossy)
	usual := usualMemory(mem, max(n.Size.Events/uint64(c.Size()), n.Size.Longest), plan.total()+n.Intervals)
	if n.Mem == 0 && !n.Classes { // the need of classes is not known yet
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
			s.Segments = withClasses(s.Segments)
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

// perInput is the most bytes of heap for each byte of a small input, heapOfRank the heap of a rank without input.
const (
	perInput   = 12
	heapOfRank = 16 << 20
)

// HugePages asks the system for huge pages for the next usualBytes + more bytes of the heap of each rank, but for no more than so many
// bytes of input, of all ranks, need.
func HugePages(c mpi.Comm, more int64, input uint64) {
	most := perInput * int64(min(input, 1<<40))
	switch size := int64(c.Size()); {
	case mpi.Launched():
		askHugePages(min(usualBytes+more, heapOfRank+most/size))
	case c.Rank() == 0: // for all ranks of this process, few of which use all of usualBytes
		askHugePages(min(usualBytes+more*size, heapOfRank*size+most))
	}
}

// ClassMemory gives clustering the memory of a rank, without the bytes that vectors take already. asked is --mem, 0 for none.
func ClassMemory(c mpi.Comm, o *cluster.Options, asked, vectors int64) {
	mem, _ := rankMemory(c, asked)
	ShareClasses(o, mem-runtimeBytes-vectors)
}

// rankMemory returns the memory of a rank, for 0 its share of the machine, and the number of ranks on the node.
func rankMemory(c mpi.Comm, asked int64) (mem int64, here int) {
	_, here = c.Node()
	if asked == 0 {
		asked = defaultMemory(here)
	}
	return asked, here
}

// Garbage, in percent of live memory (GOGC). A heap of tens of MiB may grow to three times its live memory: otherwise the collector takes
// up to a sixth of the processor time. Once the locations of a larger job are loaded, garbage may only be a quarter: to touch memory for
// the first time costs more than a collection.
const (
	smallInput    = 8 << 20 // bytes, of all ranks
	smallPercent  = 200
	usualPercent  = 100
	loadedPercent = 25
)

// limitHeap tells the collector how much memory the rank may use, unless the user did. Ranks in one process share one limit.
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

// LimitGarbage tells the collector that the locations are loaded, of so many bytes of input.
func LimitGarbage(input uint64) {
	if input > smallInput {
		setGarbage(loadedPercent)
	}
}

// setGarbage sets the garbage that there may be, in percent of live memory, unless the user did.
func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
