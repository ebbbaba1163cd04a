// Package ccg reads Complete Call Graphs: the event streams of all locations as one shared graph of their structure, plus columns of times
// and values. It expands locations, answers queries, and checks graphs. Package ccg/graph defines the model and the stored form; package
// ccg/build makes graphs from events.
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
// All read the stored graph. They return the same as a computation from the expanded events: exactly if the graph is lossless, else within
// the bound that they return.
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
// A position is the path from the root to an event. The number of values before it in each column follows from the structure: one sweep
// from the root counts complete instances. Times come from marks, one for every 1 024 events, and a walk from the nearest mark. If the gaps
// of one column have several states of the call stack (for inclusive times of a function with several callers they must be distinguished),
// the first query walks through the location once.
//
// Results of several locations add up, in any order. If only gaps are bounded, times of different locations must not be subtracted: stored
// times drift independently, and a receive may seem to precede its send.
//
// # Memory
//
// A Location holds 24 bytes for each node and 4 for each slot (32 and 8 if lossy), and 56 for each block of 1 024 values. An Expander holds
// 8 KiB for each column. What is read from a file takes at most about 1 KiB for each byte of a location's blob. A Cursor holds 72 bytes for
// each open node, 16 for each column, and 8 KiB for each column that it reads. An Index holds 8 bytes for each node; after the first query
// also three cursors, 60 bytes for each node, 8 bytes for each node and each of up to 16 regions asked for, 16 MiB of decoded blocks, and
// for each of two ledgers 16 MiB of samples or, if the graph is lossy, up to 1 GiB for the times of rows.
//
// # Concurrency
//
// An Expander belongs to one goroutine, and so do an Index and its Cursors. A Location is read-only and safe for concurrent use.
package ccg
