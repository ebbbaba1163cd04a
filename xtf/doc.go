// Package xtf is the container of an analysed run: typed arrays of fixed-width
// rows, one region per location, each array a counted B+tree over time and row
// number. It holds the format, the building of arrays, the composition of
// regions, the reader with search, size and next, and the checker.
// It never imports mpi; package xtfwriter puts the regions of all ranks into
// one shared file.
//
// # Model
//
// A location is a thread of a process, or a stream of a device. Its P is its ordinal in (process, thread) order; WholeRun is the P of the
// region about all locations. An array has the rows of one type and one P. The rows are ordered by T (ticks from the trace origin), by
// another u64 key, or by position only. N is the row's number. Rows with equal T keep the order of their producer, so (T, N) is unique.
//
//	0      superblock, in 4096 zeroed bytes, written last
//	4096   region P = 0: head | arrays by ascending type | blobs
//	...    regions in ascending P, then the whole-run region
//	       definitions | types | provenance | CCG | directory | footer
//
// The offsets in a region are relative to its start. So it is composed and gets its checksums before its place in the file is known, and
// its bytes depend on its rows only. docs/format/xtf.md describes every structure.
//
// # Invariants
//
//   - A page has exactly Z rows, the last page of an array at most Z: row n is in page n/Z, slot n%Z, whatever the stored size.
//   - A file does not change after its commit, which writes the superblock last. A file that opens is complete; else Open returns
//     ErrNotCommitted, ErrNotXTF, ErrVersion or ErrCorrupt.
//   - Bytes that are read are not trusted: lengths are checked before memory is allocated.
//
// # Units and memory
//
// T and End are ticks, sizes are bytes, N counts rows. An ArrayBuilder holds (pinned + 1) * Z * R bytes, or a limited number of pages with
// SpillPinned, and at most 64 + 32*sums bytes for each finished page. An Encoder holds about 2 MiB and up to 16 pages of finished builders.
// A File holds the budget of its cache, a page for each goroutine that is reading, and 8 bytes for each index page of the arrays that were
// used (at most 512 KiB for an array). With views it also keeps up to 8 readers of calls (CallReader). A Cursor holds two pages, with views
// a reader of calls, and for rows that follow calls a read-ahead buffer for these.
//
// # Views and following pages
//
// A page of calls may be a view: it leaves times to the call graph of the location. This package cannot read call graphs. SetCallTimes sets
// the source of the times; package callview sets it for the files that it opens. Without it such pages give ErrNoTimes. Before the array is
// in a file, the times are next to the pages in its segment.
//
// Pages of messages, collectives, waits and the critical path may leave times to the rows of calls (Follow). To read them, the calls must
// be readable too. They are not read before the array is in a file.
//
// # Concurrency
//
// One goroutine may use a builder or an encoder. A File and its Arrays are safe for concurrent use, also with Close, but an Array from
// Counted is not. Row returns a copy of a row; the row of a Cursor is valid until its next step. schema.go declares the row types. Rows and
// Each return rows as Go structs.
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
