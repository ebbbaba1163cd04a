/* Hash table by handle, with linear probing. It allocates memory only when it grows. */
#ifndef COPPICE_HASHTABLE_H
#define COPPICE_HASHTABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A slot. number 0 means that it is free. Most fields are of requests (requests.c). */
struct slot {
	uint64_t handle, number;
	uint64_t kind, active, cancelled; /* of requests */
	uint64_t comm, bytes, op, root, received;
	uint64_t peer, tag, thread;
	struct neighbours *near;
	struct slot *later, *latest; /* other requests in progress with the same handle, oldest first; the last of them */
};

struct table {
	struct slot *slots;
	size_t size, used;
};

static inline size_t home(const struct table *t, uint64_t handle)
{
	return (size_t)(handle * 0x9E3779B97F4A7C15u >> 32) & (t->size - 1);
}

static inline struct slot *find(struct table *t, uint64_t handle)
{
	if (!t->size)
		return NULL;
	for (size_t i = home(t, handle); t->slots[i].number; i = (i + 1) & (t->size - 1))
		if (t->slots[i].handle == handle)
			return &t->slots[i];
	return NULL;
}

static inline struct slot *place(struct table *t, uint64_t handle)
{
	size_t i = home(t, handle);
	while (t->slots[i].number && t->slots[i].handle != handle)
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

/* insert returns a cleared slot for a handle, NULL without memory. The caller must set its number at once. */
static inline struct slot *insert(struct table *t, uint64_t handle)
{
	if (2 * (t->used + 1) > t->size) {
		struct table bigger = {.size = t->size ? 2 * t->size : 64};
		bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
		if (!bigger.slots)
			return NULL;
		for (size_t i = 0; i < t->size; i++)
			if (t->slots[i].number)
				*place(&bigger, t->slots[i].handle) = t->slots[i];
		bigger.used = t->used;
		free(t->slots);
		*t = bigger;
	}
	struct slot *s = place(t, handle);
	if (!s->number)
		t->used++;
	memset(s, 0, sizeof *s);
	s->handle = handle;
	return s;
}

/* discard frees a slot and moves later slots of its run back. */
static inline void discard(struct table *t, struct slot *s)
{
	size_t mask = t->size - 1, i = (size_t)(s - t->slots);
	for (size_t j = (i + 1) & mask; t->slots[j].number; j = (j + 1) & mask)
		if (((j - home(t, t->slots[j].handle)) & mask) >= ((j - i) & mask)) {
			t->slots[i] = t->slots[j];
			i = j;
		}
	memset(&t->slots[i], 0, sizeof t->slots[i]);
	t->used--;
}

#define HANDLE(x) ((uint64_t)(uintptr_t)(x))

#endif
