// Package graph is the stored form of Complete Call Graphs: nodes and their tuples, class tables, the columns of gaps and values, walks
// over all of them, and their bytes. Package build makes graphs; package ccg reads locations and answers queries.
//
// # Model
//
// An instance is an occurrence in the unfolded tree of a location. A node is the stored record that equal instances share. Nodes have one
// of five kinds:
//
//	Call    a call with its children in order; tuple: region or calling context,
//	        attribute lists of enter and leave, "cut" if it never left
//	Event   any other record, no children; tuple: enclosing region and every
//	        hard field
//	Root    the top of one location
//	Group   a run of at most B children, bounds the fan-out; invisible
//	Repeat  a body and how often it follows itself; invisible
//
// A field of a record is either hard (part of the tuple) or a value slot (stored in a column); trace.Kind.Info says which. Times are stored
// as gaps: the ticks since the previous event. Each gap has a slot in the structure, before a child or at the tail of a call, so all gaps
// of a slot are exclusive time of one region. A lossless graph expands to exactly the same events.
//
// # Timing
//
// In a lossless graph all gaps are in columns of their location. A lossy graph has a second layer: a node whose instances have few
// different gaps below them has a class table, which all locations share. Its rows are the distinct lists of gaps and children's classes;
// the node above has row numbers instead of gaps. Package build says which nodes have one.
//
// # Names
//
//	Shared    the structure of all locations: Graph, class tables, encodings of partners, options
//	Graph     nodes (Store), tuples (Tuples), and the Shape of each tuple
//	View      the part that one location uses: multiplicities of nodes, columns of slots
//	Walker    iterates over the instances below a node, forwards or backwards; a Program is the same as flat code
//	Classes   a ClassTable for each node with classes
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
// ccg.Check checks all of them. No function here is recursive.
//
// # Layout
//
// docs/format/ccg.md describes the shared section and the blob of each location; shape.go has the words of a tuple.
//
// # Memory
//
// A Graph holds 12 bytes for each node, 4 for each child, and 11 to 22 for each node in its index, once nodes are looked up. A View holds
// 24 bytes for each node and 4 for each slot, 32 and 8 if lossy. What is read from a file takes at most 256 MiB for each part. The nodes
// and the rows of the shared section each take at most 16 KiB for each of its bytes, or 1 GiB if that is more.
//
// # Concurrency
//
// A Shared and a View are read-only and safe for concurrent use; a Walker belongs to one goroutine.
package graph
