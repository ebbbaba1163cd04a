// Package archive writes the event streams of a file's call graph as an OTF2 archive, collectively over the ranks of a communicator.
//
//	open    rank 0 reads definitions and graph, all get the bytes
//	write   per location: columns -> events -> files of the archive
//	commit  rank 0 writes definitions and anchor; all gets its name by rename
package archive
