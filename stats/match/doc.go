// Package match finds which operations of all locations belong together: a send and its receive, the members of one
// collective operation, notices of one-sided windows, and an acquisition of a lock and the release before it.
//
// Order of calls: while a location is loaded, Entries takes its operations and sorts them by channel. Match, on all ranks, joins the
// entries of all locations to Results. Results.Rows makes the P2P and COLL rows of one location of these.
//
// A channel is (communicator, source process, destination process, tag). The k-th send posted on a channel matches the k-th
// receive posted (MPI 4.1, 3.5, order). Notices of windows match in the same way, locks by time (locks.go). Collective operations
// are numbered per communicator, in posting order.
//
// Each process has a home, the rank that has the entries of all its locations (home.go). Sends travel to the home of their
// destination, in the order (source, destination, communicator, tag, posting). That rank joins them with its receives and replies
// (zip.go). Of each collective operation one rank collects what the members have in common: instants, and the enter that each of
// them waited for (xtf.CollCause; combine.go). For prefix operations such as MPI_Scan it gets all enters (prefix.go).
//
// A result belongs to one row, and Results sorts results by blocks of rows. So the rows depend neither on the number of ranks nor
// on the order of results.
//
// # Memory
//
// Match: 4 pieces of pieceEntries sends or replies of 40 bytes, their entries of 112, resultPiece bytes for each resultBlock rows,
// and 16 bytes per pair of processes that communicate. For collectives 600 bytes for each of roundInstances, or 64 for each of
// prefixMembers and of the largest communicator's members. What else grows with the number of events is in the caller's storage.
package match
