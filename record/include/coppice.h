/*
 * Regions of a program for coppice record. They cost one comparison while the program runs without the recorder, and
 * need no library.
 *
 *	COPPICE_BEGIN("solver");
 *	...
 *	COPPICE_END("solver");
 *
 * Regions nest; each thread has its own. Those before MPI_Init, after MPI_Finalize or inside of an MPI call are left out.
 */
#ifndef COPPICE_H
#define COPPICE_H

#ifdef __cplusplus
extern "C" {
#endif

extern __attribute__((weak)) void coppice_region_begin(const char *name);
extern __attribute__((weak)) void coppice_region_end(void);

#ifdef __cplusplus
}
#endif

#define COPPICE_BEGIN(name) \
	do { \
		if (coppice_region_begin) \
			coppice_region_begin(name); \
	} while (0)

/* The name is only for readers: this ends the region that was begun last. */
#define COPPICE_END(name) \
	do { \
		(void)(name); \
		if (coppice_region_end) \
			coppice_region_end(); \
	} while (0)

#endif
