package ccg

import "github.com/coppice-hpc/coppice/column"

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

// markWriter writes the marks of a location.
type markWriter struct {
	column *column.Writer // nil if there are none
	since  uint64         // ticks since the last mark
	left   int            // events up to the next
}

func (d *Distributor) marks(v *view) markWriter {
	m := markWriter{left: markEvery + 1} // event 0 is mark 0
	if v.marks >= 0 {
		m.column = &d.writers[v.marks]
	}
	return m
}

// add takes the gap of the next event.
func (m *markWriter) add(gap uint64) {
	m.since += gap
	if m.left--; m.left == 0 {
		m.column.Add(m.since)
		m.since, m.left = 0, markEvery
	}
}
