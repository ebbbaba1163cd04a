#define _GNU_SOURCE
#include "stream.h"

#include <dlfcn.h>
#include <string.h>

/*
 * Unwinds stacks of x86-64 for samples by the tables of the code (.eh_frame; System V ABI, DWARF). To be cheap it caches, for an
 * instruction, a rule with only what is needed to find the caller: where the frame ends and where the frame pointer is saved. Rare forms,
 * such as frames of signal handlers, are not understood.
 */

#if defined __x86_64__ && defined __GLIBC_PREREQ && __GLIBC_PREREQ(2, 35)

#define RULES (1 << 13)
enum { FRAME_POINTER = 6, STACK_POINTER, RETURN_ADDRESS = 16 };

/* The end of a frame is at an offset from a register, or is stored there (LIES). The return address is below the end. */
struct rule {
	int32_t offset;
	int16_t pointer; /* offset of the caller's frame pointer from the end, in words; 0: unchanged */
	uint8_t of, how;
};
enum { KNOWN = 1, LIES = 2, OUTERMOST = 4, POINTED = 8 }; /* POINTED: the caller's frame pointer is stored where the frame pointer points to */

/* The cache, shared by all threads without a lock. A half-written entry does not match its instruction. */
static struct {
	_Atomic(uint64_t) key, rule;
} rules[RULES];

static uint64_t number(const uint8_t **p, const uint8_t *end, int sign)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b = 0x80;
	while (b & 0x80 && *p < end) {
		b = *(*p)++;
		v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
		shift += 7;
	}
	return sign && b & 0x40 && shift < 64 ? v | -(UINT64_C(1) << shift) : v;
}

