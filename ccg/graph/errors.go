package graph

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart.
var (
	ErrCorrupt   = errors.New("corrupt call graph")                 // bytes contradict the format
	ErrVersion   = errors.New("call graph of another version")      // written by a later version or in another mode
	ErrLimit     = errors.New("call graph too large")               // more nodes, tuples or entries of open calls than there are numbers
	ErrDeviation = errors.New("bad deviation")                      // bounds that contradict themselves or the text form
	ErrForeign   = errors.New("location is not part of this graph") // a node that the shared graph does not have
)

// Wrap says of an error, if there is one, what failed.
func Wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
