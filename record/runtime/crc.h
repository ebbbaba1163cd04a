/* CRC-32C (Castagnoli): by the processor's own instruction where it has one, else by tables of 8 bytes at a time. */
#ifndef COPPICE_CRC_H
#define COPPICE_CRC_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t crc_tables[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_make(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
		crc_tables[0][i] = c;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++)
			crc_tables[k][i] = crc_tables[k - 1][i] >> 8 ^ crc_tables[0][crc_tables[k - 1][i] & 0xff];
}

static uint32_t crc_plain(uint32_t c, const uint8_t *p, size_t n)
{
	uint32_t (*t)[256] = crc_tables;
	pthread_once(&crc_once, crc_make);
	for (; n >= 8; n -= 8, p += 8) {
		c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
		c = t[7][c & 0xff] ^ t[6][c >> 8 & 0xff] ^ t[5][c >> 16 & 0xff] ^ t[4][c >> 24] ^ t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]];
	}
	while (n--)
		c = t[0][(c ^ *p++) & 0xff] ^ c >> 8;
	return c;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t c, const uint8_t *p, size_t n)
{
	uint64_t v, w = c;
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		w = __builtin_ia32_crc32di(w, v);
	}
	for (; n; n--)
		w = __builtin_ia32_crc32qi((uint32_t)w, *p++);
	return (uint32_t)w;
}
#endif

static uint32_t crc32c(const uint8_t *p, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_fast(~0u, p, n);
#endif
	return ~crc_plain(~0u, p, n);
}

#endif
