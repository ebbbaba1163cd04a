package extract

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/predict/pipeline"
)

// MaxTasks bounds the graph of an extracted job: people can still work with a file of that size.
const MaxTasks = 100_000

// ErrClocks says that the times of processes contradict each other.
var ErrClocks = errors.New("by their times, messages were received before they were sent, each in a circle of them: analyze the trace with --clock-repair")

// ErrAlone says that a run has no messages and no collective operations.
var ErrAlone = errors.New("no process communicates with another one: there is nothing to model")

// precedence is the extraction of a graph. The time of a process in a job is cut at the begin of each call that sends, receives
// or is collective, because others wait for the process to come there. A task lies between two cuts; its demand is its time less
// wait states. A task comes after the one before it on its process. If it begins with a receive, it also comes after the task
// that ended with the send; with a collective, after those of the members that its process needs; with a send that waits for its
// receiver, after the receiver's task before its call. Tasks of the same kind of process between the same functions are a class;
// if their times vary much, each half octave of times is a class. The graph is that of the job with the median response. Demands
// are means over all jobs.
type precedence struct {
	*extraction
	job     *Run
	cuts    [][]cut   // of a rank, in order; the last cut is the end of the job
	work    [][]chunk // of a rank: for each cut the work that ends there
	first   []int     // task of a rank that begins the job
	classOf []int     // of a task
	after   [][]int   // of a task
	sides   []map[uint64]*Message
	outside int // messages from or to other jobs
	classes map[taskKind]int
	list    []pipeline.Class
	of      []classTasks // a class
	who     map[string]int
	mixed   map[taskKind]float64 // mean times of kinds that are split by half octaves
	means   [][]float64          // of a rank: of each task over the jobs; nil: the jobs differ
}

// classTasks are the tasks of a class in all jobs.
type classTasks struct {
	node  string
	times []float64
	files float64 // of these
}

// cut is a point at which a task of a process ends.
type cut struct {
	at       float64
	function string // of the call that begins there
}

// taskKind is what the tasks of a class have in common.
type taskKind struct {
	who      string // kind of process; "": no process
	node     string
	from, to string // functions of the calls at its begin and end
	size     int    // of a message: bits of the number of bytes
	octave   int    // half octave of the time; 0: the kind is not split
}

// mixedSCV is the variability from which the tasks of a kind are split by half octaves, halfOctaves the number of these on each
// side of the mean. One run does not distinguish tasks that vary from tasks that differ. Taking different tasks for varying ones
// makes those that wait for several of them wait too long.
const (
	mixedSCV    = 0.1
	halfOctaves = 16
)

func (e *extraction) graph() error {
	g := &precedence{extraction: e, mixed: map[taskKind]float64{}}
	var spans []float64
	for _, o := range e.jobs {
		begin, end := o.span()
		spans = append(spans, max(0, end-begin))
	}
	middle := medianOf(spans)
	if err := g.compare(); err != nil {
		return err
	}
	if err := g.measureAll(); err != nil {
		return err
	}
	for k, c := range g.classes {
		if x := sampleOf(g.of[c].times); x.scv > mixedSCV {
			g.mixed[k] = x.mean
		}
	}
	if len(g.mixed) > 0 {
		if err := g.measureAll(); err != nil {
			return err
		}
	}
	if err := g.enter(e.jobs[middle]); err != nil {
		return err
	}
	g.tasks()
	if err := g.join(); err != nil {
		return err
	}
	tasks, err := g.order()
	if err != nil {
		return err
	}
	var traced float64
	for _, s := range spans {
		traced += s / float64(len(spans))
	}
	g.finishClasses()
	g.finish(FormGraph, pipeline.Type{Tasks: tasks, Classes: g.list}, traced)
	return nil
}

// measureAll makes the classes, with the times of all jobs.
func (g *precedence) measureAll() error {
	g.classes, g.who = map[taskKind]int{}, map[string]int{}
	g.list, g.of, g.out.stage, g.out.Stages = nil, nil, nil, nil
	for _, o := range g.jobs {
		if err := g.enter(o); err != nil {
			return err
		}
		g.measure()
	}
	return nil
}

