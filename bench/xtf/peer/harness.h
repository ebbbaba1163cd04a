/* Measures a store in C the way the package records does for those in Go: the
 * same records, keys and queries, the same steps, the same lines of output.
 *
 *   PROGRAM FILE RECORDS QUERIES COLD
 *
 * A store defines store_build, store_open, store_close, store_seek (leaves the
 * store at the first record at or behind key), store_record (key and fourth number
 * of that record), store_count and store_reads (pages read since open, or -1). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD = 56 };

static void store_build(const char *path, uint64_t n);
static void store_open(const char *path, int cold);
static void store_close(void);
static void store_seek(uint64_t key);
static void store_record(uint64_t *key, uint64_t *value);
static uint64_t store_count(uint64_t from, uint64_t to);
static int64_t store_reads(void);

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

struct generator {
	uint64_t state, n, key;
};

static const struct generator generator_start = {1, 0, (uint64_t)1 << 40};

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t generator_next(struct generator *g, unsigned char *payload)
{
	uint64_t r = mix(&g->state), n = g->n++;
	g->key += 700 + (r & 1023);
	uint64_t wide[4] = {g->key + 150 + (r >> 10 & 4095), 2 * n + 7, n + (r >> 32 & 3), (uint64_t)4096 << (n % 3)};
	uint32_t narrow[6] = {31 + (n & 1), r >> 40 & 7, 0, r >> 48 & 7, n & 1, r >> 24 & 63};
	memcpy(payload, wide, sizeof wide);
	memcpy(payload + sizeof wide, narrow, sizeof narrow);
	return g->key;
}

static uint64_t *all_keys(uint64_t n)
{
	struct generator g = generator_start;
	unsigned char payload[PAYLOAD];
	uint64_t *keys = malloc(n * sizeof *keys);
	if (!keys)
		fail("keys", "out of memory");
	for (uint64_t i = 0; i < n; i++)
		keys[i] = generator_next(&g, payload);
	return keys;
}

static double cpu_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double wall_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* What the process has had fetched from storage, 0 where the kernel does not tell. */
static int64_t read_bytes(void)
{
	int64_t n = 0;
	char line[128];
	FILE *f = fopen("/proc/self/io", "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "read_bytes: %" SCNd64, &n) == 1)
			break;
	fclose(f);
	return n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return n ? v[n / 2] : 0;
}

static void measure_build(const char *path, uint64_t n)
{
	double wall = wall_seconds(), cpu = cpu_seconds();
	struct stat st;
	struct rusage u;
	store_build(path, n);
	printf("build_s %f\nbuild_cpu_s %f\n", wall_seconds() - wall, cpu_seconds() - cpu);
	getrusage(RUSAGE_SELF, &u);
	printf("build_peak_kib %ld\n", u.ru_maxrss);
	if (stat(path, &st) != 0)
		fail(path, "not there");
	printf("bytes %" PRId64 "\n", (int64_t)st.st_blocks * 512 < st.st_size ? (int64_t)st.st_blocks * 512 : (int64_t)st.st_size);
}

static void measure_warm(const uint64_t *q, size_t queries)
{
	uint64_t keys = 0, values = 0, k, v;
	for (size_t i = 0; i < queries; i++) {
		store_seek(q[i]);
		store_record(&k, &v);
		keys += k, values += v;
	}
	printf("check_keys %" PRIu64 "\ncheck_values %" PRIu64 "\n", keys, values);
	double cpu = cpu_seconds();
	for (size_t i = 0; i < queries; i++)
		store_seek(q[i]);
	printf("search_ns %f\n", (cpu_seconds() - cpu) / queries * 1e9);
	cpu = cpu_seconds();
	for (size_t i = 0; i < queries; i++) {
		store_seek(q[i]);
		store_record(&k, &v);
		keys += k, values += v;
	}
	printf("record_ns %f\n", (cpu_seconds() - cpu) / queries * 1e9);
}

static void measure_count(const uint64_t *keys, uint64_t n)
{
	uint64_t rows = n / 2 < 1000000 ? n / 2 : 1000000, state = 3, total = 0, first[64];
	int done = 0;
	for (int i = 0; i < 64; i++)
		first[i] = mix(&state) % (n - rows);
	double cpu = cpu_seconds();
	while (cpu_seconds() - cpu < 0.1)
		for (int i = 0; i < 4; i++, done++)
			total += store_count(keys[first[done % 64]], keys[first[done % 64] + rows]);
	printf("count_us %f\ncheck_count %" PRIu64 "\n", (cpu_seconds() - cpu) / done * 1e6, total / done);
}

static void drop(const char *path)
{
	int fd = open(path, O_RDONLY);
	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fail(path, "posix_fadvise");
	close(fd);
}

static void measure_cold(const char *path, const uint64_t *q, size_t queries)
{
	double *opens = calloc(queries, sizeof *opens), *walls = calloc(queries, sizeof *walls);
	int64_t bytes = 0, reads = 0;
	if (!opens || !walls)
		fail("cold", "out of memory");
	for (size_t i = 0; i < queries; i++) {
		drop(path);
		double start = wall_seconds();
		store_open(path, 1);
		opens[i] = (wall_seconds() - start) * 1e6;
		int64_t b = read_bytes(), r = store_reads();
		start = wall_seconds();
		store_seek(q[i]);
		walls[i] = (wall_seconds() - start) * 1e6;
		reads += store_reads() - r;
		bytes += read_bytes() - b;
		store_close();
	}
	printf("open_us %f\ncold_us %f\n", median(opens, queries), median(walls, queries));
	printf("cold_reads %f\ncold_kib %f\n", (double)reads / queries, bytes / 1024.0 / queries);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		fail("usage", "PROGRAM FILE RECORDS QUERIES COLD");
	uint64_t n = strtoull(argv[2], NULL, 10), state = 2;
	size_t queries = strtoull(argv[3], NULL, 10), cold = strtoull(argv[4], NULL, 10);
	measure_build(argv[1], n);
	uint64_t *keys = all_keys(n), *q = malloc((queries + 1) * sizeof *q);
	if (!q)
		fail("queries", "out of memory");
	for (size_t i = 0; i < queries; i++) {
		uint64_t r = mix(&state);
		q[i] = keys[r % (n - 1)] + (r >> 63);
	}
	store_open(argv[1], 0);
	measure_warm(q, queries);
	measure_count(keys, n);
	store_close();
	measure_cold(argv[1], q, cold < queries ? cold : queries);
	return 0;
}
