/* Writes the events of an OTF2 archive as a Pallas trace, for comparison of sizes.
 *
 *   pallas recorded|renumbered ANCHOR FOLDER
 *
 * Pallas has no converter. Every location is a thread in an archive of its process; every event is recorded with its
 * arguments and time, as Pallas' recorders would. Program begin and end become a block, records of communicators
 * single events; attributes are left out. The identity of a request is part of a Pallas event, and Score-P counts
 * requests upwards, so with "recorded" each call with a request is new; with "renumbered" a request takes the least
 * number that is free, as in a recorder made for Pallas. Prints the number of events, and the CPU seconds. */
#include <inttypes.h>
#include <otf2/otf2.h>
#include <pallas/pallas.h>
#include <pallas/pallas_archive.h>
#include <pallas/pallas_record.h>
#include <pallas/pallas_write.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ROOM = 1 << 16, PROGRAM = 0x00ffffff };

struct location {
	uint64_t id;
	uint32_t group;
};

static struct {
	struct GlobalArchive *global;
	struct location locations[ROOM];
	size_t count;
	bool renumber;
	uint64_t open[ROOM]; /* request that has the number of the index, plus 1 */
	size_t highest;
	ThreadWriter *writer;
} to;

static void fail(const char *what)
{
	fprintf(stderr, "pallas: %s\n", what);
	exit(1);
}

/* starts and ends are the first and last record of a request. */
static uint64_t starts(uint64_t request)
{
	size_t i = 0;
	if (!to.renumber)
		return request;
	while (i < to.highest && to.open[i])
		i++;
	if (i == ROOM)
		fail("too many open requests");
	if (i == to.highest)
		to.highest++;
	to.open[i] = request + 1;
	return i;
}

static uint64_t ends(uint64_t request)
{
	if (!to.renumber)
		return request;
	for (size_t i = 0; i < to.highest; i++)
		if (to.open[i] == request + 1) {
			to.open[i] = 0;
			return i;
		}
	fail("a request ends that has not begun");
	return 0;
}

#define EVENT OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t position, void *data, OTF2_AttributeList *a
#define IGNORE (void)l, (void)position, (void)data, (void)a

