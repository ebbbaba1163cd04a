// Package xtf is the container of an analysed run: typed arrays of fixed-width
// rows, one region per location, each array a counted B+tree over time and row
// number. It holds the format, the building of arrays, the composition of
// regions, the reader with search, size and next, and the checker.
// It never imports mpi; package xtfwriter puts the regions of all ranks into
// one shared file.
//
// # Model
//
// P is the ordinal of a location in (process, thread) order; WholeRun is the
// region of results about all of them. An array is (type, P): rows ordered by T
// (ticks from the trace origin), by another u64 key, or by position alone. N is
// the row's number. Rows with equal T keep producer order, so (T, N) is strict.
//
//	0      superblock, in 4096 zeroed bytes, written last
//	4096   region P = 0: head | arrays by ascending type | blobs
//	...    regions in ascending P, then the whole-run region
//	       definitions | types | provenance | CCG | directory | footer
//
// A region holds offsets relative to itself only, so it is composed and
// check-summed before anyone knows where it lands; its bytes are a function of
// its rows. The layout of every structure is in docs/format/xtf.md.
//
// # Invariants
//
//   - A logical page holds exactly Z rows, the last one of an array fewer:
//     page = n/Z, slot = n%Z, whatever the stored size.
//   - A file is immutable: committed once, superblock last. What opens is
//     complete, or Open says ErrNotCommitted, ErrNotXTF, ErrVersion or ErrCorrupt.
//   - Everything read is hostile: lengths are bounded before memory is taken.
//
// # Units and memory
//
// T and End are ticks, sizes are bytes, N counts rows. An ArrayBuilder holds
// (pinned + 1) * Z * R bytes, or a limited number of pages once it may spill
// pinned ones, plus at most 64 + 32*sums bytes for each finished page; an
// Encoder about 2 MiB and up to 16 pages of builders that finished. A File holds
// its cache budget plus one page per goroutine that is reading, and 8 bytes for
// each index page of arrays asked (at most 512 KiB an array). A Cursor holds two
// pages. A File with views keeps up to 8 readers of calls (CallReader), a Cursor one; a Cursor over rows
// that follow calls has a read-ahead buffer for these too.
//
// # Views
//
// Pages of calls may leave times to the call graph of their location, which this
// package does not know: SetCallTimes says how they are read, and package callview
// says it for files that it opens. Without it such pages give ErrNoTimes. Until an
// array is in a file the times are after the pages in its segment.
//
// Pages of messages and collectives leave theirs to the rows of calls (Follow), so
// that these must be readable too. Nobody reads them before the array is in a file.
//
// # Concurrency
//
// Builders and encoders belong to one goroutine. A File and its Arrays are safe
// for concurrent use, Close too, except an Array made by Counted, which adds to
// plain counters. Rows handed out by Row are copies; a Cursor's row is valid until
// its next step. Row types are declared in schema.go; Rows and Each give them as
// values.
//
// # Example: build, compose, write, search
//
//	types := xtf.StandardTypes(xtf.Packed)
//	enc := xtf.NewEncoder()
//	b := xtf.NewArrayBuilder(enc, types.Lookup(xtf.TypeCall), 0, sink)
//	row, n := b.Open()                  // at enter; n is known to callees as parentN
//	(&xtf.Call{T: t, End: xtf.Never, Parent: parent, Region: r}).Put(row)
//	...
//	xtf.SetU64(b.Row(n), xtf.CallEnd, leave)   // at leave: late fields, then Close
//	b.Close(n)
//	sum, err := b.Finish()              // *ArraySummary, serialises
//
//	plan, err := xtf.PlanRegion(types, 0, []xtf.FinishedArray{{Summary: sum, Data: sink}}, nil)
//	plan.Size()                         // exact, before any offset is known
//	head, err := plan.WriteTo(w, fileID)       // streams the region's bytes
//
//	f, err := xtf.OpenFile("run.xtf", xtf.Options{})
//	calls, err := f.Array(0, xtf.TypeCall)
//	pos, ok, err := calls.Search(t, xtf.LE)    // the call entered last at or before t
//	row, err := calls.Row(pos.N, nil)
//	err = xtf.Each(f, 0, func(n uint64, c *xtf.Call) error { ... }) // all of them
package xtf
