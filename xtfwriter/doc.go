// Package xtfwriter writes one XTF file from all ranks of a communicator: the
// segment store that work units leave their output in, sorting in bounded memory,
// the claim on an output (lock, epoch, work folder) and the atomic commit.
//
// # Model
//
// A work unit is one location in one stage of the analysis. Its output (pages of arrays, page tables, blobs, channel entries) becomes
// immutable segments in the Store of its rank: in memory up to the budget, then in RUN.xtf.work/seg.<epoch>.<rank>. Checkpoint writes a
// list of the finished units and their segments for one rank. Mark writes a list of all segments of each rank at the end of a stage. A run
// with Config.Resume takes over what the lists and marks of an interrupted run contain; these segments stay in the files of that run.
//
// Commit computes the offset of each rank's regions from the sizes of all, and copies them to RUN.xtf.out.<epoch>. Rank 0 adds the
// directory and the sections. When everything is on storage and was read back, it writes the superblock and renames the file.
//
//	RUN.xtf             the result, complete or absent
//	RUN.xtf.lock        the run that works on it: input identity, owner, epoch
//	RUN.xtf.work/       job (whose it is), seg.<epoch>.<rank>, list.<epoch>.<rank>, mark.<epoch>.<rank>.<stage>
//	RUN.xtf.out.<epoch> the file before its rename
//
// # Invariants
//
//   - The bytes of the file depend on the rows, the types and the file id. They do not depend on the number of ranks, the budget, or which
//     rank held what.
//   - Begin, Commit and Close are collective and return the same error on all ranks.
//   - A list stays true: segment files only grow, lists are replaced by rename, and a run writes only files of its own epoch. Damaged
//     files are found by their checksums and left out.
//   - An output is replaced only with Config.Force. Each run that takes the output raises the epoch, and the older run stops when it sees
//     that.
//
// # Concurrency and memory
//
// Several goroutines may use a Store. One may write a Segment, and any number may read it. Each rank holds the budget of the store and
// 256 KiB, 16 pages of each array that is being built (further pages with open rows are in the store), and the buffers of the sorters in
// use; during the commit also 4 MiB for writing, 16 bytes for each 4 MiB written, the page tables of one region, and 64 bytes for each
// location.
//
// # Example
//
//	w, err := xtfwriter.Begin(comm, xtfwriter.Config{Output: "run.xtf", Identity: id, Budget: 512 << 20})
//	calls, err := w.Store.NewArray(enc, types.Lookup(xtf.TypeCall), unit)
//	row, n := calls.Open() // fill, later Close(n)
//	err = calls.Save()
//	w.Store.Finish(unit)
//	...
//	res, err := w.Commit(&xtfwriter.Parts{
//		Types: types, FileID: fileID, First: lo, Regions: hi - lo,
//		Region: func(i int) (xtfwriter.Region, error) {
//			a, ok, err := w.Store.LoadArray(unitOf(lo+i), xtf.TypeCall)
//			...
//		},
//		Sections: func() ([]xtf.Blob, error) { return sections, nil },
//	})
//	err = w.Close()
package xtfwriter
