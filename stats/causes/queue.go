package causes

import "slices"

// queue holds rows in their order until they are taken.
type queue[R any] struct {
	list []R
	at   int
}

func (q *queue[R]) more() bool { return q.at < len(q.list) }

// head is the next row, until it is taken or another one comes.
func (q *queue[R]) head() *R { return &q.list[q.at] }

func (q *queue[R]) pop() {
	if q.at++; q.at == len(q.list) {
		q.list, q.at = q.list[:0], 0
	}
}

// push returns the place of a row after the others, with any content: who fills it field by field is twice as fast as a copy, which
// reads in wider words than were written just now.
func (q *queue[R]) push() *R {
	if q.at > 64 && 2*q.at > len(q.list) {
		q.list, q.at = append(q.list[:0], q.list[q.at:]...), 0
	}
	q.list = slices.Grow(q.list, 1)[:len(q.list)+1]
	return &q.list[len(q.list)-1]
}
