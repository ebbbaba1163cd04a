#include "log.h"

#include "fortran.h"
#include <stdlib.h>
#include <string.h>

/* Outputs of calls: values, objects and received data. */

HIDDEN void lg_int(int parameter, int64_t value)
{
	lg_item(IT_INT, parameter);
	lg_varint(lg_zigzag(value));
}

#define WEAK extern __attribute__((weak))
WEAK int mpi_fortran_unweighted_, mpi_fortran_weights_empty_, mpi_fortran_bottom_, MPIR_F08_MPI_BOTTOM;
WEAK void *MPIR_F_MPI_BOTTOM, *MPIR_F_MPI_UNWEIGHTED, *MPIR_F_MPI_WEIGHTS_EMPTY;

static int unweighted(const void *p)
{
	return !p || p == MPI_UNWEIGHTED || p == MPI_WEIGHTS_EMPTY || p == &mpi_fortran_unweighted_ || p == &mpi_fortran_weights_empty_ ||
		(&MPIR_F_MPI_UNWEIGHTED && p == MPIR_F_MPI_UNWEIGHTED) || (&MPIR_F_MPI_WEIGHTS_EMPTY && p == MPIR_F_MPI_WEIGHTS_EMPTY);
}

HIDDEN void lg_ints(int parameter, const int *values, int n)
{
	if (unweighted(values) || n < 0)
		return;
	lg_item(IT_INTS, parameter);
	lg_varint((uint64_t)n);
	for (int i = 0; i < n; i++)
		lg_varint(lg_zigzag(values[i]));
}

HIDDEN int lg_rank(MPI_Comm comm)
{
	int rank = 0;
	PMPI_Comm_rank(comm, &rank);
	return rank;
}

HIDDEN uint64_t lg_size(MPI_Comm comm)
{
	int n = 0;
	PMPI_Comm_size(comm, &n);
	return (uint64_t)n;
}

static int inter(MPI_Comm comm)
{
	int flag = 0;
	PMPI_Comm_test_inter(comm, &flag);
	return flag;
}

/* lg_root returns whether this process is the root. For an intercommunicator, root is MPI_ROOT there, or a rank of the remote group. */
HIDDEN int lg_root(MPI_Comm comm, int root) { return inter(comm) ? root == MPI_ROOT : root == lg_rank(comm); }

/* lg_degree returns the number of neighbours in a topology from which (out: to which) this process receives (sends). */
HIDDEN uint64_t lg_degree(MPI_Comm comm, int out)
{
	int kind = MPI_UNDEFINED, n = 0, far = 0, weighted = 0;
	PMPI_Topo_test(comm, &kind);
	if (kind == MPI_CART) {
		PMPI_Cartdim_get(comm, &n);
		n *= 2;
	} else if (kind == MPI_GRAPH)
		PMPI_Graph_neighbors_count(comm, lg_rank(comm), &n);
	else if (kind == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors_count(comm, &n, &far, &weighted);
		n = out ? far : n;
	}
	return (uint64_t)n;
}

HIDDEN void lg_comm(int parameter, MPI_Comm comm)
{
	uint64_t a[4] = {0};
	if (comm != MPI_COMM_NULL) {
		a[0] = cr_comm(comm);
		a[1] = lg_size(comm);
		a[2] = (uint64_t)lg_rank(comm);
		a[3] = inter(comm) ? cr_peers(comm) : 0;
	}
	lg_item(IT_COMM, parameter);
	for (int i = 0; i < 4; i++)
		lg_varint(a[i]);
}

HIDDEN void lg_group(int parameter, MPI_Group group)
{
	static uint64_t newest = 1;
	lg_item(IT_OBJECT, parameter);
	lg_varint(group == MPI_GROUP_NULL ? 0 : group == MPI_GROUP_EMPTY ? 1 : ++newest);
}

HIDDEN void lg_message(int parameter, MPI_Message message)
{
	static uint64_t newest = 1;
	lg_item(IT_OBJECT, parameter);
	lg_varint(message == MPI_MESSAGE_NULL ? 0 : message == MPI_MESSAGE_NO_PROC ? 1 : ++newest);
}