// compare finds out whether all jobs have the same tasks, and computes their mean times.
func (g *precedence) compare() error {
	least, most := math.MaxInt, 0
	alike := true
	for k, o := range g.jobs {
		if err := g.enter(o); err != nil {
			return err
		}
		if k == 0 {
			g.means = make([][]float64, len(g.work))
		}
		n := 0
		for r, list := range g.work {
			if n += len(list); k == 0 {
				g.means[r] = make([]float64, len(list))
			}
			if alike = alike && len(list) == len(g.means[r]); !alike {
				continue
			}
			for i := range list {
				g.means[r][i] += list[i].busy / float64(len(g.jobs))
			}
		}
		least, most = min(least, n), max(most, n)
	}
	if !alike {
		g.means = nil
		g.warn("the jobs differ, with %d to %d tasks: the graph is that of the one with the median response", least, most)
	}
	return nil
}

// span returns the begin and end of a job, over its ranks that communicate.
func (o *Run) span() (begin, end float64) {
	begin = math.Inf(1)
	for r := range o.Ranks {
		if x := &o.Ranks[r]; x.Talks() {
			begin, end = min(begin, x.Begin), max(end, x.End)
		}
	}
	return begin, end
}

// medianOf returns the index of the median, of equal values the first.
func medianOf(list []float64) int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[a], list[b]) })
	return order[(len(order)-1)/2]
}

// enter finds the cuts of all ranks in a job, and the work between them.
func (g *precedence) enter(job *Run) error {
	g.job = job
	n := len(g.job.Ranks)
	g.cuts, g.work, g.first = make([][]cut, n), make([][]chunk, n), make([]int, n)
	total := 0
	for r := range g.job.Ranks {
		g.first[r] = total
		if x := &g.job.Ranks[r]; x.Talks() {
			g.cuts[r] = x.cuts()
			g.work[r] = x.between(g.cuts[r])
			total += len(g.cuts[r])
		}
	}
	switch {
	case total == 0:
		return ErrAlone
	case total > MaxTasks:
		return fmt.Errorf("%w: a job of %d tasks, more than %d: name a shorter part of the run as the job", pipeline.ErrTooLarge, total, MaxTasks)
	}
	return nil
}

// cuts returns the cuts of a rank, without those at the borders of the job.
func (r *Rank) cuts() []cut {
	var list []cut
	add := func(t float64, function string) {
		if t > r.Begin && t < r.End {
			list = append(list, cut{t, function})
		}
	}
	for _, m := range r.Messages {
		add(m.Begin, m.Function)
		switch {
		case m.Send && m.Awaited && m.Done > m.End:
			add(m.Done, m.Function)
		case !m.Send && m.Ready < m.Begin:
			add(m.Ready, m.Function)
		}
	}
	for _, c := range r.Collectives {
		add(c.Begin, c.Function)
	}
	slices.SortStableFunc(list, func(a, b cut) int { return cmp.Compare(a.at, b.at) })
	list = slices.CompactFunc(list, func(a, b cut) bool { return a.at == b.at })
	return append(list, cut{r.End, "end"})
}

// between returns the work of a rank between its cuts.
func (r *Rank) between(cuts []cut) []chunk {
	list := make([]chunk, len(cuts))
	begin := r.Begin
	for i, c := range cuts {
		list[i] = chunk{begin: begin, end: max(begin, c.at)}
		begin = c.at
	}
	r.work(list)
	return list
}

// ending is the task of a rank that ends at time t, or that is in progress then.
func (g *precedence) ending(rank int, t float64) int {
	i, _ := slices.BinarySearchFunc(g.cuts[rank], t, func(c cut, t float64) int { return cmp.Compare(c.at, t) })
	return g.first[rank] + min(i, len(g.cuts[rank])-1)
}

// beginning is the task of a rank that begins at time t, when another one ends.
func (g *precedence) beginning(rank int, t float64) int {
	if t <= g.job.Ranks[rank].Begin {
		return g.first[rank]
	}
	return min(g.ending(rank, t)+1, g.first[rank]+len(g.cuts[rank])-1)
}

