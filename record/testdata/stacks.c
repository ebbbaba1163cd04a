/* Goes through a program instruction by instruction, and compares the stack that the recorder finds at each with that of the compiler's
 * unwinder. Prints whether the C library finds tables without a lock (glibc 2.35), the instructions, those where the recorder leaves it to that unwinder, and those where the two differ. */
#define _GNU_SOURCE
#include "stream.h"

#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define MOST 128
#define TRAP_FLAG 0x100

static uintptr_t top, from;
static long all, left, differ;
static volatile double x;
static volatile int over;

struct frames {
	unsigned n;
	uintptr_t address[MOST];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct frames *f = data;
	uintptr_t address = _Unwind_GetIP(context);
	if (f->n == 0 && address != from)
		return _URC_NO_REASON;
	if (!address || f->n == MOST)
		return _URC_END_OF_STACK;
	f->address[f->n] = address + (f->n == 0);
	f->n++;
	return _URC_NO_REASON;
}

static void stepped(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	struct frames own, other = {0};
	int limited;
	(void)number, (void)info;
	from = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
	own.n = cr_frames(u, top, UINTPTR_MAX, own.address, MOST, &limited);
	_Unwind_Backtrace(step, &other);
	all++;
	left += own.n == 0;
	differ += own.n > 0 && (own.n != other.n || memcmp(own.address, other.address, own.n * sizeof *own.address) != 0);
	if (over)
		u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

__attribute__((noinline)) static double aligned(int n)
{
	_Alignas(64) double a[8];
	for (int i = 0; i < 8; i++)
		a[i] = x * i;
	return n > 0 ? aligned(n - 1) + a[n % 8] : a[0];
}

__attribute__((noinline)) static double sized(int n)
{
	char *p = alloca((size_t)(16 * n + 16));
	memset(p, n, (size_t)(16 * n));
	return n > 0 ? sized(n - 1) + p[n] : *p;
}

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void)
{
	struct sigaction steps = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
	pthread_attr_t attributes;
	void *bottom;
	size_t size;
	int numbers[100];
	char text[64];
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &bottom, &size);
	top = (uintptr_t)bottom + size;
	sigaction(SIGTRAP, &steps, NULL);
	__asm__ volatile("pushfq; orl %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	x = aligned(10) + sized(10);
	for (int i = 0; i < 100; i++)
		numbers[i] = rand();
	qsort(numbers, 100, sizeof *numbers, ascending);
	snprintf(text, sizeof text, "%f %d", x, numbers[0]);
	free(malloc(100));
	over = 1;
	x += strtod(text, NULL);
	printf("%d %ld %ld %ld\n", __GLIBC_PREREQ(2, 35), all, left, differ);
	return 0;
}