static int32_t word(const uint8_t *p)
{
	int32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* ended reads an expression for the end of a frame. It knows those of procedure linkage tables, and of functions that align their stack. */
static int ended(struct rule *r, const uint8_t *p, uint64_t n, uintptr_t pc)
{
	static const uint8_t entry[] = {0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}; /* + 8 * ((pc & 15) >= 11) */
	r->of = n > 1 ? p[0] - 0x70 : 0;
	r->offset = n > 1 ? (int8_t)(p[1] << 1) >> 1 : 0; /* sign of a one-byte number */
	if (n == 3 && p[2] == 0x06 && !(p[1] & 0x80)) {
		r->how |= LIES;
		return r->of <= 16;
	}
	r->offset += (pc & 15) >= 11 ? 8 : 0;
	return n == 2 + sizeof entry && r->of == STACK_POINTER && memcmp(p + 2, entry, sizeof entry) == 0;
}

/* run executes instructions of a table up to the wanted instruction. It returns 0 if it does not understand one. */
static int run(struct rule *r, const struct rule *initial, const uint8_t *p, const uint8_t *end, uintptr_t at, uintptr_t pc, uint64_t code, int64_t data)
{
	struct rule before[8];
	unsigned n = 0;
	while (p < end && at <= pc) {
		uint8_t op = *p++;
		uint64_t reg = op & 0x3f;
		int64_t offset = 0;
		int where = 0; /* the instruction says where a register is saved */
		switch (op & 0xc0 ? op & 0xc0 : op) {
		case 0x40: /* advance */
			at += reg * code;
			continue;
		case 0x02: case 0x03: case 0x04:
			if (end - p < 4)
				return 0;
			at += (op == 2 ? *p : (uint32_t)word(p) & (op == 3 ? 0xffff : UINT32_MAX)) * code;
			p += op == 2 ? 1 : op == 3 ? 2 : 4;
			continue;
		case 0x80:
			where = 1;
			offset = (int64_t)number(&p, end, 0) * data;
			break;
		case 0x05: case 0x11:
			where = 1;
			reg = number(&p, end, 0);
			offset = (int64_t)number(&p, end, op == 0x11) * data;
			break;
		case 0xc0: case 0x06: /* restore */
			reg = op == 6 ? number(&p, end, 0) : reg;
			if (reg == RETURN_ADDRESS)
				return 0;
			if (reg == FRAME_POINTER) {
				r->pointer = initial->pointer;
				r->how = (uint8_t)(r->how & ~POINTED);
			}
			continue;
		case 0x07: /* undefined */
			reg = number(&p, end, 0);
			r->how |= reg == RETURN_ADDRESS ? OUTERMOST : 0;
			continue;
		case 0x08: /* same value */
			reg = number(&p, end, 0);
			if (reg == RETURN_ADDRESS)
				return 0;
			if (reg == FRAME_POINTER)
				r->pointer = 0;
			continue;
		case 0x0a:
			if (n == sizeof before / sizeof *before)
				return 0;
			before[n++] = *r;
			continue;
		case 0x0b:
			if (!n)
				return 0;
			*r = before[--n];
			continue;
		case 0x0c: case 0x12: case 0x0d: case 0x0e: case 0x13: /* define the end: register and offset, or one of them */
			if (op != 0x0e && op != 0x13)
				r->of = (uint8_t)number(&p, end, 0);
			if (op != 0x0d)
				offset = (int64_t)number(&p, end, op >= 0x12) * (op >= 0x12 ? data : 1);
			if (offset != (int32_t)offset)
				return 0;
			if (op != 0x0d)
				r->offset = (int32_t)offset;
			r->how = (uint8_t)(r->how & ~LIES);
			continue;
		case 0x0f: /* define the end by an expression */
			reg = number(&p, end, 0);
			if (reg > (uint64_t)(end - p) || !ended(r, p, reg, pc))
				return 0;
			p += reg;
			continue;
		case 0x10: case 0x16: { /* a register by an expression */
			reg = number(&p, end, 0);
			uint64_t bytes = number(&p, end, 0);
			if (bytes > (uint64_t)(end - p) || reg == RETURN_ADDRESS)
				return 0;
			if (reg == FRAME_POINTER) {
				if (op != 0x10 || bytes != 2 || p[0] != 0x70 + FRAME_POINTER || p[1] != 0)
					return 0;
				r->how |= POINTED;
			}
			p += bytes;
			continue;
		}
		case 0x2e: /* ignored */
			number(&p, end, 0);
			continue;
		case 0x00:
			continue;
		default:
			return 0;
		}
		if (where && reg == RETURN_ADDRESS && offset != -8)
			return 0;
		if (where && reg == FRAME_POINTER) {
			if (offset % 8 || offset / 8 != (int16_t)(offset / 8))
				return 0;
			r->pointer = (int16_t)(offset / 8);
			r->how = (uint8_t)(r->how & ~POINTED);
		}
	}
	return 1;
}

/* described finds the rule of an instruction in a table with a sorted index (.eh_frame_hdr). */
static int described(uintptr_t pc, struct rule *r)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)pc, &found) != 0 || !found.dlfo_eh_frame)
		return 0;
	const uint8_t *head = found.dlfo_eh_frame, *table = head + 12;
	if (head[0] != 1 || head[1] != 0x1b || head[2] != 0x03 || head[3] != 0x3b) /* version 1; relative addresses of 4 bytes, sorted */
		return 0;
	uint32_t low = 0, high = (uint32_t)word(head + 8);
	int64_t wanted = (int64_t)(pc - (uintptr_t)head);
	if (!high)
		return 0;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (word(table + 8 * (size_t)middle) <= wanted)
			low = middle;
		else
			high = middle;
	}
	const uint8_t *p = head + word(table + 8 * (size_t)low + 4), *end = p + 4 + (uint32_t)word(p), *common = p + 4 - word(p + 4);
	if (word(p) < 13 || word(common) < 9 || word(common + 4) != 0)
		return 0;
	const uint8_t *c = common + 8, *common_end = common + 4 + (uint32_t)word(common);
	const char *letters = (const char *)c + 1;
	if (*c != 1 && *c != 3)
		return 0;
	c += 2 + strlen(letters);
	uint64_t code = number(&c, common_end, 0);
	int64_t data = (int64_t)number(&c, common_end, 1);
	uint64_t returns = number(&c, common_end, 0), bytes = *letters == 'z' ? number(&c, common_end, 0) : UINT64_MAX;
	if (returns != RETURN_ADDRESS || bytes > (uint64_t)(common_end - c))
		return 0;
	const uint8_t *says = c;
	for (const char *l = letters + 1; *l; l++)
		if (*l == 'R' && *says == 0x1b)
			says++;
		else if (*l == 'L')
			says++;
		else if (*l == 'P')
			says += (*says & 7) == 3 ? 5 : (*says & 7) == 4 || (*says & 7) == 0 ? 9 : 1000;
		else /* signal handler, or unknown */
			return 0;
	uintptr_t begin = (uintptr_t)(p + 8) + (uintptr_t)(intptr_t)word(p + 8);
	if (says != c + bytes || pc - begin >= (uint32_t)word(p + 12))
		return 0;
	p += 16;
	bytes = number(&p, end, 0);
	*r = (struct rule){.how = KNOWN};
	if (bytes > (uint64_t)(end - p) || !run(r, r, c + (says - c), common_end, 0, 0, code, data))
		return 0;
	struct rule initial = *r;
	return run(r, &initial, p + bytes, end, begin, pc, code, data) && r->of <= 16;
}

