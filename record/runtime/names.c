#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Names of regions and of MPI_Pcontrol, numbered in the order of their first use. Number 0 is the program. */

struct name {
	struct name *following;
	uint64_t number;
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *buckets[1024];
static uint64_t count;

HIDDEN uint64_t cr_name(const char *text)
{
	uint64_t h = 1469598103934665603u, number = 0;
	size_t length = 0;
	for (; text[length]; length++)
		h = (h ^ (unsigned char)text[length]) * 1099511628211u;
	pthread_mutex_lock(&lock);
	struct name **at = &buckets[h % 1024];
	while (*at && strcmp((*at)->text, text) != 0)
		at = &(*at)->following;
	if (*at)
		number = (*at)->number;
	else if ((*at = malloc(sizeof **at + length + 1))) {
		(*at)->following = NULL;
		(*at)->number = number = ++count;
		memcpy((*at)->text, text, length + 1);
		char b[8 + 256];
		size_t n = length < 256 ? length : 256;
		memcpy(b, &number, 8);
		memcpy(b + 8, text, n);
		cr_define(DEF_NAME, b, 8 + n);
		cr_part_named(text, number);
	} else
		cr_no_memory();
	pthread_mutex_unlock(&lock);
	return number;
}