// measure adds the times of all tasks of the job to their classes.
func (g *precedence) measure() {
	for r := range g.cuts {
		for i, c := range g.work[r] {
			k := g.class(g.kindOf(r, i))
			g.of[k].times = append(g.of[k].times, c.busy)
			g.of[k].files += c.files
			s := &g.out.Stages[g.out.stage[k]]
			s.Busy += c.busy
			s.Overhead += c.calls
			s.Files += c.files
			s.Waited += c.end - c.begin - c.busy
		}
	}
}

// kindOf is the kind of the task after cut i of a rank.
func (g *precedence) kindOf(rank, i int) taskKind {
	k := taskKind{who: g.whoIs(rank), node: g.job.Ranks[rank].Node, from: "begin", to: g.cuts[rank][i].function}
	if i > 0 {
		k.from = g.cuts[rank][i-1].function
	}
	if mean, ok := g.mixed[k]; ok {
		k.octave = halfOctaves + 1
		busy := g.work[rank][i].busy
		if g.means != nil {
			busy = g.means[rank][i]
		}
		if busy > 0 {
			k.octave += min(halfOctaves, max(-halfOctaves, int(math.Round(2*math.Log2(busy/mean)))))
		} else {
			k.octave = 1
		}
	}
	return k
}

// whoIs is the kind of process of a rank.
func (g *precedence) whoIs(rank int) string {
	return cmp.Or(g.job.Ranks[rank].Class, fmt.Sprintf("rank %d", rank))
}

// class returns the number of a class, and makes the class at its first use.
func (g *precedence) class(k taskKind) int {
	c, ok := g.classes[k]
	if ok {
		return c
	}
	c = len(g.list)
	g.classes[k] = c
	var x pipeline.Class
	switch {
	case k.who != "":
		x = pipeline.Class{Name: fmt.Sprintf("%s %s to %s", k.who, k.from, k.to), Visits: 1, Demand: []pipeline.Demand{{Center: g.processor(k.node)}}}
		if k.octave > 0 {
			x.Name += fmt.Sprintf(" %+d", k.octave-halfOctaves-1)
		}
		if slices.ContainsFunc(g.list, func(y pipeline.Class) bool { return y.Name == x.Name }) {
			x.Name += " on " + k.node
		}
	case k.size > 0:
		x = pipeline.Class{Name: fmt.Sprintf("message of up to %d B", uint64(1)<<k.size-1), Visits: 1}
	default:
		x = pipeline.Class{Name: "join", Visits: 1, Demand: []pipeline.Demand{{Center: g.center("join", pipeline.Delay, 1), Seconds: pipeline.LeastDemand}}}
	}
	g.list, g.of, g.out.stage = append(g.list, x), append(g.of, classTasks{node: k.node}), append(g.out.stage, g.stageOf(k))
	return c
}

// stageOf returns the stage of a kind of process; -1: it is not a process.
func (g *precedence) stageOf(k taskKind) int {
	if k.who == "" {
		return -1
	}
	s, ok := g.who[k.who]
	if !ok {
		s = len(g.out.Stages)
		g.who[k.who] = s
		g.out.Stages = append(g.out.Stages, Stage{Name: k.who})
	}
	return s
}

// finishClasses computes the demands.
func (g *precedence) finishClasses() {
	heavy, outliers, all := 0, 0, 0
	for c := range g.list {
		x := &g.list[c]
		s := sampleOf(g.of[c].times)
		if s.n == 0 { // a join
			continue
		}
		x.SCV = s.scv
		if stage := g.out.stage[c]; stage < 0 { // a message's bytes
			x.Demand[0].Seconds, x.SCV = rounded(max(pipeline.LeastDemand, s.mean*x.Demand[0].Seconds)), 0
			x.Demand[1].Seconds = rounded(x.Demand[1].Seconds)
			continue
		}
		if s.scv > heavyTail {
			heavy++
		}
		outliers, all = outliers+s.outliers, all+s.n
		files := g.of[c].files / float64(s.n)
		x.Demand[0].Seconds = rounded(max(pipeline.LeastDemand, s.mean-files))
		if files > 0 {
			x.Demand = append(x.Demand, pipeline.Demand{Center: g.layout.files(g.of[c].node), Seconds: rounded(files)})
		}
	}
	if heavy > 0 {
		g.warn("%d classes of tasks vary much (scv above %d): compare with capacity check", heavy, heavyTail)
	}
	if outliers > 0 {
		g.warn("%d of %d tasks are left out of the variability of their classes", outliers, all)
	}
	g.finishStages()
}