HIDDEN int64_t lg_received(const MPI_Status *status)
{
	MPI_Count n = 0;
	if (PMPI_Get_elements_x((MPI_Status *)status, MPI_BYTE, &n) != MPI_SUCCESS || n < 0)
		return 0;
	return n;
}

HIDDEN void lg_status(int parameter, int index, const MPI_Status *status)
{
	int cancelled = 0;
	PMPI_Test_cancelled((MPI_Status *)status, &cancelled);
	lg_item(IT_STATUS, parameter);
	lg_varint((uint64_t)index);
	lg_varint(lg_zigzag(status->MPI_SOURCE));
	lg_varint(lg_zigzag(status->MPI_TAG));
	lg_varint(lg_zigzag(status->MPI_ERROR));
	lg_varint((uint64_t)lg_received(status));
	lg_varint(cancelled ? 1 : 0);
}

HIDDEN void lg_text(int parameter, const void *text, int length)
{
	lg_item(IT_TEXT, parameter);
	lg_varint((uint64_t)(length > 0 ? length : 0));
	lg_put(text, length > 0 ? (size_t)length : 0);
}

HIDDEN void lg_real(int parameter, double value)
{
	lg_item(IT_REAL, parameter);
	lg_put(&value, sizeof value);
}

/* Pieces. */

HIDDEN void lg_piece(struct lg_data *d, const void *buffer, MPI_Count count, MPI_Datatype type)
{
	if (count <= 0 || type == MPI_DATATYPE_NULL)
		return;
	if (buffer == &mpi_fortran_bottom_ || (&MPIR_F_MPI_BOTTOM && buffer == MPIR_F_MPI_BOTTOM) || buffer == &MPIR_F08_MPI_BOTTOM)
		buffer = MPI_BOTTOM;
	struct lg_piece p = {buffer, count, type};
	if (d->n == 0)
		d->one = p;
	if (d->n >= 1 && d->n >= d->room) {
		struct lg_piece *all = realloc(d->all, (2 * d->n + 14) * sizeof *all);
		if (!all) {
			d->lost = 1;
			return;
		}
		all[0] = d->one;
		d->all = all;
		d->room = 2 * d->n + 14;
	}
	if (d->all)
		d->all[d->n] = p;
	d->n++;
}

static const struct lg_piece *pieces(const struct lg_data *d) { return d->all ? d->all : &d->one; }

static MPI_Count at(const void *array, size_t width, uint64_t i)
{
	return width == sizeof(int) ? ((const int *)array)[i] : ((const MPI_Count *)array)[i];
}

static const void *beyond(const void *buffer, MPI_Count bytes) { return (const void *)((uintptr_t)buffer + (uintptr_t)bytes); }

HIDDEN void lg_vector(struct lg_data *d, uint64_t n, const void *buffer, const void *counts, size_t count_width, const void *displs,
	size_t displ_width, MPI_Datatype type)
{
	MPI_Aint lb = 0, extent = 0;
	PMPI_Type_get_extent(type, &lb, &extent);
	for (uint64_t i = 0; i < n; i++)
		lg_piece(d, beyond(buffer, at(displs, displ_width, i) * extent), at(counts, count_width, i), type);
}

HIDDEN void lg_types(struct lg_data *d, uint64_t n, const void *buffer, const void *counts, size_t count_width, const void *displs,
	size_t displ_width, const MPI_Datatype *types)
{
	for (uint64_t i = 0; i < n; i++)
		lg_piece(d, beyond(buffer, at(displs, displ_width, i)), at(counts, count_width, i), types[i]);
}

HIDDEN void lg_fortran_types(struct lg_data *d, uint64_t n, const void *buffer, const void *counts, size_t count_width,
	const void *displs, size_t displ_width, const MPI_Fint *types)
{
	for (uint64_t i = 0; i < n; i++)
		lg_piece(d, beyond(buffer, at(displs, displ_width, i)), at(counts, count_width, i), PMPI_Type_f2c(types[i]));
}

