// Package trace is the vocabulary of coppice: what an event trace of a parallel
// program consists of, whatever file it came from. It does no I/O.
//
// # Terms
//
// A location is a thread, an accelerator stream or a metric recorder; its
// events form one ordered stream. A process is a location group; [P] numbers
// the locations densely in (process, thread) order, and processes are numbered
// by their rank in the MPI world. Names and record numbers follow OTF2
// (Open Trace Format 2, Score-P), the field's common format; every other input
// is expressed in them.
//
// # Events
//
// A [Stream] is cut into chunks that decode independently of one another. A
// [ChunkReader] fills a [Batch]: fixed-size [Event] headers and one pool of
// argument words, so that no event allocates. The table after [Kind.Info]
// gives each record kind its fields; decoders, encoders, text forms and the
// call graph all read that one table.
//
//	Event   Time 8 | Ref 4 | Arg 4 | Len 4 | Kind 1 | Flags 1      24 bytes
//	words   fields in table order | list elements | attributes | surplus
//
// Enter and Leave keep their only field, the region, in Event.Ref and have no
// field words. All references are global ones, all times are corrected ticks
// of the trace's clock.
//
// [Frames] makes events of the calls that calling contexts tell of, with the flag [Estimated].
//
// # Definitions
//
// [Definitions] holds every definition record in typed form. After
// [Definitions.Seal] it is read-only and safe for concurrent use. Memory is
// the sum of the records plus 4 bytes per member of each distinct
// communicator group (8 more where ranks are not the identity).
//
//	src := ...                                  // a trace.Source
//	st, err := src.Stream(0)
//	for i := 0; i < st.Chunks(); i++ {
//		r, err := st.Chunk(i)
//		for r.Next(&batch) == nil {
//			for i := range batch.Events { ... }
//		}
//	}
package trace
