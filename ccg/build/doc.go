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
// A Builder holds 12 bytes per node, 4 per child, 11 to 22 per node of index, 8
// per node for links and calls, 24 per open list entry (at most 2*Fold+Fan+2048
// per open call), 36 per open call, up to 96 KiB per family of request ids used,
// 64 KiB of tables, and the streams: 1 to 2 bytes per event and value, twice that while
// they grow. A Union holds the same per node, without streams. A Distributor holds 8 KiB per column
// of one location at most, its finished columns, and of that location 24 bytes
// per node, 4 per slot and up to 76 per child for its program.
// A GapHistogram takes 8 MB at most, Quantise as much as the location's gaps.
//
// # Concurrency
//
// A Builder, Union and Distributor belong to one goroutine. A Local is read-only and safe for concurrent use.
package build
