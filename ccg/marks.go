package ccg

// markEvery is the number of events between two marks. Mark k is the time of
// event k*markEvery less that of the mark before; mark 0, the first event's
// time, is not stored. Marks lead from times to event numbers and back by binary
// search and a walk of less than markEvery events.
const markEvery = 1024

// markCount returns the number of marks of a location.
func (v *view) markCount() uint64 {
	if v.events == 0 {
		return 0
	}
	return (v.events - 1) / markEvery
}
