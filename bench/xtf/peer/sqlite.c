/* SQLite at its best for this: the key is the row id, so the table is the tree;
 * one transaction without journal and syncs until the end, prepared statements,
 * the file mapped for lookups in memory, a page cache and its counter when cold. */
#include "harness.h"

#include <sqlite3.h>

static sqlite3 *db;
static sqlite3_stmt *seek, *record, *count;
static uint64_t found;

static void check(int rc)
{
	if (rc != SQLITE_OK)
		fail("sqlite", db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

static void execute(const char *sql) { check(sqlite3_exec(db, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *sql)
{
	sqlite3_stmt *s;
	check(sqlite3_prepare_v2(db, sql, -1, &s, NULL));
	return s;
}

static void store_build(const char *path, uint64_t n)
{
	struct generator g = generator_start;
	unsigned char payload[PAYLOAD];

	unlink(path);
	check(sqlite3_open(path, &db));
	execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
	        "PRAGMA cache_size = -65536; CREATE TABLE r (t INTEGER PRIMARY KEY, v BLOB NOT NULL); BEGIN");
	sqlite3_stmt *insert = prepare("INSERT INTO r VALUES (?, ?)");
	for (uint64_t i = 0; i < n; i++) {
		sqlite3_bind_int64(insert, 1, generator_next(&g, payload));
		sqlite3_bind_blob(insert, 2, payload, PAYLOAD, SQLITE_STATIC);
		if (sqlite3_step(insert) != SQLITE_DONE)
			fail("sqlite", sqlite3_errmsg(db));
		sqlite3_reset(insert);
	}
	check(sqlite3_finalize(insert));
	execute("COMMIT");
	check(sqlite3_close(db));
	int fd = open(path, O_RDWR);
	if (fd < 0 || fsync(fd) != 0)
		fail(path, "fsync");
	close(fd);
}

static void store_open(const char *path, int cold)
{
	check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL));
	execute(cold ? "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; BEGIN"
	             : "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; PRAGMA mmap_size = 68719476736; BEGIN");
	seek = prepare("SELECT t FROM r WHERE t >= ? ORDER BY t LIMIT 1");
	record = prepare("SELECT v FROM r WHERE t = ?");
	count = prepare("SELECT count(*) FROM r WHERE t >= ? AND t < ?");
}

static void store_close(void)
{
	sqlite3_finalize(seek);
	sqlite3_finalize(record);
	sqlite3_finalize(count);
	execute("COMMIT");
	check(sqlite3_close(db));
}

static void store_seek(uint64_t key)
{
	sqlite3_bind_int64(seek, 1, key);
	if (sqlite3_step(seek) != SQLITE_ROW)
		fail("sqlite", "no record at or behind the key");
	found = sqlite3_column_int64(seek, 0);
	sqlite3_reset(seek);
}

static void store_record(uint64_t *key, uint64_t *value)
{
	sqlite3_bind_int64(record, 1, found);
	if (sqlite3_step(record) != SQLITE_ROW)
		fail("sqlite", "record is gone");
	*key = found;
	memcpy(value, (const char *)sqlite3_column_blob(record, 0) + 24, sizeof *value);
	sqlite3_reset(record);
}

static uint64_t store_count(uint64_t from, uint64_t to)
{
	sqlite3_bind_int64(count, 1, from);
	sqlite3_bind_int64(count, 2, to);
	if (sqlite3_step(count) != SQLITE_ROW)
		fail("sqlite", sqlite3_errmsg(db));
	uint64_t n = sqlite3_column_int64(count, 0);
	sqlite3_reset(count);
	return n;
}

static int64_t store_reads(void)
{
	int now = 0, high = 0;
	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &now, &high, 0);
	return now;
}
