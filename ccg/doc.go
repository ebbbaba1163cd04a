// Package ccg reads Complete Call Graphs: the whole event stream of every location as one shared graph of structure, and columns
// of times and values next to it. It expands locations, answers questions about them, and checks them. Package ccg/graph has the
// model and the stored form, package ccg/build makes graphs of events.
//
//	shared, err = graph.OpenShared(defs, section)
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
// # Memory
//
// A Location holds 24 bytes per node and 4 per slot (32 and 8 if lossy) and 56 per block of 1 024
// values; an Expander 8 KiB per column. What is read from a file takes at most
// about 1 KiB per byte of a location's blob.
// A Cursor holds 72 bytes per node in progress, 16 per column, and 8 KiB per column
// that it reads. An Index holds 8 bytes per node, and once it was asked three cursors, 60
// bytes more per node, 8 for each of up to 16 regions asked for, 16 MiB of decoded
// blocks, and for each of two ledgers 16 MiB of samples, or of a lossy graph the
// times of its rows, up to 1 GiB.
//
// # Concurrency
//
// An Expander belongs to one goroutine, and so do an
// Index and its Cursors. A Location is read-only and safe
// for concurrent use.
package ccg
