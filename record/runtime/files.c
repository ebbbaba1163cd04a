#include "recorder.h"

#include "hashtable.h"
#include <pthread.h>
#include <stdatomic.h>

/*
 * Files by the value of their handles. Events have the number of a definition: the communicator (or how the file is opened without MPI) and
 * the name. A file that is opened again after it was closed gets the same definition.
 */

struct file {
	uint64_t number;
	uint64_t unit;     /* bytes of the elementary datatype, the unit of offsets */
	struct cr_io split; /* split collective operation that has begun */
	int open;
	struct file *next; /* in the same bucket */
	size_t length;
	uint64_t comm; /* with the name: the body of the definition */
	char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table opened;            /* by handle */
static struct file *known[1 << 12];    /* by hash of communicator and name */
static uint64_t defined;
static _Atomic(uint64_t) newest;

static void event(unsigned what, uint64_t file, uint64_t a, uint64_t b, uint64_t id)
{
	uint64_t n[5] = {what, file, a, b, id};
	cr_event(EV_FILE, 5, n);
}

/* definition returns the definition of this communicator and name that is not in use, or makes one. The lock is held. length: of a
 * Fortran name, padded with blanks; -1 in C. NULL: no memory. */
static struct file *definition(uint64_t comm, const char *name, long length)
{
	size_t n = length < 0 ? strlen(name) : (size_t)length;
	while (length >= 0 && n > 0 && name[n - 1] == ' ')
		n--;
	uint64_t hash = comm + 1469598103934665603u;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
	struct file **bucket = &known[hash % (sizeof known / sizeof *known)], *f = *bucket;
	while (f && (f->open || f->comm != comm || f->length != n || memcmp(f->name, name, n) != 0))
		f = f->next;
	if (f)
		return f;
	f = cr_alloc(sizeof *f + n + 1);
	if (!f) {
		cr_no_memory();
		return NULL;
	}
	f->number = ++defined;
	f->comm = comm;
	f->length = n;
	f->next = *bucket;
	memcpy(f->name, name, n);
	*bucket = f;
	cr_define(DEF_FILE, &f->comm, sizeof comm + n);
	return f;
}

HIDDEN void cr_file_stays(MPI_File fh, struct file *f)
{
	pthread_mutex_lock(&lock);
	struct slot *s = f ? insert(&opened, HANDLE(fh)) : NULL;
	if (s) {
		s->number = 1;
		s->root = (uint64_t)(uintptr_t)f;
	} else if (f)
		cr_no_memory();
	pthread_mutex_unlock(&lock);
}

/* OTF2's flags for how a file is opened. */
static uint64_t access_mode(int mode) { return mode & MPI_MODE_RDONLY ? 0 : mode & MPI_MODE_WRONLY ? 1 : 2; }
static uint64_t creation(int mode)
{
	return (mode & MPI_MODE_CREATE ? 1u : 0) | (mode & MPI_MODE_EXCL ? 8u : 0) | (mode & MPI_MODE_SEQUENTIAL ? 512u : 0) |
		(mode & MPI_MODE_UNIQUE_OPEN ? 1024u : 0);
}
static uint64_t status_flags(int mode) { return (mode & MPI_MODE_APPEND ? 2u : 0) | (mode & MPI_MODE_DELETE_ON_CLOSE ? 256u : 0); }

/* cr_clear_stack writes zeros where the next call has its stack frame. MPICH 4.0 reads the uninitialised handle of a file that could not
 * be opened from Fortran: a 0 there gives an invalid handle, another value may crash. */
HIDDEN __attribute__((noinline)) void cr_clear_stack(void)
{
	char room[4096];
	memset(room, 0, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
}

HIDDEN void cr_file_opened(MPI_Comm comm, const char *name, long length, int mode, MPI_File fh)
{
	uint64_t number = cr_comm(comm);
	pthread_mutex_lock(&lock);
	struct file *f = definition(number, name, length);
	if (f) {
		f->open = 1;
		f->unit = 1;
		event(FILE_CREATE | (unsigned)access_mode(mode) << 8, f->number, creation(mode), status_flags(mode), 0);
	}
	pthread_mutex_unlock(&lock);
	cr_file_stays(fh, f);
}

HIDDEN struct file *cr_file_gone(const MPI_File *fh)
{
	pthread_mutex_lock(&lock);
	struct slot *s = fh ? find(&opened, HANDLE(*fh)) : NULL;
	struct file *f = s ? (struct file *)(uintptr_t)s->root : NULL;
	if (s)
		discard(&opened, s);
	pthread_mutex_unlock(&lock);
	return f;
}

HIDDEN void cr_file_closed(struct file *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&lock);
	f->open = 0;
	event(FILE_DESTROY, f->number, 0, 0, 0);
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_file_deleted(const char *name, long length)
{
	pthread_mutex_lock(&lock);
	struct file *f = definition(0, name, length);
	if (f)
		event(FILE_DELETE, f->number, 0, 0, 0);
	pthread_mutex_unlock(&lock);
}

/* file_of returns an open file, or one with number 0 if it is not known. The lock is held. */
static struct file *file_of(MPI_File fh)
{
	static struct file none;
	struct slot *s = find(&opened, HANDLE(fh));
	return s ? (struct file *)(uintptr_t)s->root : &none;
}

HIDDEN void cr_file_view(MPI_File fh, MPI_Datatype unit)
{
	uint64_t bytes = cr_bytes(1, unit);
	pthread_mutex_lock(&lock);
	file_of(fh)->unit = bytes;
	pthread_mutex_unlock(&lock);
}

/* cr_file_seek records a new position. Others may have moved a shared pointer meanwhile, so of that only absolute positions are
 * recorded. */
HIDDEN void cr_file_seek(MPI_File fh, MPI_Offset offset, int whence, int shared)
{
	MPI_Offset at = offset, byte = 0;
	pthread_mutex_lock(&lock);
	uint64_t number = file_of(fh)->number, unit = file_of(fh)->unit;
	pthread_mutex_unlock(&lock);
	if (!number || (shared && whence != MPI_SEEK_SET) || (!shared && PMPI_File_get_position(fh, &at) != MPI_SUCCESS) ||
		PMPI_File_get_byte_offset(fh, at, &byte) != MPI_SUCCESS)
		return;
	int64_t asked = whence == MPI_SEEK_SET ? byte : offset * (int64_t)unit;
	unsigned from = whence == MPI_SEEK_SET ? 0 : whence == MPI_SEEK_CUR ? 1 : 2;
	event(FILE_SEEK | from << 8, number, (uint64_t)asked << 1 ^ (uint64_t)(asked >> 63), (uint64_t)byte, 0);
}

HIDDEN struct cr_io cr_io_begin(MPI_File fh, unsigned what, MPI_Offset offset, uint64_t bytes)
{
	MPI_Offset byte = -1;
	struct cr_io io = {.asked = bytes};
	pthread_mutex_lock(&lock);
	io.file = file_of(fh)->number;
	pthread_mutex_unlock(&lock);
	io.id = io.file ? atomic_fetch_add(&newest, 1) + 1 : 0;
	if (io.id && offset >= 0 && PMPI_File_get_byte_offset(fh, offset, &byte) != MPI_SUCCESS)
		byte = -1;
	if (io.id)
		event(FILE_BEGIN | what, io.file, bytes, (uint64_t)(byte + 1), io.id);
	return io;
}

HIDDEN void cr_io_end(struct cr_io io, const MPI_Status *status)
{
	uint64_t moved = status && io.asked ? cr_received(status) : io.asked;
	if (io.id)
		event(FILE_COMPLETE, io.file, moved < io.asked ? moved : io.asked, 0, io.id);
}

HIDDEN void cr_io_cancelled(struct cr_io io)
{
	if (io.id)
		event(FILE_CANCELLED, io.file, 0, 0, io.id);
}

static void issued(struct cr_io io)
{
	if (io.id)
		event(FILE_ISSUED, io.file, 0, 0, io.id);
}

HIDDEN void cr_io_later(MPI_Request request, struct cr_io io)
{
	issued(io);
	cr_io_request(request, io);
}

HIDDEN void cr_io_split(MPI_File fh, struct cr_io io)
{
	issued(io);
	pthread_mutex_lock(&lock);
	file_of(fh)->split = io;
	pthread_mutex_unlock(&lock);
}

HIDDEN struct cr_io cr_io_joined(MPI_File fh)
{
	pthread_mutex_lock(&lock);
	struct cr_io io = file_of(fh)->split;
	file_of(fh)->split = (struct cr_io){0};
	pthread_mutex_unlock(&lock);
	return io;
}

/* Files without MPI. */

HIDDEN struct file *cr_handle(uint64_t how, const char *name)
{
	pthread_mutex_lock(&lock);
	struct file *f = definition(how, name, -1);
	if (f)
		f->open = 1;
	pthread_mutex_unlock(&lock);
	return f;
}

HIDDEN void cr_handle_event(unsigned what, const struct file *f, uint64_t a, uint64_t b) { event(what, f->number, a, b, 0); }

HIDDEN void cr_handle_copied(const struct file *f, const struct file *copy, uint64_t flags)
{
	event(FILE_DUPLICATE, f->number, copy->number, flags, 0);
}

HIDDEN void cr_handle_lost(struct file *f)
{
	pthread_mutex_lock(&lock);
	f->open = 0;
	pthread_mutex_unlock(&lock);
}

HIDDEN struct cr_io cr_handle_begin(const struct file *f, unsigned what, int64_t offset, uint64_t bytes)
{
	struct cr_io io = {f->number, atomic_fetch_add(&newest, 1) + 1, bytes};
	event(FILE_BEGIN | what, io.file, bytes, (uint64_t)(offset + 1), io.id);
	return io;
}

HIDDEN void cr_handle_end(struct cr_io io, uint64_t moved) { event(FILE_COMPLETE, io.file, moved, 0, io.id); }
