// Package ccg holds Complete Call Graphs: the whole event stream of every
// location as one shared graph of structure, and columns of times and values
// next to it. It builds, joins, encodes, expands, checks and queries them;
// package ccgmerge reduces them over ranks.
//
// # Model
//
// An instance is an occurrence in the unfolded tree of a location, a node the
// stored record that equal instances share. Nodes have one of five kinds:
//
//	Call    a call with its children in order; tuple: region or calling context,
//	        attribute lists of enter and leave, "cut" if it never left
//	Event   any other record, no children; tuple: enclosing region and every
//	        hard field
//	Root    the top of one location
//	Group   a run of at most B children, bounds the fan-out; invisible
//	Repeat  a body and how often it follows itself; invisible
//
// A field of a record is hard (part of the tuple), or a value slot (a column of
// values next to the structure); trace.Kind.Info tells which. Times are gaps: the
// ticks since the event before. Each gap has a slot in the structure: before a
// child, or the tail of a call, so that a slot's gaps are exclusive time of one
// region. Building is lossless: an expansion gives the events back exactly.
//
// # Timing
//
// The gaps of a lossless graph are columns of each location, all of them. A lossy
// graph has a second layer: a node whose instances have few different gaps below
// them has a class table, shared by all locations like the structure. Its rows
// are the distinct lists of gaps and of classes of children; above it there are
// row numbers in place of gaps. [GapCounts.Choose] says which nodes have one.
//
// # From events to a file
//
//	b := ccg.NewBuilder(defs, p, ccg.Options{})       // every location by itself
//	for r.Next(&batch) == nil {
//		err = b.Add(&batch)
//	}
//	local, err := b.Finish()                          // immutable; AppendBinary for a segment
//
//	partners := ccg.NewPartners(defs)                 // ccgmerge.Reduce does all of this
//	partners.Add(local)                               // over ranks, in two passes
//	union := ccg.NewUnion(defs, partners.Choose())
//	err = union.Add(local)                            // locations in ascending P
//	shared := union.Shared()
//
//	gaps := ccg.NewGapHistogram(defs, o.Deviation)    // of a lossy graph only: codebook
//	err = gaps.Add(local)
//	err = shared.SetCodebook(gaps.Choose())
//	counts := ccg.NewGapCounts(shared)                // of a lossy graph only: class tables,
//	err = counts.Add(local)                           // in two passes more
//	classes := ccg.NewClassBuilder(shared, counts.Choose())
//	err = classes.Add(local)                          // locations in ascending P
//	shared = classes.Shared()
//
//	section := shared.Encode()                        // one XTF section for all
//	d := ccg.NewDistributor(shared)
//	blob, err := d.Distribute(local)                  // one blob per location
//
//	shared, err = ccg.OpenShared(defs, section)
//	loc, err := ccg.OpenLocation(shared, blob)
//	x := loc.Expand()                                 // a trace.ChunkReader
//
//	c := loc.Cursor()                                 // to and fro from anywhere
//	err = c.SeekTime(t)
//	q := loc.Index()                                  // everything below
//	iv, err := q.Interval(t1, t2)
//
// # Queries
//
// All read the graph as it is stored, and equal the same question to the expanded
// events: exactly if the graph is lossless, else within the bound they return.
//
//	Profile, Traffic       by region, by partner: multiplicities and column heads, O(nodes)
//	PathProfile            by call path: likewise; columns of several paths in one walk
//	Cursor                 events in both directions; a seek takes O(nodes) and 512 steps
//	Index.Interval         what happened in [t1, t2): two seeks and sums of column prefixes
//	Index.Timeline         the region with most time in each pixel: intervals, or a walk if narrow
//	Index.Call             a region's n-th call
//	Index.CallDurations    histograms: values of columns, rows of classes by how often they occur;
//	Location.GapDurations  a walk for calls that contain others
//	Clusters               locations of equal structure, or all equal
//	Structure              nodes and fields of records, for readers that make something else of them
//	Stretches              the time between calls that the reader chooses, in one walk
//	Location.Spans         when calls begin and end, from any call on: the times of an XTF file's rows
//
// A position is the way from the root to an event. How many values of each column
// lie before it follows from the structure: instances that are complete are
// counted top-down in one sweep. Times come from the marks, one every 1 024
// events, and a walk from the nearest one. Where a column's gaps lie in several
// states of the stack, as inclusive times of a function with several callers
// need them told apart, the first question walks through the location once.
//
// Results of several locations add up, in any order. Times of different locations
// must not be subtracted where gaps alone are bounded: stored times then drift, each
// location by itself, and a receive may seem to precede its send.
//
// # Invariants
//
//   - Node ids are 1..N in post-order of first visit, locations in ascending P:
//     a child's id is below its parent's, and the numbering does not depend on
//     how the locations were merged.
//   - No two nodes have the same kind, tuple and children; no node has more
//     than B children; every node is reached from a root.
//   - Multiplicities times events per node add up to a location's events, and
//     each column has as many values as its slots have instances.
//   - Rows of a class table are distinct, and numbered by first appearance over
//     the locations in ascending P.
//
// [Check] tests them all. No function here recurses.
//
// # Layout
//
// docs/format/ccg.md describes the shared section, which is one for all locations, and the blob of each; the words of a tuple
// are in shape.go too.
//
// # Memory
//
// A Builder holds 12 bytes per node, 4 per child, 11 to 22 per node of index, 8
// per node for links and calls, 24 per open list entry (at most 2*Fold+Fan+2048
// per open call), 36 per open call, up to 96 KiB per family of request ids used,
// 64 KiB of tables, and the streams: 1 to 2 bytes per event and value, twice that while
// they grow. A Union holds the same per node, without streams. A Distributor holds 8 KiB per column
// of one location at most, its finished columns, and of that location 24 bytes
// per node, 4 per slot and up to 76 per child for its program; a Location 24
// bytes per node and 4 per slot (32 and 8 if lossy) and 56 per block of 1 024
// values; an Expander 8 KiB per column. What is read from a file takes at most
// about 1 KiB per byte of a location's blob, 256 MiB per part, and of the shared
// section 16 KiB per byte or 1 GiB, for nodes and for rows of classes each.
// A Cursor holds 72 bytes per node in progress, 16 per column, and 8 KiB per column
// that it reads. An Index holds 8 bytes per node, and once it was asked three cursors, 60
// bytes more per node, 8 for each of up to 16 regions asked for, 16 MiB of decoded
// blocks, and for each of two ledgers 16 MiB of samples, or of a lossy graph the
// times of its rows, up to 1 GiB.
// A GapHistogram takes 8 MB at most, Quantise as much as the location's gaps.
//
// # Concurrency
//
// A Builder, Union, Distributor and Expander belong to one goroutine, and so do an
// Index and its Cursors. A Local, a Shared and a Location are read-only and safe
// for concurrent use.
package ccg