// finishStages computes what the run shows of each kind of process.
func (g *precedence) finishStages() {
	jobs := float64(len(g.jobs))
	for r := range g.cuts {
		if len(g.cuts[r]) == 0 {
			continue
		}
		s := &g.out.Stages[g.who[g.whoIs(r)]]
		s.Ranks = append(s.Ranks, r)
		s.Chunks += len(g.cuts[r])
	}
	for i := range g.out.Stages {
		s := &g.out.Stages[i]
		s.Traced = g.traced(s.Ranks)
		s.Waited /= jobs
		per := jobs * float64(max(1, s.Chunks))
		s.Busy, s.Overhead, s.Files = s.Busy/per, s.Overhead/per, s.Files/per
	}
}

// traced is the mean time from the begin of a job to the end of the last of the given ranks.
func (g *precedence) traced(ranks []int) (sum float64) {
	for _, o := range g.jobs {
		begin, _ := o.span()
		end := 0.0
		for _, r := range ranks {
			end = max(end, o.Ranks[r].End)
		}
		sum += max(0, end-begin) / float64(len(g.jobs))
	}
	return sum
}

// tasks makes the tasks of the job's ranks, each after its predecessor.
func (g *precedence) tasks() {
	g.sides = make([]map[uint64]*Message, len(g.job.Ranks))
	for r := range g.job.Ranks {
		x := &g.job.Ranks[r]
		g.sides[r] = make(map[uint64]*Message, len(x.Messages))
		for i := range x.Messages {
			g.sides[r][x.Messages[i].Row] = &x.Messages[i]
		}
		for i := range g.cuts[r] {
			t := g.task(g.kindOf(r, i))
			if i > 0 {
				g.after[t] = append(g.after[t], t-1)
			}
		}
	}
}

func (g *precedence) task(k taskKind) int {
	g.classOf, g.after = append(g.classOf, g.class(k)), append(g.after, nil)
	return len(g.after) - 1
}

// join adds the edges of messages and collectives.
func (g *precedence) join() error {
	for r := range g.job.Ranks {
		for i := range g.job.Ranks[r].Messages {
			if m := &g.job.Ranks[r].Messages[i]; !m.Send {
				g.receive(r, m)
			}
		}
	}
	if g.outside > 0 {
		g.warn("%d messages come from outside of their job, and nobody waits for them in the model", g.outside)
	}
	return g.collectives()
}

func (g *precedence) receive(rank int, m *Message) {
	if m.Peer < 0 || m.Peer >= len(g.sides) || g.sides[m.Peer][m.Mate] == nil || !g.sides[m.Peer][m.Mate].Send {
		g.outside++
		return
	}
	send := g.sides[m.Peer][m.Mate]
	to := g.beginning(rank, m.Begin)
	if send.Begin > g.job.Ranks[m.Peer].Begin {
		from := g.ending(m.Peer, send.Begin)
		if g.x.Net != nil && g.job.Ranks[rank].Node != g.job.Ranks[m.Peer].Node {
			from = g.transfer(from, m.Bytes)
		}
		g.edge(from, to)
	}
	if ready := min(m.Ready, m.Begin); send.Awaited && ready > g.job.Ranks[rank].Begin {
		at := send.Begin
		if send.Done > send.End {
			at = send.Done
		}
		g.edge(g.ending(rank, ready), g.beginning(m.Peer, at))
	}
}

