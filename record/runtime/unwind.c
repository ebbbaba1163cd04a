#define _GNU_SOURCE
#include "stream.h"

#include <dlfcn.h>
#include <unwind.h>

/*
 * Unwinds the stack that a signal interrupted, in its handler, so it does not allocate memory or take a lock of the dynamic linker.
 *
 * _dl_find_object (glibc 2.35 or later) finds tables of code without a lock; the compiler's unwinder uses it too. Without it, a stack has
 * only the interrupted instruction.
 */

static _Thread_local uintptr_t top; /* top of the thread's stack, 0 if not known */

#if defined __GLIBC_PREREQ && __GLIBC_PREREQ(2, 35)
#define UNWINDS 1
HIDDEN const struct link_map *cr_tables(uintptr_t address)
{
	struct dl_find_object found;
	return _dl_find_object((void *)address, &found) == 0 ? found.dlfo_link_map : NULL;
}
#else
#define UNWINDS 0
HIDDEN const struct link_map *cr_tables(uintptr_t address)
{
	(void)address;
	return NULL;
}
#endif

struct walk {
	uintptr_t from, below, limit; /* interrupted instruction; end of the previous frame; most frames end below this */
	unsigned n, most;
	int limited; /* stopped at limit */
	uintptr_t *address;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct walk *w = data;
	uintptr_t address = _Unwind_GetIP(context), end = _Unwind_GetCFA(context);
	if (w->n == 0 && address != w->from) /* frames of the handler */
		return _URC_NO_REASON;
	w->limited = end > w->limit;
	if (!address || w->limited)
		return _URC_END_OF_STACK;
	w->address[w->n] = address + (w->n == 0); /* like the others, which are return addresses */
	w->n++;
	/* Stop unless the unwinder would read the stack, and code that has tables. */
	int wrong = end < w->below || end >= top || !cr_tables(address - (w->n > 1));
	w->below = end;
	return wrong || w->n == w->most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static uintptr_t interrupted(const ucontext_t *u)
{
#if defined __x86_64__
	return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
	return (uintptr_t)u->uc_mcontext.pc;
#else
	(void)u;
	return 0;
#endif
}

/* caller returns the return address if the interrupted instruction is the first of a function. */
static uintptr_t caller(const ucontext_t *u)
{
#if defined __x86_64__
	uintptr_t stack = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
	return stack < top && stack % sizeof stack == 0 ? *(uintptr_t *)stack : 0;
#elif defined __aarch64__
	return (uintptr_t)u->uc_mcontext.regs[30];
#else
	(void)u;
	return 0;
#endif
}

HIDDEN unsigned cr_unwind(const ucontext_t *u, uintptr_t limit, uintptr_t *address, unsigned most, int *limited)
{
	struct walk w = {.from = interrupted(u), .limit = limit, .most = most, .address = address};
	unsigned n = cr_frames(u, top, limit, address, most, limited);
	if (n > 0)
		return n;
	if (UNWINDS && cr_tables(w.from))
		_Unwind_Backtrace(step, &w);
	else if (UNWINDS && cr_tables(caller(u) - 1)) /* a jump to an invalid address */
		address[w.n++] = caller(u);
	if (w.n == 0 && w.from)
		address[w.n++] = w.from + 1;
	*limited = w.limited;
	return w.n;
}

HIDDEN unsigned cr_unwind_call(uintptr_t from, uintptr_t *address, unsigned most)
{
	struct walk w = {.from = from, .limit = UINTPTR_MAX, .most = most, .address = address};
	if (UNWINDS)
		_Unwind_Backtrace(step, &w);
	if (w.n > 0)
		address[0]--; /* as for the others, from is after the call */
	return w.n;
}

HIDDEN void cr_unwind_thread(void)
{
	pthread_attr_t attributes;
	void *bottom;
	size_t size;
	uintptr_t none;
	struct walk w = {.from = 1, .most = 1, .address = &none};
	if (top || pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &bottom, &size) == 0)
		top = (uintptr_t)bottom + size;
	pthread_attr_destroy(&attributes);
	if (UNWINDS)
		_Unwind_Backtrace(step, &w); /* loads the unwinder's library before a handler needs it */
}
