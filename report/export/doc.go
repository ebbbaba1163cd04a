// Package export writes a part of a run in the forms of other tools: slices of a timeline for browsers (Perfetto's protobuf and
// Chrome's trace events), tables of events or of report sections for data frames (CSV, Apache Parquet, Apache Arrow IPC streams),
// and profiles by call path and location for Cube. Package jobs/archive writes OTF2, which it makes of the call graph.
//
// # Tables
//
// A Schema names the columns of a table, a Batch holds rows of it, and a TableWriter takes batches:
//
//	w, err := export.NewTable(out, "parquet", schema)
//	...
//	err = w.Write(batch) // any number of times, at most GroupRows rows each
//	err = w.Close()
//
// Events writes a table of events of a Source. It has times in ticks since the begin of the trace, and in nanoseconds, rounded
// down. Rows are in the order of processes and threads, then in that of the file, so equal input gives equal bytes.
//
// # Timelines
//
// Timeline writes calls as nested slices, messages as flows between them, counters and intervals. The borders of the window cut
// them.
//
// # Memory
//
// A table is never in memory as a whole. In addition to the open file a writer holds one batch,
//
//	GroupRows x columns x (8 + 1) bytes
//
// for Arrow also its encoded form; for Parquet also 24 bytes a row, the columns as numbers, their encoded form, and 1 KB a column
// for each row group. A table with texts holds its dictionary: each name once. A timeline holds the calls that are open, 24 bytes
// for each message that completes in the current call, 8 bytes a location, and its buffer. A profile holds 64 MiB of its values
// at once, and its call paths.
//
// # Concurrency
//
// A writer belongs to one goroutine. Sources are read only.
package export