// transfer adds the task of a message between nodes, after the task that sends it.
func (g *precedence) transfer(from int, bytes uint64) int {
	t := g.task(taskKind{size: max(1, bits.Len64(bytes))})
	c := g.classOf[t]
	if len(g.list[c].Demand) == 0 {
		carry, delay := g.message(1)
		g.list[c].Demand = []pipeline.Demand{carry, delay}
	}
	g.of[c].times = append(g.of[c].times, float64(bytes))
	g.after[t] = []int{from}
	return t
}

// edge makes a task come after another one; -1 means none.
func (g *precedence) edge(from, to int) {
	if from != to && from >= 0 {
		g.after[to] = append(g.after[to], from)
	}
}

// member is one member of a collective operation.
type member struct {
	rank int
	*Collective
}

// collectives adds the edges of collective operations, through a task without work if all members need all.
func (g *precedence) collectives() error {
	type name struct {
		comm    uint32
		ordinal uint64
	}
	groups := map[name][]member{}
	var order []name
	for r := range g.job.Ranks {
		for i := range g.job.Ranks[r].Collectives {
			c := &g.job.Ranks[r].Collectives[i]
			k := name{c.Comm, c.Ordinal}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], member{r, c})
		}
	}
	for _, k := range order {
		g.collective(groups[k])
		if len(g.after) > 2*MaxTasks {
			return fmt.Errorf("%w: more than %d with messages and collectives", pipeline.ErrTooLarge, 2*MaxTasks)
		}
	}
	return nil
}

// collective adds the edges of one operation; members are in order of rank.
func (g *precedence) collective(members []member) {
	if len(members) < 2 {
		return
	}
	needs := func(from, to member) { g.edge(g.coming(from), g.beginning(to.rank, to.Begin)) }
	switch flow := members[0].Flow; flow {
	case AllToAll:
		j := g.task(taskKind{})
		for _, m := range members {
			g.edge(g.coming(m), j)
			g.edge(j, g.beginning(m.rank, m.Begin))
		}
	case Prefix:
		before := -1
		for _, m := range members {
			if before >= 0 {
				g.edge(before, g.beginning(m.rank, m.Begin))
			}
			j := g.task(taskKind{})
			g.edge(g.coming(m), j)
			g.edge(before, j)
			before = j
		}
	case OneToAll, AllToOne:
		root := slices.IndexFunc(members, func(m member) bool { return m.Root })
		for i, m := range members {
			switch {
			case root < 0 || i == root:
			case flow == OneToAll:
				needs(members[root], m)
			default:
				needs(m, members[root])
			}
		}
	}
}

// coming is the task at whose end a member comes to its call; -1: the job begins inside the call.
func (g *precedence) coming(m member) int {
	if m.Begin <= g.job.Ranks[m.rank].Begin {
		return -1
	}
	return g.ending(m.rank, m.Begin)
}

// order numbers the tasks so that each comes after those that it needs. It drops edges that others imply: of several tasks of one
// process the last is enough.
func (g *precedence) order() ([]pipeline.Task, error) {
	for t := range g.after {
		slices.Sort(g.after[t])
		g.after[t] = g.lastOfEach(slices.Compact(g.after[t]))
	}
	order := pipeline.Topological(g.after)
	if len(order) < len(g.after) {
		return nil, ErrClocks
	}
	tasks := pipeline.InOrder(order, g.classOf, g.after)
	for _, t := range tasks {
		slices.Sort(t.After)
	}
	return tasks, nil
}

// lastOfEach keeps the last task of each process. list is in order.
func (g *precedence) lastOfEach(list []int) []int {
	kept := list[:0]
	rank := func(t int) int { // ranks without tasks begin at the begin of the next rank
		i, _ := slices.BinarySearch(g.first, t+1)
		return i - 1
	}
	last := len(g.first) - 1
	own := g.first[last] + len(g.cuts[last]) // tasks of processes; those of messages and joins follow
	for i, t := range list {
		if i+1 < len(list) && list[i+1] < own && rank(list[i+1]) == rank(t) {
			continue
		}
		kept = append(kept, t)
	}
	return kept
}
