package stats

// request is a nonblocking operation that is posted and not complete, or a lock of a window that is held (see acquired).
type request struct {
	id      uint64
	posting uint64 // number of the posting in the location's stream
	post    uint64 // enter of the posting call, ticks
	stay    uint64 // receives: number of the first stay after it, see stays
	row     uint64 // sends: number of the row whose completion is missing
	kind    requestKind
	used    bool
}

type requestKind uint8

const (
	sendRequest requestKind = iota
	receiveRequest
	collectiveRequest
)

// requests is a hash table of open requests by id, with linear probing: rising and reused ids cost the same, and nothing is allocated in
// steady state.
type requests struct {
	slots []request
	n     int
}

func (q *requests) home(id uint64) int {
	return int((id * 0x9E3779B97F4A7C15 >> 32) & uint64(len(q.slots)-1))
}

// add adds r. It reports whether it replaced an open request with the same id.
func (q *requests) add(r request) (replaced bool) {
	if 2*q.n >= len(q.slots) {
		q.grow()
	}
	r.used = true
	i := q.home(r.id)
	for q.slots[i].used {
		if q.slots[i].id == r.id {
			q.slots[i] = r
			return true
		}
		i = (i + 1) & (len(q.slots) - 1)
	}
	q.slots[i] = r
	q.n++
	return false
}

// take removes and returns the request with the given id.
func (q *requests) take(id uint64) (request, bool) {
	if q.n == 0 {
		return request{}, false
	}
	mask := len(q.slots) - 1
	i := q.home(id)
	for q.slots[i].id != id || !q.slots[i].used {
		if !q.slots[i].used {
			return request{}, false
		}
		i = (i + 1) & mask
	}
	r := q.slots[i]
	// Move later entries of the probe sequence into the hole.
	for j := (i + 1) & mask; q.slots[j].used; j = (j + 1) & mask {
		if (j-q.home(q.slots[j].id))&mask >= (j-i)&mask {
			q.slots[i] = q.slots[j]
			i = j
		}
	}
	q.slots[i] = request{}
	q.n--
	return r, true
}

// each calls f for the open requests in no particular order.
func (q *requests) each(f func(r request)) {
	for _, r := range q.slots {
		if r.used {
			f(r)
		}
	}
}

func (q *requests) grow() {
	old := q.slots
	q.slots = make([]request, max(16, 2*len(old)))
	q.n = 0
	for _, r := range old {
		if r.used {
			q.add(r)
		}
	}
}
