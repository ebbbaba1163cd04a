// Package callpath holds trees of call paths: which regions are open, outermost first.
//
// Path 0 is outside all calls; any other path is a region called on its parent. A path's number is greater than its
// parent's. A tree of one location is made while its events pass (Child), and has at most MaxLevel levels and
// MaxPaths paths: what goes deeper or comes later counts on the path it was called from. Trees of all locations are
// merged, and the union is numbered depth first, children by region reference, so that a number does not depend on who
// came first (Number). A union above MaxUnion paths loses its deepest levels, as many as it takes; their paths stand
// for their callers.
//
// A tree is not safe for concurrent use. Memory: 1 KiB, 12 bytes per path, and about 40 per path for finding children, which
// a parsed tree makes when the first is asked for.
package callpath
