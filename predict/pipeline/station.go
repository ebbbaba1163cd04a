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
	heap    heap[event] // in service
	wait    []waiting   // FCFS: from head on
	head    int
	count   int
	virtual float64
	last    float64
	next    float64 // time of the next end
	rank    int     // place in the order of the simulation
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
func (z *simulator) settle(i int) {
	st := &z.stations[i]
	st.next = never
	if len(st.heap.list) > 0 {
		st.next = st.heap.list[0].at
		if st.kind == PS {
			st.next = z.now + max(0, st.heap.list[0].at-st.virtual)/st.rate()
		}
	}
	z.order.fix(st.rank)
}

// find returns the place of a task among those in service, or among those that wait; -1 where it is not.
func (st *station) find(job, task int32) (served, waits int) {
	return slices.IndexFunc(st.heap.list, func(e event) bool { return e.who.job == job && e.who.task == task }),
		slices.IndexFunc(st.wait[st.head:], func(w waiting) bool { return w.who.job == job && w.who.task == task })
}
