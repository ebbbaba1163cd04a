/* Reads an OTF2 archive with libotf2, for comparison with ours.
 *
 *   peer decode|touch|merge ANCHOR
 *
 * decode: every location by itself, no callbacks; touch: with callbacks for the
 * kinds in the archive; merge: all locations by time, with callbacks. Prints the
 * number of events, the CPU seconds spent on them and a sum over their fields. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <otf2/otf2.h>

struct locations {
	uint64_t *ids;
	size_t count, room;
};

static uint64_t sum;

static double cpu_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void fail(const char *what)
{
	fprintf(stderr, "peer: %s\n", what);
	exit(1);
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef group)
{
	struct locations *l = data;
	(void)name, (void)type, (void)events, (void)group;
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 16;
		l->ids = realloc(l->ids, l->room * sizeof *l->ids);
		if (!l->ids)
			fail("out of memory");
	}
	l->ids[l->count++] = id;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode local_region(OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t position, void *data,
                                      OTF2_AttributeList *a, OTF2_RegionRef region)
{
	(void)l, (void)position, (void)data, (void)a;
	sum ^= t + region;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode local_message(OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t position, void *data,
                                       OTF2_AttributeList *a, uint32_t rank, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
	(void)l, (void)position, (void)data, (void)a;
	sum ^= t + rank + comm + tag + bytes;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode global_region(OTF2_LocationRef l, OTF2_TimeStamp t, void *data, OTF2_AttributeList *a, OTF2_RegionRef region)
{
	(void)l, (void)data, (void)a;
	sum ^= t + region;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode global_message(OTF2_LocationRef l, OTF2_TimeStamp t, void *data, OTF2_AttributeList *a, uint32_t rank,
                                        OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
	(void)l, (void)data, (void)a;
	sum ^= t + rank + comm + tag + bytes;
	return OTF2_CALLBACK_SUCCESS;
}

static uint64_t read_local(OTF2_Reader *reader, const struct locations *l, bool touch)
{
	uint64_t total = 0, n;
	OTF2_EvtReaderCallbacks *calls = OTF2_EvtReaderCallbacks_New();
	if (touch) {
		OTF2_EvtReaderCallbacks_SetEnterCallback(calls, local_region);
		OTF2_EvtReaderCallbacks_SetLeaveCallback(calls, local_region);
		OTF2_EvtReaderCallbacks_SetMpiSendCallback(calls, local_message);
		OTF2_EvtReaderCallbacks_SetMpiRecvCallback(calls, local_message);
	}
	for (size_t i = 0; i < l->count; i++) {
		OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, l->ids[i]);
		if (!events)
			fail("cannot read a location's events");
		OTF2_Reader_RegisterEvtCallbacks(reader, events, calls, NULL);
		if (OTF2_Reader_ReadAllLocalEvents(reader, events, &n) != OTF2_SUCCESS)
			fail("damaged events");
		total += n;
		OTF2_Reader_CloseEvtReader(reader, events);
	}
	OTF2_EvtReaderCallbacks_Delete(calls);
	return total;
}

static uint64_t read_merged(OTF2_Reader *reader, const struct locations *l)
{
	uint64_t total = 0;
	for (size_t i = 0; i < l->count; i++)
		OTF2_Reader_GetEvtReader(reader, l->ids[i]);
	OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
	OTF2_GlobalEvtReaderCallbacks *calls = OTF2_GlobalEvtReaderCallbacks_New();
	OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(calls, global_region);
	OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(calls, global_region);
	OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(calls, global_message);
	OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(calls, global_message);
	OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, calls, NULL);
	if (OTF2_Reader_ReadAllGlobalEvents(reader, events, &total) != OTF2_SUCCESS)
		fail("damaged events");
	OTF2_GlobalEvtReaderCallbacks_Delete(calls);
	OTF2_Reader_CloseGlobalEvtReader(reader, events);
	return total;
}

int main(int argc, char **argv)
{
	struct locations l = {0};
	uint64_t n, total;

	if (argc != 3)
		fail("usage: peer decode|touch|merge ANCHOR");
	OTF2_Reader *reader = OTF2_Reader_Open(argv[2]);
	if (!reader)
		fail("cannot open the archive");
	OTF2_Reader_SetSerialCollectiveCallbacks(reader);
	OTF2_GlobalDefReader *defs = OTF2_Reader_GetGlobalDefReader(reader);
	OTF2_GlobalDefReaderCallbacks *calls = OTF2_GlobalDefReaderCallbacks_New();
	OTF2_GlobalDefReaderCallbacks_SetLocationCallback(calls, on_location);
	OTF2_Reader_RegisterGlobalDefCallbacks(reader, defs, calls, &l);
	OTF2_Reader_ReadAllGlobalDefinitions(reader, defs, &n);
	for (size_t i = 0; i < l.count; i++)
		OTF2_Reader_SelectLocation(reader, l.ids[i]);
	double before = cpu_seconds();
	if (OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS) {
		for (size_t i = 0; i < l.count; i++) {
			OTF2_DefReader *d = OTF2_Reader_GetDefReader(reader, l.ids[i]);
			if (d) {
				OTF2_Reader_ReadAllLocalDefinitions(reader, d, &n);
				OTF2_Reader_CloseDefReader(reader, d);
			}
		}
		OTF2_Reader_CloseDefFiles(reader);
	}
	OTF2_Reader_OpenEvtFiles(reader);
	if (!strcmp(argv[1], "merge"))
		total = read_merged(reader, &l);
	else
		total = read_local(reader, &l, !strcmp(argv[1], "touch"));
	printf("%" PRIu64 " %.6f %" PRIx64 "\n", total, cpu_seconds() - before, sum);
	return 0;
}
