package graph

import (
	"errors"
	"fmt"
)

// Errors that callers distinguish.
var (
	ErrCorrupt   = errors.New("corrupt call graph")                 // the bytes contradict the format
	ErrVersion   = errors.New("call graph of another version")      // written by another version or in another mode
	ErrLimit     = errors.New("call graph too large")               // more nodes, tuples or entries of open calls than there are numbers
	ErrDeviation = errors.New("bad deviation")                      // bounds that contradict themselves or the text form
	ErrForeign   = errors.New("location is not part of this graph") // a node that the shared graph does not have
)

// Wrap adds context to an error, if there is one.
func Wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
