package graph

// MarkEvery is the number of events between two marks. Mark k is the time of
// event k*markEvery less that of the mark before; mark 0, the first event's
// time, is not stored. Marks lead from times to event numbers and back by binary
// search and a walk of less than markEvery events.
const MarkEvery = 1024

// MarkCount returns the number of marks of a location.
func (v *View) MarkCount() uint64 {
	if v.Events == 0 {
		return 0
	}
	return (v.Events - 1) / MarkEvery
}