static struct rule rule_of(uintptr_t pc)
{
	struct rule r = {0};
	uint64_t at = pc * 0x9E3779B97F4A7C15u >> 51, key, packed;
	_Static_assert(sizeof r == sizeof packed && RULES == 1 << (64 - 51), "a rule is a word");
	packed = atomic_load_explicit(&rules[at].rule, memory_order_relaxed);
	key = atomic_load_explicit(&rules[at].key, memory_order_relaxed);
	if ((key ^ packed) == pc) {
		memcpy(&r, &packed, sizeof r);
		return r;
	}
	if (!described(pc, &r))
		r = (struct rule){0};
	memcpy(&packed, &r, sizeof r);
	atomic_store_explicit(&rules[at].rule, packed, memory_order_relaxed);
	atomic_store_explicit(&rules[at].key, pc ^ packed, memory_order_relaxed);
	return r;
}

HIDDEN unsigned cr_frames(const ucontext_t *u, uintptr_t top, uintptr_t limit, uintptr_t *address, unsigned most, int *limited)
{
	static const uint8_t saved[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	const greg_t *g = u->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)g[REG_RIP], stack = (uintptr_t)g[REG_RSP], pointer = (uintptr_t)g[REG_RBP];
	const uintptr_t lowest = stack - 128; /* values popped last are still in the red zone, which signals do not change */
#define ON_STACK(at) ((at) >= lowest && (at) < top && (at) % sizeof(uintptr_t) == 0)
	for (unsigned n = 0; n < most; n++) {
		struct rule r = rule_of(pc - (n > 0));
		if (!r.how || (n > 0 && r.of != STACK_POINTER && r.of != FRAME_POINTER))
			return 0;
		uintptr_t end = (r.of == STACK_POINTER ? stack : r.of == FRAME_POINTER ? pointer : (uintptr_t)g[saved[r.of]]) + (uintptr_t)(intptr_t)r.offset;
		if (r.how & LIES) {
			if (!ON_STACK(end))
				return 0;
			end = *(const uintptr_t *)end;
		}
		if (end <= stack || (!(r.how & OUTERMOST) && !ON_STACK(end - sizeof end)))
			return 0;
		*limited = end > limit;
		if (*limited)
			return n;
		address[n] = pc + (n == 0);
		if (r.how & OUTERMOST || end >= top)
			return n + 1;
		uintptr_t kept = r.how & POINTED ? pointer : end + (uintptr_t)(intptr_t)r.pointer * sizeof end;
		if (r.pointer || r.how & POINTED) {
			if (!ON_STACK(kept))
				return 0;
			pointer = *(const uintptr_t *)kept;
		}
		pc = *(const uintptr_t *)(end - sizeof end);
		stack = end;
		if (!pc)
			return n + 1;
	}
	return most;
}
#else
HIDDEN unsigned cr_frames(const ucontext_t *u, uintptr_t top, uintptr_t limit, uintptr_t *address, unsigned most, int *limited)
{
	(void)u, (void)top, (void)limit, (void)address, (void)most, (void)limited;
	return 0;
}
#endif
