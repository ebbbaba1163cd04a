// Package archive writes the event streams of a file's call graph, or a slice of time of them, as an OTF2 archive, collectively over the
// ranks of a communicator (Write).
//
//	open    rank 0 reads definitions and graph, all ranks get the bytes
//	write   per location: columns -> events -> files of the archive
//	commit  rank 0 writes definitions and anchor, and renames all parts
package archive
