#include "recorder.h"

#include <stdlib.h>

/* Neighbours of a process in the topology of a communicator. */

#define TAG INT32_MIN /* tag of messages between neighbours */

HIDDEN struct neighbours *cr_neighbours(MPI_Comm comm)
{
	int kind = MPI_UNDEFINED, in = 0, out = 0, weighted = 0, me = 0;
	PMPI_Topo_test(comm, &kind);
	PMPI_Comm_rank(comm, &me);
	if (kind == MPI_CART) {
		PMPI_Cartdim_get(comm, &in);
		in = out = 2 * in;
	} else if (kind == MPI_GRAPH) {
		PMPI_Graph_neighbors_count(comm, me, &in);
		out = in;
	} else if (kind == MPI_DIST_GRAPH)
		PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
	struct neighbours *near = calloc(1, sizeof *near + (size_t)(in + out) * sizeof near->with[0]);
	int *peers = malloc(((size_t)(in + out) * 2 + 1) * sizeof *peers);
	if (!near || !peers) {
		cr_no_memory();
		free(near);
		free(peers);
		return NULL;
	}
	near->comm = cr_comm(comm);
	near->n = out + in;
	near->out = out;
	int *sources = peers + out, *weights = sources + in;
	if (kind == MPI_CART)
		for (int i = 0; i < in; i += 2) {
			PMPI_Cart_shift(comm, i / 2, 1, &peers[i], &peers[i + 1]);
			sources[i] = peers[i];
			sources[i + 1] = peers[i + 1];
		}
	else if (kind == MPI_GRAPH) {
		PMPI_Graph_neighbors(comm, me, out, peers);
		PMPI_Graph_neighbors(comm, me, in, sources);
	} else if (kind == MPI_DIST_GRAPH)
		PMPI_Dist_graph_neighbors(comm, in, sources, weights, out, peers, weights + in);
	for (int i = 0; i < near->n; i++) {
		near->with[i].peer = peers[i];
		if (kind == MPI_CART) /* a message that leaves in one direction arrives from the opposite one */
			near->with[i].tag = TAG + (i < out ? i : (i - out) ^ 1);
		else
			near->with[i].tag = TAG;
	}
	free(peers);
	return near;
}
