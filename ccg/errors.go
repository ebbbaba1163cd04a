package ccg

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart.
var (
	ErrCorrupt    = errors.New("corrupt call graph")                      // bytes contradict the format
	ErrVersion    = errors.New("call graph of another version")           // written by a later version or in another mode
	ErrTime       = errors.New("time runs backwards")                     // an event before its predecessor
	ErrBatch      = errors.New("malformed event batch")                   // words of an event do not fit its kind
	ErrLimit      = errors.New("call graph too large")                    // more nodes, tuples or entries of open calls than there are numbers
	ErrDeviation  = errors.New("bad deviation")                           // bounds that contradict themselves or the text form
	ErrRange      = errors.New("outside the location")                    // no such event, call or interval
	ErrNoCodebook = errors.New("a lossy call graph without its codebook") // distributing needs the one of the run
	ErrForeign    = errors.New("location is not part of this graph")      // a node that the shared graph does not have
)

// wrap says of an error, if there is one, what failed.
func wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
