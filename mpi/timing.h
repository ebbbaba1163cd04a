// Timing of the MPI library's own calls, with nothing of Go between them.
#ifndef COPPICE_MPI_TIMING_H
#define COPPICE_MPI_TIMING_H

#include "glue.h"

enum { COP_CLOCK, COP_ROUND_TRIP, COP_SEND, COP_RECEIVE, COP_BURST, COP_EAGER, COP_EAGER_INSIDE, COP_REDUCE };

// cop_time repeats one kind of operation with rank peer of c, which makes the same call with lead 0. The leader gets the
// time of each repetition in ns[0..n-1], or, for COP_EAGER and COP_EAGER_INSIDE, whether a send of that size ended before
// its receive began. peer may be the own rank. count is the number of messages of a burst. Returns an MPI error code.
int cop_time(int kind, MPI_Comm c, int peer, int lead, int bytes, int count, int n, int64_t *ns);

#endif