HIDDEN uint64_t lg_sum(uint64_t n, const void *counts, size_t width, MPI_Datatype type)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += (uint64_t)at(counts, width, i);
	return sum * cr_bytes(1, type);
}

HIDDEN uint64_t lg_sum_types(uint64_t n, const void *counts, size_t width, const MPI_Datatype *types)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += cr_bytes(at(counts, width, i), types[i]);
	return sum;
}

HIDDEN uint64_t lg_sum_fortran_types(uint64_t n, const void *counts, size_t width, const MPI_Fint *types)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += cr_bytes(at(counts, width, i), PMPI_Type_f2c(types[i]));
	return sum;
}

static int derived(MPI_Datatype type)
{
	int a, b, c, combiner = MPI_COMBINER_NAMED;
	PMPI_Type_get_envelope(type, &a, &b, &c, &combiner);
	return combiner != MPI_COMBINER_NAMED;
}

/* plain returns whether elements lie in memory as MPI_Pack would write them. */
static int plain(MPI_Datatype type, int size)
{
	MPI_Aint lb = 0, extent = 0;
	if (derived(type))
		return 0;
	PMPI_Type_get_extent(type, &lb, &extent);
	return lb == 0 && extent == size;
}

/* pack copies at most limit bytes of a piece to a buffer that has room for the whole piece. */
static void pack(const struct lg_piece *p, uint8_t *to, uint64_t limit)
{
	int size = 0;
	PMPI_Type_size(p->type, &size);
	if (size <= 0)
		return;
	if (plain(p->type, size)) {
		memcpy(to, p->buffer, (uint64_t)p->count * (uint64_t)size < limit ? (uint64_t)p->count * (uint64_t)size : limit);
		return;
	}
	MPI_Aint lb = 0, extent = 0;
	PMPI_Type_get_extent(p->type, &lb, &extent);
	MPI_Count n = (MPI_Count)((limit + (uint64_t)size - 1) / (uint64_t)size), most = (1 << 30) / size + 1;
	if (n > p->count)
		n = p->count;
	for (MPI_Count i = 0; i < n; i += most) { /* MPI_Pack takes the size as int */
		int part = (int)(n - i < most ? n - i : most), position = 0;
		PMPI_Pack(beyond(p->buffer, i * extent), part, p->type, to + i * size, part * size, &position, MPI_COMM_SELF);
	}
}

HIDDEN void lg_data(int parameter, struct lg_data *d, int64_t limit)
{
	const struct lg_piece *p = pieces(d);
	uint64_t total = 0, done = 0;
	for (size_t i = 0; i < d->n; i++)
		total += cr_bytes(p[i].count, p[i].type);
	uint64_t wanted = limit >= 0 && (uint64_t)limit < total ? (uint64_t)limit : total;
	if (d->lost)
		lg_lost();
	if (wanted && !d->lost) {
		lg_item(IT_DATA, parameter);
		uint8_t *to = lg_room(total + 32);
		for (size_t i = 0; to && i < d->n && done < wanted; i++) {
			pack(&p[i], to + 11 + done, wanted - done);
			done += cr_bytes(p[i].count, p[i].type);
		}
		if (to)
			lg_payload(wanted);
	}
	lg_drop(d);
}

/* lg_keep duplicates the datatypes: the program may free its own before the data arrive. */
HIDDEN void lg_keep(struct lg_data *d)
{
	struct lg_piece *p = d->all ? d->all : &d->one;
	d->kept = 1;
	for (size_t i = 0; i < d->n; i++)
		if (derived(p[i].type))
			PMPI_Type_dup(p[i].type, &p[i].type);
}

HIDDEN void lg_drop(struct lg_data *d)
{
	struct lg_piece *p = d->all ? d->all : &d->one;
	for (size_t i = 0; d->kept && i < d->n; i++)
		if (derived(p[i].type))
			PMPI_Type_free(&p[i].type);
	free(d->all);
	*d = (struct lg_data){0};
}
