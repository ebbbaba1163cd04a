/*
 * Markers for the intervals of coppice, for C and C++.
 *
 *     coppice_begin(153);      // an interval with the number 153 begins
 *     for (...) { ... }
 *     coppice_end(153);        // and ends
 *
 * A marker is two empty messages of a process to itself, one right after the other: the first
 * says begin or end, the second carries the number in its tag. Any tool that records messages
 * keeps it. Numbers are 0 to 32767, the tags that every MPI library allows. A marker takes well
 * below a microsecond. Call it from the thread that calls MPI, between MPI_Init and MPI_Finalize.
 *
 * Each message is one MPI_Sendrecv: an MPI_Send to oneself could wait for ever.
 */
#ifndef COPPICE_INTERVALS_H
#define COPPICE_INTERVALS_H

#include <mpi.h>
#include <stddef.h>

/* With -finstrument-functions a region would begin between the two messages, and they would not be a marker. */
#if defined(__GNUC__)
#define COPPICE_PLAIN_ __attribute__((no_instrument_function))
#else
#define COPPICE_PLAIN_
#endif

static inline COPPICE_PLAIN_ void coppice_message_(int tag)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, 0, tag, NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static inline COPPICE_PLAIN_ void coppice_begin(int number)
{
    coppice_message_(0x2AAA);
    coppice_message_(number);
}

static inline COPPICE_PLAIN_ void coppice_end(int number)
{
    coppice_message_(0x2ABB);
    coppice_message_(number);
}

#endif
