/* LMDB at its best for this: integer keys, records appended in order through a
 * writable map without syncs until the end, read-only and without lock file for
 * lookups, no read-ahead when cold. */
#include "harness.h"

#include <lmdb.h>

static MDB_env *env;
static MDB_txn *txn;
static MDB_dbi dbi;
static MDB_cursor *cursor;
static MDB_val found_key, found;
static int64_t faults;

static void check(int rc)
{
	if (rc != MDB_SUCCESS)
		fail("lmdb", mdb_strerror(rc));
}

static int64_t major_faults(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_majflt;
}

static void store_build(const char *path, uint64_t n)
{
	enum { BATCH = 1000000 };
	struct generator g = generator_start;
	unsigned char payload[PAYLOAD];
	uint64_t k;
	MDB_val key = {sizeof k, &k}, val = {PAYLOAD, payload};

	unlink(path);
	check(mdb_env_create(&env));
	check(mdb_env_set_mapsize(env, (n * 100 + (64 << 20)) & ~(size_t)0xfff));
	check(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_WRITEMAP | MDB_NOSYNC | MDB_NOLOCK, 0644));
	for (uint64_t i = 0; i < n;) {
		check(mdb_txn_begin(env, NULL, 0, &txn));
		check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY | MDB_CREATE, &dbi));
		check(mdb_cursor_open(txn, dbi, &cursor));
		for (int j = 0; j < BATCH && i < n; i++, j++) {
			k = generator_next(&g, payload);
			check(mdb_cursor_put(cursor, &key, &val, MDB_APPEND));
		}
		mdb_cursor_close(cursor);
		check(mdb_txn_commit(txn));
	}
	check(mdb_env_sync(env, 1));
	mdb_env_close(env);
}

static void store_open(const char *path, int cold)
{
	check(mdb_env_create(&env));
	check(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | (cold ? MDB_NORDAHEAD : 0), 0644));
	check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi));
	check(mdb_cursor_open(txn, dbi, &cursor));
	faults = major_faults();
}

static void store_close(void)
{
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void store_seek(uint64_t key)
{
	found_key = (MDB_val){sizeof key, &key};
	check(mdb_cursor_get(cursor, &found_key, &found, MDB_SET_RANGE));
}

static void store_record(uint64_t *key, uint64_t *value)
{
	memcpy(key, found_key.mv_data, sizeof *key);
	memcpy(value, (char *)found.mv_data + 24, sizeof *value);
}

static uint64_t store_count(uint64_t from, uint64_t to)
{
	uint64_t n = 0, k;
	MDB_val key = {sizeof from, &from}, val;
	int rc = mdb_cursor_get(cursor, &key, &val, MDB_SET_RANGE);
	while (rc == MDB_SUCCESS) {
		memcpy(&k, key.mv_data, sizeof k);
		if (k >= to)
			return n;
		n++;
		rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT);
	}
	if (rc != MDB_NOTFOUND)
		check(rc);
	return n;
}

static int64_t store_reads(void) { return major_faults() - faults; }
