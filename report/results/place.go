package results

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// Place is where an answer is about.
type Place struct {
	Location uint64 `json:"location"` // id in the trace
	Process  uint32 `json:"process"`
	Thread   uint32 `json:"thread"`
}

// Place is where location p is.
func (r *Run) Place(p trace.P) Place {
	process, thread := r.Defs.Process(p)
	return Place{r.Defs.Location(p).Ref, process, thread}
}

// Text names the place for people.
func (p Place) Text() string {
	return fmt.Sprintf("process %d, thread %d (location %d)", p.Process, p.Thread, p.Location)
}
