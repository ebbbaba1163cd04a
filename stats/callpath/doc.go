// Package callpath has trees of call paths. A call path is the list of open regions, outermost first.
//
// Path 0 is outside of all calls. Any other path is its parent and a region called in it; its number is greater than the parent's. Child
// makes the tree of one location while it is loaded. It has at most MaxLevel levels and MaxPaths paths: deeper or later calls count for
// their callers. Merge joins the trees of all locations. A union of more than MaxUnion paths loses its deepest levels; their calls count
// for their callers too. Number then numbers the union depth first, children by region reference, so that numbers do not depend on the
// order of merging. Locate finds the number in the union of each path of a location.
//
// A tree is not safe for concurrent use. Memory: 1 KiB, 12 bytes per path, and about 40 per path to find children.
package callpath
