// Package build makes call graphs of events: each location by itself, then one structure that all share, and for a lossy graph
// stored gaps and class tables. Package ccgmerge does the second over ranks. Package graph has the model.
//
// # From events to a file
//
//	b := build.NewBuilder(defs, p, graph.Options{})       // every location by itself
//	for r.Next(&batch) == nil {
//		err = b.Add(&batch)
//	}
//	local, err := b.Finish()                          // until b is Reset; AppendBinary for a segment
//
//	partners := build.NewPartners(defs)                 // ccgmerge.Reduce does all of this
//	partners.Add(local)                               // over ranks, in two passes
//	union := build.NewUnion(defs, partners.Choose())
//	err = union.Add(local)                            // locations in ascending P
//	shared := union.Shared()
//
//	gaps := build.NewGapHistogram(defs, o.Deviation)    // of a lossy graph only: codebook
//	err = gaps.Add(local)
//	local, err = gaps.Choose().Quantise(local)        // stored gaps
//	counts := build.NewGapCounts(shared)                // of a lossy graph only: class tables,
//	err = counts.Add(local)                           // in two passes more
//	classes := build.NewClassBuilder(shared, counts.Choose())
//	err = classes.Add(local)                          // locations in ascending P
//	shared = classes.Shared()
//
//	section := shared.Encode()                        // one XTF section for all
//	d := build.NewDistributor(shared)
//	blob, err := d.Distribute(local)                  // one blob per location
//
// Building is lossless. Of a lossy graph a codebook says by which value each gap is stored, and [GapCounts.Choose] which nodes get
// a class table. No result depends on the order of merging.
//
// # Memory
//
// A Builder holds, in bytes: for each node 12, 11 to 22 of index, 8 of links and calls, and 4 for each child; 36 for each open call, and 24
// for each entry of its list, of which it has at most 2*Fold+Fan+2048; up to 96 KiB for each family of request ids; 64 KiB of tables; and
// the streams, 1 to 2 for each event and value, twice that while they grow. A Union holds the same for each node, without streams. A
// Distributor holds at most 8 KiB for each column of one location, its finished columns, and of that location 24 for each node, 4 for each
// slot and up to 76 for each child. A GapHistogram takes at most 8 MB. Quantise takes as much as the gaps of the location.
//
// # Concurrency
//
// A Builder, Union and Distributor belong to one goroutine. A Local is read-only and safe for concurrent use.
package build
