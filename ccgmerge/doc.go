// Package ccgmerge reduces the call graphs of all ranks to one shared graph.
//
// Each rank has the graphs of a contiguous range of locations, in the order of ranks. Reduce
//
//   - counts the gaps of a lossy graph over all ranks; rank 0 chooses the codebook;
//   - counts partner encodings over all ranks; rank 0 chooses;
//   - joins the structures of each rank's locations, and merges those of all ranks in a binomial tree;
//   - broadcasts the result from rank 0;
//   - for a lossy graph does the same with class tables, after it has counted the gaps of each slot of the structure.
//
// The shared graph has the same bytes for any number of ranks.
//
//	shared, book, report, err := ccgmerge.Reduce(c, defs, locals, graph.Options{}, ccgmerge.Config{})
//
// Memory of a rank: one location's segment; its own structures and the union (each 16 bytes for a node, 4 for a child, and an index of 8 to
// 16 bytes for a node); two messages. For a lossy graph also, one after the other: at most 20 MB for two build.GapHistogram and a message;
// a build.GapCounts and a message; a build.ClassBuilder. Their comments have the formulas.
package ccgmerge
