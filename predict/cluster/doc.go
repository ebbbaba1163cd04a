// Package cluster groups processes of equal call sequence by their computation
// vectors: agglomerative clustering with exact integer distances, the members
// shared out over the ranks of an mpi.Comm, the result the same for any number of
// ranks. One member of each class, its representative, stands for the others.
package cluster