static OTF2_CallbackCode enter(EVENT, OTF2_RegionRef region)
{
	IGNORE;
	pallas_record_enter(to.writer, NULL, t, region);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode leave(EVENT, OTF2_RegionRef region)
{
	IGNORE;
	pallas_record_leave(to.writer, NULL, t, region);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode program_begin(EVENT, OTF2_StringRef name, uint32_t n, const OTF2_StringRef *arguments)
{
	IGNORE, (void)name, (void)n, (void)arguments;
	pallas_record_enter(to.writer, NULL, t, PROGRAM);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode program_end(EVENT, int64_t status)
{
	IGNORE, (void)status;
	pallas_record_leave(to.writer, NULL, t, PROGRAM);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode send(EVENT, uint32_t rank, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
	IGNORE;
	pallas_record_mpi_send(to.writer, NULL, t, rank, comm, tag, bytes);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode recv(EVENT, uint32_t rank, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
	IGNORE;
	pallas_record_mpi_recv(to.writer, NULL, t, rank, comm, tag, bytes);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode isend(EVENT, uint32_t rank, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
	IGNORE;
	pallas_record_mpi_isend(to.writer, NULL, t, rank, comm, tag, bytes, starts(request));
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode isend_complete(EVENT, uint64_t request)
{
	IGNORE;
	pallas_record_mpi_isend_complete(to.writer, NULL, t, ends(request));
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode irecv_request(EVENT, uint64_t request)
{
	IGNORE;
	pallas_record_mpi_irecv_request(to.writer, NULL, t, starts(request));
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode irecv(EVENT, uint32_t rank, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
	IGNORE;
	pallas_record_mpi_irecv(to.writer, NULL, t, rank, comm, tag, bytes, ends(request));
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode collective_begin(EVENT)
{
	IGNORE;
	pallas_record_mpi_collective_begin(to.writer, NULL, t);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode collective_end(EVENT, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received)
{
	IGNORE;
	pallas_record_mpi_collective_end(to.writer, NULL, t, op, comm, root, sent, received);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode comm_create(EVENT, OTF2_CommRef comm)
{
	IGNORE;
	pallas_record_singleton(to.writer, NULL, PALLAS_EVENT_GENERIC, t, sizeof comm, (byte *)&comm);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_EvtReaderCallbacks *event_callbacks(void)
{
	OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
	OTF2_EvtReaderCallbacks_SetEnterCallback(c, enter);
	OTF2_EvtReaderCallbacks_SetLeaveCallback(c, leave);
	OTF2_EvtReaderCallbacks_SetProgramBeginCallback(c, program_begin);
	OTF2_EvtReaderCallbacks_SetProgramEndCallback(c, program_end);
	OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, send);
	OTF2_EvtReaderCallbacks_SetMpiRecvCallback(c, recv);
	OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, isend);
	OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(c, isend_complete);
	OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(c, irecv_request);
	OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(c, irecv);
	OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(c, collective_begin);
	OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(c, collective_end);
	OTF2_EvtReaderCallbacks_SetCommCreateCallback(c, comm_create);
	OTF2_EvtReaderCallbacks_SetCommDestroyCallback(c, comm_create);
	return c;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef id, const char *text)
{
	(void)data;
	pallas_global_archive_register_string(to.global, id, text);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef id, OTF2_StringRef name, OTF2_StringRef canonical, OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t from, uint32_t until)
{
	(void)data, (void)canonical, (void)description, (void)role, (void)paradigm, (void)flags, (void)file, (void)from, (void)until;
	pallas_global_archive_register_region(to.global, id, name);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef group)
{
	(void)data, (void)name, (void)type, (void)events;
	if (to.count == ROOM)
		fail("too many locations");
	to.locations[to.count++] = (struct location){id, group};
	return OTF2_CALLBACK_SUCCESS;
}

/* Reads what the archive defines, and selects all of its locations. */
static void define(OTF2_Reader *reader)
{
	uint64_t n;
	OTF2_GlobalDefReader *defs = OTF2_Reader_GetGlobalDefReader(reader);
	OTF2_GlobalDefReaderCallbacks *calls = OTF2_GlobalDefReaderCallbacks_New();
	OTF2_GlobalDefReaderCallbacks_SetStringCallback(calls, on_string);
	OTF2_GlobalDefReaderCallbacks_SetRegionCallback(calls, on_region);
	OTF2_GlobalDefReaderCallbacks_SetLocationCallback(calls, on_location);
	OTF2_Reader_RegisterGlobalDefCallbacks(reader, defs, calls, NULL);
	OTF2_Reader_ReadAllGlobalDefinitions(reader, defs, &n);
	pallas_global_archive_register_region(to.global, PROGRAM, 0);
	for (size_t i = 0; i < to.count; i++)
		OTF2_Reader_SelectLocation(reader, to.locations[i].id);
	if (OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS) {
		for (size_t i = 0; i < to.count; i++) {
			OTF2_DefReader *d = OTF2_Reader_GetDefReader(reader, to.locations[i].id);
			if (d) {
				OTF2_Reader_ReadAllLocalDefinitions(reader, d, &n);
				OTF2_Reader_CloseDefReader(reader, d);
			}
		}
		OTF2_Reader_CloseDefFiles(reader);
	}
}

/* Records the events of one location. */
static uint64_t record(OTF2_Reader *reader, OTF2_EvtReaderCallbacks *calls, struct location l, const char *folder)
{
	uint64_t n;
	struct Archive *archive = pallas_archive_new(folder, l.group);
	archive->global_archive = to.global;
	pallas_global_archive_define_location_group(to.global, l.group, 0, PALLAS_LOCATION_GROUP_ID_INVALID);
	pallas_archive_define_location(archive, (ThreadId)l.id, 0, l.group);
	to.writer = pallas_thread_writer_new(archive, (ThreadId)l.id);
	to.highest = 0;
	memset(to.open, 0, sizeof to.open);
	OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, l.id);
	if (!events)
		fail("cannot read a location's events");
	OTF2_Reader_RegisterEvtCallbacks(reader, events, calls, NULL);
	if (OTF2_Reader_ReadAllLocalEvents(reader, events, &n) != OTF2_SUCCESS)
		fail("damaged events");
	OTF2_Reader_CloseEvtReader(reader, events);
	pallas_thread_writer_close(to.writer);
	pallas_thread_writer_delete(to.writer);
	pallas_archive_close(archive);
	pallas_archive_delete(archive);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t events = 0;
	struct rusage u;

	if (argc != 4)
		fail("usage: pallas recorded|renumbered ANCHOR FOLDER");
	to.renumber = !strcmp(argv[1], "renumbered");
	OTF2_Reader *reader = OTF2_Reader_Open(argv[2]);
	if (!reader)
		fail("cannot open the archive");
	OTF2_Reader_SetSerialCollectiveCallbacks(reader);
	to.global = pallas_global_archive_new(argv[3], "trace");
	define(reader);
	OTF2_Reader_OpenEvtFiles(reader);
	OTF2_EvtReaderCallbacks *calls = event_callbacks();
	for (size_t i = 0; i < to.count; i++)
		events += record(reader, calls, to.locations[i], argv[3]);
	pallas_global_archive_close(to.global);
	getrusage(RUSAGE_SELF, &u);
	printf("%" PRIu64 " %.3f\n", events, u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec));
	return 0;
}
