package pipeline

import "slices"

// waiting is a customer in the queue of a FCFS station.
type waiting struct {
	service float64
	who     customer
}

// station is one copy of a center in a simulation. Processors that share their time have a clock of their own, which runs at
// the rate that each customer is served at; customers end in the order of what that clock must show.
type station struct {
	kind    Kind
	servers int
	heap    eventHeap // in service
	wait    []waiting // FCFS: from head on
	head    int
	count   int
	virtual float64
	last    float64
	next    float64 // time of the next end
	rank    int32
	busy    float64 // servers times seconds
	area    float64 // customers times seconds
}

// rate is the pace of the station's clock.
func (st *station) rate() float64 {
	if st.count <= st.servers {
		return 1
	}
	return float64(st.servers) / float64(st.count)
}

// sync brings a station to a time; measure adds to the statistics.
func (st *station) sync(now float64, measure bool) {
	dt := now - st.last
	st.last = now
	if st.count == 0 {
		st.virtual = 0
		return
	}
	if st.kind == PS {
		st.virtual += float64(dt * st.rate())
	}
	if measure {
		st.busy += float64(dt * float64(min(st.count, st.servers)))
		st.area += float64(dt * float64(st.count))
	}
}

// settle finds the next event of a station and its place in the order.
func (z *simulator) settle(i int32) {
	st := &z.stations[i]
	st.next = never
	if len(st.heap) > 0 {
		st.next = st.heap[0].at
		if st.kind == PS {
			st.next = z.now + max(0, st.heap[0].at-st.virtual)/st.rate()
		}
	}
	less := func(a, b int32) bool {
		x, y := z.order[a], z.order[b]
		return z.stations[x].next < z.stations[y].next || z.stations[x].next == z.stations[y].next && x < y
	}
	swap := func(a, b int32) {
		z.order[a], z.order[b] = z.order[b], z.order[a]
		z.stations[z.order[a]].rank, z.stations[z.order[b]].rank = a, b
	}
	sift(st.rank, int32(len(z.order)), less, swap)
}

// sift restores a binary heap of n entries, of which the one at place i changed.
func sift(i, n int32, less func(a, b int32) bool, swap func(a, b int32)) {
	for i > 0 && less(i, (i-1)/2) {
		swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		swap(i, least)
		i = least
	}
}

// holds tells whether a task is at a station.
func (st *station) holds(job, task int32) bool {
	is := func(w waiting) bool { return w.who.job == job && w.who.task == task }
	return slices.ContainsFunc(st.heap, func(e event) bool { return e.who.job == job && e.who.task == task }) ||
		slices.ContainsFunc(st.wait[st.head:], is)
}

// drop takes a task out, and tells whether it was in service.
func (st *station) drop(job, task int32) bool {
	for i, e := range st.heap {
		if e.who.job == job && e.who.task == task {
			st.heap.remove(i)
			return true
		}
	}
	for i := st.head; i < len(st.wait); i++ {
		if w := st.wait[i].who; w.job == job && w.task == task {
			st.wait = slices.Delete(st.wait, i, i+1)
			return false
		}
	}
	return false
}

// eventHeap is a binary heap of events, the first at 0.
type eventHeap []event

// fix restores the heap after the entry at place i changed.
func (h eventHeap) fix(i int) {
	e := h[i]
	for i > 0 && e.before(&h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	for {
		c := 2*i + 1
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if c >= len(h) || !h[c].before(&e) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = e
}

func (h *eventHeap) push(e event) {
	*h = append(*h, e)
	h.fix(len(*h) - 1)
}

func (h *eventHeap) pop() event {
	e := (*h)[0]
	h.remove(0)
	return e
}

func (h *eventHeap) remove(i int) {
	last := len(*h) - 1
	(*h)[i] = (*h)[last]
	*h = (*h)[:last]
	if i < last {
		h.fix(i)
	}
}
