// Package graph is the stored form of Complete Call Graphs: nodes and the tuples that say what they are, class tables, which
// column a gap or value lies in, walks through all of it, and its bytes. Package build makes graphs, package ccg reads locations
// and answers questions.
//
// # Model
//
// An instance is an occurrence in the unfolded tree of a location, a node the
// stored record that equal instances share. Nodes have one of five kinds:
//
//	Call    a call with its children in order; tuple: region or calling context,
//	        attribute lists of enter and leave, "cut" if it never left
//	Event   any other record, no children; tuple: enclosing region and every
//	        hard field
//	Root    the top of one location
//	Group   a run of at most B children, bounds the fan-out; invisible
//	Repeat  a body and how often it follows itself; invisible
//
// A field of a record is hard (part of the tuple), or a value slot (a column of
// values next to the structure); trace.Kind.Info tells which. Times are gaps: the
// ticks since the event before. Each gap has a slot in the structure: before a
// child, or the tail of a call, so that a slot's gaps are exclusive time of one
// region. Building is lossless: an expansion gives the events back exactly.
//
// # Timing
//
// The gaps of a lossless graph are columns of each location, all of them. A lossy
// graph has a second layer: a node whose instances have few different gaps below
// them has a class table, shared by all locations like the structure. Its rows
// are the distinct lists of gaps and of classes of children; above it there are
// row numbers in place of gaps. Package build says which nodes have one.
//
// # Names
//
//	Shared    the structure of all locations: Graph, class tables, encodings of partners, options
//	Graph     nodes (Store), tuples (Tuples), and the Shape of each tuple
//	View      the part that one location uses: multiplicities of nodes, columns of slots
//	Walker    the instances below a node in order of execution or backwards; a Program is the same, flat
//	Classes   a Table for each node with classes
//
// # Invariants
//
//   - Node ids are 1..N in post-order of first visit, locations in ascending P:
//     a child's id is below its parent's, and the numbering does not depend on
//     how the locations were merged.
//   - No two nodes have the same kind, tuple and children; no node has more
//     than B children; every node is reached from a root.
//   - Multiplicities times events per node add up to a location's events, and
//     each column has as many values as its slots have instances.
//   - Rows of a class table are distinct, and numbered by first appearance over
//     the locations in ascending P.
//
// ccg.Check tests them all. No function here recurses.
//
// # Layout
//
// docs/format/ccg.md describes the shared section, which is one for all locations, and the blob of each; the words of a tuple
// are in shape.go too.
//
// # Memory
//
// A Graph holds 12 bytes per node, 4 per child, and 11 to 22 per node of index once nodes are looked up, a View 24 bytes per
// node and 4 per slot, 32 and 8 if lossy. What is read from a file takes at most 256 MiB per part, and of the shared section 16 KiB
// per byte or 1 GiB, for nodes and for rows of classes each.
//
// # Concurrency
//
// A Shared and a View are read-only and safe for concurrent use; a Walker belongs to one goroutine.
package graph
