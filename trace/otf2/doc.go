// Package otf2 reads and writes OTF2 archives (Open Trace Format 2), the trace
// format of Score-P. An [Archive] is a [trace.Source]; a [Writer] makes an
// archive of any other one.
//
// # Files
//
//	NAME.otf2        anchor: versions, chunk sizes, properties
//	NAME.def         global definitions
//	NAME/<id>.def    of one location: mapping tables, clock offsets
//	NAME/<id>.evt    of one location: events
//
// [Load] reads the first two, [Open] makes an Archive from their bytes: one
// process may read them and hand them to all others. A location's own files
// are opened by Stream and Measure only.
//
// All but the anchor are cut into chunks of a fixed size that decode
// independently of each other:
//
//	chunk     03 | byte order 42 little, 23 big | first event 8 | last event 8 | items
//	record    id 1 | length 1, or FF and 8 | payload
//	time      05 | 8                      before a record whenever time changed
//	list      06 | length | attributes    before the record it belongs to
//	end       00 chunk, 02 file; 0 pads the rest of a chunk
//	integer   count of bytes 1 | bytes    count FF: all ones
//
// Ten old event records have no length. A record may be longer than its fields
// (a later version wrote it: the rest is kept as surplus) and a definition
// shorter (an earlier one: defaults of package trace). Unknown event records
// keep their payload. Events use local references and raw times; the reader
// translates them through the mapping tables and corrects them by the clock
// offsets: raw + o0 + rint(slope * (raw - t0)).
//
// # Damage
//
// Load and Open refuse files that are not an OTF2 archive (trace.ErrNotTrace),
// and archives with container files (SION) or compression
// (trace.ErrUnsupported). Any other damage of a location leaves its undamaged
// part readable. Diagnostics of stream or chunk report the damage by code, with
// place and count. A chunk ends at its first damaged record. The reader
// compares the numbers in chunk headers with what it decoded, so every lost
// event is reported. Counts in the input never size memory before the bytes
// after them are there.
//
// A location that has lost its local definitions is left out, unless no location
// has any: then references and times are taken as they are.
//
// Times within a location never decrease. A time before its predecessor is
// raised to it, a time after the start of the next chunk is lowered to that,
// and both are counted as trace.DiagTimeBackwards. The rule needs only the
// first time stamp of each chunk, so it gives the same events whichever chunks
// are read, and in whatever order.
//
// # Memory and concurrency
//
// An Archive holds its definitions. An open stream holds its mapping tables: 4
// bytes per local reference. A chunk reader holds a window of 128 KiB, more
// where a record is longer; a batch has up to 2048 events (24 bytes) and 4096
// words, or what the caller's has room for. No event allocates.
//
// An Archive and its streams may be used by several goroutines; a chunk reader
// and a LocationWriter belong to one each.
//
//	a, err := otf2.OpenPath("scorep_run/traces.otf2")
//	st, err := a.Stream(0)
//	for i := range st.Chunks() {
//		r, err := st.Chunk(i)
//		for r.Next(&batch) == nil {
//			...
//		}
//	}
package otf2
