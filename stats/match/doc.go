// Package match joins what the locations of a run did with one another: sends meet receives, members of a collective meet
// each other, locks meet the release that they had to come after. The load of a location orders its channel entries (Entries),
// Match joins those of all ranks to Results, and Rows makes P2P and COLL rows of these.
//
// A channel is (communicator, source process, destination process, tag). The
// k-th send posted on a channel matches the k-th receive posted (MPI 4.1, 3.5,
// order), collectives are numbered per communicator in posting order. A location
// deals its operations to their channels (Entries). Sends
// travel to the rank that holds the destination's process, in the order
// (source, destination, communicator, tag, posting); that rank joins them with
// its own receives and answers. Notices of windows match alike, locks by times (locks.go). Every result enters one row, so bytes do not
// depend on the number of ranks, nor on the order of results: those of a block of
// rows lie together until Rows takes them.
//
// The members of a collective operation learn, from the rank that owns it, the
// instants all have in common and the enter that each of them waited for
// (xtf.CollCause). For prefix operations all enters travel there, some instances
// at a time.
//
// # Memory
//
// Match: 4 pieces of pieceEntries sends or replies of 40 bytes, their entries of 112,
// resultPiece bytes for each resultBlock rows, and 16 bytes per pair of processes that communicate; for collectives 600 bytes for each
// of roundInstances, or 64 for each of prefixMembers and of the largest communicator's
// members. Nothing else grows with the number of events but what goes to the storage of the caller.
package match
