// Package xtfwriter writes one XTF file from all ranks of a communicator: the
// segment store that work units leave their output in, sorting in bounded memory,
// the claim on an output (lock, epoch, work folder) and the atomic commit.
//
// # Model
//
// A work unit is one location in one stage. What it makes (pages of arrays, page
// tables, blobs, channel entries) becomes immutable segments of its rank's Store: in
// memory up to the budget, then in RUN.xtf.work/seg.<epoch>.<rank>. A checkpoint
// is the list of finished units and their segments, one for each rank; a mark is a list of all segments, kept when those of
// all ranks are whole. A run with Config.Resume adopts both: the segments stay in the files of older epochs. Commit gives each rank the
// offset of its regions by the sizes of all and copies them to
// RUN.xtf.out.<epoch>; rank 0 adds the directory and the tables; once everything
// is synced and was read back, the superblock is written and the file renamed.
//
//	RUN.xtf             the result, complete or absent
//	RUN.xtf.lock        who works on it: input identity, owner, epoch
//	RUN.xtf.work/       job (whose it is), seg.<epoch>.<rank>, list.<epoch>.<rank>, mark.<epoch>.<rank>.<stage>
//	RUN.xtf.out.<epoch> the file before its rename
//
// # Invariants
//
//   - The bytes of the file depend on the rows, the types and the file id: not on
//     the number of ranks, the budget, or who held what where.
//   - Begin, Commit and Close are collective and return the same error everywhere.
//   - What a list says stays true: segment files only grow, lists are replaced by rename, and each run writes files of its
//     own epoch alone. What is damaged all the same is found by its checksum and left out.
//   - An output is never replaced unless forced; a run that was taken over by a
//     younger one sees its epoch gone and stops.
//
// # Concurrency and memory
//
// A Store may be used by many goroutines, a Segment by one writer and any
// readers. Per rank: the store's budget plus 256 KiB, 16 pages of each array being
// built (pages that wait longer for the ends of their rows wait in the store), the
// buffers of the sorters in use, and during the commit 4 MiB for writing, 16 bytes for each 4 MiB
// written, the page tables of one region and 64 bytes a location.
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
