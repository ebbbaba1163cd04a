// Package ccgmerge reduces the call graphs of all ranks to one shared graph.
//
// Every rank holds the graphs of a contiguous range of locations, ranks in
// order. Reduce counts partner encodings over all ranks, and for a lossy graph
// its gaps, of which rank 0 chooses the codebook that all get. It joins each
// rank's structures, and merges them in a binomial tree over neighbours; rank 0
// broadcasts the result. Class tables of a lossy graph go the same way, after
// gaps were counted per slot of the structure. The shared graph is the same, byte
// for byte, for any number of ranks.
//
//	shared, book, report, err := ccgmerge.Reduce(c, defs, locals, graph.Options{}, ccgmerge.Config{})
//
// Memory of a rank: one location's segment, its own structures, the union (both
// 16 bytes per node and 4 per child, with an index of 8 to 16 bytes per node),
// and two messages. Of a lossy graph, one after the other: 20 MB at most for two
// build.GapHistogram and a message; a build.GapCounts and the message it came in; a
// build.ClassBuilder: their comments have the formulas.
package ccgmerge
