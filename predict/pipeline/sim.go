package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/coppice-hpc/coppice/internal/heap"
)

// Percentiles are the shares of jobs for which a simulation gives the longest response.
var Percentiles = [3]float64{0.5, 0.95, 0.99}

// ErrTooLarge says that a model has more tasks than a method can handle.
var ErrTooLarge = errors.New("too many tasks for this method")

const (
	maxSimTasks  = 1_000_000 // of all jobs in the system
	simEvents    = 1e6       // of a simulation by default
	maxSimEvents = 2e10
	batches      = 20
	student      = 2.093 // quantile 0.975 with 19 degrees of freedom
)

// customer is one task in progress, or a thinking job (task -1).
type customer struct {
	job, task int32
	visit     int32 // center of the route it is at
	pass      int32 // passes over the route, including this one
}

// event is an entry in the heap of a station: when, in the time of the station, a customer ends.
type event struct {
	at  float64
	seq uint64
	who customer
}

// before orders events by time, then in the order of their creation.
func (e event) before(f event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// simJob is one job that circulates.
type simJob struct {
	kind    int // type
	c       *course
	begin   float64
	station []int // by center: the copy it is on
	full    bool  // on the fullest machine of every kind
}

// simulator is a simulation.
type simulator struct {
	s        *system
	src      *source
	stations []station
	order    heap.Heap[int] // stations by next event
	jobs     []simJob
	think    heap.Heap[event]
	now      float64
	seq      uint64
	warm     bool // statistics have begun
	stats    []simStats
	since    float64
}

// simStats are the completed jobs of one type.
type simStats struct {
	response []float64 // of those on the fullest machines
	all      int
}

// simulate runs the closed network until enough jobs have ended. Statistics begin after a tenth of them, and after at least 200.
func (a *Answer) simulate(ctx context.Context, m *Model) error {
	tasks := int64(0)
	for i := range m.Types {
		n := (&validation{m: m}).job(&m.Types[i], "")
		if tasks += int64(n) * int64(m.Types[i].Jobs); tasks > maxSimTasks {
			return fmt.Errorf("%w: sim has at most %d in the system", ErrTooLarge, maxSimTasks)
		}
	}
	s := m.compile(nil)
	var largest float64 // events of a job
	for i := range s.jobs {
		largest = max(largest, s.jobs[i].visits())
	}
	count := cmp.Or(a.Options.SimJobs, uint32(min(max(2000, simEvents/largest), 60_000)))
	if largest*float64(count) > maxSimEvents {
		return fmt.Errorf("%w: %d jobs of %.0f visits are more than %v events", ErrTooLarge, count, largest, float64(maxSimEvents))
	}
	z := s.newSimulator(a.Options.Seed)
	staggered := z.start()
	last := int(min(count, math.MaxInt32/2))
	warm := max(200, last/10)
	for events, ended := 0, 0; ended < warm+last; events++ {
		if events%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !z.step() {
			continue
		}
		if ended++; ended == warm {
			z.measure()
		}
	}
	z.report(a)
	if staggered {
		a.warn("constant service without think time: the jobs were started at random moments")
	}
	return nil
}

// visits is an upper bound of the mean number of visits to centers that a job makes.
func (j *job) visits() (sum float64) {
	for _, c := range j.tasks {
		sum += float64(j.classes[c].Visits) * float64(len(j.classes[c].Demand))
	}
	return sum
}

func (s *system) newSimulator(seed uint64) *simulator {
	z := &simulator{s: s, src: newSource(seed, 0), stats: make([]simStats, len(s.jobs)), think: heap.Heap[event]{Before: event.before}}
	first := make([]int, len(s.centers))
	most := make([]int, len(s.centers)) // copies that a job is on
	for i := range s.jobs {
		for k := range most {
			most[k] = max(most[k], min(s.copies[k], s.jobs[i].n))
		}
	}
	for k, c := range s.centers {
		first[k] = len(z.stations)
		for range most[k] {
			z.stations = append(z.stations, station{kind: c.Kind, servers: c.Servers, next: never, heap: heap.Heap[event]{Before: event.before}})
		}
	}
	for i := range s.jobs {
		j := &s.jobs[i]
		for n := range j.n {
			x := simJob{kind: i, c: newCourse(j, z.src), full: true}
			for k := range s.centers {
				copies := s.copies[k]
				x.station = append(x.station, first[k]+n%copies)
				x.full = x.full && n%copies < (j.n-1)%copies+1
			}
			z.jobs = append(z.jobs, x)
		}
	}
	z.order.Before = func(a, b int) bool {
		x, y := z.stations[a].next, z.stations[b].next
		return x < y || x == y && a < b
	}
	z.order.Moved = func(i, place int) { z.stations[i].rank = place }
	for i := range z.stations {
		z.order.Push(i)
	}
	return z
}

// start begins all jobs: at once, or staggered over the time of one job if nothing else would ever separate them.
func (z *simulator) start() (staggered bool) {
	constant := true
	for i := range z.s.jobs {
		j := &z.s.jobs[i]
		constant = constant && j.think == 0 && j.g != nil && !slices.ContainsFunc(j.scv, func(x float64) bool { return x > 0 })
	}
	staggered = constant && len(z.jobs) > 1
	for i := range z.jobs {
		j := &z.s.jobs[z.jobs[i].kind]
		who := customer{job: int32(i), task: -1}
		switch {
		case j.think > 0:
			z.think.Push(event{j.think * z.src.exponential(), z.seq, who})
		case staggered:
			z.think.Push(event{j.path * z.src.rng.Float64(), z.seq, who})
		default:
			z.think.Push(event{0, z.seq, who})
		}
		z.seq++
	}
	return staggered
}

// step handles one event, and reports whether a job has ended.
func (z *simulator) step() bool {
	i := z.order.List[0]
	st := &z.stations[i]
	if len(z.think.List) > 0 && z.think.List[0].at < st.next {
		e := z.think.Remove(0)
		z.now = e.at
		z.begin(e.who.job)
		return false
	}
	z.now = st.next
	st.sync(z.now, z.warm)
	e := st.heap.Remove(0)
	st.count--
	z.serve(st)
	z.settle(i)
	return z.moved(e.who)
}

// begin starts a run of a job.
func (z *simulator) begin(job int32) {
	x := &z.jobs[job]
	x.begin = z.now
	x.c.begin()
	for _, t := range x.c.started {
		z.enter(customer{job, t, 0, 1})
	}
}

// enter sends a customer to the center of its visit, with its service.
func (z *simulator) enter(who customer) {
	x := &z.jobs[who.job]
	j := &z.s.jobs[x.kind]
	class := &j.classes[j.tasks[who.task]]
	d := class.Demand[who.visit]
	service := float64(d.Seconds / float64(class.Visits) * z.src.unit(class.SCV))
	i := x.station[d.Center]
	st := &z.stations[i]
	st.sync(z.now, z.warm)
	st.count++
	z.seq++
	switch {
	case st.kind == PS:
		st.heap.Push(event{st.virtual + service, z.seq, who})
	case st.kind == Delay || len(st.heap.List) < st.servers:
		st.heap.Push(event{z.now + service, z.seq, who})
	default:
		st.wait = append(st.wait, waiting{service, who})
	}
	z.settle(i)
}

// again reports whether a customer at the end of its route passes over it once more.
func (z *simulator) again(who customer, class *Class) bool {
	if class.Geometric {
		return z.src.rng.Float64() >= 1/float64(class.Visits)
	}
	return int(who.pass) < class.Visits
}

// moved sends on a customer after service, and reports whether its job ended.
func (z *simulator) moved(who customer) bool {
	x := &z.jobs[who.job]
	j := &z.s.jobs[x.kind]
	class := &j.classes[j.tasks[who.task]]
	if who.visit++; int(who.visit) < len(class.Demand) {
		z.enter(who)
		return false
	}
	if z.again(who, class) {
		z.enter(customer{who.job, who.task, 0, who.pass + 1})
		return false
	}
	x.c.end(who.task)
	for _, t := range x.c.stopped {
		z.give(who.job, t)
	}
	if x.c.left > 0 {
		for _, t := range x.c.started {
			z.enter(customer{who.job, t, 0, 1})
		}
		return false
	}
	st := &z.stats[x.kind]
	if z.warm {
		st.all++
		if x.full {
			st.response = append(st.response, z.now-x.begin)
		}
	}
	if j.think > 0 {
		z.think.Push(event{z.now + float64(j.think*z.src.exponential()), z.seq, customer{job: who.job, task: -1}})
		z.seq++
	} else {
		z.begin(who.job)
	}
	return true
}

// give removes a task of a job from its station.
func (z *simulator) give(job, task int32) {
	for _, i := range z.jobs[job].station {
		st := &z.stations[i]
		served, waits := st.find(job, task)
		if served < 0 && waits < 0 {
			continue
		}
		st.sync(z.now, z.warm)
		st.count--
		if served >= 0 {
			st.heap.Remove(served)
			z.serve(st)
		} else {
			st.wait = slices.Delete(st.wait, st.head+waits, st.head+waits+1)
		}
		z.settle(i)
		return
	}
}

// serve begins the service of the next waiting customer at a station with a free server.
func (z *simulator) serve(st *station) {
	if st.kind != FCFS || st.head == len(st.wait) || len(st.heap.List) >= st.servers {
		return
	}
	w := st.wait[st.head]
	if st.head++; st.head > 1024 && 2*st.head > len(st.wait) {
		st.wait = slices.Delete(st.wait, 0, st.head)
		st.head = 0
	}
	z.seq++
	st.heap.Push(event{z.now + w.service, z.seq, w.who})
}

func (z *simulator) measure() {
	z.warm, z.since = true, z.now
	for i := range z.stations {
		st := &z.stations[i]
		st.sync(z.now, false)
		st.busy, st.area = 0, 0
	}
}

// report computes the means. The first copy of a center is on the fullest machine.
func (z *simulator) report(a *Answer) {
	span := z.now - z.since
	for i := range z.stations {
		z.stations[i].sync(z.now, true)
	}
	for k, c := range z.s.centers {
		st := &z.stations[z.jobs[0].station[k]]
		x := CenterAnswer{Name: c.Name, Queue: st.area / span}
		if c.Kind != Delay {
			x.Utilisation = st.busy / span / float64(c.Servers)
		}
		a.Centers = append(a.Centers, x)
	}
	for i := range z.stats {
		t := z.s.answer(&z.s.jobs[i])
		z.stats[i].summarize(&t, span)
		if a.Types = append(a.Types, t); math.IsNaN(t.Response) {
			a.warn("%sonly %d of its jobs ended in the simulation: no mean response", prefix(t.Name), t.Samples)
		}
	}
}

// summarize computes mean, interval and percentiles of ended jobs.
func (st *simStats) summarize(t *TypeAnswer, span float64) {
	t.Samples, t.Throughput = len(st.response), float64(st.all)/span
	t.Spread = &Spread{Percentile: map[float64]float64{}}
	n := len(st.response) / batches
	if n == 0 {
		nan := math.NaN()
		t.Response, t.HalfWidth = nan, nan
		for _, p := range Percentiles {
			t.Percentile[p] = nan
		}
		return
	}
	var all, mean, variance float64
	for _, x := range st.response {
		all += x
	}
	t.Response = all / float64(len(st.response))
	var means [batches]float64
	for b := range means {
		for _, x := range st.response[b*n : (b+1)*n] {
			means[b] += x
		}
		means[b] /= float64(n)
		mean += means[b] / batches
	}
	for _, m := range means {
		variance += square(m-mean) / (batches - 1)
	}
	t.HalfWidth = student * math.Sqrt(variance/batches)
	list := slices.Sorted(slices.Values(st.response))
	for _, p := range Percentiles {
		t.Percentile[p] = list[min(len(list)-1, int(p*float64(len(list))))]
	}
}

// waiting is a customer in the queue of a FCFS station.
type waiting struct {
	service float64
	who     customer
}

// station is one copy of a center in a simulation. Processors that share their time have a clock of their own, which runs at the
// rate at which each customer is served. Customers end in the order of the time on that clock.
type station struct {
	kind    Kind
	servers int
	heap    heap.Heap[event] // in service
	wait    []waiting        // FCFS: from head on
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

// sync advances a station to a time. With measure it adds to the statistics.
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
	if len(st.heap.List) > 0 {
		st.next = st.heap.List[0].at
		if st.kind == PS {
			st.next = z.now + max(0, st.heap.List[0].at-st.virtual)/st.rate()
		}
	}
	z.order.Fix(st.rank)
}

// find returns the index of a task among those in service, or among those that wait; -1 if it is not among them.
func (st *station) find(job, task int32) (served, waits int) {
	return slices.IndexFunc(st.heap.List, func(e event) bool { return e.who.job == job && e.who.task == task }),
		slices.IndexFunc(st.wait[st.head:], func(w waiting) bool { return w.who.job == job && w.who.task == task })
}

// source draws random numbers. Its logarithm and exponential are own code, because those of package math round differently on
// different processors: an event that comes earlier by one bit could change a whole run.
type source struct {
	rng   *rand.Rand
	spare float64 // a normal variate that is left over
	has   bool
}

// newSource starts stream number stream of the seed.
func newSource(seed, stream uint64) *source {
	return &source{rng: rand.New(rand.NewPCG(seed, stream))}
}

// open is uniform in (0, 1].
func (s *source) open() float64 { return 1 - float64(s.rng.Float64()) }

// exponential has mean 1.
func (s *source) exponential() float64 { return -logarithm(s.open()) }

// normal is standard normal, by the polar method of Marsaglia.
func (s *source) normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		u, v := float64(2*s.rng.Float64())-1, float64(2*s.rng.Float64())-1
		r := float64(u*u) + float64(v*v)
		if r >= 1 || r == 0 {
			continue
		}
		f := math.Sqrt(-2 * logarithm(r) / r)
		s.spare, s.has = v*f, true
		return u * f
	}
}

// gamma has mean 1 and squared coefficient of variation scv <= 1: Marsaglia and Tsang, A simple method for generating gamma
// variables, ACM TOMS 26 (2000).
func (s *source) gamma(scv float64) float64 {
	shape := 1 / scv
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		u := s.open()
		x2 := float64(x * x)
		if u < 1-float64(0.0331*float64(x2*x2)) || logarithm(u) < float64(0.5*x2)+float64(d*(1-v+logarithm(v))) {
			return d * v / shape
		}
	}
}

// unit has mean 1 and squared coefficient of variation scv: a gamma variate up to 1, a mix of two exponentials with balanced
// means above.
func (s *source) unit(scv float64) float64 {
	switch {
	case scv <= 0:
		return 1
	case scv == 1:
		return s.exponential()
	case scv < 1:
		return s.gamma(scv)
	}
	p := 0.5 * (1 + math.Sqrt((scv-1)/(scv+1)))
	if s.rng.Float64() < p {
		return s.exponential() / (2 * p)
	}
	return s.exponential() / (2 * (1 - p))
}

// logarithm is the natural logarithm of a positive number, to 2 units in the last place: with x = 2^e f and f near 1,
// log f = 2 artanh((f-1)/(f+1)).
func logarithm(x float64) float64 {
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	var sum float64
	for n := 21; n >= 3; n -= 2 {
		sum = float64(z * (1/float64(n) + sum))
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*(1+sum))
}

// exponent is e to the power of x <= 0, to 2 units in the last place: the series on the remainder of x by log 2.
func exponent(x float64) float64 {
	if x < -745 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // of log 2, the first with zeros at its end
	k := math.Round(x / math.Ln2)
	r := x - float64(k*high) - float64(k*low)
	sum := 1.0
	for n := 14; n >= 1; n-- {
		sum = 1 + float64(r*sum/float64(n))
	}
	return math.Ldexp(sum, int(k))
}
